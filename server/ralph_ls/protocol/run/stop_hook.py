"""Stop hook: what passes between it, the agent and a run of stories, in a box or not.

``.ralph-active`` exists in the work tree while such a run lives, since the hook looks there; the
agent's program asks the hook on its stdin, and reads the answer from its stdout.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field, JsonValue

from ralph_ls.protocol.base import Timestamp, WireModel


class RalphActive(WireModel):
    """The file ``.ralph-active``; a field that is missing has what a run without settings has."""

    timestamp: Timestamp | None = None
    """When this iteration began."""
    pid: int | None = None
    """Of the engine; any other process leaves the file alone."""
    max_iterations: int | None = Field(default=None, alias="max_iterations")
    """None: unlimited."""
    mode: str = "direct"
    """How the agent is started: ``direct`` or ``sandbox``."""
    skip_review: bool = False
    review_cap: int = 5
    iteration_mode: str = "implement"
    """``implement``, ``review``, ``review-fix`` or ``plan``."""
    pre_iteration_snapshot: JsonValue = None
    """The file of stories as this iteration found it, as JSON; or a text of that, or its path."""
    stuck_count: int = 0


class HookInput(WireModel):
    """What the agent's program says when the agent wants to stop."""

    session_id: str | None = Field(default=None, alias="session_id")
    transcript_path: str | None = Field(default=None, alias="transcript_path")
    cwd: str | None = None
    hook_event_name: str | None = Field(default=None, alias="hook_event_name")
    stop_hook_active: bool = Field(default=False, alias="stop_hook_active")
    """The agent already continues because of a stop hook."""
    last_assistant_message: str | None = Field(default=None, alias="last_assistant_message")
    """Newer programs only."""


class HookAnswer(WireModel):
    """The one answer that a stop hook has; to let the agent stop it says nothing."""

    decision: Literal["block"] = "block"
    reason: str
    """For the agent: what is left to do."""
