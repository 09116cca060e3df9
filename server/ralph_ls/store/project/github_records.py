"""GitHub records: the file in which a project keeps what was done about its issues.

All clones of a project share it, so that none takes an issue that another has finished. Several
engines may write it: each changes only its own records, in the newest content.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path

from ralph_ls.core.plan.formats.github.format import MIRROR
from ralph_ls.core.plan.formats.github.records import (
    IssueRecord,
    read_records,
    records_to_bytes,
    to_close_lines,
)
from ralph_ls.protocol.errors import RalphError, StateUnusable
from ralph_ls.protocol.run.state import RunState
from ralph_ls.store.files import (
    PRIVATE_FILE,
    ChangedMeanwhile,
    make_private_folder,
    read_regular,
    write_atomic,
)
from ralph_ls.store.layout import find_worktree, state_folder, state_root
from ralph_ls.store.project.project_state import find_project

FILE = "github-issues.json"
LARGEST = 8 << 20
TRIES = 20

Records = Mapping[int, IssueRecord]


def records_path(root: Path, environment: Mapping[str, str]) -> Path:
    """The file of the project of a work tree; runs git."""
    state = state_folder(state_root(environment), find_worktree(root))
    return find_project(root, state).folder / FILE


def load_records(path: Path) -> dict[int, IssueRecord]:
    """The records, by number; raises ``StateUnusable`` where the file cannot be read."""
    return read_records(read_regular(path, LARGEST) or b"")


def lines_to_close(state: RunState, environment: Mapping[str, str]) -> tuple[str, ...]:
    """The lines of a run's summary about finished issues that are open on GitHub.

    Without any where the plan is no queue, or its records cannot be read.
    """
    if state.plan != MIRROR:
        return ()
    try:
        records = load_records(records_path(Path(state.workspace), environment))
    except RalphError:
        return ()
    return to_close_lines(records.values(), is_writing=state.config.plan.github.write)


def change_records(path: Path, change: Callable[[Records], Records]) -> Records:
    """Change the records in one step, and return them; raises ``StateUnusable``."""
    make_private_folder(path.parent)
    for _ in range(TRIES):
        data = read_regular(path, LARGEST)
        known = read_records(data or b"")
        changed = change(known)
        if changed == known:
            return known
        with contextlib.suppress(ChangedMeanwhile):
            write_atomic(path, records_to_bytes(changed), mode=PRIVATE_FILE, expected=data)
            return changed
    raise StateUnusable(f"another program keeps writing {path}; stop it, then try again")
