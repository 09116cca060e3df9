"""The live panel alone, drawn into memory: what no short run in a terminal comes to."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from rich.console import Console

from ralph_ls.cli.show.live_panel import LiveRenderer
from ralph_ls.engine.clock import SystemClock
from ralph_ls.protocol.run.events import AgentStarted, AttemptCounted, EventBase, PhaseChanged
from ralph_ls.protocol.run.report import Usage
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Outcome, Phase
from tests.unit.core.views.document_contexts import (
    CHOOSE,
    begins,
    ends,
    event,
    phase,
    run_of,
    started,
    task,
)

LIMITS: dict[str, Any] = {
    "attempts": {"limit": 3},
    "max_duration": 7200,
    "max_tokens": 200_000,
    "max_cost_usd": 5,
}
USAGE = Usage(input_tokens=30_000, output_tokens=1_000, cost_usd=0.42)
STYLE = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\r")


def drawn(events: Sequence[EventBase]) -> str:
    """The text of the panel when the last event was shown."""
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, width=100, highlight=False)
    renderer = LiveRenderer(console, RunState())
    renderer.show([*run_of(events)])
    renderer.close()
    _, _, panel = STYLE.sub("", out.getvalue()).rpartition("─" * 40)
    return panel


def rows(events: Sequence[EventBase]) -> dict[str, str]:
    lines = [line.split(maxsplit=1) for line in drawn(events).splitlines() if line.strip()]
    return {heading: words.strip() for heading, words in lines}


def waits(reason: str, seconds: float) -> PhaseChanged:
    until = SystemClock().now() + timedelta(seconds=seconds)
    return event(PhaseChanged, phase=Phase.WAITING, reason=reason, until=until)


def test_the_task_in_work_says_which_attempt_it_is() -> None:
    counted = event(AttemptCounted, iteration=3, task=task(CHOOSE), attempt=1, limit=3)
    told = (started(**LIMITS), begins(3, CHOOSE), counted, phase(Phase.RUNNING))
    assert rows(told)["Task"] == "Choose the storage engine · attempt 1 of 3"
    assert rows(told[:2])["Task"] == "Choose the storage engine"


def test_usage_is_shown_beside_its_limit() -> None:
    told = rows((started(**LIMITS), begins(3, CHOOSE), ends(3, usage=USAGE)))
    assert told["Time"].endswith(" of 2h")
    assert told["Cost"] == "$0.42 of $5.00"
    assert told["Tokens"] == "31k of 200k"


def test_what_is_neither_limited_nor_reported_has_no_row() -> None:
    assert {"Cost", "Tokens", "Waits"}.isdisjoint(rows((started(), begins(3, CHOOSE))))


@pytest.mark.parametrize(
    ("reason", "seconds", "words"),
    [
        pytest.param(
            "limit",
            3600,
            r"for the usage limit until .*\d\d:\d\d, (1h 0m 0s|59m \d+s) left",
            id="limit",
        ),
        pytest.param("cooldown", 119, r"cooldown, 1m \d+s left", id="cooldown"),
        pytest.param("cooldown", -30, r"cooldown, 0s left", id="about-to-go-on"),
    ],
)
def test_a_wait_counts_down(reason: str, seconds: float, words: str) -> None:
    limited = ends(3, outcome=Outcome.LIMITED)
    told = rows((started(), begins(3, CHOOSE), limited, waits(reason, seconds)))
    assert re.fullmatch(words, told["Waits"])


def test_the_time_that_the_agent_has_left_counts_down() -> None:
    # The agent began long ago, by the clock of this machine.
    agent = event(
        AgentStarted, iteration=3, agent="command", argv=("a",), pid=1, process_start_time=0.0
    )
    told = (started(timeout=90), begins(3, CHOOSE), agent, phase(Phase.RUNNING))
    assert rows(told)["Agent"] == "ends in 0s at the latest"
    assert "Agent" not in rows((started(timeout=0), *told[1:]))
