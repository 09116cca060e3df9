"""Orders to a run: stop, pause, resume, reset, answer, note, start; changes and rollback.

A living engine answers in its journal; without one the user's answer is written to its file, and
the run may be resumed (docs/rules.md#inbox). A refusal by the engine is an answer with ``accepted``
false; what could not even be asked is an error with a code. Reading is done here, in threads; what
changes the repository is a separate process, the same that a terminal would start.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from ralph_ls.editor.lsp.errors import invalid_field
from ralph_ls.editor.scheduling import run_in_thread
from ralph_ls.editor.worktree.workspaces import Workspaces, WorkspaceView
from ralph_ls.protocol.base import WorkspaceParams
from ralph_ls.protocol.config.agent import PromptBy
from ralph_ls.protocol.config.config import FirstMode
from ralph_ls.protocol.errors import NoEngine, RalphError, ReadOnly
from ralph_ls.protocol.lsp.methods import (
    START,
    AnswerParams,
    NoteParams,
    OverruleParams,
    PauseParams,
    ReplyResult,
    ResetParams,
    ResumeParams,
    StartParams,
    StopParams,
)
from ralph_ls.protocol.lsp.row_methods import ChangesResult, FileAtResult, RollbackResult
from ralph_ls.store.external.git_objects import file_at
from ralph_ls.store.layout import state_root
from ralph_ls.store.run import steering
from ralph_ls.store.run.ancestry import require_outside
from ralph_ls.store.run.iterations import changes_of
from ralph_ls.store.run.launch import (
    EDITOR_LIMIT,
    StartedRun,
    StartOrder,
    run_to_end,
    start_detached,
)
from ralph_ls.store.run.steering import CommandContext, CommandOutcome, lane_context

Steer = Callable[[CommandContext], CommandOutcome]


async def start(workspaces: Workspaces, params: StartParams) -> ReplyResult:
    """``ralph/start``: answers once the run has begun, or raises why it has not."""
    view = await trusted_workspace(workspaces, params.workspace)
    begun = await _start(workspaces, view, overrides=_overrides(params), resume=params.resume)
    limit = "" if begun.limit is None else f", at most {begun.limit} iterations"
    goes_on = "continues" if params.resume else "started"
    text = f"run {begun.run} {goes_on} in the background (pid {begun.pid}){limit}"
    return ReplyResult(accepted=True, code="accepted", text=text, run=begun.run)


async def stop(workspaces: Workspaces, params: StopParams) -> ReplyResult:
    """``ralph/stop``."""
    return await _steer(workspaces, params, partial(steering.stop, now=params.now))


async def pause(workspaces: Workspaces, params: PauseParams) -> ReplyResult:
    """``ralph/pause``."""
    return await _steer(workspaces, params, steering.pause)


async def resume(workspaces: Workspaces, params: ResumeParams) -> ReplyResult:
    """``ralph/resume``."""
    return await _steer(workspaces, params, steering.resume, go_on=params.go_on)


async def reset(workspaces: Workspaces, params: ResetParams) -> ReplyResult:
    """``ralph/reset``."""
    return await _steer(workspaces, params, steering.reset, go_on=params.go_on)


async def overrule(workspaces: Workspaces, params: OverruleParams) -> ReplyResult:
    """``ralph/overrule``."""
    steer = partial(steering.overrule, task=params.task)
    return await _steer(workspaces, params, steer, go_on=params.go_on)


async def answer(workspaces: Workspaces, params: AnswerParams) -> ReplyResult:
    """``ralph/answer``."""
    root = state_root(workspaces.environment)
    steer = partial(_answer, text=params.text.strip(), task=params.task, root=root)
    return await _steer(workspaces, params, steer, go_on=params.go_on)


def _answer(context: CommandContext, *, text: str, task: str | None, root: Path) -> CommandOutcome:
    """To the run, or to that of the lane that has a task."""
    return steering.answer(context if task is None else lane_context(context, task, root), text)


async def note(workspaces: Workspaces, params: NoteParams) -> ReplyResult:
    """``ralph/note``."""
    return await _steer(workspaces, params, partial(steering.note, text=params.text.strip()))


async def _steer(
    workspaces: Workspaces, params: WorkspaceParams, steer: Steer, *, go_on: bool = False
) -> ReplyResult:
    view = await trusted_workspace(workspaces, params.workspace)
    hands = CommandContext(
        worktree=view.worktree,
        state=view.folders.state,
        by=workspaces.by,
        now=workspaces.now(),
    )
    steered = await run_in_thread(partial(steer, hands), name="steering")
    reply, run = steered.reply, steered.run
    if not (steered.waits and go_on):
        text = f"{reply.text}; {steered.hint}" if steered.waits else reply.text
        await view.scan()
        return ReplyResult(accepted=reply.accepted, code=reply.code, text=text, run=run)
    if not steered.can_resume:
        raise NoEngine(f"{reply.text}, but the run cannot continue; {steered.hint}")
    begun = await _start(workspaces, view, overrides={}, resume=True)
    text = f"{reply.text}; run {begun.run} continues in the background (pid {begun.pid})"
    return ReplyResult(accepted=True, code="continued", text=text, run=begun.run)


async def trusted_workspace(workspaces: Workspaces, workspace: str | None) -> WorkspaceView:
    """The work tree that is meant.

    Raises ``ReadOnly`` where nothing may be started or changed, and ``FromInside`` where an
    iteration of the work tree has started this server.
    """
    await workspaces.ready()
    view = workspaces.named(workspace)
    if workspaces.options().read_only:
        raise ReadOnly(
            f"{view.root} is open in restricted mode, so nothing can be started or changed here; "
            "trust the folder in the editor, or use a terminal"
        )
    check = partial(
        require_outside, view.worktree, view.folders.state, "a request to the language server"
    )
    await run_in_thread(check, name="ancestry")
    return view


async def _start(
    workspaces: Workspaces, view: WorkspaceView, *, overrides: dict[str, Any], resume: bool
) -> StartedRun:
    order = StartOrder(
        environment=workspaces.environment,
        overrides=overrides,
        resume=resume,
        by=workspaces.by,
        default_limit=EDITOR_LIMIT,
    )
    now = workspaces.now()
    start_it = partial(start_detached, view.worktree, view.folders.state, order, now)
    begun = await run_in_thread(start_it, name="start")
    await view.scan()
    return begun


def _overrides(params: StartParams) -> dict[str, Any]:
    """The settings of this run alone: dotted snake_case key to value."""
    if params.agent is not None and params.agent_command is not None:
        raise invalid_field(START, "agentCommand", "give agent or agentCommand, not both")
    if params.agent_prompt is not None and params.agent_command is None:
        raise invalid_field(START, "agentPrompt", "goes with agentCommand")
    overrides: dict[str, Any] = {
        "max_iterations": params.max_iterations,
        "profile": None if params.profile is None else params.profile.value,
        "agent": params.agent,
        "paths.plan": params.plan,
        "task": params.task,
        "parallel": params.parallel,
        "timeouts.iteration": params.timeout,
        "on_halt": None if params.on_halt is None else params.on_halt.value,
        "mode": FirstMode.PLAN.value if params.replan else None,
    }
    if params.agent_command is not None:
        prompt = params.agent_prompt or PromptBy.STDIN
        table = {"argv": list(params.agent_command), "prompt": prompt.value}
        overrides |= {"agent": "command", "agents.command": table}
    return overrides


if TYPE_CHECKING:
    from ralph_ls.editor.worktree.workspaces import Workspaces
    from ralph_ls.protocol.lsp.row_methods import ChangesParams, FileAtParams, RollbackParams


async def iteration_changes(workspaces: Workspaces, params: ChangesParams) -> ChangesResult:
    """``ralph/changes``."""
    await workspaces.ready()
    view = workspaces.named(params.workspace)
    read = partial(
        changes_of,
        view.worktree,
        view.folders.state,
        run=params.run,
        start=params.start,
    )
    return await run_in_thread(read, name="changes")


async def file_at_commit(workspaces: Workspaces, params: FileAtParams) -> FileAtResult:
    """``ralph/fileAt``."""
    await workspaces.ready()
    view = workspaces.named(params.workspace)
    read = partial(file_at, view.root, params.commit, params.path)
    return await run_in_thread(read, name="file")


async def rollback(workspaces: Workspaces, params: RollbackParams) -> RollbackResult:
    """``ralph/rollback``: the editor asked the user, and showed a dry run."""
    view = await trusted_workspace(workspaces, params.workspace)
    arguments = ["rollback", "--before", str(params.start), "--json", "--yes"]
    # In one word with its flag, so that nothing which begins with a dash is taken for another.
    arguments += [] if params.run is None else [f"--run={params.run}"]
    arguments += ["--force"] if params.force else []
    arguments += ["--dry-run"] if params.dry_run else []
    run_it = partial(run_to_end, arguments, cwd=view.root, environment=workspaces.environment)
    ran = await run_in_thread(run_it, name="rollback")
    await view.scan()
    try:
        return RollbackResult.model_validate_json(ran.out)
    except ValidationError as error:
        output = ran.error.removeprefix("ralph: ") or f"it ended with code {ran.exit_code}"
        raise RalphError(f"rolling back failed: {output}") from error
