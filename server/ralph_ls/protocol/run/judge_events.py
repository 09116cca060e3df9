"""Events of the judge: it begins, it has a verdict, and the user overrules it.

Everything is imported from ``protocol.events``, which knows them all.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ralph_ls.protocol.run.iteration_events import EventBase, IterationEvent
from ralph_ls.protocol.run.report import JudgeVerdict, RequestedChange, Usage
from ralph_ls.protocol.run.values import TaskRef


class JudgeStarted(IterationEvent):
    """A judge begins to look at the iteration's work."""

    kind: Literal["judgeStarted"] = "judgeStarted"
    agent: str
    model: str | None = None
    """The model that it was given; None: its own choice."""
    tasks: tuple[TaskRef, ...] = ()
    """The tasks that it judges; none where it judges the whole run."""
    round: int = Field(default=1, ge=1)
    """How often these were judged in a row, with this time."""
    max_rounds: int = Field(default=1, ge=1)


class Judged(IterationEvent):
    """A judge's verdict: neither claim of the agent nor evidence."""

    kind: Literal["judged"] = "judged"
    verdict: JudgeVerdict
    reason: str = ""
    """In its words; why there is no verdict, where it is undecided."""
    failed: bool = Field(default=False, exclude_if=lambda failed: not failed)
    """It gave no verdict that counts, so the next judge has its tasks too."""
    changes: tuple[RequestedChange, ...] = ()
    """What it wants changed, at most fifty."""
    agent: str
    model: str | None = None
    tasks: tuple[TaskRef, ...] = ()
    """The tasks that it judged; none where it judged the whole run."""
    reopened: tuple[str, ...] = ()
    """Ids of those that the plan has open again."""
    round: int = Field(default=1, ge=0)
    """Requests for changes in a row, with this one; 0 after a reset by the user."""
    max_rounds: int = Field(default=1, ge=1)
    seconds: float = 0.0
    usage: Usage | None = None
    """Its usage, which is part of the iteration's."""
    restored: tuple[str, ...] = ()
    """Files that it changed and that were restored, so its verdict does not count."""


class JudgeOverruled(EventBase):
    """The user accepts the work for which a judge requested changes."""

    kind: Literal["judgeOverruled"] = "judgeOverruled"
    by: str
    tasks: tuple[TaskRef, ...] = ()
    start: int = Field(ge=1)
    """The start whose verdict it was."""
    iteration: int = Field(ge=1)
