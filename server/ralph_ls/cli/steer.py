"""Steering a run from anywhere: ``stop``, ``pause``, ``resume``, ``reset``, ``answer``, ``note``.

A living engine is asked through the inbox and answers in its journal. Without one, an answer, a
note and the resolving of a blocker are written to their files, and going on is offered.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from ralph_ls.cli.background import run_detached
from ralph_ls.cli.context import here
from ralph_ls.cli.flags import Json
from ralph_ls.cli.output import emit_json, say
from ralph_ls.protocol.errors import NoEngine, UsageError
from ralph_ls.protocol.run import commands as orders
from ralph_ls.store.run import steering
from ralph_ls.store.run.inbox import CommandReply
from ralph_ls.store.run.steering import CommandContext, CommandOutcome

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
    report(steering.stop(hands_of("stop"), now=now).reply, as_json=as_json)


def pause(as_json: Json = False) -> None:
    """Hold the run after this iteration."""
    report(steering.pause(hands_of("pause")).reply, as_json=as_json)


def resume(go_on: Continue = None, as_json: Json = False) -> None:
    """Go on after a pause, approve a review, or call what blocked the run resolved."""
    _finish(steering.resume(hands_of("resume")), go_on, as_json=as_json)


def reset(go_on: Continue = None, as_json: Json = False) -> None:
    """Close the breaker and zero its counters."""
    _finish(steering.reset(hands_of("reset")), go_on, as_json=as_json)


def answer(text: Text, go_on: Continue = None, as_json: Json = False) -> None:
    """Answer the question that the run waits for."""
    words = _words(text)
    _finish(steering.answer(hands_of("answer"), words), go_on, as_json=as_json)


def note(text: Text, as_json: Json = False) -> None:
    """Tell the loop something; the next iteration's agent reads it."""
    words = _words(text)
    report(steering.note(hands_of("note"), words).reply, as_json=as_json)


def hands_of(verb: str) -> CommandContext:
    """Where somebody steers, and who it is."""
    from ralph_ls.engine.clock import SystemClock

    place, now = here(), SystemClock().now()
    return CommandContext(worktree=place.worktree, state=place.state, by=f"ralph {verb}", now=now)


def _finish(steered: CommandOutcome, go_on: bool | None, *, as_json: bool) -> None:
    """What a living engine said, or the offer to go on without one."""
    if steered.waits:
        _offer_to_go_on(steered, go_on, as_json=as_json)
    else:
        report(steered.reply, as_json=as_json)


def report(reply: CommandReply, *, as_json: bool) -> None:
    """Say what became of an order; a refused one ends with 1."""
    if as_json:
        emit_json({"accepted": reply.accepted, "code": reply.code, "text": reply.text})
    else:
        say(reply.text if reply.accepted else f"Rejected: {reply.text}")
    if not reply.accepted:
        raise typer.Exit(REJECTED)


def _offer_to_go_on(steered: CommandOutcome, go_on: bool | None, *, as_json: bool) -> None:
    """SPEC §2: answer, resolve and reset offer "and continue" as the default."""
    done, may_go_on = steered.reply.text, steered.may_go_on
    wanted = go_on
    if wanted is None:
        wanted = may_go_on and not as_json and _is_wanted(done)
    if wanted and not may_go_on:
        raise NoEngine(f"{done}, but the run cannot go on; {steered.hint}")
    if wanted:
        run_detached({}, resume=True, as_json=as_json)
    elif as_json:
        emit_json({"accepted": True, "code": "written", "text": done})
    else:
        say(f"{done[0].upper()}{done[1:]}. Go on with: ralph run --resume, or start: ralph run")


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
