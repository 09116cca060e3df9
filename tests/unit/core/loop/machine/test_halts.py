"""Questions and blockers: asked, written, answered by anyone in any way, and never twice."""

from __future__ import annotations

from typing import Any

import pytest

from ralph_ls.core.loop.effects import RemoveBlocked, RemoveDecide, WriteBlocked, WriteDecide
from ralph_ls.core.loop.inputs import HaltFilesChanged, PendingNote, Started
from ralph_ls.protocol.run.values import Phase
from tests.unit.core.loop.simulated_project import (
    SimulatedProject,
    asks,
    crash,
    finishes,
    is_blocked,
    no_progress,
    progress,
    promise,
    turn,
)
from tests.unit.core.loop.simulated_run import RUN, SimulatedRun, command, facts, play, settings
from tests.unit.core.loop.user_behaviours import editing


def begin(simulated: SimulatedProject, *, wait: bool = False, **fields: Any) -> SimulatedRun:
    """A new run in a project with halt files."""
    played = SimulatedRun(simulated=simulated, config=settings(wait=wait))
    given = Started(run=RUN, facts=facts(simulated, played.config, **fields))
    return played.go_on(given)


def edited(played: SimulatedRun, **files: str | None) -> SimulatedRun:
    """The user edits the halt files while the run waits."""
    for name, text in files.items():
        setattr(played.simulated, name, text)
    return played.go_on(HaltFilesChanged(halt=played.simulated.halt))


def test_a_question_is_written_to_its_file_before_the_run_says_that_it_waits() -> None:
    played = play(progress, asks("a or b?"), wait=True)
    (asked,) = played.events_of("questionAsked")
    written = WriteDecide(question="a or b?", iteration=2, asked_at=asked.asked_at)
    assert written in played.effects
    assert asked.asked_at.microsecond == 0
    assert asked.path == ".ralph/decide.txt"
    assert played.simulated.question == "a or b?"


def test_question_and_answer_reach_the_next_prompt_and_no_later_one() -> None:
    played = play(asks("a or b?"), progress, progress, finishes, wait=True, person=editing)
    told = [(prompt.question, prompt.answer, prompt.answered_by) for prompt in played.prompts]
    assert told == [
        (None, None, None),
        ("a or b?", "polling", ".ralph/decide.txt"),
        (None, None, None),
        (None, None, None),
    ]


def test_a_file_that_the_agent_left_behind_is_removed_after_its_iteration() -> None:
    leaves = turn(files=1, deletes_decide=False)
    played = play(asks("a or b?"), leaves, finishes, wait=True, person=editing)
    assert played.effects.count(RemoveDecide()) == 1
    assert played.simulated.question is None
    assert len(played.events_of("questionAnswered")) == 1


def test_a_file_that_the_agent_removed_is_not_removed_again() -> None:
    played = play(asks("a or b?"), progress, finishes, wait=True, person=editing)
    assert RemoveDecide() not in played.effects


def test_a_new_question_takes_the_place_of_the_answered_one() -> None:
    again = asks("b or c?", deletes_decide=False)
    played = play(asks("a or b?"), again, finishes, wait=True, person=editing)
    assert [prompt.question for prompt in played.prompts] == [None, "a or b?", "b or c?"]
    assert RemoveDecide() not in played.effects
    assert played.exit_code == 0


def test_only_the_first_question_of_an_iteration_is_asked() -> None:
    two = turn(promises=(promise("decide", "a or b?"), promise("decide", "c or d?")))
    played = play(two)
    assert [event.question for event in played.events_of("questionAsked")] == ["a or b?"]
    assert len(played.events_of("promiseRead")) == 2


def test_an_answer_in_the_file_counts() -> None:
    played = play(asks("a or b?"), finishes, wait=True)
    edited(played, answer="a, please")
    assert played.exit_code == 0
    assert played.events_of("questionAnswered")[0].by == ".ralph/decide.txt"


def test_a_question_that_vanished_unanswered_is_written_again() -> None:
    played = play(asks("a or b?"), finishes, wait=True)
    edited(played, question=None)
    assert played.run.phase is Phase.PARKED
    assert played.simulated.question == "a or b?"
    assert played.ignored[-1:] == ["nothing has changed that the run waits for"]
    n_events = len(played.events)
    assert len(edited(played, question=None).events) == n_events


def test_a_blocker_is_written_and_deleting_its_file_resolves_it() -> None:
    played = play(is_blocked("no key"), finishes, wait=True)
    assert WriteBlocked(reason="no key") in played.effects
    edited(played, blocked=None)
    assert played.exit_code == 0
    assert played.events_of("blockedResolved")[0].by == "removing .ralph/blocked.txt"
    assert RemoveBlocked() not in played.effects


def test_resolving_a_blocker_closes_the_breaker_that_opened_for_the_same_report() -> None:
    said = is_blocked("no key", STATUS="BLOCKED", RECOMMENDATION="get a key")
    by_file = play(said, finishes, wait=True)
    assert (by_file.run.breaker.state, by_file.run.phase_reason) == ("OPEN", "blocked")
    edited(by_file, blocked=None)
    assert by_file.exit_code == 0
    assert by_file.events_of("circuitBreakerStateChange")[-1].reason == (
        "reset by removing .ralph/blocked.txt"
    )
    ordered = play(said, finishes, wait=True)
    assert ordered.go_on(command("resume")).exit_code == 0
    assert ordered.events_of("circuitBreakerStateChange")[-1].reason == "reset by Ada"


def test_a_breaker_that_opened_for_something_else_waits_for_its_own_reset() -> None:
    fails = is_blocked("no key", denied=("Bash",))
    denied = turn(STATUS="IN_PROGRESS", denied=("Bash",))
    played = play(denied, fails, finishes, wait=True)
    assert (played.run.breaker.state, played.run.phase_reason) == ("OPEN", "blocked")
    edited(played, blocked=None)
    assert (played.run.phase, played.run.phase_reason) == (Phase.PARKED, "stuck")
    assert played.go_on(command("reset")).exit_code == 0


def test_halt_files_mean_nothing_to_a_run_that_does_not_wait_for_them() -> None:
    played = play(finishes)
    edited(played, answer="a")
    assert played.ignored == ["the run has ended"]
    stuck = play(no_progress, no_progress, no_progress, wait=True)
    n_events = len(stuck.events)
    edited(stuck, answer="a", question="a or b?")
    assert len(stuck.events) == n_events


def test_halt_files_mean_nothing_while_an_agent_runs() -> None:
    def person(played: SimulatedRun) -> None:
        if played.run.phase is Phase.RUNNING:
            played.feed(HaltFilesChanged(halt=played.simulated.halt))

    played = play(finishes, person=person)
    assert played.ignored == ["the run is not waiting for you; it is running"]


@pytest.mark.parametrize(
    ("files", "ends"),
    [
        pytest.param({"blocked": "no key"}, ("blocked", 2), id="blocked"),
        pytest.param({"question": "a or b?"}, ("decide", 3), id="a question without an answer"),
        pytest.param(
            {"question": "a or b?", "blocked": "no key"}, ("blocked", 2), id="both of them"
        ),
    ],
)
@pytest.mark.parametrize("wait", [False, True], ids=["exit", "wait"])
def test_a_start_that_finds_an_open_halt_file_starts_no_agent(
    files: dict[str, Any], ends: tuple[str, int], wait: bool
) -> None:
    played = begin(SimulatedProject(script=[finishes], **files), wait=wait)
    assert played.run.iteration == 0
    assert played.run.phase_reason == ends[0]
    if wait:
        assert played.run.phase is Phase.PARKED
        assert edited(played, blocked=None, answer="a").exit_code == 0
    else:
        assert played.exit_code == ends[1]


def test_an_answer_given_before_the_start_reaches_the_first_prompt() -> None:
    played = begin(SimulatedProject(script=[finishes], question="a or b?", answer="a"))
    assert played.exit_code == 0
    assert (played.prompts[0].question, played.prompts[0].answer) == ("a or b?", "a")
    assert played.events_of("questionAsked")[0].iteration is None


def test_notes_given_while_no_engine_ran_reach_the_first_prompt() -> None:
    played = begin(
        SimulatedProject(script=[finishes]), notes=(PendingNote(text="use tabs", by="Ada"),)
    )
    assert played.prompts[0].notes == ("use tabs",)


def test_an_ended_run_that_was_answered_by_hand_continues_with_the_answer() -> None:
    played = play(asks("a or b?"), finishes)
    assert played.exit_code == 3
    played.simulated.answer = "a"
    played.resume()
    assert (played.exit_code, played.prompts[-1].answer) == (0, "a")


def test_an_ended_run_that_was_not_answered_ends_again_the_same_way() -> None:
    played = play(asks("a or b?"), finishes).resume()
    assert (played.exit_code, len(played.prompts)) == (3, 1)
    assert played.run.end is not None
    assert played.run.end.message == "still waiting for your answer: a or b?"


def test_a_question_that_vanished_while_no_engine_ran_is_written_again() -> None:
    played = play(asks("a or b?"), finishes)
    played.simulated.question = None
    played.resume()
    assert (played.exit_code, played.simulated.halt.question) == (3, "a or b?")


def test_a_blocker_whose_file_was_deleted_while_no_engine_ran_is_resolved() -> None:
    played = play(is_blocked("no key"), finishes)
    played.simulated.blocked = None
    assert played.resume().exit_code == 0
    assert len(played.events_of("blockedRaised")) == 1


def test_a_blocker_that_is_still_there_ends_the_resumed_run_again() -> None:
    played = play(is_blocked("no key"), finishes).resume()
    assert (played.exit_code, len(played.prompts)) == (2, 1)
    assert len(played.events_of("blockedRaised")) == 1


def test_a_resolved_blocker_whose_file_is_still_there_is_not_raised_again() -> None:
    played = play(is_blocked("no key"), turn(files=1), wait=True)
    played.send("resume")
    played.simulated.blocked = " no  key\n"
    played.resume()
    assert len(played.events_of("blockedRaised")) == 1
    assert RemoveBlocked() in played.effects
    assert played.simulated.blocked is None


def test_a_settled_question_whose_file_is_still_there_is_not_asked_again() -> None:
    leaves = turn(files=1, deletes_decide=False)
    played = play(asks("a or\n\nb?"), leaves, finishes, wait=True, person=editing)
    ends = [number for number, kind in enumerate(played.kinds(), 1) if kind == "iterationEnded"]
    played.events = played.events[: ends[1]]
    played.simulated.question, played.simulated.answer = "a or b?", "polling"
    played.resume()
    assert len(played.events_of("questionAsked")) == 1
    assert played.simulated.halt.question is None


def test_an_answer_that_came_while_its_iteration_was_being_settled_is_kept() -> None:
    whole = play(asks("a or b?"), finishes, wait=True)
    asked = whole.kinds().index("questionAsked")
    played = SimulatedRun(
        simulated=whole.simulated, config=whole.config, events=whole.events[: asked + 1]
    )
    played.simulated.question = None
    played.simulated.n_turns = 1
    played.now = played.events[-1].at
    played.take_up()
    played.send("answer", text="a")
    played.go_on()
    assert played.exit_code == 0
    assert [prompt.answer for prompt in played.prompts] == ["a"]
    assert played.events_of("questionAsked")[0].iteration == 1


def test_notes_are_reported_once_and_kept_over_an_iteration_that_never_ended() -> None:
    def person(played: SimulatedRun) -> None:
        if played.run.phase is not Phase.RUNNING:
            return
        if played.run.iteration == 1:
            played.send("note", text="use tabs")
        if played.run.iteration == 2 and played.simulated.n_turns == 1:
            played.send("stop", now=True)

    recommends = turn(files=1, RECOMMENDATION="do b next")
    played = play(recommends, asks("a?"), finishes, person=person)
    assert played.exit_code == 130
    assert [prompt.notes for prompt in played.prompts] == [(), ("use tabs",)]
    played.person = None
    played.simulated.script[1] = finishes
    played.resume()
    assert played.exit_code == 0
    assert played.prompts[-1].notes == ("use tabs",)
    assert [prompt.recommendation for prompt in played.prompts] == ["", "do b next", "do b next"]


def test_a_note_that_comes_during_an_iteration_waits_for_the_next_one() -> None:
    def person(played: SimulatedRun) -> None:
        if played.run.phase is Phase.RUNNING and played.simulated.n_turns == 0:
            played.send("note", text="use tabs")

    played = play(crash, progress, finishes, person=person)
    assert [prompt.notes for prompt in played.prompts] == [(), (), ("use tabs",)]
