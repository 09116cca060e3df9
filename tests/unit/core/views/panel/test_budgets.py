"""The used part of a run's budgets, in every view."""

from __future__ import annotations

from typing import Any

import pytest

from ralph_ls.core.loop.rules.budget import is_nearly_used, tokens_of
from ralph_ls.core.views.document.diagnostics import diagnostics
from ralph_ls.core.views.document.lenses import lenses
from ralph_ls.core.views.model.diagnostic import Severity
from ralph_ls.core.views.model.document_context import DocumentContext
from ralph_ls.core.views.panel.facts import facts
from ralph_ls.core.views.text.status import status_answers
from ralph_ls.core.views.text.summary import (
    budget_words,
    cost_words,
    dollar_words,
    duration_words,
    tokens_words,
)
from ralph_ls.protocol.lsp.panel import Tone
from ralph_ls.protocol.run.events import EventBase, Warned
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.values import EndReason, Phase
from tests.unit.core.views.document_contexts import (
    CHOOSE,
    PID,
    begins,
    ends,
    event,
    phase,
    seen,
    started,
)
from tests.unit.core.views.run_situations import ended

LIMITS: dict[str, Any] = {"max_duration": 7200, "max_tokens": 40_000, "max_cost_usd": 5}
USAGE = Usage(input_tokens=30_000, output_tokens=2_000, cost_usd=0.42)


def look(*more: EventBase, usage: Usage | None = USAGE, **config: Any) -> DocumentContext:
    settings = {**LIMITS, **config}
    return seen(started(**settings), begins(3, CHOOSE), ends(3, usage=usage), *more)


def told(sight: DocumentContext) -> dict[str, tuple[str, Tone]]:
    return {fact.key: (fact.text, fact.tone) for fact in facts(sight)}


def test_each_is_reported_beside_what_it_limits() -> None:
    sight = look(phase(Phase.PREPARING))
    assert sight.state is not None
    found = told(sight)
    assert found["time"] == ("3m 0s of 2h", Tone.PLAIN)
    assert found["cost"] == ("$0.42 of $5.00", Tone.PLAIN)
    assert found["tokens"] == ("32k of 40k", Tone.WARNING)
    assert lenses(sight)[2].title == (
        "iteration 3 of 20 · 3 min of 2h · 32k of 40k tokens · $0.42 of $5.00"
    )
    (_, running), *_ = status_answers(sight.state, sight.phase, pid=PID)
    assert running.startswith(
        "yes, preparing, iteration 3 of 20, 3m 0s of 2h, 32k of 40k tokens, $0.42 of $5.00, run "
    )


def test_without_limits_nothing_is_limited() -> None:
    sight = seen(started(), begins(3, CHOOSE), ends(3, usage=USAGE))
    assert sight.state is not None
    assert list(budget_words(sight.state)) == []
    assert lenses(sight)[2].title == "iteration 3 of 20 · 2 min · $0.42"


def test_what_an_agent_does_not_show_is_not_made_up() -> None:
    sight = look(usage=None)
    assert told(sight)["cost"] == ("not reported, at most $5.00", Tone.PLAIN)
    assert told(sight)["tokens"] == ("not reported, at most 40k", Tone.PLAIN)
    assert lenses(sight)[2].title == "iteration 3 of 20 · 2 min of 2h"
    assert sight.state is not None
    assert list(budget_words(sight.state)) == ["2m 0s of 2h"]


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        (None, None),
        (Usage(cost_usd=1), None),
        (Usage(input_tokens=3), 3),
        (Usage(input_tokens=3, output_tokens=4, cached_tokens=9), 7),
    ],
)
def test_tokens_are_those_that_went_in_and_came_out(
    usage: Usage | None, tokens: int | None
) -> None:
    assert tokens_of(usage) == tokens


@pytest.mark.parametrize(
    ("amount", "expected"), [(0, "$0.00"), (0.0005, "$0.0005"), (0.01, "$0.01"), (12.5, "$12.50")]
)
def test_less_than_a_cent_is_not_nothing(amount: float, expected: str) -> None:
    assert dollar_words(amount) == expected


def test_where_nothing_is_known_nothing_is_reported() -> None:
    assert tokens_words(None, None) == ""
    assert cost_words(None, None) == ""
    assert duration_words(90, None) == "1m 30s"


@pytest.mark.parametrize(
    ("used", "limit", "nearly"),
    [(79, 100, False), (80, 100, True), (100, 100, True), (None, 100, False), (80, None, False)],
)
def test_a_budget_is_reported_louder_from_four_fifths_on(
    used: float | None, limit: float | None, *, nearly: bool
) -> None:
    assert is_nearly_used(used, limit) is nearly


@pytest.mark.parametrize("name", ["iterations", "duration", "tokens", "cost"])
def test_a_warning_of_one_is_a_hint_while_the_run_continues(name: str) -> None:
    code = f"budget-{name}"
    warned = event(Warned, iteration=3, code=code, message=f"most of the {name}")
    (hint,) = [one for one in diagnostics(look(warned)) if one.code == code]
    assert (hint.line, hint.severity, hint.message) == (0, Severity.HINT, f"most of the {name}")
    assert hint.link == "start:3:3"
    over = look(warned, ended(EndReason.LIMIT))
    assert not any(one.code == code for one in diagnostics(over))


def test_the_same_warning_given_again_is_one_hint_in_its_newest_words() -> None:
    warnings = [
        event(Warned, iteration=3, code="budget-cost", message=f"{number} of 10")
        for number in (8, 9)
    ]
    found = [one for one in diagnostics(look(*warnings)) if one.code == "budget-cost"]
    assert [one.message for one in found] == ["9 of 10"]
