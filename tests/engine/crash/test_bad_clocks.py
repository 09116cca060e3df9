"""Clocks that go wrong during a run: set back, set forward, or asleep with the machine."""

from __future__ import annotations

import os
import shlex
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ralph_ls.engine.run.preparation import RunRequest
from ralph_ls.engine.run.runner import run_engine
from ralph_ls.protocol.run.events import EventBase
from ralph_ls.store.layout import RunFiles
from ralph_ls.store.run.follow import JournalFollower
from tests.engine.project_builder import Completed, events_of
from tests.engine.ralph_runner import Project, told

pytestmark = pytest.mark.slow

HOUR = timedelta(hours=1)


class SetClock:
    """A machine's clock that somebody sets; what never goes backwards does not mind."""

    def __init__(self) -> None:
        self.offset = timedelta()

    def now(self) -> datetime:
        moment = datetime.now(UTC) + self.offset
        return moment.replace(microsecond=moment.microsecond // 1000 * 1000)

    def local(self) -> datetime:
        return self.now().astimezone()

    def monotonic(self) -> float:
        return time.monotonic()


def run_with(
    project: Project,
    clock: SetClock,
    when: str,
    then: Callable[[EventBase], None],
    **settings: object,
) -> Completed:
    """A run in this process; ``then`` gets its first event of that kind as soon as it appears."""
    watching: list[threading.Thread] = []

    def watch(files: RunFiles) -> None:
        def look() -> None:
            for events in JournalFollower(files.journal, is_live=lambda: True):
                if found := [event for event in events if getattr(event, "kind", "") == when]:
                    then(found[0])
                    break

        watching.append(threading.Thread(target=look))
        watching[0].start()

    overrides = {
        "agent": "command",
        "agents.command": {"argv": shlex.split(project.command)},
        **settings,
    }
    request = RunRequest(
        folder=Path(project.repository), environment=dict(os.environ), overrides=overrides
    )
    code = run_engine(request, clock=clock, on_ready=watch)
    watching[0].join()
    return Completed(exit_code=code, stdout="", stderr="", events=events_of(project.repository))


def test_one_that_is_set_back_hurts_neither_durations_nor_budgets_nor_order(
    project: Project,
) -> None:
    project.make_gate()
    project.agent(
        '[ "$RALPH_START" != 1 ] || wait_here; work; commit; report "STATUS: IN_PROGRESS"'
    )
    clock = SetClock()

    def set_back(event: EventBase) -> None:
        clock.offset = -HOUR
        project.open_gate()

    done = run_with(
        project, clock, "agentStarted", set_back, max_iterations=3, max_duration=1800, cooldown=0.01
    )
    assert told(done, "runEnded")[0].message == "reached the 3-iteration limit"
    assert [event.seq for event in done.events] == list(range(1, len(done.events) + 1))
    started, exited = told(done, "iterationStarted")[0], told(done, "agentExited")[0]
    ended = told(done, "iterationEnded")
    assert ended[0].at < started.at - HOUR / 2
    assert ended[0].seconds == exited.seconds > 0
    assert all(0 < one.seconds < 1800 for one in ended)
    assert 0 < told(done, "runEnded")[0].seconds < 1800
    assert len(told(done, "waitEnded")) == 2
    rows = project.file(".ralph/logs/summary.csv").read_text(encoding="utf-8").splitlines()
    assert len(rows) == 1 + 3


def test_a_wait_is_over_when_its_time_has_come_though_the_machine_slept(project: Project) -> None:
    """While it sleeps the time of day advances, and no timer does."""
    project.agent("work; commit; report 'STATUS: IN_PROGRESS'")
    clock = SetClock()

    def sleep(event: EventBase) -> None:
        clock.offset = 2 * HOUR

    done = run_with(project, clock, "waitStarted", sleep, max_iterations=2, cooldown=3600)
    assert told(done, "runEnded")[0].message == "reached the 2-iteration limit"
    (waited,) = told(done, "waitStarted")
    (over,) = told(done, "waitEnded")
    assert over.at >= waited.until
