"""A small checker for the part of JSON Schema that our schemas use; any other keyword is an error.

It holds the committed schemas against the golden files without a dependency for it.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

NO_RULE = {
    *("$schema", "$id", "$comment", "$defs", "title", "description", "default", "discriminator"),
    # What methods.schema.json says beyond any message.
    *("methods", "initializationOptions"),
}
TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}


def problems(value: Any, schema: dict[str, Any], root: dict[str, Any], at: str = "$") -> list[str]:
    """What of ``value`` is against the schema, each with its place."""
    found: list[str] = []
    for keyword, rule in schema.items():
        if keyword not in NO_RULE:
            found += _check(keyword, rule, value, schema, root, at)
    return found


def _check(
    keyword: str, rule: Any, value: Any, schema: dict[str, Any], root: dict[str, Any], at: str
) -> list[str]:
    match keyword:
        case "$ref":
            return problems(value, root["$defs"][str(rule).rpartition("/")[2]], root, at)
        case "anyOf" | "oneOf":
            fits = sum(not problems(value, choice, root, at) for choice in rule)
            good = fits == 1 if keyword == "oneOf" else fits >= 1
            return [] if good else [f"{at}: fits {fits} choices"]
        case "properties" | "required" | "additionalProperties":
            return _check_object(keyword, rule, value, schema, root, at)
        case "items":
            return [
                text
                for number, item in enumerate(value if isinstance(value, list) else [])
                for text in problems(item, rule, root, f"{at}[{number}]")
            ]
        case _:
            return [] if _holds(keyword, rule, value) else [f"{at}: {keyword} {rule}"]


def _check_object(
    keyword: str, rule: Any, value: Any, schema: dict[str, Any], root: dict[str, Any], at: str
) -> list[str]:
    if not isinstance(value, dict):
        return []
    known = schema.get("properties", {})
    match keyword, rule:
        case "properties", _:
            return [
                text
                for key in rule.keys() & value.keys()
                for text in problems(value[key], rule[key], root, f"{at}.{key}")
            ]
        case "required", _:
            return [f"{at}: lacks {key}" for key in rule if key not in value]
        case _, False:
            return [f"{at}: has {key}" for key in value.keys() - known.keys()]
        case _, dict():
            others = value.keys() - known.keys()
            return [t for key in others for t in problems(value[key], rule, root, f"{at}.{key}")]
        case _:
            return []


def _holds(keyword: str, rule: Any, value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    match keyword:
        case "type":
            is_bool_as_number = isinstance(value, bool) and rule != "boolean"
            return isinstance(value, TYPES[rule]) and not is_bool_as_number
        case "const":
            return bool(value == rule)
        case "enum":
            return value in rule
        case "minimum":
            return not is_number or value >= rule
        case "maximum":
            return not is_number or value <= rule
        case "exclusiveMinimum":
            return not is_number or value > rule
        case "minItems":
            return not isinstance(value, list) or len(value) >= rule
        case "maxItems":
            return not isinstance(value, list) or len(value) <= rule
        case "minLength":
            return not isinstance(value, str) or len(value) >= rule
        case "maxLength":
            return not isinstance(value, str) or len(value) <= rule
        case "pattern":
            return not isinstance(value, str) or re.search(rule, value, re.ASCII) is not None
        case "format":
            return not isinstance(value, str) or _is_time(value)
    raise NotImplementedError(f"our schemas did not use {keyword!r} when this was written")


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False
