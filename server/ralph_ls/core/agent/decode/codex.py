"""The stream of ``codex exec --json``, decoded as it comes.

Four things about it are easily got wrong. Its counts are those of the whole thread, with what was
used before it was resumed, and those of the input hold what a cache gave. An ``error`` may be one
that the program gets over: only ``turn.failed``, or a turn without an end, is a failure. A to-do
list is completed when the turn ends, behind the agent's last word, and is no call of a tool. And a
warning at the start, about a setting, comes as an item of the kind ``error``.
"""

from __future__ import annotations

from typing import assert_never

import msgspec

from ralph_ls.core.agent.decode.claude_tools import arguments_of
from ralph_ls.core.agent.decode.codex_limits import limit_in
from ralph_ls.core.agent.decode.codex_records import (
    CommandDone,
    ErrorEvent,
    Event,
    InputRequested,
    Item,
    ItemCompleted,
    ItemStarted,
    ItemUpdated,
    ThreadStarted,
    Tokens,
    TurnCompleted,
    TurnFailed,
    TurnStarted,
    read_line,
)
from ralph_ls.core.agent.decode.codex_tools import (
    PATCH,
    TOOL_ITEMS,
    files_of,
    name_of,
    summary_of_item,
    todo_items,
)
from ralph_ls.core.agent.decode.final import Final
from ralph_ls.core.agent.decode.lines import LineSplitter
from ralph_ls.core.agent.decode.records import Words, decode
from ralph_ls.core.agent.decode.said import (
    READ_OF_FAILURE,
    Errors,
    Said,
    forget_oldest,
    is_asking,
    question_in,
)
from ralph_ls.core.agent.errors import find_error_lines
from ralph_ls.protocol.messages import (
    FileMessage,
    Message,
    TextMessage,
    TodoItem,
    TodoMessage,
    ToolMessage,
    ToolState,
    UsageMessage,
)
from ralph_ls.protocol.report import Usage

NO_END = "its output ended before its turn did"


class CodexDecoder:
    """Reads one process of ``codex``."""

    def __init__(
        self, iteration: int, *, folder: str = "", earlier_usage: Usage | None = None
    ) -> None:
        """``earlier_usage`` is what a thread that is resumed had used before."""
        self._iteration = iteration
        self._folder = folder
        self._earlier_usage = earlier_usage or Usage()
        self._lines = LineSplitter()
        self._offset = 0
        self._thread_id: str | None = None
        self._said = Said()
        self._asked = ""
        self._calls: dict[str, tuple[str, str]] = {}
        """Name and summary of each call that has not ended."""
        self._todos: tuple[TodoItem, ...] = ()
        self._errors = Errors()
        self._denied: list[str] = []
        self._tokens: Tokens | None = None
        self._is_in_turn = False
        self._why: str | None = NO_END
        """Why the turn failed; None where it ended well."""
        self._last_error = ""

    def feed(self, data: bytes) -> list[Message]:
        """The messages of the lines that these bytes complete."""
        return self._read(self._lines.feed(data))

    def finish(self) -> list[Message]:
        return self._read(self._lines.finish())

    def final(self) -> Final:
        why, limit = self._why, None
        if why is not None:
            limit = limit_in(why) or limit_in(self._last_error)
        return Final(
            text=self._said.last,
            earlier=self._said.last_block,
            asked=self._asked,
            errors=self._errors.lines,
            usage=self._usage(),
            session_usage=_normalised(self._tokens),
            session_id=self._thread_id,
            failed=why is not None,
            why=_first_line(why or ""),
            denied_tools=tuple(self._denied),
            limit=limit,
        )

    def _read(self, lines: list[tuple[int, bytes]]) -> list[Message]:
        messages: list[Message] = []
        for self._offset, line in lines:
            event = read_line(line, self._calls)
            if event is not None:
                messages.extend(self._take(event))
        return messages

    def _take(self, event: Event) -> list[Message]:
        match event:
            case CommandDone(id=call_id):
                return self._end_call(call_id, None)
            case ItemStarted(item=item):
                return self._begin_item(item)
            case ItemUpdated(item=item):
                return self._take_todos(item) if item.type == "todo_list" else []
            case ItemCompleted(item=item):
                return self._end_item(item)
            case ThreadStarted(thread_id=thread_id):
                self._thread_id = thread_id
                return []
            case TurnStarted():
                self._is_in_turn, self._why = True, NO_END
                return []
            case TurnCompleted(usage=tokens):
                self._why, self._last_error = None, ""
                self._tokens = tokens or self._tokens
                usage = self._usage()
                return [] if usage is None else [self._usage_message(usage)]
            case TurnFailed(error=error):
                return self._fail("" if error is None else error.message)
            case ErrorEvent(message=message):
                return self._note_error(message)
            case InputRequested(questions=questions):
                self._asked = question_in({"questions": questions})
                return []
            case Words(text=text):
                return [self._text(text)]
            case _:
                assert_never(event)

    def _begin_item(self, item: Item) -> list[Message]:
        if item.type == "todo_list":
            return self._take_todos(item)
        return self._begin_call(item) if item.type in TOOL_ITEMS else []

    def _end_item(self, item: Item) -> list[Message]:
        match item.type:
            case "agent_message":
                self._said.add(item.text)
                return [self._text(item.text)]
            case "todo_list":
                return self._take_todos(item)
            case "error":
                if self._is_in_turn:
                    self._errors.add([_first_line(item.message)])
                return [self._text(item.message)]
            case kind if kind in TOOL_ITEMS:
                begun = [] if item.id in self._calls else self._begin_call(item)
                return [*begun, *self._end_call(item.id, item)]
            case _:
                return []

    def _begin_call(self, item: Item) -> list[Message]:
        self._said.tool_called()
        name = name_of(item)
        self._asked = question_in(arguments_of(item.arguments)) if is_asking(name) else ""
        call = self._calls[item.id] = (name, summary_of_item(item, self._folder))
        forget_oldest(self._calls)
        return [self._tool(item.id, call, ToolState.STARTED)]

    def _end_call(self, call_id: str, item: Item | None) -> list[Message]:
        """``item`` is None for a command that went well."""
        call = self._calls.pop(call_id)
        has_failed = item is not None and _has_failed(item)
        messages: list[Message] = [
            self._tool(call_id, call, ToolState.FAILED if has_failed else ToolState.DONE)
        ]
        if item is None:
            return messages
        if has_failed:
            self._errors.add(_error_lines(item))
            if item.status == "declined":
                self._denied.append(call[0])
        elif call[0] == PATCH:
            messages.extend(
                FileMessage(
                    iteration=self._iteration, offset=self._offset, path=path, action=action
                )
                for path, action in files_of(item.changes, self._folder)
            )
        return messages

    def _take_todos(self, item: Item) -> list[Message]:
        items = todo_items(item.items)
        if items == self._todos:
            return []
        self._todos = items
        return [TodoMessage(iteration=self._iteration, offset=self._offset, items=items)]

    def _note_error(self, message: str) -> list[Message]:
        """It is not the end yet: one that says that it tries again is told, and that is all."""
        if not message.startswith(_TRIES_AGAIN):
            self._last_error = message
            self._errors.add([_first_line(message)])
        return [self._text(message)]

    def _fail(self, message: str) -> list[Message]:
        self._why = message or self._last_error or "its turn failed"
        self._errors.add([_first_line(self._why)])
        return [] if message == self._last_error else [self._text(self._why)]

    def _usage(self) -> Usage | None:
        """What this process used of what the thread did."""
        found, earlier = _normalised(self._tokens), self._earlier_usage
        if found is None:
            return None
        return Usage(
            input_tokens=_less(found.input_tokens, earlier.input_tokens),
            output_tokens=_less(found.output_tokens, earlier.output_tokens),
            cached_tokens=_less(found.cached_tokens, earlier.cached_tokens),
        )

    def _usage_message(self, usage: Usage) -> UsageMessage:
        return UsageMessage(iteration=self._iteration, offset=self._offset, usage=usage)

    def _text(self, text: str) -> TextMessage:
        return TextMessage(iteration=self._iteration, offset=self._offset, text=text)

    def _tool(self, call_id: str, call: tuple[str, str], state: ToolState) -> ToolMessage:
        return ToolMessage(
            iteration=self._iteration,
            offset=self._offset,
            call=call_id,
            name=call[0],
            summary=call[1],
            state=state,
        )


def _has_failed(item: Item) -> bool:
    return item.status in _FAILED or item.error is not None or bool(item.exit_code)


def _error_lines(item: Item) -> tuple[str, ...]:
    output = decode(_TEXT, item.aggregated_output) or ""
    told = () if item.error is None else (_first_line(item.error.message),)
    return (*find_error_lines(output[-READ_OF_FAILURE:]), *told)


def _normalised(tokens: Tokens | None) -> Usage | None:
    """Counts as all agents have them here: what a cache gave is not among the input."""
    if tokens is None or tokens == Tokens():
        return None
    cached = tokens.cached_input_tokens
    return Usage(
        input_tokens=_less(tokens.input_tokens, cached),
        output_tokens=tokens.output_tokens,
        cached_tokens=cached,
    )


def _less(count: int | None, part: int | None) -> int | None:
    return None if count is None else max(0, count - (part or 0))


def _first_line(text: str) -> str:
    return text.strip().split("\n", 1)[0].strip()


_FAILED = frozenset({"failed", "declined"})
_TRIES_AGAIN = "Reconnecting"
_TEXT = msgspec.json.Decoder(str | None)
