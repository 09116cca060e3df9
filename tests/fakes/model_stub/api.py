"""What the server must be able to ask of an API: one value for each of them.

An API knows its own words for a request and for an answer. It must never know what comes before or
after: the order of answers is the script's, and who gets which is the server's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.fakes.model_stub.script import Answer

Json = dict[str, Any]

PIECE = 24
"""Characters of one delta."""

DEFAULT_USAGE = {
    "input_tokens": 1200,
    "output_tokens": 34,
    "cache_read_input_tokens": 800,
    "cache_creation_input_tokens": 100,
}
"""In the words of the Messages API, which counts what came from a cache apart from the input."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """The words of one API."""

    tools_of: Callable[[Json], dict[str, Json]]
    """The tools that a request offers: names, and the schemas of what they take."""
    whole: Callable[[Answer, int, str], Json]
    """An answer as one object, with its number and the model's name."""
    stream: Callable[[Answer, int, str], Iterator[tuple[str, Json]]]
    """An answer as events, each with its name, empty where it has none; half of one that hangs."""
    error_of: Callable[[Answer], Json]
    """The body of an error."""
    end_of_stream: str = ""
    """What comes after the last event."""
    aside: Callable[[Json], Json | None] = lambda _: None
    """The whole answer to a request that is no part of the work, though it looks like one."""


def usage_of(answer: Answer) -> Mapping[str, int]:
    """The counts of an answer: its own before those of ``DEFAULT_USAGE``."""
    return {**DEFAULT_USAGE, **answer.usage}


def all_input(answer: Answer) -> int:
    """Input as most APIs count it: what came from a cache, and what went into it, is a part."""
    usage = usage_of(answer)
    cached = usage["cache_read_input_tokens"] + usage["cache_creation_input_tokens"]
    return usage["input_tokens"] + cached


def pieces(text: str, *, cut: bool = False) -> list[str]:
    """A text as the deltas of a stream; the first half of them where it is cut."""
    found = [text[start : start + PIECE] for start in range(0, len(text), PIECE)]
    return found[: len(found) // 2] if cut else found
