"""Names: tenants, job ids, job keys, run ids, and what they may consist of."""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

DEFAULT_TENANT = "default"

_TENANT_FORM = "[a-z0-9][a-z0-9-]{0,62}"
_JOB_ID_FORM = "[A-Za-z0-9][A-Za-z0-9._-]{0,199}"
_TENANT = re.compile(_TENANT_FORM, re.ASCII)
_JOB_ID = re.compile(_JOB_ID_FORM, re.ASCII)
_JOB_KEY = re.compile(f"{_TENANT_FORM}/{_JOB_ID_FORM}".encode())
_RUN_ID = re.compile(
    rf"(?P<tenant>{_TENANT_FORM})\.(?P<job_id>{_JOB_ID_FORM})"
    r"\.(?P<time>\d{8}T\d{6}\.\d{3}Z)(?P<suffix>-[mb][0-9a-f]{8})?",
    re.ASCII,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class InvalidKey(ValueError):
    """A tenant, job id, job key or run id that is not of its form."""


class JobKey(NamedTuple):
    """The key of every record about a job: `tenant/job_id`."""

    tenant: str
    job_id: str

    def __str__(self) -> str:
        return f"{self.tenant}/{self.job_id}"


def job_key(tenant: str, job_id: str) -> JobKey:
    """The checked pair; raises `InvalidKey` with a sentence that says what is allowed."""
    if not _TENANT.fullmatch(tenant):
        raise InvalidKey(
            f"tenant {tenant[:80]!r}: 1 to 63 of a-z, 0-9 and '-', beginning with a letter or digit"
        )
    if not _JOB_ID.fullmatch(job_id):
        raise InvalidKey(
            f"job_id {job_id[:220]!r}: 1 to 200 of A-Z, a-z, 0-9, '.', '_' and '-', "
            "beginning with a letter or digit"
        )
    return JobKey(tenant, job_id)


def parse_job_key(text: str) -> JobKey:
    """`tenant/job_id` taken apart; raises `InvalidKey`."""
    tenant, slash, job_id = text.partition("/")
    if not slash:
        raise InvalidKey(f"key {text[:80]!r}: expected tenant/job_id, such as default/daily-report")
    return job_key(tenant, job_id)


def is_job_key(data: bytes) -> bool:
    """Whether `parse_job_key` takes these bytes."""
    return _JOB_KEY.fullmatch(data) is not None


def run_time(scheduled_time: int) -> str:
    """Epoch milliseconds as they stand in a run id: `YYYYMMDDTHHMMSS.mmmZ`."""
    return f"{_whole_second(scheduled_time // 1000)}.{scheduled_time % 1000:03d}Z"


@lru_cache(maxsize=4096)
def _whole_second(second: int) -> str:
    at = _EPOCH + timedelta(seconds=second)
    return f"{at:%Y%m%dT%H%M%S}".rjust(15, "0")


def run_id(tenant: str, job_id: str, scheduled_time: int, suffix: str = "") -> str:
    """A run is the pair (job, scheduled time), and a suffix where one was asked for."""
    return f"{tenant}.{job_id}.{run_time(scheduled_time)}{suffix}"


def is_of_backfill(run_id: str) -> bool:
    """Whether a run id is of a slot that a backfill asked for (`-b` and eight digits behind it).
    Such a slot is not late."""
    return run_id[-10:-8] == "-b"


class RunName(NamedTuple):
    """A run id taken apart."""

    tenant: str
    job_id: str
    scheduled_time: int
    suffix: str

    @property
    def key(self) -> JobKey:
        return JobKey(self.tenant, self.job_id)


def parse_run_id(text: str) -> RunName:
    """Raises `InvalidKey` where `text` is not a run id."""
    match = _RUN_ID.fullmatch(text)
    if match is None:
        raise InvalidKey(f"run_id {text[:80]!r}: expected tenant.job_id.YYYYMMDDTHHMMSS.mmmZ")
    try:
        scheduled = _read_run_time(match["time"])
    except ValueError as error:
        raise InvalidKey(f"run_id {text[:80]!r}: {error}") from None
    return RunName(match["tenant"], match["job_id"], scheduled, match["suffix"] or "")


def _read_run_time(text: str) -> int:
    """The inverse of `run_time` for text of its form; ValueError where there is no such time."""
    return _read_second(text[:15]) + int(text[16:19])


@lru_cache(maxsize=4096)
def _read_second(text: str) -> int:
    year, month, day = int(text[:4]), int(text[4:6]), int(text[6:8])
    hour, minute, second = int(text[9:11]), int(text[11:13]), int(text[13:15])
    at = datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    return (at - _EPOCH) // timedelta(milliseconds=1)
