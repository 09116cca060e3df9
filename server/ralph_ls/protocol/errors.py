"""The one family of errors that a user may see; each says what happened, to what, what next.

Bad input from people and agents is data, not one of these: parsers return problems.
"""

from __future__ import annotations

REPORT_CLASS = "RALPH_REPORT_ERROR_CLASS"
"""Variable by which one of our processes asks the one that it starts for its error's class, too."""


class RalphError(Exception):
    """Something the user can act on; ``exit_code`` is what the command line ends with."""

    exit_code = 5

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class UsageError(RalphError):
    """The command line was used wrongly."""

    exit_code = 64


class UncommittedChanges(UsageError):
    """The work tree has changes that git would have to carry elsewhere; the message names them."""


class ConfigError(RalphError):
    """The configuration cannot be used; names file, line and key."""

    exit_code = 78


class NotAllowed(ConfigError):
    """The repository brings something that would run, and its owner has not allowed it yet."""


class WorkspaceMissing(RalphError):
    """There is no git work tree here."""


class WorkspaceBusy(RalphError):
    """Another engine owns the work tree; the message names its pid and its run."""


class PlanMissing(RalphError):
    """There is no plan where one was looked for."""


class PlanUnusable(PlanMissing):
    """The plan is there and cannot be read as one; the message says where, and what is wrong."""


class AgentUnavailable(RalphError):
    """The agent's program cannot be started; the message shows where it was looked for."""


class GitMissing(RalphError):
    """git cannot be started; the message says how to get it."""


class NoEngine(RalphError):
    """No engine lives that could take the command."""


class StateUnusable(RalphError):
    """The state directory or a file in it cannot be written or read."""


class ReadOnly(RalphError):
    """The folder is open as one that is not trusted: nothing is started or changed from there."""


class FromInside(RalphError):
    """An iteration asks for something that changes its own run; only its user may (code 77)."""

    exit_code = 77


class IssuesMissing(PlanMissing):
    """The issues cannot be read: bd is not installed, has no database here, or does not answer."""


class IssuesRefused(RalphError):
    """bd failed; the message quotes it."""


class RequestMissing(PlanMissing):
    """The request cannot be read: none is named, the file does not exist, or gh cannot read it."""
