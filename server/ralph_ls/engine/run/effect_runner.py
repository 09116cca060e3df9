"""Effect runner: performs what the reducer orders, and answers with an input or ``EffectFailed``.

Quick effects happen at once, so that a decide file exists before the run reports that it waits;
slow ones run as tasks. ``StopAgent`` ends every running process.

Also snapshots of the run for viewers, so that none of them folds a long run from its beginning. The
engine makes them from its own journal, in a thread beside the agent, and seldom. They are only a
cache: without one a viewer takes longer, and shows the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import traceback
from collections.abc import Callable, Coroutine, Iterable
from datetime import datetime
from typing import Any

from ralph_ls.core.loop.effects import (
    Announce,
    AwaitAnswer,
    ClaimTask,
    CloseIteration,
    CommitWork,
    ContinueAgent,
    Effect,
    ForgetAttempts,
    JudgeWork,
    LaunchAgent,
    NoteSetAside,
    PrepareIteration,
    PushWork,
    ReadIteration,
    RemoveBlocked,
    RemoveDecide,
    ReplyToAgent,
    SetTaskAside,
    StopAgent,
    TakeApprovals,
    UndoWork,
    Validate,
    WaitUntil,
    WatchHaltFiles,
    WriteBlocked,
    WriteDecide,
)
from ralph_ls.core.loop.inputs import (
    AnswerOverdue,
    EffectFailed,
    HaltFilesChanged,
    Input,
    WaitElapsed,
)
from ralph_ls.core.loop.lanes import LaneEffect
from ralph_ls.engine.clock import Clock
from ralph_ls.engine.iteration.agent_logs import log_events
from ralph_ls.engine.iteration.iteration import IterationWork
from ralph_ls.engine.notify.notifier import Notifier
from ralph_ls.engine.process.running_process import END_SECONDS, POLL_SECONDS
from ralph_ls.engine.run.announcements import Announcements
from ralph_ls.engine.run.inbox import EDIT_PATIENCE, Wakeup
from ralph_ls.engine.worktree.keeper import TreeKeeper
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.errors import RalphError, StateUnusable
from ralph_ls.protocol.run.events import EventBase, IterationEnded
from ralph_ls.protocol.run.state import RunState
from ralph_ls.store.external.supervisor import current
from ralph_ls.store.layout import RunFiles
from ralph_ls.store.run import halt_files
from ralph_ls.store.run.journal import Journal, last_line
from ralph_ls.store.run.run_view import read_view, save_view
from ralph_ls.store.run.runs import save_state

EVERY = 256 << 10
"""Bytes of journal between two snapshots: what a viewer folds at its start, at most about that."""

SHARE = 0.02
"""How much of the engine's time may go into snapshots."""


class ViewSnapshots:
    """The snapshots of one run; one thread at a time."""

    def __init__(self, files: RunFiles, clock: Clock) -> None:
        self._files = files
        self._clock = clock
        self._offset = 0
        self._not_before = 0.0

    def save(self, offset: int) -> None:
        """Leave one of the run after ``offset`` bytes, where it is time; raises ``StateUnusable``.

        Call it where no iteration is open: viewers show an open one from its beginning.
        """
        if offset - self._offset >= EVERY and self._clock.monotonic() >= self._not_before:
            self._save(offset)

    def save_last(self, offset: int) -> None:
        """Leave one right before the last event, which a viewer shows; raises ``StateUnusable``."""
        before = last_line(self._files.journal, offset)
        if before > self._offset:
            self._save(before)

    def _save(self, offset: int) -> None:
        began = self._clock.monotonic()
        save_view(self._files, read_view(self._files, until=offset))
        ended = self._clock.monotonic()
        self._offset, self._not_before = offset, ended + (ended - began) / SHARE


SAVE_DELAY = 0.05
"""Seconds from an iteration's end to the sync: by then the next agent has been started."""

ANNOUNCING_SECONDS = 1.0
"""What a command of ``on_*`` or a comment gets to end by itself, where an end at once is wanted."""

SAVING_SECONDS = 2.0
"""How long a disk may take for the journal's last sync, where an end at once is wanted."""

_BEFORE_AGENT = frozenset({"preparing", "claiming"})
"""Tasks that nobody needs once the run is over."""


class EffectRunner:
    """Effect runner of one engine."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        clock: Clock,
        journal: Journal,
        deliver: Callable[[Input], None],
        keeper: TreeKeeper | None = None,
    ) -> None:
        self._workspace = workspace
        self._clock = clock
        self._journal = journal
        self._deliver = deliver
        self._work = IterationWork(workspace, clock=clock, emit=deliver, keeper=keeper)
        self._announcing = Announcements(workspace)
        self._tasks: set[asyncio.Task[None]] = set()
        self._notifier = Notifier(workspace, clock=clock, deliver=deliver, start=self._start)
        self._halt_watch: Wakeup | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._until: datetime | None = None
        self._saver: asyncio.TimerHandle | None = None
        self._to_save = (RunState(), 0)
        self._views = ViewSnapshots(workspace.files, clock)
        self._closed = 0
        """Bytes of the journal up to and with the last iteration's end."""
        self._saving = threading.Lock()
        self._saved = 0
        self._hurry: asyncio.TimerHandle | None = None

    def perform(self, effect: Effect | LaneEffect, run: RunState) -> None:
        """Begin an effect; what comes of it is delivered as an input."""
        match effect:
            case PrepareIteration():
                self._end_waiting()
                self._start("preparing", self._answer(self._work.prepare(effect, run)))
            case ClaimTask():
                self._start("claiming", self._answer(self._work.claim(effect)))
            case NoteSetAside():
                self._start("noting", self._work.note_set_aside(effect))
            case LaunchAgent():
                self._start("agent", self._run_agent(effect, run))
            case Announce():
                self._start("announcing", self._answer(self._announcing.announce(effect, run)))
            case ReadIteration():
                self._start("reading", self._answer(self._work.read(effect, run)))
            case Validate() | JudgeWork() | UndoWork() | CommitWork() | PushWork():
                self._check_and_hand_over(effect, run)
            case WaitUntil(until=until):
                delay = max(0.0, (until - self._clock.now()).total_seconds())
                self._timer = asyncio.get_running_loop().call_later(delay, self._time_came)
                self._until = until
            case WatchHaltFiles():
                try:
                    self._watch_halt_files()
                except RalphError as error:
                    self._deliver(self.failure(error.message))
            case StopAgent() | ReplyToAgent() | AwaitAnswer() | ContinueAgent():
                self._reach_agent(effect)
            case CloseIteration(ended=ended):
                self._work.close_iteration(ended)
                self._closed = self._journal.size
                self._save_soon(run, self._journal.size)
            case _:
                if problem := self._write(effect):
                    self._deliver(self.failure(problem))

    def _reach_agent(self, effect: StopAgent | ReplyToAgent | AwaitAnswer | ContinueAgent) -> None:
        """Stop the living agent, or do what its call of a tool needs."""
        match effect:
            case StopAgent():
                self._work.stop()
            case ReplyToAgent():
                self._work.tools.reply(effect)
            case AwaitAnswer(start=start):
                self._await_answer(start)
            case ContinueAgent():
                self._end_waiting()
                self._work.release_clocks()

    def _await_answer(self, start: int) -> None:
        """Let the agent wait for the user: no limit of time runs, but for that of the wait."""
        self._work.hold_clocks()
        try:
            self._watch_halt_files()
        except RalphError as error:
            self._deliver(self.failure(error.message))
            return
        overdue = AnswerOverdue(start=start)
        self._timer = asyncio.get_running_loop().call_later(
            self._workspace.config.ask_wait, self._deliver, overdue
        )

    def _check_and_hand_over(
        self, effect: Validate | JudgeWork | UndoWork | CommitWork | PushWork, run: RunState
    ) -> None:
        match effect:
            case Validate():
                self._start("validating", self._answer(self._work.validate(effect)))
            case JudgeWork():
                self._start("judging", self._answer(self._work.judge(effect, run)))
            case UndoWork():
                self._start("undoing", self._answer(self._work.undo(effect, run)))
            case CommitWork():
                self._start("committing", self._answer(self._work.commit(effect)))
            case PushWork():
                self._start("pushing", self._answer(self._work.push(effect)))

    def look_at_clock(self) -> None:
        """End a wait whose time has come while the machine slept and no timer ran."""
        if self._timer is not None and self._until is not None and self._clock.now() >= self._until:
            self._time_came()

    def _time_came(self) -> None:
        self._end_timer()
        self._deliver(WaitElapsed())

    def write_first(self, effects: Iterable[Effect | LaneEffect]) -> str | None:
        """Write what has to exist before the journal reports it; the first problem, if any."""
        problems = (self._write(effect) for effect in effects)
        return next((problem for problem in problems if problem is not None), None)

    def failure(self, message: str) -> EffectFailed:
        """That an effect failed; where the repository is damaged, what has become of it."""
        damage = self._work.damage(message)
        if damage is None:
            return EffectFailed(message=message)
        return EffectFailed(message=damage, blocked=True)

    def recall(self, ended: Iterable[IterationEnded]) -> None:
        """Write the summary's rows of an earlier engine again, should they be gone."""
        self._work.log.summary_file.load_rows(ended)

    def end_soon(self) -> None:
        """Have ``finish`` end what still runs, or give it up: an end at once is ordered.

        Announcements get a moment longer. Idempotent.
        """
        if self._hurry is not None:
            return
        loop = asyncio.get_running_loop()
        self._hurry = loop.call_later(END_SECONDS, self._give_up)
        loop.call_later(ANNOUNCING_SECONDS, self._announcing.stop)
        loop.call_later(ANNOUNCING_SECONDS, self._notifier.stop)
        current().end_in(POLL_SECONDS)

    def log_events(self, events: Iterable[EventBase], run: RunState) -> None:
        """Write to the logs for people what the loop reports; ``run`` is the run before it."""
        log_events(self._work.log, events, run, self._clock)

    def notify(self, events: Iterable[EventBase], run: RunState) -> None:
        """Notify the user of what the journal has now; ``run`` is the run before it."""
        self._notifier.observe(events, run)

    def running(self) -> tuple[str, ...]:
        """What is under way, in words."""
        return tuple(sorted({task.get_name() for task in self._tasks}))

    async def finish(self, run: RunState) -> None:
        """Let what still runs come to its end, and put the journal on the disk."""
        # What is reported meanwhile is in the journal, and not yet in this state.
        size = self._journal.size
        self._end_waiting()
        self._cancel_save()
        self._notifier.finish()
        if any(task.get_name() in _BEFORE_AGENT for task in self._tasks):
            self._work.leave_off()
            current().end()
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)
        self._work.finish(run)
        if self._hurry is None:
            await asyncio.to_thread(self._work.deliver)
        if self._hurry is None and run.current is None:
            await self._work.name_last_commit()
        patience = None if self._hurry is None else SAVING_SECONDS
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await asyncio.to_thread(self._save, run, size, is_last=True)

    def _give_up(self) -> None:
        """Wait no longer for threads that nobody can end; no program runs any more."""
        for task in list(self._tasks):
            task.cancel()

    async def close(self) -> None:
        """Leave nothing behind, whatever went wrong."""
        self._end_waiting()
        self._cancel_save()
        self._work.stop()
        self._announcing.stop()
        self._notifier.stop()
        current().end()
        if self._hurry is not None:
            self._hurry.cancel()
        for task in list(self._tasks):
            if task.get_name() != "agent":
                task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._work.finish()

    def _save_soon(self, run: RunState, offset: int) -> None:
        """Sync beside the next agent rather than before it; the end of the run saves by itself."""
        self._to_save = (run, offset)
        if self._saver is None:
            self._saver = asyncio.get_running_loop().call_later(SAVE_DELAY, self._save_now)

    def _save_now(self) -> None:
        self._saver = None
        self._start("saving", asyncio.to_thread(self._save, *self._to_save))

    def _cancel_save(self) -> None:
        if self._saver is not None:
            self._saver.cancel()
            self._saver = None

    def _save(self, run: RunState, offset: int, *, is_last: bool = False) -> None:
        """Neither a sync nor a rename over a file is quick, so this runs in a thread."""
        closed = min(self._closed, offset)
        self._journal.sync()
        # The snapshots only spare viewers that come later the reading of what the journal says.
        with self._saving, contextlib.suppress(StateUnusable):
            if offset > self._saved:
                self._saved = offset
                save_state(self._workspace.files, run, offset=offset)
            save_view = self._views.save_last if is_last else self._views.save
            save_view(closed)

    def _start(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if task.cancelled():
            return
        error = task.exception()
        if error is None:
            return
        if not isinstance(error, RalphError | OSError):
            traceback.print_exception(error)
        self._deliver(self.failure(_in_words(task.get_name(), error)))

    async def _answer(self, work: Coroutine[Any, Any, Input]) -> None:
        self._deliver(await work)

    async def _run_agent(self, effect: LaunchAgent, run: RunState) -> None:
        self._save_soon(run, self._journal.size)
        launched, ended = await self._work.launch(effect, run)
        self._deliver(launched)
        self._deliver(await ended)

    def _write(self, effect: Effect | LaneEffect) -> str | None:
        """Write a halt file or the plan, at once; the problem in words, if there is one."""
        root, paths = self._workspace.root, self._workspace.config.paths
        if self._workspace.is_gone():
            return f"the work tree {root} cannot be written"
        try:
            match effect:
                case SetTaskAside():
                    self._work.set_task_aside(effect)
                case ForgetAttempts(task=task):
                    self._work.forget_attempts(task)
                case TakeApprovals(approvals=approvals):
                    self._workspace.trust.accept({one.key: one.sha256 for one in approvals})
                case WriteDecide():
                    halt_files.write_decide(
                        root,
                        paths,
                        question=effect.question,
                        iteration=effect.iteration,
                        asked_at=effect.asked_at,
                        answer=effect.answer,
                    )
                case RemoveDecide():
                    halt_files.remove_decide(root, paths)
                case WriteBlocked(reason=reason):
                    halt_files.write_blocked(root, paths, reason)
                case RemoveBlocked():
                    halt_files.remove_blocked(root, paths)
                case _:
                    raise AssertionError(f"no handler for {effect}")
        except (RalphError, OSError) as error:
            what = "the plan" if isinstance(effect, SetTaskAside) else "the halt file"
            return _in_words(what, error)
        return None

    def _watch_halt_files(self) -> None:
        self._end_waiting()
        root, paths = self._workspace.root, self._workspace.config.paths
        known = halt_files.load_halt_files(root, paths)
        self._deliver(HaltFilesChanged(halt=known))
        changed, changed_at = known, 0.0

        def look() -> None:
            # An answer counts once the file has rested: editors save half-typed text by themselves.
            nonlocal known, changed, changed_at
            if self._workspace.is_gone():
                return  # Nothing may be written where somebody has just removed everything.
            try:
                found = halt_files.load_halt_files(root, paths)
            except RalphError:
                return  # It is looked at again; its author may be about to fix it.
            moment = self._clock.monotonic()
            if found != changed:
                changed, changed_at = found, moment
            elif found != known and moment - changed_at >= EDIT_PATIENCE:
                known = found
                self._deliver(HaltFilesChanged(halt=found))

        try:
            folders = halt_files.make_halt_folders(root, paths)
        except StateUnusable:
            if self._workspace.is_gone():
                return  # The run ends at the next look at its commands.
            raise
        self._halt_watch = Wakeup(folders, look)

    def _end_waiting(self) -> None:
        if self._halt_watch is not None:
            self._halt_watch.close()
            self._halt_watch = None
        self._end_timer()

    def _end_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _in_words(what: str, error: BaseException) -> str:
    if isinstance(error, RalphError):
        return error.message
    if isinstance(error, OSError):
        named = f": {error.filename}" if error.filename else ""
        return (
            f"{what}: {error.strerror or error}{named}; free some space or fix the permissions, "
            "then try again"
        )
    return f"{what} failed unexpectedly: {type(error).__name__}: {error}"
