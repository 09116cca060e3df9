"""The events of ``codex exec --json``, as far as we read them.

Each line is one JSON object with a ``type``; what is done stands one level below, in an ``item``
with a ``type`` of its own. Only the fields that are used are named: what is not is skipped without
being built. It must never know what the events mean for a loop.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from ralph_ls.core.agent.decode.records import NOTHING, Words, decode, type_of, words_of


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
    | Words
)


def read_line(line: bytes) -> Event | None:
    """Read one line; None for an event that says nothing to us, or that cannot be read."""
    kind = type_of(line)
    if kind is None:
        return words_of(line)
    decoder = _DECODERS.get(kind)
    return None if decoder is None else decode(decoder, line)


def command_that_went_well(line: bytes) -> str | None:
    """The id of the command that a line says went well, read from its two ends alone.

    Most of a stream's bytes are what commands printed, and nothing is asked of those.
    """
    if not line.endswith(_WENT_WELL):
        return None
    command = _COMMAND.match(line)
    return None if command is None else command[1].decode()


_COMMAND = re.compile(
    rb'\{"type":"item\.completed","item":\{"id":"([\w-]+)","type":"command_execution","command":"'
)
_WENT_WELL = b'","exit_code":0,"status":"completed"}}\n'
"""Behind a quotation mark that no text can hold unescaped, so these are the item's own fields."""

_DECODERS: dict[bytes, msgspec.json.Decoder[Any]] = {
    b"item.started": msgspec.json.Decoder(ItemStarted),
    b"item.updated": msgspec.json.Decoder(ItemUpdated),
    b"item.completed": msgspec.json.Decoder(ItemCompleted),
    b"thread.started": msgspec.json.Decoder(ThreadStarted),
    b"turn.started": msgspec.json.Decoder(TurnStarted),
    b"turn.completed": msgspec.json.Decoder(TurnCompleted),
    b"turn.failed": msgspec.json.Decoder(TurnFailed),
    b"error": msgspec.json.Decoder(ErrorEvent),
    b"request_user_input": msgspec.json.Decoder(InputRequested),
}
