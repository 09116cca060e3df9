"""Taking secrets out of what the loop is told, in the one place where everything passes.

What reaches the reducer reaches the journal, the halt files and every viewer. So every input is
cleaned before it is taken, whoever it came from: agent, git, plan, person, settings (SPEC §10).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from enum import Enum
from typing import Any

from pydantic import BaseModel


def clean(value: Any, redact: Callable[[str], str]) -> Any:
    """The same value with every text in it redacted; the same object where nothing was found."""
    if isinstance(value, Enum):
        return value
    if isinstance(value, str):
        cleaned_text = redact(value)
        return value if cleaned_text == value else cleaned_text
    if isinstance(value, tuple | list):
        return _clean_sequence(value, redact)
    if isinstance(value, dict):
        cleaned = {clean(key, redact): clean(item, redact) for key, item in value.items()}
        return value if cleaned == value else cleaned
    if isinstance(value, BaseModel):
        fields = {name: getattr(value, name) for name in type(value).model_fields}
        changes = _changes(fields, redact)
        return value.model_copy(update=changes) if changes else value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        changes = _changes(fields, redact)
        return dataclasses.replace(value, **changes) if changes else value
    return value


def _clean_sequence(value: Any, redact: Callable[[str], str]) -> Any:
    cleaned = [clean(item, redact) for item in value]
    if all(new is old or new == old for new, old in zip(cleaned, value, strict=True)):
        return value
    return type(value)(cleaned)


def _changes(fields: dict[str, Any], redact: Callable[[str], str]) -> dict[str, Any]:
    cleaned = {name: clean(item, redact) for name, item in fields.items()}
    return {name: item for name, item in cleaned.items() if item is not fields[name]}
