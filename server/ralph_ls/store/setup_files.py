"""One file of a set-up: what is there, what it will be, and how it is written or put back.

This module must never know what a file is for.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.protocol.setup import SetupFile, SetupFileAction
from ralph_ls.store.files import (
    ChangedMeanwhile,
    make_folders_below,
    read_regular,
    resolve_inside,
    write_atomic,
)

LARGEST_FILE = 8 << 20
"""Bytes of a file that is changed; a larger plan is written by no person."""

EXECUTABLE = 0o755


@dataclass(frozen=True, slots=True, kw_only=True)
class FileToWrite:
    """One file of a set-up."""

    path: str
    """Relative to the root."""
    before: bytes | None
    """What is there; None: nothing."""
    after: bytes
    mode: int | None = None
    """Of a new file; None: as any text has it."""

    @property
    def action(self) -> SetupFileAction:
        if self.before is None:
            return SetupFileAction.CREATE
        return SetupFileAction.KEEP if self.before == self.after else SetupFileAction.CHANGE

    def to_wire(self) -> SetupFile:
        text = self.after.decode("utf-8", errors="replace")
        return SetupFile(path=self.path, action=self.action, text=text)


def to_write(root: Path, path: str, text: str) -> FileToWrite:
    """The file with this text; raises ``StateUnusable`` for what is no regular file."""
    data = text.encode("utf-8", errors="surrogateescape")
    return FileToWrite(path=path, before=bytes_of(root, path), after=data)


def new_file(root: Path, path: str, text: str, *, mode: int | None = None) -> FileToWrite:
    """The file with this text where nothing is there yet; what is there stays as it is."""
    before = bytes_of(root, path)
    after = text.encode() if before is None else before
    return FileToWrite(path=path, before=before, after=after, mode=mode)


def bytes_of(root: Path, path: str) -> bytes | None:
    """What is in a file of the work tree; None where there is none."""
    return read_regular(resolve_inside(root, path), LARGEST_FILE)


def text_of(root: Path, path: str) -> str | None:
    """The same as text, of which no byte is lost."""
    data = bytes_of(root, path)
    return None if data is None else data.decode("utf-8", errors="surrogateescape")


def write_all(root: Path, files: Iterable[FileToWrite]) -> None:
    """Write those that are new or changed, or none of them.

    Raises ``StateUnusable`` where one cannot be written or was changed meanwhile; then those
    written before it are put back.
    """
    written: list[FileToWrite] = []
    try:
        for file in files:
            if file.action is not SetupFileAction.KEEP:
                _write(root, file)
                written.append(file)
    except StateUnusable:
        for file in reversed(written):
            _put_back(root, file)
        raise


def _write(root: Path, file: FileToWrite) -> None:
    target = resolve_inside(root, file.path)
    try:
        make_folders_below(root, Path(root / file.path).parent)
        if file.before is None and read_regular(target) is not None:
            raise ChangedMeanwhile(file.path)
        write_atomic(target, file.after, mode=file.mode, expected=file.before)
    except ChangedMeanwhile as error:
        raise StateUnusable(
            f"{target} was changed by somebody else meanwhile, so nothing was written; "
            "look at it, and set up again"
        ) from error
    except OSError as error:
        raise StateUnusable(
            f"{target} cannot be written: {error.strerror or error}; mend that, and try again"
        ) from error


def _put_back(root: Path, file: FileToWrite) -> None:
    """As it was; the error that led here is the one that is told."""
    target = root / file.path
    with contextlib.suppress(OSError, StateUnusable, ChangedMeanwhile):
        if file.before is not None:
            write_atomic(target, file.before, expected=file.after)
        elif read_regular(target) == file.after:
            target.unlink()
