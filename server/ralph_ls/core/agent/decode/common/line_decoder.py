"""Base of the decoders: lines from bytes, the final text, error lines, question and open calls.

All of it is bounded: a stream of any length keeps the same few megabytes. A text that arrives in
fragments is emitted in whole lines, since a viewer would break the line at each fragment; a line is
held until it ends or is too long to wait for.

``claude`` and ``codex`` have decoders with their own loop over lines, since most of their lines
need no parsing. Knows no agent's records.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeVar

import msgspec

from ralph_ls.core.agent.decode.common.json_lines import LineSplitter
from ralph_ls.core.agent.result import AccountLimit, AgentResult
from ralph_ls.protocol.run.messages import (
    AgentMessage,
    FileAction,
    FileMessage,
    TextMessage,
    TodoItem,
    TodoMessage,
    ToolMessage,
    ToolState,
    UsageCounts,
    UsageMessage,
)
from ralph_ls.protocol.run.report import AgentFailure


def to_json_lines(messages: Sequence[AgentMessage]) -> bytes:
    """The messages as lines of ``messages.jsonl``."""
    return _ENCODER.encode_lines(messages)


class MessageEmitter:
    """Collects the messages of one agent process, with their position in its output."""

    __slots__ = ("_messages", "_start", "offset")

    def __init__(self, start: int) -> None:
        self._start = start
        self._messages: list[AgentMessage] = []
        self.offset = 0
        """Offset of the chunk that is being read."""

    def take(self) -> list[AgentMessage]:
        """Return the messages since the last call."""
        messages, self._messages = self._messages, []
        return messages

    def text(self, text: str) -> None:
        self._messages.append(TextMessage(start=self._start, offset=self.offset, text=text))

    def tool(self, call: str, name: str, summary: str, state: ToolState) -> None:
        self._messages.append(
            ToolMessage(
                start=self._start,
                offset=self.offset,
                call=call,
                name=name,
                summary=summary,
                state=state,
            )
        )

    def file(self, path: str, action: FileAction) -> None:
        self._messages.append(
            FileMessage(start=self._start, offset=self.offset, path=path, action=action)
        )

    def todos(self, items: tuple[TodoItem, ...]) -> None:
        self._messages.append(TodoMessage(start=self._start, offset=self.offset, items=items))

    def usage(self, counts: UsageCounts) -> None:
        self._messages.append(UsageMessage(start=self._start, offset=self.offset, usage=counts))


_ENCODER = msgspec.json.Encoder()


Call = TypeVar("Call")

MAX_FINAL_TEXT = 1 << 20
"""Characters of the agent's text since its last tool call; the end is kept."""

MAX_ERROR_LINES = 200
"""More error lines add no information."""

MAX_FAILURE_OUTPUT = 1 << 16
"""Characters at the end of a failed tool's output that are searched for error lines."""

MAX_OPEN_CALLS = 1_000
"""Calls that are open at the same time; only a broken stream has more."""

LONGEST_QUESTION = 4_000
"""Characters."""

QUESTION_TOOLS = frozenset(
    {
        "askuserquestion",
        "askuser",
        "askfollowupquestion",
        "askquestion",
        "requestuserinput",
        "askhuman",
    }
)
"""Tools that ask the user a question, in lower case and without separators."""


class FinalTextBuffer:
    """The main agent's text since its last tool call, and the last block before that call."""

    def __init__(self) -> None:
        self.earlier_block = ""
        self._texts: deque[str] = deque()
        self._n_characters = 0

    @property
    def text(self) -> str:
        return "\n".join(self._texts)

    @property
    def last(self) -> str:
        """The last text only."""
        return self._texts[-1] if self._texts else ""

    @property
    def last_block(self) -> str:
        """The last text with a block before the last text."""
        with_block = [text for text in self._texts if _has_block(text)]
        before = with_block[:-1] if with_block and with_block[-1] is self.last else with_block
        return before[-1] if before else self.earlier_block

    def add(self, text: str) -> None:
        self._texts.append(text)
        self._n_characters += len(text)
        while self._n_characters > MAX_FINAL_TEXT and len(self._texts) > 1:
            self._n_characters -= len(self._texts.popleft())

    def tool_called(self) -> None:
        """Text before a tool call is not final."""
        if self._texts:
            for text in self._texts:
                if _has_block(text):
                    self.earlier_block = text
            self._texts.clear()
            self._n_characters = 0


class ErrorLines:
    """The first error lines of a stream."""

    def __init__(self) -> None:
        self._lines: list[str] = []

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(self._lines)

    def add(self, lines: Iterable[str]) -> None:
        """Add error lines; a failure is often reported again by what it caused."""
        for line in lines:
            if len(self._lines) < MAX_ERROR_LINES and self._lines[-1:] != [line]:
                self._lines.append(line)


def limit_open_calls(calls: dict[str, Call]) -> None:
    """Drop the oldest open calls beyond the limit; to be called after each new one."""
    if len(calls) > MAX_OPEN_CALLS:
        del calls[next(iter(calls))]


@lru_cache(maxsize=256)
def is_question_tool(tool: str) -> bool:
    """Whether a tool asks the user; tools of an MCP server have its name as a prefix."""
    name = tool.rsplit("__", 1)[-1].lower()
    return name.replace("_", "").replace("-", "") in QUESTION_TOOLS


def question_text(arguments: Mapping[str, Any]) -> str:
    """The question, with the choices below each part; empty for unknown arguments."""
    questions = arguments.get("questions")
    several = questions if isinstance(questions, list) else [arguments]
    found = "\n\n".join(filter(None, map(_question_of, several)))
    return found if len(found) <= LONGEST_QUESTION else f"{found[: LONGEST_QUESTION - 1]}…"


def _question_of(given: object) -> str:
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


MAX_HELD_LINE = 2_000
"""Characters of an unfinished line that are held; a longer one is emitted up to its last blank."""


class LineAssembler:
    """Joins the fragments of a streamed text."""

    def __init__(self) -> None:
        self._pieces: deque[str] = deque()
        self._n_characters = 0
        self._held = ""

    @property
    def text(self) -> str:
        """The text so far; of a very long one the end."""
        return "".join(self._pieces)

    def add(self, piece: str) -> str:
        """Add a fragment; return the part that can be emitted now, which may be empty."""
        self._pieces.append(piece)
        self._n_characters += len(piece)
        while self._n_characters > MAX_FINAL_TEXT and len(self._pieces) > 1:
            self._n_characters -= len(self._pieces.popleft())
        held = self._held + piece
        end = held.rfind("\n") + 1
        if not end and len(held) > MAX_HELD_LINE:
            end = held.rfind(" ") + 1 or len(held)
        self._held = held[end:]
        return held[:end]

    def end(self) -> tuple[str, str]:
        """The whole text, and its part that was not emitted yet; then start again."""
        ended = self.text, self._held
        self._pieces.clear()
        self._n_characters, self._held = 0, ""
        return ended


class LineDecoder(ABC):
    """Decodes the output of one process that prints a record a line."""

    def __init__(self, start: int, *, folder: str = "") -> None:
        """``folder`` is the working directory, to which paths are relative."""
        self._folder = folder
        self._lines = LineSplitter()
        self._emitter = MessageEmitter(start)
        self._final_text = FinalTextBuffer()
        self._question = ""
        self._errors = ErrorLines()
        self._denied: list[str] = []
        self._session_id: str | None = None
        self._model: str | None = None

    def feed(self, data: bytes) -> list[AgentMessage]:
        """The messages of the lines that these bytes complete."""
        self._read(*self._lines.feed(data))
        return self._emitter.take()

    def finish(self) -> list[AgentMessage]:
        """The messages of an unfinished last line and an unfinished text."""
        self._read(*self._lines.finish())
        self._end()
        return self._emitter.take()

    def _result_of(
        self,
        counts: UsageCounts | None,
        *,
        why: str | None,
        failure: AgentFailure | None,
        limit: AccountLimit | None,
        text: str | None = None,
    ) -> AgentResult:
        """The result of a stream; ``why`` it failed, None for success.

        ``text`` is its final text, where that is not the buffer's.
        """
        return AgentResult(
            text=self._final_text.text if text is None else text,
            earlier_block=self._final_text.earlier_block,
            question=self._question,
            errors=self._errors.lines,
            usage=None if counts is None else counts.to_usage(),
            session_id=self._session_id,
            model=self._model,
            failed=why is not None,
            why=why or "",
            failure=failure,
            denied_tools=tuple(self._denied),
            limit=limit,
        )

    def _read(self, offset: int, lines: list[bytes]) -> None:
        for line in lines:
            self._emitter.offset = offset
            offset += len(line)
            self._take_line(line)

    @abstractmethod
    def _take_line(self, line: bytes) -> None:
        """Process one line, its line end included."""

    def _end(self) -> None:  # noqa: B027
        """Called at the end of the stream, for decoders that hold something back."""
