"""One job's accounts, judged."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from tocsin.timetable import Schedule
from tocsin_cli.audit.accounts import UNLIMITED, Account, Fact, accounts
from tocsin_cli.audit.definitions import Definition, counted_by, founded, obligations


class Claim(NamedTuple):
    """What can be claimed of a partition: nominal times after `since`, due before `until`.

    jobs: definitions with a lower revision are applied. whole: nothing older was removed.
    """

    since: int
    until: int
    jobs: int
    whole: bool


Result = Literal["once", "repeated", "recorded", "waiting", "missed", "doubled", "unfounded"]
"""repeated: its first attempt was emitted more than once, which a declined run explains."""

SUSPICIOUS: frozenset[Result] = frozenset({"repeated", "missed", "doubled", "unfounded"})


class Judgement(NamedTuple):
    """What became of one occurrence. runs: how often its first attempt was emitted."""

    scheduled_time: int
    result: Result
    runs: int
    detail: str = ""


class Judge:
    """Judges the accounts of one job."""

    def __init__(self, definitions: Sequence[Definition], claim: Claim) -> None:
        self._all = definitions
        self._applied = [each for each in definitions if each.revision < claim.jobs]
        self._claim = claim
        self._limits = _Limits(definitions, whole=claim.whole)

    def judge(self, facts: Iterable[Fact]) -> Iterator[Judgement]:
        """In the order of scheduled times, in which `facts` come, too."""
        owed = obligations(self._applied, self._claim.until)
        for account in accounts(owed, facts, self._meaning):
            used_up = self._limits.pass_by(account)
            if self._claim.since < account.nominal < self._claim.until:
                judgement = self._judgement(account)
                if judgement.result != "missed" or not used_up:
                    yield judgement

    def _meaning(self, fact: Fact) -> list[Schedule]:
        number = None if fact.number == UNLIMITED else fact.number
        return counted_by(self._all, fact.nominal, fact.last, number)

    def _judgement(self, account: Account) -> Judgement:
        at, runs = account.nominal, account.runs
        if account.obligation is None and self._is_unfounded(at):
            return Judgement(at, "unfounded", runs, "it ran, and no definition has it")
        if runs > 1:
            return Judgement(at, "repeated", runs, f"emitted {runs} times as attempt 1")
        if _is_contradictory(account):
            return Judgement(at, "doubled", runs, _contradiction(account))
        if runs:
            return Judgement(at, "once", runs)
        if account.missed or account.passed:
            return Judgement(at, "recorded", runs)
        if account.open:
            return Judgement(at, "waiting", runs)
        return Judgement(at, "missed", runs, "it was due, and was neither run nor recorded")

    def _is_unfounded(self, nominal: int) -> bool:
        """Where older definitions may be gone, their runs may be founded all the same."""
        if not self._claim.whole and (not self._all or nominal <= self._all[0].applied):
            return False
        return not founded(self._all, nominal)


def _is_contradictory(account: Account) -> bool:
    """A recurring occurrence has one run or one `missed`; a one-off may be refused again."""
    recurring = account.obligation is not None and not account.obligation.one_off
    return recurring and account.runs + account.missed > 1


def _contradiction(account: Account) -> str:
    if account.runs:
        return "it ran, and is recorded as missed"
    return f"it is recorded as missed {account.missed} times"


class _Limits:
    """Follows `max_runs`, which counts the runs since a job was created. A one-off may be owed for
    an instant before the job was created anew, so the times of two lives may come in turns."""

    def __init__(self, definitions: Sequence[Definition], *, whole: bool) -> None:
        self._definitions = definitions
        self._births = _births(definitions)
        self._whole = whole
        self._used: Counter[int] = Counter()

    def pass_by(self, account: Account) -> bool:
        """Count the account's run; whether its definition's runs were used up before."""
        by = self._in_force(account)
        if by is None:
            return False
        birth, limit = self._births[by], self._definitions[by].max_runs
        unknown = birth == 0 and not self._whole
        used_up = limit is not None and (unknown or self._used[birth] >= limit)
        self._used[birth] += account.runs > 0
        return used_up

    def _in_force(self, account: Account) -> int | None:
        """Index of the definition that owes the account; of a run that none owes, the latest."""
        if account.obligation is not None:
            return account.obligation.by
        earlier = bisect_left(self._definitions, account.nominal, key=lambda each: each.anchor)
        return earlier - 1 if earlier else None


def _births(definitions: Sequence[Definition]) -> list[int]:
    """For each definition the index of the one that created its job."""
    births: list[int] = []
    for index in range(len(definitions)):
        after_delete = index > 0 and definitions[index - 1].schedule is None
        births.append(index if not births or after_delete else births[-1])
    return births
