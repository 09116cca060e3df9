"""Follower of lanes: reads the journals of their runs, and reports what a parallel run has to know.

That is the phase of a run that waits, its end, and that its engine is gone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ralph_ls.core.loop.fold import fold
from ralph_ls.core.loop.lanes import LaneEngineGone, LaneInput, LaneObserved
from ralph_ls.engine.parallel.lane_worktree import LaneTree
from ralph_ls.engine.run.inbox import Wakeup
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Phase
from ralph_ls.store.run.follow import JournalTail
from ralph_ls.store.run.lock import is_held

WAITS_SHOWN = frozenset({"limit", "retry", "unreachable"})
"""Reasons of a wait that a parallel run has to know of."""

RUNNING = (Phase.RUNNING, None, None, None)
"""What is reported of the phase of a run that works."""


@dataclass(slots=True)
class FollowedRun:
    """A lane's run that is followed."""

    lane: LaneTree
    run: str
    tail: JournalTail
    wakeup: Wakeup | None = None
    state: RunState = field(default_factory=RunState)
    reported: tuple[Any, ...] = RUNNING
    """What was last reported of its phase."""
    is_over: bool = False

    def stop_watching(self) -> None:
        """Look no more by itself whether its files change."""
        if self.wakeup is not None:
            self.wakeup.close()
            self.wakeup = None


class LaneFollower:
    """The followed runs of one parallel run, each by the task of its lane."""

    def __init__(
        self,
        deliver: Callable[[LaneInput], None],
        run_is_over: Callable[[str, FollowedRun], None],
    ) -> None:
        """``run_is_over`` is called once for each run that has ended, with its task."""
        self._deliver = deliver
        self._run_is_over = run_is_over
        self._followed: dict[str, FollowedRun] = {}

    def follow(self, task: str, lane: LaneTree, run: str, *, reported: tuple[Any, ...]) -> None:
        """Follow this run of the lane from now on, and no other; it is read at once."""
        self.forget(task)
        files = lane.state.run(run)
        followed = FollowedRun(
            lane=lane, run=run, tail=JournalTail(files.journal), reported=reported
        )
        self._followed[task] = followed
        followed.wakeup = Wakeup([files.folder], lambda: self._look(task))
        self._look(task)

    def forget(self, task: str) -> None:
        """Follow the run of the task's lane no more."""
        followed = self._followed.pop(task, None)
        if followed is not None:
            followed.stop_watching()

    def look(self) -> None:
        """Look at all of them, for systems without events of files."""
        for task in list(self._followed):
            self._look(task)

    def close(self) -> None:
        """Follow nothing more."""
        for task in list(self._followed):
            self.forget(task)

    def _look(self, task: str) -> None:
        followed = self._followed.get(task)
        if followed is None or followed.is_over:
            return
        is_alive = is_held(followed.lane.worktree.git_dir)
        events = followed.tail.read()
        followed.state = state = fold(events, followed.state)
        if state.end is not None and followed.tail.ended:
            if not is_alive:
                followed.is_over = True
                followed.stop_watching()
                self._run_is_over(task, followed)
        elif not is_alive and not events:
            followed.is_over = True
            self._deliver(LaneEngineGone(task=task))
        elif (now := phase_of(state)) != followed.reported:
            followed.reported = now
            phase, reason, until, question = now
            self._deliver(
                LaneObserved(task=task, phase=phase, reason=reason, until=until, question=question)
            )


def phase_of(state: RunState) -> tuple[Phase, str | None, Any, str | None]:
    """What a parallel run has to know of the phase of a lane's run."""
    if state.phase is Phase.WAITING and state.phase_reason in WAITS_SHOWN:
        return state.phase, state.phase_reason, state.until, None
    if state.phase in {Phase.PARKED, Phase.PAUSED}:
        question = state.question
        asked = question.question if question is not None and question.answer is None else None
        return state.phase, state.phase_reason, None, asked
    return RUNNING
