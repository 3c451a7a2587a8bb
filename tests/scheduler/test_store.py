"""Every store is the same ordered map: one suite, against a plain dict."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tocsin_scheduler.core.store import StoreDamaged
from tocsin_scheduler.store.local import LocalStore, LocalStores
from tocsin_scheduler.store.memory import MemoryStores
from tocsin_scheduler.store.rocks import RocksStores

keys = st.binary(min_size=1, max_size=3)
changes = st.dictionaries(keys, st.none() | st.binary(max_size=4), max_size=8)
histories = st.lists(changes, max_size=6)
bounds = st.tuples(st.binary(max_size=3), st.binary(max_size=3))

Opener = Callable[[], LocalStores]


@pytest.fixture(params=["memory", "rocks"])
def stores(request: pytest.FixtureRequest, tmp_path: Path) -> LocalStores:
    return MemoryStores() if request.param == "memory" else RocksStores(tmp_path)


@pytest.fixture
def store(stores: LocalStores) -> Iterator[LocalStore]:
    opened = stores.open("one")
    yield opened
    opened.close()


any_history = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def play(store: LocalStore, history: list[dict[bytes, bytes | None]]) -> dict[bytes, bytes]:
    """Write the history, to an empty store; what must be there then."""
    store.write({key: None for key, _ in store.scan(b"", b"\xff" * 4)})
    model: dict[bytes, bytes | None] = {}
    for batch in history:
        store.write(batch)
        model |= batch
    return {key: value for key, value in model.items() if value is not None}


@any_history
@given(history=histories, wanted=keys)
def test_the_last_write_of_a_key_is_what_is_read(
    store: LocalStore, history: list[dict[bytes, bytes | None]], wanted: bytes
) -> None:
    model = play(store, history)
    assert store.get(wanted) == model.get(wanted)


@any_history
@given(history=histories, wanted=st.lists(keys))
def test_many_values_come_in_the_order_of_their_keys(
    store: LocalStore, history: list[dict[bytes, bytes | None]], wanted: list[bytes]
) -> None:
    model = play(store, history)
    assert store.get_many(wanted) == [model.get(key) for key in wanted]


@any_history
@given(history=histories, span=bounds)
def test_a_scan_is_in_order_from_its_start_to_before_its_end(
    store: LocalStore, history: list[dict[bytes, bytes | None]], span: tuple[bytes, bytes]
) -> None:
    model = play(store, history)
    start, end = span
    assert list(store.scan(start, end)) == sorted(
        (key, value) for key, value in model.items() if start <= key < end
    )


@any_history
@given(history=histories, later=changes)
def test_a_scan_sees_the_store_as_it_was_when_it_began(
    store: LocalStore, history: list[dict[bytes, bytes | None]], later: dict[bytes, bytes | None]
) -> None:
    model = play(store, history)
    scan = store.scan(b"", b"\xff" * 4)
    store.write(later)
    assert list(scan) == sorted(model.items())


def test_scans_that_are_read_side_by_side_do_not_disturb_one_another(store: LocalStore) -> None:
    """Ends of many lengths: RocksDB keeps a pointer to the end, not a copy."""
    pairs = [(b"a%03d" % number, b"") for number in range(50)]
    store.write(dict(pairs))
    scans = [store.scan(b"a", b"a" + b"z" * length) for length in range(0, 4_000, 50)]
    assert [list(scan) for scan in scans] == [[], *[pairs] * 79]


def test_a_store_that_was_closed_is_found_again(stores: LocalStores) -> None:
    store = stores.open("one")
    store.write({b"a": b"1"})
    store.close()
    again = stores.open("one")
    assert again.get(b"a") == b"1"
    again.close()


def test_stores_of_different_names_are_different(stores: LocalStores) -> None:
    one, other = stores.open("one"), stores.open("other")
    one.write({b"a": b"1"})
    assert other.get(b"a") is None
    one.close()
    other.close()


def test_a_wiped_store_is_empty_and_can_be_written(store: LocalStore) -> None:
    store.write({b"a": b"1"})
    store.wipe()
    assert list(store.scan(b"", b"\xff")) == []
    store.write({b"b": b"2"})
    assert store.get(b"b") == b"2"


def test_a_deleted_store_leaves_nothing_behind(stores: LocalStores) -> None:
    store = stores.open("one")
    store.write({b"a": b"1"})
    store.delete()
    store.close()
    again = stores.open("one")
    assert again.get(b"a") is None
    again.close()


def test_b167_a_scan_that_is_given_up_does_not_hold_the_store(stores: LocalStores) -> None:
    store = stores.open("one")
    store.write({b"a": b"1", b"b": b"2"})
    assert next(store.scan(b"a", b"z")) == (b"a", b"1")
    store.close()
    again = stores.open("one")
    assert again.get(b"b") == b"2"
    again.close()


def test_a_damaged_database_is_made_anew(tmp_path: Path) -> None:
    stores = RocksStores(tmp_path)
    store = stores.open("one")
    store.write({b"a": b"1"})
    store.close()
    (tmp_path / "one" / "CURRENT").write_text("nonsense\n")
    again = stores.open("one")
    assert again.get(b"a") is None
    again.close()


def test_a_database_that_is_open_elsewhere_is_left_alone(tmp_path: Path) -> None:
    stores = RocksStores(tmp_path)
    store = stores.open("one")
    store.write({b"a": b"1"})
    with pytest.raises(StoreDamaged, match="lock"):
        stores.open("one")
    store.close()
    again = stores.open("one")
    assert again.get(b"a") == b"1"
    again.close()
