"""Writing files so that nobody ever sees half of one, and never outside the work tree.

SPEC §10, atomic writing: a temporary file beside the resolved target (symlinks are kept), the
mode kept, the content compared just before the rename where the caller asks for it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import stat
from pathlib import Path

from ralph_ls.protocol.errors import StateUnusable

PRIVATE_FILE = 0o600
PRIVATE_FOLDER = 0o700


class ChangedMeanwhile(Exception):
    """Somebody else wrote the file between our reading and our rename."""


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
        if expected is not None and read_if_there(target) != expected:
            raise ChangedMeanwhile(str(path))
        temporary.replace(target)
    except OSError as error:
        _discard(temporary)
        raise StateUnusable(
            f"{path} cannot be written: {error.strerror or error}; "
            "free some space or mend the permissions, then try again"
        ) from error
    except ChangedMeanwhile:
        _discard(temporary)
        raise


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte, also where the system takes only some at a time."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def read_if_there(path: Path) -> bytes | None:
    """The file's bytes, or None where there is no such file."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None


def read_regular(path: Path, limit: int) -> bytes | None:
    """The bytes of a file that a repository may have brought, or None where there is none.

    Raises ``StateUnusable`` where it is no regular file (a pipe would be waited for, a device be
    read for ever), is larger than ``limit`` bytes, or cannot be read.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    try:
        descriptor = os.open(path, flags)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise StateUnusable(f"{path} is no regular file; remove it, or put a file there")
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                data = file.read(limit + 1)
        finally:
            os.close(descriptor)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StateUnusable(
            f"{path} cannot be read: {error.strerror or error}; mend that, or remove it"
        ) from error
    if len(data) > limit:
        raise StateUnusable(f"{path} is larger than {limit} bytes; make it smaller, or remove it")
    return data


def content_hash(data: bytes) -> str:
    """16 hex digits that stand for ``data``."""
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def make_private_folder(folder: Path) -> Path:
    """Create ``folder`` and what is missing above it, for its owner alone."""
    try:
        missing = [parent for parent in (folder, *folder.parents) if not parent.is_dir()]
        for parent in reversed(missing):
            parent.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)
    except OSError as error:
        raise StateUnusable(
            f"the folder {folder} cannot be made: {error.strerror or error}; "
            "set RALPH_STATE_DIR to a folder that you may write"
        ) from error
    return folder


def make_folders_below(root: Path, folder: Path, *, mode: int = 0o777) -> None:
    """Create ``folder`` and what is missing between it and ``root``, which must be there.

    Where somebody removed ``root`` it stays removed: raises FileNotFoundError, and any other
    OSError of making a folder.
    """
    for part in reversed([folder, *folder.parents][: len(folder.relative_to(root).parts)]):
        part.mkdir(mode=mode, exist_ok=True)


def resolve_inside(root: Path, relative: str) -> Path:
    """The path of one of the loop's own files in the work tree.

    Raises ``StateUnusable`` where a symbolic link leads out of the tree: a cloned repository must
    not make the loop write anywhere else.
    """
    path = root / relative
    real_root = os.path.realpath(root)
    real = os.path.realpath(path)
    if real != real_root and not real.startswith(real_root + os.sep):
        raise StateUnusable(
            f"{relative} leads out of the work tree to {real}; "
            "remove that link, or set another path under [paths] in .ralph/config.toml"
        )
    return path


def _discard(temporary: Path) -> None:
    # Where not even the folder can be reached there is nothing to remove; the first error counts.
    with contextlib.suppress(OSError):
        temporary.unlink()


def _mode_of(path: Path) -> int | None:
    try:
        return path.stat().st_mode & 0o7777
    except FileNotFoundError:
        return None
