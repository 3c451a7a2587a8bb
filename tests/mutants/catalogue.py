"""The mutants: which rule each breaks, and which tests notice."""

from collections.abc import Callable
from typing import NamedTuple

from tests.mutants import breaking

LOOP = "tests/scheduler/test_loop.py"
CLOCKS = "tests/scheduler/test_loop_clocks.py"
HISTORIES = "tests/scheduler/test_histories.py"
SITUATIONS = "tests/scheduler/situations"
ACCOUNTING = "tests/scheduler/test_core_accounting.py"
SIMULATION = "tests/simulation/test_simulation.py"
FOLD = "tests/model/test_fold.py"
COLD = "tests/scheduler/test_fresh_jobs.py"


class Mutant(NamedTuple):
    """rule: what holds no more once it is installed. tests: any of these must fail then."""

    rule: str
    install: Callable[[], None]
    tests: tuple[str, ...]


MUTANTS = {
    "no-owner-fencing": Mutant(
        "a successor fences the owner that the offsets name",
        breaking.fence_nobody,
        (LOOP,),
    ),
    "no-offsets-where-nothing-was-read": Mutant(
        "each transaction carries the offsets of all owned partitions",
        breaking.send_offsets_only_where_something_was_read,
        (LOOP, HISTORIES),
    ),
    "post-before-commit": Mutant(
        "the local store is written when the transaction has committed",
        breaking.post_before_commit,
        (LOOP, HISTORIES),
    ),
    "watermark-before-emission": Mutant(
        "the watermark does not pass what is not emitted",
        breaking.move_watermark_before_emission,
        (f"{SITUATIONS}/test_instants.py",),
    ),
    "watermark-in-milliseconds": Mutant(
        "the watermark may stand inside an instant",
        breaking.round_watermark,
        (f"{SITUATIONS}/test_instants.py",),
    ),
    "edit-leaves-the-old-definition-open": Mutant(
        "an edit accounts what the old definition still owes",
        breaking.leave_old_definitions_open,
        (ACCOUNTING,),
    ),
    "restatement-without-through": Mutant(
        "a restatement does not undo a command that is newer than what it judged",
        breaking.restate_without_through,
        (f"{SITUATIONS}/test_commands.py", FOLD),
    ),
    "jobs-restored-to-their-end": Mutant(
        "a restore takes commands up to the committed offset; the others are acted upon",
        breaking.restore_jobs_to_their_end,
        (SIMULATION,),
    ),
    "lease-by-the-workers-clock": Mutant(
        "a lease lasts from the append time of the last sign of life",
        breaking.judge_leases_by_the_workers_clock,
        (f"{SITUATIONS}/test_leases.py",),
    ),
    "ended-runs-forgotten": Mutant(
        "what comes late of a run that has ended begins nothing",
        breaking.forget_ended_runs,
        (f"{SITUATIONS}/test_attempts.py",),
    ),
    "own-ends-not-said": Mutant(
        "runs that the scheduler itself ends are told of in the outcomes",
        breaking.keep_own_ends_to_itself,
        (f"{SITUATIONS}/test_endings.py",),
    ),
    "settled-entries-stay": Mutant(
        "an occurrence that is settled while it stands in the due index is taken out of it",
        breaking.leave_settled_entries,
        (f"{SITUATIONS}/test_edits.py",),
    ),
    "settled-time-dropped-at-once": Mutant(
        "a settled time is kept until the watermark has passed it by the longest jitter",
        breaking.drop_settled_times_at_once,
        (f"{SITUATIONS}/test_edits.py", ACCOUNTING),
    ),
    "ranges-by-the-new-schedule": Mutant(
        "a backlog goes on by the schedule that it came from",
        breaking.read_ranges_with_the_present_schedule,
        (f"{SITUATIONS}/test_catch_up.py",),
    ),
    "cold-reader-judges-conditions": Mutant(
        "who holds nothing of a key takes its first record whatever its condition",
        breaking.judge_conditions_when_cold,
        (COLD,),
    ),
    "clock-believed-before-a-brokers": Mutant(
        "nothing holds on to a wall clock's time from before a broker's was known",
        breaking.hold_on_to_the_first_wall_clock,
        (CLOCKS,),
    ),
    "read-back-forgotten-by-the-claim": Mutant(
        "what has to be read back stays known until all of it has been met again",
        breaking.forget_what_to_read_back,
        (f"{LOOP}::test_what_was_read_back_is_read_back_again_by_whoever_comes_next",),
    ),
    "handed-back-twice": Mutant(
        "a run that was handed back is emitted again once",
        breaking.take_old_words_for_new,
        (f"{SITUATIONS}/test_leases.py",),
    ),
}
