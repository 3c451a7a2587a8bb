"""The part of the Kubernetes API that a run needs, by the official client."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from kubernetes.aio import client, config

from tocsin_worker.handlers.disclosure import Disclosure
from tocsin_worker.handlers.output import Output
from tocsin_worker.handlers.secrets import Secrets

_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_LOG_LINES = 500

Connect = Callable[[], Awaitable[client.ApiClient]]


def in_cluster() -> Connect:
    """As the service account of the pod that the worker runs in."""

    async def connect() -> client.ApiClient:
        configuration = client.Configuration()
        config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
        return client.ApiClient(configuration)

    return connect


def by_file(kubeconfig: Path) -> Connect:
    """As the current context of a kubeconfig file says."""

    async def connect() -> client.ApiClient:
        configuration = client.Configuration()
        await config.load_kube_config(  # type: ignore[no-untyped-call]
            str(kubeconfig), client_configuration=configuration
        )
        return client.ApiClient(configuration)

    return connect


def own_namespace() -> str:
    """The worker's, in a pod; else `default`."""
    try:
        return _NAMESPACE.read_text().strip()
    except FileNotFoundError:
        return "default"


class Jobs:
    """Jobs of a cluster. Methods raise `client.ApiException` and `aiohttp.ClientError`."""

    def __init__(self, api: client.ApiClient) -> None:
        self._api = api
        self._batch = client.BatchV1Api(api)
        self._core = client.CoreV1Api(api)

    async def create(self, namespace: str, manifest: dict[str, Any]) -> None:
        job = client.V1Job.from_dict(manifest)
        assert job is not None
        await self._batch.create_namespaced_job(namespace, job)

    async def read(self, namespace: str, name: str) -> client.V1Job:
        return await self._batch.read_namespaced_job(name, namespace)

    async def pod(self, namespace: str, name: str) -> client.V1Pod | None:
        """The Job's; None if there is none any more."""
        pods = await self._core.list_namespaced_pod(namespace, label_selector=f"job-name={name}")
        return pods.items[-1] if pods.items else None

    async def log(self, namespace: str, pod: str, container: str) -> str:
        """Of its last lines the beginning and the end.

        The API can limit the bytes as well, but counts them from the first of these lines on.
        """
        output = Output()
        response = await self._core.read_namespaced_pod_log_without_preload_content(
            pod, namespace, container=container, tail_lines=_LOG_LINES
        )
        async with response:
            if response.status >= 400:
                raise client.ApiException(status=response.status, reason=response.reason)
            async for chunk in response.content.iter_any():
                output.feed(chunk)
        return output.text(Disclosure(Secrets(None, {})))

    async def delete(self, namespace: str, name: str) -> None:
        """With its pods, in the background; one that is gone is fine."""
        try:
            await self._batch.delete_namespaced_job(
                name, namespace, propagation_policy="Background"
            )
        except client.ApiException as error:
            if error.status != 404:
                raise

    async def delete_selected(self, namespace: str, labels: str) -> None:
        await self._batch.delete_collection_namespaced_job(
            namespace, label_selector=labels, propagation_policy="Background"
        )

    async def close(self) -> None:
        await self._api.close()  # type: ignore[no-untyped-call]
