"""Settings: the variables `TOCSIN_*` of the environment, checked once when a process starts.

Every service and command reads the same ones and ignores those that do not concern it. A name
that does not exist is an error, so that a misspelt one is not silently without effect; an empty
value counts as left out. `TOCSIN_KAFKA__<property>` goes to the Kafka client as it is:
`TOCSIN_KAFKA__SECURITY_PROTOCOL` and `TOCSIN_KAFKA__security.protocol` are the same.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    ValidationError,
)
from pydantic_core import ErrorDetails

from tocsin.durations import parse_typed_duration_ms
from tocsin.model.keys import DEFAULT_TENANT

_PREFIX = "TOCSIN_"
_KAFKA = "KAFKA__"

_NOT_SETTINGS = re.compile(r"SECRET_.+|RUN_ID|JOB_ID|SCHEDULED_TIME|ATTEMPT|PAYLOAD|TEST_POSTGRES")
"""Variables under the same prefix with another purpose: secrets that jobs refer to, what a program
started as a job finds in its environment, and the database of Tocsin's own tests."""

_KAFKA_NAME = re.compile(r"[A-Za-z0-9._-]{1,100}", re.ASCII)
_LABEL = re.compile(r"[a-z0-9][a-z0-9-]{0,62}", re.ASCII)
_HANDLER = re.compile(r"[a-z][a-z0-9_-]{0,62}", re.ASCII)
_HOST = re.compile(r"\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+", re.ASCII)
_HOST_SUFFIX = re.compile(r"\.?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*\.?", re.ASCII)
_TOKEN = re.compile("[!-~]+", re.ASCII)
_HTTP_URL = re.compile(r"https?://[^/\s?#@]+(/[^\s?#]*)?")
_ORIGIN = re.compile(r"https?://[^/\s?#@*]+")
_DATABASE_URL = re.compile(r"(sqlite|postgresql(\+psycopg)?)://\S*")

SECOND_MS = 1_000


class InvalidSettings(Exception):
    """The environment's settings cannot be used; one sentence for each that is wrong."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class Address(NamedTuple):
    """Where a server listens; port 0 takes a free one."""

    host: str
    port: int


def _address(text: str) -> Address:
    host, colon, port = text.rpartition(":")
    if (
        not colon
        or not port.isdecimal()
        or int(port) > 65_535
        or not (host == "" or _HOST.fullmatch(host))
    ):
        raise ValueError("write HOST:PORT, or :PORT for all addresses of the machine")
    return Address(host.strip("[]"), int(port))


def _brokers(text: str) -> str:
    for item in text.split(","):
        host, _, port = item.strip().rpartition(":")
        if not _HOST.fullmatch(host) or not port.isdecimal() or not 0 < int(port) <= 65_535:
            raise ValueError("write HOST:PORT, several of them with commas between")
    return ",".join(item.strip() for item in text.split(","))


def _modules(text: str) -> tuple[str, ...]:
    modules = tuple(filter(None, re.split(r"[,\s]+", text)))
    for module in modules:
        if not all(part.isidentifier() for part in module.split(".")):
            raise ValueError(f"{module!r} is not the name of a module such as package.tasks")
    return modules


def _http_allow(text: str) -> tuple[str, ...]:
    items = tuple(filter(None, re.split(r"[,\s]+", text)))
    for item in items:
        if not _is_network(item) and ("/" in item or not _HOST_SUFFIX.fullmatch(item)):
            raise ValueError(
                f"{item!r} is neither a network such as 10.1.0.0/16 nor a host such as i.example"
            )
        if not _is_network(item) and item.strip(".").rpartition(".")[2].isdigit():
            raise ValueError(f"{item!r} is part of an address; write a network: 10.1.0.0/16")
    return items


def _origins(text: str) -> tuple[str, ...]:
    items = tuple(filter(None, re.split(r"[,\s]+", text)))
    for item in items:
        if not _ORIGIN.fullmatch(item):
            raise ValueError(f"{item!r} is no origin such as https://ops.example")
    return items


def _is_network(text: str) -> bool:
    try:
        ip_network(text)
    except ValueError:
        return False
    return True


def _lease(text: str) -> int:
    return parse_typed_duration_ms(text, minimum_ms=3 * SECOND_MS, maximum_ms=3_600 * SECOND_MS)


def _grace(text: str) -> int:
    return parse_typed_duration_ms(text, minimum_ms=0, maximum_ms=86_400 * SECOND_MS)


def _age(text: str) -> int:
    return parse_typed_duration_ms(text, minimum_ms=3_600 * SECOND_MS)


def _switch(text: str) -> bool:
    if text in {"true", "false"}:
        return text == "true"
    raise ValueError("write true or false")


def _folder(text: str) -> Path:
    folder = Path(text)
    try:
        if folder.is_dir():
            return folder
    except OSError as error:
        raise ValueError(str(error.strerror)) from error
    raise ValueError("there is no such folder")


def _absolute(text: str) -> Path:
    if not Path(text).is_absolute():
        raise ValueError("write an absolute path such as /run/docker.sock")
    return Path(text)


def _file(text: str) -> Path:
    if not Path(text).is_file():
        raise ValueError("there is no such file")
    return Path(text)


def _kubernetes(text: str) -> Path | str:
    return text if text == "in-cluster" else _file(text)


def _number(lowest: int, highest: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not text.strip().isdecimal() or not lowest <= int(text) <= highest:
            raise ValueError(f"write a whole number from {lowest} to {highest}")
        return int(text)

    return parse


def _matching(pattern: re.Pattern[str], form: str) -> Callable[[str], str]:
    def check(text: str) -> str:
        if not pattern.fullmatch(text):
            raise ValueError(f"write {form}")
        return text

    return check


def _handler_slots(text: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for item in filter(None, re.split(r"[,\s]+", text)):
        kind, equals, number = item.partition("=")
        if not equals or not _HANDLER.fullmatch(kind) or kind in found:
            raise ValueError("write handler=number, such as http=32,container=4")
        found[kind] = _number(1, 10_000)(number)
    return found


_kafka_name = _matching(_KAFKA_NAME, "1 to 100 of A-Z, a-z, 0-9, '.', '_' and '-'")
_label = _matching(_LABEL, "1 to 63 of a-z, 0-9 and '-', beginning with a letter or digit")
_http_url = _matching(_HTTP_URL, "a URL such as https://tocsin.example, without a query")
_token = _matching(_TOKEN, "a token of printable ASCII characters, without blanks")
_database_url = _matching(
    _DATABASE_URL, "sqlite:///FILE or postgresql+psycopg://USER:PASSWORD@HOST/NAME"
)


_source = _matching(re.compile("group|share"), "group or share")


class Settings(BaseModel):
    """All settings with their defaults. Secrets do not show when it is printed or logged."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    brokers: Annotated[str | None, BeforeValidator(_brokers)] = None
    """Kafka's bootstrap servers, HOST:PORT with commas between."""
    prefix: Annotated[str, BeforeValidator(_kafka_name)] = "tocsin"
    """What the names of topics, groups and transactions begin with."""
    state_dir: Path = Path(".tocsin/state")
    """Where the scheduler keeps its local store and the gateway its SQLite file: caches both."""
    node_id: Annotated[str | None, BeforeValidator(_kafka_name)] = None
    """A name that stays with this node over restarts; without it each process is a new member."""
    listen: Annotated[Address | None, BeforeValidator(_address)] = None
    """Where this service serves HTTP. By default the gateway 127.0.0.1:8080, the scheduler :9101
    and the worker :9102."""
    database_url: Annotated[SecretStr | None, BeforeValidator(_database_url)] = None
    """The gateway's read model; by default an SQLite file under `state_dir`."""
    history_age_ms: Annotated[int, BeforeValidator(_age)] = 30 * 86_400 * SECOND_MS
    """How long the gateway keeps runs that have ended, and decisions."""
    history_runs: Annotated[int, BeforeValidator(_number(1, 1_000_000))] = 1_000
    """How many rows the gateway keeps of each job, runs that have not ended left aside."""
    gateway_url: Annotated[str, BeforeValidator(_http_url)] = "http://127.0.0.1:8080"
    """Where the command line and the SDK find the gateway."""
    api_token: Annotated[SecretStr | None, BeforeValidator(_token)] = None
    """The bearer token that the command line and the SDK send."""
    oidc_issuer: Annotated[str | None, BeforeValidator(_http_url)] = None
    """The OpenID Connect issuer whose tokens the gateway takes too."""
    oidc_audience: str = "tocsin"
    """Whom these tokens have to be for."""
    oidc_role_claim: str = "tocsin_role"
    """Which claim of theirs names the role; dots lead into nested ones."""
    oidc_tenant_claim: str = "tocsin_tenant"
    """Which claim of theirs names the tenant; `*` there is all of them."""
    rate_limit: Annotated[int, BeforeValidator(_number(1, 1_000_000))] = 1_000
    """Requests a second that the gateway answers one caller."""
    cors_origins: Annotated[tuple[str, ...], BeforeValidator(_origins)] = ()
    """Origins whose pages may ask the gateway from a browser."""
    tenant: Annotated[str, BeforeValidator(_label)] = DEFAULT_TENANT
    """Whose jobs the command line means."""
    pool: Annotated[str, BeforeValidator(_label)] = "default"
    """The pool that this worker belongs to."""
    slots: Annotated[int, BeforeValidator(_number(1, 10_000))] = 64
    """How many runs this worker executes at a time."""
    handler_slots: Annotated[Mapping[str, int], BeforeValidator(_handler_slots)] = Field(
        default_factory=dict
    )
    """How many of them may have the same handler, by handler type."""
    host_slots: Annotated[int | None, BeforeValidator(_number(1, 10_000))] = None
    """How many of them may call the same host."""
    lease_ms: Annotated[int, BeforeValidator(_lease)] = 60 * SECOND_MS
    """How long a long run stays claimed after its worker was last heard of."""
    grace_ms: Annotated[int, BeforeValidator(_grace)] = 30 * SECOND_MS
    """How long runs may go on after this worker was told to stop."""
    strict_priority: Annotated[bool, BeforeValidator(_switch)] = False
    """`true`: this worker takes a lower priority only when no higher one waits."""
    tasks: Annotated[tuple[str, ...], BeforeValidator(_modules)] = ()
    """Modules whose tasks this worker executes."""
    http_allow: Annotated[tuple[str, ...], BeforeValidator(_http_allow)] = ()
    """Internal networks and host suffixes that `http` jobs may call."""
    secrets_dir: Annotated[Path | None, BeforeValidator(_folder)] = None
    """A folder with one file for each secret that jobs refer to."""
    process: Annotated[bool, BeforeValidator(_switch)] = False
    """`true`: jobs may start programs on this worker's machine."""
    container_socket: Annotated[Path | None, BeforeValidator(_absolute)] = None
    """The socket of the Docker or Podman that runs `container` jobs on this worker's machine."""
    kubernetes: Annotated[Path | Literal["in-cluster"] | None, BeforeValidator(_kubernetes)] = None
    """Where `kubernetes` jobs run: `in-cluster`, or a kubeconfig file."""
    clusters: Annotated[Path | None, BeforeValidator(_file)] = None
    """A YAML file that names the other Kafka clusters that `kafka` jobs may write to."""
    worker_source: Annotated[Literal["group", "share"], BeforeValidator(_source)] = "group"
    """How this worker reads runs: as a consumer group or as a share group (preview)."""
    catch_up_rate: Annotated[int, BeforeValidator(_number(1, 100_000))] = 500
    """Late runs that a scheduler process emits a second, behind those on time."""
    kafka: Mapping[str, str] = Field(default_factory=dict, repr=False)
    """Properties of the Kafka client, by its own names such as `security.protocol`."""

    def bootstrap(self) -> str:
        """`brokers`, which a service cannot do without. Raises InvalidSettings."""
        if self.brokers is None:
            raise InvalidSettings(
                ["TOCSIN_BROKERS is not set: give Kafka's HOST:PORT, or try `tocsin dev`"]
            )
        return self.brokers


_FIELDS = {name.removesuffix("_ms").upper(): name for name in Settings.model_fields}
del _FIELDS["KAFKA"]
_VARIABLES = {field: f"{_PREFIX}{name}" for name, field in _FIELDS.items()}
_SECRETS = ("database_url", "api_token")


def load_settings(environ: Mapping[str, str]) -> Settings:
    """The settings that the environment `environ` holds; other variables are not looked at.

    Raises InvalidSettings with all that is wrong.
    """
    given = {
        name.removeprefix(_PREFIX): value
        for name, value in environ.items()
        if name.startswith(_PREFIX) and value != ""
    }
    kafka = {name: value for name, value in given.items() if name.startswith(_KAFKA)}
    values = {_FIELDS[name]: value for name, value in given.items() if name in _FIELDS}
    problems = list(_unknown(given.keys() - kafka.keys() - _FIELDS.keys()))
    try:
        settings = Settings.model_validate({**values, "kafka": _kafka_properties(kafka)})
    except ValidationError as error:
        problems += [_sentence(each, values) for each in error.errors(include_url=False)]
    if problems:
        raise InvalidSettings(problems)
    return settings


def _kafka_properties(given: Mapping[str, str]) -> dict[str, str]:
    """By the client's own names: `KAFKA__SECURITY_PROTOCOL` is `security.protocol`."""
    return {
        name.removeprefix(_KAFKA).lower().replace("_", "."): value for name, value in given.items()
    }


def _unknown(names: Iterable[str]) -> Iterable[str]:
    for name in sorted(names):
        if not _NOT_SETTINGS.fullmatch(name):
            meant = _nearest(name)
            hint = f": did you mean {_PREFIX}{meant}?" if meant else ""
            yield f"{_PREFIX}{name} is no setting{hint}"


def _nearest(name: str) -> str | None:
    if name.startswith("KAFKA_"):
        return _KAFKA + name.removeprefix("KAFKA_")
    return next(iter(get_close_matches(name, _FIELDS, n=1)), None)


def _sentence(error: ErrorDetails, values: Mapping[str, str]) -> str:
    field = str(error["loc"][0])
    shown = "" if field in _SECRETS else f" {values[field]!r}"
    reason = error.get("ctx", {}).get("error", error["msg"])
    return f"{_VARIABLES[field]}{shown}: {reason}"
