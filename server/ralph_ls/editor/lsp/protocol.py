"""LSP protocol on pygls with its defects fixed: every request gets one answer.

A message goes ``receive`` → checked → typed → its handler → answer; each step that can fail reports
it to the client. ``tests/editor/lsp/test_patched_requests.py`` shows each fix beside the stock
behaviour. Does not know a feature, nor how bytes come and go.
"""

from __future__ import annotations

import contextvars
import json
import logging
import uuid
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future
from enum import Enum
from functools import partial
from typing import Any

from cattrs import Converter
from lsprotocol import types
from pygls.exceptions import (
    FeatureNotificationError,
    JsonRpcException,
    JsonRpcInternalError,
    JsonRpcInvalidRequest,
    JsonRpcMethodNotFound,
    JsonRpcParseError,
    JsonRpcRequestCancelled,
)
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol, lsp_method
from pygls.protocol.json_rpc import MsgId

from ralph_ls.editor.lsp.codec import (
    check_envelope,
    find_method,
    is_id,
    is_wire_model,
    read_body,
    read_params,
    write_notification,
    write_result,
)
from ralph_ls.editor.lsp.connection import (
    Connection,
    HandshakeStage,
    MessageTrace,
    ReleasingProgress,
    check_stage,
    log_failure,
    no_client_watch,
    no_exit_handler,
)
from ralph_ls.editor.lsp.conversion import path_of_uri, printable_uri
from ralph_ls.editor.lsp.errors import (
    describe_failure,
    invalid_field,
    invalid_params,
    to_response_error,
)
from ralph_ls.editor.lsp.framing import frame
from ralph_ls.editor.lsp.handlers import (
    AnyFuture,
    Handler,
    HandlerCall,
    read_arguments,
    start_handler,
)
from ralph_ls.editor.lsp.workspace import TolerantWorkspace
from ralph_ls.protocol.errors import RalphError

logger = logging.getLogger(__name__)

OUTPUT = "ralph/output"
"""As in ``protocol.methods``, which is imported only where it is needed (see ``editor.codec``)."""


class RalphProtocol(LanguageServerProtocol):
    """LSP and our own methods, over a ``Connection``."""

    def __init__(self, server: LanguageServer, converter: Converter) -> None:
        # First of all, since pygls looks at every attribute to find its own methods.
        self._stage = HandshakeStage.NEW
        self._running: dict[MsgId, AnyFuture] = {}
        self._connection: Connection | None = None
        self._end: Callable[[int], None] = no_exit_handler
        self._watch: Callable[[int], None] = no_client_watch
        self._afterwards: dict[MsgId, list[Callable[[], None]]] = {}
        self._trace = MessageTrace(partial(self.notify, types.LOG_TRACE))
        self.experimental: dict[str, Any] | None = None
        """What ``initialize`` answers as experimental capabilities."""
        super().__init__(server, converter)
        self.progress = ReleasingProgress(self)

    def attach(
        self,
        connection: Connection,
        *,
        end: Callable[[int], None],
        watch: Callable[[int], None],
    ) -> None:
        """From now on send to ``connection``.

        ``end`` is called with the exit code when the client says ``exit``, ``watch`` with the
        client's process id when it sends one.
        """
        self._connection = connection
        self._end = end
        self._watch = watch

    def cancel_everything(self) -> list[AnyFuture]:
        """Cancel what runs and what we wait for; gives what may still be cleaning up."""
        running = list(self._running.values())
        for future in [*running, *self._request_futures.values()]:
            future.cancel()
        return running

    @property
    def exit_code(self) -> int:
        """What the process ends with if it ended now: 0 only after ``shutdown`` (LSP, exit)."""
        return 0 if self._shutdown else 1

    @property
    def n_pending(self) -> int:
        """Handlers that run and requests of ours without an answer yet."""
        return len(self._running) + len(self._request_futures) + len(self._result_types)

    # ---------------------------------------------------------------------------------- receiving

    def refuse(self, problem: str) -> None:
        """Answer bytes that are no message."""
        logger.warning("The client sent an invalid message: %s", problem)
        self._fail(None, JsonRpcParseError(problem))

    def receive(self, body: bytes) -> None:
        """Handle one message of the client; never raises, since others may follow it."""
        message: dict[str, Any] = {"method": ""}
        try:
            message = read_body(body)
            check_envelope(message)
            # Each message in a separate context, which knows the id of its request.
            contextvars.copy_context().run(self._take, message)
        except JsonRpcException as error:
            logger.warning("Ignored a message: %s", error)
            if "method" in message or ("result" not in message and "error" not in message):
                known = message.get("id")
                self._fail(known if is_id(known) else None, error)
        except Exception as error:
            logger.exception("A message could not be handled")
            if "method" in message and is_id(message.get("id")):
                self._fail(message["id"], error, doing=str(message["method"]))

    def _take(self, message: dict[str, Any]) -> None:
        self._trace.received(message)
        if "method" not in message:
            self._take_response(message)
        elif "id" in message:
            self._take_request(message["id"], message["method"], message)
        else:
            self._take_notification(message["method"], message)

    def _take_request(self, msg_id: MsgId, method: str, message: dict[str, Any]) -> None:
        self._ctx_msg_id.set(msg_id)
        try:
            if msg_id in self._running:
                raise JsonRpcInvalidRequest(f"request {msg_id!r} is not answered yet")
            check_stage(method, self._stage, is_shut_down=self._shutdown)
            handler = self._get_handler(method)
            params = self._read_params(method, message)
        except JsonRpcException as error:
            logger.warning("Request %r of %s was refused: %s", msg_id, method, error)
            self._fail(msg_id, error)
            return
        doing = params.command if isinstance(params, types.ExecuteCommandParams) else method
        callback = partial(self._answer, msg_id=msg_id, method=method, doing=doing)
        self._execute_handler(msg_id, handler, callback, (params,))

    def _take_notification(self, method: str, message: dict[str, Any]) -> None:
        if method != types.EXIT and (self._shutdown or self._stage is not HandshakeStage.READY):
            logger.debug("%s came before initialize, or after shutdown", method)
            return
        try:
            handler = self._get_handler(method) if method != types.CANCEL_REQUEST else None
            params = self._read_params(method, message)
        except JsonRpcMethodNotFound:
            logger.debug("%s is unknown here", method)
        except JsonRpcException as error:
            logger.warning("Ignored a notification: %s", error)
            self._server.report_server_error(error, FeatureNotificationError)
        else:
            if handler is None and is_id(params.id):
                self._handle_cancel_notification(params.id)
            elif handler is None:
                logger.warning("%s names no known request: %r", method, params.id)
            else:
                callback = partial(self._check_outcome, method=method)
                self._execute_handler(str(uuid.uuid4()), handler, callback, (params,))

    def _take_response(self, message: dict[str, Any]) -> None:
        """Resolve the future of a sent request with the client's answer.

        pygls 2.1.1: an answer that does not fit its type raises in the reader, and the caller waits
        for ever. Upstream: set the exception on the request's future.
        """
        msg_id: MsgId = message.get("id", "")
        result_type = self._result_types.pop(msg_id, None)
        future = self._request_futures.pop(msg_id, None)
        if future is None or not future.set_running_or_notify_cancel():
            logger.debug("No request is waiting for the answer %r", msg_id)
            return
        try:
            if message.get("error") is not None:
                error = self._converter.structure(message["error"], types.ResponseError)
                future.set_exception(JsonRpcException.from_error(error))
            elif result_type is None:
                future.set_result(message.get("result"))
            else:
                whole = {"result": None, **message}
                future.set_result(self._converter.structure(whole, result_type).result)
        except Exception as error:  # noqa: BLE001 -- the future carries it
            future.set_exception(invalid_params(error, f"the client's answer to {msg_id}"))

    def _read_params(self, method: str, message: dict[str, Any]) -> Any:
        """The params, typed by our table or by LSP's; raises ``JsonRpcInvalidParams``.

        pygls 2.1.1: params that do not fit their type raise before the request is looked up, so it
        is never answered. Upstream: answer -32602 with the request's id when structuring fails.
        """
        params = message.get("params")
        if row := find_method(method):
            return read_params(row, params)
        message_type = self.get_message_type(method)
        if message_type is None:
            return params
        try:
            return self._converter.structure(message, message_type).params
        except Exception as error:
            raise invalid_params(error, method) from error

    # ------------------------------------------------------------------------------------ running

    def _execute_handler(
        self,
        msg_id: MsgId,
        handler: Handler,
        callback: Callable[[Any], None],
        args: tuple[Any, ...] | None = None,
        kwargs: dict[str, Any] | None = None,
    ) -> None:
        """Start a handler, and keep its future only while it runs.

        pygls 2.1.1: ``_request_futures`` holds the futures of handlers beside those of sent
        requests, and keeps that of every change and command for ever. Upstream: track running
        handlers in a separate dict and remove each when it is done.
        """
        future = start_handler(handler, args or (), kwargs, lambda: self._server.thread_pool)
        if not future.done():
            self._running[msg_id] = future
            future.add_done_callback(partial(self._forget_running, msg_id))
        future.add_done_callback(callback)

    def _forget_running(self, msg_id: MsgId, future: AnyFuture) -> None:
        if self._running.get(msg_id) is future:
            del self._running[msg_id]

    def _handle_cancel_notification(self, msg_id: MsgId) -> None:
        """Cancel a running request; the answer follows when its handler has ended.

        pygls 2.1.1: a cancelled command is answered at once, while its handler runs on. Upstream:
        cancel the handler's future and answer when it is done.
        """
        if future := self._running.get(msg_id):
            future.cancel()

    def _answer(self, future: AnyFuture, *, msg_id: MsgId, method: str, doing: str) -> None:
        afterwards = self._afterwards.pop(msg_id, [])
        if future.cancelled():
            self._fail(msg_id, JsonRpcRequestCancelled(f"{doing} was cancelled"))
            return
        try:
            result = future.result()
            row = find_method(method)
            if row is not None and row.result is not None and not isinstance(result, row.result):
                raise TypeError(f"{method} must answer {row.result}, not {type(result)}")
            self._send_response(msg_id, result)
        except Exception as error:  # noqa: BLE001 -- the client gets it as an error
            log_failure(error, doing)
            self._fail(msg_id, error, doing=doing)
        else:
            for do in afterwards:
                do()

    def _check_outcome(self, future: AnyFuture, *, method: str) -> None:
        """Nobody waits for an answer to a notification, but somebody reads the log."""
        if not future.cancelled() and (error := future.exception()) is not None:
            log_failure(error, method)
            sentence = (
                error.message if isinstance(error, RalphError) else describe_failure(error, method)
            )
            self._server.report_server_error(
                JsonRpcInternalError(sentence), FeatureNotificationError
            )

    def after_answer(self, do: Callable[[], None]) -> None:
        """Have ``do`` called once the request that is being handled was answered with a result."""
        if self.msg_id is not None:
            self._afterwards.setdefault(self.msg_id, []).append(do)

    # ------------------------------------------------------------------------------------ sending

    def notify_messages(self, workspace: str, run: str, messages: Sequence[bytes]) -> None:
        """Send ``ralph/messages``, each message as the JSON of the run's file."""
        if self._connection is not None:
            self._connection.write_messages(workspace, run, messages)

    def notify(self, method: str, params: Any = None) -> None:
        """Send a notification; from any thread, and never blocking."""
        if self._connection is None or not is_wire_model(type(params)):
            super().notify(method, params)
        elif method == OUTPUT:
            self._connection.write_output(params)
        else:
            self._connection.write(write_notification(method, params))
        self._trace.sent(method)

    def send_request(
        self,
        method: str,
        params: Any = None,
        callback: Callable[[Any], None] | None = None,
        msg_id: MsgId | None = None,
    ) -> Future[Any]:
        known = str(uuid.uuid4()) if msg_id is None else msg_id
        self._trace.sent(method, known)
        future = super().send_request(method, params, callback, known)
        future.add_done_callback(partial(self._forget_request, known))
        return future

    def _forget_request(self, msg_id: MsgId, _future: Future[Any]) -> None:
        """Remove a sent request that was answered, cancelled or timed out.

        pygls 2.1.1: a request without an answer in time stays in ``_request_futures`` and
        ``_result_types``. Upstream: remove both in a done callback of the future.
        """
        self._request_futures.pop(msg_id, None)
        self._result_types.pop(msg_id, None)

    def _send_response(
        self, msg_id: MsgId | None, result: Any = None, error: types.ResponseError | None = None
    ) -> None:
        if error is not None:
            # Where no id could be read it is null, and lsprotocol would leave it out.
            self._send_data({"jsonrpc": self.VERSION, "id": msg_id, "error": error})
        elif is_wire_model(type(result)) and msg_id is not None and self._connection is not None:
            self._connection.write(write_result(msg_id, result))
        else:
            self._send_data({"jsonrpc": self.VERSION, "id": msg_id, "result": result})
        # Afterwards: before the answer to initialize nothing may be sent.
        self._trace.answered(msg_id, error)

    def _fail(self, msg_id: MsgId | None, error: Exception, *, doing: str = "") -> None:
        """Answer a request with an error that holds a sentence and a code.

        pygls 2.1.1: an internal error sends its traceback to the client. Upstream: keep the
        traceback for the log.
        """
        self._send_response(msg_id, error=to_response_error(error, doing))

    def _send_data(self, data: Any) -> None:
        """Send a message.

        Raises TypeError or ValueError for what is no JSON; ``_answer`` reports it.

        pygls 2.1.1: a result that is no JSON is logged, and the request is never answered.
        Upstream: raise, so that the caller can answer with an internal error.
        """
        message = json.dumps(data, default=self._serialize_message, separators=(",", ":"))
        if self._connection is None:
            logger.debug("No client is connected")
        else:
            self._connection.write(frame(message.encode()))

    def _serialize_message(self, data: Any) -> Any:
        if is_wire_model(type(data)) or hasattr(data, "__attrs_attrs__"):
            return self._converter.unstructure(data)
        if isinstance(data, Enum):
            return data.value
        raise TypeError(f"{type(data)} cannot be sent")

    # ---------------------------------------------------------------------------- LSP's own methods

    @lsp_method(types.INITIALIZE)
    def lsp_initialize(
        self, params: types.InitializeParams
    ) -> Generator[HandlerCall, Any, types.InitializeResult]:
        """Greet the client, once; after a failure it may try again.

        pygls 2.1.1: a ``rootUri`` that ``urlparse`` refuses makes ``initialize`` fail. Upstream:
        ignore such a root.
        """
        self._stage = HandshakeStage.STARTING
        greeted = False
        if params.root_uri is not None and path_of_uri(params.root_uri) is None:
            logger.warning("The root %s is not a folder here", printable_uri(params.root_uri))
            params.root_uri = None
        try:
            result = yield from super().lsp_initialize(params)
            self._workspace = TolerantWorkspace.of(self.workspace)
            result.capabilities.experimental = self.experimental
            greeted = True
        finally:
            self._stage = HandshakeStage.READY if greeted else HandshakeStage.NEW
        if params.process_id is not None:
            self._watch(params.process_id)
        if params.trace is not None:
            self._trace.set(params.trace)
        return result

    @lsp_method(types.SET_TRACE)
    def lsp_set_trace(self, params: types.SetTraceParams) -> Generator[HandlerCall, Any, None]:
        """Trace messages from here on, or no more."""
        self._trace.set(params.value)
        yield from ()

    @lsp_method(types.SHUTDOWN)
    def lsp_shutdown(self, *args: Any) -> Generator[HandlerCall, Any, None]:
        """Cancel what still runs; from here on only ``exit`` is accepted.

        pygls 2.1.1: ``shutdown`` fails while a handler runs, since the dict of futures changes
        while it is iterated. Upstream: iterate over a copy.
        """
        if (handler := self.fm.features.get(types.SHUTDOWN)) is not None:
            yield handler, args, None
        self._shutdown = True
        # A copy, since a handler that ends removes itself from the original.
        for msg_id, future in list(self._running.items()):
            if msg_id != self.msg_id:
                future.cancel()
        for request in list(self._request_futures.values()):
            request.cancel()

    @lsp_method(types.EXIT)
    def lsp_exit(self, *args: Any) -> Generator[HandlerCall, Any, None]:
        """End the process, with a code for whether ``shutdown`` came first.

        pygls 2.1.1: over stdio ``exit`` calls ``sys.exit`` in a callback, where its code is lost:
        the process ends with 0 also without ``shutdown``. Upstream: end the main loop and pass the
        code out of it.
        """
        if (handler := self.fm.features.get(types.EXIT)) is not None:
            yield handler, args, None
        self._end(self.exit_code)

    @lsp_method(types.WORKSPACE_EXECUTE_COMMAND)
    def lsp_workspace__execute_command(
        self, params: types.ExecuteCommandParams
    ) -> Generator[HandlerCall, Any, Any]:
        """Run a command, its arguments typed by its handler."""
        if (handler := self.fm.commands.get(params.command)) is None:
            raise invalid_field(params.command, "command", "is unknown here")
        values = params.arguments or ()
        args = read_arguments(handler, values, self._converter, command=params.command)
        return (yield handler, args, None)
