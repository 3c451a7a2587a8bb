"""CronJobs as jobs with the same behaviour."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

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
    assert limited["catch_up"] == {"policy": "latest"}
    assert "status" not in limited, "a file of jobs leaves alone what it does not name"
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


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        ("0 7 */2 * 1", "0 7 1-31/2 * 1"),
        ("0 7 1 * */2", "0 7 1 * 0-6/2"),
        ("0 7 1,?/10 * FRI", "0 7 1,1-31/10 * FRI"),
        ("0 7 */2 * *", "0 7 */2 * *"),
        ("0 7 */1 * 1", "0 7 */1 * 1"),
        ("*/5 */2 ? * 1", "*/5 */2 ? * 1"),
    ],
)
def test_one_of_two_restricted_day_fields_is_enough(theirs: str, ours: str) -> None:
    """robfig/cron, which Kubernetes uses: only `*` and `?` leave the choice to the other field."""
    (job,) = imported({"schedule": theirs}).jobs

    assert job["schedule"] == {"cron": ours, "timezone": "Europe/Berlin"}


def test_a_duration_after_every_is_an_interval() -> None:
    (job,) = imported({"schedule": "@every 1h30m", "timeZone": None}).jobs

    assert job["schedule"] == {"every": "PT1H30M"}
    assert imported({"schedule": "@every 500ms"}).notices[-1].lost
    assert imported({"schedule": "@every 0s"}).notices[-1].lost


def test_environment_and_resources_stay() -> None:
    container = {
        "name": "main",
        "image": "x",
        "env": [
            {"name": "A", "value": "1"},
            {"name": "EMPTY"},
            {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "C", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}},
        ],
        "resources": {"limits": {"memory": "512Mi", "cpu": "250m"}},
    }
    found = imported(pod={"containers": [container], "serviceAccountName": "runner"})

    assert found.jobs[0]["handler"] == {
        "type": "kubernetes",
        "image": "x",
        "env": {"A": "1", "EMPTY": ""},
        "secret_env": {"C": "db/password"},
        "limits": {"memory": "512Mi", "cpus": 0.25},
        "namespace": "billing",
        "service_account": "runner",
    }
    assert [notice.what for notice in found.notices] == [
        "env B: valueFrom; give its value, or secret_env NAME/KEY"
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


def test_what_the_cluster_adds_is_not_told_and_what_people_set_is() -> None:
    added = {
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "terminationGracePeriodSeconds": 30,
        "securityContext": {},
    }
    container = {
        "name": "main",
        "image": "x",
        "resources": {"requests": {"cpu": 1}, "limits": {"memory": "1Gi", "nvidia.com/gpu": 1}},
    }
    chosen = {
        "dnsPolicy": "None",
        "terminationGracePeriodSeconds": 300,
        "securityContext": {"runAsUser": 1000},
        "containers": [container],
    }

    assert imported(pod=added).notices == []
    assert [notice.what for notice in imported(pod=chosen).notices] == [
        "pod dnsPolicy",
        "pod securityContext",
        "pod terminationGracePeriodSeconds",
        "container resources.requests",
        "container resources.limits.nvidia.com/gpu",
    ]


def test_labels_of_the_pod_are_told() -> None:
    document = yaml.safe_load(yaml.safe_dump(REPORT))
    template = document["spec"]["jobTemplate"]["spec"]["template"]
    template["metadata"] = {"labels": {"app": "x"}, "creationTimestamp": None}
    document["spec"]["jobTemplate"]["metadata"] = {"annotations": {"a": "b"}}
    found = import_kubernetes(yaml.safe_dump(document))

    assert [notice.what for notice in found.notices] == ["jobTemplate annotations", "pod labels"]


def test_its_own_labels_are_told_but_not_what_kubectl_writes() -> None:
    document = yaml.safe_load(yaml.safe_dump(REPORT))
    document["metadata"]["labels"] = {"team": "x"}
    document["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": "{}"}
    found = import_kubernetes(yaml.safe_dump(document))

    assert [notice.what for notice in found.notices] == ["its own labels"]


ODD: list[Any] = [None, 5, True, "x", [], [None], {}, {1: 2, "a": 3}, 1.5, float("nan"), 10**30]


@given(st.data())
def test_whatever_stands_somewhere_it_is_told_or_valid(data: st.DataObject) -> None:
    document = yaml.safe_load(yaml.safe_dump(REPORT))
    node = document
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        key = data.draw(st.sampled_from(keys))
        if not node[key] or not isinstance(node[key], dict | list) or data.draw(st.booleans()):
            break
        node = node[key]
    node[key] = data.draw(st.sampled_from(ODD))
    try:
        found = import_kubernetes(yaml.safe_dump(document))
    except UnreadableFile:
        return

    assert found.jobs or any(notice.lost for notice in found.notices)


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
