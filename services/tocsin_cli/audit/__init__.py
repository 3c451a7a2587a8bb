"""Proves from the log alone that each due occurrence has exactly one run or one recorded reason.

Shares no code with the scheduler, only the timetable: what it knows of the scheduler is what the
log says and what the documentation promises.
"""

from tocsin_cli.audit.auditor import audit
from tocsin_cli.audit.report import Finding, PartitionReport, Report, Verdict

__all__ = ["Finding", "PartitionReport", "Report", "Verdict", "audit"]
