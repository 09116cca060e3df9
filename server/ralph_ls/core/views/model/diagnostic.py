"""One remark at one line of a file, and the codes by which people filter and search.

Severity says what a person has to do (docs/rules.md#diagnostics): an error stops the loop, a
warning should be looked at, information is what the agent claims. Codes are stable, since people
filter and search by them. It must never know an editor, nor when something is told.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from ralph_ls.core.plan.lint.remarks import RelatedSpan


class Severity(StrEnum):
    """How bad it is, the worst first."""

    ERROR = "error"
    WARNING = "warning"
    INFORMATION = "information"
    HINT = "hint"


class DiagnosticCode(StrEnum):
    """The codes of the loop's own; problems of reports and plans keep the code that they have."""

    FILE_NOT_READ = "file-not-read"
    """The plan or a halt file is no regular file, or larger than one may be; nothing else is told
    of it."""
    REPORT = "report"
    """The latest report: information, a warning when it asks, an error when it says BLOCKED."""
    REPORT_MISSING = "report-missing"
    CLAIM_WITHOUT_EVIDENCE = "claim-without-evidence"
    TICK_WITHOUT_CHANGE = "tick-without-change"
    TESTS_FAILING = "tests-failing"
    VALIDATION_FAILED = "validation-failed"
    VERIFICATION_FAILED = "verification-failed"
    """A task was closed, a command that its criteria name failed, and it is open again."""
    COMPLETION_REFUSED = "completion-refused"
    BREAKER_HALF_OPEN = "breaker-half-open"
    BREAKER_OPEN = "breaker-open"
    QUESTION_WAITING = "question-waiting"
    RUN_BLOCKED = "run-blocked"
    """A BLOCKED promise holds the whole run."""
    TASK_BLOCKED = "task-blocked"
    """The plan marks one task as blocked."""
    TASK_SET_ASIDE = "task-set-aside"
    """The run has set one task aside; that the plan then marks it as blocked is not told again."""
    GUARD_REVERTED = "guard-reverted"
    """The agent did something that it may not do, and it was put back."""
    FINISHED_IN_OTHER_WORDS = "finished-in-other-words"
    """A task left the plan, and is taken as finished under another name."""
    ASKED_WITHOUT_SIGNAL = "asked-without-signal"
    COMPLETION_NOT_GATE = "completion-not-gate"
    PERSON_COMMITTED = "person-committed"
    RESTORATION_NOT_COMMITTED = "restoration-not-committed"
    BUDGET_ITERATIONS = "budget-iterations"
    BUDGET_DURATION = "budget-duration"
    BUDGET_TOKENS = "budget-tokens"
    BUDGET_COST = "budget-cost"
    CONTEXT_50 = "context-50"
    """So many percent of the agent's context window are used, and it still works.

    See docs/rules.md#stuck-count.
    """
    CONTEXT_70 = "context-70"
    CONTEXT_90 = "context-90"
    AGENT_OVERLOADED = "agent-overloaded"
    AGENT_FALLBACK = "agent-fallback"
    AGENT_CONTEXT_FULL = "agent-context-full"
    AGENT_MAX_TURNS = "agent-max-turns"
    AGENT_BUDGET = "agent-budget"
    ENGINE_GONE = "engine-gone"
    MORE = "more-diagnostics"
    """Some of those of a file are left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """One remark at one line."""

    line: int
    """From 0."""
    start: int
    """Where it begins, in characters of the line."""
    end: int
    severity: Severity
    code: str
    message: str
    """For a person; a question may have several lines."""
    link: str | None = None
    """Where its cause lies: ``file:PATH`` (relative to the work tree), ``iteration:N`` (that
    iteration's output) or ``engine:`` (what the engine wrote when it died)."""
    related: tuple[RelatedSpan, ...] = ()
    """Other places in the same file that it is about."""


def most_severe(remarks: Sequence[Diagnostic], most: int) -> list[Diagnostic]:
    """The worst remarks of a file that has more than are shown, with one that counts the rest."""
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
        message=f"{len(remarks) - most:,} more diagnostics of this file are not shown",
    )
    return [*shown, rest]
