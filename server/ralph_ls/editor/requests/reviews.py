"""Commands that show something in the editor: changes, and what an approval or rollback is about.

A text is opened as a private file where the client can show one, else it is part of the answer. An
approval carries the hash of what was shown and is refused where that differs by now; a rollback
does the same (docs/rules.md#trust). What runs is ``ralph allow`` and ``ralph rollback``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from ralph_ls.core.plurals import count_of
from ralph_ls.core.views.model.control_chars import escape_nonprintable
from ralph_ls.editor.requests import control
from ralph_ls.editor.scheduling import run_in_thread
from ralph_ls.editor.worktree.reviews import ReviewedRollback
from ralph_ls.protocol.errors import NotAllowed
from ralph_ls.protocol.lsp.methods import ReplyResult
from ralph_ls.protocol.lsp.row_methods import RollbackParams, RollbackResult
from ralph_ls.protocol.verb_output import Approvals, ApprovedClaim
from ralph_ls.store.external.git_objects import diff_between
from ralph_ls.store.run.launch import parse_refusal, run_to_end

if TYPE_CHECKING:
    from pathlib import Path

    from ralph_ls.editor.worktree.workspaces import Workspaces, WorkspaceView
    from ralph_ls.protocol.lsp.row_methods import ChangesParams

MOST_SHOWN = 1_000_000
"""Characters of a text that is shown; a user reads no more, and an editor may stall."""

SHOWN_COMMITS = 200


async def changes_text(workspaces: Workspaces, params: ChangesParams) -> tuple[Path, str]:
    """What an iteration changed, as a patch, and the file for it."""
    found = await control.iteration_changes(workspaces, params)
    view = workspaces.named(params.workspace)
    patch = await run_in_thread(
        partial(diff_between, view.root, found.base, found.head), name="patch"
    )
    n_files = count_of(len(found.files) + found.more_files, "file")
    head = "the work tree" if found.head is None else found.head
    lines = [
        f"Iteration {found.iteration}: {n_files}, {count_of(len(found.commits), 'commit')}",
        *(f"  {one.hash[:12]} {escape_nonprintable(one.subject)}" for one in found.commits),
        f"From {found.base} to {head}",
        "",
        "",
    ]
    files = view.picture().run_files
    state = view.folders.state
    run = params.run or (files.folder.name if files is not None else "")
    return state.run(run).changes(found.start), limited("\n".join(lines) + patch)


async def rollback_text(
    workspaces: Workspaces, params: RollbackParams
) -> tuple[RollbackResult, str]:
    """What a rollback would undo, by a dry run; it is remembered as shown."""
    found = await control.rollback(workspaces, params.model_copy(update={"dry_run": True}))
    if found.refused is not None:
        return found, found.refused.message
    commits = [
        f"  {one.hash[:12]} {escape_nonprintable(one.subject)}{' (not by a run)' * one.foreign}"
        for one in found.commits[:SHOWN_COMMITS]
    ]
    files = [f"  {escape_nonprintable(path)}" for path in found.files[:SHOWN_COMMITS]]
    n_files = len(found.files) + found.more_files
    undone = f"{count_of(len(found.commits), 'commit')} on {found.branch}"
    lines = [
        f"A rollback to before iteration {found.iteration} undoes {undone}:",
        *commits,
        *_left_out(len(found.commits) - len(commits)),
        f"It changes {count_of(n_files, 'file')}:",
        *files,
        *_left_out(n_files - len(files)),
        f"The branch {found.backup} keeps what is undone.",
    ]
    if found.force_push:
        lines.append(f"The commits were pushed; the remote is not changed: {found.force_push}")
    lines.append("To do it, choose the rollback among the code actions of the same line.")
    return found, "\n".join(lines) + "\n"


def remember_rollback(view: WorkspaceView, workspaces: Workspaces, found: RollbackResult) -> str:
    """Offer the rollback from now on; gives its hash."""
    sha256 = rollback_digest(found)
    workspaces.reviews.rollbacks[view.root] = ReviewedRollback(
        run=found.run,
        start=found.start,
        iteration=found.iteration,
        n_commits=len(found.commits),
        sha256=sha256,
    )
    return sha256


def rollback_digest(found: RollbackResult) -> str:
    """Identifies what a rollback undoes."""
    undone = [found.branch, found.target, *(one.hash for one in found.commits), *found.files]
    return hashlib.sha256("\0".join(undone).encode("utf-8", errors="replace")).hexdigest()


async def require_reviewed(workspaces: Workspaces, params: RollbackParams, sha256: str) -> None:
    """Raise ``NotAllowed`` where the rollback would undo something else than was shown."""
    found = await control.rollback(workspaces, params.model_copy(update={"dry_run": True}))
    if found.refused is None and rollback_digest(found) != sha256:
        raise NotAllowed(
            "the rollback would undo something else by now, so nothing was undone; look at it again"
        )


# ------------------------------------------------------------------------------------ approvals


async def approval_text(workspaces: Workspaces, view: WorkspaceView) -> tuple[str, str | None]:
    """All that would run, and its hash; None where nothing waits for approval."""
    found = await run_allow(workspaces, view)
    if all(one.allowed for one in found.claims):
        return f"Nothing in {view.root} waits for your approval.\n", None
    text, sha256 = "\n".join([*_claim_lines(found.claims), ""]), found.sha256
    if len(text) > MOST_SHOWN:
        return f"{limited(text)}It is too long for an editor; type there: ralph allow\n", None
    return text, sha256


def remember_approval(view: WorkspaceView, workspaces: Workspaces, sha256: str) -> None:
    """Offer the approval from now on."""
    workspaces.reviews.approvals[view.root] = sha256


async def allow(workspaces: Workspaces, view: WorkspaceView, sha256: str) -> ReplyResult:
    """Approve what was shown; refused where that differs by now."""
    workspaces.reviews.approvals.pop(view.root, None)
    await run_allow(workspaces, view, shown=sha256)
    text = f"approved for {view.root}; a change asks again"
    return ReplyResult(accepted=True, code="accepted", text=text)


async def run_allow(
    workspaces: Workspaces, view: WorkspaceView, shown: str | None = None
) -> Approvals:
    """What ``ralph allow --json`` prints; ``shown`` approves what has this hash.

    Giving up waiting does not end it, so that an approval is complete or was never begun.
    """
    approving = [] if shown is None else ["--yes", f"--shown={shown}"]
    order = ["allow", "--json", *approving]
    run_it = partial(run_to_end, order, cwd=view.root, environment=workspaces.environment)
    ran = await run_in_thread(run_it, name="approval")
    if ran.exit_code == 0:
        return Approvals.model_validate_json(ran.out)
    failed = f"ralph allow ended with {ran.exit_code}: {ran.error.removeprefix('ralph: ')}"
    raise parse_refusal(ran.error) or NotAllowed(failed)


def _claim_lines(claims: Sequence[ApprovedClaim]) -> list[str]:
    lines = []
    for one in claims:
        state = "approved" if one.allowed else "NOT APPROVED YET"
        lines.append(f"── {escape_nonprintable(one.key)} ({state})")
        shown = escape_nonprintable(one.text).splitlines() or [f"SHA-256 {one.sha256}"]
        lines += [f"   {line}" for line in shown]
        lines += [f"   not covered: {escape_nonprintable(words)}" for words in one.not_covered]
    lines += [
        "",
        "To allow all of this, choose it among the code actions of the plan's first line.",
    ]
    return lines


# ------------------------------------------------------------------------------------------ text


def limited(text: str) -> str:
    """At most as much as is shown."""
    if len(text) <= MOST_SHOWN:
        return text
    return f"{text[:MOST_SHOWN]}\n(and {len(text) - MOST_SHOWN:,} more characters)\n"


def _left_out(n: int) -> list[str]:
    return [f"  and {n} more"] if n > 0 else []
