"""Moments at which the machine fails a run: no room, no leave to write, nothing to work in.

Room is taken from a real engine by the system's own limit for the size of a file: a write then
fails in the middle of a line as on a full disk, for every user. Permission to write is taken
from it by modes, which bind root too once it gives up the power to pass over them.
"""

from __future__ import annotations

import os
import resource
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from tests.engine.project_builder import (
    Completed,
    Running,
    journal_of,
    marked_processes,
    newest_run,
    start_ralph,
)
from tests.engine.ralph_runner import Project, Started, remove_at_once, told, wait_until, warnings

pytestmark = pytest.mark.slow

GOES_ON = "work; commit; report 'STATUS: IN_PROGRESS'"
WAITS = f"wait_here; {GOES_ON}"
UNLIMITED = resource.RLIM_INFINITY


def leave_room(running: Started, size: int) -> None:
    """Let no file that the engine writes grow beyond so many bytes."""
    resource.prlimit(running.pid, resource.RLIMIT_FSIZE, (size, UNLIMITED))


def bound_by_modes(project: Project, **environment: str) -> AbstractContextManager[Running]:
    """A run that may write only where the modes of files allow it."""
    powers = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"]
    arguments = ("run", "3", "--agent-command", project.command)
    before = powers if os.geteuid() == 0 else ["env"]
    return start_ralph(project.repository, *arguments, env=environment, before=before)


def begun(project: Project, body: str = WAITS, *arguments: str) -> Started:
    """A run whose agent waits at its gate."""
    project.make_gate()
    running = project.agent(body).start(*arguments)
    wait_until(project.kept, (project.kept / "here").exists)
    running.wait_for("agentStarted")
    return running


def goes_on(project: Project, run: str) -> Completed:
    """What a resumed run comes to, once all is well again."""
    project.agent(GOES_ON)
    done = project.run("--resume")
    assert done.exit_code == 1
    assert told(done, "runResumed")[0].run == run
    assert [event.seq for event in done.events] == list(range(1, len(done.events) + 1))
    assert told(done, "runEnded")[-1].reason == "limit"
    return done


class TestNoRoom:
    @pytest.mark.parametrize(
        ("room", "says_why"),
        [pytest.param(60, False, id="none"), pytest.param(3000, True, id="little")],
    )
    def test_for_the_journal_ends_the_run_and_costs_it_nothing(
        self, project: Project, room: int, says_why: bool
    ) -> None:
        long = "report 'STATUS: IN_PROGRESS' \"RECOMMENDATION: $(printf '%09000d' 7)\""
        running = begun(project, f"wait_here; work; commit; {long}", "2")
        journal = journal_of(project.repository)
        before = journal.read_bytes()
        leave_room(running, len(before) + room)
        project.open_gate()
        done = running.wait()
        run = done.events[0].run
        assert done.exit_code == 5
        assert (
            f"the journal {journal} cannot be used: File too large; free some space" in done.stderr
        )
        assert "Traceback" not in done.stderr
        left = journal.read_bytes()
        assert left.startswith(before)
        assert left.endswith(b"}\n")
        assert marked_processes(run) == []
        assert (done.kinds()[-1] == "runEnded") is says_why
        shown = project.tell("status").stdout
        assert ("cannot be used: File too large" in shown) is says_why
        assert "ralph run --resume" in shown
        outcomes = [event.outcome for event in told(goes_on(project, run), "iterationEnded")]
        assert outcomes[0] == ("progress" if says_why else "lost")

    def test_for_the_logs_is_reported_and_the_run_continues(self, project: Project) -> None:
        running = begun(project, f"wait_here; yes 'it talks' | head -c 200000; {GOES_ON}", "1")
        leave_room(running, 60_000)
        project.open_gate()
        done = running.wait()
        assert (done.exit_code, done.stderr) == (1, "")
        (warned,) = [one for one in told(done, "warned") if one.code == "log-not-written"]
        assert "File too large" in warned.message
        assert told(done, "agentExited")[0].stdout_bytes > 200_000
        # What could not be kept was read all the same.
        assert told(done, "ralphStatusUpdate")[0].report.fields["STATUS"] == "IN_PROGRESS"
        assert told(done, "iterationEnded")[0].outcome == "progress"


class TestNoLeave:
    def test_to_make_the_state_is_reported_before_anything_begins(
        self, project: Project, tmp_path: Path
    ) -> None:
        closed = tmp_path / "closed"
        closed.mkdir(mode=0o500)
        with bound_by_modes(
            project.agent(GOES_ON), RALPH_STATE_DIR=str(closed / "state")
        ) as running:
            done = running.wait()
        assert (done.exit_code, done.events) == (5, ())
        assert f"the folder {closed}/state" in done.stderr
        assert (
            "Permission denied; set RALPH_STATE_DIR to a folder that you can write to"
            in done.stderr
        )

    def test_to_write_logs_is_reported_and_to_write_the_state_ends_the_run(
        self, project: Project
    ) -> None:
        project.plan().file(".ralph/logs").mkdir(parents=True)
        project.file(".ralph/logs").chmod(0o500)
        project.make_gate()
        with bound_by_modes(project.agent(WAITS)) as running:
            wait_until(project.kept, (project.kept / "here").exists)
            folder = project.run_folder()
            folder.chmod(0o500)
            project.open_gate()
            done = running.wait()
        folder.chmod(0o700)
        assert done.exit_code == 5
        (end,) = told(done, "runEnded")
        assert end.message.startswith(f"{folder}/iteration-002")
        assert "cannot be written: Permission denied" in end.message
        assert end.message.endswith("free some space or fix the permissions, then try again")
        assert f"Ended: fatal: {end.message}" in done.stdout
        assert "Traceback" not in done.stderr
        assert "log-not-written" in warnings(done)
        assert told(done, "iterationEnded")[0].outcome == "progress"
        goes_on(project, end.run)

    def test_to_keep_what_a_viewer_would_gain_time_by_is_no_harm(self, project: Project) -> None:
        running = begun(project, WAITS, "1")
        state = project.run_folder() / "state.json"
        state.unlink(missing_ok=True)
        state.mkdir()
        project.open_gate()
        done = running.wait()
        assert (done.exit_code, done.stderr) == (1, "")


class TestGone:
    def test_the_work_tree_ends_the_run_which_says_so(self, project: Project) -> None:
        running = begun(project, "wait_here", "3")
        found = newest_run(project.repository)
        assert found is not None
        remove_at_once(project.repository)
        project.open_gate()
        done = running.wait()
        message = f"the work tree {project.repository} was removed or renamed; restore it"
        assert done.exit_code == 2
        assert f"Ended: blocked: {message}" in done.stdout
        assert (done.stderr, project.repository.exists()) == ("", False)
        assert marked_processes(found.state.run) == []

    def test_the_state_is_written_again_and_the_run_continues(self, project: Project) -> None:
        running = begun(project, f"[ -e work.txt ] || wait_here; {GOES_ON}", "3")
        remove_at_once(project.run_folder())
        project.open_gate()
        done = running.wait()
        assert (done.exit_code, done.stderr) == (1, "")
        assert "own-files-deleted" in warnings(done)
        assert len(told(done, "iterationEnded")) == 3
        assert project.run("1").exit_code == 1
