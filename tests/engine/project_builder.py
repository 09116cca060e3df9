"""Whole loops for tests: a real repository, a real agent, the real ``ralph`` in its own process.

Nothing here sleeps or polls by itself: one waits for a process's end or for an event in a journal.
Agents are outside the tree that they work in, so that they are no part of its evidence.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from ralph_ls.protocol.run.events import Event, EventBase, RunResumed, RunStarted, UnknownEvent
from ralph_ls.store.layout import StateFolder, Worktree, find_worktree, state_folder, state_root
from ralph_ls.store.run.follow import LIVE_INTERVAL, FolderWatch, JournalFollower
from ralph_ls.store.run.journal import read_journal
from ralph_ls.store.run.lock import is_held, read_owner
from ralph_ls.store.run.runs import FoundRun, find_run
from tests.engine.forked_ralph import ForkedProcess, fork_server

ROOT = Path(__file__).resolve().parents[2]

RALPH = (sys.executable, "-P", "-m", "ralph_ls")

PATIENCE = 60.0
"""Seconds after which a process that should have ended has failed its test."""

KILL_ENGINE = (
    "read -r _ _ _ nursery _ </proc/$PPID/stat; read -r _ _ _ engine _ </proc/$nursery/stat; "
    "kill -9 $engine"
)
"""A line of sh with which an agent kills its engine: its parent is its reaper, see there."""

DONE = "printf '%s\\n' RALPH_STATUS: 'STATUS: COMPLETE' 'EXIT_SIGNAL: true' END_RALPH_STATUS"
"""A line of sh that reports the end of all work."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completed:
    """What one command line did."""

    exit_code: int
    stdout: str
    stderr: str
    events: tuple[Event | UnknownEvent, ...]
    """The journal of the newest run of its work tree; empty where there is none."""

    def kinds(self) -> list[str]:
        return [str(getattr(event, "kind", "")) for event in self.events]


class Running:
    """A ``ralph`` that runs in a separate process group."""

    def __init__(
        self,
        process: subprocess.Popen[bytes] | ForkedProcess,
        repository: Path,
        out: IO[bytes],
        err: IO[bytes],
    ) -> None:
        self.process = process
        self.repository = repository
        self._out = out
        self._err = err

    @property
    def pid(self) -> int:
        return self.process.pid

    def follow(self) -> Iterator[Event | UnknownEvent]:
        """The events of this engine alone, as they come, until it is gone."""
        worktree = find_worktree(self.repository)
        if (journal := _wait_for_journal(worktree, self.pid, self._lives)) is None:
            return
        ours = False
        for events in JournalFollower(journal, is_live=self._lives):
            for event in events:
                if isinstance(event, RunStarted | RunResumed):
                    ours = event.pid == self.pid
                if ours:
                    yield event

    def wait_for(self, kind: str, **fields: object) -> Event | UnknownEvent:
        """This engine's first event of the kind with these values."""
        for event in self.follow():
            if _fits(event, kind, fields):
                return event
        raise AssertionError(f"no {kind} {fields} before the end; {self._told()}")

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    def press_ctrl_c_twice(self) -> None:
        """Once, and when the run has taken note of that, a second time."""
        self.signal(signal.SIGINT)
        self.wait_for("phaseChanged", phase="stopping")
        self.signal(signal.SIGINT)

    def kill(self) -> None:
        """Kill the engine alone, as the system would, and reap it."""
        self.process.kill()
        self.process.wait(PATIENCE)

    def wait(self, seconds: float = PATIENCE) -> Completed:
        """Wait for its end."""
        try:
            exit_code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it did not end in {seconds} s; {self._told()}") from None
        return Completed(
            exit_code=exit_code,
            stdout=_text(self._out),
            stderr=_text(self._err),
            events=events_of(self.repository),
        )

    def _lives(self) -> bool:
        return self.process.poll() is None

    def _told(self) -> str:
        kinds = [getattr(event, "kind", "") for event in events_of(self.repository)]
        return f"stdout: {_text(self._out)!r}; stderr: {_text(self._err)!r}; events: {kinds}"


def make_repository(
    folder: Path, tasks: Sequence[str] = ("First task",), *, files: Mapping[str, str] | None = None
) -> Path:
    """A repository at ``folder`` with ``@fix_plan.md`` and ``files`` in its first commit."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "@fix_plan.md").write_text(
        "# Plan\n\n" + "".join(f"- [ ] {task}\n" for task in tasks), encoding="utf-8"
    )
    for name, text in (files or {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "The beginning")
    return folder


def git(repository: Path, *arguments: str) -> str:
    """What git prints; fails where git does."""
    ran = subprocess.run(
        ["git", *arguments], cwd=repository, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, f"git {shlex.join(arguments)}: {ran.stderr}"
    return ran.stdout


def write_agent(folder: Path, body: str, *, name: str = "agent") -> str:
    """An executable outside the tree; the command line that starts it.

    ``body`` is sh, unless it begins with ``#!``. The prompt is on its stdin, as always.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    text = body if body.startswith("#!") else f"#!/bin/sh\nset -eu\n{body}\n"
    # A process that another test forks may hold a descriptor that writes, and nobody can start a
    # program then; another program, which has ended, holds none.
    subprocess.run(["tee", path], input=text.encode(), stdout=subprocess.DEVNULL, check=True)
    path.chmod(0o755)
    return shlex.quote(str(path))


def write_python_agent(folder: Path, body: str, *, name: str = "agent") -> str:
    """The same in Python, with the start-up of the site left out."""
    return write_agent(folder, f"#!{sys.executable} -SE\n{body}\n", name=name)


def run_ralph(
    folder: Path, *arguments: str, env: Mapping[str, str] | None = None, seconds: float = PATIENCE
) -> Completed:
    """Run ``ralph`` in ``folder`` to its end, by its real start."""
    with start_ralph(folder, *arguments, env=env, real=True) as running:
        return running.wait(seconds)


def fork_ralph(folder: Path, *arguments: str, env: Mapping[str, str] | None = None) -> Completed:
    """Run ``ralph`` in ``folder`` to its end, forked from a process that has imported it."""
    with start_ralph(folder, *arguments, env=env) as running:
        return running.wait()


@contextmanager
def start_ralph(
    folder: Path,
    *arguments: str,
    env: Mapping[str, str] | None = None,
    before: Sequence[str] = (),
    real: bool = False,
) -> Iterator[Running]:
    """Start ``ralph`` in ``folder``; whatever of it is left at the end of the block is killed.

    Its output goes into files, so that it never waits for us. It is forked from a process that
    has imported it, unless the start itself is what the test is about: ``real``, or ``before``,
    a program that starts it, as ``nohup`` would.
    """
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "server"), **(env or {})}
    process: subprocess.Popen[bytes] | ForkedProcess
    with (
        tempfile.TemporaryFile() as out,
        tempfile.TemporaryFile() as err,
        Path(os.devnull).open("rb") as nothing,
    ):
        streams = nothing.fileno(), out.fileno(), err.fileno()
        if real or before:
            process = subprocess.Popen(
                [*before, *RALPH, *arguments],
                cwd=folder,
                env=environment,
                stdin=streams[0],
                stdout=streams[1],
                stderr=streams[2],
                start_new_session=True,
            )
        else:
            process = fork_server().fork(folder, arguments, environment, *streams)
        try:
            yield Running(process, folder, out, err)
        finally:
            if process.poll() is None:
                process.kill()
                process.wait(PATIENCE)
                end_marked(folder)
            if isinstance(process, ForkedProcess):
                process.close()


def worktree_of(folder: Path) -> Worktree:
    return find_worktree(folder)


def copy_to_2024(run_folder: Path, run: str) -> Path:
    """A copy of a run under another id, which ended in 2024."""
    folder = run_folder.with_name(run)
    shutil.copytree(run_folder, folder)
    journal = (folder / "journal.jsonl").read_text(encoding="utf-8").replace(run_folder.name, run)
    changed = re.sub(r'"at":"\d{4}', '"at":"2024', journal)
    (folder / "journal.jsonl").write_text(changed, encoding="utf-8")
    return folder


def newest_run(folder: Path) -> FoundRun | None:
    """The newest run of the work tree, as any viewer finds it."""
    worktree = find_worktree(folder)
    return find_run(worktree, state_folder(state_root(os.environ), worktree))


def journal_of(folder: Path) -> Path:
    """The journal of the newest run."""
    found = newest_run(folder)
    assert found is not None, f"no run in {folder} yet"
    return found.files.journal


def events_of(folder: Path) -> tuple[Event | UnknownEvent, ...]:
    """The events of the newest run; empty where there is none."""
    try:
        found = newest_run(folder)
    except Exception:  # noqa: BLE001 - the folder of a failed test may be anything
        return ()
    return () if found is None else read_journal(found.files.journal).events


def wait_for(
    folder: Path, kind: str, *, after_seq: int = 0, **fields: object
) -> Event | UnknownEvent:
    """The newest run's first event of the kind with these values, no matter which process runs it.

    Waits for a run to begin; fails when its engine is gone and the event never came.
    """
    worktree = find_worktree(folder)
    journal = _wait_for_journal(worktree, None, lambda: True)
    assert journal is not None
    follower = JournalFollower(
        journal, is_live=lambda: is_held(worktree.git_dir), after_seq=after_seq
    )
    for events in follower:
        for event in events:
            if _fits(event, kind, fields):
                return event
    kinds = [getattr(event, "kind", "") for event in events_of(folder)]
    raise AssertionError(f"no {kind} {fields} came; events: {kinds}")


def marked_processes(run: str) -> list[psutil.Process]:
    """Every living process that an iteration of this run has started."""
    found = []
    for process in psutil.process_iter():
        try:
            marker = process.environ().get("RALPH_ITERATION_ID", "")
            if marker.startswith(f"{run}/") and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.Error:
            continue
    return found


def end_marked(folder: Path) -> None:
    """Kill what an agent of the newest run left; a failed test leaves nothing behind."""
    found = newest_run(folder)
    for process in marked_processes(found.state.run) if found is not None else []:
        with suppress(psutil.NoSuchProcess):
            process.kill()


def end_run(folder: Path) -> None:
    """Kill an engine that runs on in the background, and what its agent left."""
    if not (folder / ".git").exists():
        return
    git_dir = worktree_of(folder).git_dir
    owner = read_owner(git_dir)
    if owner is not None and is_held(git_dir):
        process = psutil.Process(owner.pid)
        process.kill()
        process.wait(PATIENCE)
    end_marked(folder)


def _wait_for_journal(
    worktree: Worktree, pid: int | None, lives: Callable[[], bool]
) -> Path | None:
    """The journal of the run that ``pid`` owns; None where that process ends without one."""
    changed = threading.Event()
    with FolderWatch([worktree.git_dir], changed.set):
        while True:
            changed.clear()
            living = lives()
            owner = read_owner(worktree.git_dir)
            if owner is not None and pid in {None, owner.pid}:
                # Its folder is there by now, its first event may yet come.
                return StateFolder(folder=Path(owner.state_dir)).run(owner.run).journal
            if not living:
                return None
            changed.wait(LIVE_INTERVAL)


def _fits(event: EventBase, kind: str, fields: Mapping[str, object]) -> bool:
    same = getattr(event, "kind", "") == kind
    return same and all(getattr(event, name) == value for name, value in fields.items())


def _text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", errors="replace")
