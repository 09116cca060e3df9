"""A plan as viewers see it: its tasks now, wherever they are stored.

The request that a run works on, where that is its plan.

``Request`` is what is kept in a run's folder, so that the run knows the same request to its end;
``RequestView`` is what viewers see. A request's text was written by others: it is quoted
wherever it is shown, and never made into a command.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from ralph_ls.protocol.base import WireModel
from ralph_ls.protocol.task_words import ShownPriority, TaskState


class TaskView(WireModel):
    """One task as ``ralph plan --json`` and every viewer shows it."""

    id: str
    title: str
    state: TaskState
    priority: ShownPriority | None = None
    section: str = ""
    """The heading above the task, without marks."""
    line: int
    """From 1, in the plan file."""
    optional: bool = False
    """It is in an optional section, so it is not required."""
    blocked_by: str | None = None
    criteria: tuple[str, ...] = ()


class PlanProblem(WireModel):
    """One thing in the plan that could not be read as meant."""

    code: str
    message: str
    line: int
    """From 1."""


STDIN = "-"
"""What names standard input, where a file could be named."""

FORMS = "123, #123, owner/name#123 or https://github.com/owner/name/issues/123"
"""How an issue on GitHub can be named."""

_NUMBER = r"(?P<number>[1-9][0-9]{0,9})"
_HOST = r"[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::[0-9]{1,5})?"
_REPOSITORY = r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._][A-Za-z0-9._-]*"
_SHORT = re.compile(rf"(?:(?P<repository>(?:{_HOST}/)?{_REPOSITORY})#|#?){_NUMBER}")
_URL = re.compile(
    rf"https?://(?:www\.)?(?P<host>{_HOST})/(?P<repository>{_REPOSITORY})/issues/{_NUMBER}"
    r"/?(?:[?#][^\s]*)?"
)


def names_a_repository(text: str) -> bool:
    """Whether a text names a repository on GitHub: ``owner/name`` or ``host/owner/name``."""
    return re.fullmatch(rf"(?:{_HOST}/)?{_REPOSITORY}", text) is not None


class RequestKind(StrEnum):
    """Where a request comes from."""

    FILE = "file"
    STDIN = "stdin"
    GITHUB = "github"


class RequestView(WireModel):
    """A request, as a viewer names it."""

    kind: RequestKind = RequestKind.FILE
    title: str
    source: str
    """``issue.md``, ``standard input`` or ``owner/name#123``."""
    url: str | None = None
    """Where people see it, if they can."""


class Request(WireModel):
    """A request, whole, as it was when the run began; without secrets."""

    kind: RequestKind
    title: str
    source: str
    """As for ``RequestView``."""
    text: str
    """Markdown, as the agent gets it: of an issue also its title and its comments."""
    url: str | None = None
    is_closed: bool = False
    """Somebody has closed the issue already."""
    comments_left_out: int = 0
    """Comments for which there was no room, the oldest ones."""

    @property
    def view(self) -> RequestView:
        return RequestView(kind=self.kind, title=self.title, source=self.source, url=self.url)


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueReference:
    """An issue on GitHub, as somebody named it."""

    number: int
    repository: str | None = None
    """``owner/name``, with a host in front where it is another than GitHub's; None: this one's."""

    def __str__(self) -> str:
        return f"{self.repository or ''}#{self.number}"


def read_reference(text: str) -> IssueReference | None:
    """The issue that a text names in one of ``FORMS``; None where it names none."""
    stripped = text.strip()
    found = _URL.fullmatch(stripped)
    if found is not None:
        host = found["host"].lower()
        own = host == "github.com"
        repository = found["repository"] if own else f"{host}/{found['repository']}"
        return IssueReference(number=int(found["number"]), repository=repository)
    found = _SHORT.fullmatch(stripped)
    if found is None:
        return None
    return IssueReference(number=int(found["number"]), repository=found["repository"])
