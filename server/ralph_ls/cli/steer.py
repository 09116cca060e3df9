"""Steering a run from anywhere: ``stop``, ``pause``, ``resume``, ``reset``, ``answer``, ``note``.

A living engine is asked through the inbox and answers in its journal. Without one, an answer, a
note and the resolving of a blocker are written to their files, and going on is offered.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer

from ralph_ls.cli.context import Place, emit_json, here, say
from ralph_ls.cli.run_command import run_detached
from ralph_ls.protocol import commands as orders
from ralph_ls.protocol.errors import NoEngine, StateUnusable, UsageError
from ralph_ls.protocol.events import EndReason, Phase
from ralph_ls.store.ask import Reply, ask, new_command_id
from ralph_ls.store.files import ChangedMeanwhile
from ralph_ls.store.halts import look_at_halt_files, remove_blocked, write_answer, write_decide
from ralph_ls.store.notes import leave_note
from ralph_ls.store.runs import FoundRun

Json = Annotated[bool, typer.Option("--json", help="For programs.")]
Continue = Annotated[
    bool | None,
    typer.Option("--continue/--no-continue", help="Go on with the run where no engine runs."),
]
Text = Annotated[list[str], typer.Argument(metavar="TEXT...")]

REJECTED = 1
"""What a steering command ends with when the engine rejects it."""


def add_to(app: typer.Typer) -> None:
    """Add this module's verbs."""
    app.command("stop")(stop)
    app.command("pause")(pause)
    app.command("resume")(resume)
    app.command("reset")(reset)
    app.command("answer")(answer)
    app.command("note")(note)


def stop(
    now: Annotated[bool, typer.Option("--now", help="End the agent at once.")] = False,
    as_json: Json = False,
) -> None:
    """End the run after this iteration, or at once."""
    _ask(orders.Stop, as_json=as_json, by="ralph stop", now=now)


def pause(as_json: Json = False) -> None:
    """Hold the run after this iteration."""
    _ask(orders.Pause, as_json=as_json, by="ralph pause")


def resume(go_on: Continue = None, as_json: Json = False) -> None:
    """Go on after a pause, or call what blocked the run resolved."""
    place = here()
    found = place.require_run()
    if found.live:
        _ask(orders.Resume, as_json=as_json, by="ralph resume")
        return
    halt = look_at_halt_files(place.worktree.root, found.state.config.paths)
    if halt.blocked is None and not _can_go_on(found):
        raise NoEngine(f"nothing waits to be resumed here; {_start_hint(found)}")
    done = "nothing is blocked"
    if halt.blocked is not None:
        remove_blocked(place.worktree.root, found.state.config.paths)
        done = "the blocker counts as resolved"
    _offer_to_go_on(found, done, go_on, as_json=as_json)


def reset(go_on: Continue = None, as_json: Json = False) -> None:
    """Close the breaker and zero its counters."""
    found = here().require_run()
    if found.live:
        _ask(orders.Reset, as_json=as_json, by="ralph reset")
        return
    if not _can_go_on(found):
        raise NoEngine(
            f"no engine runs here, so there is no breaker to reset; {_start_hint(found)}"
        )
    text = "going on resets the breaker"
    _offer_to_go_on(found, text, go_on, as_json=as_json)


def answer(text: Text, go_on: Continue = None, as_json: Json = False) -> None:
    """Answer the question that the run waits for."""
    words = _words(text)
    place = here()
    found = place.require_run()
    if found.live:
        _ask(orders.Answer, as_json=as_json, by="ralph answer", text=words)
        return
    paths = found.state.config.paths
    halt = look_at_halt_files(place.worktree.root, paths)
    question = found.state.question
    if halt.question is None and question is not None and question.answer is None:
        write_decide(
            place.worktree.root,
            paths,
            question=question.question,
            iteration=question.iteration,
            asked_at=question.asked_at,
            answer=words,
        )
    elif halt.question is None:
        raise NoEngine("no question waits for an answer here; see: ralph status")
    elif halt.answer is not None:
        raise NoEngine(f"{paths.decide} holds an answer already; change it there")
    else:
        try:
            write_answer(place.worktree.root, paths, words)
        except (ChangedMeanwhile, FileNotFoundError) as error:
            raise StateUnusable(
                f"somebody else changed {paths.decide} meanwhile; look at it, and answer again"
            ) from error
    _offer_to_go_on(found, f"the answer is in {paths.decide}", go_on, as_json=as_json)


def note(text: Text, as_json: Json = False) -> None:
    """Tell the loop something; the next iteration's agent reads it."""
    words = _words(text)
    place = here()
    found = place.find_run()
    if found is not None and found.live:
        _ask(orders.Note, as_json=as_json, by="ralph note", text=words)
        return
    leave_note(place.state, words, by="ralph note")
    reply = Reply(accepted=True, code="left", text="the next run will be told")
    _report(reply, as_json=as_json)


def _ask(order: type[Any], *, as_json: bool, by: str, **fields: Any) -> None:
    from ralph_ls.engine.clock import SystemClock

    place: Place = here()
    found = place.require_run()
    command = order(
        id=new_command_id(), run=found.state.run, at=SystemClock().now(), by=by, **fields
    )
    reply = ask(place.worktree, found, command)
    _report(reply, as_json=as_json)


def _report(reply: Reply, *, as_json: bool) -> None:
    if as_json:
        emit_json({"accepted": reply.accepted, "code": reply.code, "text": reply.text})
    else:
        say(reply.text if reply.accepted else f"Rejected: {reply.text}")
    if not reply.accepted:
        raise typer.Exit(REJECTED)


def _offer_to_go_on(found: FoundRun, done: str, go_on: bool | None, *, as_json: bool) -> None:
    """SPEC §2: answer, resolve and reset offer "and continue" as the default."""
    wanted = go_on
    if wanted is None:
        wanted = _can_go_on(found) and not as_json and _is_wanted(done)
    if wanted and not _can_go_on(found):
        raise NoEngine(f"{done}, but the run cannot go on; {_start_hint(found)}")
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


def _can_go_on(found: FoundRun) -> bool:
    state = found.state
    if found.phase in {Phase.PARKED, Phase.CRASHED}:
        return True
    return state.end is not None and state.end.reason is not EndReason.COMPLETE


def _start_hint(found: FoundRun) -> str:
    if _can_go_on(found):
        return "go on with: ralph run --resume"
    return "start a run with: ralph run"


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
