"""The engine: one queue of inputs, one owner of the state, one step at a time.

Take an input, ask the reducer, write the events, perform the effects. Everything else in this
package either puts inputs into the queue or performs an effect.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from ralph_ls.core.loop.effects import (
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
from ralph_ls.core.loop.machine.reducer import step
from ralph_ls.core.loop.state import Awaits, LoopState, Step
from ralph_ls.engine.adoption import reap_adopted
from ralph_ls.engine.askers import refusal_of
from ralph_ls.engine.cleaning import clean
from ralph_ls.engine.clock import Clock
from ralph_ls.engine.keeper import Keeper
from ralph_ls.engine.perform import Performer
from ralph_ls.engine.process import END_SECONDS
from ralph_ls.engine.watching import Wakeup
from ralph_ls.engine.workspace import Workspace
from ralph_ls.protocol.errors import RalphError, StateUnusable
from ralph_ls.protocol.run.commands import Stop
from ralph_ls.protocol.run.events import IterationEnded, RunEnded
from ralph_ls.protocol.run.values import Phase
from ralph_ls.store.external.supervisor import current
from ralph_ls.store.files import make_private_folder
from ralph_ls.store.run import inbox
from ralph_ls.store.run import inbox as notes
from ralph_ls.store.run.journal import Journal
from ralph_ls.store.run.lock import EngineLock

WAITS_FOR_PEOPLE = frozenset({Phase.PARKED, Phase.PAUSED})
"""Phases that end only when somebody does something; in any other the loop meets what is gone."""

_NEEDS_FILES = (PrepareIteration, LaunchAgent, ReadIteration)
"""Effects that write into the run's folder, or begin something for which the lock is held."""


class Engine:
    """One run under one process, from its first input to its end."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        journal: Journal,
        state: LoopState,
        clock: Clock,
        keeper: Keeper | None = None,
        lock: EngineLock | None = None,
        performer_type: Callable[..., Performer] = Performer,
    ) -> None:
        self._workspace = workspace
        self._journal = journal
        self._state = state
        self._clock = clock
        self._queue: asyncio.Queue[Input] = asyncio.Queue()
        self._posted: dict[str, inbox.InboxEntry] = {}
        self._exit_code: int | None = None
        self._keeper = Keeper() if keeper is None else keeper
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
        given = clean(given, self._workspace.redactor.redact)
        taken = step(self._state, given, self._clock.now())
        if problem := self._performer.write_first(taken.first):
            if self._state.awaits is Awaits.START:
                raise StateUnusable(problem)
            # Nobody may be told of a file that is not there.
            taken = step(self._state, self._performer.failure(problem), self._clock.now())
        taken = _with_survivors(taken)
        try:
            self._journal.append(taken.events)
        except StateUnusable as error:
            self._say_why(error)
            raise
        self._state = taken.state
        if isinstance(given, Started | Resumed):
            notes.remove_taken_notes(self._workspace.state)
        if not self._is_kept and taken.state.awaits is not Awaits.READ:
            self._have_kept(given)
        if isinstance(given, CommandArrived):
            self._settle_posted(given.command.id)
        elif isinstance(given, CommandUnreadable):
            self._settle_posted(given.id)
        is_hurried = self._last_resort is not None
        if any(isinstance(effect, _NEEDS_FILES) for effect in taken.then):
            self._hold_on()
        for effect in taken.then:
            if isinstance(effect, Finish):
                self._exit_code = effect.exit_code
                if is_hurried or _ends_at_once(given):
                    self._performer.end_soon()
            else:
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
        message = f"{hanging} did not come to an end in {END_SECONDS:g} s"
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
        taken = step(self._state, EffectFailed(message=error.message), self._clock.now())
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
            message = f"the work tree {root} is gone, so nobody can answer there any more"
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
                f"files of this run were deleted while it is live, and are written again: {names}; "
                "keep scripts and agents from deleting them"
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
        """What lay in the inbox before this start was meant for another time (SPEC §2)."""
        reason = "it was left over from before the engine started; ask again"
        for posted in inbox.collect_commands(self._workspace.state.inbox):
            self._posted[posted.path.name] = posted
            self.deliver(CommandUnreadable(id=posted.id, code="leftover", reason=reason))

    def _drain(self) -> None:
        """Answer what came in while the run ended; only answers to commands are left to tell."""
        self._collect()
        while not self._queue.empty():
            self._take(self._queue.get_nowait())


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
