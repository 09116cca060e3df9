"""What the model is to say: answers in order, from a test or from a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

JUDGE_TOKEN = "{judge token}"
"""What becomes the token of a judge's prompt, in a text or as a value of a call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call that the model makes."""

    name: str
    input: Mapping[str, Any]
    deferred: bool = False
    """The program knows the tool without naming it to the model in every request."""
    namespace: str = ""
    """The namespace of the tool (Responses API); empty: it is in none."""
    custom: bool = False
    """It takes a text and no object (Responses API); ``input`` holds the text as ``input``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer to one request of the agent's main conversation."""

    text: str = ""
    tools: tuple[ToolCall, ...] = ()
    status: int = 200
    """Anything else is an error, with ``text`` as its message."""
    headers: Mapping[str, str] = field(default_factory=dict)
    usage: Mapping[str, int] = field(default_factory=dict)
    """Over the numbers of ``DEFAULT_USAGE``, in the words of the Messages API."""
    hangs: bool = False
    """Half of the text is sent, and then nothing more until the stub is closed."""


def load_script(path: Path) -> list[Answer]:
    """Read a JSON file: a list of objects with the fields of ``Answer``."""
    return [_answer(found) for found in json.loads(path.read_text(encoding="utf-8"))]


def _answer(found: dict[str, Any]) -> Answer:
    tools = tuple(ToolCall(**call) for call in found.get("tools", ()))
    return Answer(**{**found, "tools": tools})
