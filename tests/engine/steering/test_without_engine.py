"""Steering where no engine runs, engines in the background, and several viewers of one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ralph_ls.protocol.run.events import RunResumed
from tests.engine.project_builder import events_of, wait_for
from tests.engine.ralph_runner import Project, told
from tests.engine.steered_run import (
    ASKS_FIRST,
    BLOCKED_FIRST,
    FINISHES,
    STUCK_FIRST,
    WAITS,
    at_work,
    inbox_of,
    said,
    state_of,
    told_last,
)

pytestmark = pytest.mark.slow


class TestWithoutAnEngine:
    def test_what_only_an_engine_can_do_is_refused_at_once(self, project: Project) -> None:
        project.plan()
        for verb in ("stop", "pause", "resume", "reset"):
            done = project.tell(verb)
            assert done.exit_code == 5
            assert "no run in" in done.stderr
        project.agent(FINISHES)
        assert project.run("9").exit_code == 0
        for verb in ("stop", "pause"):
            done = project.tell(verb)
            assert done.exit_code == 5
            assert "no engine is running in" in done.stderr
        for verb in ("resume", "reset"):
            assert project.tell(verb).exit_code == 5
        assert list(inbox_of(project).iterdir()) == []

    def test_an_answer_is_written_into_its_file(self, project: Project) -> None:
        project.agent(ASKS_FIRST)
        assert project.run("9").exit_code == 3
        done = project.tell("answer", "blue")
        assert (done.exit_code, done.stderr) == (0, "")
        assert done.stdout == (
            "The answer is in .ralph/decide.txt. "
            "Continue: ralph run --resume, or start a new run: ralph run\n"
        )
        text = project.file(".ralph/decide.txt").read_text(encoding="utf-8")
        assert text.endswith("\nred or blue?\n\n---\n## Answer\nblue\n")
        again = project.tell("answer", "red")
        assert again.exit_code == 5
        assert ".ralph/decide.txt already contains an answer" in again.stderr
        done = project.tell("run", "--resume")
        assert done.exit_code == 0
        assert "> blue\n" in project.prompt(2)

    def test_resume_removes_the_blocked_file(self, project: Project) -> None:
        project.agent(BLOCKED_FIRST)
        assert project.run("9").exit_code == 2
        reply = project.tell("resume", "--json")
        assert json.loads(reply.stdout) == {
            "accepted": True,
            "code": "written",
            "text": "the blocker is resolved",
        }
        assert not project.file(".ralph/blocked.txt").exists()
        assert project.tell("run", "--resume").exit_code == 0

    @pytest.mark.parametrize(
        ("body", "code", "verb"),
        [
            (ASKS_FIRST, 3, ("answer", "blue")),
            (BLOCKED_FIRST, 2, ("resume",)),
            (STUCK_FIRST, 4, ("reset",)),
        ],
        ids=["answer", "resume", "reset"],
    )
    def test_continue_runs_in_the_background_to_the_end(
        self, project: Project, body: str, code: int, verb: tuple[str, ...]
    ) -> None:
        project.agent(body)
        first = project.run("9")
        assert first.exit_code == code
        reply = project.tell(*verb, "--continue", "--json")
        assert reply.exit_code == 0, reply.stderr
        started = json.loads(reply.stdout)
        assert started["run"] == first.events[0].run
        end: Any = wait_for(project.repository, "runEnded", after_seq=first.events[-1].seq)
        assert (end.reason, end.exit_code) == ("complete", 0)
        assert told_last(project, RunResumed).pid == started["pid"]
        assert [event.seq for event in events_of(project.repository)] == list(range(1, end.seq + 1))

    def test_a_note_waits_for_the_next_run(self, project: Project) -> None:
        project.agent("report 'STATUS: IN_PROGRESS'")
        for text in ("first", "second"):
            assert said(project.tell("note", text)) == (0, "the agent gets it in the next run")
        done = project.run("2")
        assert [(event.text, event.by) for event in told(done, "noteAdded")] == [
            ("first", "ralph note"),
            ("second", "ralph note"),
        ]
        assert "> first\n\n> second\n" in project.prompt(1)
        assert "> first\n" not in project.prompt(2)
        assert told(project.run("1"), "noteAdded") == []


class TestInTheBackground:
    def test_a_detached_run_outlives_who_started_it(self, project: Project) -> None:
        project.agent("echo oops >&2; " + WAITS)
        project.make_gate()
        starter = project.start("1", "--detach", "--json")
        started = starter.wait()
        assert started.exit_code == 0, started.stderr
        given = json.loads(started.stdout)
        run: Any = wait_for(project.repository, "runStarted")
        assert (run.run, run.pid) == (given["run"], given["pid"])
        assert run.pid != starter.pid
        assert run.config.on_halt == "wait"
        wait_for(project.repository, "agentStarted")
        status = json.loads(project.tell("status", "--json").stdout)
        assert (status["live"], status["pid"], status["phase"]) == (True, given["pid"], "running")
        project.open_gate()
        end: Any = wait_for(project.repository, "runEnded")
        assert end.exit_code == 1
        assert (project.run_folder() / "engine.err").read_text(encoding="utf-8") == ""

    def test_a_detached_run_that_cannot_begin_says_why(self, project: Project) -> None:
        project.agent(WAITS)
        done = project.tell("run", "1", "--detach", "--agent-command", "/no/such/agent")
        assert done.exit_code == 5
        assert "the agent's program /no/such/agent does not exist" in done.stderr
        assert done.stdout == ""
        assert "/no/such/agent" in next(
            path.read_text(encoding="utf-8") for path in state_of(project).glob("runs/*/engine.err")
        )

    def test_two_viewers_see_the_same_events(self, project: Project) -> None:
        running = at_work(project, "1")
        early = project.ralph.start(project.repository, "watch", "--json")
        late = project.ralph.start(project.repository, "watch", "--json")
        project.tell("note", "both of you will see this")
        project.open_gate()
        done = running.wait()
        for viewer in (early, late):
            seen = viewer.wait()
            assert seen.exit_code == 0
            assert seen.stdout.encode() == (project.run_folder() / "journal.jsonl").read_bytes()
        assert project.tell("watch", "--json").stdout == early.wait().stdout
        assert done.exit_code == 1
