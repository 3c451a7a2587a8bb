"""Durations as people type them: at the command line, in the environment and in the SDK."""

import re

from tocsin.timetable.durations import LONGEST_MS, SECOND_MS, parse_duration_ms

_TYPED = re.compile(r"(\d{1,15})([smhdw]?)", re.ASCII)
_UNIT_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}


def parse_typed_duration_ms(
    text: str, *, minimum_ms: int = SECOND_MS, maximum_ms: int = LONGEST_MS
) -> int:
    """Milliseconds of `90`, `90s`, `5m`, `2h`, `1d`, `1w` or ISO 8601 such as `PT1H30M`.

    Both bounds are allowed. Raises ValueError with a sentence for a person.
    """
    typed = _TYPED.fullmatch(text.strip())
    if typed is not None:
        seconds = int(typed[1]) * _UNIT_SECONDS[typed[2]]
        return parse_duration_ms(seconds, minimum_ms=minimum_ms, maximum_ms=maximum_ms)
    if not text.strip().startswith("P"):
        raise ValueError(f"{text[:40]!r} is no duration: write 90s, 5m, 2h, 1d or PT1H30M")
    return parse_duration_ms(text.strip(), minimum_ms=minimum_ms, maximum_ms=maximum_ms)
