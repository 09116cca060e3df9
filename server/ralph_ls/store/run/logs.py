"""Logs: the text logs of a run (frames or separate files), and its JSON-lines log
(docs/rules.md#logs).

Each holds the agent's output and, around it, what the loop reported. A text log is sanitised for
people; the JSON-lines log keeps an agent's records as they are.

They are written for users and never read by the loop. A log is never overwritten: logs of earlier
runs move to ``logs/run-<id>/``. A log that cannot be written does not end a run; the first failure
is kept in ``problem`` and reported.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from pathlib import Path

from ralph_ls.core.views.model.control_chars import OutputText, escape_control_chars
from ralph_ls.core.views.text.agent_output import (
    AgentLines,
    iteration_end,
    iteration_start,
    loop_event,
)
from ralph_ls.core.views.text.event_lines import log_lines
from ralph_ls.core.views.text.event_weights import EventLine
from ralph_ls.core.views.text.summary import frame_foot, frame_head
from ralph_ls.protocol.config.config import LogForm, LogsConfig
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.protocol.run.events import EventBase, IterationEnded, IterationStarted, RunEnded
from ralph_ls.protocol.run.values import Mode
from ralph_ls.store.files import (
    PRIVATE_FILE,
    make_folders_below,
    make_private_folder,
    mark_in_use,
    names_in,
    open_to_append,
    remove_unused,
    write_all,
)
from ralph_ls.store.run.summary_file import SummaryFile

MOST_LOGS = 100_000
"""Most names in the folder of the logs."""

_OUR_LOGS = re.compile(
    r"(iteration-\d{3,}|\d{4}-\d\d-\d\d_\d{3,}|\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d)\.log"
)
_OUR_FOLDERS = re.compile(r"run-[\w-]+")
_OLD_FILES = re.compile(r"(iteration-\d{3,}\.log|summary\.csv)")


STDOUT, STDERR, VALIDATION = "stdout", "stderr", "validation"


class _LoopLines:
    """What the loop reports, in the order of its journal, held until its iteration has a log.

    A run without an iteration leaves a log only where it failed: otherwise the logs of runs with
    nothing to do would take the place of those that are worth keeping.
    """

    def __init__(self) -> None:
        self._held: list[bytes] = []
        self._start = 0

    def begun(self, start: int) -> bytes:
        """The lines that were held for this start."""
        self._start = max(start, self._start)
        return self._release()

    def add(self, event: EventBase, line: bytes) -> bytes:
        """The lines that may be written now."""
        start = event.__dict__.get("start")
        self._held.append(line)
        if isinstance(event, IterationEnded):
            return self.begun(event.start)
        is_failure = isinstance(event, RunEnded) and event.exit_code != 0
        is_due = self._start and (start is None or start <= self._start)
        return self._release() if is_due or is_failure else b""

    def _release(self) -> bytes:
        lines = b"".join(self._held)
        self._held.clear()
        return lines


class TextLog:
    """Text logs of one run, written during the run."""

    def __init__(
        self,
        root: Path,
        folder: str,
        *,
        form: LogForm,
        started: datetime,
        mode_word: Callable[[Mode], str] = str,
    ) -> None:
        """``folder`` is below ``root``; ``started`` is local time, and part of the file name.

        ``mode_word`` returns the name of a mode for the summary.
        """
        self.folder = root / folder
        self.summary_file = SummaryFile(root, self.folder, mode_word=mode_word)
        self._problem: str | None = None
        self._root = root
        self._form = form
        self._started = started
        self._file: Path | None = None
        self._descriptor: int | None = None
        self._loop = _LoopLines()
        self._streams = {name: OutputText() for name in (STDOUT, STDERR, VALIDATION)}
        self._in_line = False

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
        mode: Mode = Mode.BUILD,
        task: str | None = None,
        tries: int = 1,
    ) -> None:
        """Write the frame before an iteration, and what was reported since the last."""
        del mode, task
        self._open_for(start)
        self._write(frame_head(iteration, branch, now, tries=tries).encode())
        self._write(self._loop.begun(start))

    def note(self, event: EventBase, line: EventLine, at: datetime) -> None:
        """Write what the loop reports, in the log of its iteration; ``at`` is local time."""
        text = log_lines(line.text, f"{at:%H:%M:%S}").encode("utf-8", "replace")
        lines = self._loop.add(event, text)
        if not lines:
            return
        is_closed = self._descriptor is None
        start = event.start if isinstance(event, IterationEnded) else None
        if is_closed and (start is not None or self._form is LogForm.RUN or self._file is not None):
            self._open_for(start)
        self._finish_streams()
        self._write(lines)
        if is_closed:
            self.close()

    def write(self, data: bytes) -> None:
        """Write other output, such as the validation script's."""
        self.write_output(VALIDATION, data)

    def write_output(self, stream: str, data: bytes) -> None:
        """Write a program's output on one of its streams, as text for people."""
        self._write_text(self._streams[stream].feed(data))

    def end(self, ended: IterationEnded, now: datetime, *, exit_code: int | None = None) -> None:
        """Write the frame after an iteration and the row of the summary, before the next agent.

        See docs/rules.md#logs.
        """
        del exit_code
        self._finish_streams()
        self._write(frame_foot(ended, now).encode())
        if self._form is LogForm.ITERATION:
            self.close()
        self.summary_file.add(ended)

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _write_text(self, text: str) -> None:
        if text and self._descriptor is not None:
            self._write(text.encode("utf-8", "replace"))
            self._in_line = not text.endswith("\n")

    def _finish_streams(self) -> None:
        """Write what is held of the output, and end its last line."""
        for stream in self._streams.values():
            self._write_text(stream.feed(b"", final=True))
        if self._in_line:
            self._write_text("\n")

    def _open_for(self, start: int | None) -> None:
        try:
            self._open(start)
        except OSError as error:
            self._note(error)

    def _open(self, start: int | None) -> None:
        """Open the log of a start; None: the one that was open last."""
        if self._descriptor is not None and self._file is not None and self._file.exists():
            return
        # An agent that cleans the tree may delete the log.
        self.close()
        make_folders_below(self._root, self.folder)
        if self._form is LogForm.ITERATION and start is not None:
            self._file = self.folder / f"iteration-{start:03d}.log"
        elif self._file is None:
            self._file = _next_of_the_day(self.folder, self._started)
        self._descriptor = open_to_append(self._file, mode=0o644)

    def _write(self, data: bytes) -> None:
        if self._descriptor is None:
            return
        try:
            write_all(self._descriptor, data)
        except OSError as error:
            self._note(error)

    def _note(self, error: OSError) -> None:
        if self.problem is None:
            self._problem = f"{self.folder}: {error.strerror or error}"


def move_earlier_logs(folder: Path, earlier_run: str | None) -> Path | None:
    """Move logs of an earlier run to ``logs/run-<id>/``; None where there are none.

    Raises ``StateUnusable`` where they cannot be moved, since they would be overwritten.
    """
    try:
        names = [name for name in names_in(folder, MOST_LOGS) if _OLD_FILES.fullmatch(name)]
    except StateUnusable:
        # Missing or not writable, which the log itself reports.
        return None
    if not names:
        return None
    target = folder / f"run-{earlier_run or 'earlier'}"
    number = 1
    while target.exists():
        number += 1
        target = folder / f"run-{earlier_run or 'earlier'}-{number}"
    try:
        target.mkdir()
        for name in names:
            (folder / name).replace(target / name)
    except OSError as error:
        raise StateUnusable(
            f"the logs of an earlier run cannot be moved to {target}: {error.strerror or error}; "
            "move them away, or fix the permissions"
        ) from error
    return target


def find_old_logs(
    folder: Path, retention: LogsConfig, now: datetime, *, kept_since: datetime | None = None
) -> list[Path]:
    """Logs to remove, oldest first: neither new enough nor among the newest.

    By time of change; only files with our names, in ``folder`` and its ``run-<id>/``. Without any
    rule everything is kept. Files changed since ``kept_since`` are always kept.
    """
    if retention.days is None and retention.newest is None:
        return []
    places = [folder, *(path for path in _entries(folder) if _OUR_FOLDERS.fullmatch(path.name))]
    found = [log for place in places if not place.is_symlink() for log in _our_logs(place)]
    found.sort(reverse=True)
    old = found[retention.newest or 0 :]
    protected = [] if retention.days is None else [now - timedelta(days=retention.days)]
    protected += [] if kept_since is None else [kept_since]
    for since in protected:
        old = [(changed, path) for changed, path in old if changed < since.timestamp()]
    return [path for _, path in reversed(old)]


def _our_logs(folder: Path) -> Iterator[tuple[float, Path]]:
    """The regular files with our names, each with its time of change."""
    for path in _entries(folder):
        with contextlib.suppress(OSError):
            status = path.lstat()
            if _OUR_LOGS.fullmatch(path.name) and stat.S_ISREG(status.st_mode):
                yield status.st_mtime, path


def remove_logs(paths: Iterable[Path]) -> int:
    """Remove logs and then empty run folders; returns the number of removed logs."""
    removed = 0
    for path in paths:
        with contextlib.suppress(OSError):
            if not remove_unused(path):
                continue
            removed += 1
            if _OUR_FOLDERS.fullmatch(path.parent.name):
                path.parent.rmdir()
    return removed


def _entries(folder: Path) -> list[Path]:
    try:
        return [folder / name for name in names_in(folder, MOST_LOGS)]
    except StateUnusable:
        return []


def _next_of_the_day(folder: Path, started: datetime) -> Path:
    day = f"{started:%Y-%m-%d}"
    pattern = re.compile(rf"{day}_(\d{{3,}})\.log")
    try:
        names = names_in(folder, MOST_LOGS)
    except StateUnusable as error:
        raise OSError(errno.EFBIG, error.message) from error
    numbers = [int(match[1]) for name in names if (match := pattern.fullmatch(name))]
    return folder / f"{day}_{max(numbers, default=0) + 1:03d}.log"


class JsonlLog:
    """JSON-lines log of one run, written during the run."""

    def __init__(
        self,
        folder: Path | None,
        *,
        summary: SummaryFile,
        started: datetime,
        now: Callable[[], datetime],
    ) -> None:
        """``folder``: None for no log; ``started``, local time, is part of the file name."""
        self.summary_file = summary
        self._folder = folder
        self._started = started
        self._now = now
        self._is_closed = False
        self._problem: str | None = None
        self._file: Path | None = None
        self._descriptor: int | None = None
        self._loop = _LoopLines()
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
        tries: int = 1,
    ) -> None:
        """Write the loop's record before an iteration."""
        del branch
        head = iteration_start(
            iteration=iteration, issue=task, mode=mode.value, at=now, tries=tries
        )
        self._write(head)
        self._write(self._loop.begun(start))

    def note(self, event: EventBase, line: EventLine, at: datetime) -> None:
        """Write the loop's record of what it reports, where it has no other."""
        has_other = isinstance(event, IterationStarted | IterationEnded)
        record = (
            b""
            if has_other
            else loop_event(
                kind=str(getattr(event, "kind", "event")),
                code=event.__dict__.get("code"),
                iteration=event.__dict__.get("iteration"),
                level=line.weight.value,
                message=escape_control_chars(line.text),
                at=at,
            )
        )
        is_closed = self._descriptor is None
        if lines := self._loop.add(event, record):
            self._finish_lines(at)
            self._write(lines)
            if is_closed and self._is_closed:
                self.close()

    def write_output(self, stream: str, data: bytes) -> None:
        """Write the agent's output on one of its streams."""
        self._write(self._streams[stream].feed(data, self._now()))

    def write(self, data: bytes) -> None:
        """Write other output, such as the validation script's."""
        self.write_output(VALIDATION, data)

    def end(self, ended: IterationEnded, now: datetime, *, exit_code: int | None) -> None:
        """Write the loop's record after an iteration, and the row of the summary."""
        self._finish_lines(now)
        self._write(
            iteration_end(
                iteration=ended.iteration, exit_code=exit_code, seconds=ended.seconds, at=now
            )
        )
        self.summary_file.add(ended)

    def close(self) -> None:
        """Write an incomplete last line, and close the file; idempotent."""
        self._finish_lines(self._now())
        self._is_closed = True
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
            # An incomplete line would spoil the next one.
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
        if self._is_closed and self._file is not None and self._file.exists():
            self._descriptor = open_to_append(self._file, mode=PRIVATE_FILE)
        while self._descriptor is None:
            self._file = folder / f"{self._started:%Y-%m-%dT%H-%M-%S}.log"
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_EXCL
            try:
                self._descriptor = os.open(self._file, flags, PRIVATE_FILE)
            except FileExistsError:
                # Another clone's run started in the same second, or this one before it was resumed.
                self._started += timedelta(seconds=1)
        mark_in_use(self._descriptor)
        return self._descriptor
