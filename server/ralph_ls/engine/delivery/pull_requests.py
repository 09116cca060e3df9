"""Pull requests: pushes branches of a parallel run that the user asked to push, and opens them.

A branch is never pushed by force; one that is there already and a pull request that is open already
are left as they are.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ralph_ls.core.views.text.pull_requests import PullRequest
from ralph_ls.engine.delivery.git_delivery import find_remote, without_users
from ralph_ls.protocol.errors import RalphError, UsageError
from ralph_ls.protocol.verb_output import OpenedPullRequest
from ralph_ls.store.external.gh import (
    LARGEST_ANSWER,
    Gh,
    failure_words,
    find_gh,
    open_pull_request,
)
from ralph_ls.store.external.gh_queue import find_place
from ralph_ls.store.external.git_command import git_program, run_git
from ralph_ls.store.external.programs import run_program
from ralph_ls.store.external.supervisor import Supervisor

PUSH_SECONDS = 600.0

_OWNER = re.compile(r"[:/]([A-Za-z0-9-]+)/[^/]+?(?:\.git)?/?$")


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestTarget:
    """Where branches are pushed, and the ``gh`` that opens their pull requests."""

    root: Path
    remote: str
    gh: Gh


def find_target(root: Path, branch: str) -> PullRequestTarget:
    """Raises ``UsageError`` without a remote, and ``RequestMissing`` without ``gh``."""
    remote = find_remote(root, branch)
    if remote is None:
        raise UsageError(f"{root} has no remote to push to; add one: git remote add origin URL")
    instead = f"push it yourself: git push {remote.name} {branch}"
    return PullRequestTarget(
        root=root, remote=remote.name, gh=find_gh(root, os.environ, instead=instead)
    )


def open_all(
    target: PullRequestTarget, wanted: Iterable[PullRequest], *, draft: bool
) -> Iterator[OpenedPullRequest]:
    """Push and open them, one after the other; raises ``RalphError`` at the first that fails."""
    fork = _owner_of_fork(target)
    for one in wanted:
        _push(target, one)
        url = open_pull_request(
            target.gh,
            head=one.branch if fork is None else f"{fork}:{one.branch}",
            base=one.base,
            title=one.title,
            body=one.body,
            draft=draft,
        )
        yield OpenedPullRequest(branch=one.branch, commit=one.commit, url=url)


def _push(target: PullRequestTarget, request: PullRequest) -> None:
    """Push with the user's own git and its hooks; it cannot ask for a password."""
    spec = f"{request.commit}:refs/heads/{request.branch}"
    try:
        done = run_program(
            [git_program(target.root), "push", "--quiet", "--", target.remote, spec],
            cwd=target.root,
            environment={**os.environ, "GIT_TERMINAL_PROMPT": "0"},
            timeout_seconds=PUSH_SECONDS,
            largest_answer=LARGEST_ANSWER,
        )
        problem = "" if done.code == 0 else failure_words(done.code, done.stderr)
    except (OSError, subprocess.TimeoutExpired) as error:
        problem = str(error)
    if problem:
        by_hand = shlex.join(["git", "push", target.remote, spec])
        raise RalphError(
            f"{request.branch} was not pushed to {target.remote}: {without_users(problem)}; try "
            f"it yourself: {by_hand}"
        )


def _owner_of_fork(target: PullRequestTarget) -> str | None:
    """Owner of the fork that is pushed to; None where it is the repository of ``gh`` itself."""
    # As it is set, not as insteadOf rewrites it.
    keys = (f"remote.{target.remote}.pushurl", f"remote.{target.remote}.url")
    urls = [
        run_git(target.root, "config", "--get", key, accept=(0, 1)).decode().strip() for key in keys
    ]
    found = _OWNER.search(urls[0] or urls[1])
    if found is None:
        return None
    own = find_place(target.gh, None, Supervisor()).owner
    return None if found[1].lower() == own.lower() else found[1]
