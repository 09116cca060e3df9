"""Card view: the panel's card for a terminal, each answer and order as a button.

Answers of a question come before orders. What only an editor can do has no button, and without an
engine the next command is named instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ralph_ls.core.views.panel.question import question_stem
from ralph_ls.protocol.lsp.panel import Action, Card, Panel, QuestionView, Tone, Verb

ANSWER, WRITE, ORDER = "answer", "write", "order"
"""What a button does: send its text, let the user write an answer, give the order in its text."""

ORDERS = {Verb.RESET: "r", Verb.RESUME: "p", Verb.STOP: "S"}
"""Orders that a live run takes, by the key that gives them."""

HIDDEN = frozenset({"run-stops"})
"""Kinds that the headline has said already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CardButtonView:
    """One button."""

    label: str
    key: str
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CardView:
    """A card with its buttons."""

    title: str
    tone: Tone
    text: str
    buttons: tuple[CardButtonView, ...] = ()


def card_view(panel: Panel) -> CardView | None:
    """The card of a panel; None where nothing needs a look. Total."""
    card, question = panel.card, panel.question
    if card is None or card.kind in HIDDEN:
        return None
    is_open = question is not None and question.answer is None
    answers = tuple(_answers(question)) if is_open and question is not None else ()
    orders = _orders(card, panel) if panel.live else ()
    text = question_stem(card.text) if answers else card.text
    if not panel.live:
        text = "\n".join(filter(None, (text, *_next(panel))))
    return CardView(title=card.title, tone=card.tone, text=text, buttons=(*answers, *orders))


def _answers(question: QuestionView) -> Iterator[CardButtonView]:
    for number, option in enumerate(question.options, 1):
        yield CardButtonView(label=f"{number} {option}", key=ANSWER, text=option)
    label = "a Write another answer" if question.options else "a Write an answer"
    yield CardButtonView(label=label, key=WRITE)


def _orders(card: Card, panel: Panel) -> Iterator[CardButtonView]:
    given: set[Verb] = set()
    for action in (*card.actions, *panel.actions):
        if action.verb in ORDERS and action.verb not in given and _is_order(action):
            given.add(action.verb)
            key = ORDERS[action.verb]
            yield CardButtonView(label=f"{key} {action.title}", key=ORDER, text=key)


def _is_order(action: Action) -> bool:
    """Stopping has two keys already; a button only where it is stopping already."""
    return action.verb is not Verb.STOP or bool(action.arguments.get("now"))


def _next(panel: Panel) -> Iterator[str]:
    yield from (f"Next: {one.text}" for one in panel.answers if one.heading == "Next")
