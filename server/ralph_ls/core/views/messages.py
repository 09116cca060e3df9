"""What an agent says while it works, in lines for people: a terminal, the logs.

It shows the words, and of all else what one wants to see at a glance. It must never know whose
stream a message was read from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from ralph_ls.core.plurals import count_of
from ralph_ls.core.views.visible import tame
from ralph_ls.protocol.run.messages import FileAction, Message, ToolState
from ralph_ls.protocol.run.report import Usage

if TYPE_CHECKING:
    # Who reads messages need not wait for what makes them.
    from ralph_ls.core.agent.messages import AgentMessage, UsageCounts

TOOL_MARKS = {ToolState.STARTED: "⚒", ToolState.FAILED: "✗"}

TODO_MARKS = {"pending": "☐", "inProgress": "◐", "done": "☑"}

NOTEWORTHY = {
    FileAction.CREATED: "created",
    FileAction.CHANGED: "changed",
    FileAction.DELETED: "deleted",
}


def message_line(message: Message | AgentMessage) -> str:
    """The message for people, harmless to show, without a line end at its end.

    Empty for one that says nothing new: a call that went well, a file that was read, counts in the
    middle of the work.
    """
    if message.kind == "text":
        return "\n".join(tame(line.rstrip()) for line in message.text.strip("\n").split("\n"))
    if message.kind == "tool":
        if message.state is ToolState.DONE:
            return ""
        mark, colon = TOOL_MARKS[message.state], ": " if message.summary else ""
        return tame(f"{mark} {message.name}{colon}{message.summary}")
    if message.kind == "file":
        action = NOTEWORTHY.get(message.action)
        return "" if action is None else tame(f"✎ {message.path} {action}")
    if message.kind == "todo":
        return "\n".join(tame(f"{TODO_MARKS[item.state]} {item.text}") for item in message.items)
    if message.kind == "usage":
        return _usage(message.usage)
    assert_never(message)


def _usage(usage: Usage | UsageCounts) -> str:
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
        parts.append(f"{'≈' if usage.estimated else ''}${usage.cost_usd:.4f}")
    return f"∑ {', '.join(parts)}"
