"""YAML that says what JSON can say, and nothing that two programs could read differently."""

from collections.abc import Hashable
from typing import Any

import yaml

_TIMESTAMP = "tag:yaml.org,2002:timestamp"
_MERGE = "tag:yaml.org,2002:merge"


def load_all(text: str) -> list[object]:
    """The documents that are not empty. A date is the text that stands there. Raises
    `yaml.YAMLError`, also for a name twice in one mapping."""
    documents = yaml.load_all(text, Loader=_Loader)
    return [document for document in documents if document is not None]


class _Loader(yaml.SafeLoader):
    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen = set[str]()
        for key, _ in node.value:
            if key.tag != _MERGE and key.value in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"{key.value!r} twice in one mapping", key.start_mark
                )
            if isinstance(key, yaml.ScalarNode):
                seen.add(key.value)
        return super().construct_mapping(node, deep=deep)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != _TIMESTAMP]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
