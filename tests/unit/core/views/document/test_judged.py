"""A judge's verdict in status, summary, panel and hover, and how the user overrules it."""

from __future__ import annotations

from typing import Any

import pytest

from ralph_ls.core.plan.formats.dispatch import accept_edit
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.plan.verification.criterion_checks import (
    describe_check_failures,
    refuted_by_judge,
)
from ralph_ls.core.views.document.controls import controls
from ralph_ls.core.views.document.hover import hover
from ralph_ls.core.views.model.actions import overrule_action
from ralph_ls.core.views.model.document_context import DocumentContext
from ralph_ls.core.views.panel.facts import facts
from ralph_ls.core.views.text.run_end import JUDGE_STEP, next_step, summary_lines
from ralph_ls.core.views.text.status import status_answers
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.lsp.panel import Tone, Verb
from ralph_ls.protocol.run.events import (
    CircuitBreakerStateChange,
    EventBase,
    Judged,
    JudgeOverruled,
    JudgeStarted,
    RunEnded,
)
from ralph_ls.protocol.run.report import JudgeVerdict, RequestedChange, Usage
from ralph_ls.protocol.run.values import Breaker, BreakerState, EndReason, Phase, TaskRef
from tests.unit.core.views.document_contexts import (
    CHOOSE,
    begins,
    ends,
    event,
    phase,
    seen,
    shows,
    started,
    task,
)

WANTS = RequestedChange(file="token.py", reason="it never expires")
REASON = "the judge requested changes 3 times in a row for it: token.py: it never expires"
OPEN = Breaker(state=BreakerState.OPEN, reason=REASON)


def judged(verdict: str = "changesRequested", **fields: Any) -> Judged:
    changes = (WANTS,) if verdict == "changesRequested" else ()
    opened = (task(CHOOSE).id,) if changes else ()
    return event(
        Judged,
        iteration=3,
        start=3,
        verdict=JudgeVerdict(verdict),
        changes=changes,
        reopened=opened,
        tasks=(task(CHOOSE),),
        agent="codex",
        seconds=12.0,
        usage=Usage(input_tokens=900, output_tokens=100, cost_usd=0.25),
        **fields,
    )


WORKS = (started(), begins(3, CHOOSE), phase(Phase.RUNNING), shows(3, files=1, done=(CHOOSE,)))
BETWEEN = (*WORKS, judged(), ends(3), phase(Phase.PREPARING))
STUCK = (
    *WORKS,
    judged(),
    event(
        CircuitBreakerStateChange,
        iteration=3,
        start=3,
        from_state=BreakerState.CLOSED,
        to_state=BreakerState.OPEN,
        reason=REASON,
        breaker=OPEN,
    ),
    ends(3, breaker=OPEN),
    phase(Phase.PARKED, "stuck"),
)


def fact(*events: EventBase) -> tuple[str, Tone, str]:
    (found,) = [one for one in facts(seen(*events)) if one.key == "judge"]
    return found.text, found.tone, found.more


def test_the_panel_shows_the_judge_at_work_then_its_verdict() -> None:
    begun = event(JudgeStarted, iteration=3, start=3, agent="codex", tasks=(task(CHOOSE),))
    title = task(CHOOSE).title
    assert fact(*WORKS, begun) == (f"judging {title} (codex)", Tone.ACTIVE, "")
    text, tone, more = fact(*BETWEEN)
    assert (text, tone) == ("changes requested: token.py: it never expires", Tone.WARNING)
    assert "1 changes requested" in more
    assert "of the run's cost: $0.25, 1k" in more
    assert fact(*WORKS, begun, judged("pass"))[:2] == ("pass", Tone.GOOD)
    assert [one.key for one in facts(seen(*WORKS))].count("judge") == 0


def test_a_long_verdict_is_cut_and_whole_when_expanded() -> None:
    text, tone, more = fact(*WORKS, judged("cannotTell", reason="why " * 60))
    assert text.endswith("…")
    assert tone is Tone.WARNING
    assert "1 not judged" in more


def test_a_verdict_without_usage_has_no_cost() -> None:
    free = judged("pass").model_copy(update={"usage": None})
    assert fact(*WORKS, free)[2] == "1 passed"


def test_the_hover_has_it_beside_claim_and_evidence() -> None:
    text = hover(seen(*BETWEEN), CHOOSE)
    assert text is not None
    assert "- Judge of iteration 3: changes requested: token.py: it never expires" in text
    assert "- Done: in iteration 3" not in text


def test_status_and_summary_have_it() -> None:
    look = seen(*BETWEEN)
    assert look.state is not None
    answers = " ".join(text for _, text in status_answers(look.state, look.phase, pid=1))
    assert "judge: changes requested: token.py: it never expires" in answers
    lines = summary_lines(look.state, "summary.csv")
    assert "Judge:       1 changes requested ($0.25, 1k tokens of that)" in lines
    free = seen(*WORKS, judged("pass").model_copy(update={"usage": None}), ends(3)).state
    assert free is not None
    assert "Judge:       1 passed" in summary_lines(free, "summary.csv")


def test_a_run_that_is_stuck_for_it_names_how_to_overrule_it() -> None:
    look = seen(*STUCK)
    assert look.state is not None
    answers = dict(status_answers(look.state, look.phase, pid=1))
    assert any(text.startswith("ralph overrule, to accept") for text in answers.values())
    end = event(RunEnded, reason=EndReason.STUCK, exit_code=4, message=REASON)
    over = seen(*STUCK, end, pid=None)
    assert over.state is not None
    assert next_step(over.state) == JUDGE_STEP


def offered(look: DocumentContext) -> list[tuple[str, dict[str, object]]]:
    return [
        (one.title, dict(one.arguments))
        for one in controls(look, 0, 0)
        if one.command == Verb.OVERRULE.value
    ]


def test_it_is_offered_as_an_action_until_nothing_is_requested() -> None:
    look = seen(*STUCK)
    assert offered(look) == [("Overrule the judge", {"run": look.state.run if look.state else ""})]
    assert overrule_action(seen(*WORKS)) is None
    overruled = event(JudgeOverruled, by="Ada", tasks=(task(CHOOSE),), start=3, iteration=3)
    assert overrule_action(seen(*STUCK, overruled)) is None
    gone = seen(*STUCK, event(RunEnded, reason=EndReason.STUCK, exit_code=4, message="x"), pid=None)
    made = overrule_action(gone)
    assert made is not None
    assert made.title == "Overrule the judge and continue"
    done = event(RunEnded, reason=EndReason.COMPLETE, exit_code=0, message="done")
    assert overrule_action(seen(*BETWEEN, done, pid=None)) is None


def test_a_task_is_open_again_with_the_judges_words() -> None:
    refuted = refuted_by_judge(TaskRef(id="a", title="a"), "A judge requests changes: x")
    assert refuted.failed
    assert describe_check_failures(refuted) == "A judge requests changes: x"


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        (PlanKind.MARKDOWN, "- [ ] Paint\n", "- [x] Paint\n"),
        (PlanKind.TODO_TXT, "Paint\n", "x Paint\n"),
    ],
)
def test_the_user_closes_it_in_the_plans_own_form(kind: PlanKind, before: str, after: str) -> None:
    from ralph_ls.core.plan.formats.dispatch import parse_plan

    (found,) = parse_plan(before, kind).plan.tasks
    assert accept_edit(kind, found.id)(before) == after


def test_a_plan_that_is_elsewhere_has_no_such_edit() -> None:
    with pytest.raises(RalphError, match="close it where it is kept"):
        accept_edit(PlanKind.BEADS, "bd-1")
