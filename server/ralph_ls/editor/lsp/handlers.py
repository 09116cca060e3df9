"""Handlers: their arguments, and running one so that it can be awaited and cancelled whole.

A handler may be a function, a coroutine, a function for a thread, or one of pygls' generators,
which delegate to others. The arguments of ``workspace/executeCommand``, a list of JSON values, are
typed by the handler's signature.
"""

from __future__ import annotations

import asyncio
import inspect
import typing
from collections.abc import Callable, Generator, Mapping, Sequence
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any

from cattrs import Converter
from pygls.constants import ATTR_EXECUTE_IN_THREAD

from ralph_ls.editor.lsp.errors import invalid_field, invalid_params


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


Handler = Callable[..., Any]
AnyFuture = Future[Any] | asyncio.Future[Any]
HandlerCall = tuple[Handler, tuple[Any, ...], Mapping[str, Any] | None]


def start_handler(
    handler: Handler,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None,
    pool: Callable[[], Executor],
) -> AnyFuture:
    """Start ``handler`` in the running loop; what is plain code has run when this returns.

    So a document's changes are made in the order in which they came. The future's callbacks run
    in the loop, never in a worker's thread.
    """
    named = dict(kwargs or {})
    if inspect.iscoroutinefunction(handler):
        task: asyncio.Future[Any] = asyncio.ensure_future(handler(*args, **named))
        return task
    if getattr(handler, ATTR_EXECUTE_IN_THREAD, False):
        return asyncio.wrap_future(pool().submit(handler, *args, **named))
    if inspect.isgeneratorfunction(handler):
        return _Chain(handler(*args, **named), pool)
    settled: Future[Any] = Future()
    try:
        settled.set_result(handler(*args, **named))
    except Exception as error:  # noqa: BLE001 -- the future carries any of them
        settled.set_exception(error)
    return settled


class _Chain(Future[Any]):
    """A generator that delegates to other handlers; cancelling it cancels the one that runs.

    pygls 2.1.1: cancelling a generator handler leaves the inner one running, and an inner error is
    not thrown into the generator. Upstream: forward both.
    """

    def __init__(
        self, generator: Generator[HandlerCall, Any, Any], pool: Callable[[], Executor]
    ) -> None:
        super().__init__()
        self._generator = generator
        self._pool = pool
        self._running: AnyFuture | None = None
        self._go_on(None)

    def cancel(self) -> bool:
        """Cancel what runs; the answer follows when it has ended, with all that it cleans up."""
        if self._running is not None and not self._running.done():
            return self._running.cancel()
        return super().cancel()

    def _go_on(self, finished: AnyFuture | None) -> None:
        if self.cancelled() or (finished is not None and finished.cancelled()):
            # Cancelled between two steps: the one that ended has not been taken note of yet.
            self._generator.close()
            super().cancel()
            return
        try:
            handler, args, kwargs = self._send(finished)
        except StopIteration as stop:
            self.set_result(stop.value)
        except Exception as error:  # noqa: BLE001 -- as above
            self.set_exception(error)
        else:
            self._running = start_handler(handler, args, kwargs, self._pool)
            self._running.add_done_callback(self._go_on)

    def _send(self, finished: AnyFuture | None) -> HandlerCall:
        if finished is None:
            return next(self._generator)
        if error := finished.exception():
            return self._generator.throw(error)
        return self._generator.send(finished.result())
