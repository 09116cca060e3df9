"""What comes next, without doing it: ``run --dry-run`` and ``prompt``.

Nothing is locked, written or started, so what is shown is what would be if nothing else happened.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from ralph_ls import __version__
from ralph_ls.core.loop.effects import PrepareIteration
from ralph_ls.core.loop.inputs import EngineFacts, PendingNote, Prepared
from ralph_ls.core.loop.rules import attempts
from ralph_ls.core.loop.rules.agent_choice import Worker
from ralph_ls.core.prompt.template import mode_word
from ralph_ls.core.replay.next_iteration import NextIteration, predict_next_iteration
from ralph_ls.engine.agent.description import Agent
from ralph_ls.engine.agent.mcp_offer import is_offered
from ralph_ls.engine.agent.run_agents import describe_agents, describe_judge, require_metered
from ralph_ls.engine.agent.selection import flags_for, with_agent
from ralph_ls.engine.git.worktree_state import read_head
from ralph_ls.engine.iteration.launch import fill_template, which_wins
from ralph_ls.engine.iteration.lessons import preview_lessons
from ralph_ls.engine.iteration.plan_memory import preview_attempts
from ralph_ls.engine.plan.selection import locate_plan, source_of
from ralph_ls.engine.plan.source import LocatedPlan
from ralph_ls.engine.run.preparation import RunRequest, claims_here
from ralph_ls.engine.run.run_settings import choices_of
from ralph_ls.engine.sandbox.selection import choose_sandbox
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import PlanMissing, UsageError
from ralph_ls.protocol.plan import RequestView
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Baseline, Mode
from ralph_ls.store.layout import StateFolder, Worktree, find_worktree, state_root
from ralph_ls.store.lessons.lesson_files import lesson_folders
from ralph_ls.store.project import trust
from ralph_ls.store.project.config_file import (
    LoadedSettings,
    load_settings,
    previous_choice,
    require_one_profile,
)
from ralph_ls.store.project.prompt_texts import PromptSource, find_template
from ralph_ls.store.run.halt_files import load_halt_files
from ralph_ls.store.run.inbox import peek_notes
from ralph_ls.store.run.runs import find_run
from ralph_ls.store.run.state_index import find_state


@dataclass(frozen=True, slots=True, kw_only=True)
class NextPrompt:
    """The prompt of the next agent."""

    prompt: str
    """Empty where no agent would be started."""
    instead: str
    """Why none would be; empty where one would."""
    iteration: int | None
    mode: str | None
    """Its name in this profile."""
    task: str | None
    """Its title."""
    task_id: str | None
    source: PromptSource | None
    template: str | None
    """Path of the template; None: it is the built-in one."""
    passed_over: str | None
    """Which templates were passed over for it, in words."""
    not_allowed: tuple[str, ...]
    """What the repository brings that a run would use, and nobody allowed."""
    worker: Worker = Worker()
    """The agent that would get it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a run would do first; nothing of it was started (``--dry-run``)."""

    settings: Config
    sources: LoadedSettings
    """The same settings, with what each source sets."""
    argv: tuple[str, ...]
    agent: str
    """Who does the first iteration."""
    model: str | None
    """With which model; None: its own choice."""
    plan_path: str
    about: RunState
    """What its header would say."""
    next: NextPrompt
    mode: Mode
    """What the first iteration is for."""


def preview_run(request: RunRequest, now: datetime) -> Preview:
    """What ``run`` would do first; takes no lock and starts nothing."""
    place = _Place.of(request, can_resume=False)
    settings = place.settings
    agents = describe_agents(settings.config)
    require_metered(settings, agents)
    describe_judge(settings.config)
    root, environment = place.worktree.root, request.environment
    plan = locate_plan(root, settings, environment)
    if plan.refusal:
        raise PlanMissing(plan.refusal)
    source = source_of(root, settings.config, plan.path, environment)
    first = _next_prompt(place, plan, now=now)
    agent = agents[first.worker.agent or settings.config.agent]
    return Preview(
        settings=settings.config,
        sources=settings,
        argv=(*agent.argv, *flags_for(agent, session=None, model=first.worker.model)),
        agent=agent.name,
        model=first.worker.model or agent.model,
        plan_path=plan.path,
        about=_about(place, agents, plan, source.request_in(plan.text)),
        next=first,
        mode=source.mode(plan.text, source.facts(plan.text), RunState()),
    )


def _about(
    place: _Place, agents: Mapping[str, Agent], plan: LocatedPlan, request: RequestView | None
) -> RunState:
    worktree, settings = place.worktree, place.settings
    branch = read_head(worktree.git_dir, worktree.common_dir).branch
    sandbox = choose_sandbox(settings, worktree, place.state, place.request.environment)
    return RunState(
        config=settings.config,
        plan=plan.path,
        request=request,
        branch=branch,
        choices=choices_of(settings, agents, worktree.root, branch, sandbox),
    )


def next_prompt(request: RunRequest, now: datetime, *, mode: Mode | None = None) -> NextPrompt:
    """Preview of the next prompt: of the living run, of one that is resumed, or of a new one.

    ``request.resume`` resumes the last run. ``mode`` replaces the mode that the iteration would
    have. Raises ``UsageError`` where there is no run to resume.
    """
    place = _Place.of(request, can_resume=True)
    plan = locate_plan(
        place.worktree.root,
        place.settings,
        place.request.environment,
        resume=place.run is not None,
        folder=place.folder,
    )
    return _next_prompt(place, plan, now=now, mode=mode)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where and with what settings is looked."""

    request: RunRequest
    worktree: Worktree
    state: StateFolder
    settings: LoadedSettings
    run: RunState | None
    """The run that is resumed; None: a new one begins."""
    folder: Path | None
    """The files of that run."""

    @classmethod
    def of(cls, request: RunRequest, *, can_resume: bool) -> _Place:
        worktree = find_worktree(request.folder)
        state = find_state(state_root(request.environment), worktree)
        found = find_run(worktree, state) if can_resume else None
        if request.resume and found is None:
            raise UsageError("there is no run to resume here; start one with: ralph run")
        goes_on = found is not None and (request.resume or found.live)
        run = found.state if found is not None and goes_on else None
        given = {key: value for key, value in request.overrides.items() if value is not None}
        earlier = previous_choice(run) if run else None
        settings = load_settings(
            worktree.root,
            request.environment,
            {**(run.overrides if run else {}), **given},
            earlier=earlier,
        )
        require_one_profile(settings)
        settings = with_agent(settings, request.environment, worktree.root, earlier=earlier)
        return cls(
            request=request,
            worktree=worktree,
            state=state,
            settings=settings,
            run=run,
            folder=found.files.folder if found is not None and run is not None else None,
        )


def _next_prompt(
    place: _Place,
    plan: LocatedPlan,
    *,
    now: datetime,
    mode: Mode | None = None,
) -> NextPrompt:
    root, config = place.worktree.root, place.settings.config
    claims = claims_here(place.worktree, place.state, place.settings)
    not_allowed = tuple(claim.key for claim in trust.unapproved_claims(place.state, claims))
    seen = _foresee(place, plan, now=now, mode=mode)
    context = seen.context
    if context is None:
        return NextPrompt(
            prompt="",
            instead=seen.instead,
            iteration=None,
            mode=None,
            task=None,
            task_id=None,
            source=None,
            template=None,
            passed_over=None,
            not_allowed=not_allowed,
        )
    template = find_template(root, config, context.mode, place.request.environment)
    source = source_of(root, config, plan.path, place.request.environment)
    if context.task_id is not None:
        source.look_up(context.task_id)
    folders = lesson_folders(place.request.environment, place.worktree, place.state)
    context = preview_lessons(folders, context, max_tokens=config.lessons.max_tokens)
    context = replace(context, has_tools=is_offered(config, seen.worker.agent))
    return NextPrompt(
        prompt=fill_template(template, source.with_context(context, plan.text)),
        instead="",
        iteration=context.iteration,
        mode=mode_word(config.profile, context.mode),
        task=context.task,
        task_id=context.task_id,
        source=template.source,
        template=template.path,
        passed_over=which_wins(template),
        not_allowed=not_allowed,
        worker=seen.worker,
    )


def _foresee(
    place: _Place, found: LocatedPlan, *, now: datetime, mode: Mode | None
) -> NextIteration:
    config, text = place.settings.config, found.text
    source = source_of(place.worktree.root, config, found.path, place.request.environment)

    def look(order: PrepareIteration, state: RunState) -> Prepared:
        counted = preview_attempts(place.worktree.root, place.state, config)
        known = state.attempts if counted is None else counted
        skip = (
            order.skip
            if counted is None
            else attempts.skipped_without_mark(counted, config.attempts)
        )
        failed = {task: known.get(task, config.attempts.limit) for task in skip}
        plan = source.facts(text, set_aside=failed, skipped=order.skipped)
        return Prepared(
            baseline=Baseline(),
            plan=plan,
            left_out=(*order.skip, *order.skipped),
            attempts=counted,
            attempts_before=state.attempts,
            mode=mode or source.mode(text, plan, state),
        )

    facts = EngineFacts(
        config=config,
        version=__version__,
        pid=0,
        workspace=str(place.worktree.root),
        state_dir=str(place.state.folder),
        plan_path=found.path,
        counts=source.counts(text),
        branch=None,
        head=None,
        halt=load_halt_files(place.worktree.root, config.paths),
        notes=tuple(PendingNote(text=note, by=by) for note, by in peek_notes(place.state)),
    )
    return predict_next_iteration(place.run, facts, look, now=now)
