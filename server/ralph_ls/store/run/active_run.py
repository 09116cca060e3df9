"""``.ralph-active``: what a run of stories leaves in the work tree for stop hooks.

See docs/rules.md#stop-hook.

It is written at the start of each iteration and removed by the engine that it names, and by nobody
else. What the hook needs besides stands in the git directory, where no agent commits it. Both are
small, and a hook that finds only the first one, as another tool may leave it, works with that.
It must never know what a hook decides.

Asking the engine from inside a box, where neither its process nor its files can be seen.
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
from ralph_ls.protocol.run.hook_socket import LONGEST_ANSWER, STOP_STATE
from ralph_ls.protocol.run.stop_hook import RalphActive
from ralph_ls.store.files import PRIVATE_FILE, read_regular, write_atomic
from ralph_ls.store.run.lock import is_same_process, read_owner

ACTIVE_FILE = ".ralph-active"
"""Relative to the root of the work tree."""

STOPS_FILE = "ralph-stops.json"
"""In the git directory of the work tree."""

LARGEST = 64 << 20
"""Bytes of such a file that are read; it holds a whole plan."""


class StopHookState(WireModel):
    """What a hook has to know besides, and what it remembers, of one iteration."""

    pid: int | None = None
    timestamp: Timestamp | None = None
    """With ``pid`` the iteration that it is about: those of its ``.ralph-active``."""
    plan: str | None = None
    """The file of stories, relative to the root; None: it is looked for."""
    task: str | None = None
    """The story that the iteration was started for."""
    dirty: Mapping[str, str] = Field(default_factory=dict)
    """What was not committed when the iteration began, as ``Baseline.dirty``."""
    n_active: int = 0
    """How often the agent's program said that it goes on because of a hook."""

    def is_about(self, active: RalphActive) -> bool:
        return (self.pid, self.timestamp) == (active.pid, active.timestamp)


def write_active(root: Path, git_dir: Path, active: RalphActive, stops: StopHookState) -> None:
    """Say in the work tree that an iteration runs there; a file that is there is replaced.

    Raises ``StateUnusable`` where it cannot be written.
    """
    _write(git_dir / STOPS_FILE, stops)
    path = root / ACTIVE_FILE
    if path.is_symlink():
        # A repository must not make us write through a link of its own.
        path.unlink()
    _write(path, active)


def remove_active(root: Path, pid: int) -> None:
    """Take the file away if it is of the engine with this pid; any other's stays."""
    path = root / ACTIVE_FILE
    active = read_active_file(root)
    if active is not None and active.pid == pid:
        with contextlib.suppress(OSError):
            path.unlink()


def read_active_file(root: Path) -> RalphActive | None:
    """What ``.ralph-active`` says there; None where there is none, or nobody can read it."""
    try:
        data = read_regular(root / ACTIVE_FILE, LARGEST)
    except RalphError:
        return None
    return None if data is None else read_active(data.decode("utf-8", errors="replace"))


def is_owner_alive(active: RalphActive, git_dir: Path) -> bool:
    """Whether the engine that wrote the file still runs; one that names no pid is believed."""
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
    """What is known of the iteration; nothing where the file is of another one, or is none."""
    try:
        data = read_regular(git_dir / STOPS_FILE, LARGEST)
        stops = StopHookState.model_validate_json(data or b"{}")
    except (RalphError, ValidationError):
        stops = StopHookState()
    if stops.is_about(active):
        return stops
    return StopHookState(pid=active.pid, timestamp=active.timestamp)


def count_stop(git_dir: Path, stops: StopHookState) -> StopHookState:
    """Remember once more that the program goes on because of a hook."""
    counted = stops.model_copy(update={"n_active": stops.n_active + 1})
    _write(git_dir / STOPS_FILE, counted)
    return counted


def stop_state(root: Path, git_dir: Path, *, goes_on: bool) -> dict[str, Any]:
    """What an agent's hook has to know that cannot look at the engine itself, as JSON.

    It is the engine that calls this, so what the work tree says to be active is: nothing of it is
    believed but that the iteration is the engine's own.
    """
    active = read_active_file(root)
    if active is None or active.pid != os.getpid():
        return {"stops": None}
    stops = read_stops(git_dir, active)
    if goes_on:
        stops = count_stop(git_dir, stops)
    return {"stops": stops.model_dump(mode="json", by_alias=True)}


def _write(path: Path, model: WireModel) -> None:
    data = model.model_dump_json(by_alias=True).encode("utf-8", errors="replace") + b"\n"
    write_atomic(path, data, mode=PRIVATE_FILE)


ENGINE_PATIENCE = 5.0
"""Seconds of each step."""


def ask_engine(path: str, *, goes_on: bool) -> StopHookState | None:
    """What the engine knows of the open iteration; None where there is none.

    ``goes_on`` says that the agent works on because of a hook. Raises ``OSError`` where nobody
    answers.
    """
    params = {"continued": True} if goes_on else {}
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
