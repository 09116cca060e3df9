"""What is shown of the commands that closed tasks name."""

from __future__ import annotations

from typing import Any

import pytest

from ralph_ls.core.views.document.diagnostics import diagnostics
from ralph_ls.core.views.model.diagnostic import Severity
from ralph_ls.core.views.model.history import history
from ralph_ls.core.views.panel.facts import facts
from ralph_ls.core.views.text.event_lines import event_line
from ralph_ls.core.views.text.event_weights import Weight
from ralph_ls.protocol.lsp.panel import Tone
from ralph_ls.protocol.run.events import CommandAccepted, CriteriaVerified
from tests.unit.core.views.document_contexts import CHOOSE, READ, begins, ends, event, seen, task
from tests.unit.core.views.run_situations import WORKS

FAILED = {"criterion": "It holds", "command": "make test", "exit_code": 2, "tail": "1\n2\n"}
FINE = {"criterion": "It is round", "command": "make round", "exit_code": 0}
NOT_RUN = {"criterion": "It is", "command": "touch it", "not_run": "it was never allowed"}


TITLE = "Choose the storage engine"


def verified(line: int, *checks: dict[str, Any], iteration: int = 3) -> CriteriaVerified:
    return event(
        CriteriaVerified,
        iteration=iteration,
        task=task(line),
        ok=all(one.get("exit_code") == 0 for one in checks),
        reopened=FAILED in checks,
        checks=checks,
    )


@pytest.mark.parametrize(
    ("checks", "text", "weight"),
    [
        (
            [FINE, {**FINE, "criterion": "B"}],
            f"Verified: {TITLE} (2 commands ended with 0)",
            Weight.GOOD,
        ),
        (
            [FINE, FAILED],
            f"{TITLE}: Verification failed: It holds (make test - exit 2)\n  1\n  2",
            Weight.WARNING,
        ),
        (
            [FINE, NOT_RUN],
            f"Not verified: {TITLE}: 1 command not run (touch it): it was never allowed",
            Weight.WARNING,
        ),
    ],
    ids=["held", "refuted", "not-run"],
)
def test_a_line_says_what_came_of_it(
    checks: list[dict[str, Any]], text: str, weight: Weight
) -> None:
    line = event_line(verified(CHOOSE, *checks))
    assert line is not None
    assert (line.text, line.weight) == (text, weight)


def test_a_refuted_task_has_a_diagnostic_and_a_fact_until_it_is_done() -> None:
    look = seen(*WORKS, verified(CHOOSE, FAILED), ends(3), begins(4, CHOOSE))
    (one,) = [one for one in diagnostics(look) if one.code == "verification-failed"]
    assert (one.line, one.severity, one.link) == (CHOOSE, Severity.WARNING, "start:3:3")
    assert one.message == (
        "closed in iteration 3: Choose the storage engine: Verification failed: It holds "
        "(make test - exit 2)"
    )
    (fact,) = [fact for fact in facts(look) if fact.key == "verified"]
    assert (fact.text, fact.tone) == ("1 task failed verification", Tone.WARNING)
    assert fact.more.startswith("Choose the storage engine: Verification failed")


@pytest.mark.parametrize(
    "told",
    [
        pytest.param((verified(READ, FAILED),), id="done by now"),
        pytest.param((verified(CHOOSE, FAILED), verified(CHOOSE, FINE, iteration=4)), id="held"),
        pytest.param((verified(CHOOSE, NOT_RUN),), id="not run"),
        pytest.param((), id="never closed"),
    ],
)
def test_nothing_is_shown_of_what_holds_or_was_not_run(told: tuple[CriteriaVerified, ...]) -> None:
    look = seen(*WORKS, *told)
    assert "verification-failed" not in {one.code for one in diagnostics(look)}
    assert "verified" not in {fact.key for fact in facts(look)}


def test_the_user_who_resets_the_task_knows_of_it() -> None:
    reset = event(
        CommandAccepted,
        command="c-1",
        command_kind="resetTask",
        by="you",
        text="tried again",
        task=task(CHOOSE).id,
    )
    assert history([verified(CHOOSE, FAILED)]).verified
    assert not history([verified(CHOOSE, FAILED), reset]).verified
