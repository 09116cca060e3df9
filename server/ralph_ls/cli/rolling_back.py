"""``rollback``: take the branch back to before an iteration, after showing what that undoes."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ralph_ls.cli.context import here
from ralph_ls.cli.flags import Json
from ralph_ls.cli.output import say, write_json
from ralph_ls.cli.steer import REJECTED
from ralph_ls.core.plurals import count_of
from ralph_ls.protocol.errors import UsageError
from ralph_ls.protocol.lsp.row_methods import RollbackResult

SHOWN = 20
"""Commits and files that a person is shown of each."""


def rollback(
    count: Annotated[
        int | None, typer.Argument(metavar="N", min=1, help="How many iterations are undone.")
    ] = None,
    before: Annotated[
        int | None,
        typer.Option("--before", metavar="K", min=1, help="Instead of N: to before start K."),
    ] = None,
    run: Annotated[str | None, typer.Option(help="Of this run, not of the newest one.")] = None,
    force: Annotated[
        bool, typer.Option("--force", help="Undo commits that no iteration made, too.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be undone.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    as_json: Json = False,
) -> None:
    """Take the branch back by N iterations; what is undone stays on a branch of its own."""
    from ralph_ls.engine.clock import SystemClock
    from ralph_ls.engine.delivery.branch_rollback import RollbackOrder, preview_rollback, roll_back

    place, now = here(), SystemClock().now()
    wanted = RollbackOrder(start=_start(count, before, run), run=run, force=force)
    asks = sys.stdin.isatty() and not as_json
    shown = preview_rollback(place.worktree, place.state, wanted, now)
    if shown.refused is not None or dry_run:
        _tell(shown, as_json=as_json)
        return
    if not yes and not asks:
        raise UsageError(
            "nobody is here to be asked; look with --dry-run, then roll back with --yes"
        )
    if not yes:
        _show(shown)
        if not typer.confirm("Roll back?", default=False):
            say("Nothing was changed")
            return
    _tell(roll_back(place.worktree, place.state, wanted, now, expected=shown), as_json=as_json)


def _start(count: int | None, before: int | None, run: str | None) -> int:
    from ralph_ls.store.run.iterations import first_starts

    if (count is None) == (before is None):
        raise UsageError(
            "say how far to go back: how many iterations, such as ralph rollback 1, "
            "or to before which start, such as ralph rollback --before 3"
        )
    if before is not None:
        return before
    if run is not None:
        raise UsageError("with --run, say to before which start: --before K")
    place = here()
    starts = first_starts(place.worktree, place.state)
    if count is None or count > len(starts):
        raise UsageError(
            f"the newest run here has {count_of(len(starts), 'iteration')}; go back by no more"
            if starts
            else "there was never an iteration here, so there is nothing to roll back"
        )
    return starts[-count]


def _tell(result: RollbackResult, *, as_json: bool) -> None:
    if as_json:
        write_json(result.model_dump_json(by_alias=True, exclude_none=True))
    elif result.refused is not None:
        say(f"Refused: {result.refused.message}")
    elif result.done:
        undone = count_of(len(result.commits), "commit")
        say(f"{result.branch} stands at {result.target[:7]} again; {undone} undone")
        say(f"What was undone is on {result.backup}; take it back with:")
        say(f"  git reset --keep {result.backup}")
        _show_push(result)
    else:
        _show(result)
    if result.refused is not None:
        raise typer.Exit(REJECTED)


def _show(result: RollbackResult) -> None:
    """What would be undone."""
    before = f"before iteration {result.iteration} of run {result.run}"
    if result.start != result.iteration:
        before += f" (start {result.start})"
    say(f"{result.branch} goes back to {result.target[:7]}, {before}. Undone:")
    for commit in result.commits[:SHOWN]:
        mark = "  (made by no iteration)" if commit.foreign else ""
        say(f"  {commit.hash[:7]} {commit.subject}{mark}")
    _say_more(len(result.commits) - SHOWN)
    n_files = len(result.files) + result.more_files
    say(f"{count_of(n_files, 'file')} differ:" if n_files != 1 else "1 file differs:")
    for path in result.files[:SHOWN]:
        say(f"  {path}")
    _say_more(n_files - SHOWN)
    say(f"It is kept as the branch {result.backup}")
    _show_push(result)


def _say_more(n_more: int) -> None:
    if n_more > 0:
        say(f"  and {n_more} more")


def _show_push(result: RollbackResult) -> None:
    if result.force_push is not None:
        say(f"Some of it was pushed; to undo it there too, type: {result.force_push}")
