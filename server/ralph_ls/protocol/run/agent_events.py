"""Events of what an agent reports by tool while it works (docs/rules.md#tools)."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from ralph_ls.protocol.run.agent_tools import ReportTool
from ralph_ls.protocol.run.iteration_events import IterationEvent


class AgentReported(IterationEvent):
    """The agent called one of the iteration's tools: a claim, as its words are."""

    kind: Literal["agentReported"] = "agentReported"
    tool: ReportTool
    arguments: dict[str, Any] = Field(default_factory=dict)
    """What it was called with, in the shape of the tool's schema."""
    output_bytes: int = 0
    """How much the agent had printed by then: what it prints later is a later statement."""
    sub_agent: bool = Field(default=False, exclude_if=lambda is_one: not is_one)
    """A sub-agent called it, so it never ends the run."""


class LessonRemembered(IterationEvent):
    """The agent proposes a lesson for later runs; nothing uses it before the user accepted it."""

    kind: Literal["lessonRemembered"] = "lessonRemembered"
    text: str
