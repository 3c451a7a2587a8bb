"""The documents that stand for a cluster in tests are what Kubernetes' OpenAPI document allows.

The official client's models are generated from it; they take no unknown field, and no text for a
number.
"""

import json
from pathlib import Path

import pytest
from kubernetes.aio import client
from pydantic import BaseModel

from tests.worker.handlers.kubernetes_api import SHAPES, kubernetes_run
from tocsin_worker.handlers.configs import read_config
from tocsin_worker.handlers.kubernetes.config import KubernetesConfig
from tocsin_worker.handlers.kubernetes.manifest import job_manifest

MODELS: dict[str, type[BaseModel]] = {
    "Job": client.V1Job,
    "PodList": client.V1PodList,
    "Status": client.V1Status,
}


def told(document: object) -> object:
    """Without nulls: the API does not tell them from what is left out."""
    if isinstance(document, dict):
        return {name: told(value) for name, value in document.items() if value is not None}
    return [told(value) for value in document] if isinstance(document, list) else document


@pytest.mark.parametrize("file", sorted(SHAPES.glob("*.json")), ids=lambda file: file.stem)
def test_what_the_cluster_answers_is_read_whole(file: Path) -> None:
    document = json.loads(file.read_text())
    model = MODELS[document["kind"]].model_validate(document)
    assert told(json.loads(model.to_json())) == told(document)  # type: ignore[attr-defined]


def test_what_the_worker_asks_for_is_a_job() -> None:
    run = kubernetes_run(
        {"a": "é"},
        command=["/bin/report"],
        args=["--format", "pdf"],
        env={"KIND": "daily"},
        secret_env={"DB": "reports-db/password"},
        working_directory="/srv",
        pull="always",
        limits={"memory": "512m", "cpus": 0.5},
        service_account="reporter",
    )
    manifest = json.loads(json.dumps(job_manifest(read_config(run.handler, KubernetesConfig), run)))
    assert told(json.loads(client.V1Job.model_validate(manifest).to_json())) == told(manifest)
