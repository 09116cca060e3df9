"""Files that an agent reads and writes through its client: those of the work tree, and no others.

We declare that we serve none, so that agents use the disk as they do without us; some ask all the
same. Symbolic links are followed first, so that none leads outside.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.store.files import read_regular, write_atomic


class Refused(Exception):
    """Why a file is not read or written, in words."""


def read_text(root: Path, params: Mapping[str, Any]) -> str:
    """The text of a file, or so many of its lines from one of them; raises ``Refused``."""
    path = inside(root, params.get("path"))
    try:
        data = read_regular(path)
    except StateUnusable as error:
        raise Refused(error.message) from error
    if data is None:
        raise Refused(f"{path} cannot be read: No such file or directory")
    text = data.decode("utf-8", errors="replace")
    first, count = params.get("line"), params.get("limit")
    if not isinstance(first, int) and not isinstance(count, int):
        return text
    lines = text.splitlines(keepends=True)
    start = max(0, first - 1) if isinstance(first, int) else 0
    end = start + max(0, count) if isinstance(count, int) else len(lines)
    return "".join(lines[start:end])


def write_text(root: Path, params: Mapping[str, Any]) -> Path:
    """Write a file, with its folders; raises ``Refused``."""
    path, content = inside(root, params.get("path")), params.get("content")
    if not isinstance(content, str):
        raise Refused(f"there is no text to be written to {path}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, content.encode("utf-8", errors="replace"))
    except StateUnusable as error:
        raise Refused(error.message) from error
    except OSError as error:
        raise Refused(f"{path} cannot be written: {error.strerror or error}") from error
    return path


def inside(root: Path, given: object) -> Path:
    """The file that is meant, with links followed; raises ``Refused`` where it lies outside."""
    if not isinstance(given, str) or not given or "\0" in given:
        raise Refused("no path was given")
    try:
        top = root.resolve()
        path = (top / given).resolve()
    except (OSError, RuntimeError) as error:
        raise Refused(f"{given} cannot be looked at: {error}") from error
    if not path.is_relative_to(top) or path == top:
        raise Refused(f"{given} lies outside of the work tree {top}; only files in it are served")
    if ".git" in path.relative_to(top).parts:
        raise Refused(f"{given} is git's own; use git to change it")
    return path
