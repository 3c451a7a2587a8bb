"""A call that never returns does not keep its caller."""

from threading import Event

import pytest

from tocsin.broker.kafka import bounded
from tocsin.broker.kafka.bounded import BoundedCalls, CallHung


def test_calls_are_made_in_order_and_their_errors_are_raised() -> None:
    calls, made = BoundedCalls(), list[int]()
    calls.run(lambda: made.append(1), 5.0)
    with pytest.raises(ZeroDivisionError):
        calls.run(lambda: made.append(1 // 0), 5.0)
    calls.run(lambda: made.append(2), 5.0)
    calls.close()
    assert made == [1, 2]
    assert not calls.is_hung


def test_a_call_that_hangs_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "GRACE", 0.01)
    calls, release = BoundedCalls(), Event()

    def hang() -> None:
        release.wait()

    with pytest.raises(CallHung):
        calls.run(hang, 0.0)
    assert calls.is_hung
    release.set()
