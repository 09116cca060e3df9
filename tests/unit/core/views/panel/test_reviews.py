"""A run at a review point, in every view."""

from __future__ import annotations

import pytest

from ralph_ls.core.loop.inputs import HaltFiles
from ralph_ls.core.views.document.lenses import lenses
from ralph_ls.core.views.model import actions
from ralph_ls.core.views.model.document_context import DocumentContext
from ralph_ls.core.views.panel.card import card
from ralph_ls.core.views.panel.panel import panel, panel_answers
from ralph_ls.core.views.panel.run_status import run_status
from ralph_ls.core.views.text.event_lines import event_line
from ralph_ls.core.views.text.event_weights import EventLine, Weight
from ralph_ls.core.views.text.status import needs_user, progress_words, status_answers
from ralph_ls.core.views.text.summary import header_lines
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.lsp.panel import PanelState
from ralph_ls.protocol.run.events import BlockedRaised, RunEnded
from ralph_ls.protocol.run.values import Breaker, BreakerState, EndReason, Phase
from tests.unit.core.views.document_contexts import (
    CHOOSE,
    PID,
    begins,
    ends,
    event,
    phase,
    run_of,
    seen,
    started,
)

HALF_OPEN = Breaker(state=BreakerState.HALF_OPEN, reason="2 iterations without progress")
REVIEWS = started(review_points={"every": 3, "after_tasks": ["US-1", "\x1b[2J"]})
ITERATIONS = tuple(one for number in (1, 2, 3) for one in (begins(number, CHOOSE), ends(number)))
DUE = (REVIEWS, *ITERATIONS, phase(Phase.PARKED, "review"))
WHY = "3 iterations of this run are done"


def titles(look: DocumentContext) -> list[str]:
    return [action.title for action in (*actions.user_actions(look), *actions.run_actions(look))]


def test_it_counts_as_paused_and_asks_for_a_review() -> None:
    look = seen(*DUE)
    status = run_status(look)
    assert (status.state, status.headline) == (PanelState.PAUSED, "Waiting for your review")
    assert (status.short, status.tone) == ("review", "warning")
    shown = panel(look)
    assert (shown.needs_person, shown.badge, shown.waiting) == (True, 1, 0)
    assert (shown.ticking, shown.until) == (False, None)


def test_its_card_says_why_and_offers_to_approve() -> None:
    made = card(seen(*DUE))
    assert made is not None
    assert (made.kind, made.title, made.tone) == ("run-review", "Review", "warning")
    assert made.text == f"{WHY}. Look at the work; the run continues when you approve it."
    assert [action.title for action in made.actions] == ["Approve and continue", "Stop", "Show log"]
    assert made.actions[0].verb == "resume"


def test_settings_that_changed_leave_a_card_without_a_why() -> None:
    look = seen(*DUE)
    assert look.state is not None
    state = look.state.model_copy(update={"config": Config()})
    made = card(
        DocumentContext(text=look.text, state=state, phase=look.phase, pid=PID, parsed=look.parsed)
    )
    assert made is not None
    assert made.text == "Look at the work; the run continues when you approve it."


def test_the_lens_approves() -> None:
    titles_of = [lens.title for lens in lenses(seen(*DUE)) if lens.line == 0]
    assert titles_of[:2] == ["Approve and continue", "Stop"]


def test_without_an_engine_taking_up_the_run_approves() -> None:
    look = seen(*DUE, pid=None)
    assert run_status(look).headline == "Waiting for your review"
    assert titles(look)[0] == "Resume run"


def test_a_breaker_that_only_warns_does_not_hide_it() -> None:
    look = seen(REVIEWS, *ITERATIONS[:-1], ends(3, breaker=HALF_OPEN), DUE[-1])
    assert run_status(look).headline == "Waiting for your review"
    assert titles(look)[0] == "Approve and continue"


def test_a_blocker_comes_before_it() -> None:
    raised = event(BlockedRaised, iteration=3, reason="no key", path=".ralph/blocked.txt")
    look = seen(REVIEWS, *ITERATIONS[:-1], raised, ends(3), DUE[-1], halt=HaltFiles(blocked="x"))
    assert run_status(look).state is PanelState.BLOCKED


def test_a_terminal_shows_what_to_check_and_what_to_type() -> None:
    look = seen(*DUE)
    assert look.state is not None
    told = dict(status_answers(look.state, look.phase, pid=PID))
    assert told["Needs you"] == f"yes, it waits for your review: {WHY}"
    assert (
        told["Next"]
        == "ralph resume, once you have looked at the work; or ralph note, or ralph stop"
    )
    assert {one.heading: one.text for one in panel_answers(look)}["Next"] == "approve and continue"
    assert progress_words(look.state, look.phase).endswith(f"waits for your review: {WHY}")
    text = "Waiting for your review: look at the work, then: ralph resume"
    assert event_line(DUE[-1]) == EventLine(text=text, weight=Weight.WARNING)


def test_a_run_that_ended_for_it_needs_the_user() -> None:
    by_point = event(
        RunEnded, reason=EndReason.STOPPED, exit_code=130, message="due", by="a review point"
    )
    look = seen(REVIEWS, *ITERATIONS, by_point)
    assert look.state is not None
    assert needs_user(look.state, look.phase)


@pytest.mark.parametrize(
    ("points", "line"),
    [
        pytest.param({}, None, id="none"),
        pytest.param({"every": 1}, "Review: after every 1 iteration", id="every"),
        pytest.param(
            {"every": 3, "after_tasks": ["US-1", "\x1b[2J"]},
            "Review: after every 3 iterations, after the task US-1, after the task \\x1b[2J",
            id="both",
        ),
    ],
)
def test_the_header_says_where_it_will_hold(points: dict[str, object], line: str | None) -> None:
    (state,) = [seen(*run_of([started(review_points=points)])).state]
    assert state is not None
    found = [one for one in header_lines(state) if one.startswith("Review:")]
    assert found == ([] if line is None else [line])
