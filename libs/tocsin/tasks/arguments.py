"""A task's arguments <-> the job's payload.

An object is keyword arguments, an array positional ones, null none at all. A parameter annotated
`TaskContext` is the worker's to give, wherever it stands.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from inspect import BoundArguments, Parameter, Signature

import msgspec

from tocsin.tasks.context import TaskContext
from tocsin.tasks.failures import invalid


class TaskSignature:
    """How a function is called."""

    def __init__(self, function: Callable[..., object]) -> None:
        """Raises TypeError for more than one `TaskContext`."""
        self._whole = _signature(function)
        contexts = [p.name for p in self._whole.parameters.values() if _is_context(p)]
        if len(contexts) > 1:
            raise TypeError(f"{', '.join(contexts)}: one parameter may be a TaskContext")
        self._context = contexts[0] if contexts else None
        given = [p for p in self._whole.parameters.values() if p.name != self._context]
        self._given = self._whole.replace(parameters=given)

    def call(self, payload: bytes | None, context: TaskContext) -> BoundArguments:
        """The arguments of one attempt. Raises `TaskFailed` where the payload does not fit."""
        args, kwargs = _from_payload(payload)
        try:
            given = self._given.bind(*args, **kwargs).arguments
        except TypeError as error:
            raise invalid(f"the payload does not fit the task: {error}") from None
        values = given if self._context is None else {**given, self._context: context}
        ordered = {name: values[name] for name in self._whole.parameters if name in values}
        return BoundArguments(self._whole, ordered)

    def payload(self, args: Sequence[object], kwargs: Mapping[str, object]) -> object:
        """The payload for these arguments. Raises TypeError where the call itself would."""
        arguments = self._given.bind(*args, **kwargs).arguments
        if not arguments:
            return None
        by_name = self._by_name(arguments)
        if by_name is not None:
            return by_name
        if kwargs:
            raise TypeError("give all arguments by position: some have no name")
        return list(args)

    def _by_name(self, arguments: Mapping[str, object]) -> dict[str, object] | None:
        """None where some can only be given by position."""
        found: dict[str, object] = {}
        for name, value in arguments.items():
            kind = self._given.parameters[name].kind
            if kind in (Parameter.POSITIONAL_ONLY, Parameter.VAR_POSITIONAL):
                return None
            if kind is Parameter.VAR_KEYWORD and isinstance(value, dict):
                found |= value
            else:
                found[name] = value
        return found


def _signature(function: Callable[..., object]) -> Signature:
    """With annotations as values where they can be found out, else as they were written."""
    try:
        return inspect.signature(function, eval_str=True)
    except Exception:  # noqa: BLE001 — an annotation may be any expression
        return inspect.signature(function)


def _is_context(parameter: Parameter) -> bool:
    annotation = parameter.annotation
    if isinstance(annotation, str):
        return annotation.rpartition(".")[2] == TaskContext.__name__
    return annotation is TaskContext


def _from_payload(payload: bytes | None) -> tuple[Sequence[object], Mapping[str, object]]:
    try:
        value: object = None if payload is None else msgspec.json.decode(payload)
    except msgspec.DecodeError as error:
        raise invalid(f"the payload is not JSON: {error}") from None
    if value is None:
        return (), {}
    if isinstance(value, dict):
        return (), value
    if isinstance(value, list):
        return value, {}
    raise invalid(
        f"the payload is a {type(value).__name__}: a task takes an object as keyword arguments, "
        "an array as positional ones, or null for none"
    )
