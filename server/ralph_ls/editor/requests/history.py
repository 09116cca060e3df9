"""History requests: every run of a work tree, those that wait in any, and lessons from them.

Runs and iterations are read from their figures in a thread. A text is what the verb prints that a
terminal would have, from a separate process, so that an editor and a terminal say the same.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ralph_ls.core.loop.rules.health import bytes_words
from ralph_ls.core.plurals import count_of
from ralph_ls.core.redaction.redactor import Redactor
from ralph_ls.core.redaction.secret_names import secrets_of
from ralph_ls.core.views.model.control_chars import escape_control_chars
from ralph_ls.core.views.panel.lanes import lane_table
from ralph_ls.core.views.panel.rows import MAX_ROWS, measured_rows, with_roll_back, with_undone
from ralph_ls.core.views.report.dashboard import clean_run, kept_run, with_clean_texts
from ralph_ls.editor.requests.control import trusted_workspace
from ralph_ls.editor.scheduling import run_in_thread
from ralph_ls.protocol.errors import RalphError, ReadOnly
from ralph_ls.protocol.json_output import RunAnywhere, RunsEverywhere
from ralph_ls.protocol.lsp.row_methods import (
    AnywhereParams,
    Inspection,
    InspectParams,
    IterationsParams,
    IterationsResult,
    LanesParams,
    LanesResult,
    MaintainParams,
    MaintainResult,
    ResumeFleetTaskParams,
    RunsParams,
    RunsResult,
    TextResult,
    Upkeep,
)
from ralph_ls.protocol.verb_output import Pruned
from ralph_ls.store.figures import read_dashboard, read_digests, read_runs
from ralph_ls.store.fleet_waiting import resume_task, waiting_runs
from ralph_ls.store.layout import StateFolder, state_root
from ralph_ls.store.run.ancestry import require_outside_all
from ralph_ls.store.run.iterations import read_rollbacks
from ralph_ls.store.run.launch import parse_refusal, run_to_end
from ralph_ls.store.run.lock import is_held
from ralph_ls.store.run.runs import find_run, runs_anywhere, with_journals
from ralph_ls.store.run.state_index import every_worktree

if TYPE_CHECKING:
    from datetime import tzinfo

    from ralph_ls.editor.worktree.workspaces import Workspaces, WorkspaceView
    from ralph_ls.protocol.base import WireModel
    from ralph_ls.protocol.dashboard import Dashboard, DashboardParams
from typing import TYPE_CHECKING

from ralph_ls.editor.lsp.errors import invalid_field
from ralph_ls.protocol.lessons import (
    DecideLessonParams,
    Learned,
    LearnParams,
    LessonAction,
    LessonDecided,
    LessonList,
    LessonsParams,
)
from ralph_ls.protocol.lsp.methods import DECIDE_LESSON

if TYPE_CHECKING:
    from ralph_ls.editor.worktree.workspaces import Workspaces, WorkspaceView


DRY_RUN = "this was a dry run"
"""End of the line with which a verb in a terminal says that it changed nothing."""

MAX_LISTED_RUNS = 10
"""Runs that a question names before their output is deleted."""

COLUMNS = "100"
"""Width of the texts, as a terminal would have it."""


def _clean(workspaces: Workspaces) -> Callable[[str], str]:
    redactor = Redactor(secrets_of(workspaces.environment))
    return lambda text: escape_control_chars(redactor.redact(text))


async def dashboard(workspaces: Workspaces, params: DashboardParams) -> Dashboard:
    """``ralph/dashboard``."""
    await workspaces.ready()
    named = params.workspace
    views = workspaces.all() if named is None else [workspaces.named(named)]
    places = [(view.worktree, view.folders.state) for view in views]
    now, clean = workspaces.now(), _clean(workspaces)

    def read() -> Dashboard:
        found = read_dashboard(places, now=now, zone=now.astimezone().tzinfo)
        return with_clean_texts(found, clean)

    return await run_in_thread(read, name="dashboard")


async def runs(workspaces: Workspaces, params: RunsParams) -> RunsResult:
    """``ralph/runs``."""
    await workspaces.ready()
    view = workspaces.named(params.workspace)
    zone = workspaces.now().astimezone().tzinfo
    clean = _clean(workspaces)

    def read() -> RunsResult:
        kept = read_digests(view.worktree, view.folders.state, zone)
        return RunsResult(
            runs=tuple(kept_run(one, clean) for one in reversed(kept)),
            anywhere=tuple(clean_run(one, clean) for one in _waiting(workspaces)),
        )

    return await run_in_thread(read, name="runs")


async def anywhere(workspaces: Workspaces, _: AnywhereParams) -> RunsEverywhere:
    """``ralph/anywhere``."""
    clean = _clean(workspaces)
    found = await run_in_thread(partial(_waiting, workspaces), name="runs anywhere")
    return RunsEverywhere(runs=tuple(clean_run(one, clean) for one in found))


def _waiting(workspaces: Workspaces) -> list[RunAnywhere]:
    places = every_worktree(state_root(workspaces.environment))
    zone = workspaces.now().astimezone().tzinfo
    found = runs_anywhere(places, zone=zone, load=workspaces.known_states.load)
    return found + waiting_runs(workspaces.environment)


async def resume_fleet_task(workspaces: Workspaces, params: ResumeFleetTaskParams) -> TextResult:
    """``ralph/resumeFleetTask``."""
    await workspaces.ready()
    if workspaces.options().read_only:
        raise ReadOnly("this window is in restricted mode; answer in a terminal: ralph inbox")

    def resume() -> str:
        worktrees = state_root(workspaces.environment) / "worktrees"
        require_outside_all(worktrees, "a request to the language server")
        return resume_task(workspaces.environment, params.task, params.text)

    return TextResult(text=await run_in_thread(resume, name="resume a fleet's task"))


async def iterations(workspaces: Workspaces, params: IterationsParams) -> IterationsResult:
    """``ralph/iterations``: one page; the rows have what figures have."""
    await workspaces.ready()
    view = workspaces.named(params.workspace)
    return await run_in_thread(partial(_page, view, params), name="iterations")


async def lanes(workspaces: Workspaces, params: LanesParams) -> LanesResult:
    """``ralph/lanes``: what the panel has of them, and where their runs are."""
    await workspaces.ready()
    view = workspaces.named(params.workspace)
    root, zone = state_root(workspaces.environment), workspaces.now().astimezone().tzinfo

    def read() -> LanesResult:
        found = find_run(view.worktree, view.folders.state)
        if found is None:
            return LanesResult()
        shown = lane_table(found.state, found.phase, zone=zone)
        return LanesResult(lanes=None if shown is None else with_journals(shown, found, root))

    return await run_in_thread(read, name="lanes")


def _page(view: WorkspaceView, params: IterationsParams) -> IterationsResult:
    worktree, state = view.worktree, view.folders.state
    (run,) = read_runs(worktree, state, run=params.run)
    found = find_run(worktree, state)
    if found is not None:
        state = StateFolder(folder=found.files.folder.parent.parent)
    rows = with_undone(measured_rows(run), run.run, read_rollbacks(state))
    rows = with_roll_back(rows, live=is_held(worktree.git_dir))
    wanted = [row for row in rows if params.before is None or row.start < params.before]
    shown = tuple(wanted[:MAX_ROWS])
    return IterationsResult(rows=shown, older=len(wanted) - len(shown))


async def inspect(workspaces: Workspaces, params: InspectParams) -> TextResult:
    """``ralph/inspect``: what the verb prints; a check that found something is no failure."""
    await workspaces.ready()
    if params.what in {Inspection.DOCTOR, Inspection.DRY_RUN}:
        # They ask programs that the settings of the work tree name.
        view = await trusted_workspace(workspaces, params.workspace)
    else:
        view = workspaces.named(params.workspace)
    return await _print(workspaces, view, _arguments(params))


def _arguments(params: InspectParams) -> list[str]:
    # An id begins with a digit, so it is never taken for a flag.
    run = [] if params.run is None else [params.run]
    match params.what:
        case Inspection.DOCTOR:
            return ["doctor"]
        case Inspection.DRY_RUN:
            return ["run", "--dry-run"]
        case Inspection.WHY:
            return ["status", "--why"]
        case Inspection.STATS:
            return ["runs"]
        case Inspection.CSV | Inspection.JSON:
            return ["export", "--format", params.what.value, *(f"--run={one}" for one in run)]
        case Inspection.REPORT:
            return ["report", *run]
        case Inspection.SHOW:
            number = [] if params.iteration is None else [str(params.iteration)]
            return ["show", *run, *number]


async def maintain(workspaces: Workspaces, params: MaintainParams) -> MaintainResult:
    """``ralph/maintain``: the editor asked the user, and showed a dry run."""
    view = await trusted_workspace(workspaces, params.workspace)
    arguments = {Upkeep.ARCHIVE: ["archive"], Upkeep.PRUNE: ["prune", "--yes"]}[params.what]
    arguments += ["--dry-run"] if params.dry_run else []
    if params.dry_run and params.what is Upkeep.PRUNE:
        listed = await _print(workspaces, view, [*arguments, "--json"])
        found = Pruned.model_validate_json(listed.text)
        if found.runs:
            text = _clean(workspaces)(_prune_words(found, workspaces.now().astimezone().tzinfo))
            return MaintainResult(text=text)
    printed = await _print(workspaces, view, arguments)
    if not params.dry_run:
        await view.scan()
    # The editor asks whether to do it.
    lines = [line for line in printed.text.splitlines() if not line.endswith(DRY_RUN)]
    return MaintainResult(
        text="\n".join(lines), nothing=params.dry_run and params.what is Upkeep.PRUNE
    )


def _prune_words(found: Pruned, zone: tzinfo | None) -> str:
    """What would be deleted, in lines for a dialog, which has no columns."""
    lines = [
        f"{one.ended_at.astimezone(zone):%Y-%m-%d %H:%M}: {count_of(one.files, 'file')}, "
        f"{bytes_words(one.bytes)} ({one.setting})"
        for one in found.runs[:MAX_LISTED_RUNS]
    ]
    more = len(found.runs) - len(lines)
    lines += [f"{count_of(more, 'more run')}"] if more else []
    freed = sum(one.bytes for one in found.runs)
    total = f"{bytes_words(freed)} of {bytes_words(found.bytes)} can be freed"
    return "\n".join(["Runs by the time of their end:", *lines, total])


async def _print(workspaces: Workspaces, view: WorkspaceView, arguments: list[str]) -> TextResult:
    environment = {**workspaces.environment, "COLUMNS": COLUMNS, "NO_COLOR": "1"}
    run_it = partial(run_to_end, arguments, cwd=view.root, environment=environment)
    ran = await run_in_thread(run_it, name=arguments[0])
    if ran.exit_code != 0:
        refusal = parse_refusal(ran.error)
        if refusal is not None:
            raise refusal
        if not ran.out.strip():
            failed = f"ralph {arguments[0]} ended with code {ran.exit_code}"
            raise RalphError(f"{failed}: {ran.error}" if ran.error else failed)
    return TextResult(text=ran.out)


# Lessons: the list, and the user's decisions.
#
# What runs is ``ralph lessons``, so that an editor and a terminal do the same. An acceptance
# carries the hash of what was shown and is refused where that differs by now
# (docs/rules.md#lessons).


async def lessons(workspaces: Workspaces, params: LessonsParams) -> LessonList:
    """``ralph/lessons``."""
    await workspaces.ready()
    view = workspaces.named(params.workspace)
    return LessonList.model_validate_json(await _run(workspaces, view, ["lessons", "--json"]))


async def learn(workspaces: Workspaces, params: LearnParams) -> Learned:
    """``ralph/learn``; what it proposes is in no prompt."""
    view = await trusted_workspace(workspaces, params.workspace)
    return Learned.model_validate_json(await _run(workspaces, view, ["learn", "--json"]))


async def decide_lesson(workspaces: Workspaces, params: DecideLessonParams) -> LessonDecided:
    """``ralph/decideLesson``: accepts exactly what was shown, rejects or removes."""
    view = await trusted_workspace(workspaces, params.workspace)
    order = ["lessons", params.action.value, params.path, "--json"]
    if params.action is LessonAction.ACCEPT:
        if params.sha256 is None:
            raise invalid_field(DECIDE_LESSON, "sha256", "names what was shown: ralph/lessons")
        order.append(f"--shown={params.sha256}")
        order += [f"--scope={params.scope.value}"] if params.scope is not None else []
        order += [f"--match={word}" for word in params.match]
    return LessonDecided.model_validate_json(await _run(workspaces, view, order))


async def _run(workspaces: Workspaces, view: WorkspaceView, order: list[str]) -> str:
    run_it = partial(run_to_end, order, cwd=view.root, environment=workspaces.environment)
    ran = await run_in_thread(run_it, name=order[0])
    if ran.exit_code == 0:
        return ran.out
    why = ran.error.removeprefix("ralph: ").strip()
    failed = f"ralph {' '.join(order[:2])} ended with code {ran.exit_code}"
    raise parse_refusal(ran.error) or RalphError(f"{failed}: {why}" if why else failed)


HANDLERS: Mapping[str, Callable[[Workspaces, Any], Awaitable[WireModel]]] = MappingProxyType(
    {
        "dashboard": dashboard,
        "runs": runs,
        "anywhere": anywhere,
        "iterations": iterations,
        "lanes": lanes,
        "inspect": inspect,
        "maintain": maintain,
        "lessons": lessons,
        "learn": learn,
        "decideLesson": decide_lesson,
        "resumeFleetTask": resume_fleet_task,
    }
)
"""By the name behind ``ralph/``."""
