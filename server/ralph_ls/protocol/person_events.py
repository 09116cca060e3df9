"""What passes between a run and the people who steer it: questions, blockers, commands, notes.

Everything is imported from ``protocol.events``, which knows them all; what an iteration tells
stands in ``iteration_events``.
"""

from __future__ import annotations

from typing import Literal

from ralph_ls.protocol.base import Timestamp
from ralph_ls.protocol.event_base import EventBase, MaybeIterationEvent


class QuestionAsked(MaybeIterationEvent):
    """A DECIDE: the run needs a person's decision (R §1)."""

    kind: Literal["questionAsked"] = "questionAsked"
    question: str
    path: str
    asked_at: Timestamp


class QuestionAnswered(EventBase):
    """The open question has its answer; both go into the next prompt."""

    kind: Literal["questionAnswered"] = "questionAnswered"
    question: str
    answer: str
    by: str


class BlockedRaised(MaybeIterationEvent):
    """A BLOCKED: something outside the loop must change first (R §1)."""

    kind: Literal["blockedRaised"] = "blockedRaised"
    reason: str
    path: str


class BlockedResolved(EventBase):
    """The blocker is gone, says a person."""

    kind: Literal["blockedResolved"] = "blockedResolved"
    by: str


class CommandAccepted(EventBase):
    """A command was taken."""

    kind: Literal["commandAccepted"] = "commandAccepted"
    command: str
    """The command's id."""
    command_kind: str
    by: str
    text: str = ""
    """What the asker is told."""
    task: str | None = None
    """Id of the task that it was about: one that is skipped, or reset."""


class CommandRejected(EventBase):
    """A command was refused, with the reason."""

    kind: Literal["commandRejected"] = "commandRejected"
    command: str
    command_kind: str = ""
    by: str = ""
    code: str
    reason: str


class NoteAdded(EventBase):
    """A person told the loop something."""

    kind: Literal["noteAdded"] = "noteAdded"
    text: str
    by: str
