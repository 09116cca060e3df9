"""What adds up over the records of any agent's stream: its words, its errors, what it asked.

All of it is bounded: a stream of any length leaves the same few megabytes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

Call = TypeVar("Call")

KEPT_CHARACTERS = 1 << 20
"""Of the agent's text since its last tool call; the end of it counts."""

KEPT_ERRORS = 200
"""Error lines; a flood says nothing more."""

READ_OF_FAILURE = 1 << 16
"""Characters from the end of a failed tool's output that are looked through for error lines."""

KEPT_CALLS = 1_000
"""Calls that are open at the same time; more only ever come from a stream that ends none."""

LONGEST_QUESTION = 4_000
"""Characters."""

ASKING_TOOLS = frozenset(
    {
        "askuserquestion",
        "askuser",
        "askfollowupquestion",
        "askquestion",
        "requestuserinput",
        "askhuman",
    }
)
"""Tools that put a question to a person, in lower case and without what joins their words."""


class Said:
    """The main agent's text: what came after its last tool call, and its last block before."""

    def __init__(self) -> None:
        self.earlier = ""
        self._texts: deque[str] = deque()
        self._n_characters = 0

    @property
    def text(self) -> str:
        return "\n".join(self._texts)

    @property
    def last(self) -> str:
        """The last of its texts alone."""
        return self._texts[-1] if self._texts else ""

    @property
    def last_block(self) -> str:
        """The last text before the last that holds a block."""
        said = [text for text in self._texts if _has_block(text)]
        before = said[:-1] if said and said[-1] is self.last else said
        return before[-1] if before else self.earlier

    def add(self, text: str) -> None:
        self._texts.append(text)
        self._n_characters += len(text)
        while self._n_characters > KEPT_CHARACTERS and len(self._texts) > 1:
            self._n_characters -= len(self._texts.popleft())

    def tool_called(self) -> None:
        """What was said so far was not its last word."""
        if self._texts:
            for text in self._texts:
                if _has_block(text):
                    self.earlier = text
            self._texts.clear()
            self._n_characters = 0


class Errors:
    """The first error lines of a stream."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(self._lines)

    def add(self, lines: Iterable[str]) -> None:
        """Keep error lines; a failure comes once by itself and once more in what it led to."""
        for line in lines:
            if len(self._lines) < KEPT_ERRORS and self._lines[-1:] != [line]:
                self._lines.append(line)


def forget_oldest(calls: dict[str, Call]) -> None:
    """Keep to so many calls, after each that begins."""
    if len(calls) > KEPT_CALLS:
        del calls[next(iter(calls))]


@lru_cache(maxsize=256)
def is_asking(tool: str) -> bool:
    """Whether a tool asks a person; one of an MCP server has the server's name before its own."""
    name = tool.rsplit("__", 1)[-1].lower()
    return name.replace("_", "").replace("-", "") in ASKING_TOOLS


def question_in(arguments: Mapping[str, Any]) -> str:
    """What is asked, with the answers to choose from below each question; empty where unknown."""
    questions = arguments.get("questions")
    several = questions if isinstance(questions, list) else [arguments]
    found = "\n\n".join(filter(None, map(_question, several)))
    return found if len(found) <= LONGEST_QUESTION else f"{found[: LONGEST_QUESTION - 1]}…"


def _question(given: object) -> str:
    if isinstance(given, str):
        return given.strip()
    if not isinstance(given, dict):
        return ""
    texts = (given.get(key) for key in ("question", "prompt", "message", "text"))
    asked = next((text.strip() for text in texts if isinstance(text, str) and text.strip()), "")
    options = given.get("options")
    labels = [_label(option) for option in options] if asked and isinstance(options, list) else []
    return "\n".join([asked, *(f"- {label}" for label in labels if label)])


def _label(option: object) -> str:
    label = option.get("label") if isinstance(option, dict) else option
    return label.strip() if isinstance(label, str) else ""


def _has_block(text: str) -> bool:
    return "_STATUS" in text.upper()
