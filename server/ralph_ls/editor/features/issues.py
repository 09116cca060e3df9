"""The plan of a work tree whose tasks ``bd`` keeps, so that no file is the plan (SPEC §8).

While an engine works on it, what it read from ``bd`` last is the plan: it lies in its run's folder.
Else ``bd`` is asked, in a thread, and only when something of its files has changed since; never
in a folder that nobody trusts, since it is a program that the repository's own scripts may follow.
It must never know what is shown of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ralph_ls.editor.documents import Documents
from ralph_ls.editor.issues import IssuesSeen, ask_bd, read_kept
from ralph_ls.editor.pacing import Pacer
from ralph_ls.editor.threads import in_thread

if TYPE_CHECKING:
    from collections.abc import Callable

    from ralph_ls.editor.mended import MendedServer
    from ralph_ls.editor.workspaces import Workspaces, WorkspaceView
    from ralph_ls.protocol.lsp.options import EditorOptions

SHORTEST_REST = 2.0
"""Seconds between two times that ``bd`` is asked."""


def register(
    server: MendedServer,  # noqa: ARG001 -- every feature is registered alike
    workspaces: Workspaces,
    documents: Documents,
    options: Callable[[], EditorOptions],
) -> None:
    """Keep the plan of each such work tree up to date from now on."""

    async def look(view: WorkspaceView) -> None:
        from ralph_ls.core.plan.model import PlanKind

        if documents.is_over or view.plan_kind is not PlanKind.BEADS:
            return
        picture, known = view.picture(), view.issues
        kept = None if picture.run_files is None else picture.run_files.plan_before
        may_ask = not options().read_only
        parent = view.paths.parent

        def work() -> IssuesSeen | None:
            if picture.live or not may_ask:
                return None if kept is None else read_kept(kept, known)
            return ask_bd(view.root, view.folders.environment, known, parent)

        found = await in_thread(work, name="issues")
        if found is not None and found != known:
            view.issues = found
            if known is None or (found.text, found.parsed) != (known.text, known.parsed):
                workspaces.tell_change(view)

    pacer: Pacer[WorkspaceView] = Pacer(
        look, doing="reading issues", longest_rest=SHORTEST_REST, shortest_rest=SHORTEST_REST
    )
    workspaces.on_change(pacer.ask)
