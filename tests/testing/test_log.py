"""A partition in memory against a naive list of everything that was ever written."""

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from tocsin.broker.port import Isolation, Record, TopicPartition
from tocsin.testing import SettableClock
from tocsin.testing.log import PartitionLog
from tocsin.testing.transactions import Transaction

KEYS = st.sampled_from([b"a", b"b", b"c"])
VALUES = st.sampled_from([b"1", b"2", None])


class LogMachine(RuleBasedStateMachine):
    """Transactions open, end and interleave; the oracle recomputes what is visible each time."""

    transactions = Bundle("transactions")

    def __init__(self) -> None:
        super().__init__()
        self.log = PartitionLog(TopicPartition("t", 0), SettableClock())
        self.written: list[tuple[int, bytes | None, Transaction | None]] = []
        self.open: dict[Transaction, int | None] = {}

    @rule(key=KEYS, value=VALUES)
    def write(self, key: bytes, value: bytes | None) -> None:
        record = self.log.append(key, value, None)
        self.written.append((record.offset, value, None))

    @rule(target=transactions)
    def begin(self) -> Transaction:
        transaction = Transaction()
        self.open[transaction] = None
        return transaction

    @rule(transaction=transactions, key=KEYS, value=VALUES)
    def write_in(self, transaction: Transaction, key: bytes, value: bytes | None) -> None:
        record = self.log.append(key, value, None, transaction)
        self.written.append((record.offset, value, transaction))
        if self.open[transaction] is None:
            self.open[transaction] = record.offset

    @rule(transaction=consumes(transactions), commit=st.booleans())
    def end(self, transaction: Transaction, commit: bool) -> None:
        transaction.end(commit=commit)
        del self.open[transaction]

    @invariant()
    def the_stable_end_is_before_the_first_open_record(self) -> None:
        first_open = [offset for offset in self.open.values() if offset is not None]
        expected = min(first_open, default=self.log.high_watermark)
        assert self.log.end(Isolation.COMMITTED) == expected

    @invariant()
    def readers_see_what_the_oracle_sees(self) -> None:
        for isolation in Isolation:
            end = self.log.end(isolation)
            expected = [
                (offset, value)
                for offset, value, owner in self.written
                if offset < end
                and not (isolation is Isolation.COMMITTED and owner and owner.aborted)
            ]  # fmt: skip
            records = read_in_steps(self.log, isolation, 2)
            assert [(r.offset, r.value) for r in records] == expected


TestLogMachine = LogMachine.TestCase


@given(
    st.lists(st.tuples(KEYS, VALUES), max_size=30),
    st.sets(st.integers(0, 29)),
    st.booleans(),
)
def test_compaction_may_drop_what_it_likes_but_never_the_last_word_on_a_key(
    written: list[tuple[bytes, bytes | None]], kept: set[int], drop_tombstones: bool
) -> None:
    log = PartitionLog(TopicPartition("t", 0), SettableClock())
    for key, value in written:
        log.append(key, value, None)
    before = read_in_steps(log, Isolation.COMMITTED, 100)
    log.compact(lambda record: record.offset in kept, drop_tombstones=drop_tombstones)
    after = read_in_steps(log, Isolation.COMMITTED, 3)
    assert table(after) == table(before)
    assert log.high_watermark == len(written)
    last = {record.key: record for record in before}
    gone = {k for k, r in last.items() if r.value is None} if drop_tombstones else set()
    assert {r.offset for r in after} == {
        r.offset for r in before if r.key not in gone and (r.offset in kept or r is last[r.key])
    }


def test_compaction_leaves_alone_what_lies_behind_an_open_transaction() -> None:
    log = PartitionLog(TopicPartition("t", 0), SettableClock())
    transaction = Transaction()
    log.append(b"k", b"1", None)
    log.append(b"k", b"2", None, transaction)
    log.append(b"k", b"3", None)
    log.compact(lambda _: False, drop_tombstones=True)
    transaction.end(commit=True)
    assert [r.value for r in read_in_steps(log, Isolation.COMMITTED, 9)] == [b"1", b"2", b"3"]


def test_records_are_stamped_by_the_clock() -> None:
    clock = SettableClock(now_ms=5)
    log = PartitionLog(TopicPartition("t", 0), clock)
    first = log.append(b"k", b"1", None)
    clock.advance(10)
    assert (first.timestamp, log.append(b"k", b"2", None).timestamp) == (5, 15)


def read_in_steps(log: PartitionLog, isolation: Isolation, limit: int) -> list[Record]:
    records: list[Record] = []
    position = log.begin
    while position < log.end(isolation):
        batch, position = log.read(position, limit, isolation)
        records += batch
    return records


def table(records: list[Record]) -> dict[bytes | None, bytes]:
    """What a reader who keeps the last value of each key ends up with."""
    held = {record.key: record.value for record in records}
    return {key: value for key, value in held.items() if value is not None}
