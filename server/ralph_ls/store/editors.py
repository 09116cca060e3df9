"""Connected editors: one file for each language server of the user, for ``ralph doctor --editor``.

A file of a server that ended without removing it is ignored, and removed by the next server.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.protocol.json_output import ConnectedEditor
from ralph_ls.store.files import PRIVATE_FILE, make_private_folder, read_if_there, write_atomic
from ralph_ls.store.run.lock import is_same_process

FOLDER = "editors"
"""In the state root."""


def announce_editor(root: Path, editor: ConnectedEditor) -> None:
    """Write the file of this server, for its owner only; without one nothing else is lost."""
    with contextlib.suppress(StateUnusable, OSError):
        make_private_folder(root / FOLDER)
        for path, found in _files(root):
            if found is None or not is_same_process(found.pid, found.started):
                path.unlink(missing_ok=True)
        data = editor.model_dump_json(by_alias=True, exclude_none=True).encode()
        write_atomic(_path(root, editor.pid), data + b"\n", mode=PRIVATE_FILE)


def withdraw_editor(root: Path, pid: int) -> None:
    """Remove the file of this server."""
    with contextlib.suppress(OSError):
        _path(root, pid).unlink(missing_ok=True)


def connected_editors(root: Path) -> tuple[ConnectedEditor, ...]:
    """The editors whose servers live, oldest first."""
    found = [one for _, one in _files(root) if one and is_same_process(one.pid, one.started)]
    return tuple(sorted(found, key=lambda one: one.started))


def _path(root: Path, pid: int) -> Path:
    return root / FOLDER / f"{pid}.json"


def _files(root: Path) -> Iterator[tuple[Path, ConnectedEditor | None]]:
    """Each file with what it holds; None for anything else."""
    try:
        names = sorted(os.listdir(root / FOLDER))
    except OSError:
        return
    for name in names:
        path = root / FOLDER / name
        with contextlib.suppress(StateUnusable, OSError):
            try:
                yield path, ConnectedEditor.model_validate_json(read_if_there(path) or b"")
            except ValidationError:
                yield path, None
