"""Active run: ``.ralph-active`` in the work tree, and the state that stop hooks need
(docs/rules.md#stop-hook).

The engine writes ``.ralph-active`` at the start of each iteration and only removes its own. Further
state of the hook is in the git directory, where no agent commits it. Both files are small; a hook
that finds only the first, as another tool may write it, works with that.

Inside a box neither the engine's process nor its files are visible, so the hook asks the engine
through a socket.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from ralph_ls.core.plan.formats.stories.stop_verdict import read_active
from ralph_ls.protocol.base import Timestamp, WireModel
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.stop_hook import RalphActive
from ralph_ls.store.files import PRIVATE_FILE, read_regular, write_atomic
from ralph_ls.store.iteration_socket import LONGEST_ANSWER, STOP_STATE
from ralph_ls.store.run.lock import is_same_process, read_owner

ACTIVE_FILE = ".ralph-active"
"""Relative to the root of the work tree."""

STOPS_FILE = "ralph-stops.json"
"""In the git directory of the work tree."""

LARGEST = 64 << 20
"""Most bytes of such a file; it contains a whole plan."""


class StopHookState(WireModel):
    """State of the stop hook in one iteration."""

    pid: int | None = None
    timestamp: Timestamp | None = None
    """Identifies the iteration together with ``pid``, as in ``.ralph-active``."""
    plan: str | None = None
    """File of stories relative to the root; None: it is searched for."""
    task: str | None = None
    """Story of the iteration."""
    dirty: Mapping[str, str] = Field(default_factory=dict)
    """Uncommitted files at the start of the iteration, as in ``Baseline.dirty``."""
    n_active: int = 0
    """How often the agent's program reported that it continued because of a hook."""

    def is_about(self, active: RalphActive) -> bool:
        return (self.pid, self.timestamp) == (active.pid, active.timestamp)


def write_active(root: Path, git_dir: Path, active: RalphActive, stops: StopHookState) -> None:
    """Mark the work tree as having an iteration; an existing file is replaced.

    Raises ``StateUnusable`` where it cannot be written.
    """
    _write(git_dir / STOPS_FILE, stops)
    path = root / ACTIVE_FILE
    if path.is_symlink():
        # A repository must not make us write through one of its links.
        path.unlink()
    _write(path, active)


def remove_active(root: Path, pid: int) -> None:
    """Remove the file if the engine with this pid wrote it."""
    path = root / ACTIVE_FILE
    active = read_active_file(root)
    if active is not None and active.pid == pid:
        with contextlib.suppress(OSError):
            path.unlink()


def read_active_file(root: Path) -> RalphActive | None:
    """Content of ``.ralph-active``; None if it is missing or unreadable."""
    try:
        data = read_regular(root / ACTIVE_FILE, LARGEST)
    except RalphError:
        return None
    return None if data is None else read_active(data.decode("utf-8", errors="replace"))


def is_owner_alive(active: RalphActive, git_dir: Path) -> bool:
    """Whether the engine that wrote the file still runs; True for a file without a pid."""
    pid = active.pid
    if pid is None:
        return True
    owner = read_owner(git_dir)
    if owner is not None and owner.pid == pid:
        return is_same_process(pid, owner.process_start_time)
    import psutil

    try:
        return pid > 0 and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, OverflowError):
        return False


def read_stops(git_dir: Path, active: RalphActive) -> StopHookState:
    """State of the iteration; empty where the file is of another one or missing."""
    try:
        data = read_regular(git_dir / STOPS_FILE, LARGEST)
        stops = StopHookState.model_validate_json(data or b"{}")
    except (RalphError, ValidationError):
        stops = StopHookState()
    if stops.is_about(active):
        return stops
    return StopHookState(pid=active.pid, timestamp=active.timestamp)


def count_stop(git_dir: Path, stops: StopHookState) -> StopHookState:
    """Count one more continuation because of a hook."""
    counted = stops.model_copy(update={"n_active": stops.n_active + 1})
    _write(git_dir / STOPS_FILE, counted)
    return counted


def stop_state(root: Path, git_dir: Path, *, continues: bool) -> dict[str, Any]:
    """State for the hook of an agent in a box, as JSON.

    The engine calls this, so an active iteration in the work tree is its own; nothing else in that
    file is trusted.
    """
    active = read_active_file(root)
    if active is None or active.pid != os.getpid():
        return {"stops": None}
    stops = read_stops(git_dir, active)
    if continues:
        stops = count_stop(git_dir, stops)
    return {"stops": stops.model_dump(mode="json", by_alias=True)}


def _write(path: Path, model: WireModel) -> None:
    data = model.model_dump_json(by_alias=True).encode("utf-8", errors="replace") + b"\n"
    write_atomic(path, data, mode=PRIVATE_FILE)


ENGINE_PATIENCE = 5.0
"""Seconds to wait in each step."""


def ask_engine(path: str, *, continues: bool) -> StopHookState | None:
    """State of the open iteration from the engine; None without an iteration.

    ``continues``: the agent continues because of a hook. Raises ``OSError`` without an answer.
    """
    params = {"continued": True} if continues else {}
    request = json.dumps({"method": STOP_STATE, "params": params}).encode() + b"\n"
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(ENGINE_PATIENCE)
        link.connect(path)
        link.sendall(request)
        with link.makefile("rb") as lines:
            answer = lines.readline(LONGEST_ANSWER)
    try:
        found = json.loads(answer)["result"]["stops"]
        return None if found is None else StopHookState.model_validate(found)
    except (ValueError, KeyError, TypeError, ValidationError):
        return None
