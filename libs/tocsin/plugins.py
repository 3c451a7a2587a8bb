"""What installed distributions add to Tocsin, by entry points."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import EntryPoint, entry_points

HANDLERS = "tocsin.handlers"
"""Entry points of this group make handlers, where workers run: name = handler type, value =
`tocsin_worker.handlers.port.Factory`."""

HANDLER_CHECKS = "tocsin.handler_checks"
"""Entry points of this group judge the configurations of such handlers, where gateways run:
name = handler type, value = `tocsin.model.handlers.Check`."""


class UnusablePlugin(ValueError):
    """Something installed that cannot be used; the message names the distribution."""


class Plugin:
    """One entry point. `name`: the handler type. `origin`: distribution and version."""

    def __init__(self, point: EntryPoint) -> None:
        self._point = point
        self.name = point.name
        self.origin = "?" if point.dist is None else f"{point.dist.name} {point.dist.version}"

    def load(self) -> Callable[..., object]:
        """What the entry point names; imports its module."""
        with self.telling("cannot be loaded"):
            found: object = self._point.load()
        if not callable(found):
            kind = type(found).__name__
            raise UnusablePlugin(f"{self.origin}: {self._point.value} is a {kind}, not a function")
        return found

    @contextmanager
    def telling(self, trouble: str) -> Iterator[None]:
        """Whatever somebody else's code raises is told with its origin, as `UnusablePlugin`."""
        try:
            yield
        except UnusablePlugin:
            raise
        except Exception as error:
            message = (
                f"{self.origin}: its {self._point.group} {self.name!r} ({self._point.value}) "
                f"{trouble}: {type(error).__name__}: {error}"
            )
            raise UnusablePlugin(message) from error


def installed(group: str) -> list[Plugin]:
    """All that is installed for a group, by name."""
    return [Plugin(point) for point in sorted(entry_points(group=group), key=lambda one: one.name)]
