"""Tasks: Python functions as jobs.

    from tocsin.tasks import task

    @task(retry=3)
    def report(day: str) -> dict[str, int]:
        ...

    report.schedule(cron="0 7 * * *", timezone="Europe/Berlin", kwargs={"day": "today"})
    report.enqueue("2026-01-31", delay="5m")

Workers started with `tocsin worker --tasks package.module` execute them.
"""

from tocsin.tasks.context import TaskCancelled, TaskContext
from tocsin.tasks.definition import Task, task
from tocsin.tasks.failures import GiveUp, RetryAfter

__all__ = [
    "GiveUp",
    "RetryAfter",
    "Task",
    "TaskCancelled",
    "TaskContext",
    "task",
]
