"""Files: bounded reading that never blocks, and atomic writing that stays in the work tree.

Every file that a repository may have brought, or whose path a user gave, is read with
``read_regular`` (or in parts, with ``open_regular``): regular files only, up to a limit. A folder
is listed with ``names_in``. Files of the state folder are read with ``read_if_there``.

Writing is atomic: a temporary file beside the resolved target (symlinks are kept), the mode kept,
the content compared just before the rename where the caller asks for it.

A file marked with ``mark_in_use`` is not removed by ``remove_unused`` of another process: the logs
of several clones share a folder, and a start of one removes old logs. The system releases the mark
when the process dies.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import itertools
import os
import secrets
import stat
import sys
from io import FileIO
from pathlib import Path
from typing import BinaryIO

from ralph_ls.protocol.errors import StateUnusable

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700

LARGEST_FILE = 16 << 20
"""Most bytes of a file of a repository; a larger one is refused, never truncated."""

MOST_NAMES = 10_000
"""Most entries of a folder that is listed."""

_CHUNK = 1 << 20

_APPEND_FLAGS = (
    os.O_WRONLY
    | os.O_CREAT
    | os.O_APPEND
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)

_READ_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_BINARY", 0)
)


class ChangedMeanwhile(Exception):
    """Another process wrote the file between our reading and our rename."""


def write_atomic(
    path: Path,
    data: bytes,
    *,
    mode: int | None = None,
    expected: bytes | None = None,
    sync: bool = False,
) -> None:
    """Replace the content of ``path`` in one step.

    ``mode`` is used for a new file; an existing one keeps its own. With ``expected`` the present
    content must still be that, else ``ChangedMeanwhile``. Raises ``StateUnusable`` with the path
    and the system's reason where the file cannot be written.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        kept_mode = _mode_of(target)
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE)
        try:
            write_all(descriptor, data)
            if sync:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        wanted = kept_mode if kept_mode is not None else (0o644 if mode is None else mode)
        temporary.chmod(wanted)
        if expected is not None and not _holds(target, expected):
            raise ChangedMeanwhile(str(path))
        temporary.replace(target)
    except OSError as error:
        _discard(temporary)
        raise StateUnusable(
            f"{path} cannot be written: {error.strerror or error}; free some space or fix the "
            "permissions, then try again"
        ) from error
    except ChangedMeanwhile:
        _discard(temporary)
        raise


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte, also where the system writes only some at a time."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file for reading; neither opening nor reading it ever waits.

    Anything else at the path (a pipe, a device, a socket, a folder) raises ``OSError`` with its
    kind. The kind is checked before opening, since opening a device may have effects, and again
    afterwards, since the file may have been replaced meanwhile.
    """
    return os.fdopen(_open_regular(path), "rb")


def open_regular_unbuffered(path: str | os.PathLike[str]) -> FileIO:
    """The same without a buffer, for a file that grows while it is read."""
    return FileIO(_open_regular(path), "rb")


def _open_regular(path: str | os.PathLike[str]) -> int:
    _require_regular(Path(path).stat().st_mode, path)
    descriptor = os.open(path, _READ_FLAGS)
    try:
        _require_regular(os.fstat(descriptor).st_mode, path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def open_to_append(path: Path, *, mode: int) -> int:
    """Open a regular file for appending, created with ``mode`` if it is missing.

    Raises ``OSError`` for a link or anything else in its place.
    """
    descriptor = os.open(path, _APPEND_FLAGS, mode)
    try:
        _require_regular(os.fstat(descriptor).st_mode, path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_at_most(file: BinaryIO, limit: int | None = None) -> bytes:
    """Content of a file up to ``limit`` bytes, without allocating the limit first.

    Raises ``OSError`` for a file of a virtual file system that would block, although it is a
    regular file.
    """
    left = sys.maxsize if limit is None else limit
    wanted = min(os.fstat(file.fileno()).st_size + 1, left)
    parts: list[bytes] = []
    while wanted > 0:
        part: bytes | None = file.read(wanted)
        if part is None:
            raise IrregularFile(
                errno.EAGAIN, "is not a file: reading it would wait", str(file.name)
            )
        parts.append(part)
        if len(part) < wanted:
            break
        left -= wanted
        wanted = min(left, _CHUNK)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def kind_of_irregular(mode: int) -> str | None:
    """Kind of a file with this mode, in words; None for a regular file."""
    if stat.S_ISREG(mode):
        return None
    return next((words for is_one, words in _KINDS if is_one(mode)), "a special file")


def read_if_there(path: Path) -> bytes | None:
    """All bytes of a file of the state folder, or None if it is missing; raises ``OSError``.

    Use ``read_regular`` for files that a repository may have brought.
    """
    try:
        with open_regular(path) as file:
            return read_at_most(file)
    except (FileNotFoundError, NotADirectoryError):
        return None


def read_regular(path: Path, limit: int = LARGEST_FILE) -> bytes | None:
    """The bytes of a file that a repository may have brought, or None where there is none.

    Raises ``StateUnusable`` with the remedy for a file that is not regular (a pipe would block,
    a device never end), larger than ``limit`` bytes, or unreadable.
    """
    try:
        with open_regular(path) as file:
            data = read_at_most(file, limit + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        # ValueError: a path with a NUL in it.
        why = getattr(error, "strerror", None) or error
        if isinstance(error, IrregularFile):
            raise StateUnusable(f"{path} {why}; remove it, or replace it with a file") from error
        raise StateUnusable(f"{path} cannot be read: {why}; fix that, or remove it") from error
    if len(data) > limit:
        raise StateUnusable(
            f"{path} is larger than {size_in_words(limit)}; make it smaller, or remove it"
        )
    return data


def size_in_words(size: int) -> str:
    """A limit in bytes for users: ``16 MB``."""
    return f"{size >> 20} MB" if size >= 1 << 20 and not size % (1 << 20) else f"{size:,} bytes"


def names_in(folder: Path, limit: int = MOST_NAMES) -> list[str]:
    """Names in a folder that a repository may have brought, sorted; empty if it is missing.

    Raises ``StateUnusable`` where it cannot be listed or has more than ``limit`` entries.
    """
    try:
        with os.scandir(folder) as entries:
            found = [entry.name for entry in itertools.islice(entries, limit + 1)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        why = error.strerror or error
        raise StateUnusable(
            f"the folder {folder} cannot be read: {why}; fix that, or remove it"
        ) from error
    if len(found) > limit:
        raise _too_many(folder, limit)
    return sorted(found)


def printable_path(path: str | Path) -> str:
    """A path as it is reported and recorded, which is UTF-8."""
    return os.fsencode(path).decode("utf-8", errors="backslashreplace")


def files_below(folder: Path, limit: int = MOST_NAMES) -> list[Path]:
    """All files below a folder, sorted; links to folders are not followed.

    Raises ``StateUnusable`` for more than ``limit`` entries. Unreadable folders count as empty.
    """
    found: list[Path] = []
    to_list, left = [folder], limit
    while to_list:
        with contextlib.suppress(OSError), os.scandir(to_list.pop()) as entries:
            for entry in entries:
                left -= 1
                if left < 0:
                    raise _too_many(folder, limit)
                is_folder = entry.is_dir(follow_symlinks=False)
                (to_list if is_folder else found).append(Path(entry.path))
    return sorted(found)


class IrregularFile(OSError):
    """The path is not a regular file; ``strerror`` has its kind."""


_KINDS = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


def _too_many(folder: Path, limit: int) -> StateUnusable:
    return StateUnusable(
        f"the folder {folder} contains more than {limit:,} files; remove some of them"
    )


def _require_regular(mode: int, path: str | os.PathLike[str]) -> None:
    kind = kind_of_irregular(mode)
    if kind is not None:
        raise IrregularFile(errno.EINVAL, f"is {kind}, not a regular file", os.fspath(path))


def content_hash(data: bytes) -> str:
    """Hash of ``data``, 16 hex digits."""
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def make_private_folder(folder: Path) -> Path:
    """Create ``folder`` and its missing parents, accessible to the owner only."""
    try:
        missing = [parent for parent in (folder, *folder.parents) if not parent.is_dir()]
        for parent in reversed(missing):
            parent.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
    except OSError as error:
        raise StateUnusable(
            f"the folder {folder} cannot be created: {error.strerror or error}; set "
            "RALPH_STATE_DIR to a folder that you can write to"
        ) from error
    return folder


def make_folders_below(root: Path, folder: Path, *, mode: int = 0o777) -> None:
    """Create ``folder`` and its missing parents below ``root``.

    ``root`` itself is never created. Raises FileNotFoundError where it is missing, and any other
    OSError of creating a folder.
    """
    for part in reversed([folder, *folder.parents][: len(folder.relative_to(root).parts)]):
        part.mkdir(mode=mode, exist_ok=True)


def resolve_inside(root: Path, relative: str) -> Path:
    """Path of one of the loop's own files in the work tree.

    Raises ``StateUnusable`` where a symbolic link leads out of the tree: a cloned repository must
    not make the loop write anywhere else.
    """
    path = root / relative
    real_root = os.path.realpath(root)
    real = os.path.realpath(path)
    # The root may be that of the file system, which ends with a separator.
    if real != real_root and not real.startswith(real_root.rstrip(os.sep) + os.sep):
        raise StateUnusable(
            f"{relative} leads out of the work tree to {real}; "
            "remove that link, or set another path under [paths] in .ralph/config.toml"
        )
    return path


def _discard(temporary: Path) -> None:
    # Without access to the folder there is nothing to remove; the first error counts.
    with contextlib.suppress(OSError):
        temporary.unlink()


def _holds(path: Path, expected: bytes) -> bool:
    """Whether the file has this content; a larger file is not read."""
    try:
        with open_regular(path) as file:
            return read_at_most(file, len(expected) + 1) == expected
    except (FileNotFoundError, NotADirectoryError):
        return False


def _mode_of(path: Path) -> int | None:
    try:
        return path.stat().st_mode & 0o7777
    except FileNotFoundError:
        return None


if sys.platform != "win32":
    import fcntl


def mark_in_use(descriptor: int) -> None:
    """Mark an open file as in use until it is closed, where the system supports it."""
    # Windows does not remove open files.
    if sys.platform != "win32":
        with contextlib.suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)


def remove_unused(path: Path) -> bool:
    """Remove a file unless it is marked as in use; whether it was removed. Raises OSError."""
    if sys.platform == "win32":
        path.unlink()
        return True
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        path.unlink()
        return True
    finally:
        os.close(descriptor)
