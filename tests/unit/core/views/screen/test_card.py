"""The full screen's card: answers and orders as buttons, or the next command."""

from __future__ import annotations

from ralph_ls.core.views.panel.panel import panel
from ralph_ls.core.views.screen.card import CardView, card_view
from ralph_ls.protocol.run.values import Phase
from tests.unit.core.views.document_contexts import phase, seen
from tests.unit.core.views.run_situations import (
    PARKED_BLOCKED,
    PARKED_OPEN,
    WORKS,
    asked,
)

PARKED = phase(Phase.PARKED, "decide")


def shown(*events: object, **fields: object) -> CardView | None:
    return card_view(panel(seen(*events, **fields)))  # type: ignore[arg-type]


def labels(*events: object, **fields: object) -> list[str]:
    card = shown(*events, **fields)
    return [] if card is None else [button.label for button in card.buttons]


class TestCard:
    def test_a_run_that_works_has_none(self) -> None:
        assert shown(*WORKS) is None
        assert shown(*WORKS, phase(Phase.STOPPING)) is None

    def test_options_of_a_question_are_buttons(self) -> None:
        question = asked(3, "Which one?\n1. SQLite\n2. MySQL")
        assert labels(*WORKS, question, PARKED) == [
            "1 SQLite",
            "2 MySQL",
            "a Write another answer",
        ]
        card = shown(*WORKS, question, PARKED)
        assert card is not None
        assert card.text == "Which one?"

    def test_a_question_without_options_is_answered_in_words(self) -> None:
        assert labels(*WORKS, asked(3, "How so?"), PARKED) == ["a Write an answer"]

    def test_orders_have_the_keys_that_give_them(self) -> None:
        assert labels(*PARKED_OPEN) == ["r Reset breaker"]
        assert labels(*PARKED_BLOCKED) == ["p Mark blocker as resolved"]
        assert labels(*WORKS, phase(Phase.PAUSED)) == ["p Resume"]

    def test_without_an_engine_the_next_command_is_named(self) -> None:
        card = shown(*PARKED_OPEN, pid=None)
        assert card is not None
        assert card.buttons == ()
        assert card.text.splitlines()[-1] == "Next: reset breaker and continue"
