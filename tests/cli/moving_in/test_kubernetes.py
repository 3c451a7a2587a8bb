"""CronJobs as jobs with the same behaviour."""

from typing import Any

import pytest
import yaml

from tocsin_cli.moving_in.imports import Import, UnreadableFile
from tocsin_cli.moving_in.kubernetes import import_kubernetes

REPORT: dict[str, Any] = {
    "apiVersion": "batch/v1",
    "kind": "CronJob",
    "metadata": {"name": "report", "namespace": "billing"},
    "spec": {
        "schedule": "0 7 * * MON-FRI",
        "timeZone": "Europe/Berlin",
        "jobTemplate": {
            "spec": {
                "template": {
                    "spec": {
                        "restartPolicy": "Never",
                        "containers": [{"name": "main", "image": "report:3", "args": ["--pdf"]}],
                    }
                }
            }
        },
    },
}


def imported(spec: dict[str, Any] | None = None, pod: dict[str, Any] | None = None) -> Import:
    """The example with more in its spec and its pod's."""
    document = yaml.safe_load(yaml.safe_dump(REPORT))
    document["spec"].update(spec or {})
    document["spec"]["jobTemplate"]["spec"]["template"]["spec"].update(pod or {})
    return import_kubernetes(yaml.safe_dump(document))


def test_a_cron_job_is_a_container_under_its_name() -> None:
    (job,) = imported().jobs

    assert job["job_id"] == "report"
    assert job["schedule"] == {"cron": "0 7 * * MON-FRI", "timezone": "Europe/Berlin"}
    assert job["handler"] == {
        "type": "kubernetes",
        "image": "report:3",
        "args": ["--pdf"],
        "namespace": "billing",
    }
    assert imported().notices == []


@pytest.mark.parametrize(
    ("policy", "overlap"),
    [
        ("Allow", "allow_all"),
        ("Forbid", "skip"),
        ("Replace", "terminate_other"),
        (None, "allow_all"),
    ],
)
def test_what_happens_when_runs_meet_stays(policy: str | None, overlap: str) -> None:
    (job,) = imported({"concurrencyPolicy": policy} if policy else {}).jobs

    assert job["overlap"] == overlap


def test_limits_of_time_and_attempts_stay() -> None:
    (job,) = imported({"startingDeadlineSeconds": 200, "suspend": True}).jobs
    template = {"activeDeadlineSeconds": 900, "backoffLimit": 2}
    spec = REPORT["spec"]["jobTemplate"]["spec"]
    (limited,) = imported({"jobTemplate": {"spec": {**spec, **template}}}).jobs

    assert job["catch_up"] == {"policy": "latest", "window": 200}
    assert (job["status"], job["timeout"]) == ("paused", "P1D")
    assert limited["timeout"] == 900
    assert limited["retry"] == {
        "max_attempts": 3,
        "initial": "PT10S",
        "multiplier": 2,
        "max": "PT6M",
    }


def test_a_zone_inside_the_expression_is_taken_out() -> None:
    (job,) = imported({"schedule": "CRON_TZ=Asia/Tokyo 0 7 * * *", "timeZone": None}).jobs

    assert job["schedule"] == {"cron": "0 7 * * *", "timezone": "Asia/Tokyo"}


def test_environment_and_resources_stay() -> None:
    container = {
        "name": "main",
        "image": "x",
        "env": [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {"secretKeyRef": {}}}],
        "resources": {"limits": {"memory": "512Mi", "cpu": "250m"}},
    }
    found = imported(pod={"containers": [container], "serviceAccountName": "runner"})

    assert found.jobs[0]["handler"] == {
        "type": "kubernetes",
        "image": "x",
        "env": {"A": "1"},
        "limits": {"memory": "512Mi", "cpus": 0.25},
        "namespace": "billing",
        "service_account": "runner",
    }
    assert [notice.what for notice in found.notices] == [
        "env B: valueFrom; give its value, or secret://NAME"
    ]


def test_what_does_not_carry_over_is_told_by_name() -> None:
    containers = [
        {"name": "main", "image": "x", "volumeMounts": []},
        {"name": "side", "image": "y"},
    ]
    found = imported({"timeZone": None}, {"containers": containers, "volumes": []})

    assert {notice.where for notice in found.notices} == {"CronJob billing/report"}
    assert [notice.what for notice in found.notices] == [
        "pod volumes",
        "container side: a run has one container",
        "no timeZone: the controller's was meant, here it is UTC",
        "container volumeMounts",
    ]


def test_lists_and_several_documents_are_read() -> None:
    other = {**REPORT, "metadata": {"name": "other"}}
    text = yaml.safe_dump_all(
        [{"kind": "Service"}, {"kind": "List", "items": [REPORT, {"kind": "Pod"}]}, other]
    )

    assert [job["job_id"] for job in import_kubernetes(text).jobs] == ["report", "other"]


def test_what_is_not_valid_is_left_out_with_the_reason() -> None:
    found = imported({"schedule": "0 25 * * *"})

    assert found.jobs == []
    assert found.notices[0].lost
    assert "hour" in found.notices[0].what
    assert imported(pod={"containers": []}).notices[0].lost


@pytest.mark.parametrize("text", ["", "a: [", "kind: Pod", "- 1", "\0"])
def test_a_file_without_cron_jobs_is_told(text: str) -> None:
    with pytest.raises(UnreadableFile):
        import_kubernetes(text)
