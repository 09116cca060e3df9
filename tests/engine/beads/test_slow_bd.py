"""How often ``bd`` is asked, which may be slow, and that one which hangs holds nobody up."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.engine.beads.conftest import IT_RUNS, Issues, end_of
from tests.engine.project_builder import marked_processes
from tests.engine.ralph_runner import wait_until

pytestmark = pytest.mark.slow

WORKS = 'work; closes "$issue"; commit; report "STATUS: IN_PROGRESS"'
LISTS = ["list", "ready"]

BD_HANGS = 50.0
"""Seconds; less than the engine would wait for a ``bd`` by itself."""


def watch(work: Issues, body: str = "") -> Path:
    """Have every call of ``bd`` by the loop written down, one a line."""
    calls = work.kept / "calls"
    (work.bin / "bd").rename(work.bin / "real")
    (work.bin / "bd").write_text(
        f"""\
#!/bin/sh
[ -n "${{RALPH_ITERATION:-}}" ] || echo "$@" >>{calls}
{body}
exec {work.bin}/real "$@"
""",
        encoding="utf-8",
    )
    (work.bin / "bd").chmod(0o755)
    return calls


def test_an_iteration_costs_one_look_and_one_claim(work: Issues) -> None:
    issues = ({"id": f"bd-{n}", "acceptance_criteria": IT_RUNS} for n in (1, 2))
    work.issues(*issues).agent(WORKS)
    calls = watch(work)
    assert end_of(work.work_on())[0] == 0
    asked = [line.split()[0] for line in calls.read_text(encoding="utf-8").splitlines()]
    at_start = LISTS * 2
    assert asked == [*at_start, "update", "version", *LISTS, "update", *LISTS]


def test_an_issue_that_continues_is_not_claimed_again(work: Issues) -> None:
    work.issues({"id": "bd-1", "acceptance_criteria": IT_RUNS})
    work.agent("work; commit; case $RALPH_START in 2) closes bd-1;; esac; report 'STATUS: X'")
    calls = watch(work)
    assert end_of(work.work_on())[0] == 0
    claims = [line for line in calls.read_text(encoding="utf-8").splitlines() if "claim" in line]
    assert len(claims) == 1


def test_ctrl_c_ends_a_run_that_waits_for_bd(work: Issues) -> None:
    work.issues({"id": "bd-1", "acceptance_criteria": IT_RUNS}).agent(WORKS)
    hangs = work.kept / "hangs"
    watch(work, f'case "$*" in *--claim*) : >{hangs}; sleep 1000;; esac')
    running = work.start_on()
    wait_until(work.kept, hangs.exists)
    running.signal(signal.SIGINT)
    done = running.wait()
    assert done.exit_code == 130
    assert "iterationStarted" not in done.kinds()


@pytest.mark.parametrize("when", ["at-work", "settling"])
def test_a_bd_that_hangs_while_an_iteration_is_settled_holds_no_stop_up(
    work: Issues, when: str
) -> None:
    work.issues({"id": "bd-1", "acceptance_criteria": IT_RUNS})
    work.agent(": >$kept/worked" if when == "settling" else ": >$kept/worked; sleep 1000")
    hangs, worked = work.kept / "hangs", work.kept / "worked"
    watch(work, f"[ ! -e {worked} ] || {{ : >{hangs}; sleep 1000; }}")
    running = work.start_on()
    wait_until(work.kept, (hangs if when == "settling" else worked).exists)
    running.press_ctrl_c_twice()
    done = running.wait(BD_HANGS)
    assert done.exit_code == 130
    assert done.kinds()[-1] == "runEnded"
    assert "iterationEnded" not in done.kinds()
    assert marked_processes(done.events[0].run) == []
    assert "stopped by Ctrl-C" in done.stdout
    (work.bin / "real").replace(work.bin / "bd")
    work.agent(WORKS)
    resumed = work.start_on("--resume").wait()
    assert end_of(resumed)[0] == 0
