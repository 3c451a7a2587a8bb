"""crontab(5), of a user or of the system: `MINUTE HOUR DAY MONTH WEEKDAY [USER] COMMAND`.

A line becomes a `process` job that behaves as under cron: it starts whatever else runs, is not
tried again, and what falls into an outage is not caught up.
"""

import re
from typing import NamedTuple

from tocsin_cli.moving_in.imports import Collector, Definition, Import

_SETTING = re.compile(r"""\s*([A-Za-z_][A-Za-z0-9_]*|"[^"]*"|'[^']*')\s*=\s*(.*?)\s*""")
_PERCENT = re.compile(r"(?<!\\)%")
_ROOT = re.compile(r"root\s")
_UNLOGGED = re.compile(r"^-(?=[\d*@])")
"""cronie: no word of it in the system's log."""
_NICKNAMES = frozenset(
    {"@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"}
)
_AS_UNDER_CRON: Definition = {
    "timeout": "P1D",
    "retry": {"max_attempts": 1},
    "overlap": "allow_all",
    "catch_up": {"policy": "skip"},
}
_SHELL = "/bin/sh"


class _Entry(NamedTuple):
    expression: str
    user: str | None
    command: str


def import_crontab(text: str, *, system: bool = False, timezone: str | None = None) -> Import:
    """`system`: lines name the user, as in /etc/crontab and /etc/cron.d. `timezone`: the machine's,
    where `CRON_TZ` says nothing."""
    return _Crontab(system=system, timezone=timezone).read(text)


class _Crontab:
    def __init__(self, *, system: bool, timezone: str | None) -> None:
        self._found = Collector("crontab")
        self._fields = 2 if system else 1
        self._machine_zone = self._zone = timezone
        self._shell = _SHELL
        self._environment: dict[str, str] = {}
        self._comment: str | None = None

    def read(self, text: str) -> Import:
        for number, line in enumerate(text.splitlines(), 1):
            self._line(f"line {number}", line.strip())
        return self._found.finish()

    def _line(self, where: str, line: str) -> None:
        setting = _SETTING.fullmatch(line)
        if not line or line.startswith("#"):
            self._comment = line.lstrip("# ").strip() or None
            return
        if setting is not None:
            self._set(where, setting[1].strip("\"'"), _unquoted(setting[2]))
        else:
            self._entry(where, line)
        self._comment = None

    def _set(self, where: str, name: str, value: str) -> None:
        match name:
            case "CRON_TZ":
                self._zone = value or self._machine_zone
            case "SHELL":
                self._shell = value
            case "MAILTO" | "MAILFROM":
                self._found.note(where, f"{name}: nobody is written to; see GET /v1/events")
            case "RANDOM_DELAY":
                self._found.note(where, "RANDOM_DELAY: give the jobs a jitter")
            case _:
                self._environment[name] = value

    def _entry(self, where: str, line: str) -> None:
        entry = self._parted(line)
        if entry is None:
            self._found.lose(where, "not five fields, or a nickname such as @daily, and a command")
            return
        if entry.expression == "@reboot":
            self._found.lose(where, "@reboot: there is no machine whose start would be meant")
            return
        command, *standard_input = _PERCENT.split(entry.command)
        if standard_input:
            self._found.note(where, "% : the standard input after it did not carry over")
        command = command.replace("\\%", "%").strip()
        if entry.user is None and _ROOT.match(command):
            self._found.note(where, "its command begins with root: is that a user? see --system")
        schedule = {"cron": entry.expression, "timezone": self._zone}
        self._found.add(
            where,
            _name_of(command),
            {
                "description": self._comment,
                "schedule": {name: value for name, value in schedule.items() if value},
                "handler": self._handler(command, entry.user),
                **_AS_UNDER_CRON,
            },
        )

    def _parted(self, line: str) -> _Entry | None:
        line = _UNLOGGED.sub("", line)
        times = 1 if line.startswith("@") else 5
        parts = line.split(None, times + self._fields - 1)
        if len(parts) < times + self._fields:
            return None
        expression = " ".join(parts[:times])
        if times == 1 and expression.lower() not in {*_NICKNAMES, "@reboot"}:
            return None
        return _Entry(expression, parts[times] if self._fields == 2 else None, parts[-1])

    def _handler(self, command: str, user: str | None) -> Definition:
        handler: Definition = {"type": "process", "argv": [self._shell, "-c", command]}
        if user is not None:
            handler["user"] = user
        if self._environment:
            handler["env"] = dict(self._environment)
        return handler


def _unquoted(value: str) -> str:
    is_quoted = len(value) >= 2 and value[0] == value[-1] and value[0] in "\"'"
    return value[1:-1] if is_quoted else value


def _name_of(command: str) -> str:
    """The program's name, which is what people know the line by."""
    words = [word for word in command.split() if "=" not in word]
    return words[0].rpartition("/")[2].removesuffix(".sh") if words else "job"
