"""A Job as the Kubernetes API wants it (batch/v1)."""

import hashlib
from typing import Any

from tocsin.model.handlers.container import memory_bytes
from tocsin.model.runs import Run
from tocsin_worker.handlers.configs import unusable
from tocsin_worker.handlers.kubernetes.config import KubernetesConfig
from tocsin_worker.handlers.run_facts import run_environment

CONTAINER = "run"
MAX_PAYLOAD_BYTES = 96 * 1024
"""Linux takes no variable of more than 128 KiB."""

_PULL = {"missing": "IfNotPresent", "always": "Always", "never": "Never"}
_KEEP_S = 3_600
"""How long a Job stays that has ended, if nobody is left to delete it."""


def job_name(run: Run) -> str:
    """The same for each delivery of an attempt: it is created once."""
    return f"tocsin-{_hash(run)}-{run.attempt}"


def earlier_attempts(run: Run) -> str:
    """A label selector: Jobs of other attempts at the run."""
    return f"tocsin.io/run={_hash(run)},tocsin.io/attempt!={run.attempt}"


def job_manifest(config: KubernetesConfig, run: Run) -> dict[str, Any]:
    """Raises `HandlerFailed` for a payload that does not fit into a variable.

    The cluster retries nothing, ends the Job at the attempt's time-out and deletes it in the end,
    even if no worker is left to do so.
    """
    labels = {
        "app.kubernetes.io/managed-by": "tocsin",
        "tocsin.io/run": _hash(run),
        "tocsin.io/attempt": str(run.attempt),
    }
    told = {"tocsin.io/run-id": run.run_id, "tocsin.io/job": str(run.key)}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": job_name(run), "labels": labels, "annotations": told},
        "spec": {
            "backoffLimit": 0,
            "activeDeadlineSeconds": max(1, run.timeout_ms // 1000),
            "ttlSecondsAfterFinished": _KEEP_S,
            "template": {
                "metadata": {"labels": labels, "annotations": told},
                "spec": _pod(config, run),
            },
        },
    }


def _pod(config: KubernetesConfig, run: Run) -> dict[str, Any]:
    container: dict[str, Any] = {
        "name": CONTAINER,
        "image": config.image,
        "imagePullPolicy": _PULL[config.pull],
        "command": config.command,
        "args": config.args,
        "workingDir": config.working_directory,
        "env": _environment(config, run),
        "resources": {"limits": _limits(config)},
        "securityContext": {"allowPrivilegeEscalation": False},
    }
    pod: dict[str, Any] = {
        "restartPolicy": "Never",
        "serviceAccountName": config.service_account,
        "containers": [{name: value for name, value in container.items() if value is not None}],
    }
    return {name: value for name, value in pod.items() if value is not None}


def _environment(config: KubernetesConfig, run: Run) -> list[dict[str, Any]]:
    payload = run.payload or b"null"
    if len(payload) > MAX_PAYLOAD_BYTES:
        size = f"{len(payload):,} bytes; the most is {MAX_PAYLOAD_BYTES:,}"
        raise unusable(f"the payload goes into a variable, and has {size}")
    plain = {**config.env, **run_environment(run), "TOCSIN_PAYLOAD": payload.decode()}
    secret = {name: place.split("/", 1) for name, place in config.secret_env.items()}
    return [
        *({"name": name, "value": value} for name, value in plain.items()),
        *(
            {"name": name, "valueFrom": {"secretKeyRef": {"name": held, "key": key}}}
            for name, (held, key) in secret.items()
        ),
    ]


def _limits(config: KubernetesConfig) -> dict[str, str]:
    limits: dict[str, str] = {}
    if config.limits.memory is not None:
        limits["memory"] = str(memory_bytes(config.limits.memory))
    if config.limits.cpus is not None:
        limits["cpu"] = f"{max(1, round(config.limits.cpus * 1000))}m"
    return limits


def _hash(run: Run) -> str:
    """A label holds 63 characters, and a run id more."""
    return hashlib.blake2b(run.run_id.encode(), digest_size=12).hexdigest()
