"""GitHub queue by ``gh``: reads issues and the rights of people, and writes to issues.

As in ``store.external.gh``, a command is a list of words, and what is long or foreign is its
standard input. A read that failed for want of a network is tried again; a write is not, since
callers look first whether it was done.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from ralph_ls.core.plan.formats.github.admission import may_triage
from ralph_ls.core.plan.formats.github.issues import (
    MOST_ISSUES,
    MOST_STATES,
    QueueIssue,
    QueuePage,
    QueueQuery,
    issue_request,
    page_request,
    read_milestone,
    read_page,
    read_states,
    states_request,
)
from ralph_ls.protocol.errors import IssuesMissing, IssuesRefused
from ralph_ls.store.external.gh import (
    LARGEST_ANSWER,
    Gh,
    GhFailure,
    failure_kind,
    failure_words,
)
from ralph_ls.store.external.programs import ProgramOutput, run_program
from ralph_ls.store.external.supervisor import Supervisor

RETRY_AFTER_SECONDS = (0.5, 2.0, 8.0)
"""Delays before each of three retries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GithubPlace:
    """A repository on GitHub, and the ``gh`` that talks to it."""

    gh: Gh
    owner: str
    name: str
    host: str | None = None
    """None: the one that ``gh`` takes by default."""
    supervisor: Supervisor = field(default_factory=Supervisor)
    retry_after: Sequence[float] = RETRY_AFTER_SECONDS

    @property
    def shown(self) -> str:
        return f"{self.owner}/{self.name}"

    @property
    def full(self) -> str:
        """As ``gh`` wants it."""
        return self.shown if self.host is None else f"{self.host}/{self.shown}"


def find_place(gh: Gh, repository: str | None, supervisor: Supervisor) -> GithubPlace:
    """The repository with this name, else that of the work tree's remote.

    Raises ``IssuesMissing``.
    """
    if repository is not None:
        *hosts, owner, name = repository.split("/")
        place = GithubPlace(gh=gh, owner=owner, name=name, supervisor=supervisor)
        return replace(place, host=hosts[0]) if hosts else place
    unknown = GithubPlace(gh=gh, owner="", name="", supervisor=supervisor)
    done = _read(unknown, ("repo", "view", "--json=nameWithOwner,url"))
    try:
        found = json.loads(done.stdout)
        owner, name = str(found["nameWithOwner"]).split("/")
        host = re.match(r"https?://([^/]+)/", str(found["url"]))
    except (ValueError, KeyError, TypeError) as error:
        raise IssuesMissing(
            "gh printed no repository; see its output: gh repo view --json nameWithOwner,url"
        ) from error
    return replace(unknown, owner=owner, name=name, host=None if host is None else host[1])


def read_queue(
    place: GithubPlace, *, label: str | None, milestone: str | None
) -> tuple[QueuePage, int]:
    """The open issues, at most ``MOST_ISSUES``, and how many more there are.

    Raises ``IssuesMissing``.
    """
    number = None if milestone is None else _milestone(place, milestone)
    query = QueueQuery(owner=place.owner, name=place.name, label=label, milestone=number)
    found: list[QueueIssue] = []
    after = None
    while True:
        page, query = _page(place, query, after)
        found += page.issues
        after = page.after
        if after is None or len(found) >= MOST_ISSUES:
            break
    _require_usable(place, page)
    more = max(0, page.total - len(found)) if after is not None else 0
    return replace(page, issues=tuple({one.number: one for one in found}.values())), more


def read_one(place: GithubPlace, number: int) -> QueuePage:
    """One issue with its newest comments; no issue where it is gone. Raises ``IssuesMissing``."""
    page, _ = _page(place, QueueQuery(owner=place.owner, name=place.name), None, number=number)
    return page


def states_of(place: GithubPlace, numbers: Sequence[int]) -> dict[int, bool]:
    """Whether each of these issues is open; without those that are gone.

    Raises ``IssuesMissing``.
    """
    query = QueueQuery(owner=place.owner, name=place.name)
    found: dict[int, bool] = {}
    for begin in range(0, len(numbers), MOST_STATES):
        done = _ask(place, states_request(query, numbers[begin : begin + MOST_STATES]))
        if done.code != 0 and read_page(done.stdout) is None:
            raise _failure(place, done)
        found |= read_states(done.stdout)
    return found


def triage_right(place: GithubPlace, login: str) -> bool | None:
    """Whether an account may triage now; None where GitHub did not say so."""
    path = f"repos/{place.shown}/collaborators/{login}/permission"
    try:
        done = _run(place, _api(place, path))
    except (OSError, subprocess.TimeoutExpired):
        return None
    if done.code == 0:
        return may_triage(done.stdout)
    return False if "HTTP 404" in done.stderr else None


def is_on_branch(place: GithubPlace, branch: str, commit: str) -> bool:
    """Whether the branch on GitHub has the commit; what is not known there is not on it."""
    path = f"repos/{place.shown}/compare/{branch}...{commit}?per_page=1"
    try:
        done = _run(place, _api(place, path))
        status = json.loads(done.stdout).get("status") if done.code == 0 else None
    except (OSError, subprocess.TimeoutExpired, ValueError, AttributeError, RecursionError):
        return False
    return status in {"identical", "behind"}


def claim(place: GithubPlace, number: int, label: str | None) -> None:
    """Mark an issue as being worked on; raises ``IssuesRefused``."""
    flag = "--add-assignee=@me" if label is None else f"--add-label={label}"
    _write(place, ("issue", "edit", str(number), flag))


def release(place: GithubPlace, number: int, label: str | None) -> None:
    """Take the mark away; raises ``IssuesRefused``."""
    flag = "--remove-assignee=@me" if label is None else f"--remove-label={label}"
    _write(place, ("issue", "edit", str(number), flag))


def comment(place: GithubPlace, number: int, body: str) -> None:
    """Write a comment; raises ``IssuesRefused``."""
    _write(place, ("issue", "comment", str(number), "--body-file=-"), typed=body)


def close(place: GithubPlace, number: int) -> None:
    """Close an issue as completed; raises ``IssuesRefused``."""
    _write(place, ("issue", "close", str(number), "--reason=completed"))


def _page(
    place: GithubPlace, query: QueueQuery, after: str | None, *, number: int | None = None
) -> tuple[QueuePage, QueueQuery]:
    """A page, and the query that this GitHub understands."""
    for asked in (query, replace(query, native=False)):
        request = page_request(asked, after) if number is None else issue_request(asked, number)
        done = _ask(place, request)
        page = read_page(done.stdout)
        if done.code == 0 and page is not None:
            return page, asked
        if page is not None and number is not None and _is_gone(done):
            return page, asked
        if not _UNKNOWN_FIELD.search(f"{done.stdout} {done.stderr}"):
            raise _failure(place, done)
    raise _failure(place, done)


def _is_gone(done: ProgramOutput) -> bool:
    return failure_kind(done.code, done.stderr) is GhFailure.NO_ISSUE


_UNKNOWN_FIELD = re.compile(r"undefinedField|doesn't exist on type|Cannot query field")


def _milestone(place: GithubPlace, title: str) -> int:
    path = f"repos/{place.shown}/milestones?state=open&per_page=100"
    number = read_milestone(_read(place, _api(place, path)).stdout, title)
    if number is None:
        raise IssuesMissing(
            f"{place.shown} has no open milestone {title!r}; see its milestones: "
            f"gh api repos/{place.shown}/milestones --jq '.[].title'"
        )
    return number


def _require_usable(place: GithubPlace, page: QueuePage) -> None:
    if not page.has_issues:
        raise IssuesMissing(
            f"the repository {page.repository} has no issues on GitHub, because they are switched "
            "off; enable them in its settings, or choose another plan with --plan"
        )
    if page.is_archived:
        raise IssuesMissing(
            f"the repository {page.repository} is archived on GitHub, so its issues cannot be "
            "worked off; choose another plan with --plan"
        )
    if not page.repository:
        raise IssuesMissing(f"GitHub gave no answer about {place.shown}; try again later")


def _api(place: GithubPlace, path: str) -> tuple[str, ...]:
    host = () if place.host is None else (f"--hostname={place.host}",)
    return ("api", "--method=GET", *host, path)


def _ask(place: GithubPlace, request: str) -> ProgramOutput:
    """The answer to a GraphQL request, which may have errors; raises ``IssuesMissing``."""
    host = () if place.host is None else (f"--hostname={place.host}",)
    return _read(place, ("api", "graphql", *host, "--input=-"), typed=request, is_checked=False)


def _read(
    place: GithubPlace, words: Sequence[str], *, typed: str = "", is_checked: bool = True
) -> ProgramOutput:
    """The answer to a read, tried again where there was none; raises ``IssuesMissing``."""
    done = _read_once(place, words, typed)
    for seconds in place.retry_after:
        if not _is_lost(done) or place.supervisor.wait(seconds):
            break
        done = _read_once(place, words, typed)
    if done.code != 0 and (is_checked or not done.stdout.strip() or _is_lost(done)):
        raise _failure(place, done)
    return done


def _read_once(place: GithubPlace, words: Sequence[str], typed: str) -> ProgramOutput:
    try:
        return _run(place, words, typed=typed)
    except subprocess.TimeoutExpired as error:
        raise IssuesMissing(
            f"gh did not answer within {place.gh.timeout_seconds:g} s; try again later: "
            "ralph run --resume"
        ) from error
    except OSError as error:
        raise IssuesMissing(
            f"{place.gh.program} cannot be run: {error.strerror or error}; check it: gh --version"
        ) from error


def _is_lost(done: ProgramOutput) -> bool:
    return done.code != 0 and failure_kind(done.code, done.stderr) is GhFailure.NO_NETWORK


def _write(place: GithubPlace, words: Sequence[str], *, typed: str = "") -> None:
    try:
        done = _run(place, (*words, f"--repo={place.full}"), typed=typed)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise IssuesRefused(f"gh {' '.join(words[:3])} failed: {error}") from error
    if done.code != 0:
        said = failure_words(done.code, done.stderr)
        raise IssuesRefused(f"gh {' '.join(words[:3])} failed in {place.shown}: {said}")


def _run(place: GithubPlace, words: Sequence[str], *, typed: str = "") -> ProgramOutput:
    return run_program(
        [place.gh.program, *words],
        cwd=place.gh.root,
        environment=place.gh.environment,
        timeout_seconds=place.gh.timeout_seconds,
        largest_answer=LARGEST_ANSWER,
        supervisor=place.supervisor,
        typed=typed,
    )


def _failure(place: GithubPlace, done: ProgramOutput) -> IssuesMissing:
    """Why the issues cannot be read, with the remedy."""
    words, kind = failure_words(done.code, done.stderr), failure_kind(done.code, done.stderr)
    what = f"the issues of {place.shown}" if place.name else "the issues"
    tries = f"{len(place.retry_after) + 1} tries"
    texts = {
        GhFailure.NOT_LOGGED_IN: (
            f"gh is not logged in to GitHub, so it cannot read {what} ({words}); run: "
            "gh auth login, or set GH_TOKEN"
        ),
        GhFailure.RATE_LIMIT: (
            f"GitHub's limit of requests is reached, so {what} cannot be read ({words}); it is "
            "raised again within the hour, then: ralph run --resume; see it: gh api rate_limit"
        ),
        GhFailure.NO_REPOSITORY: (
            f"your GitHub account cannot see the repository {place.shown}; it may be private, "
            "renamed or deleted; check its name and your account: gh repo view, gh auth status"
        ),
        GhFailure.NO_REMOTE: (
            "no remote here is on GitHub, so there is no repository to read issues of; add one "
            "with git remote add, or name it: ralph config set --user plan.github.repository "
            "owner/name"
        ),
        GhFailure.NO_NETWORK: (
            f"gh cannot reach GitHub after {tries}, so {what} cannot be read ({words}); try again "
            "later: ralph run --resume"
        ),
        GhFailure.TOO_OLD: f"this version of gh cannot read {what} ({words}); update gh",
    }
    other = f"gh could not read {what}: {words}; try it yourself: gh issue list"
    return IssuesMissing(texts.get(kind, other))
