"""Job definitions as people write them: in files, and as options of `tocsin job put`."""

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import yaml

from tocsin import clock
from tocsin.durations import parse_typed_duration_ms
from tocsin.model.strict_json import JsonValue, loads
from tocsin.timetable.instants import format_instant
from tocsin_cli.failures import INVALID, CommandFailed
from tocsin_cli.strict_yaml import load_all

Definition = dict[str, object]

STDIN = "-"

_BYTE_ORDER_MARK = "\ufeff"
_NESTED = ("retry", "catch_up", "tags")


def read_definitions(file: str) -> list[Definition]:
    """The jobs of a JSON or YAML file, each document one job or a list of them; `-` is standard
    input. Raises CommandFailed."""
    text = read_text(file)
    try:
        found = [_json(text)] if file.endswith(".json") else load_all(text)
    except (ValueError, yaml.YAMLError) as error:
        _refuse(f"{file}: {error}")
    parts = [job for part in found for job in (part if isinstance(part, list) else [part])]
    jobs = [job for job in parts if isinstance(job, dict)]
    if not found or len(jobs) < len(parts):
        _refuse(f"{file}: write a job as an object, or a list of such")
    return jobs


class _WithoutAnchors(yaml.SafeDumper):
    """Writes what is the same twice, twice: people edit these files."""

    def ignore_aliases(self, data: object) -> bool:
        return True


def read_text(file: str) -> str:
    """The text of a file; `-` is standard input. Raises CommandFailed."""
    try:
        text = sys.stdin.read() if file == STDIN else Path(file).read_text("utf-8")
        return text.removeprefix(_BYTE_ORDER_MARK)
    except UnicodeDecodeError:
        _refuse(f"{file}: not text in UTF-8")
    except OSError as error:
        _refuse(f"{file}: {error.strerror}")


def text_or_file(argument: str) -> str:
    """The argument itself, or the text of the file after `@`. Raises CommandFailed."""
    return read_text(argument[1:]) if argument.startswith("@") else argument


def write_definitions(file: str, jobs: Sequence[Definition], *, force: bool) -> None:
    """Jobs as YAML that `read_definitions` reads; `-` is standard output. Raises CommandFailed for
    a file that is there unless `force`, and OSError."""
    text = yaml.dump(
        list(jobs), Dumper=_WithoutAnchors, sort_keys=False, allow_unicode=True, width=100
    )
    if file == STDIN:
        print(text, end="")
        return
    try:
        with Path(file).open("w" if force else "x", encoding="utf-8") as target:
            target.write(text)
    except FileExistsError:
        _refuse(f"{file} is there already: --force writes over it, --to FILE elsewhere")


def named(
    jobs: Sequence[Definition], job_id: str | None, options: Definition
) -> list[tuple[str, Definition]]:
    """Each job with its id: `job_id`, or the one that stands in it. `options` win over its fields,
    and inside retry, catch_up and tags name by name. Raises CommandFailed."""
    if job_id is not None and len(jobs) != 1:
        _refuse(f"JOB_ID names one job, the file has {len(jobs)}: leave it out")
    merged = [_merge(job, options) for job in jobs]
    ids = [job_id or job.get("job_id") for job in merged]
    if not all(isinstance(each, str) for each in ids):
        _refuse("say which job it is: give JOB_ID, or job_id in the file")
    if twice := [each for each, number in Counter(ids).items() if number > 1]:
        _refuse(f"{twice[0]} stands in the file {ids.count(twice[0])} times: keep one")
    return [(str(each), _checked(str(each), job)) for each, job in zip(ids, merged, strict=True)]


def schedule_of(
    *, cron: str | None, every: str | None, at: str | None, in_: str | None, timezone: str | None
) -> Definition:
    """The schedule that the options name; empty where they name none."""
    kinds = {"cron": cron, "every": every, "at": at, "in": in_}
    given = {kind: value for kind, value in kinds.items() if value is not None}
    if len(given) > 1:
        _refuse(f"give one of {', '.join(f'--{kind}' for kind in given)}: a job has one schedule")
    if in_ is not None:
        given = {"at": _from_now(in_)}
    zone = {} if timezone is None else {"timezone": timezone}
    if zone and not given:
        _refuse("--tz goes with --cron, --every, --at or --in")
    return {"schedule": {**given, **zone}} if given else {}


def handler_of(
    *, url: str | None, method: str | None, headers: Sequence[str], noop: bool
) -> Definition:
    """The handler that the options name; empty where they name none."""
    if noop and (url or method or headers):
        _refuse("--noop calls nothing: leave out --url, --method and --header, or --noop")
    if noop:
        return {"handler": {"type": "noop"}}
    if url is None:
        if method or headers:
            _refuse("--method and --header go with --url")
        return {}
    handler: Definition = {"type": "http", "url": url}
    if method is not None:
        handler["method"] = method.upper()
    if headers:
        handler["headers"] = dict(_pair(header, "--header", ":") for header in headers)
    return {"handler": handler}


def nested(
    *,
    max_attempts: int | None,
    catch_up: str | None,
    tags: Sequence[str] | None,
    payload: str | None,
) -> Definition:
    """The fields of which an option gives a part, and those that are no plain text."""
    fields = given(
        retry=None if max_attempts is None else {"max_attempts": max_attempts},
        catch_up=None if catch_up is None else {"policy": catch_up},
        tags=None if tags is None else dict(_pair(tag, "--tag", "=") for tag in tags),
    )
    return fields if payload is None else {**fields, "payload": payload_of(payload)}


def payload_of(text: str, option: str = "--payload") -> object:
    """JSON, or the JSON of the file after `@`. Raises CommandFailed."""
    try:
        return _json(text_or_file(text))
    except ValueError as error:
        _refuse(f"{option}: {error}; write JSON such as '{{\"a\": 1}}' or '\"text\"', or @FILE")


def given(**fields: object) -> Definition:
    """The fields that have a value."""
    return {name: value for name, value in fields.items() if value is not None}


def _json(text: str) -> JsonValue:
    """Raises ValueError, also for bytes of an argument that are not UTF-8."""
    return loads(text.encode("utf-8", "surrogateescape"))


def _checked(job_id: str, job: Definition) -> Definition:
    from tocsin.client.definitions import NotJson, to_object

    try:
        return dict(to_object(job))
    except NotJson as error:
        _refuse(f"{job_id}: {error}")


def _merge(job: Definition, options: Definition) -> Definition:
    merged = {**job, **options}
    for name in _NESTED:
        below, above = job.get(name), options.get(name)
        if isinstance(below, dict) and isinstance(above, dict):
            merged[name] = {**below, **above}
    return merged


def _from_now(text: str) -> str:
    try:
        return format_instant(clock.now_ms() + parse_typed_duration_ms(text))
    except ValueError as error:
        _refuse(f"--in: {error}")


def tag_of(text: str, option: str) -> tuple[str, str]:
    """`NAME=VALUE` taken apart."""
    return _pair(text, option, "=")


def _pair(text: str, option: str, separator: str) -> tuple[str, str]:
    name, found, value = text.partition(separator)
    if not found or not name.strip():
        _refuse(f"{option} {text!r}: write NAME{separator}VALUE")
    return name.strip(), value.strip()


def _refuse(sentence: str) -> NoReturn:
    raise CommandFailed(sentence, INVALID)
