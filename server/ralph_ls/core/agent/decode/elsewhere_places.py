"""The texts of a record that may hold a signal which does not count, each with where it stands.

It must never know what a signal is.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

BELOW = "a sub-agent's words"


def places_of_cline(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The texts of a record of ``cline``; those of its agents below it bear no mark."""
    event = record.get("event")
    if not isinstance(event, dict):
        return
    match event.get("type"), event.get("contentType"):
        case "content_end", "text":
            yield from texts_in("an earlier text", event.get("text"))
        case "content_end", "reasoning":
            yield from texts_in("the reasoning", event.get("reasoning"))
        case "content_start", "tool":
            yield from texts_in("a tool's call", event.get("input"))
        case "content_end", "tool":
            is_below = event.get("toolName") == "spawn_agent"
            yield from texts_in(BELOW if is_below else "a tool's result", event.get("output"))
        case _:
            pass


def places_of_copilot(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The texts of an event of ``copilot``."""
    data = record.get("data")
    if not isinstance(data, dict):
        return
    is_below = record.get("agentId") is not None
    match record.get("type"):
        case "assistant.message":
            yield from texts_in(BELOW if is_below else "an earlier text", data.get("content"))
            yield from texts_in("the reasoning", data.get("reasoningText"))
        case "tool.execution_start":
            yield from texts_in("a tool's call", data.get("arguments"))
        case "tool.execution_complete":
            yield from texts_in("a tool's result", data.get("result"))
        case "user.message":
            yield from texts_in("the prompt", data.get("content"))
        case _:
            pass


def places_of_any(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The texts of a record that nothing is known of but that it is one."""
    yield from texts_in("a record", record)


def texts_in(where: str, value: object) -> Iterator[tuple[str, str]]:
    """Every text in a value, however deep, in order."""
    waiting = [value]
    while waiting:
        given = waiting.pop()
        match given:
            case str():
                yield where, given
            case dict():
                waiting.extend(reversed(given.values()))
            case list():
                waiting.extend(reversed(given))
            case _:
                pass
