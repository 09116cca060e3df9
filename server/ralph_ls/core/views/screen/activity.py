"""Activity: the tool that an agent uses at the moment, and since when.

Agents may use several tools at once; the newest that has not ended is shown. Messages carry no
time, so the caller brings the moment at which one was read.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from ralph_ls.core.views.model.words import one_line
from ralph_ls.core.views.text.summary import format_duration
from ralph_ls.protocol.run.messages import AgentMessage, ToolMessage, ToolState

SHOWN_CHARS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningTool:
    """A call that has not ended."""

    call: str
    text: str
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """The calls that have not ended, the newest last."""

    running: tuple[RunningTool, ...] = ()

    def words(self, now: datetime) -> str:
        """``Bash: pytest -q · 12s``; empty where no tool runs."""
        if not self.running:
            return ""
        newest = self.running[-1]
        others = f" · {len(self.running) - 1} more" if len(self.running) > 1 else ""
        seconds = max(0.0, (now - newest.since).total_seconds())
        return f"{newest.text} · {format_duration(seconds)}{others}"


def after_message(activity: Activity, message: AgentMessage, at: datetime) -> Activity:
    """The activity after a message that was read at ``at``. Total."""
    if not isinstance(message, ToolMessage):
        # A call without an id has ended when the agent does anything else.
        left = tuple(tool for tool in activity.running if tool.call)
        return Activity(running=left) if message.kind == "text" else activity
    left = tuple(tool for tool in activity.running if tool.call and tool.call != message.call)
    if message.state is not ToolState.STARTED:
        return Activity(running=left)
    colon = ": " if message.summary else ""
    text = one_line(f"{message.name}{colon}{message.summary}", limit=SHOWN_CHARS)
    return Activity(running=(*left, RunningTool(call=message.call, text=text, since=at)))
