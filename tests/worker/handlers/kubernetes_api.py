"""A Kubernetes API server that knows nothing but shapes; it schedules nothing.

It judges what it is sent by the models of the official client, which are generated from the
OpenAPI document of Kubernetes and take no unknown field: what they refuse, a strict server would.
It answers with the documents in `tests/data/kubernetes`, which the same models accept
(`test_kubernetes_documents`), and whose statuses are those that users of real clusters have seen.
"""

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aiohttp import web
from kubernetes.aio import client
from pydantic import ValidationError

from tocsin.model.runs import Run
from tocsin_worker.testing import handler_run

SHAPES = Path(__file__).parents[2] / "data" / "kubernetes"
JOBS = "/apis/batch/v1/namespaces/{namespace}/jobs"
PODS = "/api/v1/namespaces/{namespace}/pods"


@dataclass(slots=True)
class Told:
    """One request: what was asked for, and with what."""

    method: str
    path: str
    query: dict[str, str]
    body: Any


@dataclass(slots=True)
class KubernetesApi:
    """`jobs`: shapes of a Job, one for each look at it, the last one for good. `elsewhere`: the
    shape of Jobs in other namespaces. `looks`: namespace -> set with the first look at a Job.
    `refused`: why requests make no sense to the API."""

    create: str = "job-pending"
    jobs: deque[str] = field(default_factory=lambda: deque(["job-running", "job-complete"]))
    pods: str = "pods-succeeded"
    log: str | None = ""
    elsewhere: dict[str, str] = field(default_factory=dict)
    looks: dict[str, asyncio.Event] = field(default_factory=dict)
    told: list[Told] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    port: int = 0

    def of(self, method: str, part: str) -> list[Told]:
        """The requests with this method and this in their path."""
        return [one for one in self.told if one.method == method and part in one.path]

    def kubeconfig(self, folder: Path) -> Path:
        """A file that leads here."""
        cluster = {"name": "c", "cluster": {"server": f"http://127.0.0.1:{self.port}"}}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [cluster],
            "users": [{"name": "u", "user": {"token": "t0ken"}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
        file = folder / "kubeconfig"
        file.write_text(json.dumps(document))
        return file

    async def handle(self, request: web.Request) -> web.StreamResponse:
        text = await request.text()
        body = json.loads(text) if text else None
        self.told.append(Told(request.method, request.path, dict(request.query), body))
        problem = _problem(request.method, body)
        if problem is not None:
            self.refused.append(problem)
            return web.json_response(
                {"kind": "Status", "message": problem, "code": 400}, status=400
            )
        if request.path.endswith("/log"):
            return web.Response(text=self.log, status=200 if self.log is not None else 404)
        selected = request.query.get("labelSelector", "").removeprefix("job-name=")
        created = (body or {}).get("metadata", {}).get("name", "")
        name = request.match_info.get("name") or created or selected
        text = (SHAPES / f"{self._shape(request)}.json").read_text()
        namespace = request.match_info["namespace"]
        document = json.loads(text.replace("NAMESPACE", namespace).replace("NAME", name))
        fine = 201 if request.method == "POST" else 200
        return web.json_response(document, status=document.get("code", fine))

    def _shape(self, request: web.Request) -> str:
        if "/pods" in request.path:
            return self.pods
        namespace = request.match_info["namespace"]
        if request.method == "GET" and namespace in self.looks:
            self.looks[namespace].set()
        if request.method == "GET" and namespace in self.elsewhere:
            return self.elsewhere[namespace]
        if request.method == "GET":
            return self.jobs.popleft() if len(self.jobs) > 1 else self.jobs[0]
        return self.create if request.method == "POST" else "status-deleted"


def _problem(method: str, body: object) -> str | None:
    """What the models have against the body of a request."""
    try:
        if method == "POST":
            client.V1Job.model_validate(body)
        elif method == "DELETE" and body is not None:
            client.V1DeleteOptions.model_validate(body)
    except ValidationError as error:
        return str(error)
    return None


def kubernetes_run(payload: object = None, attempt: int = 1, **config: Any) -> Run:
    return handler_run("kubernetes", {"image": "alpine:3.20", **config}, payload, attempt=attempt)


@asynccontextmanager
async def kubernetes_api(**shapes: Any) -> AsyncIterator[KubernetesApi]:
    """A server on a free port of loopback."""
    api = KubernetesApi(**shapes)
    app = web.Application()
    for path in (JOBS, f"{JOBS}/{{name}}", PODS, f"{PODS}/{{pod}}/log"):
        app.router.add_route("*", path, api.handle)
    runner = web.AppRunner(app, shutdown_timeout=0, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        api.port = runner.addresses[0][1]
        yield api
        assert not api.refused
    finally:
        await runner.cleanup()
