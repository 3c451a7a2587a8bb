"""CronJobs of Kubernetes (batch/v1), as `kubectl get cronjobs -o yaml` or manifests have them."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from tocsin_cli.moving_in.go_cron import translate
from tocsin_cli.moving_in.imports import Collector, Definition, Import, UnreadableFile

Node = Mapping[str, Any]

_ZONE = re.compile(r"(?:CRON_)?TZ=(\S+)\s+(.*)")
_OVERLAP = {"Allow": "allow_all", "Forbid": "skip", "Replace": "terminate_other"}
_BACKOFF: Definition = {"initial": "PT10S", "multiplier": 2, "max": "PT6M"}
_BACKOFF_LIMIT = 6

_CRON_JOB = frozenset(
    {
        "schedule",
        "timeZone",
        "concurrencyPolicy",
        "startingDeadlineSeconds",
        "suspend",
        "jobTemplate",
        "successfulJobsHistoryLimit",
        "failedJobsHistoryLimit",
    }
)
_JOB = frozenset({"template", "backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished"})
_POD = frozenset({"containers", "restartPolicy", "serviceAccountName", "serviceAccount"})
_POD_DEFAULTS: Node = {
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "terminationGracePeriodSeconds": 30,
    "securityContext": {},
}
"""What the cluster itself writes into every pod that says nothing."""
_CONTAINER = frozenset(
    {
        "name",
        "image",
        "command",
        "args",
        "workingDir",
        "env",
        "resources",
        "imagePullPolicy",
        "terminationMessagePath",
        "terminationMessagePolicy",
    }
)
_OF_KUBECTL = "kubectl.kubernetes.io/last-applied-configuration"
"""It writes this annotation on all it applies; it says nothing that the object does not."""

_LIMITS = frozenset({"memory", "cpu"})
_PULL = {"Always": "always", "IfNotPresent": "missing", "Never": "never"}


def import_kubernetes(text: str) -> Import:
    """Raises `UnreadableFile` where the file is no YAML or holds no CronJob."""
    found = Collector("k8s")
    try:
        cron_jobs = list(_cron_jobs(yaml.safe_load_all(text)))
    except yaml.YAMLError as error:
        raise UnreadableFile(f"not YAML: {error}") from error
    if not cron_jobs:
        raise UnreadableFile("there is no object of kind CronJob in it")
    for cron_job in cron_jobs:
        _CronJob(cron_job, found).read()
    return found.finish()


def _cron_jobs(documents: Iterator[object]) -> Iterator[Node]:
    for document in documents:
        if not isinstance(document, Mapping):
            continue
        if str(document.get("kind", "")).endswith("List"):
            yield from _cron_jobs(iter(_nodes(document, "items")))
        elif document.get("kind") == "CronJob":
            yield document


class _CronJob:
    """One object. What is not of the shape that Kubernetes takes counts as left out."""

    def __init__(self, node: Node, found: Collector) -> None:
        self._found = found
        self._node = node
        metadata = _node(node, "metadata")
        self._name = str(metadata.get("name", "job"))
        self._namespace = metadata.get("namespace")
        self._where = f"CronJob {self._namespace or 'default'}/{self._name}"
        self._spec = _node(node, "spec")
        self._job_template = _node(self._spec, "jobTemplate")
        self._job = _node(self._job_template, "spec")
        self._pod_template = _node(self._job, "template")
        self._pod = _node(self._pod_template, "spec")

    def read(self) -> None:
        containers = _nodes(self._pod, "containers")
        if not containers:
            self._found.lose(self._where, "it has no container")
            return
        self._note_rest("", self._spec, _CRON_JOB)
        self._note_rest("jobTemplate.spec.", self._job, _JOB)
        self._note_rest("pod ", self._pod, _POD | self._defaults())
        self._note_metadata("its own", self._node)
        self._note_metadata("jobTemplate", self._job_template)
        self._note_metadata("pod", self._pod_template)
        for other in containers[1:]:
            self._found.note(self._where, f"container {other.get('name')}: a run has one container")
        self._found.add(
            self._where,
            self._name,
            {
                "schedule": self._schedule(),
                "handler": self._handler(containers[0]),
                "timeout": self._seconds(self._job, "activeDeadlineSeconds") or "P1D",
                "retry": {"max_attempts": self._backoff_limit() + 1, **_BACKOFF},
                "overlap": _OVERLAP.get(str(self._spec.get("concurrencyPolicy")), "allow_all"),
                "catch_up": self._catch_up(),
                "status": "paused" if self._spec.get("suspend") else None,
            },
        )

    def _schedule(self) -> Definition:
        expression, zone = str(self._spec.get("schedule", "")), self._spec.get("timeZone")
        if embedded := _ZONE.fullmatch(expression):
            zone, expression = embedded[1], embedded[2]
        schedule = translate(expression)
        if "every" in schedule:
            return schedule
        if zone is None:
            self._found.note(self._where, "no timeZone: the controller's was meant, here it is UTC")
        return {**schedule, "timezone": zone or "UTC"}

    def _handler(self, container: Node) -> Definition:
        self._note_rest("container ", container, _CONTAINER)
        resources = _node(container, "resources")
        self._note_rest("container resources.", resources, frozenset({"limits"}))
        environment, secrets = self._environment(container)
        fields: Definition = {
            "image": container.get("image"),
            "command": container.get("command"),
            "args": container.get("args"),
            "working_directory": container.get("workingDir"),
            "env": environment,
            "secret_env": secrets,
            "limits": self._limits(_node(resources, "limits")),
            "pull": _PULL.get(str(container.get("imagePullPolicy"))),
            "namespace": self._namespace,
            "service_account": self._pod.get("serviceAccountName"),
        }
        given = {name: value for name, value in fields.items() if value not in (None, {})}
        return {"type": "kubernetes", **given}

    def _environment(self, container: Node) -> tuple[dict[str, str], dict[str, str]]:
        """The variables with their values, and those that are a key of a secret."""
        values, secrets = dict[str, str](), dict[str, str]()
        for variable in _nodes(container, "env"):
            name = str(variable.get("name"))
            secret = _node(_node(variable, "valueFrom"), "secretKeyRef")
            if "valueFrom" not in variable:
                values[name] = str(variable.get("value") or "")
            elif secret and not secret.get("optional"):
                secrets[name] = f"{secret.get('name')}/{secret.get('key')}"
            else:
                what = f"env {name}: valueFrom; give its value, or secret_env NAME/KEY"
                self._found.note(self._where, what)
        return values, secrets

    def _limits(self, limits: Node) -> Definition:
        """Memory as it is; `500m` of a processor is half of it."""
        self._note_rest("container resources.limits.", limits, _LIMITS)
        found: Definition = {}
        if memory := limits.get("memory"):
            found["memory"] = str(memory)
        if cpu := limits.get("cpu"):
            found["cpus"] = _processors(str(cpu))
        return found

    def _backoff_limit(self) -> int:
        limit = self._job.get("backoffLimit", _BACKOFF_LIMIT)
        return limit if isinstance(limit, int) and limit >= 0 else _BACKOFF_LIMIT

    def _catch_up(self) -> Definition:
        window = self._seconds(self._spec, "startingDeadlineSeconds")
        return {"policy": "latest"} | ({} if window is None else {"window": window})

    def _seconds(self, node: Node, name: str) -> object:
        value = node.get(name)
        return value if isinstance(value, int) and value > 0 else None

    def _defaults(self) -> frozenset[str]:
        return frozenset(
            name for name, default in _POD_DEFAULTS.items() if self._pod.get(name) == default
        )

    def _note_metadata(self, whose: str, template: Node) -> None:
        """Labels and annotations, by which policies and other controllers know a pod."""
        metadata = _node(template, "metadata")
        for name in ("labels", "annotations"):
            if _node(metadata, name).keys() - {_OF_KUBECTL}:
                self._found.note(self._where, f"{whose} {name}")

    def _note_rest(self, prefix: str, node: Node, known: frozenset[str]) -> None:
        for name in sorted(node.keys() - known, key=str):
            self._found.note(self._where, f"{prefix}{name}")


def _processors(quantity: str) -> object:
    """Their number; text that is none is left as it is, for the reader of jobs to refuse."""
    is_milli = quantity.endswith("m") and quantity[:-1].isdecimal()
    try:
        return int(quantity[:-1]) / 1000 if is_milli else float(quantity)
    except ValueError:
        return quantity


def _nodes(parent: Node, name: str) -> list[Node]:
    child = parent.get(name)
    return [each for each in child if isinstance(each, Mapping)] if isinstance(child, list) else []


def _node(parent: Node, name: str) -> Node:
    child = parent.get(name)
    return child if isinstance(child, Mapping) else {}
