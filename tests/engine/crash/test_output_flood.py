"""An agent that floods its run with output, and more viewers than anybody needs."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from tests.engine.ralph_runner import Project, events_in, told, wait_until

pytestmark = pytest.mark.slow

FLOOD = 60_000_000
N_VIEWERS = 10


def most_memory(pid: int) -> int:
    """Bytes of memory that a process ever had at a time."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found is not None, status
    return int(found[1]) * 1024


def test_a_flood_of_output_is_kept_whole_and_not_in_memory(project: Project) -> None:
    """One half of it has no line ends; ``make bench`` floods with a gigabyte."""
    project.make_gate()
    talks, half = "yes 'it talks and talks'", FLOOD // 2
    project.agent(
        f"{talks} | head -c {half}; {talks} | tr -d '\\n' | head -c {half}; echo\n"
        "wait_here; work; commit; report 'STATUS: IN_PROGRESS'"
    )
    running = project.start("1")
    wait_until(project.kept, (project.kept / "here").exists)
    assert most_memory(running.pid) < 2 * FLOOD
    project.open_gate()
    done = running.wait()
    assert done.exit_code == 1
    (exited,) = told(done, "agentExited")
    kept = project.run_folder() / "iteration-001.out"
    assert exited.stdout_bytes == kept.stat().st_size > FLOOD
    assert told(done, "ralphStatusUpdate")[0].report.fields["STATUS"] == "IN_PROGRESS"
    assert "▸ Iteration 1: progress" in done.stdout


def test_of_ten_viewers_one_that_hangs_hurts_nobody(project: Project) -> None:
    project.make_gate()
    project.agent(
        '[ "$RALPH_START" != 1 ] || wait_here\n'
        "yes 'it talks' | head -c 500000; work; commit; report 'STATUS: IN_PROGRESS'"
    )
    running = project.start("5")
    wait_until(project.kept, (project.kept / "here").exists)
    shown = [project.kept / "viewers" / f"{number}.jsonl" for number in range(N_VIEWERS)]
    shown[0].parent.mkdir()
    viewers = []
    for path in shown:
        with path.open("wb") as file:
            viewers.append(
                project.ralph.start(project.repository, "watch", "--json", stdout=file.fileno())
            )
    wait_until(shown[0].parent, lambda: all(path.stat().st_size for path in shown))
    viewers[0].signal(signal.SIGSTOP)
    project.open_gate()
    done = running.wait()
    assert (done.exit_code, done.kinds().count("iterationEnded")) == (1, 5)
    for viewer, path in zip(viewers[1:], shown[1:], strict=True):
        assert viewer.wait().exit_code == 0
        assert events_in(path.read_text(encoding="utf-8")) == done.events
    assert viewers[0].process.poll() is None
    viewers[0].signal(signal.SIGCONT)
    assert viewers[0].wait().exit_code == 0
    assert events_in(shown[0].read_text(encoding="utf-8")) == done.events
