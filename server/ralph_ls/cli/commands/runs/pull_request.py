"""``ralph pr``: pushes what a parallel run has merged, and opens pull requests for it with ``gh``.

It shows what it is going to push, and asks. A branch is never pushed by force.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from ralph_ls.cli.commands.runs.target import find_target as find_run
from ralph_ls.cli.flags import Json, Yes
from ralph_ls.cli.output import emit_document, print_text
from ralph_ls.cli.parameters import argument, flag, option
from ralph_ls.core.loop.lanes import branch_of_run
from ralph_ls.core.loop.profiles import is_parallel
from ralph_ls.core.plurals import count_of
from ralph_ls.core.views.text.pull_requests import PullRequest, pull_requests_of
from ralph_ls.protocol.errors import UsageError
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.verb_output import OpenedPullRequest, PullRequests
from ralph_ls.store.run.runs import load_state


def pull_request_verb(
    run: Annotated[
        str | None,
        argument("[RUN]", "Run, by the beginning or end of its id.", default="the last run"),
    ] = None,
    each: Annotated[bool, flag("--each", text="One a task, each based on the one before.")] = False,
    base: Annotated[
        str | None,
        option(
            "BRANCH", "Branch to merge into.", default="the branch on which the run was started"
        ),
    ] = None,
    draft: Annotated[bool, flag("--draft", text="Open them as drafts.")] = False,
    dry_run: Annotated[
        bool, flag("--dry-run", text="Show what would be pushed, and push nothing.")
    ] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Push what a parallel run has merged, and open a pull request for it.

    It needs gh, the command line of GitHub. Shows what it pushes first, and asks.
    """
    from ralph_ls.engine.delivery.pull_requests import find_target, open_all

    chosen = find_run(run, None)
    root = chosen.place.worktree.root
    wanted = _wanted(load_state(chosen.files), each=each, base=base)
    target = find_target(root, wanted[0].branch)
    if not as_json:
        for one in wanted:
            print_text(f"{one.branch} at {one.commit[:7]}, for {one.base or 'the default branch'}")
            print_text(f"    {one.title}")
    if dry_run:
        opened = [OpenedPullRequest(branch=one.branch, commit=one.commit) for one in wanted]
        report = "Nothing was pushed: this was a dry run"
    else:
        if not yes:
            _require_consent(len(wanted), target.remote, can_ask=sys.stdin.isatty() and not as_json)
        opened = list(open_all(target, wanted, draft=draft))
        report = "\n".join(one.url or "" for one in opened)
    if as_json:
        emit_document(PullRequests(done=not dry_run, requests=tuple(opened)))
    else:
        print_text(report)


def _wanted(state: RunState, *, each: bool, base: str | None) -> tuple[PullRequest, ...]:
    if not is_parallel(state.config):
        raise UsageError(
            f"run {state.run} worked on one task at a time, on your branch; push that yourself: "
            "git push && gh pr create"
        )
    wanted = pull_requests_of(state, each=each, base=base)
    if not wanted:
        raise UsageError(f"run {state.run} has merged nothing, so there is nothing to push")
    if not each and wanted[0].base is None and state.config.lane.direct:
        raise UsageError(
            f"--direct has moved {branch_of_run(state)} itself; name the branch to merge into: "
            "ralph pr --base main"
        )
    return wanted


def _require_consent(count: int, remote: str, *, can_ask: bool) -> None:
    if not can_ask:
        raise UsageError(
            "pushing needs a terminal to ask on, or --yes; look first: ralph pr --dry-run"
        )
    if not typer.confirm(f"Push to {remote} and open {count_of(count, 'pull request')}?"):
        print_text("Nothing was pushed")
        raise typer.Exit(1)
