"""Single jobs, looked up by requests on the event loop."""

from tocsin.model.fold import Held
from tocsin.model.keys import JobKey
from tocsin_gateway.projection.gathering import Gathered
from tocsin_gateway.projection.job_reads import CommandPlace, JobReads, Settled, StoredJob


class JobLookups:
    """What `JobReads` says of one job, with what other requests ask at the same time.

    held: what the fold holds, a tombstone too. stored: the job, if it exists. settled: what became
    of a command that the read model has passed.
    """

    def __init__(self, jobs: JobReads) -> None:
        self.held: Gathered[JobKey, Held] = Gathered(jobs.held_of_many)
        self.stored: Gathered[JobKey, StoredJob] = Gathered(jobs.stored_of_many)
        self.settled: Gathered[CommandPlace, Settled] = Gathered(jobs.settled_of_many)
