from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.loop.fold import fold
from ralph_ls.core.loop.inputs import HaltFiles
from ralph_ls.core.views.model.document_context import DocumentContext, open_blocker
from ralph_ls.core.views.model.history import history
from ralph_ls.core.views.panel.panel import panel
from ralph_ls.core.views.panel.rows import MAX_ROWS, iteration_rows, plan_rows
from ralph_ls.core.views.text.status import needs_user
from ralph_ls.protocol.lsp.panel import IterationRow, Meter, Panel, PanelState, PlanRows, Tone, Verb
from ralph_ls.protocol.run.events import PhaseChanged, UnknownEvent
from ralph_ls.protocol.run.values import BreakerState, EndReason, Phase, PlanCountsView
from ralph_ls.store.run.journal import read_journal
from tests.histories import record
from tests.unit.core.loop.machine.test_properties import Chance
from tests.unit.core.views.document_contexts import (
    CHOOSE,
    NOON,
    PID,
    begins,
    ends,
    event,
    phase,
    reports,
    seen,
    seen_by_chance,
    started,
)
from tests.unit.core.views.run_situations import (
    OPEN,
    PARKED_ASKING,
    PARKED_BLOCKED,
    PARKED_OPEN,
    WORKS,
    asked,
    ended,
    raised,
)

SIX = ["Running", "Doing", "Last change", "Needs you", "Stopped", "Next"]


def answers(look: DocumentContext) -> dict[str, str]:
    told = panel(look).answers
    shown = [one.heading for one in told]
    assert shown == [heading for heading in SIX if heading in shown]
    return {one.heading: one.text for one in told}


class TestWithoutRun:
    def test_it_says_so_and_offers_a_start(self) -> None:
        made = panel(seen())
        assert (made.state, made.headline, made.tone) == (
            PanelState.NONE,
            "No loop has run here",
            Tone.PLAIN,
        )
        assert [(one.title, one.verb) for one in made.actions] == [("Start loop", Verb.START)]
        assert (made.card, made.question, made.facts, made.rows) == (None, None, (), ())
        assert (made.needs_person, made.waiting, made.badge, made.live) == (False, 0, 0, False)
        assert made.tasks == Meter(value=1, of=6)
        assert made.iterations == Meter(value=0)

    @pytest.mark.parametrize(
        ("halt", "expected"),
        [
            (None, "no"),
            (HaltFiles(question="a?"), "yes, it waits for your answer"),
            (HaltFiles(blocked="no keys"), "yes, it waits until you resolve a blocker"),
        ],
    )
    def test_whether_it_needs_you_is_answered_all_the_same(
        self, halt: HaltFiles | None, expected: str
    ) -> None:
        look = seen(halt=halt)
        assert answers(look)["Needs you"] == expected
        assert panel(look).needs_person is (expected != "no")


class TestRunning:
    def test_it_is_drawn_as_it_is(self) -> None:
        row = IterationRow(iteration=3, start=3)
        made = panel(seen(*WORKS), (row,), NOON + timedelta(minutes=10))
        assert (made.state, made.headline, made.short, made.tone) == (
            PanelState.RUNNING,
            "Running",
            "3/20",
            Tone.ACTIVE,
        )
        assert made.iterations == Meter(value=3, of=20)
        lowered = seen(started(max_iterations=2), *WORKS[1:])
        assert panel(lowered).iterations == Meter(value=3)
        assert (made.live, made.ticking, made.seconds) == (True, True, 600.0)
        assert made.breaker is BreakerState.CLOSED
        assert made.rows == (row,)
        assert [one.title for one in made.actions] == ["Pause", "Stop after this iteration"]
        assert [one.key for one in made.facts] == ["breaker", "time"]

    def test_only_the_newest_rows_are_shown(self) -> None:
        rows = tuple(IterationRow(iteration=number, start=number) for number in range(300, 0, -1))
        made = panel(seen(*WORKS), rows)
        assert len(made.rows) == MAX_ROWS
        assert made.rows[0].iteration == 300

    def test_tasks_are_counted_in_the_plan_that_is_inspected(self) -> None:
        counts = PlanCountsView(required=9, required_done=8)
        look = seen(*WORKS, ends(3, counts=counts))
        assert panel(look).tasks == Meter(value=1, of=6)
        assert panel(replace(look, parsed=seen(text="").parsed)).tasks == Meter(value=8, of=9)

    def test_a_wait_shows_its_end_while_it_lasts(self) -> None:
        until = NOON + timedelta(hours=5)
        wait = event(PhaseChanged, phase=Phase.WAITING, reason="limit", until=until)
        assert panel(seen(*WORKS, wait)).until == until
        assert panel(seen(*WORKS, wait, phase=Phase.CRASHED, pid=None)).until is None
        assert panel(seen(*WORKS)).until is None

    @pytest.mark.parametrize(
        ("look", "ticking"),
        [
            (seen(*WORKS), True),
            (seen(*WORKS, phase(Phase.PAUSED)), False),
            (seen(*PARKED_ASKING), False),
            (seen(*WORKS, phase=Phase.CRASHED, pid=None), False),
            (seen(*WORKS, ended(EndReason.LIMIT), pid=None), False),
        ],
    )
    def test_time_ticks_only_while_it_counts(self, look: DocumentContext, ticking: bool) -> None:
        assert panel(look).ticking is ticking


@pytest.mark.parametrize(
    ("look", "waiting", "badge"),
    [
        pytest.param(seen(*WORKS), 0, 0, id="running"),
        pytest.param(seen(*PARKED_ASKING), 1, 1, id="asks"),
        pytest.param(seen(*PARKED_BLOCKED), 1, 1, id="blocked"),
        pytest.param(seen(*WORKS, asked(), raised(), *PARKED_BLOCKED[-1:]), 2, 2, id="both"),
        pytest.param(seen(*PARKED_OPEN), 0, 1, id="breaker-open"),
        pytest.param(seen(*WORKS, phase=Phase.CRASHED, pid=None), 0, 1, id="engine-gone"),
        pytest.param(seen(*WORKS, phase(Phase.PAUSED)), 0, 0, id="paused"),
    ],
)
def test_what_waits_is_counted(look: DocumentContext, waiting: int, badge: int) -> None:
    made = panel(look)
    assert (made.waiting, made.badge) == (waiting, badge)


def test_what_must_be_settled_comes_before_everything_else() -> None:
    look = seen(*WORKS, asked(), raised(), ends(3, breaker=OPEN), *PARKED_BLOCKED[-1:])
    assert [one.verb for one in panel(look).actions] == [
        Verb.ANSWER,
        Verb.RESUME,
        Verb.RESET,
        Verb.STOP,
    ]


HOSTILE = "\x1b]0;owned\x07\u202egnp\x9b\r\ud800"
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for each in value.values():
                yield from texts(each)
        case list() | tuple():
            for each in value:
                yield from texts(each)


def test_no_stranger_s_text_can_steer_its_viewer() -> None:
    fields = dict.fromkeys(("STATUS", "TESTS_STATUS", "WORK_TYPE", "RECOMMENDATION"), HOSTILE)
    start = begins(3, CHOOSE)
    assert start.task is not None
    hostile = start.task.model_copy(update={"title": HOSTILE})
    bad = OPEN.model_copy(update={"reason": HOSTILE, "error_history": (HOSTILE,)})
    events = (
        started(),
        start.model_copy(update={"task": hostile}),
        reports(3, **fields),
        asked(question=f"{HOSTILE} or {HOSTILE}b?"),
        raised(reason=HOSTILE),
        ends(3, breaker=bad.model_copy(update={"error_streaks": {HOSTILE: 1}})),
        phase(Phase.PARKED, "blocked"),
    )
    text = f"# {HOSTILE}\n- [ ] {HOSTILE}\n  - Done when: {HOSTILE}\n- [ ] [BLOCKED: {HOSTILE}] b"
    crashed: dict[str, Any] = {"phase": Phase.CRASHED, "pid": None}
    for changes in ({}, crashed, {"halt": HaltFiles(question="a?", answer=HOSTILE)}):
        look = seen(*events, text=text, **changes)
        made = panel(look, iteration_rows(events).rows)
        tree = plan_rows(look, uri="file:///plan", path="plan")
        for one in (made, tree):
            assert [found for found in texts(one.model_dump()) if STEERING.search(found)] == []


def check(look: DocumentContext, made: Panel) -> None:
    """What holds for every panel."""
    assert Panel.model_validate_json(made.model_dump_json(by_alias=True)) == made
    numbers = [row.start for row in made.rows]
    assert numbers == sorted(set(numbers), reverse=True)
    asks = made.question is not None and made.question.answer is None
    offered = [] if made.card is None else [one.title for one in made.card.actions]
    blocks = any(title.startswith("Mark blocker as resolved") for title in offered)
    assert made.waiting == asks + blocks
    assert asks == any(title.startswith("Answer") for title in offered)
    assert blocks == (open_blocker(look) is not None)
    waits = made.waiting > 0
    state = look.state
    assert made.needs_person == (waits if state is None else needs_user(state, look.phase))
    assert made.badge >= made.waiting
    shown = [one.heading for one in made.answers]
    assert shown == [heading for heading in SIX if heading in shown]
    assert {"Running", "Needs you", "Next"} <= set(shown)
    assert all(one.text for one in made.answers)
    assert made.headline
    assert made.short or made.state is PanelState.NONE


halts = st.none() | st.builds(
    HaltFiles,
    question=st.none() | st.just("red or blue?"),
    answer=st.none() | st.just("red"),
    blocked=st.none() | st.just("no keys"),
)


@given(st.data())
def test_any_run_beside_any_plan_can_be_drawn(data: st.DataObject) -> None:
    look = replace(seen_by_chance(data), halt=data.draw(halts))
    later = None if look.state is None or look.state.at is None else look.state.at
    made = panel(look, (), later)
    check(look, made)
    tree = plan_rows(look, uri="file:///plan", path="plan")
    assert PlanRows.model_validate_json(tree.model_dump_json(by_alias=True)) == tree
    assert len(tree.tasks) == len(look.plan.tasks)
    assert sum(row.asks for row in tree.tasks) <= 1


@given(st.data())
def test_the_rows_of_any_run_are_newest_first_and_each_once(data: st.DataObject) -> None:
    chance = Chance(data)
    for _ in range(data.draw(st.integers(0, 20))):
        chance.move()
    rows = iteration_rows(chance.events).rows
    assert [row.start for row in rows] == list(range(chance.state.run.start, 0, -1))
    ended_ones = [one for one in chance.events if one.kind == "iterationEnded"]
    assert sum(row.outcome is not None for row in rows) == len(ended_ones)
    for row in rows:
        assert row.started_at is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(record.HISTORIES))
def test_a_recorded_run_can_be_drawn_at_every_moment(name: str) -> None:
    journal = read_journal(record.path_of(name)).events
    events = [one for one in journal if not isinstance(one, UnknownEvent)]
    rows = None
    for number in range(1, len(events) + 1):
        rows = iteration_rows(events[number - 1 : number], rows)
        look = seen_after(events[:number])
        check(look, panel(look, rows.rows))
    assert look.state is not None
    assert look.state.end is not None
    waits = {EndReason.DECIDE, EndReason.BLOCKED, EndReason.STUCK, EndReason.FATAL}
    assert panel(look).needs_person is (look.state.end.reason in waits)


def seen_after(events: list[Any]) -> DocumentContext:
    state = fold(events)
    return DocumentContext(
        text="", state=state, phase=state.phase, pid=PID, history=history(events)
    )
