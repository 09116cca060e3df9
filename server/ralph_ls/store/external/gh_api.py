"""GitHub's API by ``gh api``: new comments on an issue, and what an author may do.

As in ``store.external.gh``, a command is a list of words; ``gh`` knows the login.
"""

from __future__ import annotations

from datetime import UTC, datetime

from ralph_ls.protocol.errors import RequestMissing
from ralph_ls.protocol.plan import IssueReference
from ralph_ls.store.external.gh import LARGEST_ANSWER, Gh, explain_failure
from ralph_ls.store.external.programs import run_program
from ralph_ls.store.external.supervisor import Supervisor

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
