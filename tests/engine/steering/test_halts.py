"""Runs that need the user: the two halt files, ending for them, waiting for them, continuing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.engine.project_builder import PATIENCE, Running, git, wait_for
from tests.engine.ralph_runner import Project, remove_at_once, told, wait_until, warnings

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
        self, project: Project
    ) -> None:
        project.agent(BLOCKS_ONCE)
        first = project.run("5")
        assert first.exit_code == 2
        assert text_of(project.file(BLOCKED)) == "missing API key\n"
        assert git(project.repository, "status", "--porcelain") == ""
        again = project.run("5")
        assert (again.exit_code, told(again, "iterationStarted")) == (2, [])
        assert told(again, "runEnded")[0].message == "still blocked: missing API key"
        project.file(BLOCKED).unlink()
        last = project.run("5")
        assert last.exit_code == 0
        assert [event.iteration for event in told(last, "iterationStarted")] == [1]
        assert len({done.events[0].run for done in (first, again, last)}) == 3

    @pytest.mark.parametrize("deletes", ["rm .ralph/decide.txt", ":"], ids=["deleted", "left"])
    def test_an_answer_below_the_rule_goes_into_the_prompt_and_the_file_goes(
        self, project: Project, deletes: str
    ) -> None:
        project.agent(ACTS.format(deletes=deletes))
        first = project.run("5")
        assert first.exit_code == 3
        asked = told(first, "questionAsked")[0]
        assert text_of(project.file(DECIDE)) == (
            f"## Question (from iteration 1, {asked.asked_at:%Y-%m-%dT%H:%M:%SZ})\n"
            "WebSockets or polling?\n\n---\n## Answer\n"
        )
        again = project.run("5")
        assert (again.exit_code, told(again, "iterationStarted")) == (3, [])
        write_answer_below(project.file(DECIDE), "Polling.\n\nWe can upgrade later.\n")
        last = project.run("5")
        assert last.exit_code == 0, last.stdout
        assert "> WebSockets or polling?\n" in project.prompt(1)
        assert "> Polling.\n>\n> We can upgrade later.\n" in project.prompt(1)
        assert [event.iteration for event in told(last, "iterationStarted")] == [1]
        assert not project.file(DECIDE).exists()
        assert git(project.repository, "status", "--porcelain") == ""

    def test_a_promise_without_a_reason_or_question_is_none(self, project: Project) -> None:
        project.agent("work; say '<promise>BLOCKED:</promise>' '<promise>DECIDE:  </promise>'")
        done = project.run("2")
        assert done.exit_code == 1
        assert told(done, "promiseRead") == []
        assert not project.file(DECIDE).exists()
        assert not project.file(BLOCKED).exists()

    def test_of_both_promises_the_blocker_alone_is_raised(self, project: Project) -> None:
        project.agent(
            "say '<promise>DECIDE:red or blue?</promise>' '<promise>BLOCKED:no paint</promise>'"
        )
        first = project.run("5")
        assert first.exit_code == 2
        assert text_of(project.file(BLOCKED)) == "no paint\n"
        assert not project.file(DECIDE).exists()
        assert "second-halt" in warnings(first)
        # With the blocker solved nothing is left that a start would halt on.
        project.file(BLOCKED).unlink()
        again = project.run("1")
        assert (again.exit_code, len(told(again, "iterationStarted"))) == (2, 1)

    def test_a_question_keeps_its_lines_and_its_rules(self, project: Project) -> None:
        project.agent(
            "say '<promise>DECIDE:Which?' '---' '## Answer' 'a) \"$(touch x)\" 漢字 🎈</promise>'"
        )
        project.run("5")
        text = text_of(project.file(DECIDE))
        assert re.fullmatch(
            r"## Question \(from iteration 1, [-\dT:]+Z\)\n"
            r'Which\?\n    ---\n## Answer\na\) "\$\(touch x\)" 漢字 🎈\n\n---\n## Answer\n',
            text,
        )
        again = project.run("5")
        assert (again.exit_code, told(again, "iterationStarted")) == (3, [])
        assert not project.file("x").exists()

    def test_a_deleted_question_is_written_again_when_the_run_continues(
        self, project: Project
    ) -> None:
        project.agent(ASKS)
        project.run("5")
        before = text_of(project.file(DECIDE))
        project.file(DECIDE).unlink()
        done = project.tell("run", "--resume")
        assert done.exit_code == 3
        assert told(done, "runResumed")[0].by == "ralph run"
        assert text_of(project.file(DECIDE)) == before
        assert [event.iteration for event in told(done, "iterationStarted")] == [1]

    def test_a_question_that_cannot_be_written_is_reported_and_asked_again(
        self, project: Project
    ) -> None:
        project.plan(files={".ralph": "a file"}).agent(ACTS.format(deletes=":"))
        done = project.run("5")
        assert done.exit_code == 5
        end = told(done, "runEnded")[0]
        assert f"{project.file(DECIDE)} cannot be written: " in end.message
        assert told(done, "questionAsked") == []
        project.file(".ralph").unlink()
        again = project.tell("run", "--resume")
        assert again.exit_code == 3
        assert "\nWebSockets or polling?\n" in text_of(project.file(DECIDE))
        assert [event.iteration for event in told(again, "iterationEnded")] == [1]

    def test_a_resume_that_cannot_write_its_question_again_does_not_begin(
        self, project: Project
    ) -> None:
        settings = '[paths]\ndecide = "halt/decide.txt"\n'
        project.plan(files={".ralph/config.toml": settings}).agent(ASKS)
        assert project.run("5").exit_code == 3
        project.file("halt/decide.txt").unlink()
        project.file("halt").rmdir()
        put(project.file("halt"), "in the way\n")
        journal = project.run_folder() / "journal.jsonl"
        before = journal.read_bytes()
        again = project.run("--resume")
        assert again.exit_code == 5
        assert "halt/decide.txt" in again.stderr
        assert journal.read_bytes() == before

    def test_a_question_that_the_user_edits_keeps_the_edit(self, project: Project) -> None:
        project.agent(ACTS.format(deletes=":"))
        project.run("5")
        put(project.file(DECIDE), "WebSockets or polling?\r\n\r\n---\r\n\r\nPolling.\r\n")
        done = project.tell("run", "--resume")
        assert done.exit_code == 0
        answered = told(done, "questionAnswered")[0]
        assert (answered.answer, answered.by) == ("Polling.", DECIDE)
        assert "> Polling.\n" in project.prompt(2)


class TestParking:
    """``--on-halt wait``: the run waits for the user, who has an editor or only ``rm``."""

    def test_an_answer_written_by_hand_lets_the_run_continue(self, project: Project) -> None:
        project.agent(ACTS.format(deletes=":"))
        running = parked(project, "decide")
        write_answer_below(project.file(DECIDE), "Polling.\n")
        done = running.wait()
        assert done.exit_code == 0, done.stdout
        answered = told(done, "questionAnswered")[0]
        assert (answered.answer, answered.by) == ("Polling.", DECIDE)
        assert [event.iteration for event in told(done, "iterationStarted")] == [1, 2]
        assert "> Polling.\n" in project.prompt(2)
        assert not project.file(DECIDE).exists()

    def test_the_same_question_asked_again_waits_for_a_separate_answer(
        self, project: Project
    ) -> None:
        project.agent(ASKS)
        running = parked(project, "decide")
        write_answer_below(project.file(DECIDE), "Polling.\n")
        again = running.wait_for("questionAsked", iteration=2)
        wait_for(project.repository, "phaseChanged", after_seq=again.seq, phase="parked")
        assert "Polling." not in text_of(project.file(DECIDE))
        write_answer_below(project.file(DECIDE), "Sockets.\n")
        running.wait_for("questionAsked", iteration=3)
        assert project.tell("stop").exit_code == 0
        done = running.wait()
        answers = [event.answer for event in told(done, "questionAnswered")]
        assert answers == ["Polling.", "Sockets."]

    def test_a_question_that_vanishes_is_written_again_and_still_waits(
        self, project: Project
    ) -> None:
        project.agent(ASKS)
        running = parked(project, "decide")
        before = text_of(project.file(DECIDE))
        project.file(DECIDE).unlink()
        wait_until(project.file(".ralph"), project.file(DECIDE).exists)
        assert text_of(project.file(DECIDE)) == before
        assert project.tell("stop").exit_code == 0
        done = running.wait()
        assert done.exit_code == 3
        assert told(done, "questionAnswered") == []

    def test_a_work_tree_that_is_removed_ends_the_run_that_waits_in_it(
        self, project: Project
    ) -> None:
        project.agent(ASKS)
        running = project.start("5", "--on-halt", "wait")
        running.wait_for("phaseChanged", phase="parked")
        remove_at_once(project.repository)
        assert running.process.wait(PATIENCE) == 2
        assert not project.repository.exists()

    def test_removing_the_blocked_file_lets_the_run_continue(self, project: Project) -> None:
        project.agent(BLOCKS_ONCE)
        running = parked(project, "blocked")
        assert text_of(project.file(BLOCKED)) == "missing API key\n"
        project.file(BLOCKED).unlink()
        done = running.wait()
        assert done.exit_code == 0
        assert told(done, "blockedResolved")[0].by == f"removing {BLOCKED}"
        assert [event.iteration for event in told(done, "iterationStarted")] == [1, 2]

    def test_a_start_that_finds_a_halt_file_parks_before_any_agent(self, project: Project) -> None:
        project.plan(files={BLOCKED: "no network\n"}).agent(BLOCKS_ONCE)
        (project.kept / "blocked-once").touch()
        running = parked(project, "blocked")
        project.file(BLOCKED).unlink()
        done = running.wait()
        assert done.exit_code == 0
        kinds = done.kinds()
        assert kinds.index("blockedResolved") < kinds.index("iterationStarted")

    def test_what_a_parked_run_waits_for_is_shown_to_who_asks(self, project: Project) -> None:
        project.agent(ASKS)
        parked(project, "decide")
        status = project.tell("status")
        assert "Needs you:   yes, it waits for an answer to: WebSockets or polling?\n" in (
            status.stdout
        )
        assert 'Next:        ralph answer "…"\n' in status.stdout
        second = project.run("5")
        assert second.exit_code == 5
        assert "That run is waiting for an answer to: WebSockets or polling?" in second.stderr


def parked(project: Project, reason: str) -> Running:
    running = project.start("5", "--on-halt", "wait")
    running.wait_for("phaseChanged", phase="parked", reason=reason)
    return running
