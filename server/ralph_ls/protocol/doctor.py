"""What ``ralph doctor --json`` prints. Stable: programs read it."""

from __future__ import annotations

from enum import StrEnum

from ralph_ls.protocol.base import WireModel


class CheckStatus(StrEnum):
    """How something is."""

    OK = "ok"
    WARNING = "warning"
    """A run can go on with it, and should better not."""
    PROBLEM = "problem"
    """A run cannot begin, or cannot go on, before somebody has seen to it."""


class CheckResult(WireModel):
    """One thing that was looked at."""

    code: str
    """What was looked at, kebab-case; the same code may come more than once."""
    status: CheckStatus
    message: str
    """What was found."""
    remedy: str | None = None
    """What to do about it; absent where it is well."""


class DoctorReport(WireModel):
    """All that was looked at, in the order of a start; the last run comes last."""

    ok: bool
    """Nothing is a problem."""
    workspace: str | None = None
    """The root of the work tree; absent where there is none."""
    run: str | None = None
    """The newest run here; absent where there was never one."""
    checks: tuple[CheckResult, ...] = ()
