"""The arguments of an executeCommand, typed by the signature of the command's handler.

They are LSP's one loosely typed corner: a list of JSON values. It must never know a command.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from cattrs import Converter

from ralph_ls.editor.errors import invalid_field, invalid_params


def read_arguments(
    handler: Callable[..., Any], values: Sequence[object], converter: Converter, *, command: str
) -> tuple[Any, ...]:
    """The values as the handler's annotations want them; what is left out keeps its default.

    Raises ``JsonRpcInvalidParams``, which names the argument.
    """
    signature, hints = _signature_of(handler)
    try:
        bound = signature.bind(*values)
    except TypeError as error:
        raise invalid_field(command, "arguments", str(error)) from error
    typed = []
    for name, value in bound.arguments.items():
        if signature.parameters[name].kind is inspect.Parameter.VAR_POSITIONAL:
            typed.extend(value)
        else:
            typed.append(_read(value, hints.get(name, Any), converter, command=command, name=name))
    return tuple(typed)


def _read(value: object, hint: Any, converter: Converter, *, command: str, name: str) -> object:
    if hint is Any:
        return value
    try:
        return converter.structure(value, hint)
    except Exception as error:
        raise invalid_params(error, command, within=name) from error


def _signature_of(handler: Callable[..., Any]) -> tuple[inspect.Signature, dict[str, Any]]:
    """What the handler takes, without the server that pygls gives it first.

    pygls wraps a handler that wants the server: a partial around a function, a coroutine with
    ``func`` around a coroutine.
    """
    inner = getattr(handler, "func", handler)
    signature = inspect.signature(handler if isinstance(handler, partial) else inner)
    if inner is not handler and not isinstance(handler, partial):
        signature = signature.replace(parameters=list(signature.parameters.values())[1:])
    return signature, typing.get_type_hints(inner)
