"""``ralph plan --all``: the plans of a repository, with the progress of each."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path

from ralph_ls.cli.context import CommandWorktree, current_worktree
from ralph_ls.cli.output import emit_document, print_text
from ralph_ls.core.loop.profiles import PROFILES
from ralph_ls.core.plan.formats.github.format import MIRROR
from ralph_ls.core.plan.formats.registry import FORMATS
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.protocol.errors import PlanMissing, RalphError, WorkspaceMissing
from ralph_ls.protocol.lsp.setup import FoundPlan, PlansResult
from ralph_ls.store.project.config_file import load_settings
from ralph_ls.store.project.detection import DetectedPlan, how_to_begin, name_likely_plans
from ralph_ls.store.project.plan_choice import all_plans, progress_of, short_name
from ralph_ls.store.project.plan_file import PlanLocation


def list_plans(*, as_json: bool) -> None:
    """Show every plan that is here, the one that ``ralph run`` takes with an arrow."""
    place, reason = _worktree_here()
    root = Path.cwd() if place is None else place.worktree.root
    found = [*_own_plans(root), *all_plans(root)]
    if not any(one.path == MIRROR for one in found):
        found += _unread_queue(root)
    if not found and reason is not None:
        raise WorkspaceMissing(f"{reason.message}{name_likely_plans(root)}")
    if not found:
        raise PlanMissing(f"no plan in {root}{how_to_begin(root, 'create one: ralph init')}")
    chosen = None if place is None else _chosen(place)
    rows = [(one, *progress_of(root, one)) for one in found]
    if as_json:
        plans = tuple(_row(*row, is_chosen=_is_at(chosen, row[0])) for row in rows)
        emit_document(PlansResult(plans=plans))
        return
    _show(root, rows, chosen)
    if place is not None:
        _show_choice(rows, chosen)


def _worktree_here() -> tuple[CommandWorktree | None, WorkspaceMissing | None]:
    """The work tree, or why there is none: plans can be listed in any folder."""
    try:
        return current_worktree(), None
    except WorkspaceMissing as error:
        return None, error


def _show(
    root: Path, rows: Sequence[tuple[DetectedPlan, int, int]], chosen: PlanLocation | None
) -> None:
    found = [one for one, _, _ in rows]
    width = max(len(one.name) for one in found)
    for one, done, total in rows:
        mark = "▸" if _is_at(chosen, one) else " "
        words = f"{done}/{total} tasks done" if total else "no tasks"
        if not (root / one.path).exists():
            words = "not read yet"
        print_text(
            f"{mark} {one.name:{width}}  {words:16}  {FORMATS[one.kind].title}  {one.address}"
        )


def _show_choice(
    rows: Sequence[tuple[DetectedPlan, int, int]], chosen: PlanLocation | None
) -> None:
    """Name one of the others, with open tasks if there is any such."""
    others = [row for row in rows if not _is_at(chosen, row[0])]
    other = next((row for row in others if row[1] < row[2]), next(iter(others), None))
    if other is not None:
        name = shlex.quote(short_name([one for one, _, _ in rows], other[0]))
        print_text(f"\nChoose one: ralph run --plan {name}")


def _own_plans(root: Path) -> list[DetectedPlan]:
    """The plans of the profiles."""
    return [
        DetectedPlan(kind=profile.plan_kind, path=name)
        for profile in PROFILES.values()
        for name in profile.plan_files
        if (root / name).is_file()
    ]


def _unread_queue(root: Path) -> list[DetectedPlan]:
    """The issues on GitHub that the settings name; GitHub is not asked for them."""
    try:
        is_chosen = load_settings(root, os.environ, {}).config.paths.plan == MIRROR
    except RalphError:
        is_chosen = False
    return [DetectedPlan(kind=PlanKind.GITHUB, path=MIRROR)] if is_chosen else []


def _chosen(place: CommandWorktree) -> PlanLocation | None:
    """The plan that a run takes; None where nobody chose."""
    try:
        return place.require_plan()
    except RalphError:
        return None


def _is_at(place: PlanLocation | None, plan: DetectedPlan) -> bool:
    if place is None or place.path != plan.path:
        return False
    return plan.tag == place.tag if plan.tag and place.tag else plan.is_current


def _row(one: DetectedPlan, done: int, total: int, *, is_chosen: bool) -> FoundPlan:
    return FoundPlan(
        name=one.name,
        path=one.address,
        format=one.kind.value,
        title=FORMATS[one.kind].title,
        done=done,
        total=total,
        chosen=is_chosen,
    )
