"""The events of ``codex exec --json``, as far as we read them.

Each line is one JSON object with a ``type``; what is done stands one level below, in an ``item``
with a ``type`` of its own. Only the fields that are used are named: what is not is skipped without
being built. It must never know what the events mean for a loop.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from typing import Any

import msgspec

from ralph_ls.core.agent.decode.records import (
    NOTHING,
    Words,
    decode,
    is_record,
    kind_of,
    words_of,
)


class Change(msgspec.Struct, gc=False):
    """One file of a ``file_change``."""

    path: str = ""
    kind: str = ""


class Step(msgspec.Struct, gc=False):
    """One line of a ``todo_list``."""

    text: str = ""
    completed: bool = False


class Failure(msgspec.Struct, gc=False):
    """What went wrong, in words."""

    message: str = ""


class Item(msgspec.Struct, gc=False):
    """One thing that the agent said or did; which fields it has depends on its ``type``."""

    type: str = ""
    id: str = ""
    status: str = ""
    text: str = ""
    message: str = ""
    command: str = ""
    aggregated_output: msgspec.Raw = NOTHING
    exit_code: int | None = None
    changes: list[Change] = []
    server: str = ""
    tool: str = ""
    arguments: msgspec.Raw = NOTHING
    error: Failure | None = None
    query: str = ""
    prompt: str | None = None
    items: list[Step] = []


class ItemEvent(msgspec.Struct, gc=False):
    """Something about an item; which of the three below says what."""

    item: Item


class ItemStarted(ItemEvent, gc=False):
    """An item begins."""


class ItemUpdated(ItemEvent, gc=False):
    """An item has changed."""


class ItemCompleted(ItemEvent, gc=False):
    """An item has ended, well or not; short ones have no beginning of their own."""


class ThreadStarted(msgspec.Struct):
    """The first event; the thread is what is resumed."""

    thread_id: str | None = None


class TurnStarted(msgspec.Struct):
    """The model was told the prompt."""


class Tokens(msgspec.Struct, gc=False):
    """Counts of the whole thread; those of the input hold what a cache gave."""

    input_tokens: int | None = None
    cached_input_tokens: int | None = None
    output_tokens: int | None = None


class TurnCompleted(msgspec.Struct):
    """The turn ended well."""

    usage: Tokens | None = None


class TurnFailed(msgspec.Struct):
    """The turn did not end well."""

    error: Failure | None = None


class ErrorEvent(msgspec.Struct):
    """Something went wrong; the program may still try again."""

    message: str = ""


class InputRequested(msgspec.Struct):
    """The model asks the person, where the program lets it."""

    questions: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandDone:
    """The end of a command that went well, read from the two ends of its line alone."""

    id: str


Event = (
    ItemStarted
    | ItemUpdated
    | ItemCompleted
    | ThreadStarted
    | TurnStarted
    | TurnCompleted
    | TurnFailed
    | ErrorEvent
    | InputRequested
    | CommandDone
    | Words
)


def read_line(line: bytes, begun: Container[str]) -> Event | None:
    """Read one line; None for an event that says nothing to us, or that cannot be read.

    ``begun`` are the ids of the items of which all is known but how they ended.
    """
    if line.endswith(_WENT_WELL):
        # Most of a stream's bytes are what commands printed, and nothing is asked of those.
        command = _COMMAND.match(line)
        if command is not None and (item_id := command[1].decode()) in begun:
            return CommandDone(id=item_id)
    if not is_record(line):
        return words_of(line)
    beginning = _TYPE_FIRST.match(line)
    decoder = _DECODERS.get(beginning[1].decode() if beginning else kind_of(line))
    return None if decoder is None else decode(decoder, line)


_TYPE_FIRST = re.compile(rb'\s*\{\s*"type"\s*:\s*"([\w.]+)"')

_COMMAND = re.compile(
    rb'\{"type":"item\.completed","item":\{"id":"([\w-]+)","type":"command_execution","command":"'
)
_WENT_WELL = b'","exit_code":0,"status":"completed"}}'
"""Behind a quotation mark that no text can hold unescaped, so these are the item's own fields."""

_DECODERS: dict[str, msgspec.json.Decoder[Any]] = {
    "item.started": msgspec.json.Decoder(ItemStarted),
    "item.updated": msgspec.json.Decoder(ItemUpdated),
    "item.completed": msgspec.json.Decoder(ItemCompleted),
    "thread.started": msgspec.json.Decoder(ThreadStarted),
    "turn.started": msgspec.json.Decoder(TurnStarted),
    "turn.completed": msgspec.json.Decoder(TurnCompleted),
    "turn.failed": msgspec.json.Decoder(TurnFailed),
    "error": msgspec.json.Decoder(ErrorEvent),
    "request_user_input": msgspec.json.Decoder(InputRequested),
}
