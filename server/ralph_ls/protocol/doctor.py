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


class AgentSeen(WireModel):
    """One of the agents that are known by name, and what of it is here."""

    name: str
    program: str | None = None
    """Where it lies; absent where it is not installed."""
    version: str | None = None
    """What it says of itself; absent where it gave no answer in time."""
    account: str | None = None
    """What tells that somebody has logged in, such as a variable; absent where nothing does."""
    install: str
    """The command that installs it."""
    login: str
    """How one logs in with it."""


class DoctorReport(WireModel):
    """All that was looked at, in the order of a start; the last run comes last."""

    ok: bool
    """Nothing is a problem."""
    workspace: str | None = None
    """The root of the work tree; absent where there is none."""
    run: str | None = None
    """The newest run here; absent where there was never one."""
    checks: tuple[CheckResult, ...] = ()
    agents: tuple[AgentSeen, ...] = ()
    """Those that are known by name, installed or not."""
