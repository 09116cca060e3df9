from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ralph_ls.core.loop.inputs import HaltFiles
from ralph_ls.core.views.model.document_context import DocumentContext
from ralph_ls.core.views.panel.run_status import RunStatus, run_status
from ralph_ls.protocol.lsp.panel import PanelState, Tone
from ralph_ls.protocol.run.events import CommandAccepted
from ralph_ls.protocol.run.values import Breaker, BreakerState, EndReason, Phase
from tests.unit.core.views.document_contexts import begins, ends, event, phase, seen, started
from tests.unit.core.views.run_situations import (
    HALF_OPEN,
    OPEN,
    PARKED_ASKING,
    PARKED_BLOCKED,
    WORKS,
    asked,
    ended,
    raised,
)

ANSWERED = HaltFiles(question="a?", answer="b")
WISH = event(CommandAccepted, command="command-1", command_kind="pause", by="Ada")


def look(*events: Any, **fields: Any) -> DocumentContext:
    return seen(*events, **fields)


def without_engine(*events: Any, **fields: Any) -> DocumentContext:
    return seen(*events, pid=None, **fields)


CASES = [
    pytest.param(look(), "none", "No loop has run here", "", "plain", id="no-run"),
    pytest.param(
        look(halt=HaltFiles(question="a?")),
        "asks",
        "Waiting for your answer",
        "asks",
        "warning",
        id="a-question-without-a-run",
    ),
    pytest.param(
        look(halt=HaltFiles(blocked="no keys", question="a?")),
        "blocked",
        "Blocked",
        "blocked",
        "bad",
        id="a-blocker-without-a-run",
    ),
    pytest.param(look(started()), "running", "Starting", "0/20", "active", id="starting"),
    pytest.param(look(*WORKS), "running", "Running", "3/20", "active", id="running"),
    pytest.param(
        look(started(max_iterations=None), *WORKS[1:]),
        "running",
        "Running",
        "3",
        "active",
        id="without-a-limit",
    ),
    pytest.param(
        look(started(max_iterations=2), *WORKS[1:]),
        "running",
        "Running",
        "3",
        "active",
        id="above-a-lowered-limit",
    ),
    pytest.param(
        look(*WORKS, phase(Phase.SETTLING)), "running", "Running", "3/20", "active", id="settling"
    ),
    pytest.param(
        look(*WORKS, ends(3, breaker=HALF_OPEN), phase(Phase.PREPARING)),
        "running",
        "Running",
        "3/20",
        "warning",
        id="half-open",
    ),
    pytest.param(
        look(*WORKS, WISH),
        "running",
        "Pausing after this iteration",
        "3/20",
        "active",
        id="is-to-pause",
    ),
    pytest.param(
        look(*WORKS, phase(Phase.STOPPING, "Ada")),
        "stopping",
        "Stopping after this iteration",
        "stopping",
        "active",
        id="stopping",
    ),
    pytest.param(
        look(*WORKS, ends(3), phase(Phase.PAUSED)),
        "paused",
        "Paused after iteration 3",
        "paused",
        "warning",
        id="paused",
    ),
    pytest.param(
        look(started(), phase(Phase.PAUSED)),
        "paused",
        "Paused",
        "paused",
        "warning",
        id="paused-before-it-began",
    ),
    pytest.param(
        look(*WORKS, ends(3), phase(Phase.WAITING, "cooldown")),
        "waiting",
        "Waiting",
        "waits",
        "plain",
        id="waiting",
    ),
    pytest.param(
        look(*PARKED_ASKING), "asks", "Waiting for your answer", "asks", "warning", id="asks"
    ),
    pytest.param(
        without_engine(*PARKED_ASKING),
        "asks",
        "Waiting for your answer",
        "asks",
        "warning",
        id="asks-without-an-engine",
    ),
    pytest.param(
        look(*PARKED_ASKING, halt=ANSWERED),
        "waiting",
        "About to continue",
        "waits",
        "plain",
        id="answered-in-the-file",
    ),
    pytest.param(
        without_engine(*PARKED_ASKING, halt=ANSWERED),
        "paused",
        "Ready to continue",
        "paused",
        "warning",
        id="answered-and-nobody-to-see-it",
    ),
    pytest.param(look(*PARKED_BLOCKED), "blocked", "Blocked", "blocked", "bad", id="blocked"),
    pytest.param(
        look(*PARKED_BLOCKED, asked()),
        "blocked",
        "Blocked",
        "blocked",
        "bad",
        id="blocked-and-asks",
    ),
    pytest.param(
        look(*PARKED_BLOCKED, halt=HaltFiles()),
        "waiting",
        "About to continue",
        "waits",
        "plain",
        id="the-blocker-s-file-is-gone",
    ),
    pytest.param(
        look(started(), phase(Phase.PARKED, "blocked")),
        "blocked",
        "Blocked",
        "blocked",
        "bad",
        id="all-tasks-are-blocked",
    ),
    pytest.param(
        look(*WORKS, ends(3, breaker=OPEN), phase(Phase.PARKED, "stuck")),
        "stuck",
        "Breaker open",
        "breaker open",
        "bad",
        id="breaker-open",
    ),
    pytest.param(
        look(
            started(max_stuck=2),
            begins(2, None),
            ends(2, stuck_count=2),
            phase(Phase.PARKED, "stuck"),
        ),
        "stuck",
        "Stuck",
        "stuck",
        "bad",
        id="stuck",
    ),
    pytest.param(
        look(*WORKS, ends(3, breaker=OPEN), ended(EndReason.STUCK)),
        "stuck",
        "Breaker open",
        "breaker open",
        "bad",
        id="ended-with-an-open-breaker",
    ),
    pytest.param(
        look(*WORKS, ends(3), ended(EndReason.COMPLETE)),
        "complete",
        "Complete (code 0)",
        "complete",
        "good",
        id="complete",
    ),
    pytest.param(
        look(*WORKS, ended(EndReason.COMPLETE), halt=HaltFiles(question="a?")),
        "asks",
        "Waiting for your answer",
        "asks",
        "warning",
        id="complete-and-a-question-was-left",
    ),
    pytest.param(
        look(*WORKS, ended(EndReason.LIMIT)),
        "ended",
        "Limit (code 1)",
        "limit",
        "plain",
        id="limit",
    ),
    pytest.param(
        look(*WORKS, ended(EndReason.STOPPED)),
        "ended",
        "Stopped (code 130)",
        "stopped",
        "plain",
        id="stopped",
    ),
    pytest.param(
        look(*WORKS, raised(), ended(EndReason.STOPPED)),
        "blocked",
        "Blocked",
        "blocked",
        "bad",
        id="stopped-and-blocked",
    ),
    pytest.param(
        look(*WORKS, asked(), ended(EndReason.DECIDE)),
        "asks",
        "Waiting for your answer",
        "asks",
        "warning",
        id="ended-asking",
    ),
    pytest.param(
        without_engine(*WORKS, asked(), ended(EndReason.DECIDE), halt=ANSWERED),
        "paused",
        "Ready to continue",
        "paused",
        "warning",
        id="ended-asking-and-answered",
    ),
    pytest.param(
        look(started(), ended(EndReason.BLOCKED)),
        "blocked",
        "Blocked",
        "blocked",
        "bad",
        id="ended-without-a-task",
    ),
    pytest.param(
        look(*WORKS, asked(), ended(EndReason.FATAL)),
        "fatal",
        "Fatal (code 5)",
        "fatal",
        "bad",
        id="fatal",
    ),
    pytest.param(
        look(*WORKS, asked(), phase=Phase.CRASHED),
        "crashed",
        "Engine gone",
        "engine gone",
        "bad",
        id="crashed",
    ),
    pytest.param(
        look(*WORKS, phase=Phase.ENDED),
        "ended",
        "Ended",
        "ended",
        "plain",
        id="ended-without-a-word",
    ),
]


@pytest.mark.parametrize(("seen_now", "state", "headline", "short", "tone"), CASES)
def test_a_glance_shows_its_status(
    seen_now: DocumentContext, state: str, headline: str, short: str, tone: str
) -> None:
    assert run_status(seen_now) == RunStatus(
        state=PanelState(state), headline=headline, short=short, tone=Tone(tone)
    )


def test_a_reset_breaker_leaves_nothing_to_wait_for() -> None:
    closed = Breaker(state=BreakerState.CLOSED, reason="reset by Ada")
    parked = seen(*WORKS, ends(3, breaker=closed), phase(Phase.PARKED, "stuck"))
    assert run_status(parked).state is PanelState.WAITING
    assert run_status(replace(parked, pid=None)).state is PanelState.PAUSED


def test_every_state_is_met() -> None:
    assert {case.values[1] for case in CASES} == set(PanelState)
