"""Records of attempts on this machine: which run of which work tree was the last one for a task."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from ralph_ls.engine.fleet.mirror import ref_word
from ralph_ls.engine.parallel.lane_worktree import LaneTree
from ralph_ls.protocol.errors import RalphError
from ralph_ls.store.files import PRIVATE_FILE, make_private_folder, read_if_there, write_atomic
from ralph_ls.store.layout import RunFiles, StateFolder, Worktree, find_worktree, state_root


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRecord:
    """An attempt that has just begun."""

    lane: LaneTree
    run: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundAttempt:
    """The last attempt at a task on this machine."""

    worktree: Worktree
    state: StateFolder
    files: RunFiles


def write_record(folder: Path, run: str, task: str, record: AttemptRecord) -> None:
    """Note which run is the newest one for a task."""
    path = _path(folder, run, task)
    make_private_folder(path.parent)
    mirror = record.lane.worktree.common_dir.parent
    data = {
        "run": record.run,
        "states": [str(record.lane.state.folder)],
        "mirror": str(mirror),
    }
    write_atomic(path, json.dumps(data).encode(), mode=PRIVATE_FILE)


def find_attempt(environment: Mapping[str, str], run: str, task: str) -> FoundAttempt | None:
    """The last attempt at a task; None where this machine had none, or no longer has its files."""
    from ralph_ls.store.run.state_index import find_state

    root = state_root(environment)
    data = read_if_there(_path(root / "fleet", run, task))
    if data is None:
        return None
    found = json.loads(data)
    try:
        mirror = find_worktree(Path(found["mirror"]))
    except RalphError:
        return None
    states = [find_state(root, mirror), *(StateFolder(folder=Path(one)) for one in found["states"])]
    for state in states:
        files = state.run(found["run"])
        if files.journal.exists():
            return FoundAttempt(worktree=mirror, state=state, files=files)
    return None


def _path(folder: Path, run: str, task: str) -> Path:
    return folder / "attempts" / run / f"{ref_word(task)}-{sha256(task.encode()).hexdigest()[:8]}"
