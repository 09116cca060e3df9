"""The one port that starts a process of ours for a viewer: a run that outlives whoever asked.

A work tree's own modules are kept off its import path (``own_python``).
The new process has a session of its own, so closing the terminal or the editor does not end it;
its standard error goes to ``engine.err`` beside the run's journal (SPEC §2).
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ralph_ls.protocol.events import RunResumed, RunStarted
from ralph_ls.store.engine_output import launcher_variable
from ralph_ls.store.files import PRIVATE_FILE, make_private_folder
from ralph_ls.store.follow import LIVE_INTERVAL, FolderWatch, Tail
from ralph_ls.store.journal import JournalReader
from ralph_ls.store.layout import RunFiles
from ralph_ls.store.own_python import own_command

ERROR_TAIL = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class Launched:
    """What became of a start."""

    pid: int
    started: bool
    exit_code: int | None = None
    error: str = ""
    """What the process said on its standard error, where it did not start."""


def command_line(arguments: Sequence[str]) -> list[str]:
    """Our own program as a command line."""
    return own_command("-m", "ralph_ls", *arguments)


def launch_detached(
    arguments: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    files: RunFiles,
    given: bytes = b"",
) -> Launched:
    """Start an engine in the background and wait until its run has begun, or it has failed.

    ``given`` is what it finds on its standard input.
    """
    make_private_folder(files.folder)
    before = files.journal.stat().st_size if files.journal.exists() else 0
    errors_before = files.engine_errors.stat().st_size if files.engine_errors.exists() else 0
    changed = threading.Event()
    with FolderWatch([files.folder], changed.set):
        process = _start(arguments, cwd, environment, files.engine_errors, given)
        tail, reader = Tail(files.journal, offset=before), JournalReader()
        while True:
            changed.clear()
            exit_code = process.poll()
            if _has_begun(tail, reader):
                # Whoever started it reaps it, however long that one lives.
                threading.Thread(target=process.wait, name="reaper", daemon=True).start()
                return Launched(pid=process.pid, started=True)
            if exit_code is not None:
                error = _error_of(files.engine_errors, errors_before)
                return Launched(pid=process.pid, started=False, exit_code=exit_code, error=error)
            changed.wait(timeout=LIVE_INTERVAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """How a program of ours ended."""

    exit_code: int
    out: str
    error: str
    """The end of what it said on its standard error."""


def run_to_end(arguments: Sequence[str], *, cwd: Path, environment: Mapping[str, str]) -> Ran:
    """Run our own program, in a process of its own, and wait for its end; nothing is typed to it.

    It is not ended with the process that waits for it: what it changes it changes whole.
    """
    done = subprocess.run(
        command_line(arguments),
        cwd=cwd,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        start_new_session=sys.platform != "win32",
    )
    return Ran(
        exit_code=done.returncode,
        out=done.stdout.decode("utf-8", errors="replace"),
        error=done.stderr.decode("utf-8", errors="replace").strip()[-ERROR_TAIL:],
    )


def _start(
    arguments: Sequence[str],
    cwd: Path,
    environment: Mapping[str, str],
    errors: Path,
    given: bytes,
) -> subprocess.Popen[bytes]:
    flags = 0
    if sys.platform == "win32":
        flags = subprocess.CREATE_NEW_PROCESS_GROUP | subprocess.DETACHED_PROCESS
    errors.touch(mode=PRIVATE_FILE)
    with errors.open("ab") as error_file, tempfile.TemporaryFile() as given_file:
        given_file.write(given)
        given_file.seek(0)
        return subprocess.Popen(
            command_line(arguments),
            cwd=cwd,
            env={**environment, **launcher_variable()},
            stdin=given_file if given else subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=error_file,
            start_new_session=sys.platform != "win32",
            creationflags=flags,
        )


def _has_begun(tail: Tail, reader: JournalReader) -> bool:
    begun = False
    while data := tail.read():
        for event in reader.feed(data):
            begun = begun or isinstance(event, RunStarted | RunResumed)
    return begun


def _error_of(path: Path, offset: int) -> str:
    data = Tail(path, offset=offset).read()
    return data.decode("utf-8", errors="replace").strip()[-ERROR_TAIL:]
