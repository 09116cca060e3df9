"""Facts: the lines of a panel with claims, evidence and cost.

Where a claim and a fact differ, both are shown and the fact wins (docs/rules.md#panel).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from functools import lru_cache

from ralph_ls.core.loop.evidence.progress import contradiction
from ralph_ls.core.loop.fold import active_seconds
from ralph_ls.core.loop.rules.budget import is_nearly_used
from ralph_ls.core.plan.formats.dispatch import check_plan
from ralph_ls.core.plan.lint.remarks import LintRemark
from ralph_ls.core.plan.model import ParsedPlan, Plan, PlanKind
from ralph_ls.core.plurals import count_of
from ralph_ls.core.views.model.control_chars import escape_control_chars
from ralph_ls.core.views.model.document_context import DocumentContext
from ralph_ls.core.views.model.tasks import (
    aside_words,
    refuted_tasks,
    set_aside,
    verification_words,
)
from ralph_ls.core.views.model.words import (
    change_lines,
    changed_files,
    claims_words,
    evidence_words,
    judge_tokens,
    judging_words,
    one_line,
    some_lines,
    split_text,
    totals_words,
    verdict_words,
)
from ralph_ls.core.views.panel.card import breaker_reason, environment_lines
from ralph_ls.core.views.text.summary import (
    cost_words,
    duration_words,
    is_estimated,
    not_done,
    tokens_words,
)
from ralph_ls.protocol.config.config import BreakerConfig
from ralph_ls.protocol.lsp.panel import Fact, Tone
from ralph_ls.protocol.run.report import JudgeVerdict, Report, Usage
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Breaker, BreakerState, Evidence

SHOWN_LINES = 2
SHOWN_NEXT = 160
"""Shown characters of a recommendation: a little over two lines of a narrow panel."""

SHOWN_REMARKS = 20

SHOWN_WORD = 40
"""Shown characters of a value that should be one word."""

MAX_TITLE_CHARS = 200
"""Characters of a task's title."""

STATUS_TONES = {
    "IN_PROGRESS": Tone.ACTIVE,
    "COMPLETE": Tone.GOOD,
    "BLOCKED": Tone.BAD,
    "NEEDS_CLARIFICATION": Tone.WARNING,
}
"""By STATUS (docs/rules.md#status-block); any other is plain."""

TESTS_TONES = {"PASSING": Tone.GOOD, "FAILING": Tone.BAD}

BREAKER_WORDS = {
    BreakerState.CLOSED: ("closed", Tone.GOOD),
    BreakerState.HALF_OPEN: ("half-open", Tone.WARNING),
    BreakerState.OPEN: ("open", Tone.BAD),
}
"""Name and tone of each state (docs/rules.md#breaker)."""

CONTEXT_TONES = ((90, Tone.BAD), (70, Tone.WARNING))
"""Percent of the context window from which a tone applies (docs/rules.md#usage)."""


def facts(context: DocumentContext, now: datetime | None = None) -> tuple[Fact, ...]:
    """The lines in order, without unknown values. Total.

    ``now`` extends the running time; without it the time is that of the last event.
    """
    state = context.state
    if state is None:
        return tuple(_remarks(context))
    report, evidence = _newest_report(state)
    return (
        *_request(state),
        *_report(report),
        _breaker(context, state),
        *_not_done(state),
        *_set_aside(context),
        *_remarks(context),
        *_refuted(context),
        *_tests(report),
        *_work(report, evidence),
        *_evidence(evidence),
        *_claims(state),
        *_judge(state),
        *_next(state),
        _time(context, state, now),
        *_cost(context, state),
        *_tokens(context, state),
    )


def running_time(context: DocumentContext, now: datetime | None) -> float:
    """Active seconds of the run, without the time in which it waited for the user."""
    if context.state is None:
        return 0.0
    if now is None or not context.live:
        return context.state.active_seconds
    return active_seconds(context.state, now)


def _newest_report(state: RunState) -> tuple[Report | None, Evidence | None]:
    """Report and evidence of the newest iteration that has either."""
    newest = max(state.report_start, state.evidence_start)
    return (
        state.report if state.report_start == newest else None,
        state.evidence if state.evidence_start == newest else None,
    )


def _request(state: RunState) -> Iterator[Fact]:
    """The request of a run without a plan."""
    if state.request is not None:
        text = one_line(state.request.title, limit=MAX_TITLE_CHARS)
        yield Fact(
            key="request",
            heading="Request",
            text=text,
            more=escape_control_chars(state.request.source),
        )


def _not_done(state: RunState) -> Iterator[Fact]:
    """What failed outside any iteration: the newest, all of them when expanded."""
    if failed := not_done(state):
        shown, _ = split_text(failed[-1], SHOWN_NEXT)
        more = "\n".join(failed)
        text = shown if shown == more else f"{shown}…"
        yield Fact(key="not-done", heading="Not done", text=text, tone=Tone.BAD, more=more)


def _remarks(context: DocumentContext) -> Iterator[Fact]:
    """Problems of a plan that is not a document, so that it has no lines for diagnostics."""
    if context.kind is not PlanKind.BEADS:
        return
    messages = [problem.message for problem in context.parsed.problems]
    messages += [remark.message for remark in _remarks_on_issues(context.text)]
    if messages:
        lines = [one_line(message, limit=MAX_TITLE_CHARS) for message in messages[:SHOWN_REMARKS]]
        rest = len(messages) - len(lines)
        more = "\n".join([*lines, *([f"and {rest} more: ralph plan"] if rest else [])])
        text = count_of(len(messages), "remark")
        yield Fact(key="plan", heading="Issues", text=text, tone=Tone.WARNING, more=more)


@lru_cache(maxsize=4)
def _remarks_on_issues(text: str) -> tuple[LintRemark, ...]:
    """Cached, as the same text is linted again with every event of a run."""
    return check_plan(ParsedPlan(plan=Plan()), text, PlanKind.BEADS) if text else ()


def _report(report: Report | None) -> Iterator[Fact]:
    if report is not None:
        text = one_line(report.status, limit=SHOWN_WORD)
        tone = STATUS_TONES.get(report.status, Tone.PLAIN)
        yield Fact(key="report", heading="Report", text=text, tone=tone)


def _breaker(context: DocumentContext, state: RunState) -> Fact:
    breaker, rules = state.breaker, state.config.breaker
    if not rules.enabled and breaker.state is BreakerState.CLOSED:
        return Fact(key="breaker", heading="Breaker", text="off")
    text, tone = BREAKER_WORDS[breaker.state]
    if breaker.state is not BreakerState.CLOSED:
        lines = [breaker_reason(state), *environment_lines(context, state)]
    else:
        lines = [*_repeats(breaker, rules), *environment_lines(context, state)]
        tone = Tone.WARNING if lines else tone
    return Fact(key="breaker", heading="Breaker", text=text, tone=tone, more="\n".join(lines))


def _repeats(breaker: Breaker, rules: BreakerConfig) -> Iterator[str]:
    same = breaker.consecutive_same_error
    if 0 < rules.same_error_warn <= same:
        opens = rules.same_error_open
        yield f"the same error in {count_of(same, 'iteration')}; opens at {opens}"


def _set_aside(context: DocumentContext) -> Iterator[Fact]:
    """The tasks that this run has set aside, unless the plan has changed since."""
    if not context.history.set_aside:
        return
    held = [event for task in context.plan.tasks if (event := set_aside(context, task)) is not None]
    if held:
        lines = [
            f"{one_line(event.task.title, limit=MAX_TITLE_CHARS)}: {aside_words(event)}"
            for event in held
        ]
        text, more = count_of(len(held), "task"), "\n".join(lines)
        yield Fact(key="aside", heading="Set aside", text=text, tone=Tone.WARNING, more=more)


def _refuted(context: DocumentContext) -> Iterator[Fact]:
    """The closed tasks that failed verification and are not done by now."""
    lines = [verification_words(event) for _, event in refuted_tasks(context)]
    if lines:
        text, more = f"{count_of(len(lines), 'task')} failed verification", "\n".join(lines)
        yield Fact(key="verified", heading="Verified", text=text, tone=Tone.WARNING, more=more)


def _tests(report: Report | None) -> Iterator[Fact]:
    if report is not None and "TESTS_STATUS" in report.fields:
        words = report.tests_status.lower().replace("_", " ")
        text = one_line(words, limit=SHOWN_WORD)
        tone = TESTS_TONES.get(report.tests_status, Tone.PLAIN)
        yield Fact(key="tests", heading="Tests", text=text, tone=tone)


def _work(report: Report | None, evidence: Evidence | None) -> Iterator[Fact]:
    """``implementation · 4 files (report 4)``: the evidence, then the claim."""
    parts: list[str] = []
    if report is not None and report.work_type:
        words = report.work_type.lower().replace("_", " ")
        parts.append(one_line(words, limit=SHOWN_WORD))
    claims = report is not None and "FILES_MODIFIED" in report.fields
    claimed = f"report {report.files_modified}" if report is not None and claims else ""
    if evidence is not None:
        changes = count_of(changed_files(evidence), "file")
        parts.append(f"{changes} ({claimed})" if claimed else changes)
    elif claimed:
        parts.append(claimed)
    if not parts:
        return
    doubt = "" if evidence is None else contradiction(report, evidence) or ""
    tone = Tone.WARNING if doubt else Tone.PLAIN
    yield Fact(key="work", heading="Work", text=" · ".join(parts), tone=tone, more=doubt)


def _evidence(evidence: Evidence | None) -> Iterator[Fact]:
    if evidence is not None:
        tone = Tone.GOOD if evidence.progress else Tone.WARNING
        yield Fact(key="evidence", heading="Evidence", text=evidence_words(evidence), tone=tone)


def _claims(state: RunState) -> Iterator[Fact]:
    """Claims of the newest iteration that no evidence covers."""
    last, newest = state.last, max(state.report_start, state.evidence_start)
    if last is not None and last.start >= newest and (text := claims_words(last.claims)):
        shown, more = split_text(text, SHOWN_NEXT)
        yield Fact(key="claims", heading="Claims", text=f"{shown}…" if more else shown, more=more)


def _judge(state: RunState) -> Iterator[Fact]:
    """The judge at work, or its newest verdict; what all verdicts took when expanded."""
    judging = None if state.current is None else state.current.judging
    if judging is not None and state.current is not None and state.current.judged is None:
        yield Fact(key="judge", heading="Judge", text=judging_words(judging), tone=Tone.ACTIVE)
        return
    judged = state.judgement
    if judged is None:
        return
    shown, rest = split_text(verdict_words(judged), SHOWN_NEXT)
    lines = [rest, *change_lines(judged), totals_words(state.judge_totals), *_judges_share(state)]
    yield Fact(
        key="judge",
        heading="Judge",
        text=f"{shown}…" if rest else shown,
        tone=VERDICT_TONES[judged.verdict],
        more="\n".join(filter(None, lines)),
    )


def _judges_share(state: RunState) -> Iterator[str]:
    usage = state.judge_totals.usage
    parts = [
        cost_words(None if usage is None else usage.cost_usd, None, estimated=is_estimated(usage)),
        tokens_words(judge_tokens(state.judge_totals), None),
    ]
    if words := ", ".join(filter(None, parts)):
        yield f"of the run's cost: {words}"


VERDICT_TONES = {
    JudgeVerdict.PASSED: Tone.GOOD,
    JudgeVerdict.CHANGES_REQUESTED: Tone.WARNING,
    JudgeVerdict.CANNOT_TELL: Tone.WARNING,
}


def _next(state: RunState) -> Iterator[Fact]:
    settled = 0 if state.last is None else state.last.start
    advice = state.recommendation
    if state.report is not None and state.report_start > settled:
        advice = state.report.recommendation
    lines = some_lines(advice).splitlines()
    if not lines:
        return
    shown, rest = split_text("\n".join(lines[:SHOWN_LINES]), SHOWN_NEXT)
    more = "\n".join(filter(None, (rest, *lines[SHOWN_LINES:])))
    yield Fact(key="next", heading="Advice", text=f"{shown}…" if more else shown, more=more)


def _time(context: DocumentContext, state: RunState, now: datetime | None) -> Fact:
    seconds, limit = running_time(context, now), state.config.max_duration
    text, tone = duration_words(seconds, limit), _tone_of(seconds, limit)
    return Fact(key="time", heading="Time", text=text, tone=tone)


def _cost(context: DocumentContext, state: RunState) -> Iterator[Fact]:
    cost, limit = context.history.cost_usd, state.config.max_cost_usd
    if text := cost_words(cost, limit, estimated=is_estimated(state.usage)):
        yield Fact(key="cost", heading="Cost", text=text, tone=_tone_of(cost, limit))


def _tokens(context: DocumentContext, state: RunState) -> Iterator[Fact]:
    tokens, limit = context.history.tokens, state.config.max_tokens
    text, tone = tokens_words(tokens, limit), _tone_of(tokens, limit)
    if not text:
        return
    share = _context_share(context.history.usage)
    if share is not None:
        text = f"{text} · context {share} %"
        tone = next((louder for least, louder in CONTEXT_TONES if share >= least), tone)
    yield Fact(key="tokens", heading="Tokens", text=text, tone=tone)


def _tone_of(used: float | None, limit: float | None) -> Tone:
    return Tone.WARNING if is_nearly_used(used, limit) else Tone.PLAIN


def _context_share(usage: Usage | None) -> int | None:
    if usage is None or usage.context_tokens is None or not usage.context_window:
        return None
    return round(100 * usage.context_tokens / usage.context_window)
