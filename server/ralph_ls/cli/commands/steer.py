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
from ralph_ls.cli.output import print_text, write_json
from ralph_ls.cli.parameters import argument, flag, option
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
    typer.Option(
        "--continue/--no-continue",
        help="Continue the run if it is not running; asks if neither is given.",
    ),
]
Text = Annotated[list[str], argument("TEXT...", "The text; quotes are optional.")]

OptionalText = Annotated[
    list[str] | None,
    argument("TEXT...", "The answer; quotes are optional.", default="asks on a terminal"),
]

REJECTED = 1
"""What a steering command ends with when the engine rejects it."""


def stop(
    now: Annotated[
        bool, flag("--now", text="End the agent at once, in the middle of its work.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Stop the run after this iteration, or at once."""
    report_reply(steering.stop(command_context("stop"), now=now).reply, as_json=as_json)


def pause(as_json: Json = False) -> None:
    """Pause the run after this iteration."""
    report_reply(steering.pause(command_context("pause")).reply, as_json=as_json)


def resume(go_on: Continue = None, as_json: Json = False) -> None:
    """Continue after a pause, review or resolved blocker."""
    _finish(steering.resume(command_context("resume")), go_on, as_json=as_json)


def reset(go_on: Continue = None, as_json: Json = False) -> None:
    """Close the circuit breaker and reset its counters."""
    _finish(steering.reset(command_context("reset")), go_on, as_json=as_json)


def overrule(
    task: Annotated[
        str | None,
        argument("TASK", "Only this task, by its id.", default="all that the judge requests"),
    ] = None,
    go_on: Continue = None,
    as_json: Json = False,
) -> None:
    """Accept work for which the judge requests changes.

    Its tasks are done again in the plan, and a run that is stuck for them continues.
    """
    _finish(steering.overrule(command_context("overrule"), task=task), go_on, as_json=as_json)


def answer(text: OptionalText = None, go_on: Continue = None, as_json: Json = False) -> None:
    """Answer the question the run waits for.

    Without TEXT, shows the question and its numbered options, and asks for the answer. An
    option can be chosen by its number.
    """
    words = _chosen(_words(text)) if text else _words([_ask_for_answer(as_json=as_json)])
    _finish(steering.answer(command_context("answer"), words), go_on, as_json=as_json)


def note(text: Text, as_json: Json = False) -> None:
    """Send a note to the agent of the next iteration."""
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
        _write_reply(accepted=reply.accepted, code=reply.code, text=reply.text)
    else:
        print_text(reply.text if reply.accepted else f"Rejected: {reply.text}")
    if not reply.accepted:
        raise typer.Exit(REJECTED)


def _write_reply(*, accepted: bool, code: str, text: str) -> None:
    from ralph_ls.protocol.json_output import OrderReply

    reply = OrderReply(accepted=accepted, code=code, text=text)
    write_json(reply.model_dump_json(by_alias=True, indent=2))


def _offer_to_continue(steered: CommandOutcome, go_on: bool | None, *, as_json: bool) -> None:
    """Offer to continue the run, which is the default of answer, resolve and reset."""
    done, can_resume = steered.reply.text, steered.can_resume
    wanted = go_on
    if wanted is None:
        wanted = can_resume and not as_json and _is_wanted(done)
    if wanted and not can_resume:
        raise NoEngine(f"{done}, but the run cannot continue; {steered.hint}")
    if wanted:
        run_detached({}, resume=True, as_json=as_json)
    elif as_json:
        _write_reply(accepted=True, code="written", text=done)
    else:
        print_text(
            f"{done[0].upper()}{done[1:]}. "
            "Continue: ralph run --resume, or start a new run: ralph run"
        )


def _is_wanted(done: str) -> bool:
    if not sys.stdin.isatty():
        return False
    return typer.confirm(f"{done[0].upper()}{done[1:]}. Continue the run?", default=True)


def _ask_for_answer(*, as_json: bool) -> str:
    """Show the open question with its numbered options, and ask."""
    from ralph_ls.core.views.panel.question import answer_of, listed_choices, question_lines

    question = _open_question()
    if question is None:
        raise NoEngine("no question is open; see: ralph status")
    options = listed_choices(question)
    if not as_json:
        print_text("\n".join(question_lines(question)))
    if as_json or not sys.stdin.isatty():
        raise UsageError('this is not a terminal, so it cannot ask; write: ralph answer "…"')
    given = str(typer.prompt("Your answer" + (", or a number" if options else ""))).strip()
    return answer_of(options, given)


def _chosen(typed: str) -> str:
    """The option with the number that was typed, or the text as typed."""
    if not typed.isdecimal():
        return typed
    from ralph_ls.core.views.panel.question import answer_of, listed_choices

    question = _open_question()
    return typed if question is None else answer_of(listed_choices(question), typed)


def _open_question() -> str | None:
    from ralph_ls.cli.overview import open_question

    place = current_worktree()
    return open_question(place.worktree.root, place.require_run())


def _words(text: list[str]) -> str:
    # A terminal of another encoding gives bytes that are no text.
    words = os.fsencode(" ".join(text)).decode("utf-8", errors="replace").strip()
    if not words:
        raise UsageError("the text is missing")
    if len(words) > orders.MAX_TEXT:
        raise UsageError(f"the text has {len(words)} characters; the most is {orders.MAX_TEXT}")
    return words


TaskArgument = Annotated[
    str | None, argument("TASK", "Id of the task, as in: ralph plan.", default="asks on a terminal")
]


def skip(task: TaskArgument = None, as_json: Json = False) -> None:
    """Skip a task for the rest of this run.

    The plan is not changed.
    """
    task = task or _ask_for_task(as_json=as_json)
    report_reply(steering.skip_task(command_context("skip"), task).reply, as_json=as_json)


def reset_task(task: TaskArgument = None, as_json: Json = False) -> None:
    """Reopen a task and forget its failed attempts.

    A skipped task is no longer skipped.
    """
    plan = current_worktree().require_plan()
    task = task or _ask_for_task(as_json=as_json, reopens=True)
    report_reply(
        steering.reset_task(command_context("reset-task"), task, plan=plan).reply, as_json=as_json
    )


def _ask_for_task(*, as_json: bool, reopens: bool = False) -> str:
    """Show the tasks, finished ones only where one is reopened, and ask by number or id."""
    from ralph_ls.core.plan.formats.dispatch import parse_plan
    from ralph_ls.protocol.task_words import TaskState
    from ralph_ls.store.project.plan_file import text_of_plan

    place = current_worktree()
    if as_json or not sys.stdin.isatty():
        raise UsageError("TASK is missing; see the ids in: ralph plan")
    location = place.require_plan()
    text = text_of_plan(place.worktree.root, location)
    plan = parse_plan(text, location.kind, tag=location.tag).plan
    tasks = [one for one in plan.tasks if reopens or one.state is not TaskState.DONE][:SHOWN]
    if not tasks:
        what = "every task of the plan is done" if plan.tasks else "the plan has no task"
        raise UsageError(f"{what}; see: ralph plan")
    for number, one in enumerate(tasks, 1):
        print_text(f"  {number}  {one.title}  [{one.id}]")
    given = str(typer.prompt("Number or id of the task")).strip()
    is_id = any(one.id == given for one in plan.tasks)
    chosen = int(given) if given.isdecimal() and not is_id else 0
    return tasks[chosen - 1].id if 0 < chosen <= len(tasks) else given


SHOWN = 20
"""How many commits, files and tasks are shown."""


def rollback(
    count: Annotated[
        int | None, argument("N", "Undo so many iterations.", default="none; see --before", min=1)
    ] = None,
    before: Annotated[
        int | None,
        option("START", "Undo everything from this start on, instead of N.", default="none", min=1),
    ] = None,
    run: Annotated[
        str | None, option("RUN", "Undo iterations of this run.", default="the last run")
    ] = None,
    force: Annotated[
        bool, flag("--force", text="Also undo commits that no iteration made.")
    ] = False,
    dry_run: Annotated[
        bool, flag("--dry-run", text="Show what would be undone, and change nothing.")
    ] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Undo iterations.

    Shows the commits and files first, and asks. What is undone stays on a backup branch.
    """
    from ralph_ls.engine.clock import SystemClock
    from ralph_ls.engine.delivery.branch_rollback import RollbackOrder, preview_rollback, roll_back
    from ralph_ls.store.run.runs import full_run_id

    place, now = current_worktree(), SystemClock().now()
    start = _start(count, before, run)
    if run is not None:
        run = full_run_id(place.worktree, place.state, run)
    wanted = RollbackOrder(start=start, run=run, force=force)
    asks = sys.stdin.isatty() and not as_json
    shown = preview_rollback(place.worktree, place.state, wanted, now)
    if shown.refused is not None or dry_run:
        _report_rollback(shown, as_json=as_json)
        return
    if not yes and not asks:
        raise UsageError(
            "this is not a terminal, so it cannot ask; look with --dry-run, then add --yes"
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
            "how far back? Give a number of iterations: ralph rollback 1; "
            "or a start: ralph rollback --before 3"
        )
    if before is not None:
        return before
    if run is not None:
        raise UsageError("--run needs --before START")
    place = current_worktree()
    starts = first_starts(place.worktree, place.state)
    if count is None or count > len(starts):
        raise UsageError(
            f"the last run has only {count_of(len(starts), 'iteration')}"
            if starts
            else "there is no iteration to roll back yet"
        )
    return starts[-count]


def _report_rollback(result: RollbackResult, *, as_json: bool) -> None:
    if as_json:
        write_json(result.model_dump_json(by_alias=True, exclude_none=True))
    elif result.refused is not None:
        print_text(f"Refused: {result.refused.message}")
    elif result.done:
        undone = count_of(len(result.commits), "commit")
        print_text(f"{result.branch} is back at {result.target[:7]}; {undone} undone")
        print_text(f"Backup branch: {result.backup}; to restore it:")
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
    print_text(f"{result.branch} goes back to {result.target[:7]}, {before}. This undoes:")
    for commit in result.commits[:SHOWN]:
        mark = "  (not made by an iteration)" if commit.foreign else ""
        print_text(f"  {commit.hash[:7]} {commit.subject}{mark}")
    _show_remainder(len(result.commits) - SHOWN)
    n_files = len(result.files) + result.more_files
    print_text(f"{count_of(n_files, 'file')} differ:" if n_files != 1 else "1 file differs:")
    for path in result.files[:SHOWN]:
        print_text(f"  {path}")
    _show_remainder(n_files - SHOWN)
    print_text(f"It stays on the branch {result.backup}")
    _show_push(result)


def _show_remainder(n_more: int) -> None:
    if n_more > 0:
        print_text(f"  and {n_more} more")


def _show_push(result: RollbackResult) -> None:
    if result.force_push is not None:
        print_text(f"Some of it was pushed; to undo it there too: {result.force_push}")
