"""Issue tracker: runs ``bd``, which stores the issues of a repository.

Each command is a list of words, never a shell line; it has a time limit, and its whole process
group ends with it. A ``bd`` of the work tree is never run. Releases differ in output and errors
(`core.plan.formats.beads`): a failing one may exit with 0, so an answer must contain what was
requested. Failed reads are retried; a write is repeated only after the issue was read again, since
it may have succeeded.

``bd`` itself runs the scripts in a repository's ``.beads/hooks`` when an issue changes.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ralph_ls.core.plan.formats.beads.bd_output import (
    BeadsOutput,
    BeadsVersion,
    keeps_close_reasons,
    read_error,
    read_object,
    read_output,
    read_version,
)
from ralph_ls.core.plan.formats.beads.commands import (
    BeadsCommand,
    claim_command,
    commanded_issue,
    is_in_effect,
    reason_in_notes,
    set_status,
)
from ralph_ls.core.plan.formats.beads.issues import (
    BeadsIssue,
    BeadsOddity,
    IssueStatus,
    lacks_dependencies,
    read_issue,
)
from ralph_ls.core.plan.formats.beads.snapshot import BeadsSnapshot, take_snapshot
from ralph_ls.protocol.errors import IssuesMissing, IssuesRefused
from ralph_ls.store.external.git_command import without_git_redirections
from ralph_ls.store.external.programs import find_trusted_program, run_program
from ralph_ls.store.external.supervisor import Supervisor

TIMEOUT_SECONDS = 60.0
MOST_READY = 100_000
"""Number of requested issues; without one ``bd ready`` returns ten."""
SHOWN_AT_ONCE = 50
LARGEST_ANSWER = 256 * 1024 * 1024
FOLDER = ".beads"
RETRY_AFTER_SECONDS = (0.1, 0.2, 0.4)
"""Delays before each of three retries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bd:
    """A ``bd`` program, and where it is run."""

    program: str
    """Path of the program."""
    root: Path
    environment: Mapping[str, str]
    timeout_seconds: float = TIMEOUT_SECONDS
    supervisor: Supervisor = field(default_factory=Supervisor)
    known: dict[str, BeadsVersion | None] = field(default_factory=dict)
    """Cached version, which is asked once."""


def find_bd(
    root: Path, environment: Mapping[str, str], *, timeout_seconds: float = TIMEOUT_SECONDS
) -> Bd:
    """Find ``bd`` on PATH outside of the work tree; raises ``IssuesMissing`` without one."""
    found = find_trusted_program("bd", root, environment.get("PATH", ""))
    if found is None:
        raise IssuesMissing(
            f"the issues in {root} are stored in bd, which was not found on PATH; install it "
            "(https://github.com/steveyegge/beads), or choose another profile with --profile"
        )
    around = without_git_redirections(environment)
    return Bd(program=found, root=root, environment=around | _CALM, timeout_seconds=timeout_seconds)


def version_of(bd: Bd) -> BeadsVersion | None:
    """Version of the release; None if unknown. Cached."""
    if "version" not in bd.known:
        printed = ""
        with contextlib.suppress(IssuesRefused, IssuesMissing):
            printed = _ask(bd, ("version",))
        bd.known["version"] = read_version(printed)
    return bd.known["version"]


def has_close_reasons(bd: Bd) -> bool:
    """Whether this release records why an issue was closed; otherwise the notes must."""
    return keeps_close_reasons(version_of(bd))


def read_snapshot(
    bd: Bd,
    *,
    parent: str | None = None,
    before: BeadsSnapshot | None = None,
    whole: Iterable[str] = (),
) -> BeadsSnapshot:
    """All issues, with those that ``bd ready`` returns.

    An issue of the snapshot ``before`` that is in no list is read separately, since one that
    changes state while the lists are read may be in none. So are the ``whole`` ones, since lists
    omit fields. Raises ``IssuesMissing``.
    """
    try:
        return _read(bd, parent, before, whole)
    except IssuesRefused as error:
        raise IssuesMissing(
            f"the issues in {bd.root} cannot be read: {error}; try it yourself: bd list"
        ) from error


def read_statistics(bd: Bd) -> Mapping[str, int]:
    """The numbers of ``bd stats``; empty without any."""
    found = read_object(_ask(bd, ("stats",)))
    return {name: value for name, value in found.items() if type(value) is int}


def claim_issue(bd: Bd, issue: BeadsIssue) -> BeadsIssue:
    """Claim an issue unless it is in progress already; returns it as it is then.

    Raises ``IssuesRefused`` where another user has it. Old releases have no claim; there it is set
    to in progress.
    """
    if issue.status == IssueStatus.IN_PROGRESS:
        return issue
    try:
        answer = _write(bd, claim_command(issue.id))
    except IssuesRefused as error:
        if _UNKNOWN_FLAG.search(str(error)) is None:
            raise
        answer = _write(bd, set_status(issue.id, IssueStatus.IN_PROGRESS))
    names = (item.get("assignee") for item in answer.items if item.get("id") == issue.id)
    assignee = next((name for name in names if isinstance(name, str)), issue.assignee)
    return replace(issue, status=IssueStatus.IN_PROGRESS, assignee=assignee)


def apply_commands(bd: Bd, commands: Iterable[BeadsCommand]) -> None:
    """Run commands in order; raises ``IssuesRefused`` at the first that is refused.

    Earlier ones are not undone; callers that restore something read the issues again.
    """
    for command in commands:
        _write(bd, command)


_CALM = {"NO_COLOR": "1", "GIT_TERMINAL_PROMPT": "0"}
_ANSWERED_WITH_ISSUES = frozenset({"update", "close", "create", "reopen"})
_UNKNOWN_FLAG = re.compile(r"unknown (?:shorthand )?flag|unrecognized argument|no such option")
_INVALID_STATUS = re.compile(r"invalid status|unknown status|invalid choice")
_NOT_FOUND = re.compile(r"not found|no issue|does not exist|no such issue", re.IGNORECASE)
_NO_DATABASE = re.compile(
    r"no (?:beads|bd|\.beads)?\s*(?:database|directory|workspace)|not (?:been )?initiali[sz]ed"
    r"|run ['\"`]?bd init",
    re.IGNORECASE,
)


_FINAL = re.compile(
    r"invalid|required|read-only|already (?:claimed|exists)|blocked by|cycle|no issue found",
    re.IGNORECASE,
)
"""Refusals that a retry does not change."""


def _write(bd: Bd, command: BeadsCommand) -> BeadsOutput:
    """Run a write, again where it failed without effect; raises ``IssuesRefused``."""
    for seconds in RETRY_AFTER_SECONDS:
        try:
            return _do(bd, command)
        except (IssuesRefused, IssuesMissing) as error:
            if _UNKNOWN_FLAG.search(str(error)) or bd.supervisor.wait(seconds):
                raise
            if is_in_effect(command, _issue(bd, commanded_issue(command))):
                return BeadsOutput()
            if _is_final(error) or _is_late(error):
                raise
    return _do(bd, command)


def _is_final(error: IssuesRefused | IssuesMissing) -> bool:
    message = str(error)
    patterns = (_FINAL, _UNKNOWN_FLAG, _INVALID_STATUS, _NOT_FOUND, _NO_DATABASE)
    return any(one.search(message) is not None for one in patterns)


def _is_late(error: IssuesRefused | IssuesMissing) -> bool:
    """Whether it timed out: another try would delay everything."""
    return isinstance(error.__cause__, subprocess.TimeoutExpired)


def _issue(bd: Bd, issue_id: str) -> BeadsIssue | None:
    """One issue as it is now; None if it is gone or unreadable."""
    with contextlib.suppress(IssuesRefused, IssuesMissing):
        for item in _one(bd, issue_id).values():
            return read_issue(item)[0]
    return None


def _do(bd: Bd, command: BeadsCommand) -> BeadsOutput:
    answer = read_output(_ask(bd, command))
    is_silent = not any(item.get("id") for item in answer.items)
    if is_silent and command[0] in _ANSWERED_WITH_ISSUES:
        raise _refusal(bd, command, "it printed nothing about the issue")
    return answer


def _read(
    bd: Bd, parent: str | None, before: BeadsSnapshot | None, whole: Iterable[str] = ()
) -> BeadsSnapshot:
    listed, oddities = _lists(bd)
    found = {str(item.get("id")): item for item in listed}
    known = {} if before is None else before.by_id()
    unclear = dict.fromkeys(issue_id for issue_id in known if issue_id not in found)
    unclear |= dict.fromkeys(
        issue_id
        for issue_id, item in found.items()
        if _is_unclear(item, known.get(issue_id), has_parent=parent is not None)
    )
    unclear |= dict.fromkeys(whole)
    found |= {str(item.get("id")): item for item in _details(bd, tuple(unclear))}
    found = {issue_id: _with_reason(bd, item) for issue_id, item in found.items()}
    offered = _answer(bd, ("ready", "--limit", str(MOST_READY)))
    return take_snapshot(
        found.values(),
        ready=[str(item.get("id")) for item in offered.items],
        parent=parent,
        oddities=[*oddities, *offered.oddities],
    )


def _is_unclear(item: Mapping[str, Any], was: BeadsIssue | None, *, has_parent: bool) -> bool:
    """Whether a list omits required fields of an issue.

    For a closed one these are its parent, its dependencies and the reason of closing: without
    them it would look as if a dependency had been removed.
    """
    if item.get("status") != IssueStatus.CLOSED:
        return lacks_dependencies(item)
    if lacks_dependencies(item) and (has_parent or (was is not None and was.dependencies)):
        return True
    return was is not None and not was.is_closed and not item.get("close_reason")


def _with_reason(bd: Bd, item: Mapping[str, Any]) -> Mapping[str, Any]:
    """A closed issue of a release without reasons, with its notes as the reason."""
    notes = item.get("notes")
    lacks = item.get("status") == IssueStatus.CLOSED and not item.get("close_reason")
    if not lacks or not isinstance(notes, str) or has_close_reasons(bd):
        return item
    return {**item, "close_reason": reason_in_notes(notes), "reason_from_notes": True}


def _lists(bd: Bd) -> tuple[list[Mapping[str, Any]], list[BeadsOddity]]:
    """All issues at once; releases without such a list are asked for each status."""
    try:
        answer = _answer(bd, ("list", "--all", "--limit", "0"))
    except IssuesRefused as error:
        if _UNKNOWN_FLAG.search(str(error)) is None:
            raise
        return _lists_by_status(bd)
    return list(answer.items), list(answer.oddities)


def _lists_by_status(bd: Bd) -> tuple[list[Mapping[str, Any]], list[BeadsOddity]]:
    """The issues of each status; a list has at most fifty by default."""
    items: list[Mapping[str, Any]] = []
    oddities: list[BeadsOddity] = []
    without_end: BeadsCommand = ("--limit", "0")
    for status in IssueStatus:
        command = ("list", "--status", str(status))
        try:
            try:
                answer = _answer(bd, (*command, *without_end))
            except IssuesRefused as error:
                if _UNKNOWN_FLAG.search(str(error)) is None:
                    raise
                without_end = ()
                answer = _answer(bd, command)
        except IssuesRefused as error:
            # Old releases have no deferred issues.
            if status is IssueStatus.DEFERRED and _INVALID_STATUS.search(str(error)):
                continue
            raise
        items += answer.items
        oddities += answer.oddities
    return items, oddities


def _details(bd: Bd, ids: Sequence[str]) -> Iterator[Mapping[str, Any]]:
    """Each of these issues with all fields; deleted ones are omitted."""
    for begin in range(0, len(ids), SHOWN_AT_ONCE):
        wanted = list(ids[begin : begin + SHOWN_AT_ONCE])
        shown: dict[str, Mapping[str, Any]] = {}
        if len(wanted) > 1:
            with contextlib.suppress(IssuesRefused):
                answer = _answer(bd, ("show", *wanted))
                shown = {str(item.get("id")): item for item in answer.items}
        for issue_id in wanted:
            if issue_id not in shown:
                shown |= _one(bd, issue_id)
        yield from shown.values()


def _one(bd: Bd, issue_id: str) -> dict[str, Mapping[str, Any]]:
    try:
        answer = _answer(bd, ("show", issue_id))
    except IssuesRefused as error:
        if _NOT_FOUND.search(str(error)) is None:
            raise
        return {}
    return {str(item.get("id")): item for item in answer.items if item.get("id") == issue_id}


def _answer(bd: Bd, command: BeadsCommand) -> BeadsOutput:
    """Output of a command; failed reads are retried."""
    for seconds in RETRY_AFTER_SECONDS:
        try:
            return _answer_once(bd, command)
        except (IssuesRefused, IssuesMissing) as error:
            if _is_final(error) or _is_late(error) or bd.supervisor.wait(seconds):
                raise
    return _answer_once(bd, command)


def _answer_once(bd: Bd, command: BeadsCommand) -> BeadsOutput:
    answer = read_output(_ask(bd, command))
    if answer.error is not None:
        raise _refusal(bd, command, answer.error)
    return answer


def _ask(bd: Bd, command: BeadsCommand) -> str:
    """Standard output; raises ``IssuesRefused``, and ``IssuesMissing`` without a database."""
    try:
        code, stdout, stderr = run_program(
            [bd.program, *command, "--json"],
            cwd=bd.root,
            environment=bd.environment,
            timeout_seconds=bd.timeout_seconds,
            largest_answer=LARGEST_ANSWER,
            supervisor=bd.supervisor,
        )
    except subprocess.TimeoutExpired as error:
        raise IssuesMissing(
            f"bd {command[0]} did not answer within {bd.timeout_seconds:g} s in {bd.root}; find "
            "out why: bd doctor"
        ) from error
    except OSError as error:
        raise IssuesMissing(
            f"{bd.program} cannot be run: {error.strerror or error}; check it: bd version"
        ) from error
    answer = read_output(stdout) if code == 0 and command[0] in _ANSWERED_WITH_ISSUES else None
    is_silent = answer is not None and not answer.items and bool(stderr.strip())
    if code == 0 and not is_silent:
        return stdout
    message = read_error(stderr, stdout)
    if _NO_DATABASE.search(message):
        raise IssuesMissing(
            f"bd has no issues in {bd.root}: {message}; create its database with bd init, or "
            "choose another profile with --profile"
        )
    raise _refusal(bd, command, message or f"it ended with code {code}")


def _refusal(bd: Bd, command: BeadsCommand, message: str) -> IssuesRefused:
    shown = " ".join(word if len(word) <= _SHOWN_WORD else "…" for word in command[:4])
    return IssuesRefused(f"bd {shown} failed in {bd.root}: {message}")


_SHOWN_WORD = 40
