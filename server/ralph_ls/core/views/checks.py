"""What the checks of a plan found, as remarks in an editor.

Severity says what a person has to do (UX §6): a warning changes how the loop goes, a hint is about
how the plan is written. Titles and reasons come from strangers, so they are made harmless to show.
It must never know an editor, and it must never judge: that is for ``core.plan.checking.checks``.
"""

from __future__ import annotations

from dataclasses import replace

from ralph_ls.core.plan.formats.dispatch import check_plan
from ralph_ls.core.plan.lint.checks import COMPLETION_MARKER
from ralph_ls.core.plan.lint.remarks import CheckCode, LintRemark
from ralph_ls.core.views.diagnostic import Diagnostic, Severity
from ralph_ls.core.views.seen import FileKind, Seen
from ralph_ls.core.views.visible import tame

SEVERITIES = {
    CheckCode.DUPLICATE_TASK: Severity.WARNING,
    CheckCode.MARKER_WITH_OPEN_TASKS: Severity.WARNING,
    CheckCode.UNKNOWN_DEPENDENCY: Severity.WARNING,
    CheckCode.DEPENDENCY_CYCLE: Severity.WARNING,
    CheckCode.OPEN_UNDER_COMPLETED: Severity.WARNING,
    CheckCode.CLOSE_WITHOUT_EVIDENCE: Severity.WARNING,
    CheckCode.CRITERIA_VAGUE: Severity.HINT,
    CheckCode.CRITERIA_MISSING: Severity.HINT,
    CheckCode.BLOCKED_WITHOUT_REASON: Severity.HINT,
}
"""That a task is blocked is an error already, so the missing reason is only a hint beside it."""


def check_diagnostics(seen: Seen) -> tuple[Diagnostic, ...]:
    """All that the checks say of the plan that is looked at, by line. Total."""
    return tuple(_shown(remark) for remark in remarks_on(seen))


def remarks_on(seen: Seen) -> tuple[LintRemark, ...]:
    """The same before it is shown; nothing where no plan is looked at."""
    if seen.file is not FileKind.PLAN:
        return ()
    marker = COMPLETION_MARKER if seen.state is None else seen.state.config.gate.marker
    return check_plan(seen.parsed, seen.text, seen.kind, marker=marker)


def _shown(remark: LintRemark) -> Diagnostic:
    return Diagnostic(
        line=remark.place.line,
        start=remark.place.start,
        end=remark.place.end,
        severity=SEVERITIES[remark.code],
        code=str(remark.code),
        message=tame(remark.message),
        related=tuple(replace(one, message=tame(one.message)) for one in remark.related),
    )
