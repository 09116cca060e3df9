"""Warnings of the loop at the task of their iteration."""

from __future__ import annotations

import pytest

from ralph_ls.core.views.document.diagnostics import diagnostics
from ralph_ls.core.views.model.diagnostic import Severity
from ralph_ls.protocol.run.events import EventBase, RunEnded, Warned
from tests.unit.core.views.document_contexts import CHOOSE, ROUND, begins, ends, event, seen
from tests.unit.core.views.run_situations import WORKS

SEVERITIES = {
    "asked-without-signal": Severity.INFORMATION,
    "completion-not-gate": Severity.INFORMATION,
    "person-committed": Severity.INFORMATION,
    "restoration-not-committed": Severity.WARNING,
}
TOLD = list(SEVERITIES)


def warned(code: str, iteration: int | None = 3) -> Warned:
    return event(Warned, iteration=iteration, code=code, message="so it\x07 is")


def found(*events: EventBase, code: str) -> list[tuple[int, Severity, str, str | None]]:
    return [
        (one.line, one.severity, one.message, one.link)
        for one in diagnostics(seen(*WORKS, *events))
        if one.code == code
    ]


@pytest.mark.parametrize("code", TOLD)
def test_what_is_shown_nowhere_else_is_at_its_task(code: str) -> None:
    expected = [(CHOOSE, SEVERITIES[code], "so it\\x07 is", "start:3:3")]
    assert found(warned(code), code=code) == expected
    assert found(warned(code), ends(3), code=code) == expected
    assert found(warned(code), ends(3), begins(4, ROUND), code=code) == expected


@pytest.mark.parametrize("code", TOLD)
def test_a_later_iteration_has_settled_it(code: str) -> None:
    assert found(warned(code), ends(3), begins(4, ROUND), ends(4), code=code) == []


@pytest.mark.parametrize("code", ["logs-removed", "report-missing", "error-repeating"])
def test_other_warnings_are_reported_once_and_not_shown(code: str) -> None:
    assert found(warned(code), code=code) == []


def test_one_that_belongs_to_no_iteration_has_no_place() -> None:
    assert found(warned(TOLD[0], None), code=TOLD[0]) == []


@pytest.mark.parametrize("code", ["disk-low", "detached-head", "main-branch", "dirty-tree"])
def test_what_surrounds_a_run_is_above_its_plan_while_it_lasts(code: str) -> None:
    [(line, severity, message, link)] = found(warned(code, None), code=code)
    assert (line, severity, message, link) == (0, Severity.HINT, "so it\\x07 is", None)
    ended = event(RunEnded, reason="limit", exit_code=1, message="done")
    assert found(warned(code, None), ended, code=code) == []
