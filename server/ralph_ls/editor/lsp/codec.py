"""Codec: bodies to typed messages and back, strictly.

Sans-IO. LSP's own types go through lsprotocol's converter, our methods through their models, which
are imported when first needed: an editor waits for the answer to initialize, and pydantic would
make it wait half as long again (docs/rules.md#speed). A field takes the JSON type that it names and
no other: cattrs alone makes ``"3"`` of 3, ``"None"`` of null and a list of letters of a string, so
that a client's slip becomes a wrong edit instead of an answer.
"""

from __future__ import annotations

import functools
import json
import math
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, Optional

import attrs
from cattrs import Converter
from cattrs.cols import is_sequence
from lsprotocol import types
from lsprotocol.converters import get_converter
from pygls.exceptions import JsonRpcInvalidRequest, JsonRpcParseError
from pygls.protocol import (
    JsonRPCNotification,
    JsonRPCRequestMessage,
    JsonRPCResponseMessage,
)

from ralph_ls.editor.lsp.errors import EXPECTED, WrongJsonType, invalid_field, invalid_params
from ralph_ls.editor.lsp.framing import frame

StructureHook = Callable[[Any, Any], Any]


def require_json_types(converter: Converter) -> None:
    """Have ``converter`` raise ``WrongJsonType`` where a value is of another JSON type.

    pygls 2.1.1: lsprotocol's converter coerces: ``3`` becomes ``"3"``, null becomes ``"None"`` and
    a string a list of letters; for ``int | str``, such as a token or an id, it takes anything, and
    a list as a key raises later. Upstream: register strict hooks for the JSON types and their
    unions.
    """
    for python_type, read in _SIMPLE.items():
        converter.register_structure_hook(python_type, _of_enums_too(python_type, read))
    converter.register_structure_hook(types.ProgressToken, _read_token)
    converter.register_structure_hook(
        Optional[types.ProgressToken],  # noqa: UP045  # as lsprotocol registers it
        lambda value, kind: None if value is None else _read_token(value, kind),
    )
    _check_first(converter, attrs.has, Mapping, EXPECTED["model"])
    _check_first(converter, is_sequence, list, EXPECTED["list"])


def _check_first(
    converter: Converter, predicate: Callable[[Any], bool], wanted: type, expected: str
) -> None:
    """Look at the value before the hook that ``converter`` has for such types by now."""
    within: list[Any] = []

    def make_hook(cls: Any) -> StructureHook:
        # While this asks for the hook that was there before, it is no hook itself.
        within.append(cls)
        try:
            inner = converter.get_structure_hook(cls, cache_result=False)
        finally:
            within.pop()

        def read(value: Any, kind: Any) -> Any:
            if not isinstance(value, wanted):
                raise WrongJsonType(expected, value)
            return inner(value, kind)

        return read

    converter.register_structure_hook_factory(
        lambda cls: predicate(cls) and cls not in within, make_hook
    )


def _of_enums_too(python_type: type, read: StructureHook) -> StructureHook:
    """The hook of a type is that of the enums that are made of it, such as a severity."""

    def structure(value: Any, kind: Any) -> Any:
        plain = read(value, kind)
        return plain if kind is python_type else kind(plain)

    return structure


def _read_string(value: Any, _: Any) -> str:
    if isinstance(value, str):
        return value
    raise WrongJsonType(EXPECTED["string"], value)


def _read_bool(value: Any, _: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise WrongJsonType(EXPECTED["bool"], value)


def _read_integer(value: Any, _: Any) -> int:
    # JSON knows numbers alone: 1.0 is an integer, too.
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    raise WrongJsonType(EXPECTED["int"], value)


def _read_number(value: Any, _: Any) -> float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    raise WrongJsonType(EXPECTED["float"], value)


_SIMPLE: Mapping[type, StructureHook] = {
    str: _read_string,
    bool: _read_bool,
    int: _read_integer,
    float: _read_number,
}


def _read_token(value: Any, _: Any) -> int | str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return _read_integer(value, int)
    raise WrongJsonType("an integer or a string", value)


if TYPE_CHECKING:
    from ralph_ls.protocol.base import WireModel
    from ralph_ls.protocol.lsp.methods import Method

VERSION = "2.0"
OUR_PREFIX = "ralph/"
SAFE_DIGITS = 16
"""Digits, or a sign and digits, of an integer that is exact in JavaScript, too."""

_MAYBE_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F]..)|.)",
    re.DOTALL,
)
"""An escape in a JSON string, a surrogate pair as one; the group is half a pair."""


def read_body(body: bytes) -> dict[str, Any]:
    """The JSON object of a body; half a surrogate pair is read as U+FFFD, which is as long.

    Raises ``JsonRpcParseError`` for what is no JSON, ``JsonRpcInvalidRequest`` for JSON that is no
    object. A batch is none: LSP has no batches.

    pygls 2.1.1: ``structure_message`` is the ``object_hook`` of ``json.loads``, so an object in the
    params with a key ``jsonrpc`` is taken for a message, and the request is never answered.
    Upstream: structure the outermost object alone.
    """
    try:
        text = body.decode()
        if _MAYBE_SURROGATE.search(body):
            text = _ESCAPE.sub(_without_lone_surrogate, text)
        message = json.loads(
            text, parse_constant=_refuse_constant, parse_float=_finite, parse_int=_small_integer
        )
    except RecursionError as error:
        raise JsonRpcParseError("this is nested too deeply") from error
    except ValueError as error:
        raise JsonRpcParseError(f"this is not JSON: {error}") from error
    if not isinstance(message, dict):
        raise JsonRpcInvalidRequest("a message is a JSON object")
    return message


def _without_lone_surrogate(escape: re.Match[str]) -> str:
    return escape[0] if escape[1] is None else "\\ufffd"


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits[:20]} is too large a number")
    return number


def _small_integer(digits: str) -> float:
    """An integer, or the number nearest to it where most clients have no such integer either."""
    return int(digits) if len(digits) <= SAFE_DIGITS else _finite(digits)


def _refuse_constant(name: str) -> NoReturn:
    """Python reads NaN and Infinity, which are no JSON."""
    raise ValueError(f"{name} is not a number in JSON")


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
    from ralph_ls.protocol.lsp.methods import METHODS

    return METHODS.get(name)


def read_params(method: Method, params: object) -> WireModel:
    """The typed params of a method of ours; none at all are as good as empty ones.

    Raises ``JsonRpcInvalidParams``, which names the field.
    """
    if params is not None and not isinstance(params, dict):
        problem = str(WrongJsonType(EXPECTED["model"], params))
        raise invalid_field(method.name, "params", problem)
    try:
        return _from_builtins(params or {}, method.params)
    except ValueError as error:  # The parent of pydantic's own.
        raise invalid_params(error, method.name) from error


def write_notification(method: str, params: WireModel) -> bytes:
    """The framed notification, without a detour over cattrs: what an agent says goes this way."""
    head = b'{"jsonrpc":"2.0","method":%b,"params":' % json.dumps(method).encode()
    return frame(b"%b%b}" % (head, to_json(params)))


def write_messages(workspace: str, run: str, messages: Iterable[bytes], skipped: int) -> bytes:
    """A framed ``ralph/messages``, whose messages are the JSON of the run's file."""
    count = b'"skipped":%d,' % skipped if skipped else b""
    place = b'"workspace":%b,"run":%b' % (json.dumps(workspace).encode(), json.dumps(run).encode())
    params = b'{%b,%b"messages":[%b]}' % (place, count, b",".join(messages))
    return frame(b'{"jsonrpc":"2.0","method":"ralph/messages","params":%b}' % params)


def write_result(message_id: str | int, result: WireModel) -> bytes:
    """The framed answer to a request."""
    head = b'{"jsonrpc":"2.0","id":%b,"result":' % json.dumps(message_id).encode()
    return frame(b"%b%b}" % (head, to_json(result)))


def to_json(model: WireModel) -> bytes:
    """A model as in the journal: camelCase, a field without a value left out."""
    return model.model_dump_json(by_alias=True, exclude_none=True).encode()


def is_wire_model(cls: Any) -> bool:
    """Whether ``cls`` is one of our models; none is where none was imported yet."""
    base = sys.modules.get("ralph_ls.protocol.base")
    return base is not None and isinstance(cls, type) and issubclass(cls, base.WireModel)


@functools.cache
def make_converter() -> Converter:
    """Lsprotocol's converter, which knows our models too, also deep inside of LSP's types.

    One for the whole process: it learns each type where it first meets it, which takes a while.
    """
    converter = get_converter()
    require_json_types(converter)
    converter.register_unstructure_hook_func(is_wire_model, _to_builtins)
    converter.register_structure_hook_func(is_wire_model, _from_builtins)
    keep_plain_params(converter)
    return converter


def keep_plain_params(converter: Converter) -> None:
    """Have ``converter`` keep the params of unknown methods as plain JSON.

    pygls 2.1.1: they become named tuples, which lose keys such as ``class``. Upstream: leave the
    params of messages without a type as they are.
    """
    for message_type in (JsonRPCRequestMessage, JsonRPCNotification, JsonRPCResponseMessage):
        converter.register_structure_hook(message_type, _plain)


def _to_builtins(model: WireModel) -> Any:
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


def _from_builtins(value: object, cls: type[WireModel]) -> WireModel:
    # As JSON, where strict means what JSON means: a text is no number, but an array may be a tuple.
    # Our own names only, so that there is one way to write a message.
    return cls.model_validate_json(json.dumps(value), strict=True, by_alias=True, by_name=False)


def _plain(message: dict[str, Any], cls: type[Any]) -> Any:
    return cls(**{field.name: message.get(field.name) for field in attrs.fields(cls)})
