"""Diagnostics: remarks at a line of a file, with a severity and a stable code.

Severity says what the user has to do (docs/rules.md#diagnostics): an error stops the loop, a
warning should be looked at, information is what the agent claims, or how a plan was read that
leaves it open. Users filter and search by code. When a diagnostic is published is not known here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from ralph_ls.core.plan.lint.remarks import RelatedSpan


class Severity(StrEnum):
    """Severity of a diagnostic, the most severe first."""

    ERROR = "error"
    WARNING = "warning"
    INFORMATION = "information"
    HINT = "hint"


class DiagnosticCode(StrEnum):
    """Codes of the loop's diagnostics; problems of reports and plans keep their own code."""

    FILE_NOT_READ = "file-not-read"
    """The plan or a halt file is not a regular file, or too large; it gets no other diagnostic."""
    REPORT = "report"
    """The latest report: information, a warning for a question, an error for BLOCKED."""
    REPORT_MISSING = "report-missing"
    CLAIM_WITHOUT_EVIDENCE = "claim-without-evidence"
    TICK_WITHOUT_CHANGE = "tick-without-change"
    TESTS_FAILING = "tests-failing"
    VALIDATION_FAILED = "validation-failed"
    VERIFICATION_FAILED = "verification-failed"
    """A task was closed, a command of its criteria failed, and it was reopened."""
    COMPLETION_REFUSED = "completion-refused"
    BREAKER_HALF_OPEN = "breaker-half-open"
    BREAKER_OPEN = "breaker-open"
    QUESTION_WAITING = "question-waiting"
    RUN_BLOCKED = "run-blocked"
    """A BLOCKED promise blocks the whole run."""
    TASK_BLOCKED = "task-blocked"
    """The plan marks one task as blocked."""
    TASK_SET_ASIDE = "task-set-aside"
    """The run has set one task aside; the mark in the plan is not reported a second time."""
    GUARD_REVERTED = "guard-reverted"
    """The agent made a forbidden change, and the guard reverted it."""
    FINISHED_IN_OTHER_WORDS = "finished-in-other-words"
    """A task disappeared from the plan and counts as finished under another title."""
    ASKED_WITHOUT_SIGNAL = "asked-without-signal"
    COMPLETION_NOT_GATE = "completion-not-gate"
    PERSON_COMMITTED = "person-committed"
    RESTORATION_NOT_COMMITTED = "restoration-not-committed"
    BUDGET_ITERATIONS = "budget-iterations"
    BUDGET_DURATION = "budget-duration"
    BUDGET_TOKENS = "budget-tokens"
    BUDGET_COST = "budget-cost"
    CONTEXT_50 = "context-50"
    """This percentage of the agent's context window is used, and the agent still works.

    See docs/rules.md#stuck-count.
    """
    CONTEXT_70 = "context-70"
    CONTEXT_90 = "context-90"
    AGENT_OVERLOADED = "agent-overloaded"
    AGENT_UNREACHABLE = "agent-unreachable"
    AGENT_FALLBACK = "agent-fallback"
    AGENT_CONTEXT_FULL = "agent-context-full"
    AGENT_MAX_TURNS = "agent-max-turns"
    AGENT_BUDGET = "agent-budget"
    ENGINE_GONE = "engine-gone"
    SETTING_RENAMED = "setting-renamed"
    """A key of the config file has a new name; the old one is still read."""
    SETTING_WRONG = "setting-wrong"
    """A line of the config file that no run accepts."""
    LESSON_INVALID = "lesson-invalid"
    """Something in a lesson keeps it out of every prompt."""
    MORE = "more-diagnostics"
    """Some diagnostics of a file are omitted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """A remark at one line of a file."""

    line: int
    """From 0."""
    start: int
    """First character, counted in characters of the line."""
    end: int
    severity: Severity
    code: str
    message: str
    """Text for the user; a question may have several lines."""
    link: str | None = None
    """Its cause: ``file:PATH`` (relative to the work tree), ``iteration:N`` (the output of that
    iteration) or ``engine:`` (what the engine wrote when it died)."""
    related: tuple[RelatedSpan, ...] = ()
    """Other places in the same file that it refers to."""


def most_severe(remarks: Sequence[Diagnostic], most: int) -> list[Diagnostic]:
    """At most ``most`` diagnostics, the most severe first, and one that counts the rest."""
    if len(remarks) <= most:
        return list(remarks)
    ranks = {severity: rank for rank, severity in enumerate(Severity)}
    shown = sorted(remarks, key=lambda remark: ranks[remark.severity])[:most]
    rest = Diagnostic(
        line=0,
        start=0,
        end=0,
        severity=Severity.INFORMATION,
        code=DiagnosticCode.MORE,
        message=f"{len(remarks) - most:,} more diagnostics in this file are not shown",
    )
    return [*shown, rest]
