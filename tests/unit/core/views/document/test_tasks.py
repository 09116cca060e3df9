"""Attempts at a task and tasks set aside, in every view."""

from __future__ import annotations

import pytest

from ralph_ls.core.views.document.diagnostics import diagnostics
from ralph_ls.core.views.document.hover import hover
from ralph_ls.core.views.document.lenses import lenses
from ralph_ls.core.views.model.diagnostic import Diagnostic, Severity
from ralph_ls.core.views.model.document_context import DocumentContext
from ralph_ls.core.views.model.history import history
from ralph_ls.core.views.model.tasks import aside_words, attempt_words, set_aside
from ralph_ls.core.views.panel.facts import facts
from ralph_ls.core.views.panel.rows import plan_rows
from ralph_ls.core.views.text.status import activity_words, progress_words
from ralph_ls.protocol.lsp.panel import Tone
from ralph_ls.protocol.run.events import AttemptCounted, EventBase, TaskSetAside
from ralph_ls.protocol.run.values import Outcome, Phase
from tests.unit.core.views.document_contexts import (
    CHOOSE,
    PLAN,
    RUN,
    begins,
    ends,
    event,
    phase,
    seen,
    started,
    task,
)

STARTED = started(attempts={"limit": 3})
CHOSEN = task(CHOOSE).id
MARKED = PLAN.replace(
    "- [ ] Choose the storage engine", "- [ ] [BLOCKED: no end in sight] Choose the storage engine"
)
DONE = PLAN.replace("- [ ] Choose", "- [x] Choose")


def counted(iteration: int, attempt: int) -> AttemptCounted:
    return event(AttemptCounted, iteration=iteration, task=task(CHOOSE), attempt=attempt, limit=3)


def aside(*, marked: bool = True, attempts: int = 3) -> TaskSetAside:
    return event(
        TaskSetAside,
        iteration=3,
        task=task(CHOOSE),
        attempts=attempts,
        reason="3 attempts\nwithout progress",
        marked=marked,
    )


FAILED = (
    STARTED,
    begins(1, CHOOSE),
    counted(1, 1),
    ends(1, outcome=Outcome.NO_PROGRESS, attempts={CHOSEN: 1}),
)
SECOND = (*FAILED, begins(2, CHOOSE), counted(2, 2), phase(Phase.RUNNING))


def aside_run(*, marked: bool = True, attempts: int = 3) -> tuple[EventBase, ...]:
    told = aside(marked=marked, attempts=attempts)
    failed = {} if marked else {CHOSEN: 3}
    return (*SECOND, ends(2), begins(3, CHOOSE), told, ends(3, attempts=failed))


def words(look: DocumentContext) -> str:
    (row,) = [
        row for row in plan_rows(look, uri="file:///p", path="p").tasks if row.line == CHOOSE + 1
    ]
    return row.words


def lens_titles(look: DocumentContext) -> list[str]:
    return [lens.title for lens in lenses(look) if lens.line == CHOOSE]


def on_task(look: DocumentContext) -> list[Diagnostic]:
    return [one for one in diagnostics(look) if one.line == CHOOSE]


class TestAttempts:
    def test_the_one_in_work_says_which_of_how_many(self) -> None:
        look = seen(*SECOND)
        assert look.state is not None
        assert attempt_words(look.state) == "attempt 2 of 3"
        assert words(look) == "attempt 2 of 3"
        assert lens_titles(look) == ["Run only this task", "attempt 2 of 3"]
        assert "in progress in iteration 2, attempt 2 of 3" in (hover(look, CHOOSE) or "")
        assert (
            activity_words(look.state, look.phase) == "Choose the storage engine (attempt 2 of 3)"
        )
        assert progress_words(look.state, look.phase).endswith(
            " · Choose the storage engine · attempt 2 of 3"
        )

    def test_afterwards_those_that_failed_are_counted(self) -> None:
        look = seen(*FAILED)
        assert words(look) == "1 of 3 attempts failed"
        assert lens_titles(look)[1:] == ["1 of 3 attempts failed"]
        assert "- Tried: 1 attempt (iteration 1), 1 of 3 attempts failed" in (
            hover(look, CHOOSE) or ""
        )

    def test_one_that_was_given_back_is_only_an_iteration(self) -> None:
        look = seen(STARTED, begins(1, CHOOSE), counted(1, 1), ends(1, outcome=Outcome.LIMITED))
        assert words(look) == "1 attempt"

    @pytest.mark.parametrize(
        "events",
        [
            pytest.param((STARTED, begins(1, CHOOSE)), id="not-told-yet"),
            pytest.param((STARTED, begins(1, None)), id="confirming"),
            pytest.param((started(), begins(1, CHOOSE), counted(1, 1)), id="switched-off-since"),
            pytest.param((STARTED,), id="before-the-first"),
        ],
    )
    def test_where_none_is_counted_none_is_reported(self, events: tuple[EventBase, ...]) -> None:
        state = seen(*events).state
        assert state is not None
        assert attempt_words(state) == ""

    def test_a_plan_without_a_run_knows_none(self) -> None:
        assert words(seen()) == ""


class TestSetAside:
    def test_one_that_the_plan_marks_says_why_and_how_to_undo_it(self) -> None:
        look = seen(*aside_run(), text=MARKED)
        (remark,) = on_task(look)
        assert (remark.severity, remark.code) == (Severity.WARNING, "task-set-aside")
        assert remark.link == "start:3:3"
        assert remark.message == (
            "set aside after 3 attempts: 3 attempts without progress; the plan marks it as "
            "blocked; remove the mark to try it again"
        )
        said = "set aside after 3 attempts: 3 attempts without progress"
        assert words(look) == said
        assert lens_titles(look) == [said]
        (lens,) = [lens for lens in lenses(look) if lens.line == CHOOSE]
        assert (lens.command.value, lens.arguments) == ("showLog", {"run": RUN, "start": 3})
        assert (
            "- Set aside: in iteration 3 after 3 attempts: 3 attempts without progress"
            in (hover(look, CHOOSE) or "").splitlines()
        )

    def test_one_that_is_only_passed_over_says_so(self) -> None:
        look = seen(*aside_run(marked=False))
        (remark,) = on_task(look)
        assert remark.message.endswith("; skipped for the rest of this run")
        assert lens_titles(look)[0] == "Run only this task"
        assert lens_titles(look)[1].startswith("set aside after 3 attempts: ")
        assert "without progress; skipped for the rest of this run" in (hover(look, CHOOSE) or "")

    def test_one_that_reported_blocked_has_no_attempts_to_show(self) -> None:
        assert aside_words(aside(attempts=0)) == "set aside: 3 attempts without progress"
        look = seen(*aside_run(attempts=0), text=MARKED)
        assert on_task(look)[0].message.startswith("set aside: 3 attempts")
        assert "- Set aside: in iteration 3: 3 attempts" in (hover(look, CHOOSE) or "")

    def test_the_panel_has_a_line_for_all_of_them(self) -> None:
        (line,) = [fact for fact in facts(seen(*aside_run(), text=MARKED)) if fact.key == "aside"]
        assert (line.heading, line.text, line.tone) == ("Set aside", "1 task", Tone.WARNING)
        assert line.more == (
            "Choose the storage engine: set aside after 3 attempts: 3 attempts without progress"
        )

    @pytest.mark.parametrize(
        ("marked", "text"),
        [
            pytest.param(True, PLAN, id="a-person-took-the-mark-away"),
            pytest.param(True, DONE, id="done"),
            pytest.param(False, DONE, id="passed-over-and-done"),
            pytest.param(True, "# Plan\n", id="taken-out-of-the-plan"),
        ],
    )
    def test_what_the_plan_says_since_then_counts(self, *, marked: bool, text: str) -> None:
        look = seen(*aside_run(marked=marked), text=text)
        assert not any(one.code == "task-set-aside" for one in diagnostics(look))
        assert not any(fact.key == "aside" for fact in facts(look))
        assert not any(lens.title.startswith("set aside") for lens in lenses(look))

    def test_one_that_is_tried_again_is_set_aside_no_more(self) -> None:
        look = seen(*aside_run(marked=False), begins(4, CHOOSE))
        assert look.history.set_aside == {}
        assert set_aside(look, look.plan.tasks[2]) is None

    def test_the_next_run_knows_nothing_of_it(self) -> None:
        assert history((*aside_run(), STARTED)).set_aside == {}
