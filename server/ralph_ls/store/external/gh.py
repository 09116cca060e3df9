"""GitHub: runs ``gh``, GitHub's command line, to read issues, comments and rights, and to comment.

Each command is a list of words, never a shell line; it has a time limit, and its whole process
group ends with it. A ``gh`` of the work tree is never run. Authentication is between ``gh`` and
GitHub: no token is known or requested here.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum, auto
from pathlib import Path

from ralph_ls.core.plan.formats.request import GithubIssue, read_github_issue
from ralph_ls.protocol.errors import RalphError, RequestMissing
from ralph_ls.protocol.plan import IssueReference
from ralph_ls.store.external.git_command import without_git_redirections
from ralph_ls.store.external.programs import find_trusted_program, run_program
from ralph_ls.store.external.supervisor import Supervisor

TIMEOUT_SECONDS = 60.0
LARGEST_ANSWER = 64 * 1024 * 1024
FIELDS = ("number", "title", "body", "comments", "url", "state")


@dataclass(frozen=True, slots=True, kw_only=True)
class Gh:
    """A ``gh`` program, and where it is run."""

    program: str
    """Path of the program."""
    root: Path
    environment: Mapping[str, str]
    timeout_seconds: float = TIMEOUT_SECONDS


def find_gh(
    root: Path,
    environment: Mapping[str, str],
    *,
    timeout_seconds: float = TIMEOUT_SECONDS,
    instead: str = "give the request's text: ralph run --issue FILE",
) -> Gh:
    """Find ``gh`` on PATH outside of the work tree; raises ``RequestMissing`` without one.

    ``instead`` is what the user can do without.
    """
    found = find_trusted_program("gh", root, environment.get("PATH", ""))
    if found is None:
        raise RequestMissing(
            "issues on GitHub are read with gh, which was not found on PATH; install it "
            f"(https://cli.github.com) and run gh auth login, or {instead}"
        )
    around = {
        name: value
        for name, value in without_git_redirections(environment).items()
        if name not in _NOISY
    }
    return Gh(program=found, root=root, environment=around | _CALM, timeout_seconds=timeout_seconds)


def gh_version(gh: Gh) -> str:
    """The release as it names itself; raises ``RequestMissing`` where it cannot be run."""
    try:
        done = run_program(
            [gh.program, "--version"],
            cwd=gh.root,
            environment=gh.environment,
            timeout_seconds=gh.timeout_seconds,
            largest_answer=LARGEST_ANSWER,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RequestMissing(f"{gh.program} cannot be run: {error}; reinstall gh") from error
    return next(iter(done.stdout.splitlines()), "gh").removesuffix(")").replace(" (", ", ")


def view_issue(gh: Gh, reference: IssueReference) -> GithubIssue:
    """The issue with all its comments; raises ``RequestMissing`` with the remedy."""
    words = ("issue", "view", str(reference.number), *_repository(reference))
    try:
        code, stdout, stderr = run_program(
            [gh.program, *words, "--json", ",".join(FIELDS)],
            cwd=gh.root,
            environment=gh.environment,
            timeout_seconds=gh.timeout_seconds,
            largest_answer=LARGEST_ANSWER,
        )
    except subprocess.TimeoutExpired as error:
        raise RequestMissing(
            f"gh did not answer within {gh.timeout_seconds:g} s when asked for {reference}; try "
            "again, or give the request's text: ralph run --issue FILE"
        ) from error
    except OSError as error:
        raise RequestMissing(
            f"{gh.program} cannot be run: {error.strerror or error}; check it: gh --version"
        ) from error
    if code != 0:
        raise RequestMissing(explain_failure(reference, code, stderr))
    issue = read_github_issue(stdout)
    if issue is None:
        raise RequestMissing(
            f"gh printed no issue for {reference}; see its output: gh {' '.join(words)}"
        )
    if issue.is_pull_request:
        raise RequestMissing(
            f"{reference} is a pull request ({issue.url}); name the issue that it closes"
        )
    return issue


def comment_words(gh: Gh, reference: IssueReference) -> tuple[str, ...]:
    """The command that adds its standard input to an issue as a comment."""
    number, repository = str(reference.number), _repository(reference)
    return (gh.program, "issue", "comment", number, *repository, "--body-file=-")


def open_pull_request(
    gh: Gh, *, head: str, base: str | None, title: str, body: str, draft: bool = False
) -> str:
    """Open a pull request for a pushed branch; gives its URL, or that of the one it has already.

    ``head`` is ``branch`` or ``owner:branch``; ``base`` None is the repository's default branch.
    Raises ``RalphError`` with what ``gh`` printed.
    """
    words = ["pr", "create", "--head", head, "--title", title, "--body-file=-"]
    words += [] if base is None else ["--base", base]
    words += ["--draft"] if draft else []
    try:
        code, stdout, stderr = run_program(
            [gh.program, *words],
            cwd=gh.root,
            environment=gh.environment,
            timeout_seconds=gh.timeout_seconds,
            largest_answer=LARGEST_ANSWER,
            typed=body,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RalphError(f"gh opened no pull request for {head}: {error}") from error
    found = _PULL_REQUEST.findall(f"{stdout}\n{stderr}")
    if found and (code == 0 or "already exists" in stderr):
        return str(found[-1])
    raise RalphError(
        f"gh opened no pull request for {head}: {failure_words(code, stderr)}; open it yourself: "
        f"gh pr create --head {head}"
    )


def explain_failure(reference: IssueReference, code: int, errors: str) -> str:
    """Why ``gh`` could not read an issue, with the remedy, from its exit code and errors."""
    words, kind = failure_words(code, errors), failure_kind(code, errors)
    of = f" of {reference.repository}" if reference.repository else ""
    if kind is GhFailure.NOT_LOGGED_IN:
        return (
            f"gh is not logged in to GitHub, so it cannot read {reference} ({words}); run: "
            "gh auth login, or set GH_TOKEN"
        )
    if kind is GhFailure.NO_ISSUE:
        where = f" --repo {reference.repository}" if reference.repository else ""
        return f"there is no issue #{reference.number}{of}; list the issues: gh issue list{where}"
    if kind is GhFailure.NO_REPOSITORY:
        return (
            f"your GitHub account cannot see the repository {reference.repository or 'here'}; "
            "check its name and your account: gh auth status"
        )
    if kind is GhFailure.NO_REMOTE:
        return (
            f"no remote here is on GitHub, so gh cannot find the repository of {reference}; name "
            "it: ralph run --issue owner/name#123"
        )
    if kind is GhFailure.NO_NETWORK:
        return (
            f"gh cannot reach GitHub, so {reference} cannot be read ({words}); try again "
            "later, or give the request's text: ralph run --issue FILE"
        )
    if kind is GhFailure.TOO_OLD:
        return f"this version of gh cannot read {reference} ({words}); update gh"
    return (
        f"gh could not read {reference}: {words}; try it yourself: gh issue view "
        f"{reference.number}" + (f" --repo {reference.repository}" if reference.repository else "")
    )


class GhFailure(Enum):
    """Why ``gh`` failed."""

    NOT_LOGGED_IN = auto()
    RATE_LIMIT = auto()
    NO_ISSUE = auto()
    NO_REPOSITORY = auto()
    NO_REMOTE = auto()
    NO_NETWORK = auto()
    """Or GitHub itself fails: another try may succeed."""
    TOO_OLD = auto()
    OTHER = auto()


def failure_words(code: int, errors: str) -> str:
    """What ``gh`` printed, on one line."""
    return _cut(" ".join(errors.split()) or f"it ended with code {code}")


def failure_kind(code: int, errors: str) -> GhFailure:
    """Why ``gh`` failed, from its exit code and errors."""
    if code == NOT_LOGGED_IN:
        return GhFailure.NOT_LOGGED_IN
    words = " ".join(errors.split())
    return next((kind for kind, form in _FORMS.items() if form.search(words)), GhFailure.OTHER)


NOT_LOGGED_IN = 4
"""Exit code of ``gh`` without a login."""

_PULL_REQUEST = re.compile(r"https?://\S+/pull/\d+")

_CALM = {
    "GH_PROMPT_DISABLED": "1",
    "GH_NO_UPDATE_NOTIFIER": "1",
    "GH_SPINNER_DISABLED": "1",
    "GH_PAGER": "cat",
    "NO_COLOR": "1",
    "GIT_TERMINAL_PROMPT": "0",
}
_NOISY = frozenset({"GH_FORCE_TTY", "GH_DEBUG", "CLICOLOR_FORCE", "DEBUG"})
"""Variables that would add colours or log lines to the output of ``gh``."""

_LOGIN = re.compile(r"gh auth login|GH_TOKEN|HTTP 401|Bad credentials|requires authentication")
_NO_ISSUE = re.compile(r"Could not resolve to an (?:issue|Issue)")
_NO_REPOSITORY = re.compile(r"Could not resolve to a Repository")
_NO_REMOTE = re.compile(r"no git remotes|none of the git remotes|not a git repository")
_NO_NETWORK = re.compile(
    r"error connecting to|check your internet connection|dial tcp|no such host|i/o timeout"
    r"|connection refused|TLS handshake|network is unreachable|HTTP 50[0234]|unexpected EOF"
    r"|Something went wrong while executing your query",
    re.IGNORECASE,
)
_TOO_OLD = re.compile(r"Unknown JSON field|unknown (?:shorthand )?flag|unknown command")
_RATE_LIMIT = re.compile(r"rate limit|HTTP 429|abuse detection", re.IGNORECASE)
_FORMS = {
    GhFailure.NOT_LOGGED_IN: _LOGIN,
    GhFailure.RATE_LIMIT: _RATE_LIMIT,
    GhFailure.NO_ISSUE: _NO_ISSUE,
    GhFailure.NO_REPOSITORY: _NO_REPOSITORY,
    GhFailure.NO_REMOTE: _NO_REMOTE,
    GhFailure.NO_NETWORK: _NO_NETWORK,
    GhFailure.TOO_OLD: _TOO_OLD,
}
_LONGEST_WORDS = 300


def _cut(words: str) -> str:
    return words if len(words) <= _LONGEST_WORDS else f"{words[:_LONGEST_WORDS].rstrip()}…"


def _repository(reference: IssueReference) -> tuple[str, ...]:
    return (f"--repo={reference.repository}",) if reference.repository else ()


MOST_COMMENTS = 100
"""Comments of one look: all that GitHub gives at once."""


def comments_since(
    gh: Gh, issue: IssueReference, since: datetime, supervisor: Supervisor | None = None
) -> str:
    """The comments on an issue from this moment on, as JSON; raises ``RequestMissing``."""
    moment = since.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    path = f"issues/{issue.number}/comments?per_page={MOST_COMMENTS}&since={moment}"
    return _get(gh, issue, path, supervisor)


def permission_of(
    gh: Gh, issue: IssueReference, login: str, supervisor: Supervisor | None = None
) -> str:
    """What an account may do in the repository now, as JSON; raises ``RequestMissing``."""
    return _get(gh, issue, f"collaborators/{login}/permission", supervisor)


def _get(gh: Gh, issue: IssueReference, path: str, supervisor: Supervisor | None) -> str:
    # Without a repository gh fills in that of the work tree's remote.
    *host, owner, name = (issue.repository or "{owner}/{repo}").split("/")
    at_host = [f"--hostname={host[0]}"] if host else []
    done = run_program(
        [gh.program, "api", "--method=GET", *at_host, f"repos/{owner}/{name}/{path}"],
        cwd=gh.root,
        environment=gh.environment,
        timeout_seconds=gh.timeout_seconds,
        largest_answer=LARGEST_ANSWER,
        supervisor=supervisor,
    )
    if done.code != 0:
        raise RequestMissing(explain_failure(issue, done.code, done.stderr))
    return done.stdout
