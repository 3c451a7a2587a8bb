"""Where in a JSON document a character stands: the field that an error is about."""

import json
import re
from typing import Final

from tocsin.model.strict_json import TOKEN

LONGEST: Final = 400
"""Characters of all names together; what lies deeper is told by the members above it."""

_UNTOLD = re.compile("[\0\ud800-\udfff]")


def place_of(text: str, position: int) -> tuple[str, ...]:
    """The names and indexes that lead to the value, or the member's name, at `position`.

    It ends above a name that no answer can hold (NUL, half of a surrogate pair), and where the
    names become long. Of text that is no JSON up to there it is a guess.
    """
    place: list[str | int] = []
    for token in TOKEN.finditer(text):
        if token.start() > position:
            break
        if token["close"]:
            del place[-1:]
        elif token["colon"]:
            place[-1:] = [_name(token["string"])]
        elif place and isinstance(place[-1], int):
            place[-1] += 1
        if token["open"] and token.end() <= position:
            place.append("" if token["open"] == "{" else -1)
    return _told(place)


def _name(string: str) -> str:
    try:
        name: str = json.loads(string)
    except ValueError:
        return string
    return name


def _told(place: list[str | int]) -> tuple[str, ...]:
    told: list[str] = []
    length = 0
    for name in map(str, place):
        length += len(name) + 1
        if length > LONGEST or _UNTOLD.search(name):
            break
        told.append(name)
    return tuple(told)
