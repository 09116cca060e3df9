"""The breaker's part of docs/loop-states.md: its diagram and its table, by trying it.

Each row names a setting and the kind of iteration that it counts; how many it takes, what comes
of them and what sets the count back are seen by running ``core.loop.breaker`` under the default
settings. Nothing is said of it that was not tried.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from ralph_ls.core.loop.rules.breaker import BreakerFacts, close_by_reset, count_iteration
from ralph_ls.protocol.config.config import BreakerConfig
from ralph_ls.protocol.run.values import Breaker, BreakerState

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
ENOUGH = 20
"""Iterations after which a row that has not moved never does."""

IDLE = BreakerFacts(iteration=1, progress=False, denied_tools=())
"""Nothing was done, no error, no tests, no denial."""
WORK = replace(IDLE, progress=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One reason to move."""

    setting: str
    when: str
    """What is counted; it follows "consecutive"."""
    drawn: str
    """The same for the diagram; ``{n}`` is the threshold."""
    facts: BreakerFacts
    """An iteration that is counted."""


ROWS: tuple[Row, ...] = (
    Row(
        setting="breaker.no_progress_half_open",
        when="iterations without progress",
        drawn="{n} iterations without progress",
        facts=IDLE,
    ),
    Row(
        setting="breaker.no_progress_open",
        when="iterations without progress",
        drawn="{n} iterations without progress",
        facts=IDLE,
    ),
    Row(
        setting="breaker.same_error_open",
        when="iterations with the same error",
        drawn="the same error in {n}",
        facts=replace(IDLE, error_patterns=("error: no such file",)),
    ),
    Row(
        setting="breaker.failing_tests_open",
        when="iterations that report failing tests",
        drawn="failing tests in {n}",
        facts=replace(IDLE, tests_status="FAILING"),
    ),
    Row(
        setting="breaker.denials_open",
        when="iterations in which a tool was not permitted",
        drawn="a denied tool in {n}",
        facts=replace(IDLE, denied_tools=("Bash",)),
    ),
    Row(
        setting="breaker.refused_completions_open",
        when="refused completions",
        drawn="{n} refused completions",
        facts=replace(IDLE, completion_refused=True),
    ),
    Row(
        setting="breaker.set_aside_open",
        when="tasks set aside",
        drawn="{n} tasks set aside",
        facts=replace(IDLE, set_aside=True),
    ),
    Row(
        setting='on_blocked = "open"',
        when="reports with STATUS BLOCKED",
        drawn="a report of BLOCKED",
        facts=replace(IDLE, blocked_reason="no key"),
    ),
)

WITHOUT = "one without it"

BETWEEN: Mapping[str, BreakerFacts] = {
    "progress": WORK,
    WITHOUT: IDLE,
    "tests that pass": replace(IDLE, tests_status="PASSING"),
    "a task set aside": replace(IDLE, set_aside=True),
    "an agent that cannot tell of denials": replace(IDLE, denied_tools=None),
    "an agent that was cut short": replace(IDLE, cut_short=True, denied_tools=None),
}
"""What may come between two iterations that are counted."""


def breaker_parts() -> dict[str, str]:
    """The parts of the page that are about the breaker, by their names."""
    return {"breaker": _diagram(), "thresholds": _table()}


def config_of(row: Row) -> BreakerConfig:
    """The default settings, with every row switched off but this one."""
    settings = BreakerConfig()
    name = row.setting.removeprefix("breaker.")
    off = {key: 0 for key in type(settings).model_fields if key not in {"enabled", name}}
    return settings.model_copy(update=off)


def moves_after(row: Row, state: BreakerState) -> tuple[int, BreakerState] | None:
    """How many iterations of its kind move the breaker, and where to; None: it never moves."""
    breaker = Breaker(state=state)
    for count in range(1, ENOUGH + 1):
        breaker = count_iteration(breaker, row.facts, config_of(row), NOW)
        if breaker.state is not state:
            return count, breaker.state
    return None


def counts_with_progress(row: Row) -> bool:
    """Whether an iteration of its kind is counted although it made progress."""
    worked = replace(row, facts=replace(row.facts, progress=True))
    return moves_after(worked, BreakerState.CLOSED) is not None


def is_set_back(row: Row, between: BreakerFacts) -> bool:
    """Whether the count begins again after an iteration of the other kind."""
    moved = moves_after(row, BreakerState.CLOSED)
    breaker = Breaker()
    needed = moved[0] if moved else ENOUGH
    for facts in [row.facts] * (needed - 1) + [between, row.facts]:
        breaker = count_iteration(breaker, facts, config_of(row), NOW)
    return breaker.state is BreakerState.CLOSED


def _diagram() -> str:
    closed, half_open, opened = BreakerState.CLOSED, BreakerState.HALF_OPEN, BreakerState.OPEN
    drawn: dict[tuple[BreakerState, BreakerState], list[str]] = {}
    for row in ROWS:
        if (moved := moves_after(row, closed)) is not None:
            drawn.setdefault((closed, moved[1]), []).append(row.drawn.format(n=moved[0]))
    for row in ROWS:
        moved = moves_after(row, half_open)
        words = drawn.setdefault((half_open, opened), [])
        if moved is not None and moved[1] is opened and not words:
            words.append("any row that opens it from CLOSED")
    for state in BreakerState:
        worked = count_iteration(Breaker(state=state), WORK, BreakerConfig(), NOW).state
        if worked is not state:
            drawn.setdefault((state, worked), []).append("progress")
        back = close_by_reset(Breaker(state=state), by="Ada", now=NOW).state
        if back is not state:
            drawn.setdefault((state, back), []).append("a reset by a person")
    return "\n".join(
        [
            "```mermaid",
            "stateDiagram-v2",
            f"    [*] --> {Breaker().state.value}",
            *(
                f"    {before.value} --> {after.value} : {_listed(words)}"
                for (before, after), words in drawn.items()
            ),
            "```",
        ]
    )


def _table() -> str:
    lines = [
        "| consecutive … | how many | setting | leads to | also with progress | set back by |",
        "|---|---|---|---|---|---|",
    ]
    for row in ROWS:
        cells = [row.when, "off", f"`{row.setting}`", "", "", ""]
        if (moved := moves_after(row, BreakerState.CLOSED)) is not None:
            count, state = moved
            cells[1] = "at once" if count == 1 else str(count)
            cells[3] = state.value
            cells[4] = "counts" if counts_with_progress(row) else "no"
            cells[5] = "" if count == 1 else ", ".join(_setting_back(row))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _setting_back(row: Row) -> list[str]:
    found = [words for words, facts in BETWEEN.items() if is_set_back(row, facts)]
    # All the others are without it, too.
    return [WITHOUT] if WITHOUT in found else found


def _listed(words: list[str]) -> str:
    *firsts, last = words
    return f"{', '.join(firsts)} or {last}" if firsts else last
