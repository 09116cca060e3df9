"""Learning with an agent: one question about the history, whose answer proposes lessons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from ralph_ls.core.lessons.agent_proposals import (
    AgentLessons,
    lessons_prompt,
    read_agent_lessons,
)
from ralph_ls.core.lessons.history import RunRecord
from ralph_ls.engine.run.agent_question import AgentQuestion, OnStopper, ask_agent
from ralph_ls.protocol.lessons import Finding
from ralph_ls.store.layout import new_run_id

NO_LESSONS = "NO LESSONS"
"""The answer of an agent that has found none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LearningRequest:
    """What an agent is to learn from."""

    environment: Mapping[str, str]
    records: tuple[RunRecord, ...]
    findings: tuple[Finding, ...]
    overrides: Mapping[str, Any] = field(default_factory=dict)
    """Dotted snake_case key to value: the agent."""


def ask_for_lessons(
    request: LearningRequest, *, place: Path, now: datetime, on_stopper: OnStopper | None = None
) -> AgentLessons:
    """Start the agent once, and read the lessons out of its final text; blocks.

    Raises as `ask_agent` does, and a ``RalphError`` where the agent fails or answers otherwise.
    """
    question = AgentQuestion(
        folder=place,
        environment=request.environment,
        purpose="proposal",
        overrides=request.overrides,
        prompt=lessons_prompt(request.records, request.findings),
    )
    answer = ask_agent(question, name=new_run_id(now), on_stopper=on_stopper)
    found = read_agent_lessons(answer.reading.text, request.records)
    is_empty = not found.lessons and not found.notes and NO_LESSONS not in answer.reading.text
    if answer.ended.stopped or answer.reading.failed or answer.ended.exit_code != 0 or is_empty:
        raise answer.failure("lessons", "take what was found without one: ralph learn")
    return replace(found, notes=(*found.notes, *answer.notes))
