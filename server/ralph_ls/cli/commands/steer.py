"""Steering verbs: ``stop``, ``pause``, ``resume``, ``reset``, ``answer``, ``note`` and more.

A living engine gets the order through the inbox and answers in its journal. Without one, an answer,
a note and a resolved blocker are written to their files, and the verb offers to resume the run.
``skip`` and ``reset-task`` order something about one task; ``rollback`` takes the branch back to
before an iteration, after a preview.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ralph_ls.cli.commands.start_run import run_detached
from ralph_ls.cli.context import current_worktree
from ralph_ls.cli.flags import Json, Yes
from ralph_ls.cli.output import emit_json, print_text, write_json
from ralph_ls.core.plurals import count_of
from ralph_ls.protocol.errors import NoEngine, UsageError
from ralph_ls.protocol.run import commands as orders
from ralph_ls.store.run import steering
from ralph_ls.store.run.inbox import CommandReply
from ralph_ls.store.run.steering import CommandContext, CommandOutcome

if TYPE_CHECKING:
    from ralph_ls.protocol.lsp.row_methods import RollbackResult

Continue = Annotated[
    bool | None,
    typer.Option("--continue/--no-continue", help="Go on with the run where no engine runs."),
]
Text = Annotated[list[str], typer.Argument(metavar="TEXT...")]

REJECTED = 1
"""What a steering command ends with when the engine rejects it."""


def stop(
    now: Annotated[bool, typer.Option("--now", help="End the agent at once.")] = False,
    as_json: Json = False,
) -> None:
    """End the run after this iteration, or at once."""
    report_reply(steering.stop(command_context("stop"), now=now).reply, as_json=as_json)


def pause(as_json: Json = False) -> None:
    """Hold the run after this iteration."""
    report_reply(steering.pause(command_context("pause")).reply, as_json=as_json)


def resume(go_on: Continue = None, as_json: Json = False) -> None:
    """Go on after a pause, approve a review, or call what blocked the run resolved."""
    _finish(steering.resume(command_context("resume")), go_on, as_json=as_json)


def reset(go_on: Continue = None, as_json: Json = False) -> None:
    """Close the breaker and zero its counters."""
    _finish(steering.reset(command_context("reset")), go_on, as_json=as_json)


def answer(text: Text, go_on: Continue = None, as_json: Json = False) -> None:
    """Answer the question that the run waits for."""
    words = _words(text)
    _finish(steering.answer(command_context("answer"), words), go_on, as_json=as_json)


def note(text: Text, as_json: Json = False) -> None:
    """Tell the loop something; the next iteration's agent reads it."""
    words = _words(text)
    report_reply(steering.note(command_context("note"), words).reply, as_json=as_json)


def command_context(verb: str) -> CommandContext:
    """Where somebody steers, and who it is."""
    from ralph_ls.engine.clock import SystemClock

    place, now = current_worktree(), SystemClock().now()
    return CommandContext(worktree=place.worktree, state=place.state, by=f"ralph {verb}", now=now)


def _finish(steered: CommandOutcome, go_on: bool | None, *, as_json: bool) -> None:
    """Report a living engine's reply, or offer to resume the run without one."""
    if steered.waits:
        _offer_to_continue(steered, go_on, as_json=as_json)
    else:
        report_reply(steered.reply, as_json=as_json)


def report_reply(reply: CommandReply, *, as_json: bool) -> None:
    """Say what became of an order; a refused one ends with 1."""
    if as_json:
        emit_json({"accepted": reply.accepted, "code": reply.code, "text": reply.text})
    else:
        print_text(reply.text if reply.accepted else f"Rejected: {reply.text}")
    if not reply.accepted:
        raise typer.Exit(REJECTED)


def _offer_to_continue(steered: CommandOutcome, go_on: bool | None, *, as_json: bool) -> None:
    """Offer to continue the run, which is the default of answer, resolve and reset."""
    done, can_resume = steered.reply.text, steered.can_resume
    wanted = go_on
    if wanted is None:
        wanted = can_resume and not as_json and _is_wanted(done)
    if wanted and not can_resume:
        raise NoEngine(f"{done}, but the run cannot go on; {steered.hint}")
    if wanted:
        run_detached({}, resume=True, as_json=as_json)
    elif as_json:
        emit_json({"accepted": True, "code": "written", "text": done})
    else:
        print_text(
            f"{done[0].upper()}{done[1:]}. Go on with: ralph run --resume, or start: ralph run"
        )


def _is_wanted(done: str) -> bool:
    if not sys.stdin.isatty():
        return False
    return typer.confirm(f"{done[0].upper()}{done[1:]}. Continue the run?", default=True)


def _words(text: list[str]) -> str:
    # A terminal of another encoding gives bytes that are no text.
    words = os.fsencode(" ".join(text)).decode("utf-8", errors="replace").strip()
    if not words:
        raise UsageError("there is no text; write it behind the command")
    if len(words) > orders.MAX_TEXT:
        raise UsageError(
            f"the text has {len(words)} characters; at most {orders.MAX_TEXT} are taken"
        )
    return words


TaskArgument = Annotated[str, typer.Argument(metavar="ID", help="Shown by: ralph plan --json.")]


def skip(task: TaskArgument, as_json: Json = False) -> None:
    """Take a task no more for as long as this run lasts; the plan is not edited."""
    report_reply(steering.skip_task(command_context("skip"), task).reply, as_json=as_json)


def reset_task(task: TaskArgument, as_json: Json = False) -> None:
    """Open a task again, with no attempts counted, and skip it no more."""
    plan = current_worktree().require_plan()
    report_reply(
        steering.reset_task(command_context("reset-task"), task, plan=plan).reply, as_json=as_json
    )


SHOWN = 20
"""How many commits and files are shown."""


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
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Take the branch back by N iterations; what is undone stays on a branch of its own."""
    from ralph_ls.engine.clock import SystemClock
    from ralph_ls.engine.delivery.branch_rollback import RollbackOrder, preview_rollback, roll_back

    place, now = current_worktree(), SystemClock().now()
    wanted = RollbackOrder(start=_start(count, before, run), run=run, force=force)
    asks = sys.stdin.isatty() and not as_json
    shown = preview_rollback(place.worktree, place.state, wanted, now)
    if shown.refused is not None or dry_run:
        _report_rollback(shown, as_json=as_json)
        return
    if not yes and not asks:
        raise UsageError(
            "nobody is here to be asked; look with --dry-run, then roll back with --yes"
        )
    if not yes:
        _show(shown)
        if not typer.confirm("Roll back?", default=False):
            print_text("Nothing was changed")
            return
    _report_rollback(
        roll_back(place.worktree, place.state, wanted, now, expected=shown), as_json=as_json
    )


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
    place = current_worktree()
    starts = first_starts(place.worktree, place.state)
    if count is None or count > len(starts):
        raise UsageError(
            f"the newest run here has {count_of(len(starts), 'iteration')}; go back by no more"
            if starts
            else "there was never an iteration here, so there is nothing to roll back"
        )
    return starts[-count]


def _report_rollback(result: RollbackResult, *, as_json: bool) -> None:
    if as_json:
        write_json(result.model_dump_json(by_alias=True, exclude_none=True))
    elif result.refused is not None:
        print_text(f"Refused: {result.refused.message}")
    elif result.done:
        undone = count_of(len(result.commits), "commit")
        print_text(f"{result.branch} stands at {result.target[:7]} again; {undone} undone")
        print_text(f"What was undone is on {result.backup}; take it back with:")
        print_text(f"  git reset --keep {result.backup}")
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
    print_text(f"{result.branch} goes back to {result.target[:7]}, {before}. Undone:")
    for commit in result.commits[:SHOWN]:
        mark = "  (made by no iteration)" if commit.foreign else ""
        print_text(f"  {commit.hash[:7]} {commit.subject}{mark}")
    _show_remainder(len(result.commits) - SHOWN)
    n_files = len(result.files) + result.more_files
    print_text(f"{count_of(n_files, 'file')} differ:" if n_files != 1 else "1 file differs:")
    for path in result.files[:SHOWN]:
        print_text(f"  {path}")
    _show_remainder(n_files - SHOWN)
    print_text(f"It is kept as the branch {result.backup}")
    _show_push(result)


def _show_remainder(n_more: int) -> None:
    if n_more > 0:
        print_text(f"  and {n_more} more")


def _show_push(result: RollbackResult) -> None:
    if result.force_push is not None:
        print_text(f"Some of it was pushed; to undo it there too, type: {result.force_push}")
