"""Engine of a run: one queue of inputs, one owner of the state, one step at a time.

``run_engine`` leads from a request to a running engine: settings, trust, lock, orphans, journal,
then the loop. What can be wrong is found before the first event and raised as an error that says
what to do; from the first event on the journal reports it.

The loop takes an input, asks the reducer, writes the events and performs the effects. Everything
else in this package either puts inputs into the queue or performs an effect.

Secrets are redacted here, in every input before it is taken, since what reaches the reducer reaches
the journal, the halt files and every viewer (docs/rules.md#secrets).
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ralph_ls.core.loop.effects import (
    Effect,
    Finish,
    LaunchAgent,
    PrepareIteration,
    ReadIteration,
    StopAgent,
)
from ralph_ls.core.loop.inputs import (
    AnnouncementDone,
    CommandArrived,
    CommandUnreadable,
    EffectFailed,
    Input,
    Interrupted,
    IterationRead,
    Resumed,
    Started,
)
from ralph_ls.core.loop.lanes import LaneEffect
from ralph_ls.core.loop.machine.reducer import step
from ralph_ls.core.loop.state import Awaits, LoopState, Step
from ralph_ls.engine.clock import Clock, SystemClock
from ralph_ls.engine.process.event_loop import (
    listen_to_signals,
    receiving_child_signals,
    run_to_end,
)
from ralph_ls.engine.process.reaper import (
    adopting_orphans,
    dismiss_nursery,
    prepare_nursery,
    reap_adopted,
)
from ralph_ls.engine.process.running_process import END_SECONDS
from ralph_ls.engine.run.effect_runner import EffectRunner
from ralph_ls.engine.run.inbox import Wakeup, refusal_of
from ralph_ls.engine.run.preparation import RunRequest, Start, prepare_start
from ralph_ls.engine.run.run_branch import on_work_branch
from ralph_ls.engine.run.run_settings import keep_settings
from ralph_ls.engine.worktree.keeper import TreeKeeper, start_keeper
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.errors import RalphError, StateUnusable
from ralph_ls.protocol.run.commands import Stop
from ralph_ls.protocol.run.events import IterationEnded, RunEnded
from ralph_ls.protocol.run.values import Phase
from ralph_ls.store.external.supervisor import current, run_supervisor
from ralph_ls.store.files import make_private_folder
from ralph_ls.store.layout import RunFiles, find_worktree, state_root
from ralph_ls.store.run import inbox
from ralph_ls.store.run import inbox as notes
from ralph_ls.store.run.journal import Journal
from ralph_ls.store.run.lock import EngineLock, LockOwner, own_start_time
from ralph_ls.store.run.state_index import find_state, record_worktree


def redact_value(value: Any, redact: Callable[[str], str]) -> Any:
    """The same value with every text in it redacted; the same object where nothing was found."""
    match value:
        case Enum():
            return value
        case str():
            return _unless_equal(value, redact(value))
        case tuple() | list():
            return _redact_sequence(value, redact)
        case dict():
            pairs = ((redact_value(key, redact), item) for key, item in value.items())
            return _unless_equal(value, {key: redact_value(item, redact) for key, item in pairs})
        case BaseModel():
            changes = _changes(value, redact)
            return value.model_copy(update=changes) if changes else value
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            changes = _changes(value, redact)
            return dataclasses.replace(value, **changes) if changes else value
        case _:
            return value


def _unless_equal(value: Any, cleaned: Any) -> Any:
    return value if cleaned == value else cleaned


def _redact_sequence(value: Any, redact: Callable[[str], str]) -> Any:
    cleaned = [redact_value(item, redact) for item in value]
    if all(new is old or new == old for new, old in zip(cleaned, value, strict=True)):
        return value
    return type(value)(cleaned)


def _changes(value: Any, redact: Callable[[str], str]) -> dict[str, Any]:
    """The fields of a model or a dataclass in which something was found."""
    names = (
        [*type(value).model_fields]
        if isinstance(value, BaseModel)
        else [field.name for field in dataclasses.fields(value)]
    )
    pairs = ((name, getattr(value, name)) for name in names)
    cleaned = ((name, was, redact_value(was, redact)) for name, was in pairs)
    return {name: now for name, was, now in cleaned if now is not was}


WAITS_FOR_PEOPLE = frozenset({Phase.PARKED, Phase.PAUSED})
"""Phases that end only when somebody does something; in any other the loop meets what is gone."""

_NEEDS_FILES = (PrepareIteration, LaunchAgent, ReadIteration)
"""Effects that write into the run's folder, or begin something for which the lock is held."""


class Engine:
    """One run under one process, from its first input to its end."""

    step: Callable[[LoopState, Any, datetime], Step] = staticmethod(step)
    """The reducer."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        journal: Journal,
        state: LoopState,
        clock: Clock,
        keeper: TreeKeeper | None = None,
        lock: EngineLock | None = None,
        performer_type: Callable[..., EffectRunner] = EffectRunner,
    ) -> None:
        self._workspace = workspace
        self._journal = journal
        self._state = state
        self._clock = clock
        self._queue: asyncio.Queue[Input] = asyncio.Queue()
        self._posted: dict[str, inbox.InboxEntry] = {}
        self._exit_code: int | None = None
        self._keeper = TreeKeeper() if keeper is None else keeper
        self._lock = lock
        self._last_resort: asyncio.TimerHandle | None = None
        """Ends the run that somebody wants to end at once."""
        self._is_kept = False
        """The keeper watches the work tree."""
        self._performer = performer_type(
            workspace, clock=clock, journal=journal, deliver=self.deliver, keeper=self._keeper
        )

    @property
    def state(self) -> LoopState:
        return self._state

    def recall(self, ended: Iterable[IterationEnded]) -> None:
        """Take over what this run had under an earlier engine, for the summary."""
        self._performer.recall(ended)

    def deliver(self, given: Input) -> None:
        """Put an input into the queue; call it in the event loop's thread."""
        self._queue.put_nowait(given)

    async def run(self, first: Input) -> int:
        """Run to the end and give the exit code; raises ``StateUnusable`` when the journal fails.

        The inbox is drained before this returns, so that every asker finds an answer.
        """
        watch: Wakeup | None = None
        try:
            self.deliver(first)
            self._refuse_leftovers()
            watch = Wakeup([self._workspace.state.inbox], self._look)
            while self._exit_code is None:
                self._take(await self._queue.get())
            self._hold_on(is_last=True)
            await self._finish()
            self._drain()
            return self._exit_code
        finally:
            if watch is not None:
                watch.close()
            if self._last_resort is not None:
                self._last_resort.cancel()
            await self._performer.close()

    async def _finish(self) -> None:
        """Let what still runs come to its end; who asks meanwhile is answered, and may end it."""
        ending = asyncio.ensure_future(self._performer.finish(self._state.run))
        while not ending.done():
            coming = asyncio.ensure_future(self._queue.get())
            await asyncio.wait({ending, coming}, return_when=asyncio.FIRST_COMPLETED)
            if not coming.done():
                coming.cancel()
                continue
            given = coming.result()
            if _ends_at_once(given):
                self._performer.end_soon()
            self._take(given)
        await ending

    def _take(self, given: Input) -> None:
        given = redact_value(given, self._workspace.redactor.redact)
        taken = _with_survivors(self._step_with_files(given))
        try:
            self._journal.append(taken.events)
        except StateUnusable as error:
            self._say_why(error)
            raise
        before, self._state = self._state.run, taken.state
        n_inside = _n_before_foot(taken)
        self._performer.log_events(taken.events[:n_inside], before)
        if isinstance(given, Started | Resumed):
            notes.remove_taken_notes(self._workspace.state)
        if not self._is_kept and taken.state.awaits is not Awaits.READ:
            self._have_kept(given)
        if isinstance(given, CommandArrived):
            self._settle_posted(given.command.id)
        elif isinstance(given, CommandUnreadable):
            self._settle_posted(given.id)
        self._perform(taken.then, given)
        self._performer.log_events(taken.events[n_inside:], before)
        self._performer.notify(taken.events, before)

    def _step_with_files(self, given: Input) -> Step:
        """The step, whose files are written: no event may report one that does not exist."""
        taken = self.step(self._state, given, self._clock.now())
        if problem := self._performer.write_first(taken.first):
            if self._state.awaits is Awaits.START:
                raise StateUnusable(problem)
            taken = self.step(self._state, self._performer.failure(problem), self._clock.now())
        return taken

    def _perform(self, effects: Sequence[Effect | LaneEffect], given: Input) -> None:
        is_hurried = self._last_resort is not None
        if any(isinstance(effect, _NEEDS_FILES) for effect in effects):
            self._hold_on()
        for effect in effects:
            if isinstance(effect, Finish):
                self._exit_code = effect.exit_code
                if is_hurried or _ends_at_once(given):
                    self._performer.end_soon()
                continue
            if isinstance(effect, StopAgent):
                self._limit_the_end()
            self._performer.perform(effect, self._state.run)

    def _limit_the_end(self) -> None:
        """From now on the run ends in so many seconds, also where a thread hangs for good."""
        if self._last_resort is None:
            loop = asyncio.get_running_loop()
            self._last_resort = loop.call_later(END_SECONDS, self._end_without)

    def _end_without(self) -> None:
        hanging = ", ".join(self._performer.running()) or "the loop"
        message = f"{hanging} did not end within {END_SECONDS:g} s"
        self.deliver(EffectFailed(message=message))

    def _have_kept(self, given: Input) -> None:
        """Have the keeper watch, once the journal says whose the changes are that were found.

        Until then the look of an earlier keeper is what an open iteration is settled by.
        """
        is_settled = isinstance(given, IterationRead) and not given.ownership.is_disputed
        if self._state.run.current is None or is_settled:
            self._keeper.watch(self._workspace)
            self._is_kept = True

    def _say_why(self, error: StateUnusable) -> None:
        """Leave in the journal why the run ends: where its news had no room, this may have."""
        taken = self.step(self._state, EffectFailed(message=error.message), self._clock.now())
        with contextlib.suppress(StateUnusable):
            self._journal.append(taken.events)

    def _look(self) -> None:
        """Whatever may have come while the engine waits; called at least twice a second."""
        self._hold_on()
        self._collect()
        reap_adopted()
        self._performer.look_at_clock()
        if self._state.run.phase in WAITS_FOR_PEOPLE and self._workspace.is_gone():
            root = self._workspace.root
            message = f"the work tree {root} is gone, so it can no longer be answered there"
            self.deliver(self._performer.failure(message))

    def _hold_on(self, *, is_last: bool = False) -> None:
        """Bring back the run's own files that somebody deleted while it is live."""
        if self._lock is None or (self._exit_code is not None and not is_last):
            return
        lost: tuple[Path, ...] = ()
        try:
            if self._journal.renew():
                make_private_folder(self._workspace.state.inbox)
                lost = (self._journal.path,)
            lost = (*lost, *self._lock.renew())
        except RalphError as error:
            self._lock = None
            self.deliver(EffectFailed(message=error.message))
            return
        if lost:
            names = ", ".join(str(path) for path in lost)
            message = (
                f"files of this active run were deleted and are written again: {names}; keep "
                "scripts and agents from deleting them"
            )
            self.deliver(AnnouncementDone(code="own-files-deleted", message=message))

    def _collect(self) -> None:
        """Read new commands; their files stay until the journal has the answer."""
        for posted in inbox.collect_commands(self._workspace.state.inbox):
            if posted.path.name not in self._posted:
                self._posted[posted.path.name] = posted
                self.deliver(self._input_of(posted))

    def _input_of(self, posted: inbox.InboxEntry) -> Input:
        if posted.command is None:
            return CommandUnreadable(id=posted.id, code="unreadable", reason=posted.problem)
        refusal = refusal_of(posted.command, self._workspace, self._state.run)
        if refusal is not None:
            return CommandUnreadable(id=posted.id, code=refusal.code, reason=refusal.reason)
        return CommandArrived(command=posted.command)

    def _settle_posted(self, command_id: str) -> None:
        for name, posted in list(self._posted.items()):
            if posted.id == command_id:
                inbox.remove_command(posted)
                del self._posted[name]

    def _refuse_leftovers(self) -> None:
        """Refuse commands that were in the inbox before this start, as meant for another time.

        See docs/rules.md#inbox.
        """
        reason = "it was left over from before the engine started; ask again"
        for posted in inbox.collect_commands(self._workspace.state.inbox):
            self._posted[posted.path.name] = posted
            self.deliver(CommandUnreadable(id=posted.id, code="leftover", reason=reason))

    def _drain(self) -> None:
        """Answer commands that arrived while the run ended; nothing else is left to report."""
        self._collect()
        while not self._queue.empty():
            self._take(self._queue.get_nowait())


def _n_before_foot(taken: Step) -> int:
    """How many of the step's events a log has before the frame that ends an iteration."""
    ends = (n for n, event in enumerate(taken.events, 1) if isinstance(event, IterationEnded))
    return next(ends, len(taken.events))


def _with_survivors(taken: Step) -> Step:
    """The step, with the processes named that live on at the run's end; nobody waits for them."""
    survivors = tuple(sorted(one.pid for one in current().survivors()))
    if not survivors or not any(isinstance(event, RunEnded) for event in taken.events):
        return taken
    events = tuple(
        event.model_copy(update={"survivors": survivors}) if isinstance(event, RunEnded) else event
        for event in taken.events
    )
    return replace(taken, events=events)


def _ends_at_once(given: Input) -> bool:
    """Whether somebody wants an end of everything: a signal, or ``ralph stop --now``."""
    if isinstance(given, CommandArrived):
        return isinstance(given.command, Stop) and given.command.now
    return isinstance(given, Interrupted)


def run_engine(
    request: RunRequest,
    *,
    on_ready: Callable[[RunFiles], None] | None = None,
    clock: Clock | None = None,
    engine_of: Callable[[Start], Callable[..., Engine]] = lambda _start: Engine,
) -> int:
    """Run a loop in this process until it ends, and return its exit code.

    ``on_ready`` gets the run's files once the lock is held, before the first event; ``engine_of``
    chooses the engine for what was prepared. Raises a ``RalphError`` for whatever keeps the run
    from beginning.
    """
    used_clock = SystemClock() if clock is None else clock
    worktree = find_worktree(request.folder)
    state = find_state(state_root(request.environment), worktree)
    lock = EngineLock(worktree.git_dir, state.folder)
    keeper = start_keeper()
    prepare_nursery()
    branching = on_work_branch(request, worktree, state, used_clock)
    with (
        contextlib.ExitStack() as on_end,
        lock,
        branching as branch,
        adopting_orphans(),
        run_supervisor() as supervisor,
    ):
        on_end.enter_context(receiving_child_signals())
        on_end.callback(dismiss_nursery)
        on_end.callback(keeper.leave)
        start = prepare_start(request, worktree, state, used_clock)
        workspace = start.workspace
        supervisor.read_seconds = workspace.config.timeouts.git
        make_private_folder(workspace.files.folder)
        branch.begin(workspace.files.folder)
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
        record_worktree(workspace.state, worktree)
        if on_ready is not None:
            on_ready(workspace.files)
        journal = Journal(workspace.files.journal, size=start.journal_size)
        try:
            engine_state = LoopState(run=start.run_state)
            make_engine = functools.partial(
                engine_of(start),
                workspace,
                journal=journal,
                state=engine_state,
                clock=used_clock,
                lock=lock,
            )
            first = _with_kept_settings(start)
            return run_to_end(_run(make_engine, replace(start, first=first), keeper))
        finally:
            journal.close()


def _with_kept_settings(start: Start) -> Started | Resumed:
    """Write the run's settings beside its journal; its first input with their digest."""
    workspace, facts = start.workspace, start.first.facts
    config = redact_value(facts.config, workspace.redactor.redact)
    digest = keep_settings(workspace.files, config)
    return replace(start.first, facts=replace(facts, settings_digest=digest))


async def _run(make_engine: Callable[..., Engine], start: Start, keeper: TreeKeeper) -> int:
    engine = make_engine(keeper=keeper)
    engine.recall(start.recalled)
    listen_to_signals(lambda by: engine.deliver(Interrupted(by=by)))
    code = await engine.run(start.first)
    if engine.state.run.current is None:
        keeper.dismiss()
    return code
