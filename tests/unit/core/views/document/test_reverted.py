"""Reverted edits: where they are shown, and how the user keeps them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.views.document.diagnostics import diagnostics
from ralph_ls.core.views.document.quick_fixes import (
    REOPEN_CODE,
    REVERTED_CODE,
    all_reverted_edits,
    keep_reverted_edit,
    keep_title,
    renamed_finishes,
    reopen_removed_task,
    reopen_title,
)
from ralph_ls.core.views.model.diagnostic import DiagnosticCode, Severity
from ralph_ls.core.views.model.document_context import DocumentContext
from ralph_ls.protocol.run.events import GuardReverted, Warned
from ralph_ls.protocol.run.values import RemovedTask, TaskRef
from tests.unit.core.views.document_contexts import (
    CHOOSE,
    LETTER,
    PLAN,
    ROUND,
    begins,
    ends,
    event,
    seen,
    started,
    task,
)

WORKS = (started(), begins(1, CHOOSE))


def reverted(what: str, *lines: int, path: str = "@fix_plan.md") -> GuardReverted:
    tasks = tuple(task(line) for line in lines)
    told = {"what": what, "path": path, "tasks": tasks, "n_tasks": len(tasks)}
    return event(GuardReverted, iteration=1, kept="reverted/001-1-plan", **told)


def test_each_task_has_its_place_and_its_action() -> None:
    look = seen(*WORKS, reverted("dropped", LETTER, ROUND), reverted("skipped", CHOOSE))
    found = all_reverted_edits(look)
    assert [one.span.line for one in found] == [LETTER, ROUND, CHOOSE]
    assert [keep_title(one) for one in found] == [
        "Keep it dropped: Write the letter",
        "Keep it dropped: Round half a cent up",
        "Keep it marked as skipped: Choose the storage engine",
    ]
    assert REVERTED_CODE == DiagnosticCode.GUARD_REVERTED


def test_a_task_that_is_not_in_the_plan_any_more_has_no_place() -> None:
    gone = task(ROUND).model_copy(update={"id": "gone"})
    told = reverted("dropped", LETTER, ROUND)
    look = seen(*WORKS, told.model_copy(update={"tasks": (told.tasks[0], gone)}))
    assert [one.span.line for one in all_reverted_edits(look)] == [LETTER]
    look = seen(*WORKS, told.model_copy(update={"tasks": (gone,)}))
    assert [one.task for one in all_reverted_edits(look)] == [None]


def test_what_was_reverted_in_an_earlier_iteration_is_over() -> None:
    look = seen(*WORKS, reverted("dropped", LETTER), ends(1), begins(2, ROUND), ends(2))
    assert all_reverted_edits(look) == ()


def test_without_a_run_there_is_nothing() -> None:
    assert all_reverted_edits(DocumentContext(text=PLAN)) == ()


def test_the_agents_version_is_kept() -> None:
    letter, choose, cents = all_reverted_edits(
        seen(*WORKS, *(reverted(what, line) for what, line in (
            ("dropped", LETTER), ("skipped", CHOOSE), ("criteria", ROUND)
        )))
    )  # fmt: skip
    assert keep_reverted_edit(letter, PLAN, None).text == PLAN.replace(
        "- [ ] Write the letter\n", ""
    )
    skipped = PLAN.replace("[ ] Choose", "[-] Choose")
    assert keep_reverted_edit(choose, PLAN, skipped).text == skipped
    other = PLAN.replace("every total is right", "all is well")
    assert keep_reverted_edit(cents, PLAN, other).text == other


@pytest.mark.parametrize(
    ("what", "lines", "agents", "refusal"),
    [
        ("changed", (), PLAN, "change @fix_plan.md yourself"),
        ("review", (ROUND,), PLAN, "change @fix_plan.md yourself"),
        ("dropped", (), PLAN, "no longer in the plan"),
        ("skipped", (CHOOSE,), None, "was deleted"),
        ("criteria", (ROUND,), "[redacted token]", "contained a secret"),
    ],
)
def test_what_cannot_be_kept_is_reported(
    what: str, lines: tuple[int, ...], agents: str | None, refusal: str
) -> None:
    (one,) = all_reverted_edits(seen(*WORKS, reverted(what, *lines)))
    assert refusal in keep_reverted_edit(one, PLAN, agents).refusal
    assert keep_title(one).startswith("Keep ")


def test_a_task_that_was_finished_under_other_words_can_be_reopened() -> None:
    gone = RemovedTask(task=TaskRef(id="Z-1", title="Ship"), text="- [ ] Z-1: Ship")
    told = event(Warned, iteration=1, code=REOPEN_CODE, message="it left", removed=gone)
    look = seen(*WORKS, told, ends(1))
    assert [one.removed for one in renamed_finishes(look)] == [gone]
    assert reopen_title(gone) == "Reopen Ship"
    reopened = reopen_removed_task(gone, PLAN).text
    assert reopened.replace("\n\n- [ ] Z-1: Ship", "") == PLAN
    (shown,) = [one for one in diagnostics(look) if one.code == REOPEN_CODE]
    assert (shown.severity, shown.line) == (Severity.INFORMATION, CHOOSE)
    again = replace(look, text=reopened, parsed=parse_markdown(reopened))
    assert REOPEN_CODE not in [one.code for one in diagnostics(again)]
    assert renamed_finishes(DocumentContext(text=PLAN)) == renamed_finishes(seen(*WORKS)) == ()
    assert REOPEN_CODE == DiagnosticCode.FINISHED_IN_OTHER_WORDS
