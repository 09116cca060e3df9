"""Every surface answers "running, needs you, stopped, next" alike, in every state of a loop.

The panel is drawn by VS Code; the status summary is what the terminal and Neovim print.
"""

from __future__ import annotations

import pytest

from ralph_ls.core.views.document.lenses import lenses
from ralph_ls.core.views.text.status import status_answers
from ralph_ls.protocol.lsp.panel import PanelState, Verb
from tests.unit.core.views.document_contexts import PID
from tests.unit.core.views.panel_states import CONTEXTS, STATES

RUNS = {PanelState.RUNNING, PanelState.STOPPING, PanelState.WAITING}
"""It continues without the user."""

NEEDS = {
    PanelState.PAUSED,
    PanelState.ASKS,
    PanelState.BLOCKED,
    PanelState.STUCK,
    PanelState.FATAL,
    PanelState.CRASHED,
}
"""It continues when the user acts."""


@pytest.fixture(params=sorted(STATES))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_the_panel_agrees_with_itself(name: str) -> None:
    panel = STATES[name]
    answers = {one.heading: one.text for one in panel.answers}
    assert answers["Running"].startswith("yes" if panel.state in RUNS else "no")
    assert answers["Needs you"].startswith("yes" if panel.state in NEEDS else "no")
    assert panel.needs_person == (panel.state in NEEDS)
    assert bool(panel.badge) <= panel.needs_person
    assert ("Stopped" in answers) == (name.startswith("ended") or panel.state is PanelState.CRASHED)


def test_next_is_the_first_button(name: str) -> None:
    panel = STATES[name]
    then = next(one.text for one in panel.answers if one.heading == "Next")
    first = panel.actions[0]
    if panel.state in RUNS or panel.state is PanelState.COMPLETE:
        assert then.startswith("nothing")
        assert first.title != "Start loop"
    else:
        assert first.title.rstrip("…").lower() == then.lower()
    if panel.card is not None and panel.state not in RUNS:
        beside = [one for one in panel.card.actions if "text" not in one.arguments]
        assert beside[0] == first


def test_the_terminal_agrees_with_the_panel(name: str) -> None:
    panel, context = STATES[name], CONTEXTS[name]
    if context.state is None:
        return
    pid = PID if context.live else None
    told = dict(status_answers(context.state, context.phase, pid=pid))
    shown = {one.heading: one.text for one in panel.answers}
    assert list(told) == list(shown)
    for heading in ("Running", "Needs you"):
        assert told[heading].startswith(("yes", "no"))
        assert told[heading].split(",")[0][:2] == shown[heading][:2]
    assert told["Next"].startswith("nothing") == (panel.state is PanelState.COMPLETE)


def test_the_lenses_offer_what_the_panel_offers(name: str) -> None:
    panel, context = STATES[name], CONTEXTS[name]
    of_run = {Verb.START, Verb.PAUSE, Verb.RESUME, Verb.STOP, Verb.RESET, Verb.ANSWER}
    offered = {one.verb for one in panel.actions}
    shown = {one.command for one in lenses(context) if one.line == 0}
    assert shown & of_run == offered
