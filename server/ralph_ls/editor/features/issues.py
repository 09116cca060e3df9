"""Issues as a plan: the tasks of a work tree that ``bd`` keeps (docs/rules.md#beads).

While an engine works on it, the plan is what the engine read from ``bd`` last, in its run's folder.
Else ``bd`` is asked, in a thread, and only after something of its files has changed; never in an
untrusted folder, since the repository's own scripts may hook into it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ralph_ls.editor.scheduling import Throttle, run_in_thread
from ralph_ls.editor.worktree.issues import KnownIssues, query_bd, read_stored_issues

if TYPE_CHECKING:
    from ralph_ls.editor.registration import FeatureContext
    from ralph_ls.editor.worktree.workspaces import WorkspaceView

SHORTEST_REST = 2.0
"""Seconds between two times that ``bd`` is asked."""


def register(context: FeatureContext) -> None:
    """Keep the plan of each such work tree up to date from now on."""
    workspaces, documents, options = context.workspaces, context.documents, context.options

    async def read(view: WorkspaceView) -> None:
        from ralph_ls.core.plan.model import PlanKind

        if documents.is_over or view.plan_kind is not PlanKind.BEADS:
            return
        known = view.issues
        found = await _read_issues(view, may_ask=not options().read_only)
        if found is not None and found != known:
            view.issues = found
            if known is None or (found.text, found.parsed) != (known.text, known.parsed):
                workspaces.notify_change(view)

    pacer: Throttle[WorkspaceView] = Throttle(
        read, doing="reading issues", longest_rest=SHORTEST_REST, shortest_rest=SHORTEST_REST
    )
    workspaces.on_change(pacer.ask)


async def _read_issues(view: WorkspaceView, *, may_ask: bool) -> KnownIssues | None:
    """As an engine that works on them has kept them, or from ``bd``."""
    picture, known = view.picture(), view.issues
    kept = None if picture.run_files is None else picture.run_files.plan_before
    parent = view.paths.parent

    def work() -> KnownIssues | None:
        if picture.live or not may_ask:
            return None if kept is None else read_stored_issues(kept, known)
        return query_bd(view.root, view.folders.environment, known, parent)

    return await run_in_thread(work, name="issues")
