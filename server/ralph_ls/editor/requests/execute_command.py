"""Execution of commands: mostly the request of the same name, with the arguments of a lens.

A lens names the run that it is about, so one that is clicked too late never steers another run.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lsprotocol import types

from ralph_ls.core.views.model.document_context import FileKind, open_question
from ralph_ls.editor.documents.loop_documents import LoopDocuments
from ralph_ls.editor.documents.snapshot import uri_of
from ralph_ls.editor.lsp.codec import read_params
from ralph_ls.editor.lsp.conversion import find_target
from ralph_ls.editor.lsp.errors import invalid_field
from ralph_ls.editor.lsp.language_server import RalphLanguageServer
from ralph_ls.editor.push import subscriptions
from ralph_ls.editor.requests import control, history, reviews, setup, tasks
from ralph_ls.editor.scheduling import run_in_thread
from ralph_ls.editor.worktree.workspaces import Workspaces, WorkspaceView
from ralph_ls.protocol.base import WireModel
from ralph_ls.protocol.config.config import PathsConfig
from ralph_ls.protocol.errors import NoEngine, StateUnusable
from ralph_ls.protocol.lsp.methods import (
    ANSWER,
    CHANGES,
    METHODS,
    NOTE,
    ROLLBACK,
    START,
    Method,
    ReplyResult,
    ShownResult,
)
from ralph_ls.protocol.lsp.row_methods import RollbackResult
from ralph_ls.protocol.lsp.setup import ConfigureParams, PlansParams
from ralph_ls.store.files import PRIVATE_FILE, make_private_folder, resolve_inside, write_atomic
from ralph_ls.store.layout import RUN_ID, RunFiles
from ralph_ls.store.run.halt_files import write_decide

LENS_KEYS = frozenset(
    {"run", "task", "start", "commit", "now", "continue", "path", "plan", "sha256"}
)
"""What lenses may bring; a command leaves alone what is not for it."""

RUN_INDEPENDENT = frozenset(
    {
        "lessons",
        "learn",
        "decideLesson",
        "start",
        "runTask",
        "replan",
        "showLog",
        "showFile",
        "showChanges",
        "showRollback",
        "showApproval",
        "allow",
        "changes",
        "rollback",
        "state",
    }
)
"""Commands that may be about an earlier run than the newest."""

OPENED, NOT_OPENED = "opened", "not-opened"
"""Codes of the answer where a document was to be shown."""

MOST_IN_MESSAGE = 4000
"""Characters of a text that a message can show in full."""

TEXT_METHODS = frozenset({ANSWER, NOTE})
"""Whose argument may be a plain text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandCall:
    """A command that the user gave."""

    server: RalphLanguageServer
    workspaces: Workspaces
    documents: LoopDocuments
    name: str
    """Without the prefix."""
    argument: Any
    """What came with it: nothing, an object, or a text."""

    @property
    def command(self) -> str:
        return f"ralph.{self.name}"

    def brought(self, key: str) -> Any:
        """A key of the object; None where there is none."""
        return self.argument.get(key) if isinstance(self.argument, dict) else None


async def execute_command(gesture: CommandCall) -> WireModel:
    """Do what was asked; raises as the request of the same name."""
    await gesture.workspaces.ready()
    if gesture.argument is not None and not isinstance(gesture.argument, dict | str):
        raise invalid_field(gesture.command, "argument", "must be an object, or a text")
    if isinstance(gesture.argument, dict):
        stale = await _stale(gesture)
        if stale is not None:
            return stale
    if (special := _SPECIAL.get(gesture.name)) is not None:
        return await special(gesture)
    params = _params(gesture, METHODS[f"ralph/{gesture.name}"])
    match gesture.name:
        case "skip" | "resetTask" | "editTask" as name:
            desk = tasks.TaskRequestContext(
                server=gesture.server, workspaces=gesture.workspaces, documents=gesture.documents
            )
            told: ReplyResult = await getattr(tasks, tasks.ORDERS[name])(desk, params)
            return told
        case "changes":
            return await control.iteration_changes(gesture.workspaces, params)
        case "state":
            return await subscriptions.state(gesture.workspaces, gesture.documents, params)
        case "lessons" | "learn" | "decideLesson" | "resumeFleetTask" as name:
            return await history.HANDLERS[name](gesture.workspaces, params)
        case name if name in setup.HANDLERS:
            return await setup.HANDLERS[name](gesture.workspaces, params)
        case name:
            result: ReplyResult = await getattr(control, name)(gesture.workspaces, params)
            return result


async def _run_task(gesture: CommandCall) -> ReplyResult:
    if not gesture.brought("task"):
        raise invalid_field(gesture.command, "task", "names the task to run")
    return await control.start(gesture.workspaces, _params(gesture, METHODS[START]))


async def _replan(gesture: CommandCall) -> ReplyResult:
    params = _params(gesture, METHODS[START]).model_copy(update={"replan": True})
    return await control.start(gesture.workspaces, params)


async def _answer(gesture: CommandCall) -> ReplyResult:
    if _lacks_text(gesture):
        return await _open_decide(gesture)
    return await control.answer(gesture.workspaces, _params(gesture, METHODS[ANSWER]))


def _lacks_text(gesture: CommandCall) -> bool:
    return not isinstance(gesture.argument, str) and gesture.brought("text") is None


def _params(gesture: CommandCall, method: Method) -> Any:
    """The request's params; raises ``JsonRpcInvalidParams``, which names the field."""
    argument = gesture.argument
    if isinstance(argument, str):
        if method.name not in TEXT_METHODS:
            raise invalid_field(gesture.command, "argument", "must be an object")
        argument = {"text": argument}
    known = {field.alias or name for name, field in method.params.model_fields.items()}
    brought = argument or {}
    given = {key: brought[key] for key in brought if key in known or key not in LENS_KEYS}
    return read_params(method, given)


async def _stale(gesture: CommandCall) -> ReplyResult | None:
    """The refusal of a lens whose run is not the newest any more."""
    run = gesture.brought("run")
    if run is None or gesture.name in RUN_INDEPENDENT:
        return None
    view = _view(gesture)
    await view.scan()
    state = view.picture().state
    if state is None or state.run == run:
        return None
    return ReplyResult(
        accepted=False, code="other-run", text=f"this is run {state.run}, not {run}", run=state.run
    )


def _view(gesture: CommandCall) -> WorkspaceView:
    workspace = gesture.brought("workspace")
    if workspace is not None and not isinstance(workspace, str):
        raise invalid_field(gesture.command, "workspace", "must be the folder's URI")
    return gesture.workspaces.named(workspace)


# ------------------------------------------------------------------------------------ opening files


async def _open_decide(gesture: CommandCall) -> ReplyResult:
    """Without a text: open the file in which the answer can be written."""
    view = await control.trusted_workspace(gesture.workspaces, gesture.brought("workspace"))
    await view.scan()
    seen = gesture.documents.seen(view, FileKind.DECIDE)
    if open_question(seen) is None:
        raise NoEngine("there is no open question here; check it: ralph status")
    await run_in_thread(lambda: _restore_decide_file(view), name="decide file")
    text = gesture.documents.seen(view, FileKind.DECIDE).text
    shown = await _show(gesture, view, view.decide_path, place=_end_of(text))
    if shown.code == OPENED:
        return shown
    how = f"write your answer at the end of {view.decide_path} and save it"
    return shown.model_copy(update={"text": f"{how}, or rename the line of the question to it"})


def _end_of(text: str) -> types.Position:
    """The end of the last line: some editors know no line after the text's last line end."""
    lines = text.removesuffix("\n").split("\n")
    # A position beyond a line's end means its end, in any encoding.
    return types.Position(line=len(lines) - 1, character=len(lines[-1].encode()))


def _restore_decide_file(view: WorkspaceView) -> None:
    """Write the file again where it vanished, as the engine does."""
    state = view.picture().state
    if view.decide_path.exists() or state is None or state.question is None:
        return
    root = view.root
    paths = PathsConfig(decide=view.decide_path.relative_to(root).as_posix())
    question = state.question
    write_decide(
        root,
        paths,
        question=question.question,
        iteration=question.iteration,
        asked_at=question.asked_at,
    )


async def _show_log(gesture: CommandCall) -> ReplyResult:
    view = _view(gesture)
    await view.scan()
    picture = view.picture()
    files, state = picture.run_files, picture.state
    if files is None or state is None:
        raise NoEngine(f"no run in {view.root} yet; start one with: ralph run")
    run, start = gesture.brought("run"), gesture.brought("start")
    if isinstance(run, str) and RUN_ID.fullmatch(run):
        files = RunFiles(folder=files.folder.parent / run)
    number = state.start if start is None else start
    if not isinstance(number, int) or isinstance(number, bool):
        raise invalid_field(gesture.command, "start", "must be the number of a start")
    target = find_target(f"start:{number}", view.root, files)
    if target is None:
        raise StateUnusable(f"start {number} has no log in {files.folder}; it was removed")
    return await _show(gesture, view, target.path)


async def _show_file(gesture: CommandCall) -> ReplyResult:
    path = gesture.brought("path")
    if not isinstance(path, str) or not path or "\0" in path:
        raise invalid_field(gesture.command, "path", "must be a path in the work tree")
    view = _view(gesture)
    file = resolve_inside(view.root, path)
    if not file.is_file():
        raise StateUnusable(f"{file} does not exist; create it, or name another file")
    return await _show(gesture, view, file)


async def _show(
    gesture: CommandCall, view: WorkspaceView, path: Path, *, place: types.Position | None = None
) -> ReplyResult:
    """Open a file where the client can; else show its path."""
    window = gesture.server.client_capabilities.window
    able = window is not None and window.show_document is not None and window.show_document.support
    if not able:
        return ReplyResult(accepted=True, code=NOT_OPENED, text=f"open {path}")
    params = types.ShowDocumentParams(
        uri=uri_of(view, path),
        take_focus=True,
        selection=None if place is None else types.Range(start=place, end=place),
    )
    shown = await gesture.server.window_show_document_async(params)
    if not shown.success:
        return ReplyResult(accepted=True, code=NOT_OPENED, text=f"open {path}")
    return ReplyResult(accepted=True, code=OPENED, text=str(path))


# --------------------------------------------------------------------------- reviews and approvals


async def _show_changes(gesture: CommandCall) -> ShownResult:
    path, text = await reviews.changes_text(gesture.workspaces, _params(gesture, METHODS[CHANGES]))
    return await _show_text(gesture, _view(gesture), path, text)


async def _show_rollback(gesture: CommandCall) -> ReplyResult:
    """Show what a rollback would undo; then it is among the code actions."""
    view, params = _view(gesture), _params(gesture, METHODS[ROLLBACK])
    found, text = await reviews.rollback_text(gesture.workspaces, params)
    if found.refused is not None:
        return ReplyResult(accepted=False, code=found.refused.code, text=text, run=found.run)
    shown = await _show_text(gesture, view, view.folders.state.review("rollback"), text)
    sha256 = reviews.remember_rollback(view, gesture.workspaces, found)
    return shown.model_copy(update={"sha256": sha256})


async def _rollback(gesture: CommandCall) -> RollbackResult:
    params, sha256 = _params(gesture, METHODS[ROLLBACK]), gesture.brought("sha256")
    if sha256 is not None and not params.dry_run:
        await reviews.require_reviewed(gesture.workspaces, params, sha256)
    return await control.rollback(gesture.workspaces, params)


async def _show_approval(gesture: CommandCall) -> ShownResult:
    """Show what waits for approval; once all of it was shown it can be allowed."""
    view = await control.trusted_workspace(gesture.workspaces, gesture.brought("workspace"))
    text, sha256 = await reviews.approval_text(gesture.workspaces, view)
    shown = await _show_text(gesture, view, view.folders.state.review("approval"), text)
    if sha256 is None or (shown.code != OPENED and len(text) > MOST_IN_MESSAGE):
        return shown
    reviews.remember_approval(view, gesture.workspaces, sha256)
    return shown.model_copy(update={"sha256": sha256})


async def _allow(gesture: CommandCall) -> ReplyResult:
    view = await control.trusted_workspace(gesture.workspaces, gesture.brought("workspace"))
    sha256 = gesture.brought("sha256")
    if not isinstance(sha256, str) or not sha256:
        raise invalid_field(gesture.command, "sha256", "names what was shown: ralph.showApproval")
    return await reviews.allow(gesture.workspaces, view, sha256)


async def _choose_plan(gesture: CommandCall) -> ReplyResult:
    """Make one of the plans that of every run; without a name, say which there are."""
    view = await control.trusted_workspace(gesture.workspaces, gesture.brought("workspace"))
    params = PlansParams(workspace=gesture.brought("workspace"))
    plans = (await setup.plans(gesture.workspaces, params)).plans
    name = gesture.brought("plan")
    found = [one for one in plans if name in {one.name, one.path}]
    if len(found) != 1:
        listed = ", ".join(f"{one.path} ({one.done}/{one.total})" for one in plans)
        text = f"name one of these plans by its path, as plan: {listed}"
        return ReplyResult(accepted=False, code="plan-unknown", text=text)
    order = ConfigureParams(workspace=params.workspace, key="paths.plan", value=found[0].path)
    await setup.configure(gesture.workspaces, order)
    await view.scan()
    return ReplyResult(
        accepted=True, code="chosen", text=f"the plan is {found[0].path} from now on"
    )


async def _show_text(
    gesture: CommandCall, view: WorkspaceView, path: Path, text: str
) -> ShownResult:
    """Open a text of ours as a private file; the answer has it in any case."""

    def write() -> None:
        make_private_folder(path.parent)
        write_atomic(path, text.encode("utf-8", errors="replace"), mode=PRIVATE_FILE)

    await run_in_thread(write, name="shown text")
    shown = await _show(gesture, view, path)
    return ShownResult(accepted=True, code=shown.code, text=shown.text, shown=text)


_SPECIAL: Mapping[str, Callable[[CommandCall], Awaitable[WireModel]]] = {
    "showLog": _show_log,
    "showFile": _show_file,
    "showChanges": _show_changes,
    "showRollback": _show_rollback,
    "showApproval": _show_approval,
    "allow": _allow,
    "choosePlan": _choose_plan,
    "rollback": _rollback,
    "answer": _answer,
    "runTask": _run_task,
    "replan": _replan,
}
"""Commands that are more than the request of the same name."""
