"""A wait for a usage limit, wherever it is told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from ralph_ls.core.views.card import card
from ralph_ls.core.views.lenses import lenses
from ralph_ls.core.views.lines import Line, Weight, line_of
from ralph_ls.core.views.panel import panel
from ralph_ls.core.views.progress import progress_words
from ralph_ls.core.views.seen import Seen
from ralph_ls.core.views.six import answers
from ralph_ls.core.views.status import answer_six
from ralph_ls.core.views.waits import clock_words, wait_words
from ralph_ls.protocol.events import EventBase, PhaseChanged
from ralph_ls.protocol.panel import PanelState
from ralph_ls.protocol.run_words import Outcome, Phase
from tests.unit.views.sights import NOON, PID, ends, event, seen
from tests.unit.views.situations import WORKS

UNTIL = NOON + timedelta(hours=2, minutes=5)
EAST = timezone(timedelta(hours=3))
WEST = timezone(timedelta(hours=-10))


def waits(until: datetime | None = UNTIL) -> PhaseChanged:
    return event(PhaseChanged, phase=Phase.WAITING, reason="limit", until=until)


def look(*more: EventBase) -> Seen:
    return seen(*WORKS, ends(3, outcome=Outcome.LIMITED), *(more or (waits(),)))


@pytest.mark.parametrize(
    ("reason", "until", "expected"),
    [
        ("limit", UNTIL, " for the usage limit until 14:05 UTC"),
        ("limit", NOON + timedelta(days=3), " for the usage limit until 2026-02-03 12:00 UTC"),
        ("limit", None, " for the usage limit"),
        ("cooldown", UNTIL, ": cooldown"),
        (None, UNTIL, ": for a while"),
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
def test_a_time_is_told_by_the_clock_of_whoever_looks(
    since: datetime | None, zone: timezone, expected: str
) -> None:
    assert clock_words(UNTIL, since=since, zone=zone) == expected


def test_an_editor_tells_it_in_its_panel_its_lens_and_its_progress() -> None:
    sight = look()
    assert sight.state is not None
    shown = panel(sight)
    assert (shown.state, shown.headline) == (PanelState.WAITING, "Waits for the usage limit")
    assert (shown.short, shown.until) == ("waits", UNTIL)
    made = card(sight)
    assert made is not None
    assert (made.kind, made.title) == ("run-waits", "Waits for the usage limit")
    assert lenses(sight)[2].title.startswith("waits for the usage limit until 14:05 UTC · ")
    assert progress_words(sight.state, sight.phase) == (
        "iteration 3 of 20 · waits for the usage limit until 14:05 UTC"
    )
    assert answers(sight)[0].text == (
        "yes, waiting for the usage limit until 14:05 UTC, iteration 3 of 20"
    )


def test_a_terminal_tells_it_by_its_own_clock() -> None:
    sight = look()
    assert sight.state is not None
    (_, running), *_ = answer_six(sight.state, sight.phase, pid=PID, zone=EAST)
    assert running.startswith("yes, waiting for the usage limit until 17:05, iteration 3 of 20, ")
    text = "Waiting for the usage limit until 17:05"
    assert line_of(waits(), zone=EAST) == Line(text=text, weight=Weight.WARNING)


def test_any_other_wait_keeps_its_plain_words() -> None:
    sight = look(event(PhaseChanged, phase=Phase.WAITING, reason="cooldown", until=UNTIL))
    assert panel(sight).headline == "Waiting"
    assert answers(sight)[0].text == "yes, waiting, iteration 3 of 20"


def test_a_wait_that_is_over_is_told_no_more() -> None:
    sight = look(waits(), event(PhaseChanged, phase=Phase.PREPARING))
    assert panel(sight).headline == "Running"
    assert panel(sight).until is None
