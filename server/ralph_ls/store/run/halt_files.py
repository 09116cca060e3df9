"""Halt files: ``decide.txt`` and ``blocked.txt``, editable views of the journal's questions and
blockers (docs/rules.md#questions).
"""

from __future__ import annotations

import errno
import os
import re
from datetime import datetime
from pathlib import Path

from ralph_ls.core.loop.decide_file import (
    format_decide,
    iteration_asked_in,
    parse_decide,
    read_halt_files,
)
from ralph_ls.core.loop.inputs import HaltFiles
from ralph_ls.protocol.config.config import PathsConfig
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.store.files import make_folders_below, read_regular, resolve_inside, write_atomic

_SEPARATOR = re.compile(r"^---[ \t]*\r?$", re.MULTILINE)


def load_halt_files(root: Path, paths: PathsConfig) -> HaltFiles:
    """Present content of the two files; invalid UTF-8 is replaced.

    Raises ``StateUnusable`` where one leads out of the tree, or cannot be read.
    """
    decide = read_regular(resolve_inside(root, paths.decide))
    blocked = read_regular(resolve_inside(root, paths.blocked))
    return read_halt_files(_text(decide), _text(blocked))


def write_decide(
    root: Path,
    paths: PathsConfig,
    *,
    question: str,
    iteration: int | None,
    asked_at: datetime,
    answer: str | None = None,
) -> Path:
    """Write the question, with its answer once there is one; the user's edit is kept.

    An answer to another iteration's question does not count, even if the question is the same.
    """
    path = resolve_inside(root, paths.decide)
    known = read_regular(path)
    if answer is None and known is not None and _holds(known, question, iteration):
        return path
    _make_folder_of(path, root)
    write_atomic(path, format_decide(question, iteration, asked_at, answer).encode())
    return path


def write_blocked(root: Path, paths: PathsConfig, reason: str) -> Path:
    """Write the reason and a newline (docs/rules.md#blockers)."""
    path = resolve_inside(root, paths.blocked)
    _make_folder_of(path, root)
    write_atomic(path, f"{reason.strip()}\n".encode())
    return path


def make_halt_folders(root: Path, paths: PathsConfig) -> list[Path]:
    """Create the folders of the halt files, and return them; raises ``StateUnusable``."""
    files = [resolve_inside(root, path) for path in (paths.decide, paths.blocked)]
    for file in files:
        _make_folder_of(file, root)
    return sorted({file.parent for file in files})


def remove_decide(root: Path, paths: PathsConfig) -> None:
    """Remove the file if it is answered; an open question is kept."""
    path = resolve_inside(root, paths.decide)
    data = read_regular(path)
    if data is not None and parse_decide(_text(data) or "")[1] is not None:
        path.unlink(missing_ok=True)


def remove_blocked(root: Path, paths: PathsConfig) -> None:
    """Remove the file after the blocker was resolved."""
    resolve_inside(root, paths.blocked).unlink(missing_ok=True)


def write_answer(root: Path, paths: PathsConfig, answer: str) -> None:
    """Write an answer below the open question of ``decide.txt``, without an engine.

    Raises FileNotFoundError where there is no question.
    """
    path = resolve_inside(root, paths.decide)
    data = read_regular(path)
    if data is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), os.fspath(path))
    text = data.decode("utf-8", errors="surrogateescape")
    newline = "\r\n" if "\r\n" in text else "\n"
    if not text.endswith("\n"):
        text += newline
    if not _SEPARATOR.search(text):
        text += f"{newline}---{newline}## Answer{newline}"
    text += answer.strip().replace("\n", newline) + newline
    write_atomic(path, text.encode("utf-8", errors="surrogateescape"), expected=data)


def _make_folder_of(path: Path, root: Path) -> None:
    try:
        make_folders_below(root, path.parent)
    except OSError as error:
        raise StateUnusable(
            f"{path} cannot be written: {error.filename}: {error.strerror}; fix that, or set "
            "another path under [paths] in .ralph/config.toml"
        ) from error


def _holds(data: bytes, question: str, iteration: int | None) -> bool:
    text = _text(data) or ""
    origin = iteration_asked_in(text)
    is_older = None not in {origin, iteration} and origin != iteration
    return not is_older and parse_decide(text)[0].split() == question.split()


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", errors="replace")
