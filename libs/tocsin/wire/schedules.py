"""A schedule as JSON text, as `accepted` events carry it."""

from functools import lru_cache

from tocsin.model.schedule_json import render_schedule
from tocsin.model.strict_json import dumps
from tocsin.timetable import ScheduleFields


@lru_cache(maxsize=4_096)
def schedule_text(fields: ScheduleFields) -> str:
    """The schedule object that a user would write."""
    return dumps(render_schedule(fields)).decode()
