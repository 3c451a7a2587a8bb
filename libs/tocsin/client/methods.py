"""Methods of the two clients, made of the functions of `calls`.

Each has the parameters and the docstring of its function; what differs is how it is awaited.
"""

from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import update_wrapper
from inspect import Parameter, signature
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from tocsin.client.calls import Call, Listing

P = ParamSpec("P")
T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])


class Sender(Protocol):
    """Sends calls and blocks."""

    def send(self, call: Call[T]) -> T: ...


class AsyncSender(Protocol):
    """Sends calls on an event loop."""

    async def send(self, call: Call[T]) -> T: ...


def blocking(build: Callable[P, Call[T]]) -> Callable[Concatenate[Sender, P], T]:
    """A method that returns the answer."""

    def method(self: Sender, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.send(build(*args, **kwargs))

    return _dressed(method, build)


def awaiting(
    build: Callable[P, Call[T]],
) -> Callable[Concatenate[AsyncSender, P], Coroutine[Any, Any, T]]:
    """A method to be awaited."""

    async def method(self: AsyncSender, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return await self.send(build(*args, **kwargs))

    return _dressed(method, build)


def iterating(build: Callable[P, Listing[T]]) -> Callable[Concatenate[Sender, P], Iterator[T]]:
    """A method that yields items, a request a page."""

    def method(self: Sender, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        listing, cursor = build(*args, **kwargs), None
        while True:
            page = self.send(listing.page(cursor))
            yield from page.items
            cursor = page.next_cursor
            if cursor is None:
                return

    return _dressed(method, build)


def aiterating(
    build: Callable[P, Listing[T]],
) -> Callable[Concatenate[AsyncSender, P], AsyncIterator[T]]:
    """A method for `async for`."""

    async def method(self: AsyncSender, /, *args: P.args, **kwargs: P.kwargs) -> AsyncIterator[T]:
        listing, cursor = build(*args, **kwargs), None
        while True:
            page = await self.send(listing.page(cursor))
            for item in page.items:
                yield item
            cursor = page.next_cursor
            if cursor is None:
                return

    return _dressed(method, build)


def _dressed(method: F, build: Callable[..., object]) -> F:
    """`help` shows the function's name, docstring and parameters."""
    update_wrapper(method, build)
    shown = signature(build)
    own = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
    given = [own, *shown.parameters.values()]
    method.__signature__ = shown.replace(parameters=given)  # type: ignore[attr-defined]
    return method
