"""Starter of lanes: one process that has imported the engine and forks it for each lane.

A start of Python with the engine takes most of a second; a fork takes milliseconds and shares the
memory. Where the system cannot fork, each lane is a process from scratch. A starter that dies is
replaced at the next start; its lanes live on, as they do when the parallel run dies.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ralph_ls.protocol.errors import RalphError, StateUnusable
from ralph_ls.protocol.run.events import RunResumed, RunStarted
from ralph_ls.store.files import PRIVATE_FILE, make_private_folder
from ralph_ls.store.layout import RunFiles
from ralph_ls.store.own_python import own_command
from ralph_ls.store.run.engine_output import launcher_variable
from ralph_ls.store.run.follow import LIVE_INTERVAL, FolderWatch, JournalTail
from ralph_ls.store.run.launch import parse_refusal
from ralph_ls.store.run.lock import is_same_process, start_time_of

MODULE = "ralph_ls.engine.parallel.lane_main"
SERVER_TRIES = 5
"""How often a process that forks lanes is replaced for one start."""

CAN_FORK = hasattr(os, "fork") and sys.platform != "win32"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneOrder:
    """A run that is to start in a lane."""

    folder: Path
    """The lane's work tree."""
    files: RunFiles
    run: str
    overrides: Mapping[str, Any]
    environment: Mapping[str, str]
    resume: bool
    by: str = "ralph run --parallel"


class LaneStarter:
    """Starts the runs of lanes; its methods may be called in any thread."""

    def __init__(self, errors: Path) -> None:
        """``errors`` is the file for what the process that forks lanes says of itself."""
        self._errors = errors
        self._lock = threading.Lock()
        self._server: subprocess.Popen[bytes] | None = None

    def start(self, order: LaneOrder) -> None:
        """Start a run and wait until it has begun.

        Raises the ``RalphError`` that keeps it from beginning.
        """
        make_private_folder(order.files.folder)
        journal, errors = order.files.journal, order.files.engine_errors
        errors.touch(mode=PRIVATE_FILE)
        errors_before = errors.stat().st_size
        tail = JournalTail(journal, offset=journal.stat().st_size if journal.exists() else 0)
        changed = threading.Event()
        with FolderWatch([order.files.folder], changed.set):
            pid = self._launch(order)
            began_at = start_time_of(pid)
            while True:
                changed.clear()
                is_alive = began_at is not None and is_same_process(pid, began_at)
                if any(isinstance(event, RunStarted | RunResumed) for event in tail.read()):
                    return
                if not is_alive:
                    raise _refusal(errors, errors_before)
                changed.wait(timeout=LIVE_INTERVAL)

    def close(self) -> None:
        """End the process that forks lanes; the lanes live on."""
        with self._lock:
            if self._server is not None and self._server.stdin is not None:
                self._server.stdin.close()
                self._server.wait()
                if self._server.stdout is not None:
                    self._server.stdout.close()
            self._server = None

    def prepare(self) -> None:
        """Start the process that forks lanes, so that the first lane need not wait for it."""
        if CAN_FORK:
            with self._lock:
                self._living_server()

    def _launch(self, order: LaneOrder) -> int:
        data = json.dumps(
            {
                "folder": os.fspath(order.folder),
                "run": order.run,
                "overrides": dict(order.overrides),
                "environment": {**order.environment, **launcher_variable()},
                "resume": order.resume,
                "by": order.by,
                "errors": os.fspath(order.files.engine_errors),
            }
        ).encode()
        if not CAN_FORK:
            return _launch_alone(order, data)
        with self._lock:
            for _ in range(SERVER_TRIES):
                pid = _ask(self._living_server(), data)
                if pid is not None:
                    return pid
                self._server = None
        raise StateUnusable(
            f"the process that starts lanes was ended {SERVER_TRIES} times; see "
            f"{self._errors}; if memory is short, use fewer lanes, such as: --parallel 2"
        )

    def _living_server(self) -> subprocess.Popen[bytes]:
        if self._server is None or self._server.poll() is not None:
            self._errors.touch(mode=PRIVATE_FILE)
            with self._errors.open("ab") as errors:
                self._server = subprocess.Popen(
                    own_command("-m", MODULE, "--fork"),
                    cwd=self._errors.parent,
                    env=dict(os.environ),
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    start_new_session=True,
                )
        return self._server


def _ask(server: subprocess.Popen[bytes], data: bytes) -> int | None:
    """The pid of the fork; None where the server is gone."""
    if server.stdin is None or server.stdout is None:
        return None
    try:
        server.stdin.write(data + b"\n")
        server.stdin.flush()
        return int(server.stdout.readline())
    except (OSError, ValueError):
        return None


def _launch_alone(order: LaneOrder, data: bytes) -> int:
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.DETACHED_PROCESS
    with order.files.engine_errors.open("ab") as errors:
        process = subprocess.Popen(
            own_command("-m", MODULE),
            cwd=order.folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=sys.platform != "win32",
            creationflags=flags,
        )
    if process.stdin is not None:
        process.stdin.write(data + b"\n")
        process.stdin.close()
    threading.Thread(target=process.wait, name="reaper", daemon=True).start()
    return process.pid


def _refusal(errors: Path, offset: int) -> RalphError:
    said = errors.read_bytes()[offset:].decode("utf-8", errors="replace").strip()
    refusal = parse_refusal(said)
    if refusal is not None:
        return refusal
    last = said.splitlines()[-1] if said else "no output"
    return RalphError(f"the engine ended before its run began: {last}; see {errors}")
