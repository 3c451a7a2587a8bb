"""All that is left to chance in a simulation, from one seed."""

from collections.abc import Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Chance:
    """The same answers to the same questions for the same seed."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)

    def pick(self, options: Sequence[T]) -> T:
        return self._random.choice(options)

    def one_in(self, number: int) -> bool:
        return self._random.randrange(number) == 0

    def shuffled(self, items: Sequence[T]) -> list[T]:
        return self._random.sample(items, len(items))

    def hexadecimal(self, digits: int) -> str:
        return f"{self._random.getrandbits(4 * digits):0{digits}x}"
