"""Summary file: ``summary.csv`` with eight columns and one row an iteration, in every profile
(docs/rules.md#logs).

It is a view of the journal, so it is written again where it was removed.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from ralph_ls.core.views.text.summary import CSV_HEADER, csv_row
from ralph_ls.protocol.config.config import Config, LogForm
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.protocol.run.events import IterationEnded
from ralph_ls.protocol.run.values import Mode
from ralph_ls.store.files import make_folders_below, open_to_append, write_all, write_atomic
from ralph_ls.store.layout import RunFiles

NAME = "summary.csv"


class SummaryFile:
    """Summary of one run, written during the run."""

    def __init__(
        self,
        root: Path,
        folder: Path,
        *,
        mode: int = 0o644,
        mode_word: Callable[[Mode], str] = str,
    ) -> None:
        """``folder`` is below ``root``, which must exist; ``mode`` is that of a new file.

        ``mode_word`` returns the name of an iteration's mode.
        """
        self.path = folder / NAME
        self.problem: str | None = None
        """The first failure to write, in words."""
        self._root = root
        self._mode = mode
        self._mode_word = mode_word
        self._rows = [_as_csv([CSV_HEADER])]
        """Rows as in the file, including the header."""
        self._size = len(self._rows[0])
        """Bytes of the whole file, so that it is not joined again for each row."""

    def add(self, ended: IterationEnded) -> None:
        """Add the iteration's row, before the next agent starts (docs/rules.md#logs)."""
        self._add([ended])
        self._write()

    def load_rows(self, ended: Iterable[IterationEnded]) -> None:
        """Add the rows of iterations that this run had under an earlier engine."""
        del self._rows[1:]
        self._size = len(self._rows[0])
        self._add(ended)
        if len(self._rows) > 1:
            self._write()

    def _add(self, ended: Iterable[IterationEnded]) -> None:
        rows = [_as_csv([row]) for row in _rows_of(ended, self._mode_word)]
        self._rows += rows
        self._size += sum(map(len, rows))

    def _write(self) -> None:
        """Append the newest row; write all rows where the file was removed or truncated."""
        try:
            make_folders_below(self._root, self.path.parent)
            size = self.path.stat().st_size if self.path.exists() else -1
            if size == self._size - len(self._rows[-1]) and len(self._rows) > 2:
                descriptor = open_to_append(self.path, mode=self._mode)
                try:
                    write_all(descriptor, self._rows[-1])
                finally:
                    os.close(descriptor)
            elif size != self._size:
                write_atomic(self.path, b"".join(self._rows), mode=self._mode)
        except OSError as error:
            folder = self.path.parent.relative_to(self._root)
            self.problem = self.problem or f"{folder}: {error.strerror or error}"
        except StateUnusable as error:
            self.problem = self.problem or error.message


def summary_folder(root: Path, config: Config, files: RunFiles) -> Path:
    """Folder of a run's summary: in the tree, except with JSON-lines logs."""
    return files.folder if config.logs.form is LogForm.JSONL else root / config.paths.logs


def shown_summary(config: Config, files: RunFiles) -> str:
    """Path of the summary for users, relative to the work tree if it is inside."""
    if config.logs.form is LogForm.JSONL:
        return str(files.folder / NAME)
    return f"{config.paths.logs}/{NAME}"


def has_row(ended: IterationEnded) -> bool:
    """Whether the summary has a row for it: only starts that count have one."""
    return ended.counted


def write_summary(
    folder: Path, ended: Iterable[IterationEnded], *, mode_word: Callable[[Mode], str] = str
) -> None:
    """Write the whole summary of an ended run; raises ``StateUnusable``."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StateUnusable(
            f"the folder {folder} cannot be created: {error.strerror or error}; fix that"
        ) from error
    write_atomic(folder / NAME, _as_csv([CSV_HEADER, *_rows_of(ended, mode_word)]))


def _rows_of(
    ended: Iterable[IterationEnded], mode_word: Callable[[Mode], str]
) -> list[tuple[str, ...]]:
    return [csv_row(event, mode_word(event.mode)) for event in ended if has_row(event)]


def _as_csv(rows: list[tuple[str, ...]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()
