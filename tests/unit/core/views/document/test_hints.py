"""Inlay hints of finished tasks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.parse.lines import lines_of
from ralph_ls.core.views.document.lenses import Hint, hints
from ralph_ls.core.views.model.document_context import FileKind
from tests.unit.core.views.document_contexts import (
    COMMIT,
    PLAN,
    PRINT,
    READ,
    ROUND,
    RUN,
    begins,
    ends,
    seen,
    seen_by_chance,
    shows,
    started,
)

FINISHED = (
    started(),
    begins(1, READ),
    shows(1, files=1, commit=COMMIT, done=(READ,)),
    ends(1),
    begins(2, ROUND),
    shows(2, files=1, done=(ROUND,)),
    ends(2),
)
TICKED = PLAN.replace("- [ ] **Round** half a cent up", "- [x] **Round** half a cent up  ")


def test_a_finished_task_shows_its_iteration_and_its_commit() -> None:
    assert hints(seen(*FINISHED)) == (
        Hint(
            line=READ,
            column=len("- [x] Read the law"),
            text="done in #1 · abc1234",
            tooltip=f"Done in iteration 1, commit {COMMIT}",
            commit=COMMIT,
            arguments={"run": RUN, "start": 1, "commit": COMMIT},
        ),
    )


def test_a_task_that_was_finished_without_a_commit_names_none() -> None:
    _, rounded = hints(seen(*FINISHED, text=TICKED))
    assert (rounded.text, rounded.tooltip) == ("done in #2", "Done in iteration 2")
    assert (rounded.commit, rounded.arguments) == (None, {"run": RUN, "start": 2})


def test_white_space_at_the_end_of_a_line_is_not_waited_for() -> None:
    _, rounded = hints(seen(*FINISHED, text=TICKED))
    assert (rounded.line, rounded.column) == (ROUND, len("- [x] **Round** half a cent up"))


def test_a_task_that_was_opened_again_has_none() -> None:
    assert hints(seen(*FINISHED, text=PLAN.replace("[x] Read", "[ ] Read"))) == ()


def test_a_task_that_the_user_ticked_has_none() -> None:
    ticked = PLAN.replace("- [!] Print", "- [x] Print")
    assert PRINT not in {hint.line for hint in hints(seen(*FINISHED, text=ticked))}


def test_without_a_run_there_are_none() -> None:
    assert hints(seen()) == ()


def test_other_files_have_none() -> None:
    assert hints(seen(*FINISHED, file=FileKind.DECIDE)) == ()


@given(st.data())
def test_each_is_at_the_end_of_a_line_and_they_are_in_order(data: st.DataObject) -> None:
    look = seen_by_chance(data)
    lines = [text for _, text in lines_of(look.text)]
    found = hints(look)
    assert all(0 <= hint.column <= len(lines[hint.line]) for hint in found)
    assert [hint.line for hint in found] == sorted({hint.line for hint in found})
