"""Waiting for the end of a Job."""

import asyncio
import logging
from dataclasses import dataclass

import aiohttp
from kubernetes.aio.client import ApiException, V1Job, V1JobCondition

from tocsin import clock
from tocsin.model.runs import Error
from tocsin_worker.handlers.kubernetes.jobs import Jobs
from tocsin_worker.handlers.kubernetes.pods import HeldUp, has_started, held_up
from tocsin_worker.handlers.port import HandlerFailed

LOG = logging.getLogger(__name__)

_SLOWEST_POLL_S = 5.0
_TOO_MANY = 429


@dataclass(frozen=True, slots=True)
class Patience:
    """poll_s: between two looks at a Job, at first. start_ms: how long its pod may be unable to
    start, such as for an image that cannot be pulled."""

    poll_s: float = 1.0
    start_ms: int = 60_000


PATIENT = Patience()


class Watch:
    """Looks at a Job until it has ended, and at its pod until that has started.

    `held_up`: what its pod waited for when it was last looked at.
    """

    def __init__(self, jobs: Jobs, namespace: str, name: str, patience: Patience) -> None:
        self._jobs = jobs
        self._namespace = namespace
        self._name = name
        self._patience = patience
        self._started = False
        self._held_up_since: int | None = None
        self.held_up: HeldUp | None = None

    async def end(self) -> V1JobCondition:
        """The condition by which it has ended. Raises `HandlerFailed` where its pod cannot start.

        A cluster that does not answer for a while is asked again: the Job goes on.
        """
        pause = self._patience.poll_s
        while True:
            try:
                condition = _end_of(await self._jobs.read(self._namespace, self._name))
                if condition is not None:
                    return condition
                await self._look_at_pod()
            except (aiohttp.ClientError, TimeoutError) as error:
                LOG.warning(
                    "looking at Job %s: %s", self._name, error, extra={"action": "job_unseen"}
                )
            except ApiException as error:
                if error.status is not None and error.status < 500 and error.status != _TOO_MANY:
                    raise
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, _SLOWEST_POLL_S)

    async def _look_at_pod(self) -> None:
        if self._started:
            return
        pod = await self._jobs.pod(self._namespace, self._name)
        self._started = pod is not None and has_started(pod)
        self._note(None if pod is None else held_up(pod))
        if self.held_up is None or self.held_up.must_wait:
            self._held_up_since = None
            return
        now = clock.monotonic_ms()
        if self._held_up_since is None:
            self._held_up_since = now
        if self.held_up.hopeless or now - self._held_up_since >= self._patience.start_ms:
            raise self._cannot_start(self.held_up)

    def _note(self, found: HeldUp | None) -> None:
        if found is not None and (self.held_up is None or found.reason != self.held_up.reason):
            LOG.warning(
                "the pod of Job %s waits: %s", self._name, found, extra={"action": "pod_held_up"}
            )
        self.held_up = found

    def _cannot_start(self, why: HeldUp) -> HandlerFailed:
        message = f"the pod of Job {self._namespace}/{self._name} cannot start: {why}"
        return HandlerFailed(Error(code="invalid", message=message, permanent=why.hopeless))


def _end_of(job: V1Job) -> V1JobCondition | None:
    """`FailureTarget` and `SuccessCriteriaMet` come before, while pods still end."""
    for condition in (job.status and job.status.conditions) or []:
        if condition.type in {"Complete", "Failed"} and condition.status == "True":
            return condition
    return None
