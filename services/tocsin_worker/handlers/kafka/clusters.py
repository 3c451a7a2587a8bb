"""The clusters that jobs may produce to: Tocsin's own, and those that the operator names."""

from collections.abc import Mapping
from pathlib import Path

import yaml

from tocsin.broker.kafka import KafkaCluster
from tocsin.broker.port import Cluster
from tocsin.model.runs import Error
from tocsin.settings import Settings
from tocsin_worker.handlers.disclosure import Disclosure
from tocsin_worker.handlers.port import Equipment, HandlerFailed

SETTING = "TOCSIN_CLUSTERS"
_BOOTSTRAP = "bootstrap.servers"

Properties = Mapping[str, str]


class Clusters:
    """Opens them when they are first asked for."""

    def __init__(self, worker: str, settings: Settings, others: Mapping[str, Properties]) -> None:
        self._worker = worker
        self._settings = settings
        self._others = others

    def open(self, name: str | None, disclosure: Disclosure) -> Cluster:
        """`name` None: Tocsin's own. Raises `HandlerFailed` where this worker does not know it, or
        has not its secrets: another may."""
        if name is None:
            bootstrap = self._settings.bootstrap()
            return KafkaCluster(bootstrap, self._settings.kafka, client_id=self._worker)
        if name not in self._others:
            message = f"this worker knows no cluster {name!r}; {SETTING} names the file that does"
            raise HandlerFailed(Error(code="invalid", message=message))
        properties = {key: disclosure.resolve(value) for key, value in self._others[name].items()}
        return KafkaCluster(properties.pop(_BOOTSTRAP), properties, client_id=self._worker)


def clusters_of(equipment: Equipment) -> Clusters:
    """Raises `ValueError` where the file of the setting is not as it should be."""
    settings = equipment.settings
    others = {} if settings.clusters is None else _read(settings.clusters)
    return Clusters(equipment.worker, settings, others)


def _read(path: Path) -> dict[str, Properties]:
    """Name -> properties of the client; numbers and truths as the client writes them."""
    try:
        document = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ValueError(f"{SETTING} {str(path)!r}: {error}") from None
    if not isinstance(document, dict):
        raise ValueError(f"{SETTING} {str(path)!r}: expected names of clusters with properties")
    return {str(name): _properties(path, str(name), given) for name, given in document.items()}


def _properties(path: Path, name: str, given: object) -> Properties:
    if not isinstance(given, dict) or _BOOTSTRAP not in given:
        raise ValueError(f"{SETTING} {str(path)!r}: cluster {name!r} needs {_BOOTSTRAP}")
    return {
        str(key): str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in given.items()
    }
