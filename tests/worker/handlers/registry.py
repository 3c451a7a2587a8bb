"""A registry with one image: as much of the OCI distribution API as a pull takes."""

import base64
import gzip
import hashlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from aiohttp import web

from tests.worker.handlers.podman import root_file_system

_MANIFEST = "application/vnd.oci.image.manifest.v1+json"


@dataclass(slots=True)
class Registry:
    """`login`: name and password, with a colon, of who may pull; None = everybody. `pulled`: the
    manifests that were asked for."""

    login: str | None = None
    pulled: list[str] = field(default_factory=list)
    blobs: dict[str, bytes] = field(default_factory=dict)
    manifest: bytes = b""

    def __post_init__(self) -> None:
        files = root_file_system()
        layer = gzip.compress(files)
        rootfs = {"type": "layers", "diff_ids": [_digest(files)]}
        image = {"architecture": "amd64", "os": "linux", "config": {}, "rootfs": rootfs}
        config = json.dumps(image).encode()
        self.blobs = {_digest(blob): blob for blob in (layer, config)}
        document = {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": _described(config, "application/vnd.oci.image.config.v1+json"),
            "layers": [_described(layer, "application/vnd.oci.image.layer.v1.tar+gzip")],
        }
        self.manifest = json.dumps(document).encode()

    async def handle(self, request: web.Request) -> web.Response:
        given = request.headers.get("Authorization", "").removeprefix("Basic ")
        if self.login is not None and base64.b64decode(given) != self.login.encode():
            challenge = {"WWW-Authenticate": 'Basic realm="tests"'}
            return web.json_response({"errors": []}, status=401, headers=challenge)
        *_, kind, reference = request.path.split("/")
        if kind == "manifests":
            self.pulled.append(reference)
            headers = {"Docker-Content-Digest": _digest(self.manifest)}
            return web.Response(body=self.manifest, content_type=_MANIFEST, headers=headers)
        if kind == "blobs":
            return web.Response(body=self.blobs[reference])
        return web.json_response({})


def _digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


def _described(data: bytes, media_type: str) -> dict[str, object]:
    return {"mediaType": media_type, "digest": _digest(data), "size": len(data)}


@asynccontextmanager
async def registry(port: int, login: str | None = None) -> AsyncIterator[Registry]:
    """On that port of loopback."""
    serving = Registry(login)
    app = web.Application()
    app.router.add_get("/v2/{path:.*}", serving.handle)
    runner = web.AppRunner(app, shutdown_timeout=0, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", port).start()
        yield serving
    finally:
        await runner.cleanup()
