"""Runs that need a person: the two halt files, ending for them, waiting for them, going on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.engine.project_builder import PATIENCE, Running, git, wait_for
from tests.engine.ralph_runner import Scene, remove_at_once, told, wait_until, warnings

pytestmark = pytest.mark.slow

ASKS = "say '<promise>DECIDE:WebSockets or polling?</promise>'"
ACTS = """\
if grep -q 'A decision was made' "$kept/prompt-$RALPH_START"; then
  work; mark x First; {deletes}; commit
  say 'All tasks are complete.'; report 'EXIT_SIGNAL: true'
else
  say '<promise>DECIDE:WebSockets or polling?</promise>'
fi
"""
BLOCKS_ONCE = """\
if [ -e "$kept/blocked-once" ]; then
  work; mark x First; commit
  say 'All tasks are complete.'; report 'EXIT_SIGNAL: true'
else
  : >"$kept/blocked-once"; say '<promise>BLOCKED:missing API key</promise>'
fi
"""
DECIDE, BLOCKED = ".ralph/decide.txt", ".ralph/blocked.txt"


def put(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def text_of(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def write_answer_below(path: Path, answer: str) -> None:
    put(path, text_of(path) + answer)


class TestEnding:
    def test_a_blocker_is_written_down_and_starts_no_agent_until_it_is_gone(
        self, scene: Scene
    ) -> None:
        scene.agent(BLOCKS_ONCE)
        first = scene.run("5")
        assert first.exit_code == 2
        assert text_of(scene.file(BLOCKED)) == "missing API key\n"
        assert git(scene.repository, "status", "--porcelain") == ""
        again = scene.run("5")
        assert (again.exit_code, told(again, "iterationStarted")) == (2, [])
        assert told(again, "runEnded")[0].message == "still blocked: missing API key"
        scene.file(BLOCKED).unlink()
        last = scene.run("5")
        assert last.exit_code == 0
        assert [event.iteration for event in told(last, "iterationStarted")] == [1]
        assert len({done.events[0].run for done in (first, again, last)}) == 3

    @pytest.mark.parametrize("deletes", ["rm .ralph/decide.txt", ":"], ids=["deleted", "left"])
    def test_an_answer_below_the_rule_goes_into_the_prompt_and_the_file_goes(
        self, scene: Scene, deletes: str
    ) -> None:
        scene.agent(ACTS.format(deletes=deletes))
        first = scene.run("5")
        assert first.exit_code == 3
        asked = told(first, "questionAsked")[0]
        assert text_of(scene.file(DECIDE)) == (
            f"## Question (from iteration 1, {asked.asked_at:%Y-%m-%dT%H:%M:%SZ})\n"
            "WebSockets or polling?\n\n---\n## Answer\n"
        )
        again = scene.run("5")
        assert (again.exit_code, told(again, "iterationStarted")) == (3, [])
        write_answer_below(scene.file(DECIDE), "Polling.\n\nWe can upgrade later.\n")
        last = scene.run("5")
        assert last.exit_code == 0, last.stdout
        assert "> WebSockets or polling?\n" in scene.prompt(1)
        assert "> Polling.\n>\n> We can upgrade later.\n" in scene.prompt(1)
        assert [event.iteration for event in told(last, "iterationStarted")] == [1]
        assert not scene.file(DECIDE).exists()
        assert git(scene.repository, "status", "--porcelain") == ""

    def test_a_promise_without_a_reason_or_question_is_none(self, scene: Scene) -> None:
        scene.agent("work; say '<promise>BLOCKED:</promise>' '<promise>DECIDE:  </promise>'")
        done = scene.run("2")
        assert done.exit_code == 1
        assert told(done, "promiseRead") == []
        assert not scene.file(DECIDE).exists()
        assert not scene.file(BLOCKED).exists()

    def test_of_both_promises_the_blocker_alone_is_raised(self, scene: Scene) -> None:
        scene.agent(
            "say '<promise>DECIDE:red or blue?</promise>' '<promise>BLOCKED:no paint</promise>'"
        )
        first = scene.run("5")
        assert first.exit_code == 2
        assert text_of(scene.file(BLOCKED)) == "no paint\n"
        assert not scene.file(DECIDE).exists()
        assert "second-halt" in warnings(first)
        # With the blocker solved nothing is left that a start would halt on.
        scene.file(BLOCKED).unlink()
        again = scene.run("1")
        assert (again.exit_code, len(told(again, "iterationStarted"))) == (2, 1)

    def test_a_question_keeps_its_lines_and_its_rules(self, scene: Scene) -> None:
        scene.agent(
            "say '<promise>DECIDE:Which?' '---' '## Answer' 'a) \"$(touch x)\" 漢字 🎈</promise>'"
        )
        scene.run("5")
        text = text_of(scene.file(DECIDE))
        assert re.fullmatch(
            r"## Question \(from iteration 1, [-\dT:]+Z\)\n"
            r'Which\?\n    ---\n## Answer\na\) "\$\(touch x\)" 漢字 🎈\n\n---\n## Answer\n',
            text,
        )
        again = scene.run("5")
        assert (again.exit_code, told(again, "iterationStarted")) == (3, [])
        assert not scene.file("x").exists()

    def test_a_deleted_question_is_written_again_when_the_run_goes_on(self, scene: Scene) -> None:
        scene.agent(ASKS)
        scene.run("5")
        before = text_of(scene.file(DECIDE))
        scene.file(DECIDE).unlink()
        done = scene.tell("run", "--resume")
        assert done.exit_code == 3
        assert told(done, "runResumed")[0].by == "ralph run"
        assert text_of(scene.file(DECIDE)) == before
        assert [event.iteration for event in told(done, "iterationStarted")] == [1]

    def test_a_question_that_cannot_be_written_is_told_and_asked_again(self, scene: Scene) -> None:
        scene.plan(files={".ralph": "a file"}).agent(ACTS.format(deletes=":"))
        done = scene.run("5")
        assert done.exit_code == 5
        end = told(done, "runEnded")[0]
        assert f"{scene.file(DECIDE)} cannot be written: " in end.message
        assert told(done, "questionAsked") == []
        scene.file(".ralph").unlink()
        again = scene.tell("run", "--resume")
        assert again.exit_code == 3
        assert "\nWebSockets or polling?\n" in text_of(scene.file(DECIDE))
        assert [event.iteration for event in told(again, "iterationEnded")] == [1]

    def test_a_question_that_a_person_edits_keeps_the_edit(self, scene: Scene) -> None:
        scene.agent(ACTS.format(deletes=":"))
        scene.run("5")
        put(scene.file(DECIDE), "WebSockets or polling?\r\n\r\n---\r\n\r\nPolling.\r\n")
        done = scene.tell("run", "--resume")
        assert done.exit_code == 0
        answered = told(done, "questionAnswered")[0]
        assert (answered.answer, answered.by) == ("Polling.", DECIDE)
        assert "> Polling.\n" in scene.prompt(2)


class TestParking:
    """``--on-halt wait``: the run waits for a person, who has an editor or only ``rm``."""

    def test_an_answer_written_by_hand_lets_the_run_go_on(self, scene: Scene) -> None:
        scene.agent(ACTS.format(deletes=":"))
        running = parked(scene, "decide")
        write_answer_below(scene.file(DECIDE), "Polling.\n")
        done = running.wait()
        assert done.exit_code == 0, done.stdout
        answered = told(done, "questionAnswered")[0]
        assert (answered.answer, answered.by) == ("Polling.", DECIDE)
        assert [event.iteration for event in told(done, "iterationStarted")] == [1, 2]
        assert "> Polling.\n" in scene.prompt(2)
        assert not scene.file(DECIDE).exists()

    def test_the_same_question_asked_again_waits_for_an_answer_of_its_own(
        self, scene: Scene
    ) -> None:
        scene.agent(ASKS)
        running = parked(scene, "decide")
        write_answer_below(scene.file(DECIDE), "Polling.\n")
        again = running.wait_for("questionAsked", iteration=2)
        wait_for(scene.repository, "phaseChanged", after_seq=again.seq, phase="parked")
        assert "Polling." not in text_of(scene.file(DECIDE))
        write_answer_below(scene.file(DECIDE), "Sockets.\n")
        running.wait_for("questionAsked", iteration=3)
        assert scene.tell("stop").exit_code == 0
        done = running.wait()
        answers = [event.answer for event in told(done, "questionAnswered")]
        assert answers == ["Polling.", "Sockets."]

    def test_a_question_that_vanishes_is_written_again_and_still_waits(self, scene: Scene) -> None:
        scene.agent(ASKS)
        running = parked(scene, "decide")
        before = text_of(scene.file(DECIDE))
        scene.file(DECIDE).unlink()
        wait_until(scene.file(".ralph"), scene.file(DECIDE).exists)
        assert text_of(scene.file(DECIDE)) == before
        assert scene.tell("stop").exit_code == 0
        done = running.wait()
        assert done.exit_code == 3
        assert told(done, "questionAnswered") == []

    def test_a_work_tree_that_is_removed_ends_the_run_that_waits_in_it(self, scene: Scene) -> None:
        scene.agent(ASKS)
        running = scene.start("5", "--on-halt", "wait")
        running.wait_for("phaseChanged", phase="parked")
        remove_at_once(scene.repository)
        assert running.process.wait(PATIENCE) == 2
        assert not scene.repository.exists()

    def test_removing_the_blocked_file_lets_the_run_go_on(self, scene: Scene) -> None:
        scene.agent(BLOCKS_ONCE)
        running = parked(scene, "blocked")
        assert text_of(scene.file(BLOCKED)) == "missing API key\n"
        scene.file(BLOCKED).unlink()
        done = running.wait()
        assert done.exit_code == 0
        assert told(done, "blockedResolved")[0].by == f"removing {BLOCKED}"
        assert [event.iteration for event in told(done, "iterationStarted")] == [1, 2]

    def test_a_start_that_finds_a_halt_file_parks_before_any_agent(self, scene: Scene) -> None:
        scene.plan(files={BLOCKED: "no network\n"}).agent(BLOCKS_ONCE)
        (scene.kept / "blocked-once").touch()
        running = parked(scene, "blocked")
        scene.file(BLOCKED).unlink()
        done = running.wait()
        assert done.exit_code == 0
        kinds = done.kinds()
        assert kinds.index("blockedResolved") < kinds.index("iterationStarted")

    def test_what_a_parked_run_waits_for_is_shown_to_who_asks(self, scene: Scene) -> None:
        scene.agent(ASKS)
        parked(scene, "decide")
        status = scene.tell("status")
        assert "Needs you:   yes, it waits for an answer to: WebSockets or polling?\n" in (
            status.stdout
        )
        assert 'Next:        ralph answer "…"\n' in status.stdout
        second = scene.run("5")
        assert second.exit_code == 5
        assert "That run waits for an answer to: WebSockets or polling?" in second.stderr


def parked(scene: Scene, reason: str) -> Running:
    running = scene.start("5", "--on-halt", "wait")
    running.wait_for("phaseChanged", phase="parked", reason=reason)
    return running
