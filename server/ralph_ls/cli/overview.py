"""``ralph`` alone: what waits for the user, the state of this repository, and the next command.

It is the first thing that a newcomer types, so it answers at once: without a run it loads neither
settings nor the views of a run.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ralph_ls.cli.output import print_rows
from ralph_ls.core.plurals import count_of
from ralph_ls.protocol.errors import RalphError, WorkspaceMissing
from ralph_ls.store.layout import StateFolder, Worktree, find_worktree, state_root
from ralph_ls.store.run.state_index import find_state

if TYPE_CHECKING:
    from ralph_ls.store.run.runs import FoundRun

Row = tuple[str, str]
"""A heading and its text."""


def show_overview() -> None:
    """Print one screen about the repository around the working folder."""
    try:
        worktree = find_worktree(Path.cwd())
    except WorkspaceMissing:
        rows = [
            ("Here", "no git repository"),
            ("Next", "ralph demo  (a whole run on a sample project, without a key)"),
            ("", "or change into your repository, then: ralph init"),
        ]
    else:
        rows = _rows(worktree, find_state(state_root(os.environ), worktree))
    print_rows([*rows, ("Help", "ralph --help")])


def _rows(worktree: Worktree, state: StateFolder) -> list[Row]:
    from ralph_ls.store.run.lock import read_owner

    approve = _approval(worktree, state)
    # A run may have its state in a folder that its owner names.
    if state.run_ids() or read_owner(worktree.git_dir) is not None:
        from ralph_ls.store.run.runs import find_run

        found = find_run(worktree, state)
        if found is not None:
            return _rows_of_run(worktree.root, found, approve)
    plan = _plan_name(worktree.root)
    here = f"{worktree.root}, " + (f"no run yet, plan {plan}" if plan else "no loop here yet")
    following = "ralph allow" if approve else "ralph run" if plan else "ralph init"
    return [*approve, ("Here", here), ("Next", following)]


def _rows_of_run(root: Path, found: FoundRun, approve: list[Row]) -> list[Row]:
    from ralph_ls.core.views.text.status import needs_user, progress_of_plan, status_answers
    from ralph_ls.engine.clock import SystemClock

    state, clock = found.state, SystemClock()
    pid = found.owner.pid if found.owner is not None and found.live else None
    zone, now = clock.local().tzinfo, clock.now()
    answers = dict(status_answers(state, found.phase, pid=pid, zone=zone, now=now))
    question = _question(root, found)
    rows: list[Row] = []
    following = answers["Next"]
    if question:
        rows, following = question, "ralph answer"
    elif approve:
        rows, following = approve, "ralph allow"
    elif needs_user(state, found.phase):
        rows = [("Needs you", answers["Needs you"])]
    shown = ["Running", "Doing"] if found.live else ["Stopped"]
    rows = [*rows, *((heading, answers[heading]) for heading in shown)]
    progress = (
        [] if found.live or state.request is not None else [("Plan", progress_of_plan(state))]
    )
    return [*rows, *progress, ("Next", following)]


def _question(root: Path, found: FoundRun) -> list[Row]:
    """The open question with its options, numbered as ``ralph answer`` numbers them."""
    from ralph_ls.core.views.panel.question import question_lines

    question = open_question(root, found)
    return [] if question is None else [("Question", "\n".join(question_lines(question)))]


def open_question(root: Path, found: FoundRun) -> str | None:
    """The question without an answer, of the run or of the file that an earlier one left."""
    from ralph_ls.core.loop.rules.waits import asking_lanes, question_of_lane
    from ralph_ls.store.run.halt_files import load_halt_files

    if found.state.lanes:
        asking = asking_lanes(found.state)
        return question_of_lane(asking[0]) if asking else None
    halt = load_halt_files(root, found.state.config.paths)
    asked = found.state.question
    if halt.answer is not None or (asked is not None and asked.answer is not None):
        return None
    return halt.question if asked is None else asked.question


def _approval(worktree: Worktree, state: StateFolder) -> list[Row]:
    missing = unapproved_keys(worktree, state)
    words = f"{count_of(len(missing), 'command')} of this repository: {', '.join(missing)}"
    return [("Approve", words)] if missing else []


def unapproved_keys(worktree: Worktree, state: StateFolder) -> list[str]:
    """What would run here and is not approved."""
    if not (worktree.root / ".ralph").is_dir():
        return []
    from ralph_ls.store.project import trust
    from ralph_ls.store.project.config_file import load_settings

    try:
        settings = load_settings(worktree.root, os.environ, {})
        approved = trust.read_record(state).allowed
        claims = trust.claims_of(worktree.root, settings.config, settings.from_file, approved)
        return [claim.key for claim in trust.unapproved_claims(state, claims)]
    except RalphError:
        # ``ralph run`` and ``ralph doctor`` report by file and line what is wrong.
        return []


def _plan_name(root: Path) -> str | None:
    from ralph_ls.cli.completion import plan_of

    return plan_of(root)
