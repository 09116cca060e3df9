"""An engine that dies inside of a write to its journal, while the sweep continues."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from unittest import mock

from tests.engine.crash_driver import KILLED, Driver
from tests.sweep.engines import PATIENCE, Ended
from tests.sweep.invariants import no_traceback
from tests.sweep.projects import Project
from tests.sweep.runner import Case
from tests.sweep.violations import Kind, require


class TornEngine:
    """``crashing_engine`` in a thread, since its driver waits for the end."""

    def __init__(
        self,
        case: Case,
        project: Project,
        words: Sequence[str],
        *,
        kill_at: int,
        n_bytes: int | None,
    ) -> None:
        self._case = case
        self._output = case.folder / f"torn-{case.counts['engines']}.txt"
        self._code = 0
        self._environment = {**os.environ, **project.environment}

        def play() -> None:
            self._code = Driver(self._output).ralph(
                project.repository, *words, kill_at=kill_at, n_bytes=n_bytes
            )

        # The driver hands on the environment of its caller.
        self._patch = mock.patch.dict(os.environ, self._environment)
        self._patch.start()
        self._thread = threading.Thread(target=play, daemon=True)
        self._thread.start()

    def wait(self) -> Ended | None:
        """How it ended; None where it was killed."""
        self._thread.join(PATIENCE)
        self._patch.stop()
        require(not self._thread.is_alive(), Kind.DEAF, f"no end after {PATIENCE:g} s")
        text = self._output.read_text(encoding="utf-8", errors="replace")
        self._case.note(f"ended with {self._code}: {text[-300:]!r}")
        no_traceback(text)
        return None if self._code == KILLED else Ended(code=self._code, text=text)


def start_torn(
    case: Case, project: Project, words: Sequence[str], *, kill_at: int, n_bytes: int | None
) -> TornEngine:
    return TornEngine(case, project, words, kill_at=kill_at, n_bytes=n_bytes)
