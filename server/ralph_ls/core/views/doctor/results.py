"""How one check is told: what was found, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterable

from ralph_ls.protocol.json_output import CheckResult, CheckStatus


def well(code: str, message: str) -> CheckResult:
    """Nothing has to be done."""
    return CheckResult(code=code, status=CheckStatus.OK, message=message)


def warning(code: str, message: str, remedy: str) -> CheckResult:
    """A run goes on with it."""
    return CheckResult(code=code, status=CheckStatus.WARNING, message=message, remedy=remedy)


def problem(code: str, message: str, remedy: str) -> CheckResult:
    """No run begins, or goes on, with it."""
    return CheckResult(code=code, status=CheckStatus.PROBLEM, message=message, remedy=remedy)


def told_as(code: str, message: str, *, status: CheckStatus = CheckStatus.PROBLEM) -> CheckResult:
    """A message that says what happened and then what to do, as our errors do, in its two parts."""
    before, newline, last = message.rpartition("\n")
    if newline:
        return CheckResult(code=code, status=status, message=before, remedy=last)
    what, _, remedy = message.partition("; ")
    return CheckResult(code=code, status=status, message=what, remedy=remedy or None)


def is_well(results: Iterable[CheckResult]) -> bool:
    """Whether nothing is a problem."""
    return all(one.status is not CheckStatus.PROBLEM for one in results)
