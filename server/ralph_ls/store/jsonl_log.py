"""B's log of a run, in the state of its project: every line JSON, one file a run (SPEC §4).

It is a rendering for people and their ``jq``, never read back. A log that cannot be written does
not end a run; the first failure is kept and told.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

from ralph_ls.core.views.loop_log import AgentLines, iteration_end, iteration_start
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.protocol.events import IterationEnded
from ralph_ls.protocol.run_words import Mode
from ralph_ls.store.files import PRIVATE_FILE, make_private_folder, write_all
from ralph_ls.store.held_files import hold
from ralph_ls.store.summary_file import SummaryFile

STDOUT, STDERR, VALIDATION = "stdout", "stderr", "validation"


class JsonlLog:
    """The log file of one run, written while it goes on."""

    def __init__(
        self,
        folder: Path | None,
        *,
        summary: SummaryFile,
        started: datetime,
        now: Callable[[], datetime],
    ) -> None:
        """``folder``: None where no log is wanted; ``started``, local time, names the file."""
        self.summary_file = summary
        self._folder = folder
        self._started = started
        self._now = now
        self._problem: str | None = None
        self._file: Path | None = None
        self._descriptor: int | None = None
        self._streams = {
            name: AgentLines(has_records=name == STDOUT) for name in (STDOUT, STDERR, VALIDATION)
        }

    @property
    def problem(self) -> str | None:
        """The first failure to write, in words."""
        return self._problem or self.summary_file.problem

    def begin(
        self,
        start: int,
        iteration: int,
        branch: str | None,
        now: datetime,
        *,
        mode: Mode,
        task: str | None,
    ) -> None:
        """Write the loop's line before the agent's."""
        del start, branch
        self._write(iteration_start(iteration=iteration, issue=task, mode=mode.value, at=now))

    def hear(self, stream: str, data: bytes) -> None:
        """What the agent prints on one of its streams."""
        self._write(self._streams[stream].feed(data, self._now()))

    def write(self, data: bytes) -> None:
        """What something else prints, such as the validation script."""
        self.hear(VALIDATION, data)

    def end(self, ended: IterationEnded, now: datetime, *, exit_code: int | None) -> None:
        """Write the loop's line after the agent's, and the row of the summary."""
        self._finish_lines(now)
        self._write(
            iteration_end(
                iteration=ended.iteration, exit_code=exit_code, seconds=ended.seconds, at=now
            )
        )
        self.summary_file.add(ended)

    def close(self) -> None:
        """Write what has no newline yet, and close the file; idempotent."""
        self._finish_lines(self._now())
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _finish_lines(self, at: datetime) -> None:
        self._write(b"".join(lines.finish(at) for lines in self._streams.values()))

    def _write(self, data: bytes) -> None:
        if not data or self._folder is None:
            return
        try:
            descriptor = self._open(self._folder)
            size = os.fstat(descriptor).st_size
        except (OSError, StateUnusable) as error:
            self._note(error)
            return
        try:
            write_all(descriptor, data)
        except OSError as error:
            self._note(error)
            # Half a line is none, and would spoil the next one.
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, size)

    def _note(self, error: OSError | StateUnusable) -> None:
        why = error.message if isinstance(error, StateUnusable) else error.strerror or str(error)
        self._problem = self.problem or f"{self._folder}: {why}"

    def _open(self, folder: Path) -> int:
        if self._descriptor is not None and self._file is not None and self._file.exists():
            return self._descriptor
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        make_private_folder(folder)
        while self._descriptor is None:
            self._file = folder / f"{self._started:%Y-%m-%dT%H-%M-%S}.log"
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_EXCL
            try:
                self._descriptor = os.open(self._file, flags, PRIVATE_FILE)
            except FileExistsError:
                # Another clone's run began in the same second, or this one before it was resumed.
                self._started += timedelta(seconds=1)
        hold(self._descriptor)
        return self._descriptor
