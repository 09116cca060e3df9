"""Bytes to messages and back: frames, JSON, and the typed params of the methods in our table.

Sans-IO: it is fed bytes and gives messages. It must never know what a method does, nor how bytes
come and go. LSP's own types go through lsprotocol's converter untouched.

Our models are imported where they are first needed: an editor waits for the answer to initialize,
and pydantic would make it wait half as long again (SPEC §13).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import attrs
from cattrs import Converter
from lsprotocol.converters import get_converter
from pygls.exceptions import JsonRpcInvalidRequest, JsonRpcParseError
from pygls.protocol import (
    JsonRPCNotification,
    JsonRPCRequestMessage,
    JsonRPCResponseMessage,
)

from ralph_ls.editor.errors import invalid_field, invalid_params

if TYPE_CHECKING:
    from ralph_ls.protocol.base import WireModel
    from ralph_ls.protocol.methods import Method

HEADER_END = b"\r\n\r\n"
MAX_HEADER = 16 * 1024
"""Bytes; headers without an end are no headers."""

VERSION = "2.0"
OUR_PREFIX = "ralph/"


class StreamUnreadable(Exception):
    """The bytes are not framed as messages, so nobody can tell where the next one begins."""


class FrameReader:
    """Cuts a stream of bytes into the bodies of messages, however the bytes come."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._length: int | None = None

    def feed(self, data: bytes) -> list[bytes]:
        """The bodies that are whole now; raises ``StreamUnreadable``."""
        self._buffer += data
        bodies: list[bytes] = []
        while (body := self._next()) is not None:
            bodies.append(body)
        return bodies

    def _next(self) -> bytes | None:
        if self._length is None:
            end = self._buffer.find(HEADER_END)
            if end < 0:
                if len(self._buffer) > MAX_HEADER:
                    raise StreamUnreadable(f"no end of the headers in {MAX_HEADER} bytes")
                return None
            self._length = _content_length(bytes(self._buffer[:end]))
            del self._buffer[: end + len(HEADER_END)]
        if len(self._buffer) < self._length:
            return None
        body = bytes(self._buffer[: self._length])
        del self._buffer[: self._length]
        self._length = None
        return body


def frame(body: bytes) -> bytes:
    """A body with its header."""
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def read_body(body: bytes) -> dict[str, Any]:
    """The JSON object of a body.

    Raises ``JsonRpcParseError`` for what is no JSON, ``JsonRpcInvalidRequest`` for JSON that is no
    object. A batch is none: LSP has no batches.
    """
    try:
        message = json.loads(body.decode())
    except (ValueError, RecursionError) as error:
        raise JsonRpcParseError(f"this is no JSON: {error}") from error
    if not isinstance(message, dict):
        raise JsonRpcInvalidRequest("a message is a JSON object")
    return message


def check_envelope(message: dict[str, Any]) -> None:
    """Raises ``JsonRpcInvalidRequest`` where what is around the params is no JSON-RPC."""
    if message.get("jsonrpc") != VERSION:
        raise JsonRpcInvalidRequest(f"jsonrpc must be {VERSION!r}")
    if not isinstance(message.get("method", ""), str):
        raise JsonRpcInvalidRequest("method must be a text")
    if "id" in message and not is_id(message["id"]):
        raise JsonRpcInvalidRequest("id must be a number or a text")


def is_id(value: object) -> bool:
    """Whether an answer could name it."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def find_method(name: str) -> Method | None:
    """The row of our table, or None for a method that is not in it."""
    if not name.startswith(OUR_PREFIX):
        return None
    from ralph_ls.protocol.methods import METHODS

    return METHODS.get(name)


def read_params(method: Method, params: object) -> WireModel:
    """The typed params of a method of ours; none at all are as good as empty ones.

    Raises ``JsonRpcInvalidParams``, which names the field.
    """
    if params is not None and not isinstance(params, dict):
        raise invalid_field(method.name, "params", "must be an object")
    try:
        return _from_builtins(params or {}, method.params)
    except ValueError as error:  # The parent of pydantic's own.
        raise invalid_params(error, method.name) from error


def write_notification(method: str, params: WireModel) -> bytes:
    """The framed notification, without a detour over cattrs: what an agent says goes this way."""
    head = b'{"jsonrpc":"2.0","method":%b,"params":' % json.dumps(method).encode()
    return frame(b"%b%b}" % (head, to_json(params)))


def write_messages(workspace: str, run: str, messages: Iterable[bytes], skipped: int) -> bytes:
    """A framed ``ralph/messages``, whose messages are the JSON that stands in the run's file."""
    told = b'"skipped":%d,' % skipped if skipped else b""
    place = b'"workspace":%b,"run":%b' % (json.dumps(workspace).encode(), json.dumps(run).encode())
    params = b'{%b,%b"messages":[%b]}' % (place, told, b",".join(messages))
    return frame(b'{"jsonrpc":"2.0","method":"ralph/messages","params":%b}' % params)


def write_result(message_id: str | int, result: WireModel) -> bytes:
    """The framed answer to a request."""
    head = b'{"jsonrpc":"2.0","id":%b,"result":' % json.dumps(message_id).encode()
    return frame(b"%b%b}" % (head, to_json(result)))


def to_json(model: WireModel) -> bytes:
    """A model as it stands in the journal, too: camelCase, a field without a value left out."""
    return model.model_dump_json(by_alias=True, exclude_none=True).encode()


def is_wire_model(cls: Any) -> bool:
    """Whether ``cls`` is one of our models; none is where none was imported yet."""
    base = sys.modules.get("ralph_ls.protocol.base")
    return base is not None and isinstance(cls, type) and issubclass(cls, base.WireModel)


def make_converter() -> Converter:
    """Lsprotocol's converter, which knows our models too, also deep inside of its own types."""
    converter = get_converter()
    converter.register_unstructure_hook_func(is_wire_model, _to_builtins)
    converter.register_structure_hook_func(is_wire_model, _from_builtins)
    # What is in no table stays plain JSON. Made into named tuples, keys such as `class` were lost.
    for message_type in (JsonRPCRequestMessage, JsonRPCNotification, JsonRPCResponseMessage):
        converter.register_structure_hook(message_type, _plain)
    return converter


def _content_length(headers: bytes) -> int:
    for line in headers.split(b"\r\n"):
        name, _, value = line.partition(b":")
        digits = value.strip()
        if name.strip().lower() == b"content-length" and digits.isdigit() and len(digits) < 16:
            return int(digits)
    raise StreamUnreadable(f"no Content-Length in the headers {headers[:200]!r}")


def _to_builtins(model: WireModel) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def _from_builtins(value: object, cls: type[WireModel]) -> WireModel:
    # Our own names only, so that there is one way to write a message.
    return cls.model_validate(value, by_alias=True, by_name=False)


def _plain(message: dict[str, Any], cls: type[Any]) -> Any:
    return cls(**{field.name: message.get(field.name) for field in attrs.fields(cls)})
