"""The real ``ralph`` of a case: started, waited for with a bound, its output kept."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.engine.forked_ralph import ForkedProcess, fork_server
from tests.sweep.invariants import no_traceback
from tests.sweep.processes import describe, wait_until
from tests.sweep.runner import Case
from tests.sweep.violations import Kind, Violation

PATIENCE = 90.0
"""Seconds after which an engine that should have ended is deaf."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a command line ended, and what it printed."""

    code: int
    text: str


class Engine:
    """One process of ``ralph``."""

    _n_started = 0

    def __init__(
        self, case: Case, folder: Path, *arguments: str, env: Mapping[str, str] | None = None
    ) -> None:
        self.case = case
        self.arguments = arguments
        self.folder = folder
        Engine._n_started += 1
        self.output = case.folder / f"ralph-{Engine._n_started}.txt"
        nothing = os.open(os.devnull, os.O_RDONLY)
        output = os.open(self.output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            self.process: ForkedProcess = fork_server().fork(
                folder,
                arguments,
                {**os.environ, **(env or {})},
                *(nothing, output, output),
                really_launches=True,
            )
        finally:
            os.close(nothing)
            os.close(output)
        case.note(f"ralph {' '.join(arguments)[:120]} is {self.process.pid}")

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    @property
    def text(self) -> str:
        return self.output.read_text(encoding="utf-8", errors="replace")

    def wait(self, seconds: float = PATIENCE) -> Ended:
        """Its end; a ``Violation`` where it does not come."""
        if not wait_until(lambda: not self.is_alive, seconds=seconds):
            raise Violation(Kind.DEAF, f"no end after {seconds:g} s: {self._state()}")
        code = self.process.wait()
        self.process.close()
        ended = Ended(code=code, text=self.text)
        self.case.note(f"{self.pid} ended with {code}: {ended.text[-300:]!r}")
        no_traceback(ended.text)
        return ended

    def kill(self) -> None:
        """Kill it alone, and reap it."""
        self.process.kill()
        self.process.wait()
        self.process.close()
        self.case.note(f"{self.pid} was killed")

    def descendants(self) -> list[psutil.Process]:
        try:
            return psutil.Process(self.pid).children(recursive=True)
        except psutil.Error:
            return []

    def keepers(self) -> list[psutil.Process]:
        """Children that were forked and run no other program."""
        found = []
        for process in self.descendants():
            try:
                own = psutil.Process(self.pid).cmdline()
                if process.ppid() == self.pid and process.cmdline() == own:
                    found.append(process)
            except psutil.Error:
                continue
        return found

    def _state(self) -> str:
        processes = [describe(process) for process in self.descendants()]
        wchan = _read(f"/proc/{self.pid}/wchan")
        return f"{self.arguments} in {wchan}, with {processes}; printed {self.text[-600:]!r}"


def ralph(
    case: Case,
    folder: Path,
    *arguments: str,
    env: Mapping[str, str] | None = None,
    seconds: float = PATIENCE,
) -> Ended:
    """Run ``ralph`` to its end."""
    return Engine(case, folder, *arguments, env=env).wait(seconds)


def last_event(journal: Path) -> dict[str, object]:
    """The last whole line of a journal; empty where there is none."""
    try:
        lines = journal.read_bytes().split(b"\n")[:-1]
        last: dict[str, object] = json.loads(lines[-1]) if lines else {}
    except (OSError, ValueError):
        return {}
    return last


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError:
        return "?"
