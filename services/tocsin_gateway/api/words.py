"""The words that requests may use, in their order."""

from typing import get_args

from tocsin.model.jobs import Overlap
from tocsin.model.runs import RunStatus
from tocsin_gateway.projection.job_counts import Phase
from tocsin_gateway.projection.job_reads import JobSort

OVERLAPS: tuple[Overlap, ...] = get_args(Overlap)
SORTS: tuple[JobSort, ...] = get_args(JobSort)
PHASES: tuple[Phase, ...] = get_args(Phase)
STATUSES: tuple[RunStatus, ...] = get_args(RunStatus)
