"""How often somebody may ask."""

from pathlib import Path

import httpx
import msgspec
from hypothesis import given
from hypothesis import strategies as st

from tests.gateway.harness import PATIENT, Harness
from tocsin.testing import SettableClock
from tocsin_gateway.access.rates import RateLimiter

PREFLIGHT = {"Origin": "https://ops.example", "Access-Control-Request-Method": "PUT"}

pauses = st.lists(st.integers(0, 700), max_size=60)


@given(pauses, st.integers(1, 20))
def test_no_second_has_more_than_twice_the_rate(waits: list[int], rate: int) -> None:
    clock = SettableClock()
    limiter = RateLimiter(clock, rate)
    allowed = []
    for wait in waits:
        clock.advance(wait)
        if limiter.take("a"):
            allowed.append(clock.monotonic_ms())

    assert all(sum(at <= each < at + 1_000 for each in allowed) <= 2 * rate for at in allowed)


@given(st.integers(1, 50))
def test_who_keeps_to_the_rate_is_never_refused(rate: int) -> None:
    clock = SettableClock()
    limiter = RateLimiter(clock, rate)
    for _ in range(3 * rate):
        assert limiter.take("a")
        clock.advance(-(-1_000 // rate))


def test_callers_do_not_take_from_one_another() -> None:
    limiter = RateLimiter(SettableClock(), 1)

    assert [limiter.take(name) for name in "abab"] == [True, True, False, False]


def test_who_asks_too_often_is_told_when_to_ask_again(tmp_path: Path) -> None:
    with Harness(tmp_path, msgspec.structs.replace(PATIENT, rate_limit=3)) as harness:
        answers = [harness.http.get("/v1/jobs") for _ in range(4)]
        harness.cluster.clock.advance(1_000)
        later = harness.http.get("/v1/jobs")

    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert answers[3].json()["type"] == "/problems/too-many-requests"
    assert answers[3].headers["Retry-After"] == "1"
    assert later.status_code == 200


def test_tokens_cannot_be_tried_without_end(tmp_path: Path) -> None:
    options = msgspec.structs.replace(PATIENT, rate_limit=3, token="s3cret")
    with Harness(tmp_path, options) as harness:
        tried = [
            harness.http.get("/v1/jobs", headers={"Authorization": f"Bearer {number}"}).status_code
            for number in range(4)
        ]
        good = harness.http.get("/v1/jobs", headers={"Authorization": "Bearer s3cret"})

    assert tried == [401, 401, 401, 429]
    assert good.status_code == 200


class TestBrowsers:
    def test_no_other_origin_may_ask(self, http: httpx.Client) -> None:
        preflight = http.options("/v1/jobs/a", headers=PREFLIGHT)
        simple = http.get("/v1/jobs", headers=PREFLIGHT)

        for answer in (preflight, simple):
            assert not any(name.startswith("access-control") for name in answer.headers)

    def test_an_origin_that_is_named_may(self, tmp_path: Path) -> None:
        options = msgspec.structs.replace(PATIENT, cors_origins=("https://ops.example",))
        with Harness(tmp_path, options) as harness:
            named = harness.http.options("/v1/jobs/a", headers=PREFLIGHT)
            other = harness.http.options(
                "/v1/jobs/a", headers=PREFLIGHT | {"Origin": "https://evil.example"}
            )

        assert named.headers["access-control-allow-origin"] == "https://ops.example"
        assert "access-control-allow-origin" not in other.headers
        assert "access-control-allow-credentials" not in named.headers
