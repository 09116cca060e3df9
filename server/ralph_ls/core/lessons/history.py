"""Run records: what lessons are distilled from, read from the events of a run.

A record has the iterations with their tasks, files, validations, time and cost, the tasks that were
set aside, and the settings. Where journals are stored is not known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.run.events import (
    EventBase,
    EvidenceGathered,
    IterationEnded,
    IterationStarted,
    LessonRemembered,
    RunStarted,
    TaskSetAside,
    Validated,
)
from ralph_ls.protocol.run.values import TaskRef

KINDS = frozenset(
    {
        "runStarted",
        "iterationStarted",
        "evidenceGathered",
        "validated",
        "taskSetAside",
        "lessonRemembered",
        "iterationEnded",
    }
)
"""Kinds of the events that a record is read from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationRecord:
    """One settled iteration that counts."""

    run: str
    iteration: int
    task: TaskRef | None = None
    paths: tuple[str, ...] = ()
    """The first files that changed."""
    validated: Validated | None = None
    """Its validation; None: none ran."""
    done: tuple[str, ...] = ()
    """Ids of the tasks that became done."""
    seconds: float = 0.0
    cost_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AsideRecord:
    """A task that was set aside, with the iteration in which it was."""

    iteration: int
    event: TaskSetAside


@dataclass(frozen=True, slots=True, kw_only=True)
class RememberedNote:
    """What an agent wanted to be remembered, with its iteration."""

    iteration: int
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One run."""

    run: str
    config: Config
    given: Mapping[str, Any] = field(default_factory=dict)
    """Dotted snake_case key to value, as flags set it."""
    iterations: tuple[IterationRecord, ...] = ()
    set_aside: tuple[AsideRecord, ...] = ()
    remembered: tuple[RememberedNote, ...] = ()


def read_record(events: Iterable[EventBase]) -> RunRecord | None:
    """The record of a run; None where it never started."""
    found: RunRecord | None = None
    iterations: list[IterationRecord] = []
    aside: dict[str, AsideRecord] = {}
    notes: list[RememberedNote] = []
    current: IterationRecord | None = None
    for event in events:
        match event:
            case RunStarted():
                found = RunRecord(run=event.run, config=event.config, given=event.overrides)
            case IterationStarted():
                current = IterationRecord(run=event.run, iteration=event.iteration, task=event.task)
            case TaskSetAside():
                aside[event.task.id] = AsideRecord(iteration=event.iteration, event=event)
            case LessonRemembered():
                notes.append(RememberedNote(iteration=event.iteration, text=event.text))
            case IterationEnded() if current is not None:
                if event.counted:
                    iterations.append(_ended(current, event))
                current = None
            case _ if current is not None:
                current = _enter(current, event)
            case _:
                pass
    if found is None:
        return None
    return replace(
        found,
        iterations=tuple(iterations),
        set_aside=tuple(aside.values()),
        remembered=tuple(notes),
    )


def _enter(current: IterationRecord, event: EventBase) -> IterationRecord:
    match event:
        case EvidenceGathered(evidence=evidence):
            return replace(current, paths=evidence.paths, done=evidence.tasks_done)
        case Validated():
            return replace(current, validated=event)
        case _:
            return current


def _ended(current: IterationRecord, event: IterationEnded) -> IterationRecord:
    cost = None if event.usage is None else event.usage.cost_usd
    return replace(current, seconds=event.seconds, cost_usd=cost)
