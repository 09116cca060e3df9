"""``ralph attach``: the session of an iteration in the agent's own program, with the loop paused.

What is done there is the user's: the next iteration finds it in the work tree or in commits, like
any other change that was made while the run was paused.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import typer

from ralph_ls.cli.commands.runs.target import First, Newest, Target, find_target
from ralph_ls.cli.commands.start_run import run_detached
from ralph_ls.cli.commands.steer import Continue, command_context, report_reply
from ralph_ls.cli.context import CommandWorktree
from ralph_ls.cli.output import print_text
from ralph_ls.core.loop.fold import fold
from ralph_ls.core.plurals import count_of
from ralph_ls.core.views.text.run_end import next_step
from ralph_ls.engine.agent.interactive import (
    interactive_agent,
    require_attachable,
    run_in_terminal,
)
from ralph_ls.engine.git.changes import changes_between
from ralph_ls.engine.git.worktree_state import LoopFiles, take_baseline
from ralph_ls.protocol.errors import NoEngine, RalphError, UsageError
from ralph_ls.protocol.run.values import Baseline, EndReason, Phase
from ralph_ls.store.run import steering
from ralph_ls.store.run.iterations import IterationSession, read_sessions
from ralph_ls.store.run.lock import is_held
from ralph_ls.store.run.runs import FoundRun, load_state
from ralph_ls.store.run.watch import OutputChunk, RunFollower

HELD = frozenset({Phase.PAUSED, Phase.PARKED, Phase.ENDED})
"""Phases in which the loop starts no agent until the user has done something."""

SETTLED = frozenset({"parked", "paused", "stopping"})
"""Why a pause is rejected where the run will be held without it."""

SHOWN_FILES = 10
"""How many changed files are listed."""

OWN = LoopFiles(folders=(".ralph/logs",))


def attach_verb(first: First = None, second: Newest = None, go_on: Continue = None) -> None:
    """Open an iteration's session in the agent's own program.

    Pauses the run first, after its current iteration. What you do there is yours; afterwards the
    run continues if you want.
    """
    target = find_target(first, second)
    _require_terminal()
    config = load_state(target.files).config
    _require_session(target)
    is_ours = target.is_live and _hold(target)
    place = target.place
    worked = _require_session(target)
    agent = interactive_agent(worked, config, place.worktree.root, os.environ)
    task = "" if worked.task is None else f" ({worked.task.title})"
    command = shlex.join([Path(agent.argv[0]).name, *agent.argv[1:]])
    print_text(f"The session of iteration {worked.iteration}{task}: {command}")
    print_text("Leave the program to come back")
    before = _look(place)
    code = run_in_terminal(agent, place.worktree.root)
    if code != 0:
        print_text(
            f"{Path(agent.argv[0]).name} ended {f'with code {code}' if code > 0 else 'by a signal'}"
        )
    _report_changes(place, before)
    _continue(target, go_on, is_ours=is_ours)


def _require_terminal() -> None:
    if sys.platform == "win32":
        raise UsageError("ralph attach does not work on Windows; use WSL")
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError(
            "this is not a terminal, which the agent's program needs; see what it wrote: ralph logs"
        )


def _require_session(target: Target) -> IterationSession:
    """The iteration whose session is opened; of one that still runs, once it has ended.

    Raises ``UsageError``.
    """
    sessions, wanted = read_sessions(target.files), target.iteration
    run = target.files.folder.name
    of_wanted = [one for one in sessions if one.iteration == wanted]
    if wanted is not None and not of_wanted:
        have = f"its last one is {sessions[-1].iteration}" if sessions else "it has none yet"
        raise UsageError(f"run {run} has no iteration {wanted}; {have}; see: ralph show")
    usable = of_wanted or [one for one in sessions if _may_have_session(one, target)]
    if not usable:
        raise UsageError(f"no agent of run {run} has named a session; see: ralph show")
    found = usable[-1]
    require_attachable(found, load_state(target.files).config)
    if not _may_have_session(found, target):
        raise UsageError(
            f"{found.agent} named no session in iteration {found.iteration}; "
            f"see what it wrote: ralph logs {found.iteration}"
        )
    return found


def _may_have_session(one: IterationSession, target: Target) -> bool:
    """Whether there is a session, or may be one when the iteration ends."""
    return one.session is not None or (target.is_live and not one.has_ended)


def _hold(target: Target) -> bool:
    """Wait until the live run starts no more agents; whether that is because of this pause.

    Raises ``RalphError`` where the engine does not accept it.
    """
    found = target.place.require_run()
    if found.phase in HELD:
        return False
    is_ours = not found.state.pause_requested
    try:
        if is_ours:
            reply = steering.pause(command_context("attach")).reply
            is_ours = reply.accepted
            if not is_ours and reply.code not in SETTLED:
                raise RalphError(f"the run does not pause: {reply.text}")
        if found.state.current is not None:
            number = found.state.iteration
            print_text(f"The run pauses after iteration {number}; Ctrl-C lets it continue")
        _wait_until_held(target.place, found)
    except KeyboardInterrupt:
        if is_ours:
            steering.resume(command_context("attach"))
            print_text("\nThe run continues")
        raise
    return is_ours


def _wait_until_held(place: CommandWorktree, found: FoundRun) -> None:
    state = found.state
    follower = RunFollower(
        found.files,
        is_live=lambda: is_held(place.worktree.git_dir),
        after_seq=state.seq,
        output=False,
    )
    for batch in follower:
        state = fold((one for one in batch if not isinstance(one, OutputChunk)), state)
        if state.phase in HELD:
            return


def _look(place: CommandWorktree) -> Baseline:
    tree = place.worktree
    return take_baseline(tree.root, tree.git_dir, tree.common_dir, own=OWN)


def _report_changes(place: CommandWorktree, before: Baseline) -> None:
    """Say what was done by hand; it is the user's."""
    after = _look(place)
    made = changes_between(place.worktree.root, before, after, own=OWN)
    if not made.commits and not made.files:
        print_text("Nothing was changed by hand")
        return
    counts = [count_of(len(made.commits), "commit"), f"{count_of(made.files, 'file')} changed"]
    print_text(f"By hand: {', '.join(counts if made.commits else counts[1:])}")
    for commit in made.commits:
        print_text(f"  {commit.hash[:7]} {commit.subject}")
    open_paths = [path for path in made.paths if path in after.dirty]
    if open_paths:
        print_text("Not committed; commit it to keep it out of the loop's commits:")
        _print_paths(open_paths)


def _print_paths(paths: Sequence[str]) -> None:
    for path in paths[:SHOWN_FILES]:
        print_text(f"  {path}")
    if len(paths) > SHOWN_FILES:
        print_text(f"  and {len(paths) - SHOWN_FILES} more")


def _continue(target: Target, go_on: bool | None, *, is_ours: bool) -> None:
    """Let the run continue, if the user wants that and it can."""
    found = target.place.require_run()
    if found.live and found.phase is Phase.PARKED:
        print_text("The run still waits for you; see: ralph status")
        return
    can = found.live or steering.can_resume(found)
    if not can:
        if go_on:
            raise NoEngine(f"the run cannot continue; {steering.start_hint(can_resume=False)}")
        return
    wanted = go_on
    if wanted is None and _has_spent_limit(found):
        print_text(f"The run is not running. Next: {next_step(found.state)}")
        return
    if wanted is None:
        wanted = typer.confirm("Continue the run?", default=is_ours)
    if not wanted:
        verb = "ralph resume" if found.live else "ralph run --resume"
        print_text(
            f"The run {'stays paused' if found.live else 'is not running'}. Continue: {verb}"
        )
    elif found.live:
        report_reply(steering.resume(command_context("attach")).reply, as_json=False)
    else:
        run_detached({}, resume=True, as_json=False)


def _has_spent_limit(found: FoundRun) -> bool:
    """Whether the run ended because a limit is used up: it would end at once again."""
    end = found.state.end
    return not found.live and end is not None and end.reason is EndReason.LIMIT
