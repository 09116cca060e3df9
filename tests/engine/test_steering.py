"""People steer a run: at every moment of it, with every verb, too late, twice and with garbage."""

from __future__ import annotations

import json
import os
import signal
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import pytest

from ralph_ls.protocol.commands import COMMAND_ADAPTER, Command
from ralph_ls.protocol.events import (
    AgentStarted,
    CommandAccepted,
    CommandRejected,
    EventBase,
    RunResumed,
)
from ralph_ls.store import inbox
from ralph_ls.store.layout import state_folder, state_root
from tests.engine.cases import Scene, told, wait_until
from tests.engine.loop import Completed, Running, events_of, wait_for, worktree_of

pytestmark = pytest.mark.slow

Told = TypeVar("Told", bound=EventBase)

WAITS = "wait_here; report 'STATUS: IN_PROGRESS'"
"""An agent that works as long as the test wants it to, and changes nothing."""
FINISHES = "work; mark x First; commit; say 'All tasks are complete.'; report 'EXIT_SIGNAL: true'"
ASKS_FIRST = f"""\
if [ "$RALPH_ITERATION" = 1 ]; then say '<promise>DECIDE:red or blue?</promise>'; exit; fi
{FINISHES}
"""
BLOCKED_FIRST = f"""\
if [ "$RALPH_ITERATION" = 1 ]; then say '<promise>BLOCKED:no paint</promise>'; exit; fi
{FINISHES}
"""
STUCK_FIRST = f"""\
if [ "$RALPH_ITERATION" = 1 ]; then report 'STATUS: BLOCKED' 'RECOMMENDATION: rest'; exit; fi
{FINISHES}
"""


def at_work(scene: Scene, *arguments: str) -> Running:
    """A run whose agent waits for the gate."""
    scene.agent(WAITS)
    scene.make_gate()
    running = scene.start(*(arguments or ("9",)))
    running.wait_for("agentStarted")
    return running


def parked(scene: Scene, body: str, reason: str) -> Running:
    scene.agent(body)
    running = scene.start("9", "--on-halt", "wait")
    running.wait_for("phaseChanged", phase="parked", reason=reason)
    return running


def said(done: Completed) -> tuple[int, str]:
    """The code and the one line that a steering command gives."""
    assert done.stderr == ""
    return done.exit_code, done.stdout.removesuffix("\n")


def answers(done: Completed) -> list[tuple[str, str]]:
    """What became of each command, in the order of the journal."""
    return [
        (event.command_kind, "accepted" if isinstance(event, CommandAccepted) else event.code)
        for event in done.events
        if isinstance(event, CommandAccepted | CommandRejected)
    ]


class TestWhileTheAgentWorks:
    def test_stop_lets_the_iteration_come_to_its_end(self, scene: Scene) -> None:
        running = at_work(scene)
        assert said(scene.tell("stop")) == (0, "the run ends after this iteration")
        assert said(scene.tell("stop")) == (0, "the run ends after this iteration")
        scene.open_gate()
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

    def test_stop_now_ends_the_agent_at_once(self, scene: Scene) -> None:
        running = at_work(scene)
        assert said(scene.tell("stop", "--now")) == (0, "the agent is ended now")
        done = running.wait()
        assert done.exit_code == 130
        assert [event.outcome for event in told(done, "iterationEnded")] == ["stopped"]
        assert told(done, "agentExited")[0].stopped

    def test_stop_now_hurries_a_stop_that_waits(self, scene: Scene) -> None:
        running = at_work(scene)
        scene.tell("stop")
        assert said(scene.tell("stop", "--now")) == (0, "the agent is ended now")
        assert running.wait().exit_code == 130

    def test_pause_holds_the_run_after_the_iteration_until_resume(self, scene: Scene) -> None:
        running = at_work(scene, "2")
        assert said(scene.tell("pause")) == (0, "the run pauses before the next iteration")
        scene.open_gate()
        paused = running.wait_for("phaseChanged", phase="paused")
        assert said(scene.tell("pause")) == (1, "Rejected: the run is paused already")
        assert said(scene.tell("note", "be quick")) == (0, "the next iteration will be told")
        assert "Needs you:   yes, it is paused\n" in scene.tell("status").stdout
        assert said(scene.tell("resume")) == (0, "the run goes on")
        wait_for(scene.repository, "agentStarted", after_seq=paused.seq)
        scene.open_gate()
        done = running.wait()
        assert done.exit_code == 1
        assert "> be quick\n" in scene.prompt(2)
        assert answers(done) == [
            ("pause", "accepted"),
            ("pause", "paused"),
            ("note", "accepted"),
            ("resume", "accepted"),
        ]

    def test_resume_takes_back_a_pause_that_waits(self, scene: Scene) -> None:
        running = at_work(scene, "1")
        scene.tell("pause")
        assert said(scene.tell("resume")) == (0, "the run will not pause")
        assert said(scene.tell("resume")) == (1, "Rejected: the run is not paused, it is running")
        scene.open_gate()
        assert running.wait().exit_code == 1

    def test_what_makes_no_sense_now_is_rejected_and_changes_nothing(self, scene: Scene) -> None:
        running = at_work(scene, "1")
        assert said(scene.tell("answer", "red")) == (
            1,
            "Rejected: no question waits for an answer",
        )
        reply = scene.tell("answer", "--json", "red")
        assert (reply.exit_code, json.loads(reply.stdout)) == (
            1,
            {
                "accepted": False,
                "code": "no-question",
                "text": "no question waits for an answer",
            },
        )
        scene.tell("stop")
        assert said(scene.tell("pause")) == (1, "Rejected: the run is about to end")
        scene.open_gate()
        assert running.wait().exit_code == 130

    def test_reset_zeroes_the_counters(self, scene: Scene) -> None:
        running = at_work(scene, "3")
        for _ in range(2):
            started = told_last(scene, AgentStarted)
            scene.open_gate()
            wait_for(scene.repository, "agentStarted", after_seq=started.seq)
        assert said(scene.tell("reset")) == (0, "the breaker is closed, its counters are zero")
        scene.open_gate()
        done = running.wait()
        assert done.exit_code == 1, "without the reset the third one would have opened the breaker"
        moves = told(done, "circuitBreakerStateChange")
        assert [(move.to_state, move.reason) for move in moves] == [
            ("HALF_OPEN", "2 iterations without progress"),
            ("CLOSED", "reset by ralph reset"),
        ]

    def test_an_engine_that_does_not_listen_is_signalled(self, scene: Scene) -> None:
        running = at_work(scene)
        running.signal(signal.SIGSTOP)
        try:
            reply = scene.tell("stop", "--now", "--json")
        finally:
            running.signal(signal.SIGCONT)
        assert json.loads(reply.stdout)["code"] == "signalled"
        assert running.wait().exit_code in {130, 143}


class TestWhileItWaits:
    def test_stop_ends_a_paused_run(self, scene: Scene) -> None:
        running = at_work(scene)
        scene.tell("pause")
        scene.open_gate()
        running.wait_for("phaseChanged", phase="paused")
        assert said(scene.tell("stop")) == (0, "the run ends")
        assert running.wait().exit_code == 130

    @pytest.mark.parametrize(
        ("body", "reason", "code", "message"),
        [
            (ASKS_FIRST, "decide", 3, "stopped while waiting: an answer to: red or blue?"),
            (
                BLOCKED_FIRST,
                "blocked",
                2,
                "stopped while waiting: the blocker to be resolved: no paint",
            ),
            (
                STUCK_FIRST,
                "stuck",
                4,
                "stopped while waiting: a reset: the agent reports BLOCKED: rest",
            ),
        ],
        ids=["decide", "blocked", "stuck"],
    )
    def test_stop_ends_a_parked_run_with_the_code_of_what_it_waited_for(
        self, scene: Scene, body: str, reason: str, code: int, message: str
    ) -> None:
        running = parked(scene, body, reason)
        rejected = said(scene.tell("pause"))
        assert rejected[0] == 1
        assert rejected[1].startswith("Rejected: the run waits for you already: ")
        assert said(scene.tell("stop", "--now")) == (0, "the run ends")
        done = running.wait()
        end = told(done, "runEnded")[0]
        assert (done.exit_code, end.reason, end.by, end.message) == (
            code,
            reason,
            "ralph stop",
            message,
        )

    def test_an_answer_lets_a_run_go_on_that_waits_for_it(self, scene: Scene) -> None:
        running = parked(scene, ASKS_FIRST, "decide")
        assert said(scene.tell("resume"))[1].startswith("Rejected: the run waits for something")
        assert said(scene.tell("answer", "blue,", "of course")) == (
            0,
            "the next iteration gets your answer",
        )
        done = running.wait()
        assert done.exit_code == 0
        answered = told(done, "questionAnswered")[0]
        assert (answered.answer, answered.by) == ("blue, of course", "ralph answer")
        assert "> blue, of course\n" in scene.prompt(2)
        assert not scene.file(".ralph/decide.txt").exists()

    def test_resume_resolves_what_blocks_a_run(self, scene: Scene) -> None:
        running = parked(scene, BLOCKED_FIRST, "blocked")
        assert said(scene.tell("resume")) == (0, "the blocker counts as resolved")
        done = running.wait()
        assert done.exit_code == 0
        assert told(done, "blockedResolved")[0].by == "ralph resume"
        assert not scene.file(".ralph/blocked.txt").exists()

    def test_reset_lets_a_stuck_run_go_on(self, scene: Scene) -> None:
        running = parked(scene, STUCK_FIRST, "stuck")
        assert said(scene.tell("reset")) == (0, "the breaker is closed, its counters are zero")
        done = running.wait()
        assert done.exit_code == 0
        assert [move.to_state for move in told(done, "circuitBreakerStateChange")] == [
            "OPEN",
            "CLOSED",
        ]

    def test_a_cooldown_can_be_paused_and_stopped(self, scene: Scene) -> None:
        scene.plan(files={".ralph/config.toml": 'cooldown = "1h"\n'}).agent(
            "work; commit; report 'STATUS: IN_PROGRESS'"
        )
        running = scene.start("9")
        running.wait_for("phaseChanged", phase="waiting", reason="cooldown")
        scene.tell("pause")
        running.wait_for("phaseChanged", phase="paused")
        assert said(scene.tell("stop")) == (0, "the run ends")
        done = running.wait()
        assert (done.exit_code, len(told(done, "iterationEnded"))) == (130, 1)


class TestThroughTheInbox:
    """What an editor does: put a file there, look into the journal."""

    def test_a_command_for_another_run_is_rejected(self, scene: Scene) -> None:
        running = at_work(scene, "1")
        given = post(scene, "stop", run="20200101T000000Z-0000")
        rejected: Any = running.wait_for("commandRejected", command=given.id)
        assert rejected.code == "other-run"
        assert rejected.reason.endswith(", not 20200101T000000Z-0000")
        scene.open_gate()
        assert running.wait().exit_code == 1

    def test_the_same_command_twice_is_answered_once(self, scene: Scene) -> None:
        running = at_work(scene, "1")
        given = post(scene, "note", text="look here")
        running.wait_for("commandAccepted", command=given.id)
        wait_until(inbox_of(scene), lambda: not any(inbox_of(scene).iterdir()))
        inbox.post(inbox_of(scene), given)
        wait_until(inbox_of(scene), lambda: not any(inbox_of(scene).iterdir()))
        scene.open_gate()
        done = running.wait()
        assert answers(done) == [("note", "accepted")]
        assert len(told(done, "noteAdded")) == 1

    def test_garbage_is_answered_or_left_alone_and_never_holds_up_the_run(
        self, scene: Scene
    ) -> None:
        running = at_work(scene, "1")
        folder = inbox_of(scene)
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
        assert said(scene.tell("note", "still there?"))[0] == 0
        assert sorted(path.name for path in folder.iterdir()) == [
            "a-folder.json",
            "a-link.json",
            "a-pipe.json",
            "readme.txt",
        ]
        scene.open_gate()
        assert running.wait().exit_code == 1

    def test_what_was_left_over_is_rejected_at_the_start(self, scene: Scene) -> None:
        scene.agent("report 'STATUS: IN_PROGRESS'")
        first = scene.run("1")
        given = post(scene, "stop", run=first.events[0].run)
        (inbox_of(scene) / "garbage0.json").write_text("{", encoding="utf-8")
        done = scene.run("1")
        assert done.exit_code == 1
        rejected = told(done, "commandRejected")
        assert sorted((event.command, event.code) for event in rejected) == sorted(
            [(given.id, "leftover"), ("garbage0", "leftover")]
        )
        assert list(inbox_of(scene).iterdir()) == []

    def test_a_command_that_comes_while_the_run_ends_is_answered(self, scene: Scene) -> None:
        running = at_work(scene, "1")
        running.signal(signal.SIGSTOP)
        try:
            scene.open_gate()
            commands = [post(scene, "note", text=f"note {number}") for number in range(20)]
        finally:
            running.signal(signal.SIGCONT)
        done = running.wait()
        answered = {
            event.command
            for event in done.events
            if isinstance(event, CommandAccepted | CommandRejected)
        }
        assert answered == {given.id for given in commands}
        assert list(inbox_of(scene).iterdir()) == []


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


def post(scene: Scene, kind: str, *, run: str = "", **fields: object) -> Command:
    """Put a command into the inbox, as an editor does."""
    run = run or str(events_of(scene.repository)[0].run)
    given = COMMAND_ADAPTER.validate_python(
        {
            "kind": kind,
            "id": os.urandom(8).hex(),
            "run": run,
            "at": datetime.now(UTC),
            "by": "an editor",
            **fields,
        }
    )
    inbox.post(inbox_of(scene), given)
    return given


def state_of(scene: Scene) -> Path:
    return state_folder(state_root(os.environ), worktree_of(scene.repository)).folder


def inbox_of(scene: Scene) -> Path:
    return state_of(scene) / "inbox"


def told_last(scene: Scene, kind: type[Told]) -> Told:
    return [event for event in events_of(scene.repository) if isinstance(event, kind)][-1]
