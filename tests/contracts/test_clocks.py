"""What the engine asks of a clock, of the machine's and of the one that tests wind on."""

from __future__ import annotations

import itertools
import os
import shlex
from datetime import timedelta
from pathlib import Path

import pytest

from ralph_ls.engine.clock import Clock, SystemClock
from ralph_ls.engine.run.preparation import RunRequest
from ralph_ls.engine.run.runner import run_engine
from tests.contracts.fake_clock import FIRST, NEARBY, FakeClock
from tests.engine.project_builder import Completed, events_of
from tests.engine.ralph_runner import Project, told

CLOCKS = [
    pytest.param(SystemClock(), id="of-the-machine"),
    pytest.param(FakeClock(step=timedelta(milliseconds=1)), id="fake"),
]


@pytest.mark.parametrize("clock", CLOCKS)
def test_the_present_is_in_utc_and_whole_milliseconds(clock: Clock) -> None:
    for _ in range(50):
        moment = clock.now()
        assert moment.utcoffset() == timedelta(0)
        assert moment.microsecond % 1000 == 0


@pytest.mark.parametrize("clock", CLOCKS)
def test_the_present_in_local_time_has_its_zone_and_is_the_same_instant(clock: Clock) -> None:
    before, local, after = clock.now(), clock.local(), clock.now()
    assert local.tzinfo is not None
    assert before <= local <= after + timedelta(milliseconds=1)


@pytest.mark.parametrize("clock", CLOCKS)
def test_seconds_never_go_backwards(clock: Clock) -> None:
    moments = [clock.monotonic() for _ in range(1000)]
    assert all(earlier <= later for earlier, later in itertools.pairwise(moments))


def test_the_engine_takes_every_time_from_its_clock(project: Project) -> None:
    project.plan(files={".ralph/config.toml": 'max_duration = "6h"\n'})
    project.agent("work; commit; report 'STATUS: IN_PROGRESS'")
    done = run_here(project, FakeClock(step=timedelta(minutes=17)))
    assert done.exit_code == 1
    assert told(done, "runEnded")[0].message == "reached the 6h time limit"
    moments = [event.at for event in done.events]
    assert moments == sorted(moments)
    assert all((moment - FIRST) % timedelta(minutes=17) == timedelta(0) for moment in moments)
    assert moments[-1] - moments[0] >= timedelta(hours=6)
    logs = project.file(".ralph/logs")
    (log,) = logs.glob("*.log")
    day = FIRST.astimezone(NEARBY)
    assert log.name == f"{day:%Y-%m-%d}_001.log"
    assert f"Started: {day:%Y-%m-%d} " in log.read_text(encoding="utf-8")
    rows = (logs / "summary.csv").read_text(encoding="utf-8").splitlines()[1:]
    ended = told(done, "iterationEnded")
    assert [row.split(",")[-1] for row in rows] == [f"{one.at:%Y-%m-%dT%H:%M:%SZ}" for one in ended]
    assert [row.split(",")[2] for row in rows] == [f"{round(one.seconds)}" for one in ended]


def run_here(project: Project, clock: Clock) -> Completed:
    """The engine in this process, since a clock cannot be given to another one."""
    overrides = {"agent": "command", "agents.command": {"argv": shlex.split(project.command)}}
    request = RunRequest(
        folder=Path(project.repository), environment=dict(os.environ), overrides=overrides
    )
    code = run_engine(request, clock=clock)
    return Completed(exit_code=code, stdout="", stderr="", events=events_of(project.repository))
