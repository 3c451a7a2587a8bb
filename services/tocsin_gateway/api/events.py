"""/v1/events: what happens to jobs and runs, as it happens."""

from fastapi import APIRouter, Request
from starlette.responses import StreamingResponse

from tocsin_gateway.api import openapi
from tocsin_gateway.api.context import Acting, Context, Current, still_admitted
from tocsin_gateway.api.event_stream import MEDIA_TYPE, stream
from tocsin_gateway.api.parameters import Parameters
from tocsin_gateway.api.problems import Kind, Problem
from tocsin_gateway.projection.cursors import InvalidCursor
from tocsin_gateway.projection.event_feed import NEWS_TYPES, EventFilter, Place, read_place

router = APIRouter(prefix="/v1", tags=["events"])

LAST_EVENT_ID = "Last-Event-ID"

_MOST_STREAMS = 200
_MOST_OF_TENANT = 100
_RETRY_AFTER_S = "15"


@router.get("/events", openapi_extra=openapi.STREAM_EVENTS)
async def stream_events(request: Request, context: Current, caller: Acting) -> StreamingResponse:
    """What happens from now on, or behind the one that `Last-Event-ID` names, without end; at
    least every 15 seconds a sign of life."""
    query = Parameters(request, "job_id", "type")
    wanted = EventFilter(
        tenant=caller.tenant, job_id=query.text("job_id"), types=query.some_of("type", NEWS_TYPES)
    )
    place = _place(context, request.headers.get(LAST_EVENT_ID))
    if context.streams.count >= _MOST_STREAMS:
        told = f"{_MOST_STREAMS} streams are open already; ask another gateway, or again later"
        raise Problem(Kind.STREAMS_FULL, told, headers={"Retry-After": _RETRY_AFTER_S})
    if context.streams.count_of(caller.tenant) >= _MOST_OF_TENANT:
        told = f"{_MOST_OF_TENANT} streams of {caller.tenant} are open already"
        raise Problem(Kind.TOO_MANY_STREAMS, told, headers={"Retry-After": _RETRY_AFTER_S})
    answer = stream(
        context.events,
        context.streams,
        context.clock,
        wanted,
        place,
        lambda: still_admitted(request, caller),
    )
    return StreamingResponse(answer, media_type=MEDIA_TYPE)


def _place(context: Context, last_event_id: str | None) -> Place:
    """Where a stream goes on, or the end of what there is."""
    ends = context.events.ends()
    if not ends:
        raise Problem(Kind.NOT_READY, "the events are being read from the log; ask again soon")
    if not last_event_id:
        return ends
    try:
        return read_place(last_event_id, len(ends))
    except InvalidCursor as error:
        raise Problem(Kind.BAD_REQUEST, f"header {LAST_EVENT_ID}: {error}") from None
