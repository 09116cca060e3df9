"""A wait for a usage limit, in every view."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from ralph_ls.core.views.document.lenses import lenses
from ralph_ls.core.views.model.document_context import DocumentContext
from ralph_ls.core.views.panel.card import card
from ralph_ls.core.views.panel.panel import panel, panel_answers
from ralph_ls.core.views.text.event_lines import event_line
from ralph_ls.core.views.text.event_weights import EventLine, Weight
from ralph_ls.core.views.text.status import (
    clock_words,
    countdown,
    deadline,
    progress_words,
    status_answers,
    wait_words,
)
from ralph_ls.protocol.lsp.panel import PanelState
from ralph_ls.protocol.run.events import AgentExited, AgentStarted, EventBase, PhaseChanged
from ralph_ls.protocol.run.values import Outcome, Phase
from tests.unit.core.views.document_contexts import NOON, PID, ends, event, phase, seen, started
from tests.unit.core.views.run_situations import WORKS

UNTIL = NOON + timedelta(hours=2, minutes=5)
EAST = timezone(timedelta(hours=3))
WEST = timezone(timedelta(hours=-10))


def waits(until: datetime | None = UNTIL) -> PhaseChanged:
    return event(PhaseChanged, phase=Phase.WAITING, reason="limit", until=until)


def look(*more: EventBase) -> DocumentContext:
    return seen(*WORKS, ends(3, outcome=Outcome.LIMITED), *(more or (waits(),)))


@pytest.mark.parametrize(
    ("reason", "until", "expected"),
    [
        ("limit", UNTIL, " for the usage limit until 14:05 UTC"),
        ("limit", NOON + timedelta(days=3), " for the usage limit until 2026-02-03 12:00 UTC"),
        ("limit", None, " for the usage limit"),
        ("cooldown", UNTIL, ": cooldown"),
        (None, UNTIL, ": for a moment"),
        ("\x1b[2J", None, ": \\x1b[2J"),
    ],
)
def test_a_wait_names_its_reason_and_its_end(
    reason: str | None, until: datetime | None, expected: str
) -> None:
    assert wait_words(reason, until, since=NOON) == expected


@pytest.mark.parametrize(
    ("since", "zone", "expected"),
    [
        pytest.param(NOON, UTC, "14:05 UTC", id="utc"),
        pytest.param(NOON, EAST, "17:05", id="where-somebody-looks"),
        pytest.param(NOON, WEST, "04:05", id="where-it-is-morning"),
        pytest.param(None, UTC, "2026-01-31 14:05 UTC", id="since-nobody-knows-when"),
        pytest.param(NOON - timedelta(hours=8), EAST, "17:05", id="that-day-by-their-clock"),
        pytest.param(NOON - timedelta(hours=16), EAST, "2026-01-31 17:05", id="the-day-before"),
    ],
)
def test_a_time_is_reported_by_the_readers_clock(
    since: datetime | None, zone: timezone, expected: str
) -> None:
    assert clock_words(UNTIL, since=since, zone=zone) == expected


def test_an_editor_shows_it_in_its_panel_its_lens_and_its_progress() -> None:
    sight = look()
    assert sight.state is not None
    shown = panel(sight)
    assert (shown.state, shown.headline) == (PanelState.WAITING, "Waiting for the usage limit")
    assert (shown.short, shown.until) == ("waits", UNTIL)
    made = card(sight)
    assert made is not None
    assert (made.kind, made.title) == ("run-waits", "Waiting for the usage limit")
    assert lenses(sight)[3].title.startswith("waits for the usage limit until 14:05 UTC · ")
    assert progress_words(sight.state, sight.phase) == (
        "iteration 3 of 20 · waits for the usage limit until 14:05 UTC"
    )
    # A viewer has the time itself, and shows it by the clock of its reader.
    assert panel_answers(sight)[0].text == "yes, waiting for the usage limit, iteration 3 of 20"


def test_a_terminal_shows_it_by_its_own_clock() -> None:
    sight = look()
    assert sight.state is not None
    (_, running), *_ = status_answers(sight.state, sight.phase, pid=PID, zone=EAST)
    assert running.startswith("yes, waiting for the usage limit until 17:05, iteration 3 of 20, ")
    text = "Waiting for the usage limit until 17:05"
    assert event_line(waits(), zone=EAST) == EventLine(text=text, weight=Weight.WARNING)


def test_any_other_wait_keeps_its_plain_words() -> None:
    sight = look(event(PhaseChanged, phase=Phase.WAITING, reason="cooldown", until=UNTIL))
    assert panel(sight).headline == "Waiting"
    assert panel_answers(sight)[0].text == "yes, waiting, iteration 3 of 20"


def test_a_wait_that_is_over_is_reported_no_more() -> None:
    sight = look(waits(), event(PhaseChanged, phase=Phase.PREPARING))
    assert panel(sight).headline == "Running"
    assert panel(sight).until is None


CALLS = event(PhaseChanged, phase=Phase.WAITING, reason="calls", until=NOON + timedelta(minutes=6))


def test_a_wait_for_the_calls_of_a_minute_has_its_own_words() -> None:
    sight = look(CALLS)
    shown = panel(sight)
    assert shown.headline == "Waiting for the limit of calls a minute"
    assert shown.until == CALLS.until
    made = card(sight)
    assert made is not None
    assert made.title == "Waiting for the limit of calls a minute"
    assert panel_answers(sight)[0].text == (
        "yes, waiting for the limit of calls a minute, iteration 3 of 20"
    )
    words = "Waiting for the limit of calls a minute"
    assert event_line(CALLS) == EventLine(text=words, weight=Weight.WARNING)


AGENT = event(
    AgentStarted, iteration=3, agent="command", argv=("a",), pid=1, process_start_time=0.0
)
EXITS = event(AgentExited, iteration=3, exit_code=0)
AT_WORK = (*WORKS[:-1], AGENT, phase(Phase.RUNNING))
"""The agent of the third iteration works since a minute."""


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        pytest.param((waits(),), "2h 4m 0s left", id="limit"),
        pytest.param((CALLS,), "5m 0s left", id="calls"),
        pytest.param((waits(None),), "", id="nobody-knows-until-when"),
        pytest.param((phase(Phase.PAUSED),), "", id="paused"),
    ],
)
def test_a_status_counts_down_what_is_waited_for(
    events: tuple[EventBase, ...], expected: str
) -> None:
    sight = look(*events)
    assert sight.state is not None
    assert countdown(sight.state, sight.phase, NOON + timedelta(minutes=1)) == expected


def began() -> datetime:
    state = seen(*AT_WORK).state
    assert state is not None
    assert state.current is not None
    assert state.current.agent is not None
    return state.current.agent.at


@pytest.mark.parametrize(
    ("events", "minutes"),
    [
        pytest.param(AT_WORK, 30, id="at work"),
        pytest.param((*AT_WORK, phase(Phase.STOPPING, "Ada")), 30, id="its last one"),
        pytest.param((*AT_WORK, EXITS, phase(Phase.SETTLING)), None, id="it has ended"),
        pytest.param((*AT_WORK, EXITS), None, id="it has just ended"),
        pytest.param((*AT_WORK, phase(Phase.SETTLING)), None, id="its engine died"),
        pytest.param(WORKS, None, id="not started yet"),
        pytest.param((*AT_WORK, ends(3)), None, id="between two"),
        pytest.param((started(timeout=0), *AT_WORK[1:]), None, id="no limit"),
    ],
)
def test_an_agent_is_ended_at_the_latest_when_its_time_is_over(
    events: tuple[EventBase, ...], minutes: int | None
) -> None:
    state = seen(*events).state
    assert state is not None
    expected = None if minutes is None else began() + timedelta(minutes=minutes)
    assert deadline(state) == expected


def test_the_time_that_an_agent_has_left_is_reported_where_the_time_is_known() -> None:
    sight = seen(*AT_WORK)
    assert sight.state is not None
    now = began() + timedelta(minutes=25, seconds=50)
    (_, running), *_ = status_answers(sight.state, sight.phase, pid=PID, now=now)
    assert running.startswith("yes, running · the agent ends in 4m 10s at the latest, iteration 3")
    late = countdown(sight.state, sight.phase, now + timedelta(hours=1))
    assert late == "the agent ends in 0s at the latest"
    assert panel_answers(sight)[0].text == "yes, running, iteration 3 of 20"
