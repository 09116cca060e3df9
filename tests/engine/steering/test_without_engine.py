"""Steering where no engine runs, engines in the background, and several viewers of one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ralph_ls.protocol.run.events import RunResumed
from tests.engine.project_builder import events_of, wait_for
from tests.engine.ralph_runner import Scene, told
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
    def test_what_only_an_engine_can_do_is_refused_at_once(self, scene: Scene) -> None:
        scene.plan()
        for verb in ("stop", "pause", "resume", "reset"):
            done = scene.tell(verb)
            assert done.exit_code == 5
            assert "there was never a run in" in done.stderr
        scene.agent(FINISHES)
        assert scene.run("9").exit_code == 0
        for verb in ("stop", "pause"):
            done = scene.tell(verb)
            assert done.exit_code == 5
            assert "no engine runs in" in done.stderr
        for verb in ("resume", "reset"):
            assert scene.tell(verb).exit_code == 5
        assert list(inbox_of(scene).iterdir()) == []

    def test_an_answer_is_written_into_its_file(self, scene: Scene) -> None:
        scene.agent(ASKS_FIRST)
        assert scene.run("9").exit_code == 3
        done = scene.tell("answer", "blue")
        assert (done.exit_code, done.stderr) == (0, "")
        assert done.stdout == (
            "The answer is in .ralph/decide.txt. "
            "Go on with: ralph run --resume, or start: ralph run\n"
        )
        text = scene.file(".ralph/decide.txt").read_text(encoding="utf-8")
        assert text.endswith("\nred or blue?\n\n---\n## Answer\nblue\n")
        again = scene.tell("answer", "red")
        assert again.exit_code == 5
        assert ".ralph/decide.txt holds an answer already" in again.stderr
        done = scene.tell("run", "--resume")
        assert done.exit_code == 0
        assert "> blue\n" in scene.prompt(2)

    def test_resume_removes_the_blocked_file(self, scene: Scene) -> None:
        scene.agent(BLOCKED_FIRST)
        assert scene.run("9").exit_code == 2
        reply = scene.tell("resume", "--json")
        assert json.loads(reply.stdout) == {
            "accepted": True,
            "code": "written",
            "text": "the blocker counts as resolved",
        }
        assert not scene.file(".ralph/blocked.txt").exists()
        assert scene.tell("run", "--resume").exit_code == 0

    @pytest.mark.parametrize(
        ("body", "code", "verb"),
        [
            (ASKS_FIRST, 3, ("answer", "blue")),
            (BLOCKED_FIRST, 2, ("resume",)),
            (STUCK_FIRST, 4, ("reset",)),
        ],
        ids=["answer", "resume", "reset"],
    )
    def test_continue_goes_on_in_the_background_to_the_end(
        self, scene: Scene, body: str, code: int, verb: tuple[str, ...]
    ) -> None:
        scene.agent(body)
        first = scene.run("9")
        assert first.exit_code == code
        reply = scene.tell(*verb, "--continue", "--json")
        assert reply.exit_code == 0, reply.stderr
        started = json.loads(reply.stdout)
        assert started["run"] == first.events[0].run
        end: Any = wait_for(scene.repository, "runEnded", after_seq=first.events[-1].seq)
        assert (end.reason, end.exit_code) == ("complete", 0)
        assert told_last(scene, RunResumed).pid == started["pid"]
        assert [event.seq for event in events_of(scene.repository)] == list(range(1, end.seq + 1))

    def test_a_note_waits_for_the_next_run(self, scene: Scene) -> None:
        scene.agent("report 'STATUS: IN_PROGRESS'")
        for text in ("first", "second"):
            assert said(scene.tell("note", text)) == (0, "the next run will be told")
        done = scene.run("2")
        assert [(event.text, event.by) for event in told(done, "noteAdded")] == [
            ("first", "ralph note"),
            ("second", "ralph note"),
        ]
        assert "> first\n\n> second\n" in scene.prompt(1)
        assert "> first\n" not in scene.prompt(2)
        assert told(scene.run("1"), "noteAdded") == []


class TestInTheBackground:
    def test_a_detached_run_outlives_who_started_it(self, scene: Scene) -> None:
        scene.agent("echo oops >&2; " + WAITS)
        scene.make_gate()
        starter = scene.start("1", "--detach", "--json")
        started = starter.wait()
        assert started.exit_code == 0, started.stderr
        given = json.loads(started.stdout)
        run: Any = wait_for(scene.repository, "runStarted")
        assert (run.run, run.pid) == (given["run"], given["pid"])
        assert run.pid != starter.pid
        assert run.config.on_halt == "wait"
        wait_for(scene.repository, "agentStarted")
        status = json.loads(scene.tell("status", "--json").stdout)
        assert (status["live"], status["pid"], status["phase"]) == (True, given["pid"], "running")
        scene.open_gate()
        end: Any = wait_for(scene.repository, "runEnded")
        assert end.exit_code == 1
        assert (scene.run_folder() / "engine.err").read_text(encoding="utf-8") == ""

    def test_a_detached_run_that_cannot_begin_says_why(self, scene: Scene) -> None:
        scene.agent(WAITS)
        done = scene.tell("run", "1", "--detach", "--agent-command", "/no/such/agent")
        assert done.exit_code == 5
        assert "the agent's program /no/such/agent does not exist" in done.stderr
        assert done.stdout == ""
        assert "/no/such/agent" in next(
            path.read_text(encoding="utf-8") for path in state_of(scene).glob("runs/*/engine.err")
        )

    def test_two_viewers_see_the_same_events(self, scene: Scene) -> None:
        running = at_work(scene, "1")
        early = scene.ralph.start(scene.repository, "watch", "--json")
        late = scene.ralph.start(scene.repository, "watch", "--json")
        scene.tell("note", "both of you will see this")
        scene.open_gate()
        done = running.wait()
        for viewer in (early, late):
            seen = viewer.wait()
            assert seen.exit_code == 0
            assert seen.stdout.encode() == (scene.run_folder() / "journal.jsonl").read_bytes()
        assert scene.tell("watch", "--json").stdout == early.wait().stdout
        assert done.exit_code == 1
