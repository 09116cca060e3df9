"""How a work tree stands, whole and in words: what ``ralph/state`` and ``ralph/view`` tell.

It is put together from what is known of the run and from the plan as it stands in the editor. It
must never know who is told, nor how often.
"""

from __future__ import annotations

from datetime import datetime
from functools import partial
from pathlib import Path

from ralph_ls.core.views.model.document_context import DocumentContext, FileKind
from ralph_ls.core.views.panel.panel import panel
from ralph_ls.core.views.panel.rows import plan_rows
from ralph_ls.editor.documents import Documents
from ralph_ls.editor.picture import Picture
from ralph_ls.editor.sights import Sight
from ralph_ls.editor.workspaces import WorkspaceView
from ralph_ls.protocol.lsp.methods import StateResult
from ralph_ls.protocol.lsp.panel import PlanRows
from ralph_ls.store.project.plan_file import BD


async def state_of(view: WorkspaceView, documents: Documents, now: datetime) -> StateResult:
    """All of it; a large plan is looked at in a thread."""
    picture, plan = view.picture(), view.plan_path
    with_plan = partial(_with_plan, picture, _relative(plan, view.root), now)
    found = await documents.look(view, FileKind.PLAN, with_plan)
    if found is not None:
        return found
    seen = documents.seen(view, FileKind.PLAN)
    rows = plan_rows(seen, uri=None, path="" if view.issues is None else BD)
    return _result(picture, seen, rows, now)


def _with_plan(picture: Picture, path: str, now: datetime, sight: Sight) -> StateResult:
    rows = plan_rows(sight.seen, uri=sight.uri, path=path)
    return _result(picture, sight.seen, rows, now)


def _result(picture: Picture, seen: DocumentContext, plan: PlanRows, now: datetime) -> StateResult:
    shown = panel(seen, picture.rows.rows, now)
    state, files = picture.state, picture.run_files
    return StateResult(
        # Fingerprints are for the loop alone, and a long run has very many.
        run=None if state is None else state.model_copy(update={"seen": ()}),
        phase=None if state is None else picture.phase,
        live=picture.live,
        pid=picture.pid,
        needs_person=shown.needs_person,
        answers=shown.answers,
        panel=shown,
        plan=plan,
        journal=None if state is None or files is None else str(files.journal),
    )


def _relative(plan: Path | None, root: Path) -> str:
    return "" if plan is None else plan.relative_to(root).as_posix()
