"""Issues of ``bd`` for an editor: as an engine kept them, or read from ``bd``.

All of it blocks, and may be called from any thread.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ralph_ls.core.plan.model import ParsedPlan

PATIENCE = 30.0
"""Seconds that ``bd`` gets."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownIssues:
    """What is known of the issues."""

    text: str
    """Of a snapshot; empty where they cannot be read."""
    parsed: ParsedPlan
    signs: tuple[object, ...]
    """What differs when they have to be read again."""


def read_stored_issues(path: Path, known: KnownIssues | None) -> KnownIssues | None:
    """What the engine read last, where it has read anything; what is known where that is it."""
    from ralph_ls.core.plan.formats.beads.snapshot import parse_beads
    from ralph_ls.editor.worktree.snapshot import signature_of
    from ralph_ls.store.files import read_if_there

    signs = (str(path), signature_of(path))
    if known is not None and known.signs == signs:
        return known
    try:
        data = read_if_there(path)
    except OSError:
        data = None
    if data is None:
        return known
    text = data.decode("utf-8", errors="replace")
    return KnownIssues(text=text, parsed=parse_beads(text), signs=signs)


def query_bd(
    root: Path, environment: Mapping[str, str], known: KnownIssues | None, parent: str | None
) -> KnownIssues:
    """What ``bd`` says, where it may say something else than last time."""
    from ralph_ls.core.plan.formats.beads.snapshot import (
        parse_beads,
        snapshot_from_text,
        snapshot_to_text,
    )
    from ralph_ls.core.plan.model import ParsedPlan, Plan
    from ralph_ls.editor.worktree.snapshot import issue_signature
    from ralph_ls.protocol.errors import RalphError
    from ralph_ls.protocol.plan import PlanProblem
    from ralph_ls.store.external.bd import find_bd, read_snapshot

    if known is not None and known.signs == (parent, *issue_signature(root)):
        return known
    before = None if known is None or not known.text else snapshot_from_text(known.text)
    try:
        bd = find_bd(root, environment, timeout_seconds=PATIENCE)
        text = snapshot_to_text(read_snapshot(bd, parent=parent, before=before))
        parsed = parse_beads(text)
    except RalphError as error:
        problem = PlanProblem(code="issues-missing", message=error.message, line=1)
        text, parsed = "", ParsedPlan(plan=Plan(), problems=(problem,))
    # Taken afterwards: reading may touch the files as well.
    return KnownIssues(text=text, parsed=parsed, signs=(parent, *issue_signature(root)))
