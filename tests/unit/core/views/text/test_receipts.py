"""Receipts in words."""

from __future__ import annotations

from typing import Any

import pytest

from ralph_ls.core.loop.rules.receipts import finished_receipts
from ralph_ls.core.views.text.receipts import receipt_lines, receipt_words
from ralph_ls.protocol.run.state import RunState, TaskReceipt
from ralph_ls.protocol.run.values import TaskRef


def receipt(name: str = "a", **fields: Any) -> TaskReceipt:
    known = {"done": True, "start": 1, "attempts": 1, "iterations": 1, "seconds": 62.0}
    return TaskReceipt(task=TaskRef(id=name, title=f"Write {name}"), **{**known, **fields})


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "1 iteration, 1m 2s (agent 0s)"),
        ({"attempts": 3}, "1 iteration (3 attempts), 1m 2s (agent 0s)"),
        ({"attempts": 0, "retries": 1}, "1 iteration (1 retry), 1m 2s (agent 0s)"),
        (
            {"attempts": 2, "retries": 2, "agent_seconds": 9.0},
            "1 iteration (2 attempts, 2 retries), 1m 2s (agent 9s)",
        ),
        (
            {"tokens": 31_000, "cost_usd": 0.42, "estimated": True},
            "1 iteration, 1m 2s (agent 0s), 31k tokens, ≈$0.42",
        ),
        (
            {"validations": 2, "failed_validations": 1},
            "1 iteration, 1m 2s (agent 0s), 2 validation runs (1 failed)",
        ),
        ({"validations": 1}, "1 iteration, 1m 2s (agent 0s), 1 validation run"),
        (
            {"iterations": 0, "within": TaskRef(id="b", title="Write b\x1b")},
            "together with “Write b\\x1b”, whose receipt has the iteration",
        ),
    ],
)
def test_what_a_task_took(fields: dict[str, Any], words: str) -> None:
    assert receipt_words(receipt(**fields)) == words


def state(*receipts: TaskReceipt) -> RunState:
    return RunState(receipts={one.task.id: one for one in receipts})


def test_a_summary_lists_the_finished_tasks_in_their_order() -> None:
    run = state(receipt("b", start=2), receipt("open", done=False), receipt("a", start=1))
    assert [one.task.id for one in finished_receipts(run)] == ["a", "b"]
    assert receipt_lines(run) == [
        "Cost of each finished task:",
        "  Write a: 1 iteration, 1m 2s (agent 0s)",
        "  Write b: 1 iteration, 1m 2s (agent 0s)",
    ]


def test_a_summary_without_a_finished_task_has_no_section() -> None:
    assert receipt_lines(state(receipt(done=False))) == []


def test_a_long_summary_shows_the_newest() -> None:
    lines = receipt_lines(state(*(receipt(f"{n:02}", start=n) for n in range(1, 13))))
    assert (len(lines), lines[1]) == (12, "  … 2 more before: ralph runs")
    assert lines[-1].startswith("  Write 12:")
