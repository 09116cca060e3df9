"""Proposals by an agent outside of a run: a plan for a set-up, or lessons from the history.

Each is one question to one agent, whose answer changes nothing in the tree by itself
(docs/rules.md#set-up). Which agents can be started here is looked up, and none is started for it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from ralph_ls.core.plurals import count_of
from ralph_ls.core.prompt.proposal import proposal_prompt
from ralph_ls.core.setup.draft import read_plan_items
from ralph_ls.engine.agent.description import install_of
from ralph_ls.engine.agent.run_agents import metering_of
from ralph_ls.engine.agent.selection import BUILT_IN, choose_agent
from ralph_ls.engine.demo.script import PROPOSAL_DISCLAIMER
from ralph_ls.engine.run.agent_question import AgentQuestion, OnStopper, ask_agent
from ralph_ls.engine.run.preparation import claims_here, require_program
from ralph_ls.protocol.config.agent_facts import Metering
from ralph_ls.protocol.config.config import SessionConfig
from ralph_ls.protocol.errors import AgentUnavailable, RalphError
from ralph_ls.protocol.lessons import Finding
from ralph_ls.protocol.lsp.setup import MAX_ITEMS, AgentChoice, PlanItem, ProposePlanResult
from ralph_ls.store.layout import StateFolder, Worktree, new_run_id
from ralph_ls.store.project import trust
from ralph_ls.store.project.config_file import LoadedSettings

DEMO = "demo"


def find_agents(
    worktree: Worktree, state: StateFolder, settings: LoadedSettings, environment: Mapping[str, str]
) -> tuple[AgentChoice, ...]:
    """Every agent that can be named, those that were found first, ``demo`` behind them."""
    names = dict.fromkeys([*BUILT_IN, *sorted(settings.config.agents)])
    choices = [_choice(name, worktree, state, settings, environment) for name in names]
    return tuple(sorted(choices, key=lambda one: (not one.found, one.name == DEMO)))


def _choice(
    name: str,
    worktree: Worktree,
    state: StateFolder,
    settings: LoadedSettings,
    environment: Mapping[str, str],
) -> AgentChoice:
    plain = {"agent": name, "session": SessionConfig()}
    if name == DEMO:
        plain["tools"] = None
    own = LoadedSettings(
        config=settings.config.model_copy(update=plain),
        from_file=settings.from_file,
        overrides=settings.overrides,
    )
    claims = [claim for claim in claims_here(worktree, state, own) if claim.agent is not None]
    needs_allow = bool(trust.unapproved_claims(state, claims))
    if name == DEMO:
        detail = "Scripted, for the sample project and for trying ralph; no key, no network"
        return AgentChoice(name=name, found=True, detail=detail, needs_allow=needs_allow)
    try:
        agent = choose_agent(own.config)
        program = require_program(agent.program or agent.argv[0], environment, worktree, own)
    except RalphError as error:
        first = error.message.splitlines()[0].removesuffix(", which is:")
        install = install_of(name)
        if install is not None and isinstance(error, AgentUnavailable):
            # That it is not on PATH is said beside it, and there is room for one line.
            first = f"install it with {install}"
        return AgentChoice(name=name, found=False, detail=first, needs_allow=needs_allow)
    metering = metering_of(own.config, name, agent, is_cost=True)
    return AgentChoice(
        name=name,
        found=True,
        detail=_report(program),
        needs_allow=needs_allow,
        reports_cost=metering is not Metering.NEVER,
    )


def _report(program: Path) -> str:
    return str(program).encode("utf-8", errors="backslashreplace").decode()


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalRequest:
    """What somebody wants a plan for."""

    folder: Path
    environment: Mapping[str, str]
    description: str
    overrides: Mapping[str, Any] = field(default_factory=dict)
    """Dotted snake_case key to value, as for a run: the agent, the profile."""
    example: Sequence[PlanItem] = ()
    """A template's items."""
    plan_path: str | None = None
    """Of a plan that is there already."""


def propose(
    request: ProposalRequest, *, name: str, on_stopper: OnStopper | None = None
) -> ProposePlanResult:
    """Start the agent once, and read the plan items out of its final text; blocks.

    ``name`` is a fresh id that marks the agent's processes. Raises as `ask_agent` does,
    ``ProposalStopped``, and ``RalphError`` where the agent fails or proposes nothing.
    """
    question = AgentQuestion(
        folder=request.folder,
        environment=request.environment,
        purpose="proposal",
        overrides=request.overrides,
        prompt=proposal_prompt(
            request.description, plan_path=request.plan_path, example=request.example
        ),
    )
    answer = ask_agent(question, name=name, on_stopper=on_stopper)
    items = () if answer.ended.stopped else read_plan_items(answer.reading.text)
    if not items or answer.reading.failed:
        raise answer.failure("plan items", "write the items yourself")
    kept, notes = items[:MAX_ITEMS], []
    if len(items) > len(kept):
        notes.append(
            f"only the first {MAX_ITEMS} of {count_of(len(items), 'proposed item')} are shown"
        )
    notes += [PROPOSAL_DISCLAIMER] if answer.agent == DEMO else []
    return ProposePlanResult(items=kept, notes=(*notes, *answer.notes))


# ------------------------------------------------------------------------------------------ lessons


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
