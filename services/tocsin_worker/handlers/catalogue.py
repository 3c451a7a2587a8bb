"""The handlers of a worker process: those that come with Tocsin, and those that are installed."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from socket import gethostname
from typing import Literal, cast

from tocsin.plugins import HANDLERS, Plugin, installed
from tocsin.settings import InvalidSettings
from tocsin.tasks.registry import CannotLoad, load_tasks
from tocsin_worker.handlers.container.handler import ContainerHandler
from tocsin_worker.handlers.container.orphans import Place
from tocsin_worker.handlers.http.handler import HttpHandler
from tocsin_worker.handlers.kafka.clusters import clusters_of
from tocsin_worker.handlers.kafka.handler import KafkaHandler
from tocsin_worker.handlers.noop import NoopHandler
from tocsin_worker.handlers.port import Equipment, RunHandler
from tocsin_worker.handlers.process.handler import ProcessHandler
from tocsin_worker.handlers.registry import Registry
from tocsin_worker.handlers.task.handler import TaskHandler


def registry(equipment: Equipment) -> Registry:
    """All handlers; raises `InvalidSettings` with a sentence for the one that cannot be had."""
    try:
        return Registry([*_own(equipment), *_installed(equipment)])
    except ValueError as error:
        raise InvalidSettings([str(error)]) from None


def _own(equipment: Equipment) -> Iterator[RunHandler]:
    yield NoopHandler()
    yield HttpHandler(equipment.settings.http_allow, equipment.secrets)
    yield KafkaHandler(clusters_of(equipment), equipment.secrets, equipment.settings.prefix)
    if equipment.settings.tasks:
        yield _tasks(equipment.settings.tasks)
    if equipment.settings.process:
        yield ProcessHandler(equipment.secrets)
    if equipment.settings.container_socket is not None:
        yield _container(equipment, equipment.settings.container_socket)
    if equipment.settings.kubernetes is not None:
        yield _kubernetes(equipment.settings.kubernetes)


def _tasks(modules: Sequence[str]) -> RunHandler:
    try:
        return TaskHandler(load_tasks(modules), modules)
    except CannotLoad as error:
        raise ValueError(f"tasks: {error}") from None


def _container(equipment: Equipment, socket: Path) -> RunHandler:
    node_id = equipment.settings.node_id
    node = node_id or gethostname()
    place = Place(socket, equipment.worker, node, stable=node_id is not None)
    return ContainerHandler(place, equipment.secrets)


def _kubernetes(where: Path | Literal["in-cluster"]) -> RunHandler:
    """Imported only where it is wanted: the client is large, and an extra of the distribution."""
    try:
        from tocsin_worker.handlers.kubernetes import jobs
        from tocsin_worker.handlers.kubernetes.handler import KubernetesHandler
    except ImportError as error:
        raise ValueError(f"TOCSIN_KUBERNETES needs tocsin[kubernetes]: {error}") from None
    connect = jobs.in_cluster() if where == "in-cluster" else jobs.by_file(where)
    return KubernetesHandler(connect, jobs.own_namespace())


def _installed(equipment: Equipment) -> Iterator[RunHandler]:
    for plugin in installed(HANDLERS):
        handler = _made(equipment, plugin)
        if handler.type != plugin.name:
            raise ValueError(
                f"{plugin.origin}: the entry point {plugin.name!r} of {HANDLERS} makes a handler "
                f"for {handler.type!r}; name it after its type"
            )
        yield handler


def _made(equipment: Equipment, plugin: Plugin) -> RunHandler:
    factory = plugin.load()
    with plugin.telling("cannot be made"):
        return cast("RunHandler", factory(equipment))
