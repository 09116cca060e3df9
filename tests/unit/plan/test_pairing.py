"""Which task is which in two versions of a plan, where one of them left for PROGRESS.md."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.comparing.pairing import told_as_finished
from ralph_ls.core.plan.markdown import parse

PLAN = "- [ ] A\n- [ ] Write the letter to the bank (specs/letter.md)\n- [x] Read the law\n"
LEFT = "- [ ] A\n"


@pytest.mark.parametrize(
    ("after", "told", "finished"),
    [
        pytest.param(LEFT, "- [x] Write the letter to the bank", ["letter"], id="its words"),
        pytest.param(LEFT, "- Letter to the bank: written, abc1234", ["letter"], id="others"),
        pytest.param(LEFT, "- [x] Something of a letter", [], id="too little of it"),
        pytest.param(LEFT, "- [x] Read the law", [], id="was finished before"),
        pytest.param(LEFT, " \n", [], id="nothing is told"),
        pytest.param(PLAN, "- [x] Write the letter to the bank", [], id="still there"),
        pytest.param("", "- A\n- Write the letter to the bank", ["A", "letter"], id="all"),
    ],
)
def test_what_left_the_plan_and_is_told_was_finished(
    after: str, told: str, finished: list[str]
) -> None:
    before = parse(PLAN).plan
    ids = told_as_finished(before, parse(after).plan, told)
    titles = {task.id: task.title for task in before.tasks}
    assert len(ids) == len(finished)
    assert all(word in titles[one] for one, word in zip(ids, finished, strict=True))
