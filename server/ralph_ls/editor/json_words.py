"""Problems of params in JSON's words: a client's author reads them, who may know no Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

EXPECTED = {
    "int": "an integer",
    "string": "a string",
    "bool": "true or false",
    "float": "a number",
    "tuple": "an array",
    "list": "an array",
    "dict": "an object",
    "model": "an object",
    "model_attributes": "an object",
}
"""What pydantic calls a type in the name of an error, such as ``int_type``, to what JSON has."""

_SAME = "value error, "


class WrongJsonType(ValueError):
    """A value of one JSON type where another is expected."""

    def __init__(self, expected: str, value: object) -> None:
        super().__init__(f"expected {expected}, got {name_of_type(value)}")


def name_of_type(value: object) -> str:
    """What JSON calls the type of a value that was read from it."""
    match value:
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return "an integer"
        case float():
            return "a number"
        case str():
            return "a string"
        case Mapping():
            return "an object"
        case _:
            return "an array"


def describe(problem: Mapping[str, Any]) -> str:
    """One of pydantic's error details; it must hold its input and its context."""
    kind: str = problem["type"]
    name, _, reason = kind.rpartition("_")
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        return "is not known here"
    if name == "string" and reason == "unicode":
        return "expected a string of whole characters"
    if reason in {"type", "parsing", "size"} and name in EXPECTED:
        return str(WrongJsonType(EXPECTED[name], problem["input"]))
    if kind == "int_from_float":
        return str(WrongJsonType(EXPECTED["int"], problem["input"]))
    if kind in {"enum", "literal_error"}:
        return f"expected {problem['ctx']['expected']}"
    told: str = problem["msg"][:1].lower() + problem["msg"][1:]
    return told.removeprefix(_SAME).replace("input should be", "expected", 1)
