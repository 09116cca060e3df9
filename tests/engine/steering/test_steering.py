"""People steer a living run: at every moment of it, with every verb, twice and with garbage."""

from __future__ import annotations

import json
import os
import signal
from typing import Any

import pytest

from ralph_ls.protocol.run.events import AgentStarted, CommandAccepted, CommandRejected
from ralph_ls.store.run import inbox
from tests.engine.project_builder import wait_for
from tests.engine.ralph_runner import Project, told, wait_until
from tests.engine.steered_run import (
    ASKS_FIRST,
    BLOCKED_FIRST,
    STUCK_FIRST,
    answers,
    at_work,
    inbox_of,
    parked,
    post,
    said,
    told_last,
)

pytestmark = pytest.mark.slow


class TestWhileTheAgentWorks:
    def test_stop_lets_the_iteration_come_to_its_end(self, project: Project) -> None:
        running = at_work(project)
        assert said(project.tell("stop")) == (0, "the run ends after this iteration")
        assert said(project.tell("stop")) == (0, "the run ends after this iteration")
        project.open_gate()
        done = running.wait()
        assert done.exit_code == 130
        assert [event.outcome for event in told(done, "iterationEnded")] == ["noProgress"]
        end = told(done, "runEnded")[0]
        assert (end.reason, end.by, end.message) == (
            "stopped",
            "ralph stop",
            "stopped by ralph stop",
        )
        assert "Exit:        STOPPED (code 130)\n" in done.stdout

    def test_stop_now_ends_the_agent_at_once(self, project: Project) -> None:
        running = at_work(project)
        assert said(project.tell("stop", "--now")) == (0, "ended the agent")
        done = running.wait()
        assert done.exit_code == 130
        assert [event.outcome for event in told(done, "iterationEnded")] == ["stopped"]
        assert told(done, "agentExited")[0].stopped

    def test_stop_now_hurries_a_stop_that_waits(self, project: Project) -> None:
        running = at_work(project)
        project.tell("stop")
        assert said(project.tell("stop", "--now")) == (0, "ended the agent")
        assert running.wait().exit_code == 130

    def test_pause_holds_the_run_after_the_iteration_until_resume(self, project: Project) -> None:
        running = at_work(project, "2")
        assert said(project.tell("pause")) == (0, "the run pauses before the next iteration")
        project.open_gate()
        paused = running.wait_for("phaseChanged", phase="paused")
        assert said(project.tell("pause")) == (1, "Rejected: the run is already paused")
        assert said(project.tell("note", "be quick")) == (
            0,
            "the agent gets it in the next iteration",
        )
        assert "Needs you:   yes, it is paused\n" in project.tell("status").stdout
        assert said(project.tell("resume")) == (0, "the run continues")
        wait_for(project.repository, "agentStarted", after_seq=paused.seq)
        project.open_gate()
        done = running.wait()
        assert done.exit_code == 1
        assert "> be quick\n" in project.prompt(2)
        assert answers(done) == [
            ("pause", "accepted"),
            ("pause", "paused"),
            ("note", "accepted"),
            ("resume", "accepted"),
        ]

    def test_resume_takes_back_a_pause_that_waits(self, project: Project) -> None:
        running = at_work(project, "1")
        project.tell("pause")
        assert said(project.tell("resume")) == (0, "the run will not pause")
        assert said(project.tell("resume")) == (1, "Rejected: the run is not paused; it is running")
        project.open_gate()
        assert running.wait().exit_code == 1

    def test_what_makes_no_sense_now_is_rejected_and_changes_nothing(
        self, project: Project
    ) -> None:
        running = at_work(project, "1")
        assert said(project.tell("answer", "red")) == (
            1,
            "Rejected: there is no open question",
        )
        reply = project.tell("answer", "--json", "red")
        assert (reply.exit_code, json.loads(reply.stdout)) == (
            1,
            {
                "accepted": False,
                "code": "no-question",
                "text": "there is no open question",
            },
        )
        project.tell("stop")
        assert said(project.tell("pause")) == (1, "Rejected: the run is about to end")
        project.open_gate()
        assert running.wait().exit_code == 130

    def test_reset_zeroes_the_counters(self, project: Project) -> None:
        running = at_work(project, "3")
        for _ in range(2):
            started = told_last(project, AgentStarted)
            project.open_gate()
            wait_for(project.repository, "agentStarted", after_seq=started.seq)
        assert said(project.tell("reset")) == (0, "closed the breaker and set its counters to zero")
        project.open_gate()
        done = running.wait()
        assert done.exit_code == 1, "without the reset the third one would have opened the breaker"
        moves = told(done, "circuitBreakerStateChange")
        assert [(move.to_state, move.reason) for move in moves] == [
            ("HALF_OPEN", "2 iterations without progress"),
            ("CLOSED", "reset by ralph reset"),
        ]

    def test_an_engine_that_does_not_listen_is_signalled(self, project: Project) -> None:
        running = at_work(project)
        running.signal(signal.SIGSTOP)
        try:
            reply = project.tell("stop", "--now", "--json")
        finally:
            running.signal(signal.SIGCONT)
        assert json.loads(reply.stdout)["code"] == "signalled"
        assert running.wait().exit_code in {130, 143}


class TestWhileItWaits:
    def test_stop_ends_a_paused_run(self, project: Project) -> None:
        running = at_work(project)
        project.tell("pause")
        project.open_gate()
        running.wait_for("phaseChanged", phase="paused")
        assert said(project.tell("stop")) == (0, "the run is ending")
        assert running.wait().exit_code == 130

    @pytest.mark.parametrize(
        ("body", "reason", "code", "message"),
        [
            (ASKS_FIRST, "decide", 3, "stopped while waiting for an answer to: red or blue?"),
            (
                BLOCKED_FIRST,
                "blocked",
                2,
                "stopped while waiting for the blocker to be resolved: no paint",
            ),
            (
                STUCK_FIRST,
                "stuck",
                4,
                ("stopped while waiting for a reset: the agent reports BLOCKED: rest"),
            ),
        ],
        ids=["decide", "blocked", "stuck"],
    )
    def test_stop_ends_a_parked_run_with_the_code_of_what_it_waited_for(
        self, project: Project, body: str, reason: str, code: int, message: str
    ) -> None:
        running = parked(project, body, reason)
        rejected = said(project.tell("pause"))
        assert rejected[0] == 1
        assert rejected[1].startswith("Rejected: the run is already waiting for you: ")
        assert said(project.tell("stop", "--now")) == (0, "the run is ending")
        done = running.wait()
        end = told(done, "runEnded")[0]
        assert (done.exit_code, end.reason, end.by, end.message) == (
            code,
            reason,
            "ralph stop",
            message,
        )

    def test_an_answer_lets_a_run_continue_that_waits_for_it(self, project: Project) -> None:
        running = parked(project, ASKS_FIRST, "decide")
        assert said(project.tell("resume"))[1].startswith(
            "Rejected: the run is waiting for something"
        )
        assert said(project.tell("answer", "blue,", "of course")) == (
            0,
            "the agent gets your answer in the next iteration",
        )
        done = running.wait()
        assert done.exit_code == 0
        answered = told(done, "questionAnswered")[0]
        assert (answered.answer, answered.by) == ("blue, of course", "ralph answer")
        assert "> blue, of course\n" in project.prompt(2)
        assert not project.file(".ralph/decide.txt").exists()

    def test_resume_resolves_what_blocks_a_run(self, project: Project) -> None:
        running = parked(project, BLOCKED_FIRST, "blocked")
        assert said(project.tell("resume")) == (0, "the blocker is resolved")
        done = running.wait()
        assert done.exit_code == 0
        assert told(done, "blockedResolved")[0].by == "ralph resume"
        assert not project.file(".ralph/blocked.txt").exists()

    def test_reset_lets_a_stuck_run_continue(self, project: Project) -> None:
        running = parked(project, STUCK_FIRST, "stuck")
        assert said(project.tell("reset")) == (0, "closed the breaker and set its counters to zero")
        done = running.wait()
        assert done.exit_code == 0
        assert [move.to_state for move in told(done, "circuitBreakerStateChange")] == [
            "OPEN",
            "CLOSED",
        ]

    def test_a_cooldown_can_be_paused_and_stopped(self, project: Project) -> None:
        project.plan(files={".ralph/config.toml": 'cooldown = "1h"\n'}).agent(
            "work; commit; report 'STATUS: IN_PROGRESS'"
        )
        running = project.start("9")
        running.wait_for("phaseChanged", phase="waiting", reason="cooldown")
        project.tell("pause")
        running.wait_for("phaseChanged", phase="paused")
        assert said(project.tell("stop")) == (0, "the run is ending")
        done = running.wait()
        assert (done.exit_code, len(told(done, "iterationEnded"))) == (130, 1)


class TestThroughTheInbox:
    """What an editor does: put a file there, look into the journal."""

    def test_a_command_for_another_run_is_rejected(self, project: Project) -> None:
        running = at_work(project, "1")
        given = post(project, "stop", run="20200101T000000Z-0000")
        rejected: Any = running.wait_for("commandRejected", command=given.id)
        assert rejected.code == "other-run"
        assert rejected.reason.endswith(", not 20200101T000000Z-0000")
        project.open_gate()
        assert running.wait().exit_code == 1

    def test_the_same_command_twice_is_answered_once(self, project: Project) -> None:
        running = at_work(project, "1")
        given = post(project, "note", text="look here")
        running.wait_for("commandAccepted", command=given.id)
        wait_until(inbox_of(project), lambda: not any(inbox_of(project).iterdir()))
        inbox.post_command(inbox_of(project), given)
        wait_until(inbox_of(project), lambda: not any(inbox_of(project).iterdir()))
        project.open_gate()
        done = running.wait()
        assert answers(done) == [("note", "accepted")]
        assert len(told(done, "noteAdded")) == 1

    def test_garbage_is_answered_or_left_alone_and_never_holds_up_the_run(
        self, project: Project
    ) -> None:
        running = at_work(project, "1")
        folder = inbox_of(project)
        (folder / "a-folder.json").mkdir()
        os.mkfifo(folder / "a-pipe.json")
        (folder / "a-link.json").symlink_to("/dev/zero")
        (folder / "readme.txt").write_text("no command", encoding="utf-8")
        (folder / "empty-00.json").touch()
        (folder / "binary-0.json").write_bytes(bytes(range(256)))
        (folder / "large-00.json").write_bytes(b'"' + b"x" * 1_000_001 + b'"')
        (folder / "no-text0.json").write_text(
            '{"kind":"note","id":"no-text0","run":"x","at":"2026-01-31T12:00:00Z","by":"me",'
            '"text":"  "}',
            encoding="utf-8",
        )
        (folder / "unknown0.json").write_text('{"kind":"fly","id":"unknown0"}', encoding="utf-8")
        garbage = ["binary-0", "empty-00", "large-00", "no-text0", "unknown0"]
        for name in garbage:
            running.wait_for("commandRejected", command=name, code="unreadable")
        assert said(project.tell("note", "still there?"))[0] == 0
        assert sorted(path.name for path in folder.iterdir()) == [
            "a-folder.json",
            "a-link.json",
            "a-pipe.json",
            "readme.txt",
        ]
        project.open_gate()
        assert running.wait().exit_code == 1

    def test_what_was_left_over_is_rejected_at_the_start(self, project: Project) -> None:
        project.agent("report 'STATUS: IN_PROGRESS'")
        first = project.run("1")
        given = post(project, "stop", run=first.events[0].run)
        (inbox_of(project) / "garbage0.json").write_text("{", encoding="utf-8")
        done = project.run("1")
        assert done.exit_code == 1
        rejected = told(done, "commandRejected")
        assert sorted((event.command, event.code) for event in rejected) == sorted(
            [(given.id, "leftover"), ("garbage0", "leftover")]
        )
        assert list(inbox_of(project).iterdir()) == []

    def test_a_command_that_comes_while_the_run_ends_is_answered(self, project: Project) -> None:
        running = at_work(project, "1")
        running.signal(signal.SIGSTOP)
        try:
            project.open_gate()
            commands = [post(project, "note", text=f"note {number}") for number in range(20)]
        finally:
            running.signal(signal.SIGCONT)
        done = running.wait()
        answered = {
            event.command
            for event in done.events
            if isinstance(event, CommandAccepted | CommandRejected)
        }
        assert answered == {given.id for given in commands}
        assert list(inbox_of(project).iterdir()) == []
