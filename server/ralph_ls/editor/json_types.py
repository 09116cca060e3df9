"""Strict structuring: a field of LSP takes the JSON type that it names, and no other.

Left alone, cattrs makes ``"3"`` of 3, ``"None"`` of null and a list of letters of a string, so that
a client's slip becomes a wrong edit instead of an answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import attrs
from cattrs import Converter
from cattrs.cols import is_sequence

from ralph_ls.editor.json_words import EXPECTED, WrongJsonType

Hook = Callable[[Any, Any], Any]


def require_json_types(converter: Converter) -> None:
    """Have ``converter`` raise ``WrongJsonType`` where a value is of another JSON type."""
    for python_type, read in _SIMPLE.items():
        converter.register_structure_hook(python_type, _of_enums_too(python_type, read))
    _check_first(converter, attrs.has, Mapping, EXPECTED["model"])
    _check_first(converter, is_sequence, list, EXPECTED["list"])


def _check_first(
    converter: Converter, predicate: Callable[[Any], bool], wanted: type, expected: str
) -> None:
    """Look at the value before the hook that ``converter`` has for such types by now."""
    within: list[Any] = []

    def make_hook(cls: Any) -> Hook:
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


def _of_enums_too(python_type: type, read: Hook) -> Hook:
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


_SIMPLE: Mapping[type, Hook] = {
    str: _read_string,
    bool: _read_bool,
    int: _read_integer,
    float: _read_number,
}
