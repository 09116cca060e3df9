"""From a request to a running engine: settings, trust, lock, orphans, journal, then the loop.

Everything that can be wrong is found here, before the first event, and told as an error that says
what to do; from the first event on the journal tells.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable

from ralph_ls.core.loop.inputs import Interrupted
from ralph_ls.core.loop.state import LoopState
from ralph_ls.engine.adoption import adopting_orphans
from ralph_ls.engine.clock import Clock, SystemClock
from ralph_ls.engine.event_loop import run_to_end
from ralph_ls.engine.keeper import Keeper, start_keeper
from ralph_ls.engine.preparation import RunRequest, Start, prepare_start
from ralph_ls.engine.reaper import dismiss_nursery, prepare_nursery
from ralph_ls.engine.runner import Engine
from ralph_ls.engine.signals import hearing_of_children, listen_to_signals
from ralph_ls.store.external.supervisor import run_supervisor
from ralph_ls.store.files import make_private_folder
from ralph_ls.store.layout import RunFiles, find_worktree, state_folder, state_root
from ralph_ls.store.run.journal import Journal
from ralph_ls.store.run.lock import EngineLock, LockOwner, own_start_time


def run_engine(
    request: RunRequest,
    *,
    on_ready: Callable[[RunFiles], None] | None = None,
    clock: Clock | None = None,
) -> int:
    """Run a loop in this process until it ends, and give its exit code.

    ``on_ready`` is told the run's files once the lock is held, before the first event. Raises a
    ``RalphError`` for whatever keeps the run from beginning.
    """
    used_clock = SystemClock() if clock is None else clock
    worktree = find_worktree(request.folder)
    state = state_folder(state_root(request.environment), worktree)
    lock = EngineLock(worktree.git_dir, state.folder)
    keeper = start_keeper()
    prepare_nursery()
    with contextlib.ExitStack() as on_end, lock, adopting_orphans(), run_supervisor() as supervisor:
        on_end.enter_context(hearing_of_children())
        on_end.callback(dismiss_nursery)
        on_end.callback(keeper.leave)
        start = prepare_start(request, worktree, state, used_clock)
        workspace = start.workspace
        supervisor.look_seconds = workspace.config.git_timeout
        make_private_folder(workspace.files.folder)
        make_private_folder(workspace.state.inbox)
        workspace.source.keep(workspace.files.folder)
        lock.claim(
            LockOwner(
                pid=os.getpid(),
                process_start_time=own_start_time(),
                run=workspace.run,
                state_dir=str(workspace.state.folder),
            )
        )
        if on_ready is not None:
            on_ready(workspace.files)
        journal = Journal(workspace.files.journal, size=start.journal_size)
        try:
            engine_state = LoopState(run=start.run_state)
            make_engine = functools.partial(
                Engine,
                workspace,
                journal=journal,
                state=engine_state,
                clock=used_clock,
                lock=lock,
            )
            return run_to_end(_run(make_engine, start, keeper))
        finally:
            journal.close()


async def _run(make_engine: Callable[..., Engine], start: Start, keeper: Keeper) -> int:
    engine = make_engine(keeper=keeper)
    engine.recall(start.recalled)
    listen_to_signals(lambda by: engine.deliver(Interrupted(by=by)))
    code = await engine.run(start.first)
    if engine.state.run.current is None:
        keeper.dismiss()
    return code
