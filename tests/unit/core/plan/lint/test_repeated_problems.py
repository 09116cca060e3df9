"""Repeated problems: of more than three with one code only the first is shown, with a count."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.lint.remarks import group_problems
from ralph_ls.protocol.plan import PlanProblem


def problem(code: str, line: int) -> PlanProblem:
    return PlanProblem(code=code, message=f"{code} of {line}", line=line)


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        pytest.param([], [], id="none"),
        pytest.param([("a", 1), ("b", 2), ("a", 3), ("a", 4)],
                     [(0, "a of 1"), (1, "b of 2"), (2, "a of 3"), (3, "a of 4")], id="few"),
        pytest.param([("a", 1), ("b", 2), ("a", 3), ("a", 4), ("a", 5)],
                     [(0, "a of 1 (4 like this, on lines 1, 3, 4, 5)"), (1, "b of 2")], id="many"),
        pytest.param([("a", nth) for nth in range(1, 11)],
                     [(0, "a of 1 (10 like this, on lines 1, 2, 3, 4, 5, 6, 7, 8 and 2 more)")],
                     id="more-lines-than-are-shown"),
        pytest.param([("a", 1)] * 4, [(0, "a of 1 (4 like this)")], id="without-lines"),
    ],
)  # fmt: skip
def test_a_cause_is_one_problem(given: list[tuple[str, int]], shown: list[tuple[int, str]]) -> None:
    found = group_problems([problem(*one) for one in given])
    assert [(index, one.message) for index, one in found] == shown
    assert all(one.line == given[index][1] for index, one in found)
