"""Tocsin: a distributed job scheduler whose only shared component is Apache Kafka."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tocsin.client import AsyncClient as AsyncClient
    from tocsin.client import Client as Client
    from tocsin.client import CommandProducer as CommandProducer

__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """`from tocsin import Client` loads the HTTP client only where it is asked for."""
    if name in {"AsyncClient", "Client", "CommandProducer"}:
        from tocsin import client

        return getattr(client, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
