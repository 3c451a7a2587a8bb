"""What was accepted comes back as it was given: through API, Kafka and read model."""

import json

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.gateway.documents import job
from tests.gateway.harness import Harness
from tocsin.model.keys import JobKey

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=60)
PAYLOADS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(payload=PAYLOADS, text=TEXTS.filter(str.strip))
def test_b129_text_and_payload_come_back_byte_for_byte(
    harness: Harness, payload: object, text: str
) -> None:
    put = harness.http.put("/v1/jobs/a", json=job(payload=payload, description=text))
    read = harness.http.get("/v1/jobs/a")
    held = harness.scheduler.held[JobKey("default", "a")].job

    assert put.is_success, put.json()
    assert (read.json()["payload"], read.json()["description"]) == (payload, text)
    assert held is not None
    assert json.loads(held.payload or b"null") == payload


@pytest.mark.parametrize(
    "text", ["🦉", "مرحبا", "Z͑ͫ̓a̴l̡g̷o", "\u202eRTL", "e\u0301", "\ufeffBOM within", "𝔘𝔫𝔦"]
)
def test_b129_other_scripts_are_ordinary(http: httpx.Client, text: str) -> None:
    http.put("/v1/jobs/a", json=job(owner=text, tags={text: text}))

    assert http.get("/v1/jobs/a").json()["tags"] == {text: text}
    assert len(http.get("/v1/jobs", params={"q": text}).json()["items"]) == 1
    assert len(http.get("/v1/jobs", params={"tag": f"{text}:{text}"}).json()["items"]) == 1


@pytest.mark.parametrize(
    ("given_time", "shown"),
    [
        ("2026-01-01T00:00:00.999999Z", "2026-01-01T00:00:00.999Z"),
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
        ("2026-06-01T14:00:00.250+02:00", "2026-06-01T12:00:00.250Z"),
    ],
)
def test_b134_an_instant_comes_back_to_the_millisecond(
    http: httpx.Client, given_time: str, shown: str
) -> None:
    put = http.put("/v1/jobs/a", json=job(schedule={"every": "PT1H", "start": given_time}))

    assert put.json()["schedule"]["start"] == shown


def test_b170_script_in_a_description_is_text(http: httpx.Client) -> None:
    script = "<img src=x onerror=alert(1)>"
    answer = http.put("/v1/jobs/a", json=job(description=script, payload=script))

    assert (answer.json()["description"], answer.json()["payload"]) == (script, script)
    assert answer.headers["Content-Type"] == "application/json"
    assert "default-src 'self'" in answer.headers["Content-Security-Policy"]
