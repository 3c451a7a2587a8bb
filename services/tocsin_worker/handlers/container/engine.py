"""The part of the Docker Engine API that a run needs, over a unix socket."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

import aiohttp
import msgspec

from tocsin_worker.handlers.container.attachment import Attachment
from tocsin_worker.handlers.container.errors import EngineError, problem_of

VERSION = "v1.40"
"""Docker 19.03 and later, Podman 4 and later."""

Spec = dict[str, Any]


class Listed(msgspec.Struct, rename="pascal"):
    """A container in a list."""

    id: str
    names: list[str] = []
    labels: dict[str, str] = {}


class Engine:
    """All methods raise `EngineError`, and `aiohttp.ClientError` or `OSError` where the engine is
    away. Containers are known by id or name."""

    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self._session: aiohttp.ClientSession | None = None

    async def has_image(self, image: str) -> bool:
        try:
            await self._call("GET", f"/images/{quote(image, safe='/:@')}/json")
        except EngineError as error:
            if error.status == 404:
                return False
            raise
        return True

    async def pull(self, image: str, auth: Mapping[str, str] | None) -> None:
        """`auth`: username and password for the registry."""
        headers = {}
        if auth is not None:
            encoded = base64.urlsafe_b64encode(msgspec.json.encode(auth)).decode()
            headers["X-Registry-Auth"] = encoded
        progress = await self._call(
            "POST", "/images/create", {"fromImage": _with_tag(image)}, headers=headers
        )
        for line in progress.splitlines():
            problem = msgspec.json.decode(line).get("error") if line.strip() else None
            if problem:
                raise EngineError(0, str(problem))

    async def create(self, name: str, spec: Spec) -> None:
        await self._call("POST", "/containers/create", {"name": name}, spec)

    async def attach(self, name: str) -> Attachment:
        """Before the start, so that nothing of the output is missed."""
        return await Attachment.open(self._socket, f"/{VERSION}/containers/{name}/attach")

    async def start(self, name: str) -> None:
        await self._call("POST", f"/containers/{name}/start")

    async def wait(self, name: str) -> int:
        """The exit code, once a container that was started has ended."""
        answer = await self._call("POST", f"/containers/{name}/wait")
        return int(msgspec.json.decode(answer)["StatusCode"])

    async def was_out_of_memory(self, name: str) -> bool:
        answer = msgspec.json.decode(await self._call("GET", f"/containers/{name}/json"))
        return bool(answer["State"].get("OOMKilled"))

    async def stop(self, name: str, grace_s: int) -> None:
        """SIGTERM, and SIGKILL if it is still there after the grace. Waits for its end."""
        await self._call("POST", f"/containers/{name}/stop", {"t": str(grace_s)})

    async def remove(self, name: str) -> None:
        """Kill it if need be, and remove it with its volumes; one that is gone is fine."""
        try:
            await self._call("DELETE", f"/containers/{name}", {"force": "true", "v": "true"})
        except EngineError as error:
            if error.status != 404:
                raise

    async def labelled(self, *labels: str) -> list[Listed]:
        """All containers, running or not, that have these labels: `name=value`."""
        filters = msgspec.json.encode({"label": labels}).decode()
        answer = await self._call("GET", "/containers/json", {"all": "true", "filters": filters})
        return msgspec.json.decode(answer, type=list[Listed])

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    async def _call(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None = None,
        body: Spec | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> bytes:
        """The body of the answer; no time-out: an attempt has one."""
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.UnixConnector(str(self._socket), limit=0),
                timeout=aiohttp.ClientTimeout(total=None),
            )
        url = f"http://engine/{VERSION}{path}"
        async with self._session.request(
            method, url, params=query, json=body, headers=headers
        ) as response:
            content = await response.read()
            if response.status >= 400:
                raise EngineError(response.status, problem_of(content))
            return content


def _with_tag(image: str) -> str:
    """Without a tag the API would pull all of them."""
    has_tag = ":" in image.rpartition("/")[2] or "@" in image
    return image if has_tag else f"{image}:latest"
