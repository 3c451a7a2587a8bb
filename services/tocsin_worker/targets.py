"""Whom a run is going to call, as far as its handler's configuration says."""

from functools import lru_cache
from urllib.parse import urlsplit

import msgspec

from tocsin.model.runs import Run


class _Config(msgspec.Struct, frozen=True):
    url: str | None = None


def target_host(run: Run) -> str | None:
    """The host of the configuration's `url`, in lower case; None where there is none. A redirect
    may lead elsewhere."""
    return _host(run.handler.config)


@lru_cache(maxsize=4_096)
def _host(config: bytes) -> str | None:
    try:
        url = msgspec.json.decode(config, type=_Config).url
        return None if url is None else urlsplit(url).hostname
    except ValueError:
        return None
