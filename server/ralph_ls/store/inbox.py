"""Where commands to a run are put: one file each, by atomic rename (SPEC §2)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from ralph_ls.protocol.commands import COMMAND_ADAPTER, Asker, Command
from ralph_ls.store.files import PRIVATE_FILE, make_private_folder, write_atomic
from ralph_ls.store.lock import own_start_time

MAX_COMMAND_BYTES = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """One file of the inbox: the command in it, or why there is none."""

    path: Path
    id: str
    command: Command | None
    problem: str = ""


def post(inbox: Path, command: Command) -> Path:
    """Put a command where the engine finds it, as asked by this process, unless it names another.

    Raises ``StateUnusable`` where that fails.
    """
    if command.asker is None:
        asker = Asker(pid=os.getpid(), start_time=own_start_time())
        command = command.model_copy(update={"asker": asker})
    make_private_folder(inbox)
    path = inbox / f"{command.id}.json"
    data = command.model_dump_json(by_alias=True).encode()
    write_atomic(path, data, mode=PRIVATE_FILE)
    return path


def collect(inbox: Path) -> list[Posted]:
    """Every command that lies in the inbox, oldest first; the files stay until ``remove``."""
    try:
        entries = [entry for entry in os.scandir(inbox) if _is_command(entry)]
    except FileNotFoundError:
        return []
    aged = [(_age_of(entry), _read(Path(entry.path))) for entry in entries]
    # A file's time is coarse: of two within one tick, the time of asking tells which came first.
    ordered = sorted(aged, key=lambda pair: (pair[0], _asked_at(pair[1]), pair[1].path.name))
    return [posted for _, posted in ordered]


def remove(posted: Posted) -> None:
    """Take a command out of the inbox once its answer stands in the journal."""
    posted.path.unlink(missing_ok=True)


def _is_command(entry: os.DirEntry[str]) -> bool:
    is_named_so = entry.name.endswith(".json") and not entry.name.startswith(".")
    # Anything but a plain file could hold up or lead astray whoever reads it.
    return is_named_so and entry.is_file(follow_symlinks=False)


def _age_of(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_mtime_ns
    except OSError:
        return 0


def _asked_at(posted: Posted) -> float:
    return posted.command.at.timestamp() if posted.command is not None else 0.0


def _read(path: Path) -> Posted:
    command_id = path.stem[:64]
    try:
        if path.stat().st_size > MAX_COMMAND_BYTES:
            problem = f"the file is larger than {MAX_COMMAND_BYTES} bytes"
            return Posted(path=path, id=command_id, command=None, problem=problem)
        command = COMMAND_ADAPTER.validate_json(path.read_bytes())
    except ValidationError as error:
        details = "; ".join(
            f"{'.'.join(str(part) for part in item['loc']) or 'command'}: {item['msg']}"
            for item in error.errors(include_url=False, include_input=False)[:3]
        )
        return Posted(path=path, id=command_id, command=None, problem=details)
    except OSError as error:
        problem = f"the file cannot be read: {error.strerror or error}"
        return Posted(path=path, id=command_id, command=None, problem=problem)
    return Posted(path=path, id=command.id, command=command)
