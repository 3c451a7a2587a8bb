"""The handler `kubernetes` against the shapes of the Kubernetes API; no cluster is asked."""

import asyncio
import json
import sys
from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.worker.handlers.kubernetes_api import KubernetesApi, kubernetes_api, kubernetes_run
from tocsin.model.runs import Run
from tocsin.settings import InvalidSettings, load_settings
from tocsin_worker.handlers import catalogue
from tocsin_worker.handlers.kubernetes.handler import KubernetesHandler
from tocsin_worker.handlers.kubernetes.jobs import by_file
from tocsin_worker.handlers.kubernetes.watch import Patience
from tocsin_worker.handlers.port import Equipment, HandlerFailed
from tocsin_worker.handlers.secrets import Secrets
from tocsin_worker.testing import CONTEXT

Scenario = Callable[[KubernetesApi, KubernetesHandler], Awaitable[None]]


def play(folder: Path, scenario: Scenario, start_ms: int = 60_000, **shapes: Any) -> None:
    async def main() -> None:
        async with kubernetes_api(**shapes) as api:
            patience = Patience(poll_s=0.01, start_ms=start_ms)
            handler = KubernetesHandler(by_file(api.kubeconfig(folder)), "default", patience)
            try:
                await scenario(api, handler)
            finally:
                await handler.close()

    asyncio.run(main())


async def fail(handler: KubernetesHandler, run: Run) -> HandlerFailed:
    with pytest.raises(HandlerFailed) as caught:
        await handler.execute(run, CONTEXT)
    return caught.value


def test_a_job_is_created_watched_read_and_deleted(tmp_path: Path) -> None:
    async def scenario(api: KubernetesApi, handler: KubernetesHandler) -> None:
        answer = await handler.execute(kubernetes_run({"a": 1}), CONTEXT)
        await handler.close()
        (created,), (deleted,) = api.of("POST", "/jobs"), api.of("DELETE", "/jobs/")
        name = created.body["metadata"]["name"]
        assert json.loads(answer.result or b"") == {
            "namespace": "default",
            "job": name,
            "pod": f"{name}-x7k2p",
            "exit_code": 0,
            "output": "3 rows\n",
        }
        assert len(api.of("GET", f"/jobs/{name}")) == 3
        assert deleted.path.endswith(name)
        assert deleted.query == {"propagationPolicy": "Background"}

    jobs = deque(["job-pending", "job-running", "job-complete"])
    play(tmp_path, scenario, jobs=jobs, log="3 rows\n")


def test_the_manifest_says_what_the_job_does(tmp_path: Path) -> None:
    async def scenario(api: KubernetesApi, handler: KubernetesHandler) -> None:
        run = kubernetes_run(
            {"a": "é"},
            command=["/bin/report"],
            args=["--format", "pdf"],
            env={"KIND": "daily"},
            secret_env={"DB": "reports-db/password"},
            working_directory="/srv",
            pull="always",
            limits={"memory": "512m", "cpus": 0.5},
            namespace="reports",
            service_account="reporter",
        )
        await handler.execute(run, CONTEXT)
        (created,) = api.of("POST", "/namespaces/reports/jobs")
        spec = created.body["spec"]
        assert (spec["backoffLimit"], spec["activeDeadlineSeconds"]) == (0, 60)
        assert spec["ttlSecondsAfterFinished"] == 3600
        pod = spec["template"]["spec"]
        assert (pod["restartPolicy"], pod["serviceAccountName"]) == ("Never", "reporter")
        (container,) = pod["containers"]
        assert container["command"] == ["/bin/report"]
        assert container["args"] == ["--format", "pdf"]
        assert (container["workingDir"], container["imagePullPolicy"]) == ("/srv", "Always")
        assert container["resources"] == {"limits": {"memory": "536870912", "cpu": "500m"}}
        given = {one["name"]: one.get("value", one.get("valueFrom")) for one in container["env"]}
        assert given["DB"] == {"secretKeyRef": {"name": "reports-db", "key": "password"}}
        assert (given["KIND"], given["TOCSIN_RUN_ID"]) == ("daily", run.run_id)
        assert json.loads(given["TOCSIN_PAYLOAD"]) == {"a": "é"}
        assert created.body["metadata"]["annotations"]["tocsin.io/run-id"] == run.run_id

    play(tmp_path, scenario)


@pytest.mark.parametrize(
    ("job", "pods", "code", "told"),
    [
        (
            "job-failed",
            "pods-failed",
            "exit_code",
            "BackoffLimitExceeded, exit code 3: half\nno paper",
        ),
        (
            "job-failed",
            "pods-out-of-memory",
            "exit_code",
            "exit code 137, OOMKilled: half\nno paper",
        ),
        ("job-failed", "pods-none", "exit_code", "failed: BackoffLimitExceeded"),
        ("job-deadline", "pods-none", "timeout", "failed: DeadlineExceeded"),
    ],
)
def test_a_job_that_fails_is_told_with_its_reason_and_last_words(
    tmp_path: Path, job: str, pods: str, code: str, told: str
) -> None:
    async def scenario(api: KubernetesApi, handler: KubernetesHandler) -> None:
        failed = await fail(handler, kubernetes_run())
        assert (failed.error.code, failed.error.permanent) == (code, False)
        assert failed.error.message.endswith(told)
        await handler.close()
        assert len(api.of("DELETE", "/jobs/")) == 1

    play(tmp_path, scenario, jobs=deque([job]), pods=pods, log="half\nno paper\n")


@pytest.mark.parametrize(
    ("pods", "reason", "end"),
    [
        ("pods-evicted", "TerminationByKubelet", "consumption of memory, exit code 137: half"),
        ("pods-evicted-old", "Evicted", "consumption of memory: half"),
    ],
)
def test_a_pod_that_the_cluster_has_ended_was_interrupted(
    tmp_path: Path, pods: str, reason: str, end: str
) -> None:
    async def scenario(api: KubernetesApi, handler: KubernetesHandler) -> None:
        error = (await fail(handler, kubernetes_run())).error
        assert (error.code, error.permanent) == ("interrupted", False)
        assert f"BackoffLimitExceeded, {reason}: The node was low on resource" in error.message
        assert error.message.endswith(end)

    play(tmp_path, scenario, jobs=deque(["job-failed"]), pods=pods, log="half")


@pytest.mark.parametrize(
    ("pods", "start_ms", "permanent", "told"),
    [
        ("pods-image-pull", 50, False, 'ImagePullBackOff: Back-off pulling image "alpine:3.20"'),
        ("pods-secret-missing", 50, False, 'CreateContainerConfigError: secret "reports-db" not'),
        ("pods-invalid-image", 60_000, True, "InvalidImageName: Failed to apply default image tag"),
    ],
)
def test_a_job_whose_pod_cannot_start_fails_before_its_time_is_up(
    tmp_path: Path, pods: str, start_ms: int, permanent: bool, told: str
) -> None:
    async def scenario(api: KubernetesApi, handler: KubernetesHandler) -> None:
        error = (await fail(handler, kubernetes_run())).error
        assert (error.code, error.permanent) == ("invalid", permanent)
        assert f"cannot start: {told}" in error.message
        await handler.close()
        assert len(api.of("DELETE", "/jobs/")) == 1

    play(tmp_path, scenario, start_ms, jobs=deque(["job-running"]), pods=pods)


def test_a_pod_for_which_there_is_no_room_waits_until_the_deadline(tmp_path: Path) -> None:
    async def scenario(api: KubernetesApi, handler: KubernetesHandler) -> None:
        error = (await fail(handler, kubernetes_run())).error
        assert error.code == "timeout"
        assert (
            "DeadlineExceeded, its pod has not started: Unschedulable: 0/3 nodes" in error.message
        )

    jobs = deque(["job-running"] * 20 + ["job-deadline"])
    play(tmp_path, scenario, start_ms=0, jobs=jobs, pods="pods-unschedulable")


def test_a_pod_that_is_starting_is_looked_at_until_it_has_started(tmp_path: Path) -> None:
    async def scenario(api: KubernetesApi, handler: KubernetesHandler) -> None:
        await handler.execute(kubernetes_run(), CONTEXT)
        assert len(api.of("GET", "/pods")) == looks

    jobs = deque([*["job-running"] * 5, "job-complete"])
    looks = 5 + 2  # and at its end, and its log
    play(tmp_path, scenario, start_ms=0, jobs=jobs, pods="pods-starting")
    looks = 1 + 2
    jobs = deque([*["job-running"] * 5, "job-complete"])
    play(tmp_path, scenario, start_ms=0, jobs=jobs)


def test_of_a_long_log_the_end_is_kept_too(tmp_path: Path) -> None:
    async def scenario(api: KubernetesApi, handler: KubernetesHandler) -> None:
        failed = await fail(handler, kubernetes_run())
        output = json.loads(failed.result or b"")["output"]
        assert output.startswith("first\n")
        assert output.endswith("no paper\n")
        assert failed.error.message.endswith("no paper")
        (asked,) = api.of("GET", "/log")
        assert asked.query == {"container": "run", "tailLines": "500"}

    log = "first\n" + "x" * 500_000 + "\nno paper\n"
    play(tmp_path, scenario, jobs=deque(["job-failed"]), pods="pods-failed", log=log)


def test_a_log_that_cannot_be_read_changes_nothing_about_the_run(tmp_path: Path) -> None:
    async def scenario(api: KubernetesApi, handler: KubernetesHandler) -> None:
        answer = await handler.execute(kubernetes_run(), CONTEXT)
        output = json.loads(answer.result or b"")["output"]
        assert output.startswith("[the log cannot be read: 404")

    play(tmp_path, scenario, log=None)


def test_an_attempt_that_is_delivered_again_goes_on_with_its_job(tmp_path: Path) -> None:
    async def scenario(api: KubernetesApi, handler: KubernetesHandler) -> None:
        await handler.execute(kubernetes_run(), CONTEXT)
        assert len(api.of("POST", "/jobs")) == 1

    play(tmp_path, scenario, create="status-exists")


def test_an_attempt_ends_what_is_left_of_others(tmp_path: Path) -> None:
    async def scenario(api: KubernetesApi, handler: KubernetesHandler) -> None:
        await handler.execute(kubernetes_run(attempt=2), CONTEXT)
        first, created = api.told[0], api.of("POST", "/jobs")[0]
        labels = created.body["metadata"]["labels"]
        assert (first.method, first.path) == ("DELETE", "/apis/batch/v1/namespaces/default/jobs")
        assert first.query["labelSelector"] == (
            f"tocsin.io/run={labels['tocsin.io/run']},tocsin.io/attempt!=2"
        )
        assert labels["tocsin.io/attempt"] == "2"

    play(tmp_path, scenario)


@pytest.mark.parametrize(
    ("shape", "code", "permanent", "told"),
    [
        ("status-forbidden", "invalid", False, 'cannot create resource "jobs"'),
        ("status-invalid", "invalid", True, "spec.template.spec.containers[0].image"),
        ("status-unavailable", "connect", False, "unable to handle the request"),
    ],
)
def test_what_the_cluster_refuses_is_told(
    tmp_path: Path, shape: str, code: str, permanent: bool, told: str
) -> None:
    async def scenario(api: KubernetesApi, handler: KubernetesHandler) -> None:
        error = (await fail(handler, kubernetes_run())).error
        assert (error.code, error.permanent) == (code, permanent)
        assert told in error.message

    play(tmp_path, scenario, create=shape)


def test_a_cluster_that_does_not_answer_for_a_while_is_asked_again(tmp_path: Path) -> None:
    async def scenario(api: KubernetesApi, handler: KubernetesHandler) -> None:
        await handler.execute(kubernetes_run(), CONTEXT)

    jobs = deque(["job-running", "status-unavailable", "status-unavailable", "job-complete"])
    play(tmp_path, scenario, jobs=jobs)


def test_a_job_that_somebody_has_deleted_is_a_failure_worth_a_retry(tmp_path: Path) -> None:
    async def scenario(api: KubernetesApi, handler: KubernetesHandler) -> None:
        error = (await fail(handler, kubernetes_run())).error
        assert (error.code, error.permanent) == ("invalid", False)
        assert "not found" in error.message

    play(tmp_path, scenario, jobs=deque(["job-running", "status-not-found"]))


def test_a_job_whose_attempt_is_to_end_is_deleted(tmp_path: Path) -> None:
    async def scenario(api: KubernetesApi, handler: KubernetesHandler) -> None:
        attempt = asyncio.ensure_future(handler.execute(kubernetes_run(), CONTEXT))
        await api.looks["default"].wait()
        attempt.cancel()
        await asyncio.wait([attempt])
        assert attempt.cancelled()
        await handler.close()
        assert len(api.of("DELETE", "/jobs/")) == 1

    play(tmp_path, scenario, jobs=deque(["job-running"]), looks={"default": asyncio.Event()})


def test_a_payload_that_fits_in_no_variable_is_a_permanent_failure(tmp_path: Path) -> None:
    async def scenario(api: KubernetesApi, handler: KubernetesHandler) -> None:
        error = (await fail(handler, kubernetes_run("x" * 100_000))).error
        assert (error.code, error.permanent) == ("invalid", True)
        assert api.told == []

    play(tmp_path, scenario)


def test_a_cluster_that_is_away_is_a_failure_worth_a_retry(tmp_path: Path) -> None:
    async def scenario(api: KubernetesApi, handler: KubernetesHandler) -> None:
        away = KubernetesApi(port=9).kubeconfig(tmp_path)
        elsewhere = KubernetesHandler(by_file(away), "default")
        error = (await fail(elsewhere, kubernetes_run())).error
        assert (error.code, error.permanent) == ("connect", False)
        await elsewhere.close()

    play(tmp_path, scenario)


def test_it_is_there_where_a_worker_has_a_cluster(tmp_path: Path) -> None:
    file = KubernetesApi(port=9).kubeconfig(tmp_path)
    for environ, there in (({}, False), ({"TOCSIN_KUBERNETES": str(file)}, True)):
        equipment = Equipment("w-1", load_settings(environ), Secrets(None, {}))
        assert ("kubernetes" in catalogue.registry(equipment).types) is there


def test_a_worker_without_the_client_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tocsin_worker.handlers.kubernetes", None)
    file = KubernetesApi(port=9).kubeconfig(tmp_path)
    settings = load_settings({"TOCSIN_KUBERNETES": str(file)})
    with pytest.raises(InvalidSettings, match=r"tocsin\[kubernetes\]"):
        catalogue.registry(Equipment("w-1", settings, Secrets(None, {})))
