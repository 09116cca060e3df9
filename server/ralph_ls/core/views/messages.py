"""What an agent says while it works, in lines for people: a terminal, the logs.

It shows the words, and of all else what one wants to see at a glance. It must never know whose
stream a message was read from.
"""

from __future__ import annotations

from typing import assert_never

from ralph_ls.core.views.visible import tame
from ralph_ls.core.words import count_of
from ralph_ls.protocol.messages import (
    FileAction,
    FileMessage,
    Message,
    TextMessage,
    TodoMessage,
    ToolMessage,
    ToolState,
    UsageMessage,
)
from ralph_ls.protocol.report import Usage

TOOL_MARKS = {ToolState.STARTED: "⚒", ToolState.FAILED: "✗"}

TODO_MARKS = {"pending": "☐", "inProgress": "◐", "done": "☑"}

NOTEWORTHY = {
    FileAction.CREATED: "created",
    FileAction.CHANGED: "changed",
    FileAction.DELETED: "deleted",
}


def message_line(message: Message) -> str:
    """The message for people, harmless to show, without a line end at its end.

    Empty for one that says nothing new: a call that went well, a file that was read, counts in the
    middle of the work.
    """
    match message:
        case TextMessage(text=text):
            return "\n".join(tame(line.rstrip()) for line in text.strip("\n").split("\n"))
        case ToolMessage(state=ToolState.DONE):
            return ""
        case ToolMessage(name=name, summary=summary, state=state):
            return tame(f"{TOOL_MARKS[state]} {name}{': ' if summary else ''}{summary}")
        case FileMessage(path=path, action=action):
            return tame(f"✎ {path} {NOTEWORTHY[action]}") if action in NOTEWORTHY else ""
        case TodoMessage(items=items):
            return "\n".join(tame(f"{TODO_MARKS[item.state]} {item.text}") for item in items)
        case UsageMessage(usage=usage):
            return _usage(usage)
        case _:
            assert_never(message)


def _usage(usage: Usage) -> str:
    """The counts at the end of a turn; before it nobody knows what was written."""
    if usage.output_tokens is None:
        return ""
    parts = []
    if usage.input_tokens is not None:
        parts.append(f"{usage.input_tokens:,} tokens in")
    parts.append(f"{usage.output_tokens:,} out")
    if usage.cached_tokens:
        parts.append(f"{usage.cached_tokens:,} cached")
    if usage.turns is not None:
        parts.append(count_of(usage.turns, "turn"))
    if usage.cost_usd is not None:
        parts.append(f"${usage.cost_usd:.4f}")
    return f"∑ {', '.join(parts)}"
