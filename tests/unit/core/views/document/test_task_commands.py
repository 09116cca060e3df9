"""Tasks that the user skipped or reset, and iterations that can be rolled back."""

from __future__ import annotations

from typing import Any

import pytest

from ralph_ls.core.views.document.hover import hover
from ralph_ls.core.views.document.lenses import lenses
from ralph_ls.core.views.model.history import history
from ralph_ls.core.views.panel.panel import panel
from ralph_ls.core.views.panel.rows import iteration_rows, plan_rows, with_roll_back
from ralph_ls.protocol.lsp.panel import IterationRow
from ralph_ls.protocol.run.events import CommandAccepted, RunEnded
from ralph_ls.protocol.run.values import EndReason, Outcome
from tests.unit.core.views.document_contexts import (
    COMMIT,
    READ,
    ROUND,
    begins,
    ends,
    event,
    seen,
    shows,
    started,
    task,
)


def order(kind: str, line: int = ROUND) -> CommandAccepted:
    return event(
        CommandAccepted,
        command="command-0001",
        command_kind=kind,
        by="Ada",
        task=task(line).id,
    )


def row_of(*events: Any, line: int = ROUND) -> Any:
    rows = plan_rows(seen(*events), uri="file:///plan", path="plan").tasks
    return next(row for row in rows if row.line == line + 1)


class TestSkipped:
    def test_its_row_hover_and_lens_say_so(self) -> None:
        look = seen(started(), order("skip"))
        row = row_of(started(), order("skip"))
        assert (row.skipped, row.words) == (True, "skipped in this run")
        titles = [lens.title for lens in lenses(look) if lens.line == ROUND]
        assert titles == ["Run only this task", "skipped in this run"]
        shown = hover(look, ROUND)
        assert shown is not None
        assert "- Skipped in this run" in str(shown)

    def test_a_task_that_is_done_says_only_that(self) -> None:
        row = row_of(started(), order("skip", READ), line=READ)
        assert (row.skipped, row.words) == (True, "")
        look = seen(started(), order("skip", READ))
        assert [lens for lens in lenses(look) if lens.line == READ] == []

    def test_a_run_that_has_ended_skips_nothing_any_more(self) -> None:
        over = event(RunEnded, reason=EndReason.LIMIT, exit_code=1, message="used up")
        row = row_of(started(), order("skip"), over)
        assert (row.skipped, row.words) == (False, "")

    def test_a_reset_takes_it_back_and_the_attempts_too(self) -> None:
        tried = (started(), begins(1, ROUND), shows(1), ends(1), order("skip"))
        assert row_of(*tried).attempts == 1
        row = row_of(*tried, order("resetTask"))
        assert (row.skipped, row.attempts, row.iteration, row.words) == (False, 0, None, "")
        assert history([*tried, order("resetTask")]).attempts == {}


class TestRollBack:
    def test_a_row_says_whether_its_beginning_is_known(self) -> None:
        (row,) = iteration_rows([started(), begins(1, ROUND)]).rows
        assert (row.changes, row.can_roll_back) == (True, False)
        (torn,) = iteration_rows([ends(1)]).rows
        assert not torn.changes

    @pytest.mark.parametrize("live", [True, False])
    def test_it_is_offered_where_something_was_committed_and_no_engine_works(
        self, *, live: bool
    ) -> None:
        def row(number: int, **fields: Any) -> IterationRow:
            known = {"changes": True, "outcome": Outcome.PROGRESS, **fields}
            return IterationRow(iteration=number, start=number, **known)

        rows = (
            row(5, outcome=None),
            row(4),
            row(3, commit=COMMIT),
            row(2),
            row(1, changes=False),
        )
        marked = with_roll_back(rows, live=live)
        assert [one.can_roll_back for one in marked] == [False, False, not live, not live, False]

    def test_the_panel_offers_it(self) -> None:
        events = [started(), begins(1, ROUND), shows(1, files=1, commit=COMMIT), ends(1)]
        rows = iteration_rows(events).rows
        over = event(RunEnded, reason=EndReason.LIMIT, exit_code=1, message="used up")
        assert [row.can_roll_back for row in panel(seen(*events, over), rows).rows] == [True]
        assert [row.can_roll_back for row in panel(seen(*events), rows).rows] == [False]
