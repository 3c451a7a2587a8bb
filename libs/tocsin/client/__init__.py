"""The SDK: clients of the gateway's HTTP API, their answers and errors; commands straight to Kafka.

from tocsin import AsyncClient, Client, CommandProducer
"""

from tocsin.client.async_client import AsyncClient
from tocsin.client.client import Client
from tocsin.client.command_producer import CommandProducer
from tocsin.client.errors import (
    ApiError,
    Conflict,
    Invalid,
    NotAllowed,
    NotFound,
    StillRunning,
    TocsinError,
    Unavailable,
    Unreachable,
)
from tocsin.client.models import (
    Attempt,
    Backfill,
    Bulk,
    Event,
    Job,
    JobInfo,
    LiveEvent,
    NewToken,
    Preview,
    Run,
    RunDetail,
    Statistics,
    Token,
)

__all__ = [
    "ApiError",
    "AsyncClient",
    "Attempt",
    "Backfill",
    "Bulk",
    "Client",
    "CommandProducer",
    "Conflict",
    "Event",
    "Invalid",
    "Job",
    "JobInfo",
    "LiveEvent",
    "NewToken",
    "NotAllowed",
    "NotFound",
    "Preview",
    "Run",
    "RunDetail",
    "Statistics",
    "StillRunning",
    "TocsinError",
    "Token",
    "Unavailable",
    "Unreachable",
]
