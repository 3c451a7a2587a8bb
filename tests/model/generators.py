"""Valid values to test with, as hypothesis strategies."""

from hypothesis import strategies as st

from tocsin.model.fields import json_bytes
from tocsin.model.jobs import PRIORITIES, CatchUp, Handler, Job, Retry
from tocsin.model.keys import JobKey
from tocsin.model.limits import INT_MAX, LONG_MAX, MAX_ATTEMPTS, SECOND_MS
from tocsin.model.strict_json import JsonValue, dumps
from tocsin.timetable import ScheduleFields

DAY_S = 86_400

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)
names = texts.filter(lambda text: text.strip() != "")
words = st.from_regex(r"[a-z0-9][a-z0-9-]{0,8}", fullmatch=True)
instants = st.integers(0, 253_402_300_799_999)
tenants = st.from_regex(r"[a-z0-9][a-z0-9-]{0,12}", fullmatch=True)
job_ids = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]{0,20}", fullmatch=True)
job_keys = st.builds(JobKey, tenants, job_ids)

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(10**40), 10**40)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
)
json_values: st.SearchStrategy[JsonValue] = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=8,
)
payloads = st.none() | json_values.filter(lambda value: value is not None).map(dumps)


def seconds_ms(low: int, high: int) -> st.SearchStrategy[int]:
    """Whole seconds in [low, high], as milliseconds."""
    return st.integers(low, high).map(lambda seconds: seconds * SECOND_MS)


starts = st.none() | st.integers(0, 10**12)
ends = st.none() | st.integers(10**12 + 1, 2 * 10**12)
zones = st.sampled_from(["UTC", "Europe/Berlin", "America/New_York", "Etc/GMT-2"])
gaps = st.sampled_from([None, "next", "shift", "skip"])
folds = st.sampled_from([None, "first", "second", "both"])
crons = st.sampled_from(["* * * * *", "*/5 0-6 1,15 * *", "0 7 * * MON-FRI", "@daily", "1 2 * * 0"])
moments = st.sampled_from(
    ["2026-05-01T12:00:00.250+02:00", "2026-05-01T12:00", "9999-12-31T00:00:00Z"]
)
schedules = (
    st.builds(
        ScheduleFields,
        cron=crons,
        timezone=zones,
        gap=gaps,
        fold=folds,
        start=starts,
        end=ends,
    )
    | st.builds(ScheduleFields, every_ms=seconds_ms(1, 36_500 * DAY_S), start=starts, end=ends)
    | st.builds(ScheduleFields, at=moments, timezone=zones, gap=gaps, fold=folds)
    | st.builds(
        ScheduleFields,
        rrule=st.sampled_from(["FREQ=MONTHLY;BYMONTHDAY=-1", "RRULE:FREQ=HOURLY;INTERVAL=7"]),
        dtstart=st.just("2026-01-31T07:00:00"),
        timezone=zones,
        gap=gaps.filter(lambda gap: gap != "skip"),
    )
)

http_handlers = st.fixed_dictionaries(
    {
        "url": st.sampled_from(
            ["https://billing.example/report", "http://[::1]:8080/", "http://a/?b=c"]
        )
    },
    optional={
        "method": st.sampled_from(["GET", "POST", "DELETE"]),
        "headers": st.dictionaries(
            st.from_regex(r"x-[a-z]{1,8}", fullmatch=True), words, max_size=3
        ),
        "auth": st.just({"bearer": "secret://billing-token"}),
        "expect": st.lists(st.sampled_from(["200-299", "404", 201]), min_size=1, max_size=3),
        "payload_encoding": st.just("base64"),
    },
).map(lambda config: Handler(type="http", config=json_bytes(config)))
other_handlers = st.builds(
    lambda kind, config: Handler(type=f"x-{kind}", config=dumps(config)),
    words,
    st.dictionaries(names.filter(lambda name: name != "type"), json_values, max_size=3),
)
handlers = http_handlers | other_handlers | st.just(Handler(type="noop"))

retries = st.builds(
    Retry,
    max_attempts=st.integers(1, MAX_ATTEMPTS),
    initial_ms=seconds_ms(0, 10**6),
    multiplier=st.floats(1, 1000),
    max_ms=seconds_ms(0, 10**6),
    jitter=st.sampled_from(["full", "none"]),
)
catch_ups = st.builds(
    CatchUp,
    policy=st.sampled_from(["latest", "all", "skip"]),
    after_ms=seconds_ms(0, DAY_S),
    window_ms=st.none() | seconds_ms(1, 10**6),
)


jobs = st.builds(
    Job,
    tenant=tenants,
    job_id=job_ids,
    schedule=schedules,
    handler=handlers,
    payload=payloads,
    owner=st.none() | names,
    description=st.none() | names,
    tags=st.dictionaries(names, texts, max_size=3),
    pool=words,
    priority=st.sampled_from(PRIORITIES),
    jitter_ms=seconds_ms(0, DAY_S),
    timeout_ms=seconds_ms(1, 30 * DAY_S),
    queue_timeout_ms=seconds_ms(1, 6 * DAY_S),
    retry=retries,
    overlap=st.sampled_from(["skip", "buffer_one", "buffer_all", "allow_all"]),
    catch_up=catch_ups,
    max_runs=st.none() | st.integers(1, LONG_MAX),
    pause_on_failures=st.none() | st.integers(1, INT_MAX),
    keep_completed_ms=seconds_ms(0, 10**8),
    status=st.sampled_from([None, "active", "paused"]),
    status_note=st.none() | names,
)
"""Definitions that keep to every limit, as a command states them."""
