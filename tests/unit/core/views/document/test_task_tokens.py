"""Task tokens: how each task of a plan looks."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.loop.inputs import HaltFiles
from ralph_ls.core.plan.formats.dispatch import parse_plan
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.views.document import task_tokens as views
from ralph_ls.core.views.document.task_tokens import TaskLook, task_tokens
from ralph_ls.core.views.model.document_context import DocumentContext
from ralph_ls.protocol.run.events import BlockedRaised, QuestionAsked
from ralph_ls.protocol.run.values import Phase
from tests.unit.core.views.document_contexts import (
    CHOOSE,
    NOON,
    PAY,
    PLAN,
    PRINT,
    READ,
    begins,
    event,
    phase,
    seen,
    seen_by_chance,
    started,
)

BY_THE_PLAN = {READ: TaskLook.DONE, PAY: TaskLook.BLOCKED, PRINT: TaskLook.BLOCKED}


def looks(context: DocumentContext) -> dict[int, TaskLook]:
    return {one.span.line: one.look for one in task_tokens(context)}


def test_without_a_run_the_plan_alone_decides() -> None:
    assert looks(seen()) == BY_THE_PLAN
    (first, *_) = task_tokens(seen())
    line = PLAN.splitlines()[first.span.line]
    assert line[first.span.start : first.span.end] == "Read the law"


def test_the_task_in_work_looks_so_while_an_engine_lives() -> None:
    works = (started(), begins(1, CHOOSE), phase(Phase.RUNNING))
    assert looks(seen(*works)) == {**BY_THE_PLAN, CHOOSE: TaskLook.CURRENT}
    assert looks(seen(*works, pid=None)) == BY_THE_PLAN


def test_what_waits_for_the_user_comes_first() -> None:
    begun = (started(), begins(1, CHOOSE))
    asked = event(QuestionAsked, iteration=1, question="which?", path="d", asked_at=NOON)
    raised = event(BlockedRaised, iteration=1, reason="no keys", path="b")
    asks = seen(*begun, asked, halt=HaltFiles(question="which?"))
    assert looks(asks)[CHOOSE] is TaskLook.ASKS
    blocked = seen(*begun, raised, halt=HaltFiles(blocked="no keys"))
    assert looks(blocked)[CHOOSE] is TaskLook.BLOCKED


def test_a_skipped_task_and_one_without_a_title() -> None:
    text = "- [-] Leave\n- [x]\n- [x] Done\n"
    parsed = parse_plan(text, PlanKind.MARKDOWN)
    found = looks(DocumentContext(text=text, parsed=parsed))
    assert found.get(0, TaskLook.SKIPPED) is TaskLook.SKIPPED
    assert found[2] is TaskLook.DONE
    assert 1 not in found


def test_a_long_plan_has_its_first_tasks_coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "MAX_TOKENS", 2)
    assert len(task_tokens(seen())) == 2


@given(st.data())
def test_tokens_never_overlap_and_are_within_their_lines(data: st.DataObject) -> None:
    context = seen_by_chance(data)
    found = task_tokens(context)
    for one, after in pairwise(found):
        assert (one.span.line, one.span.end) <= (after.span.line, after.span.start) or (
            one.span.line < after.span.line
        )
    assert all(one.span.end > one.span.start >= 0 for one in found)
