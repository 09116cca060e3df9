"""Diagnostics of the loop's files: the newest report and everything that needs attention.

Messages come from agents, repositories and users, so they are escaped. All judgements are the
loop's; nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from ralph_ls.core.loop.evidence.progress import contradiction, is_tick_alone
from ralph_ls.core.loop.profiles import profile_of
from ralph_ls.core.loop.rules.health import current_warnings
from ralph_ls.core.loop.rules.validation import validation_failure_words
from ralph_ls.core.plan.formats.registry import format_of
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.views.document.quick_fixes import reverted_edits
from ralph_ls.core.views.model.control_chars import escape_control_chars
from ralph_ls.core.views.model.diagnostic import Diagnostic, DiagnosticCode, Severity
from ralph_ls.core.views.model.document_context import (
    DocumentContext,
    DocumentPositions,
    FileKind,
    OpenHalt,
    TextSpan,
    blocker_breaker,
    document_positions,
    open_blocker,
    open_question,
)
from ralph_ls.core.views.model.history import start_link
from ralph_ls.core.views.model.tasks import (
    aside_words,
    refuted_tasks,
    set_aside,
    verification_words,
)
from ralph_ls.core.views.model.words import (
    claim_words,
    committed_words,
    evidence_words,
    one_line,
    reverted_words,
)
from ralph_ls.protocol.base import to_wire_time
from ralph_ls.protocol.run.events import Warned
from ralph_ls.protocol.run.report import Report
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import BreakerState, Evidence, Phase
from ralph_ls.protocol.task_words import TaskState

REPORTS_MISSING_TO_WARN = 3
"""Iterations without a report from which a missing one is a warning."""

SHOWN_REFUSED_TASKS = 3
SHOWN_TAIL = 400
"""Shown characters of a failed validation's last output."""

REPORT_SEVERITIES = {
    "BLOCKED": Severity.ERROR,
    "NEEDS_CLARIFICATION": Severity.WARNING,
}
"""By STATUS; any other is a hint: it is no problem, and nothing is underlined for it."""

QUIET_REPORT_PROBLEMS = frozenset({"missing-field", "unknown-field", "stray-text"})
"""Problems that do not change a report's meaning; others are warnings."""

PLAN_SEVERITIES = {"empty-task": Severity.HINT}
"""By code; any other may hide or invent a task, so it is a warning."""


ASIDE_REMEDIES = {
    True: "the plan marks it as blocked; remove the mark to try it again",
    False: "skipped for the rest of this run",
}
"""By whether the plan marks the task."""

SHOWN_WARNINGS = frozenset(
    {
        DiagnosticCode.FINISHED_IN_OTHER_WORDS,
        DiagnosticCode.ASKED_WITHOUT_SIGNAL,
        DiagnosticCode.COMPLETION_NOT_GATE,
        DiagnosticCode.PERSON_COMMITTED,
        DiagnosticCode.RESTORATION_NOT_COMMITTED,
        DiagnosticCode.AGENT_OVERLOADED,
        DiagnosticCode.AGENT_UNREACHABLE,
        DiagnosticCode.AGENT_FALLBACK,
        DiagnosticCode.AGENT_CONTEXT_FULL,
        DiagnosticCode.AGENT_MAX_TURNS,
        DiagnosticCode.AGENT_BUDGET,
    }
)
"""Warnings shown at the task of their iteration; others are at the place of their subject."""

CONTEXT_WARNINGS: dict[str, Severity] = {
    DiagnosticCode.CONTEXT_50: Severity.INFORMATION,
    DiagnosticCode.CONTEXT_70: Severity.WARNING,
    DiagnosticCode.CONTEXT_90: Severity.WARNING,
}
"""Warnings about the fill of the agent's context window, in ascending order."""

BUDGET_WARNINGS = frozenset(
    {
        DiagnosticCode.BUDGET_ITERATIONS,
        DiagnosticCode.BUDGET_DURATION,
        DiagnosticCode.BUDGET_TOKENS,
        DiagnosticCode.BUDGET_COST,
    }
)


def diagnostics(context: DocumentContext) -> tuple[Diagnostic, ...]:
    """All diagnostics of one file, by line and severity. Total."""
    at = document_positions(context)
    match context.file:
        case FileKind.DECIDE:
            found = list(_question(context, at))
        case FileKind.BLOCKED:
            found = list(_blocker(context, at))
        case FileKind.PLAN:
            found = list(_on_plan(context, at))
        case _:  # pragma: no cover
            assert_never(context.file)
    ranks = {severity: rank for rank, severity in enumerate(Severity)}
    return tuple(sorted(found, key=lambda one: (one.line, ranks[one.severity])))


def _on_plan(context: DocumentContext, at: DocumentPositions) -> Iterator[Diagnostic]:
    yield from _plan_problems(context)
    yield from _blocked_tasks(at)
    yield from _set_aside_tasks(at)
    yield from _question(context, at)
    yield from _blocker(context, at)
    if context.state is None:
        return
    yield from _engine(context, context.state, at)
    if not blocker_breaker(context):
        yield from _breaker(context.state, at)
    yield from _report(context.state, at)
    yield from _claims(context.state, at)
    yield from _missing_report(context.state, at)
    yield from _validation(context.state, at)
    yield from _refuted(at)
    yield from _refusal(context.state, at)
    yield from _reverted(context.state, at)
    yield from _warnings(context.state, at)


def _plan_problems(context: DocumentContext) -> Iterator[Diagnostic]:
    for problem, (start, end) in zip(context.parsed.problems, context.parsed.spans, strict=True):
        span = TextSpan(line=problem.line - 1, start=start, end=end)
        severity = PLAN_SEVERITIES.get(problem.code, Severity.WARNING)
        yield _at(span, severity, problem.code, problem.message)


def _blocked_tasks(at: DocumentPositions) -> Iterator[Diagnostic]:
    raised = at.blocked_task()
    for task in at.context.plan.some(states={TaskState.BLOCKED}):
        # What the run reports of it is the same blocker.
        if set_aside(at.context, task) is None and task != raised:
            reason = task.blocked_by or "the plan gives no reason"
            message = f"blocked: {reason}"
            yield _at(at.span_of_task(task), Severity.ERROR, DiagnosticCode.TASK_BLOCKED, message)


def _set_aside_tasks(at: DocumentPositions) -> Iterator[Diagnostic]:
    tasks = at.tasks(at.context.history.set_aside)
    for task_id in at.context.history.set_aside:
        task = tasks.get(task_id)
        event = None if task is None else set_aside(at.context, task)
        if event is not None:
            message = f"{aside_words(event, limit=1000)}; {ASIDE_REMEDIES[event.marked]}"
            span, link = at.span_of_task(task), _cause(at, event.start, event.iteration)
            yield _at(span, Severity.WARNING, DiagnosticCode.TASK_SET_ASIDE, message, link)


def _question(context: DocumentContext, at: DocumentPositions) -> Iterator[Diagnostic]:
    if (waits := open_question(context)) is not None:
        message = f"{_halt_origin(waits)} asks: {waits.text}"
        span = at.span_of_task(at.task_of_halt(waits))
        link = _cause(at, waits.start, waits.iteration)
        if context.file is FileKind.PLAN and context.state is not None and waits.lane is None:
            link = f"file:{context.state.config.paths.decide}"
        severity = _in_halt_file(context, Severity.WARNING)
        yield _at(span, severity, DiagnosticCode.QUESTION_WAITING, message, link)


def _blocker(context: DocumentContext, at: DocumentPositions) -> Iterator[Diagnostic]:
    if (waits := open_blocker(context)) is not None:
        message = f"{_halt_origin(waits)} is blocked: {waits.text}"
        span, link = at.span_of_start(waits.start), _cause(at, waits.start, waits.iteration)
        if context.file is FileKind.PLAN and context.state is not None:
            link = f"file:{context.state.config.paths.blocked}"
        severity = _in_halt_file(context, Severity.ERROR)
        yield _at(span, severity, DiagnosticCode.RUN_BLOCKED, message, link)


_WITHOUT_PLAN_FILE = frozenset({PlanKind.BEADS, PlanKind.REQUEST})


def _in_halt_file(context: DocumentContext, severity: Severity) -> Severity:
    """A hint where the plan's file has it already: one thing that waits is one problem."""
    in_plan = context.state is not None and context.kind not in _WITHOUT_PLAN_FILE
    return Severity.HINT if in_plan and context.file is not FileKind.PLAN else severity


def _engine(
    context: DocumentContext, state: RunState, at: DocumentPositions
) -> Iterator[Diagnostic]:
    if context.phase is Phase.CRASHED:
        last = "" if state.at is None else f", last activity at {to_wire_time(state.at)}"
        message = (
            f"the engine of run {state.run} (pid {state.pid}) is gone{last}; continue with: ralph "
            "run --resume"
        )
        yield _at(at.top, Severity.WARNING, DiagnosticCode.ENGINE_GONE, message, "engine:")


def _breaker(state: RunState, at: DocumentPositions) -> Iterator[Diagnostic]:
    breaker = state.breaker
    last = state.last
    link = None if last is None else _cause(at, last.start, last.iteration)
    match breaker.state:
        case BreakerState.CLOSED:
            return
        case BreakerState.HALF_OPEN:
            threshold = state.config.breaker.no_progress_open
            after = f"; it opens at {threshold}" if threshold > 0 else ""
            message = f"{breaker.reason} (breaker half-open){after}"
            yield _at(at.top, Severity.WARNING, DiagnosticCode.BREAKER_HALF_OPEN, message, link)
        case BreakerState.OPEN:
            reason = f"{breaker.reason}; no iteration runs until you reset it"
            message = f"breaker open: {reason}"
            yield _at(at.top, Severity.ERROR, DiagnosticCode.BREAKER_OPEN, message, link)
        case _:  # pragma: no cover
            assert_never(breaker.state)


def _report(state: RunState, at: DocumentPositions) -> Iterator[Diagnostic]:
    """The latest report beside the evidence, its problems, and failing tests."""
    report, iteration = state.report, state.report_iteration
    if report is None:
        return
    span, link = at.span_of_start(state.report_start), _cause(at, state.report_start, iteration)
    severity = REPORT_SEVERITIES.get(report.status, Severity.HINT)
    if state.report_start in _halted_starts(at.context):
        # The question or the blocker that it raised is the problem.
        severity = Severity.HINT
    yield _at(span, severity, DiagnosticCode.REPORT, _report_words(state, report), link)
    for problem in report.problems:
        quiet = problem.code in QUIET_REPORT_PROBLEMS
        severity = Severity.INFORMATION if quiet else Severity.WARNING
        message = f"the report of iteration {iteration}: {problem.message}"
        yield _at(span, severity, problem.code, message, link)
    if report.tests_status == "FAILING":
        message = f"iteration {iteration} reports failing tests"
        yield _at(span, Severity.WARNING, DiagnosticCode.TESTS_FAILING, message, link)


def _halted_starts(context: DocumentContext) -> set[int | None]:
    """The iterations whose question or blocker waits."""
    waiting = (open_question(context), open_blocker(context))
    return {waits.start for waits in waiting if waits is not None}


def _report_words(state: RunState, report: Report) -> str:
    parts = [f"iteration {state.report_iteration} reports {claim_words(report)}"]
    if state.evidence is not None and state.evidence_start == state.report_start:
        parts.append(f"evidence: {evidence_words(state.evidence)}")
    if report.clarification_questions:
        parts.append(f"asks: {report.clarification_questions}")
    if report.recommendation:
        parts.append(f"next: {report.recommendation}")
    return "; ".join(parts)


def _claims(state: RunState, at: DocumentPositions) -> Iterator[Diagnostic]:
    """Claims of the newest iteration, in its report or its ticks, without evidence."""
    evidence, iteration = state.evidence, state.evidence_iteration
    if evidence is None:
        return
    link = _cause(at, state.evidence_start, iteration)
    report = state.report if state.report_start == state.evidence_start else None
    if claim := contradiction(report, evidence):
        span = at.span_of_start(state.evidence_start)
        yield _at(span, Severity.WARNING, DiagnosticCode.CLAIM_WITHOUT_EVIDENCE, claim, link)
    if is_tick_alone(evidence) and not _is_approval(state, evidence):
        message = f"ticked in iteration {iteration}, but nothing else changed"
        tasks = at.tasks(evidence.tasks_done)
        for task_id in evidence.tasks_done:
            if task_id in tasks:
                span = at.span_of_task(tasks[task_id])
                yield _at(span, Severity.WARNING, DiagnosticCode.TICK_WITHOUT_CHANGE, message, link)


def _is_approval(state: RunState, evidence: Evidence) -> bool:
    """Whether the finished task is a story approved by a review, which changes nothing else."""
    has_reviews = format_of(profile_of(state.config.profile).plan_kind).has_reviews
    return has_reviews and evidence.progress and not state.config.skip_review


def _missing_report(state: RunState, at: DocumentPositions) -> Iterator[Diagnostic]:
    if state.last is None or state.missing_reports == 0:
        return
    missing, iteration = state.missing_reports, state.last.iteration
    which = f"iteration {iteration}" if missing == 1 else f"{missing} iterations in a row"
    message = f"{which} ended without a status block; only evidence counts"
    severity = Severity.WARNING if missing >= REPORTS_MISSING_TO_WARN else Severity.INFORMATION
    span, link = at.span_of_start(state.last.start), _cause(at, state.last.start, iteration)
    yield _at(span, severity, DiagnosticCode.REPORT_MISSING, message, link)


def _validation(state: RunState, at: DocumentPositions) -> Iterator[Diagnostic]:
    validated = at.context.history.validated
    if validated is None or validated.ok or not _is_newest(state, validated.start):
        return
    message = validation_failure_words(validated)
    if (failed := state.failed_validation) is not None and failed.undone:
        kept = f", and its work is on {failed.backup}" if failed.backup else ""
        message += f"; the iteration was rolled back{kept}"
    elif failed is not None:
        message += "; the next iteration should fix it"
    if tail := validated.tail.strip():
        message += f":\n{tail[-SHOWN_TAIL:]}"
    span, link = at.span_of_start(validated.start), _cause(at, validated.start, validated.iteration)
    yield _at(span, Severity.WARNING, DiagnosticCode.VALIDATION_FAILED, message, link)


def _refuted(at: DocumentPositions) -> Iterator[Diagnostic]:
    for task, event in refuted_tasks(at.context):
        message = f"closed in iteration {event.iteration}: {verification_words(event)}"
        span, link = at.span_of_task(task), _cause(at, event.start, event.iteration)
        yield _at(span, Severity.WARNING, DiagnosticCode.VERIFICATION_FAILED, message, link)


def _refusal(state: RunState, at: DocumentPositions) -> Iterator[Diagnostic]:
    """A refused completion, at the first task that caused it."""
    refused = at.context.history.refused
    if refused is None or not _is_newest(state, refused.start):
        return
    message = f"iteration {refused.iteration} reported that all is complete; refused: {refused.why}"
    names = [one_line(task.title, limit=60) for task in refused.open_tasks]
    if len(names) > SHOWN_REFUSED_TASKS:
        names = [*names[:SHOWN_REFUSED_TASKS], "…"]
    if names:
        message += f" ({'; '.join(names)})"
    tasks = at.tasks({one.id for one in refused.open_tasks})
    first = next((tasks[one.id] for one in refused.open_tasks if one.id in tasks), None)
    span, link = at.span_of_task(first), _cause(at, refused.start, refused.iteration)
    yield _at(span, Severity.WARNING, DiagnosticCode.COMPLETION_REFUSED, message, link)


def _reverted(state: RunState, at: DocumentPositions) -> Iterator[Diagnostic]:
    for one in reverted_edits(state, at):
        event = one.event
        kept = f"; the agent's version is in the run's folder: {event.kept}" if event.kept else ""
        message = (
            f"restored after iteration {event.iteration}: "
            f"{reverted_words(event)}{committed_words(event)}{kept}; to change it, edit it "
            "yourself in the editor, or while no agent runs"
        )
        link = _cause(at, event.start, event.iteration)
        yield _at(one.span, Severity.WARNING, DiagnosticCode.GUARD_REVERTED, message, link)


def _warnings(state: RunState, at: DocumentPositions) -> Iterator[Diagnostic]:
    """Warnings of the newest iteration without another view, and of the budgets."""
    newest = {warned.code: warned for warned in state.warnings}
    # Of several warnings about a context window only the last is shown.
    fullest = max((code for code in newest if code in CONTEXT_WARNINGS), default=None)
    for warned in newest.values():
        if warned.removed is None or not at.context.plan.find(warned.removed.task.id):
            yield from _warning(state, at, warned, is_fullest=warned.code == fullest)
    if state.phase is not Phase.ENDED:
        for warned in current_warnings(state.warnings):
            yield _at(at.top, Severity.HINT, warned.code, warned.message)


def _warning(
    state: RunState, at: DocumentPositions, warned: Warned, *, is_fullest: bool
) -> Iterator[Diagnostic]:
    """A warning at its iteration or at the top; none where it is over or has another view."""
    code, start = warned.code, warned.start
    link = _cause(at, start, warned.iteration)
    if code in SHOWN_WARNINGS and start is not None and _is_newest(state, start):
        is_question = code == DiagnosticCode.RESTORATION_NOT_COMMITTED
        severity = Severity.WARNING if is_question else Severity.INFORMATION
        yield _at(at.span_of_start(start), severity, code, warned.message, link)
    elif is_fullest and start == state.start:
        yield _at(at.span_of_start(start), CONTEXT_WARNINGS[code], code, warned.message, link)
    elif code in BUDGET_WARNINGS and state.phase is not Phase.ENDED:
        yield _at(at.top, Severity.HINT, code, warned.message, link)


def _is_newest(state: RunState, start: int) -> bool:
    """Whether no later iteration has been closed."""
    return state.last is None or start >= state.last.start


def _halt_origin(waits: OpenHalt) -> str:
    if waits.lane is not None:
        return f"lane {waits.lane}"
    return "the loop" if waits.iteration is None else f"iteration {waits.iteration}"


def _cause(at: DocumentPositions, start: int | None, iteration: int | None) -> str | None:
    return start_link(at.context.history, start, iteration) if start else None


def _at(
    span: TextSpan, severity: Severity, code: str, message: str, link: str | None = None
) -> Diagnostic:
    return Diagnostic(
        line=span.line,
        start=span.start,
        end=span.end,
        severity=severity,
        code=str(code),
        message=escape_control_chars(message),
        link=link,
    )
