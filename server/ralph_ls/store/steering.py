"""Steering a run from anywhere: a living engine is asked, and without one the files are written.

A living engine is asked through the inbox and answers in its journal. Without one an answer, a
note and the resolving of a blocker go into their files, and the run may be taken up (SPEC §2).
Everything here blocks. Who shows the outcome, and who asks whether to go on, is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ralph_ls.protocol import commands as orders
from ralph_ls.protocol.errors import NoEngine, StateUnusable
from ralph_ls.protocol.run_words import EndReason, Phase
from ralph_ls.store.ask import Reply, ask, new_command_id
from ralph_ls.store.files import ChangedMeanwhile
from ralph_ls.store.halts import look_at_halt_files, remove_blocked, write_answer, write_decide
from ralph_ls.store.layout import StateFolder, Worktree
from ralph_ls.store.notes import leave_note
from ralph_ls.store.runs import FoundRun, find_run


@dataclass(frozen=True, slots=True, kw_only=True)
class Hands:
    """Where somebody steers, and who it is."""

    worktree: Worktree
    state: StateFolder
    by: str
    """In words for a person: ``ralph stop``, ``Neovim``."""
    now: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Steered:
    """What became of an order."""

    reply: Reply
    run: str | None = None
    """The run that it was about."""
    waits: bool = False
    """Nobody runs: what was done counts once the run goes on."""
    may_go_on: bool = False
    """The run can be taken up: by ``ralph run --resume``."""

    @property
    def hint(self) -> str:
        """What to do next, where nobody runs."""
        return start_hint(may_go_on=self.may_go_on)


def stop(hands: Hands, *, now: bool = False) -> Steered:
    """End the run after this iteration, or at once. Raises ``NoEngine``."""
    return _ask(hands, require_run(hands), orders.Stop, now=now)


def pause(hands: Hands) -> Steered:
    """Hold the run after this iteration. Raises ``NoEngine``."""
    return _ask(hands, require_run(hands), orders.Pause)


def resume(hands: Hands) -> Steered:
    """Go on after a pause, or call what blocked the run resolved. Raises ``NoEngine``."""
    found = require_run(hands)
    if found.live:
        return _ask(hands, found, orders.Resume)
    root, paths = hands.worktree.root, found.state.config.paths
    halt = look_at_halt_files(root, paths)
    if halt.blocked is None and not may_go_on(found):
        hint = start_hint(may_go_on=False)
        raise NoEngine(f"nothing waits to be resumed here; {hint}")
    if halt.blocked is None:
        return _settled(found, "nothing is blocked")
    remove_blocked(root, paths)
    return _settled(found, "the blocker counts as resolved")


def reset(hands: Hands) -> Steered:
    """Close the breaker and zero its counters. Raises ``NoEngine``."""
    found = require_run(hands)
    if found.live:
        return _ask(hands, found, orders.Reset)
    if not may_go_on(found):
        hint = start_hint(may_go_on=False)
        raise NoEngine(f"no engine runs here, so there is no breaker to reset; {hint}")
    return _settled(found, "going on resets the breaker")


def answer(hands: Hands, text: str) -> Steered:
    """Answer the question that the run waits for. Raises ``NoEngine`` and ``StateUnusable``."""
    found = require_run(hands)
    if found.live:
        return _ask(hands, found, orders.Answer, text=text)
    root, paths = hands.worktree.root, found.state.config.paths
    halt = look_at_halt_files(root, paths)
    question = found.state.question
    if halt.question is None and question is not None and question.answer is None:
        write_decide(
            root,
            paths,
            question=question.question,
            iteration=question.iteration,
            asked_at=question.asked_at,
            answer=text,
        )
    elif halt.question is None:
        raise NoEngine("no question waits for an answer here; see: ralph status")
    elif halt.answer is not None:
        raise NoEngine(f"{paths.decide} holds an answer already; change it there")
    else:
        try:
            write_answer(root, paths, text)
        except (ChangedMeanwhile, FileNotFoundError) as error:
            raise StateUnusable(
                f"somebody else changed {paths.decide} meanwhile; look at it, and answer again"
            ) from error
    return _settled(found, f"the answer is in {paths.decide}")


def note(hands: Hands, text: str) -> Steered:
    """Tell the loop something; the next iteration's agent reads it."""
    found = find_run(hands.worktree, hands.state)
    if found is not None and found.live:
        return _ask(hands, found, orders.Note, text=text)
    leave_note(hands.state, text, by=hands.by)
    reply = Reply(accepted=True, code="left", text="the next run will be told")
    return Steered(reply=reply, run=None if found is None else found.state.run)


def allow(hands: Hands, approvals: Mapping[str, str]) -> Reply | None:
    """Let a living run use what was approved: keys and digests. None where no run needs to know."""
    found = find_run(hands.worktree, hands.state)
    if found is None or not found.live or not approvals:
        return None
    given = tuple(orders.Approval(key=key, sha256=sha) for key, sha in approvals.items())
    return _ask(hands, found, orders.Allow, approvals=given).reply


def require_run(hands: Hands) -> FoundRun:
    """The newest run of the work tree; raises ``NoEngine`` where there never was one."""
    found = find_run(hands.worktree, hands.state)
    if found is None:
        raise NoEngine(f"there was never a run in {hands.worktree.root}; start one with: ralph run")
    return found


def may_go_on(found: FoundRun) -> bool:
    """Whether ``ralph run --resume`` would take up this run."""
    state = found.state
    if found.phase in {Phase.PARKED, Phase.CRASHED}:
        return True
    return state.end is not None and state.end.reason is not EndReason.COMPLETE


def start_hint(*, may_go_on: bool) -> str:
    """What to do next where nobody runs, to follow a semicolon."""
    return "go on with: ralph run --resume" if may_go_on else "start a run with: ralph run"


def _ask(hands: Hands, found: FoundRun, order: type[Any], **fields: Any) -> Steered:
    run = found.state.run
    command = order(id=new_command_id(), run=run, at=hands.now, by=hands.by, **fields)
    return Steered(reply=ask(hands.worktree, found, command), run=run)


def _settled(found: FoundRun, done: str) -> Steered:
    return Steered(
        reply=Reply(accepted=True, code="written", text=done),
        run=found.state.run,
        waits=True,
        may_go_on=may_go_on(found),
    )
