"""Lanes of a parallel run in the panel, the plan's tree, hints and the status summary."""

from __future__ import annotations

from typing import Any

import pytest

from ralph_ls.core.views.document.diagnostics import diagnostics
from ralph_ls.core.views.document.lenses import hints
from ralph_ls.core.views.model.document_context import DocumentContext
from ralph_ls.core.views.panel.lanes import lane_table
from ralph_ls.core.views.panel.panel import panel
from ralph_ls.core.views.panel.rows import plan_rows
from ralph_ls.core.views.text.status import needs_user, run_anywhere, status_answers
from ralph_ls.protocol.lsp.panel import Panel, PanelState, Tone, Verb
from ralph_ls.protocol.run.events import (
    EventBase,
    LaneDropped,
    LaneMerged,
    LaneParked,
    LaneRunEnded,
    LaneRunStarted,
    LaneStarted,
    LaneWaiting,
    MergeRefused,
    RunEnded,
)
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import (
    EndReason,
    LaneState,
    MergeProblem,
    Phase,
    PlanCountsView,
)
from tests.unit.core.views.document_contexts import (
    CHOOSE,
    LETTER,
    PID,
    PLAN,
    ROUND,
    RUN,
    event,
    phase,
    seen,
    started,
    task,
)

BRANCH = f"ralph/session-{RUN}"


def lane(kind: type[EventBase], number: int, line: int, **fields: Any) -> EventBase:
    return event(kind, lane=number, task=task(line), **fields)


def opens(number: int, line: int) -> tuple[EventBase, ...]:
    slug = f"{task(line).id}-{number}"
    return (
        lane(LaneStarted, number, line, branch=f"ralph/{RUN}/{slug}", worktree=f"/lanes/{slug}"),
        lane(LaneRunStarted, number, line, lane_run=f"run-{number}", base="0" * 40),
    )


def run_ends(number: int, line: int, reason: EndReason, message: str = "") -> EventBase:
    return lane(
        LaneRunEnded,
        number,
        line,
        lane_run=f"run-{number}",
        reason=reason,
        message=message,
        iterations=2,
        usage=Usage(cost_usd=0.25),
    )


def merges(number: int, line: int, *, kept: str | None = None) -> tuple[EventBase, ...]:
    counts = PlanCountsView(required=5, required_done=2)
    merged = lane(LaneMerged, number, line, head="a" * 40, commits=1, counts=counts, kept=kept)
    return run_ends(number, line, EndReason.COMPLETE), merged


def asks(number: int, line: int, question: str = "SQLite or Postgres?") -> EventBase:
    fields = {"phase": Phase.PARKED, "reason": "decide", "question": question}
    return lane(LaneWaiting, number, line, **fields)


def look(*more: EventBase, text: str = PLAN, **config: Any) -> DocumentContext:
    begun = started(parallel=3, **config)
    return seen(begun, phase(Phase.RUNNING), *more, text=text)


WORKS = (*opens(1, ROUND), *opens(2, CHOOSE))
PARKS = (
    lane(
        MergeRefused,
        1,
        ROUND,
        problem=MergeProblem.CONFLICT,
        message="conflict",
        paths=["vat.py"],
    ),
    lane(LaneParked, 1, ROUND, message="conflict markers are left in vat.py"),
)


def shown(*more: EventBase, **given: Any) -> Panel:
    return panel(look(*more, **given))


def action_titles(found: Panel) -> list[str]:
    return [action.title for action in found.actions]


def test_a_run_that_does_one_task_at_a_time_has_no_lanes() -> None:
    assert panel(seen(started(), phase(Phase.RUNNING))).lanes is None
    assert panel(seen()).lanes is None


def test_lanes_at_work_are_the_headline_and_what_is_merged_follows() -> None:
    found = shown(*WORKS, *opens(3, LETTER), *merges(3, LETTER))

    assert found.headline == "2 lanes: 2 working"
    assert found.doing == f"1 of 4 merged into {BRANCH}"
    assert (found.short, found.tasks.value, found.tasks.of) == ("2/5", 2, 5)
    assert (found.state, found.tone, found.needs_person) == (PanelState.RUNNING, Tone.ACTIVE, False)
    assert found.card is None
    assert found.lanes is not None
    assert found.lanes.words == "2 lanes: 2 working · 1 of 4 merged"


def test_each_lane_is_a_row_those_at_work_first() -> None:
    kept = "the work tree has changes"
    found = shown(
        *opens(3, LETTER),
        *merges(3, LETTER, kept=kept),
        *WORKS,
        *PARKS,
    ).lanes

    assert found is not None
    assert [(row.lane, row.state, row.words) for row in found.rows] == [
        (2, LaneState.WORKING, "works"),
        (1, LaneState.PARKED, "parked: conflict markers are left in vat.py"),
        (3, LaneState.MERGED, "merged, 1 commit"),
    ]
    works, parked, merged = found.rows
    assert (works.run, works.worktree) == ("run-2", f"/lanes/{task(CHOOSE).id}-2")
    assert (parked.problem, parked.conflicts) == (MergeProblem.CONFLICT, ("vat.py",))
    assert (merged.commits, merged.iterations, merged.cost_usd) == (1, 2, 0.25)
    assert merged.kept == kept
    assert found.most == 3


def test_a_lane_that_asks_is_answered_while_the_others_continue() -> None:
    found = shown(*WORKS, asks(2, CHOOSE))

    assert (found.state, found.tone, found.headline) == (
        PanelState.RUNNING,
        Tone.WARNING,
        "2 lanes: 1 working, 1 asking you",
    )
    assert (found.waiting, found.badge, found.needs_person) == (1, 1, True)
    assert found.question is not None
    assert found.question.options == ("SQLite", "Postgres")
    assert (found.question.lane, found.question.task) == (2, task(CHOOSE).id)
    assert found.question.line == CHOOSE
    assert found.card is not None
    assert (found.card.kind, found.card.title) == ("question-waiting", "Lane 2 asks")
    answer = next(one for one in found.card.actions if one.verb is Verb.ANSWER)
    assert answer.arguments == {"run": RUN, "task": task(CHOOSE).id, "text": "SQLite"}
    assert not any(one.verb is Verb.SHOW_FILE for one in found.card.actions)


def test_of_several_lanes_that_ask_the_first_is_shown_and_all_count() -> None:
    found = shown(*WORKS, asks(2, CHOOSE), asks(1, ROUND, "Half up?"))

    assert (found.waiting, found.badge) == (2, 2)
    assert found.question is not None
    assert (found.question.lane, found.question.text) == (1, "Half up?")


def test_the_problem_is_at_the_task_that_asks() -> None:
    (found,) = [
        one for one in diagnostics(look(*WORKS, asks(2, CHOOSE))) if one.code == "question-waiting"
    ]
    assert (found.line, found.message) == (CHOOSE, "lane 2 asks: SQLite or Postgres?")


def test_a_parked_lane_is_shown_while_the_others_continue() -> None:
    found = shown(*WORKS, *PARKS)

    assert found.headline == "1 lane: 1 working"
    assert found.card is not None
    assert (found.card.kind, found.card.tone) == ("lanes-parked", Tone.WARNING)
    assert "conflict markers are left in vat.py" in found.card.text
    assert action_titles(found) == ["Pause", "Retry parked lanes", "Stop after this iteration"]
    assert (found.needs_person, found.waiting, found.badge) == (True, 0, 1)


def test_a_question_does_not_hide_a_parked_lane() -> None:
    card = shown(*WORKS, *PARKS, asks(2, CHOOSE)).card
    assert card is not None
    assert card.title == "Lane 2 asks"
    assert "1 lane parked: Round half a cent up: conflict markers are left" in card.text
    assert {action.verb for action in card.actions} == {Verb.ANSWER}


def test_many_parked_lanes_are_counted() -> None:
    lines = (ROUND, CHOOSE, LETTER)
    more = [one for n, line in enumerate(lines, 1) for one in opens(n, line)]
    other = [
        event(kind, lane=9, task={"id": f"t{n}", "title": f"T{n}"}, **fields)
        for n in range(4)
        for kind, fields in (
            (LaneStarted, {"branch": "b", "worktree": "/w"}),
            (LaneParked, {"message": "m"}),
        )
    ]
    parked = [lane(LaneParked, n, line, message="m") for n, line in enumerate(lines, 1)]
    found = shown(*more, *other, *parked)

    assert found.card is not None
    assert found.card.title == "7 lanes parked"
    assert found.card.text.endswith("and 2 more")


def test_a_run_that_waits_with_parked_lanes_alone_is_blocked() -> None:
    found = shown(*opens(1, ROUND), *PARKS, phase(Phase.PARKED, "blocked"))

    assert (found.state, found.headline, found.short) == (
        PanelState.BLOCKED,
        "1 lane parked",
        "parked",
    )
    assert action_titles(found) == ["Retry parked lanes", "Stop"]
    assert found.card is not None
    assert (found.card.kind, found.card.tone) == ("lanes-parked", Tone.BAD)


def test_a_parked_run_with_a_question_asks() -> None:
    found = shown(*opens(1, ROUND), asks(1, ROUND), phase(Phase.PARKED, "decide"))
    assert (found.state, found.headline) == (PanelState.ASKS, "Waiting for your answer")
    assert found.actions[0].verb is Verb.ANSWER


def ended(reason: EndReason, message: str, code: int) -> tuple[EventBase, ...]:
    return (event(RunEnded, reason=reason, exit_code=code, message=message, by="the loop"),)


def test_a_question_of_a_run_that_has_ended_is_answered_by_continuing_it() -> None:
    found = shown(
        *opens(1, ROUND),
        run_ends(1, ROUND, EndReason.DECIDE, "Which store?"),
        lane(LaneParked, 1, ROUND, message="Which store?"),
        *ended(EndReason.DECIDE, "1 lane asks", 3),
    )
    assert found.state is PanelState.ASKS
    assert found.actions[0].arguments == {"run": RUN, "continue": True, "task": task(ROUND).id}
    assert found.lanes is not None
    assert found.lanes.rows[0].question == "Which store?"
    assert found.lanes.words == "1 parked · 0 of 0 merged"


def test_the_end_of_a_run_says_how_its_work_comes_home() -> None:
    found = shown(
        *opens(1, ROUND), *merges(1, ROUND), *ended(EndReason.COMPLETE, "all tasks are done", 0)
    )
    command = f"git merge --ff-only {BRANCH}"
    answers = {one.heading: one.text for one in found.answers}
    assert found.card is not None
    assert f"Next: {command}" in found.card.text
    assert answers["Next"].startswith(command)


def test_a_lane_that_was_set_aside_is_counted() -> None:
    state = look(*WORKS, lane(LaneDropped, 1, ROUND, message="no agent")).state
    assert state is not None
    found = lane_table(state, Phase.RUNNING)
    assert found is not None
    assert found.words.startswith("1 lane: 1 working · 1 set aside · ")


class TestHints:
    def test_say_where_each_task_is(self) -> None:
        context = look(
            *WORKS,
            *PARKS,
            *opens(3, LETTER),
            *merges(3, LETTER),
        )
        assert [(hint.line, hint.text) for hint in hints(context)] == [
            (ROUND, "parked: conflict markers are left in vat.py"),
            (CHOOSE, "in lane 2: works"),
            (LETTER, f"merged into {BRANCH}"),
        ]

    def test_end_once_the_plan_has_the_tick(self) -> None:
        ticked = PLAN.replace("[ ] Write the letter", "[x] Write the letter")
        assert hints(look(*opens(3, LETTER), *merges(3, LETTER), text=ticked)) == ()

    def test_are_not_at_a_task_that_left_the_plan(self) -> None:
        gone = PLAN.replace("Write the letter", "Write a book")
        assert hints(look(*opens(3, LETTER), text=gone)) == ()

    def test_know_nothing_of_work_without_an_engine(self) -> None:
        context = look(*WORKS, *ended(EndReason.STOPPED, "stopped", 130))
        assert hints(context) == ()


def test_the_plans_tree_has_the_lanes() -> None:
    context = look(*WORKS, asks(2, CHOOSE), *opens(3, LETTER), *merges(3, LETTER))
    rows = {row.line - 1: row for row in plan_rows(context, uri="file:///plan", path="p").tasks}

    assert (rows[ROUND].lane, rows[ROUND].in_work, rows[ROUND].words) == (
        1,
        True,
        "in lane 1: works",
    )
    assert (rows[CHOOSE].asks, rows[CHOOSE].words) == (True, "in lane 2: asks: SQLite or Postgres?")
    assert (rows[LETTER].in_work, rows[LETTER].words) == (False, f"merged into {BRANCH}")
    assert [line for line, row in rows.items() if row.merged] == [LETTER]
    assert {row.lane for line, row in rows.items() if line not in {ROUND, CHOOSE, LETTER}} == {None}


def run_state(*more: EventBase) -> RunState:
    state = look(*more).state
    assert state is not None
    return state


@pytest.mark.parametrize(
    ("more", "needs", "following"),
    [
        ((), "no", "ralph watch, or ralph stop"),
        (
            (asks(2, CHOOSE),),
            "yes, an answer to: SQLite or Postgres? (lane 2); the other lanes continue",
            'ralph answer "…", or with several questions: ralph inbox',
        ),
        (
            PARKS,
            (
                "yes, a parked lane: Round half a cent up: conflict markers are left in vat.py; "
                "the other lanes continue"
            ),
            "ralph resume, once what is parked is settled; or ralph stop",
        ),
    ],
)
def test_the_status_summary_says_what_lanes_need(
    more: tuple[EventBase, ...], needs: str, following: str
) -> None:
    state = run_state(*WORKS, *more)
    answers = dict(status_answers(state, Phase.RUNNING, pid=PID))

    assert (answers["Needs you"], answers["Next"]) == (needs, following)
    assert needs_user(state, Phase.RUNNING) is (needs != "no")
    anywhere = run_anywhere(state, Phase.RUNNING, workspace="/p", pid=PID, zone=None)
    assert anywhere.needs == (None if needs == "no" else needs.removeprefix("yes, "))
