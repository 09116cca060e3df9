from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.loop.inputs import HaltFiles
from ralph_ls.core.plan.parse.lines import lines_of
from ralph_ls.core.views.document.diagnostics import diagnostics
from ralph_ls.core.views.model.actions import user_actions
from ralph_ls.core.views.model.diagnostic import Diagnostic, Severity, most_severe
from ralph_ls.core.views.model.document_context import DocumentContext, FileKind, document_positions
from ralph_ls.core.views.model.history import History
from ralph_ls.protocol.lsp.panel import Verb
from ralph_ls.protocol.run.events import (
    BlockedRaised,
    BlockedResolved,
    CompletionRefused,
    EventBase,
    GuardReverted,
    QuestionAnswered,
    QuestionAsked,
    RolledBack,
    Validated,
)
from ralph_ls.protocol.run.values import Breaker, BreakerState, Phase
from tests.unit.core.plan.plan_assertions import PLANS
from tests.unit.core.views.document_contexts import (
    CHOOSE,
    COMMIT,
    LETTER,
    NOON,
    PAY,
    PLAN,
    PRINT,
    READ,
    ROUND,
    begins,
    ends,
    event,
    phase,
    reports,
    seen,
    seen_by_chance,
    shows,
    started,
    task,
)
from tests.unit.core.views.run_states import iteration_ended, iteration_started, run_started

OWN = {"task-blocked"}
"""What the plan of these tests has anyway."""

ASKED = event(
    QuestionAsked, iteration=3, question="a or b?", path=".ralph/decide.txt", asked_at=NOON
)
RAISED = event(BlockedRaised, iteration=3, reason="no keys", path=".ralph/blocked.txt")
WORKS = (started(), begins(3, CHOOSE), phase(Phase.RUNNING))


def found(look: DocumentContext) -> list[Diagnostic]:
    return [one for one in diagnostics(look) if one.code not in OWN]


def only(look: DocumentContext, code: str) -> Diagnostic:
    (one,) = [one for one in diagnostics(look) if one.code == code]
    return one


def codes(look: DocumentContext) -> list[str]:
    return [one.code for one in found(look)]


def marked(look: DocumentContext, one: Diagnostic) -> str:
    """The text that a diagnostic is shown below."""
    return look.text.splitlines()[one.line][one.start : one.end]


def test_a_plan_without_a_run_shows_only_its_own_blocked_tasks() -> None:
    look = seen()
    assert [(one.line, one.severity, one.code, one.message) for one in diagnostics(look)] == [
        (PAY, Severity.ERROR, "task-blocked", "blocked: no keys"),
        (PRINT, Severity.ERROR, "task-blocked", "blocked: the plan gives no reason"),
    ]
    assert marked(look, diagnostics(look)[0]) == "[BLOCKED: no keys] Pay by card"


def test_a_run_that_only_works_adds_nothing() -> None:
    assert found(seen(*WORKS)) == []


@pytest.mark.parametrize(
    ("status", "severity"),
    [
        pytest.param("IN_PROGRESS", Severity.HINT, id="in-progress"),
        pytest.param("COMPLETE", Severity.HINT, id="complete"),
        pytest.param("BLOCKED", Severity.ERROR, id="blocked"),
        pytest.param("NEEDS_CLARIFICATION", Severity.WARNING, id="needs-clarification"),
    ],
)
def test_the_last_report_is_at_its_task_with_severity_by_status(
    status: str, severity: Severity
) -> None:
    look = seen(*WORKS, reports(3, STATUS=status), shows(3), ends(3), begins(4, LETTER))
    (one,) = found(look)
    assert (one.line, one.severity, one.code) == (CHOOSE, severity, "report")
    assert one.message.startswith(f"iteration 3 reports {status}")
    assert one.link == "start:3:3"
    assert marked(look, one) == "Choose the storage engine"


def test_a_report_is_shown_beside_what_was_observed() -> None:
    fields = {
        "STATUS": "IN_PROGRESS",
        "FILES_MODIFIED": "5",
        "TASKS_COMPLETED_THIS_LOOP": "1",
        "TESTS_STATUS": "NOT_RUN",
        "CLARIFICATION_QUESTIONS": "which law?",
        "RECOMMENDATION": "read\x1b[2J it",
    }
    look = seen(*WORKS, reports(3, **fields), shows(3, files=4, commit=COMMIT, done=(CHOOSE,)))
    assert only(look, "report").message == (
        "iteration 3 reports IN_PROGRESS, 5 files, 1 task, tests not run; "
        "evidence: 1 commit, 4 files, 1 task; asks: which law?; next: read\\x1b[2J it"
    )


def test_the_evidence_of_another_iteration_is_not_held_against_a_report() -> None:
    look = seen(*WORKS, shows(3), ends(3), begins(4, LETTER), reports(4, FILES_MODIFIED="2"))
    assert [(one.line, one.code) for one in found(look)] == [(LETTER, "report")]
    assert only(look, "report").message == "iteration 4 reports IN_PROGRESS, 2 files"


@pytest.mark.parametrize(
    "line", [pytest.param(None, id="confirming"), pytest.param(READ, id="gone")]
)
def test_without_its_task_a_report_is_on_the_first_line(line: int | None) -> None:
    text = PLAN.replace("- [x] Read the law\n", "")
    look = seen(started(), begins(3, line), reports(3, STATUS="COMPLETE"), text=text)
    one = only(look, "report")
    assert (one.line, marked(look, one)) == (0, "# Invoice")


def test_a_report_of_an_iteration_that_nobody_knows_is_on_the_first_line() -> None:
    assert only(seen(started(), reports(3, STATUS="COMPLETE")), "report").line == 0


def test_a_viewer_without_the_history_still_knows_the_task_in_work() -> None:
    look = replace(seen(*WORKS, reports(3, STATUS="COMPLETE")), history=History())
    assert only(look, "report").line == CHOOSE


@pytest.mark.parametrize(
    ("code", "severity"),
    [
        ("missing-status", Severity.WARNING),
        ("unknown-value", Severity.WARNING),
        ("report-not-final", Severity.WARNING),
        ("missing-field", Severity.INFORMATION),
        ("unknown-field", Severity.INFORMATION),
        ("stray-text", Severity.INFORMATION),
    ],
)
def test_each_problem_of_a_report_is_reported(code: str, severity: Severity) -> None:
    one = only(seen(*WORKS, reports(3, code, "bad-value")), code)
    assert (one.line, one.severity) == (CHOOSE, severity)
    assert one.message == f"the report of iteration 3: {code} it is"


@pytest.mark.parametrize(
    ("missing", "severity", "opening"),
    [
        (1, Severity.INFORMATION, "iteration 3 ended"),
        (2, Severity.INFORMATION, "2 iterations in a row ended"),
        (3, Severity.WARNING, "3 iterations in a row ended"),
    ],
)
def test_a_missing_report_is_a_warning_after_three(
    missing: int, severity: Severity, opening: str
) -> None:
    (one,) = found(seen(*WORKS, ends(3, missing_reports=missing)))
    assert (one.line, one.severity, one.code) == (CHOOSE, severity, "report-missing")
    assert one.message.startswith(opening)


def test_a_claim_that_evidence_contradicts_is_a_warning() -> None:
    look = seen(*WORKS, reports(3, FILES_MODIFIED="5", TESTS_STATUS="FAILING"), shows(3))
    assert codes(look) == ["tests-failing", "claim-without-evidence", "report"]
    one = only(look, "claim-without-evidence")
    assert (one.line, one.severity) == (CHOOSE, Severity.WARNING)
    assert one.message == "the report claims 5 modified files, but there is no evidence of it"
    assert only(look, "tests-failing").severity is Severity.WARNING


def test_a_claim_is_not_held_against_an_older_iteration() -> None:
    look = seen(*WORKS, reports(3, FILES_MODIFIED="5"), begins(4, LETTER), shows(4))
    assert codes(look) == ["report"]


def test_a_tick_with_no_other_change_is_shown_where_it_was_made() -> None:
    gone = shows(3, done=(READ, LETTER))
    ids = (*gone.evidence.tasks_done, "0000dead")
    told = gone.model_copy(
        update={"evidence": gone.evidence.model_copy(update={"tasks_done": ids})}
    )
    look = seen(*WORKS, told)
    assert [(one.line, one.code) for one in found(look)] == [
        (READ, "tick-without-change"),
        (LETTER, "tick-without-change"),
    ]


@pytest.mark.parametrize(
    ("state", "open_at", "severity", "message"),
    [
        pytest.param(
            BreakerState.HALF_OPEN,
            3,
            Severity.WARNING,
            "2 without progress (breaker half-open); it opens at 3",
            id="half-open",
        ),
        pytest.param(
            BreakerState.HALF_OPEN,
            0,
            Severity.WARNING,
            "2 without progress (breaker half-open)",
            id="half-open-for-good",
        ),
        pytest.param(
            BreakerState.OPEN,
            3,
            Severity.ERROR,
            "breaker open: 2 without progress; no iteration runs until you reset it",
            id="open",
        ),
    ],
)
def test_the_breaker_is_on_the_first_line_with_its_reason(
    state: BreakerState, open_at: int, severity: Severity, message: str
) -> None:
    breaker = Breaker(state=state, reason="2 without progress", current_iteration=3)
    start = started(breaker={"no_progress_open": open_at})
    (one,) = found(seen(start, begins(3, CHOOSE), ends(3, breaker=breaker)))
    assert (one.line, one.severity, one.message) == (0, severity, message)
    assert one.code == f"breaker-{state.value.lower().replace('_', '-')}"
    assert one.link == "start:3:3"


def test_a_waiting_question_is_at_its_task() -> None:
    (one,) = found(seen(*WORKS, ASKED))
    assert (one.line, one.severity, one.code) == (CHOOSE, Severity.WARNING, "question-waiting")
    assert (one.message, one.link) == ("iteration 3 asks: a or b?", "file:.ralph/decide.txt")


@pytest.mark.parametrize(
    ("more", "halt"),
    [
        pytest.param([event(QuestionAnswered, question="a or b?", answer="a", by="Ada")], None),
        pytest.param([], HaltFiles(question="a or b?", answer="a")),
    ],
    ids=["told", "in-its-file"],
)
def test_an_answer_closes_the_question(more: list[EventBase], halt: HaltFiles | None) -> None:
    assert found(seen(*WORKS, ASKED, *more, halt=halt)) == []


def test_what_an_earlier_run_left_open_is_on_the_first_line() -> None:
    halt = HaltFiles(question="a or b?", blocked="no keys")
    blocked, asked = found(seen(halt=halt))
    assert (blocked.line, blocked.message) == (0, "the loop is blocked: no keys")
    assert (asked.line, asked.message, asked.link) == (0, "the loop asks: a or b?", None)


def test_a_blocker_is_an_error_at_its_task() -> None:
    (one,) = found(seen(*WORKS, RAISED))
    assert (one.line, one.severity, one.code) == (CHOOSE, Severity.ERROR, "run-blocked")
    assert one.message == "iteration 3 is blocked: no keys"
    assert one.link == "file:.ralph/blocked.txt"


@pytest.mark.parametrize(
    ("more", "halt"),
    [
        pytest.param([event(BlockedResolved, by="Ada")], None, id="told"),
        pytest.param([], HaltFiles(), id="file-removed"),
    ],
)
def test_a_resolved_blocker_is_gone(more: list[EventBase], halt: HaltFiles | None) -> None:
    assert found(seen(*WORKS, RAISED, *more, halt=halt)) == []


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        pytest.param(
            {"exit_code": 2, "tail": "1 failed\n"},
            "failed with exit code 2 after iteration 3:\n1 failed",
        ),
        pytest.param({"timed_out": True}, "timed out after iteration 3"),
    ],
    ids=["failed", "timed-out"],
)
def test_a_failed_validation_is_shown_with_its_last_words(
    fields: dict[str, object], message: str
) -> None:
    (one,) = found(seen(*WORKS, event(Validated, iteration=3, ok=False, **fields)))
    assert (one.line, one.severity) == (CHOOSE, Severity.WARNING)
    assert one.code == "validation-failed"
    assert one.message == f"the validation script {message}"


@pytest.mark.parametrize(
    ("policy", "undone", "words"),
    [
        ("repair", (), "; the next iteration should fix it"),
        ("rollback", ({"ok": True},), "; the iteration was rolled back"),
        (
            "rollback",
            ({"ok": True, "backup": "ralph/backup-1"},),
            "; the iteration was rolled back, and its work is on ralph/backup-1",
        ),
    ],
)
def test_what_becomes_of_work_that_failed_it_is_reported(
    policy: str, undone: tuple[dict[str, object], ...], words: str
) -> None:
    journal = [
        run_started(on_validate_fail=policy),
        iteration_started(number=1),
        event(Validated, iteration=1, ok=False, exit_code=1),
        *(event(RolledBack, iteration=1, **fields) for fields in undone),
        iteration_ended(number=1),
    ]
    message = only(seen(*journal), "validation-failed").message
    assert message == f"the validation script failed with exit code 1 after iteration 1{words}"


def test_a_long_tail_is_cut_at_its_beginning() -> None:
    told = event(Validated, iteration=3, ok=False, exit_code=1, tail="begin" + "x" * 2000 + "end")
    message = only(seen(*WORKS, told), "validation-failed").message
    assert message.endswith("xend")
    assert len(message) < 500


@pytest.mark.parametrize(
    "told",
    [
        pytest.param(event(Validated, iteration=3, ok=True), id="passed"),
        pytest.param(event(Validated, iteration=2, ok=False), id="older"),
        pytest.param(event(CompletionRefused, iteration=2, why="open"), id="older-refusal"),
    ],
)
def test_what_a_later_iteration_has_settled_is_not_shown(told: EventBase) -> None:
    assert found(seen(*WORKS, told, ends(3))) == []


def test_a_refused_completion_is_at_the_first_task_that_is_open() -> None:
    gone = task(READ).model_copy(update={"id": "0000dead", "title": "Gone\nby now"})
    refused = event(
        CompletionRefused,
        iteration=3,
        why="4 required tasks are still open in the plan",
        open_tasks=(gone, task(LETTER), task(ROUND), task(CHOOSE)),
    )
    (one,) = found(seen(*WORKS, refused))
    assert (one.line, one.severity, one.code) == (LETTER, Severity.WARNING, "completion-refused")
    assert one.message == (
        "iteration 3 reported that all is complete; refused: 4 required tasks are still open in "
        "the plan (Gone by now; Write the letter; Round half a cent up; …)"
    )


def test_a_completion_refused_for_no_task_is_on_the_first_line() -> None:
    (one,) = found(seen(*WORKS, event(CompletionRefused, iteration=3, why="too early")))
    assert (one.line, one.message) == (
        0,
        "iteration 3 reported that all is complete; refused: too early",
    )


def test_an_engine_that_is_gone_is_a_warning_with_the_next_step() -> None:
    (one,) = found(seen(*WORKS, phase=Phase.CRASHED, pid=None))
    assert (one.line, one.severity, one.code) == (0, Severity.WARNING, "engine-gone")
    assert one.link == "engine:"
    assert one.message == (
        "the engine of run 20260131T120000Z-0a1b (pid 4711) is gone, last activity at "
        "2026-01-31T12:02:00.000Z; continue with: ralph run --resume"
    )


def test_a_crash_before_the_first_event_has_no_last_word() -> None:
    look = seen(started(), phase=Phase.CRASHED)
    assert look.state is not None
    timeless = replace(look, state=look.state.model_copy(update={"at": None}))
    assert "is gone; continue" in only(timeless, "engine-gone").message


def test_problems_of_the_plan_are_on_their_lines() -> None:
    look = seen(text="# Plan\r\n- [ ]\r\n- [&] What\r\n```\r\n")
    assert [(one.line, one.severity, one.code, marked(look, one)) for one in found(look)] == [
        (1, Severity.HINT, "empty-task", "[ ]"),
        (2, Severity.WARNING, "unknown-box", "[&]"),
        (3, Severity.WARNING, "unclosed-fence", "```"),
    ]


def test_an_empty_plan_is_reported_on_its_only_line() -> None:
    (one,) = found(seen(text=""))
    assert (one.line, one.start, one.end, one.code) == (0, 0, 0, "no-tasks")


def test_the_worst_is_first_on_a_line() -> None:
    look = seen(*WORKS, ASKED, RAISED, reports(3, STATUS="IN_PROGRESS"))
    assert codes(look) == ["run-blocked", "question-waiting", "report"]


def test_one_blocker_is_one_problem() -> None:
    """The agent says it twice, in its report and by a promise; the report opens the breaker."""
    opened = Breaker(
        state=BreakerState.OPEN,
        reason="the agent reports BLOCKED: no keys",
        last_change_at=NOON,
    )
    events = (*WORKS, reports(3, STATUS="BLOCKED"), shows(3), RAISED, ends(3, breaker=opened))
    look = seen(*events, phase(Phase.PARKED, "blocked"))
    problems = [one for one in diagnostics(look) if one.severity is not Severity.HINT]
    assert [one.code for one in problems if one.code not in OWN] == ["run-blocked"]
    at_file = diagnostics(replace(look, file=FileKind.BLOCKED, text="no keys\n"))
    assert [one.severity for one in at_file] == [Severity.HINT]
    assert [one.verb for one in user_actions(look)] == [Verb.RESUME]
    other = reports(3, STATUS="IN_PROGRESS")
    apart = seen(*WORKS, other, shows(3), RAISED, ends(3, breaker=opened))
    assert {"run-blocked", "breaker-open"} <= set(codes(apart))
    assert [one.verb for one in user_actions(apart)] == [Verb.RESUME, Verb.RESET]


DECIDE = "## Question (from iteration 3, 2026-01-31T12:00:00Z)\na or b?\n\n---\n## Answer\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(DECIDE, ["iteration 3 asks: a or b?"], id="open"),
        pytest.param(DECIDE + "a\n", [], id="being-answered"),
        pytest.param("", ["iteration 3 asks: a or b?"], id="emptied"),
    ],
)
def test_the_decide_file_shows_its_question_until_it_is_answered(
    text: str, expected: list[str]
) -> None:
    look = replace(seen(*WORKS, ASKED, RAISED), file=FileKind.DECIDE, text=text)
    told = diagnostics(look)
    assert [one.message for one in told] == expected
    assert all((one.line, one.link) == (0, "start:3:3") for one in told)


def test_a_decide_file_of_an_earlier_run_speaks_for_itself() -> None:
    (one,) = diagnostics(DocumentContext(file=FileKind.DECIDE, text=DECIDE))
    assert (one.message, one.link) == ("the loop asks: a or b?", None)


def test_the_blocked_file_shows_only_the_blocker() -> None:
    look = replace(seen(*WORKS, ASKED, RAISED), file=FileKind.BLOCKED, text="no keys\n")
    (one,) = diagnostics(look)
    assert (one.line, one.end, one.link) == (0, 7, "start:3:3")


@pytest.mark.parametrize("path", sorted(PLANS.glob("**/*.md")), ids=lambda path: path.name)
def test_whatever_a_real_plan_is_like_its_tasks_can_be_marked(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    lines = [line for _, line in lines_of(text)]
    at = document_positions(seen(text=text))
    for one in at.context.plan.tasks:
        span = at.span_of_task(one)
        assert span.line == one.line
        assert lines[span.line][span.start : span.end].strip()


@pytest.mark.slow
@given(st.data())
def test_any_run_beside_any_plan_is_shown_inside_the_text(data: st.DataObject) -> None:
    look = seen_by_chance(data)
    lengths = [
        len(line) for line in look.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    ]
    for file in FileKind:
        for one in diagnostics(replace(look, file=file)):
            assert 0 <= one.line < len(lengths)
            assert 0 <= one.start <= one.end <= lengths[one.line]
            assert one.message
            assert one.code == one.code.lower()


def test_what_was_reverted_is_at_its_task_until_the_next_iteration_is_settled() -> None:
    dropped = event(
        GuardReverted,
        iteration=3,
        path="@fix_plan.md",
        what="dropped",
        tasks=(task(LETTER),),
        n_tasks=1,
        kept="reverted/003-1-plan",
        commit="1a2b3c4" + "0" * 33,
    )
    changed = event(GuardReverted, iteration=3, path=".ralph/config.toml", what="changed")
    look = seen(*WORKS, dropped, changed)
    told = [one for one in found(look) if one.code == "guard-reverted"]
    assert [one.line for one in told] == [0, LETTER]
    assert all(one.severity is Severity.WARNING and one.link == "start:3:3" for one in told)
    assert (
        "restored after iteration 3: .ralph/config.toml, which was changed; to" in told[0].message
    )
    assert "dropped from @fix_plan.md" in told[1].message
    assert " (commit 1a2b3c4); " in told[1].message
    assert "run's folder: reverted/003-1-plan; to change it" in told[1].message
    assert "guard-reverted" not in codes(seen(*WORKS, dropped, ends(3), begins(4, LETTER)))
    late = seen(*WORKS, dropped, ends(3), ends(4))
    assert "guard-reverted" not in codes(late)


class TestTheWorst:
    def test_few_stay_as_they_are(self) -> None:
        remarks = [one(Severity.HINT, 0), one(Severity.ERROR, 1)]
        assert most_severe(remarks, 2) == remarks

    def test_of_many_the_worst_are_kept_in_their_order_and_the_rest_is_counted(self) -> None:
        remarks = [
            one(severity, line)
            for line, severity in enumerate([Severity.HINT, Severity.WARNING, Severity.ERROR] * 2)
        ]
        *kept, rest = most_severe(remarks, 3)
        assert [remark.line for remark in kept] == [2, 5, 1]
        assert rest.code == "more-diagnostics"
        assert rest.message == "3 more diagnostics in this file are not shown"


def one(severity: Severity, line: int) -> Diagnostic:
    return Diagnostic(line=line, start=0, end=1, severity=severity, code="x", message="y")
