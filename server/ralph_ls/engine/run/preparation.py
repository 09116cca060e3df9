"""Preparation of a run: settings, trust, plan, agent and orphans, before the first event.

What is wrong is found here and raised as an error that says what to do.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ralph_ls import __version__
from ralph_ls.core.loop.evidence.ownership import OwnershipOrder
from ralph_ls.core.loop.fold import fold
from ralph_ls.core.loop.inputs import (
    EngineFacts,
    Notice,
    PendingNote,
    PendingOverrule,
    PendingReset,
    Resumed,
    Started,
)
from ralph_ls.core.loop.rules.waits import end_of_hours
from ralph_ls.core.redaction.redactor import Redactor
from ralph_ls.core.redaction.secret_names import secrets_of_addresses
from ralph_ls.engine.agent.description import Agent
from ralph_ls.engine.agent.environment import base_agent_environment, find_program
from ralph_ls.engine.agent.run_agents import (
    config_for,
    describe_agents,
    describe_judge,
    emit_silent_hook,
    emit_writing_tools,
    require_metered,
    secrets_around,
)
from ralph_ls.engine.agent.selection import with_agent
from ralph_ls.engine.clock import Clock, SystemClock
from ralph_ls.engine.delivery.git_delivery import emit_no_remote, require_deliverable
from ralph_ls.engine.git import worktree_state
from ralph_ls.engine.iteration.inherited_changes import (
    InheritedChanges,
    are_issues_touched,
    emit_unsettled,
)
from ralph_ls.engine.iteration.validation import emit_not_allowed
from ralph_ls.engine.iteration.worktree_inspector import WorktreeInspector
from ralph_ls.engine.notify.delivery import notify_of_refusal
from ralph_ls.engine.plan.plan_file import config_for_task
from ralph_ls.engine.plan.selection import locate_plan, source_of
from ralph_ls.engine.plan.source import LocatedPlan, PlanSource
from ralph_ls.engine.run.announcements import emit_unknown_outcomes
from ralph_ls.engine.run.recovery import (
    archive_progress,
    emit_legacy_files,
    emit_orphans,
    end_earlier_processes,
    move_logs_aside,
    prune_old_runs,
    remove_old_logs,
    require_merged_lanes,
    require_no_engine,
)
from ralph_ls.engine.run.run_settings import choices_of, kept_settings, settings_on_resume
from ralph_ls.engine.sandbox.selection import prepare_sandbox
from ralph_ls.engine.worktree.keeper import read_final_snapshot
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.errors import NotAllowed, StateUnusable, UsageError
from ralph_ls.protocol.run.events import IterationEnded
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import EndReason
from ralph_ls.store.external.git_safety import trust_git_settings
from ralph_ls.store.files import printable_path, resolve_inside
from ralph_ls.store.layout import StateFolder, Worktree, new_run_id
from ralph_ls.store.project import trust
from ralph_ls.store.project.config_file import (
    LoadedSettings,
    load_settings,
    old_keys_notice,
    old_keys_remedy,
    previous_choice,
    require_one_profile,
)
from ralph_ls.store.project.project_state import keeps_project_state, open_project
from ralph_ls.store.project.trust import read_run_trust
from ralph_ls.store.run.halt_files import load_halt_files
from ralph_ls.store.run.inbox import take_notes, take_overrules, take_resets
from ralph_ls.store.run.journal import JournalParts, each_event, require_understood
from ralph_ls.store.run.runs import find_run


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What somebody wants run."""

    folder: Path
    environment: Mapping[str, str]
    overrides: Mapping[str, Any] = field(default_factory=dict)
    """Dotted snake_case key to value, from flags."""
    resume: bool = False
    run_id: str | None = None
    """Chosen by a launcher; None: a new one."""
    by: str = "ralph run"
    order: OwnershipOrder | None = None
    """What the user wants done with all that an open iteration left; with ``resume`` alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """All that an engine begins with."""

    workspace: Workspace
    first: Started | Resumed
    run_state: RunState
    journal_size: int
    recalled: Iterable[IterationEnded]


def prepare_start(
    request: RunRequest, worktree: Worktree, state: StateFolder, clock: Clock
) -> Start:
    """All that an engine begins with; raises a ``RalphError`` for what keeps it from beginning.

    Call it while holding the lock: it ends what a dead engine left, moves earlier logs aside
    and removes old ones.
    """
    _require_utf8(worktree.root, state.folder)
    found = find_run(worktree, state)
    require_no_engine(found, state, resume=request.resume)
    orphans, problem = end_earlier_processes(found, worktree, request.environment, clock)
    earlier = _earlier_run(worktree, state) if request.resume else None
    home = earlier[0] if earlier else state
    overrides = {**(earlier[1].overrides if earlier else {}), **_given(request.overrides)}
    _require_whole(overrides)
    settings, kept = _settings(request, worktree.root, overrides, earlier[1] if earlier else None)
    config = settings.config
    claims = claims_here(worktree, state, settings)
    run_trust = _read_trust(state, claims, request, settings, worktree.root, clock=clock)
    trust_git_settings(worktree.root)
    require_deliverable(worktree, config)
    agents, sandbox = (
        _agents(settings, request.environment, worktree),
        prepare_sandbox(settings, worktree, home, request.environment),
    )
    redactor = Redactor(
        secrets={
            **secrets_around(request.environment, agents, worktree.root),
            **secrets_of_addresses(config.notify.urls),
        }
    )
    resolve_inside(worktree.root, config.paths.logs)
    settings, plan, source = _plan_of(
        request, worktree.root, settings, earlier, redact=redactor.redact
    )
    config = settings.config
    run = earlier[1].run if earlier else request.run_id or new_run_id(clock.now())
    project = (
        open_project(worktree.root, home, redactor.redact) if keeps_project_state(config) else None
    )
    archived: tuple[list[Notice], tuple[str, ...]] = ([], ())
    if not earlier:
        require_merged_lanes(found, source, plan.text)
        archived = archive_progress(worktree.root, config, clock.local().date())
    workspace = Workspace(
        worktree=worktree,
        state=home,
        run=run,
        files=home.run(run),
        config=config,
        agent=agents[config.agent],
        agents=agents,
        judge=describe_judge(config),
        source=source,
        environment=request.environment,
        redactor=redactor,
        claims=claims,
        trust=run_trust,
        project=project,
        sandbox=sandbox,
        written_at_start=archived[1],
        last_look=read_final_snapshot(earlier[0].run(run).folder) if earlier else None,
    )
    if earlier:
        workspace = replace(workspace, issues_touched=are_issues_touched(workspace))
    read = JournalParts(workspace.files.journal)
    run_state = fold(event for part in read for event in part) if earlier else RunState()
    looking = WorktreeInspector(workspace, clock=clock)
    notices = [*_exclude(workspace), *_torn(read), *problem, *kept]
    if not earlier:
        notices += emit_orphans(orphans)
        move_logs_aside(worktree.root, config.paths.logs, found)
        notices += emit_unsettled(workspace, found, looking.look)
    notices += remove_old_logs(
        worktree.root,
        config,
        clock.now(),
        kept_since=earlier[1].started_at if earlier else None,
        outside=workspace.log_folder_outside,
    )
    notices += (*prune_old_runs(workspace.state, config.state, run, clock), *archived[0])
    notices += source.begin(settings, plan, resume=request.resume)
    notices += (*emit_unknown_outcomes(workspace.files), *emit_no_remote(workspace))
    notices += emit_silent_hook(worktree.root, config, request.environment)
    notices += emit_legacy_files(workspace)
    notices += (*emit_not_allowed(workspace, plan.text), *emit_writing_tools(config))
    facts = _facts(workspace, settings, overrides, notices)
    return Start(
        workspace=workspace,
        first=_resumed(request, looking, earlier[1], facts, orphans)
        if earlier
        else Started(run=run, facts=facts),
        run_state=run_state,
        journal_size=read.size,
        recalled=_ended_in(workspace.files.journal) if earlier else (),
    )


def _plan_of(
    request: RunRequest,
    root: Path,
    settings: LoadedSettings,
    earlier: tuple[StateFolder, RunState] | None,
    *,
    redact: Callable[[str], str],
) -> tuple[LoadedSettings, LocatedPlan, PlanSource]:
    """The plan and its source, and the settings with the id of the task that they name."""
    environment = request.environment
    folder = earlier[0].run(earlier[1].run).folder if earlier else None
    plan = locate_plan(root, settings, environment, resume=request.resume, folder=folder)
    source = source_of(root, settings.config, plan.path, environment, redact=redact)
    if settings.config.task is None:
        return settings, plan, source
    config = config_for_task(settings.config, source.parse(plan.text).plan)
    settings = replace(settings, config=config)
    return settings, plan, source_of(root, config, plan.path, environment, redact=redact)


def _read_trust(
    state: StateFolder,
    claims: tuple[trust.Claim, ...],
    request: RunRequest,
    settings: LoadedSettings,
    root: Path,
    *,
    clock: Clock,
) -> trust.RunTrust:
    """The approvals; a refusal also reaches a user who is away."""
    try:
        return read_run_trust(state, claims)
    except NotAllowed as error:
        notify_of_refusal(settings, root, request.environment, error, clock)
        raise


def _resumed(
    request: RunRequest, looking: WorktreeInspector, run: RunState, facts: EngineFacts, orphans: int
) -> Resumed:
    """The input that resumes the run; what was done while no engine ran is the user's."""
    workspace = looking.workspace
    inheriting = InheritedChanges(workspace, workspace.last_look)
    users: tuple[str, ...] = ()
    if run.current is not None and request.order is None:
        users = inheriting.inspect(run, looking.look()).ownership.users
    return Resumed(
        by=request.by,
        facts=facts,
        orphans_ended=orphans,
        order=request.order,
        users=users,
        held=inheriting.held(run, facts.head) if workspace.config.push else (),
    )


def _settings(
    request: RunRequest, root: Path, overrides: Mapping[str, Any], earlier: RunState | None
) -> tuple[LoadedSettings, list[Notice]]:
    """The effective settings, with the profile and the agent of the run.

    A resumed run keeps those that it began with.
    """
    known = None if earlier is None else previous_choice(earlier)
    settings = load_settings(root, request.environment, overrides, earlier=known)
    require_one_profile(settings)
    settings = with_agent(settings, request.environment, root, earlier=known)
    renamed = old_keys_notice(settings)
    notices = []
    if renamed:
        message = f"{renamed}; to rename them: {old_keys_remedy(settings)}"
        notices.append(Notice(code="settings-renamed", message=message))
    if earlier is None:
        return settings, notices
    given = _given(request.overrides)
    kept, more = settings_on_resume(settings, earlier, given, request.environment)
    return kept, [*notices, *more]


def _agents(
    settings: LoadedSettings, environment: Mapping[str, str], worktree: Worktree
) -> Mapping[str, Agent]:
    """Every agent of the run; raises a ``RalphError`` for one that it cannot start or limit."""
    agents = describe_agents(settings.config)
    require_metered(settings, agents)
    for name, agent in agents.items():
        own = replace(settings, config=config_for(settings.config, name))
        require_program(agent.program or agent.argv[0], environment, worktree, own)
    judge = describe_judge(settings.config)
    if judge is not None:
        require_metered(settings, {judge.name: judge})
        own = replace(settings, config=config_for(settings.config, judge.name))
        require_program(judge.program or judge.argv[0], environment, worktree, own)
    return agents


def _earlier_run(worktree: Worktree, state: StateFolder) -> tuple[StateFolder, RunState]:
    """The run that ``--resume`` means; raises ``UsageError`` where there is none to resume."""
    found = find_run(worktree, state)
    if found is None:
        raise UsageError("there is no run to resume here; start one with: ralph run")
    require_understood(found.files.journal)
    run = found.state
    if run.end is not None and run.end.reason is EndReason.COMPLETE:
        raise UsageError(f"run {run.run} is complete; start a new one with: ralph run")
    if (kept := kept_settings(found.files)) is not None:
        run = run.model_copy(update={"config": kept})
    return StateFolder(folder=found.files.folder.parent.parent), run


def _facts(
    workspace: Workspace,
    settings: LoadedSettings,
    overrides: Mapping[str, Any],
    notices: list[Notice],
) -> EngineFacts:
    place = workspace.worktree
    head = worktree_state.read_head(place.git_dir, place.common_dir)
    config = workspace.config
    return EngineFacts(
        config=config,
        overrides=dict(overrides),
        version=__version__,
        pid=os.getpid(),
        workspace=str(workspace.root),
        state_dir=str(workspace.state.folder),
        plan_path=workspace.plan_path,
        request=workspace.source.request,
        counts=workspace.source.counts(workspace.source.read()),
        branch=head.branch,
        head=head.commit,
        halt=load_halt_files(workspace.root, config.paths),
        ends_at=end_of_hours(config.run.until, SystemClock().local()),
        choices=choices_of(
            settings, workspace.agents, workspace.root, head.branch, workspace.sandbox
        ),
        notices=tuple(notices),
        notes=tuple(PendingNote(text=text, by=by) for text, by in take_notes(workspace.state)),
        resets=tuple(
            PendingReset(task=task, by=by, command=command)
            for task, by, command in take_resets(workspace.state)
        ),
        overrules=tuple(
            PendingOverrule(by=by, command=command)
            for by, command in take_overrules(workspace.state)
        ),
    )


def _exclude(workspace: Workspace) -> list[Notice]:
    """Keep ``git status`` clean: exclude what is not meant for commit, and report it.

    See docs/rules.md#files.
    """
    paths = workspace.config.paths
    patterns = [f"/{paths.decide}", f"/{paths.blocked}"]
    if workspace.log_folder_outside is None:
        patterns.insert(0, f"/{paths.logs}/")
    patterns += [f"/{folder}/" for folder in workspace.state_inside]
    patterns += workspace.source.excluded
    added = worktree_state.exclude(workspace.root, workspace.worktree.common_dir, patterns)
    if not added:
        return []
    message = f"added to .git/info/exclude: {', '.join(added)}"
    return [Notice(code="excluded", message=message)]


def _ended_in(journal: Path) -> Iterator[IterationEnded]:
    """The iterations of a journal as they ended; read when they are asked for."""
    for event in each_event(journal, kinds={"iterationEnded"}):
        if isinstance(event, IterationEnded):
            yield event


def _torn(read: JournalParts) -> list[Notice]:
    notices = []
    if read.torn:
        message = f"dropped the incomplete last line of the journal ({read.torn} bytes)"
        notices.append(Notice(code="journal-torn", message=message))
    if read.unreadable:
        lines = ", ".join(str(number) for number in read.unreadable[:5])
        message = f"unreadable lines of the journal were skipped: {lines}"
        notices.append(Notice(code="journal-unreadable", message=message))
    return notices


def claims_here(
    worktree: Worktree, state: StateFolder, settings: LoadedSettings
) -> tuple[trust.Claim, ...]:
    """What the repository brings that a run with these settings would use."""
    approved = trust.read_record(state).allowed
    claims = trust.claims_of(worktree.root, settings.config, settings.from_file, approved)
    return trust.claims_of_run(claims, settings.config, settings.overrides)


def require_program(
    name: str, environment: Mapping[str, str], worktree: Worktree, settings: LoadedSettings
) -> Path:
    """Path of the agent's program; raises what keeps it from starting before a run begins.

    A program that PATH finds in the work tree comes with the repository and was never shown to the
    user: ``NotAllowed``, unless the user named it for this run.
    """
    config = settings.config
    around = base_agent_environment(
        environment,
        extra=config.agents[config.agent].env if config.agent in config.agents else {},
        only=config.env.only,
    )
    program = find_program(name, around, worktree.root)
    is_given = f"agents.{config.agent}" in settings.overrides
    folder = Path(os.path.realpath(program.parent))
    if Path(name).name == name and not is_given and folder.is_relative_to(worktree.root):
        raise NotAllowed(
            f"the agent's program {name!r} is inside the work tree ({program}); name it by its "
            "path in argv and approve it with ralph allow, or give it with --agent-command"
        )
    return program


def _require_utf8(*paths: Path) -> None:
    """Raise ``StateUnusable`` for a path that is not UTF-8, as the journal and all reports are."""
    for path in paths:
        try:
            str(path).encode()
        except UnicodeEncodeError as error:
            raise StateUnusable(
                f"the path {printable_path(path)} is not UTF-8, so a run there cannot be "
                "recorded; rename the folder"
            ) from error


def _require_whole(overrides: Mapping[str, Any]) -> None:
    """A secret on the first command line was not kept, so it cannot be used again."""
    for key, value in overrides.items():
        if "[redacted " in str(value):
            raise UsageError(
                f"the run was started with a secret in {key}, which is not stored; give that flag "
                "again with --resume"
            )


def _given(overrides: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in overrides.items() if value is not None}
