"""The handler itself."""

import asyncio
import logging
from collections.abc import Iterator
from contextlib import contextmanager

import aiohttp
import msgspec
from kubernetes.aio.client import ApiException, V1JobCondition, V1Pod

from tocsin.model.runs import Error, ErrorCode, Run
from tocsin_worker.handlers.configs import read_config
from tocsin_worker.handlers.kubernetes.config import KubernetesConfig
from tocsin_worker.handlers.kubernetes.jobs import Connect, Jobs
from tocsin_worker.handlers.kubernetes.manifest import (
    CONTAINER,
    earlier_attempts,
    job_manifest,
    job_name,
)
from tocsin_worker.handlers.kubernetes.pods import HeldUp, disruption, terminated
from tocsin_worker.handlers.kubernetes.watch import PATIENT, Patience, Watch
from tocsin_worker.handlers.output import MAX_EXCERPT
from tocsin_worker.handlers.port import Context, HandlerFailed, Success

LOG = logging.getLogger(__name__)

_DELETE_SECONDS = 30.0
_CONFLICT = 409
_PERMANENT = frozenset({400, 422})


class JobResult(msgspec.Struct, frozen=True, omit_defaults=True):
    """Kept as JSON. `exit_code` None: the pod was gone before it could be looked at."""

    namespace: str
    job: str
    pod: str | None = None
    exit_code: int | None = None
    output: str = ""


class KubernetesHandler:
    """Creates a Job and waits for its end; success is the Job's condition `Complete`.

    The Job is deleted when the attempt ends, however it ends; the attempt does not wait for that.
    """

    type = "kubernetes"

    def __init__(self, connect: Connect, namespace: str, patience: Patience = PATIENT) -> None:
        """`namespace`: of jobs that name none."""
        self._connect = connect
        self._namespace = namespace
        self._patience = patience
        self._jobs: Jobs | None = None
        self._connecting = asyncio.Lock()
        self._deleting: set[asyncio.Task[None]] = set()

    async def execute(self, run: Run, context: Context) -> Success:
        config = read_config(run.handler, KubernetesConfig)
        manifest = job_manifest(config, run)
        namespace, name = config.namespace or self._namespace, job_name(run)
        with _api_failures():
            jobs = await self._opened()
            if run.attempt > 1:
                await jobs.delete_selected(namespace, earlier_attempts(run))
            creating = asyncio.ensure_future(_create(jobs, namespace, manifest))
            try:
                await asyncio.shield(creating)
                watch = Watch(jobs, namespace, name, self._patience)
                end = await watch.end()
                result, pod = await _report(jobs, namespace, name)
            finally:
                self._delete(jobs, namespace, name, creating)
        kept = msgspec.json.encode(result)
        if end.type == "Complete":
            return Success(kept)
        raise HandlerFailed(_failure(result, end, pod, watch.held_up), kept)

    async def close(self) -> None:
        """Waits for Jobs that are being deleted."""
        while self._deleting:
            await asyncio.wait(self._deleting)
        if self._jobs is not None:
            await self._jobs.close()

    async def _opened(self) -> Jobs:
        async with self._connecting:
            if self._jobs is None:
                self._jobs = Jobs(await self._connect())
            return self._jobs

    def _delete(
        self, jobs: Jobs, namespace: str, name: str, creating: asyncio.Future[None]
    ) -> None:
        """A creation that was cut short may still succeed, so it is waited for."""

        async def delete() -> None:
            await asyncio.wait([creating])
            await _deleted(jobs, namespace, name)

        task = asyncio.get_running_loop().create_task(delete())
        self._deleting.add(task)
        task.add_done_callback(self._deleting.discard)


async def _create(jobs: Jobs, namespace: str, manifest: dict[str, object]) -> None:
    """One that exists was created for this very attempt, which was delivered again."""
    try:
        await jobs.create(namespace, manifest)
    except ApiException as error:
        if error.status != _CONFLICT:
            raise


async def _report(jobs: Jobs, namespace: str, name: str) -> tuple[JobResult, V1Pod | None]:
    pod = await jobs.pod(namespace, name)
    if pod is None or pod.metadata is None or pod.metadata.name is None:
        return JobResult(namespace, name), None
    ended = terminated(pod)
    try:
        output = await jobs.log(namespace, pod.metadata.name, CONTAINER)
    except ApiException as error:
        output = f"[the log cannot be read: {error.status} {error.reason}]"
    exit_code = None if ended is None else ended.exit_code
    return JobResult(namespace, name, pod.metadata.name, exit_code, output), pod


def _failure(
    result: JobResult, end: V1JobCondition, pod: V1Pod | None, never_started: HeldUp | None
) -> Error:
    """The Job's own reason, what its pod tells, and its last words."""
    ended, disrupted = pod and terminated(pod), pod and disruption(pod)
    code: ErrorCode = "interrupted" if disrupted else "exit_code"
    told = [str(end.reason)]
    if end.reason == "DeadlineExceeded":
        code = "timeout"
        told += [f"its pod has not started: {never_started}"] if never_started else []
    told += [disrupted] if disrupted else []
    told += [f"exit code {ended.exit_code}"] if ended else []
    told += [ended.reason] if ended and ended.reason not in {None, "Error"} else []
    words = result.output.strip()[-MAX_EXCERPT:]
    message = f"Job {result.namespace}/{result.job} failed: {', '.join(told)}"
    return Error(code=code, message=message + (f": {words}" if words else ""))


async def _deleted(jobs: Jobs, namespace: str, name: str) -> None:
    """What fails here the cluster makes good: a Job that has ended has a time to live."""
    try:
        async with asyncio.timeout(_DELETE_SECONDS):
            await jobs.delete(namespace, name)
    except (ApiException, aiohttp.ClientError, OSError) as error:
        LOG.warning(
            "Job %s/%s could not be deleted: %s",
            namespace,
            name,
            getattr(error, "reason", error),
            extra={"action": "job_left_behind"},
        )


@contextmanager
def _api_failures() -> Iterator[None]:
    """What this worker may not do another may; what is invalid is so everywhere."""
    try:
        yield
    except ApiException as error:
        message = f"Kubernetes answers {error.status} {error.reason}{_detail(error)}"
        refused = error.status is not None and error.status < 500 and error.status != 429
        code: ErrorCode = "invalid" if refused else "connect"
        failure = Error(code=code, message=message, permanent=error.status in _PERMANENT)
        raise HandlerFailed(failure) from error
    except (aiohttp.ClientError, OSError) as error:
        message = f"Kubernetes does not answer: {type(error).__name__}: {error}"
        raise HandlerFailed(Error(code="connect", message=message)) from error


def _detail(error: ApiException) -> str:
    """The sentence of the `Status` object in the body."""
    try:
        return f": {msgspec.json.decode(error.body or b'')['message']}"
    except (msgspec.DecodeError, KeyError, TypeError):
        return ""
