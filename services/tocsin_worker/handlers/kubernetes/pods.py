"""What the pod of a Job tells of itself: its status, as the Kubernetes API has it (v1)."""

from dataclasses import dataclass
from typing import Final

from kubernetes.aio.client import (
    V1ContainerState,
    V1ContainerStateTerminated,
    V1Pod,
    V1PodCondition,
)

STARTING: Final = frozenset({"ContainerCreating", "PodInitializing"})
"""Reasons for which every container waits once."""

_NEVER: Final = frozenset({"InvalidImageName"})


@dataclass(frozen=True, slots=True)
class HeldUp:
    """Why a pod has not started.

    must_wait: there is no room for it, which comes by itself. hopeless: it cannot start anywhere.
    """

    reason: str
    message: str
    must_wait: bool = False
    hopeless: bool = False

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}" if self.message else self.reason


def has_started(pod: V1Pod) -> bool:
    """Whether its program runs, or has run."""
    return any(state.running or state.terminated for state in _states(pod))


def held_up(pod: V1Pod) -> HeldUp | None:
    """None for one that has started, or is about to."""
    for state in _states(pod):
        waiting = state.waiting
        if waiting is not None and waiting.reason and waiting.reason not in STARTING:
            hopeless = waiting.reason in _NEVER
            return HeldUp(waiting.reason, waiting.message or "", hopeless=hopeless)
    for condition in _conditions(pod):
        if condition.reason == "Unschedulable" and condition.status == "False":
            return HeldUp(condition.reason, condition.message or "", must_wait=True)
    return None


def terminated(pod: V1Pod) -> V1ContainerStateTerminated | None:
    """How its program has ended."""
    return next((state.terminated for state in _states(pod) if state.terminated), None)


def disruption(pod: V1Pod) -> str | None:
    """Why the cluster has ended it before its time: eviction, preemption, a lost node.

    The condition says so since Kubernetes 1.26. The pod's own reason may be missing, or stand there
    alone.
    """
    for condition in _conditions(pod):
        if condition.type == "DisruptionTarget" and condition.status == "True":
            return _sentence(condition.reason, condition.message)
    status = pod.status
    if status is not None and status.reason:
        return _sentence(status.reason, status.message)
    return None


def _sentence(reason: str | None, message: str | None) -> str:
    return f"{reason}: {(message or '').strip().rstrip('.')}"


def _states(pod: V1Pod) -> list[V1ContainerState]:
    statuses = (pod.status and pod.status.container_statuses) or []
    return [status.state for status in statuses if status.state is not None]


def _conditions(pod: V1Pod) -> list[V1PodCondition]:
    return (pod.status and pod.status.conditions) or []
