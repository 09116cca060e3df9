"""Inbox: commands to a run, one file each, written by atomic rename (docs/rules.md#inbox).

`send_command` posts a command to a live engine and waits until its id is in the journal or the
lock is free, whichever comes first; it never hangs. ``stop --now`` waits two seconds for
acceptance, then signals the engine.

Without an engine, notes and task resets are stored as files as well, which the next start takes
over: a note that is written while an engine starts is taken by this one or the next, never lost.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from ralph_ls.protocol.errors import NoEngine
from ralph_ls.protocol.run.commands import COMMAND_ADAPTER, Asker, Command, Stop
from ralph_ls.protocol.run.events import CommandAccepted, CommandRejected
from ralph_ls.store.files import PRIVATE_FILE, make_private_folder, read_if_there, write_atomic
from ralph_ls.store.layout import StateFolder, Worktree
from ralph_ls.store.run.follow import LIVE_INTERVAL, FolderWatch, JournalTail
from ralph_ls.store.run.lock import is_held, is_same_process, own_start_time, read_owner
from ralph_ls.store.run.runs import FoundRun

MAX_COMMAND_BYTES = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxEntry:
    """One file of the inbox: its command, or why it has none."""

    path: Path
    id: str
    command: Command | None
    problem: str = ""


def post_command(inbox: Path, command: Command) -> Path:
    """Post a command, in the name of this process unless it has another sender.

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


def collect_commands(inbox: Path) -> list[InboxEntry]:
    """All commands in the inbox, oldest first; the files stay until ``remove_command``."""
    try:
        entries = [entry for entry in os.scandir(inbox) if _is_command(entry)]
    except FileNotFoundError:
        return []
    aged = [(_age_of(entry), _read_command(Path(entry.path))) for entry in entries]
    # File times are coarse: within one tick the commands' own times decide the order.
    ordered = sorted(aged, key=lambda pair: (pair[0], _asked_at(pair[1]), pair[1].path.name))
    return [posted for _, posted in ordered]


def remove_command(posted: InboxEntry) -> None:
    """Remove a command from the inbox once the journal has its answer."""
    posted.path.unlink(missing_ok=True)


def _is_command(entry: os.DirEntry[str]) -> bool:
    is_named_so = entry.name.endswith(".json") and not entry.name.startswith(".")
    # Anything but a regular file could block or mislead its reader.
    return is_named_so and entry.is_file(follow_symlinks=False)


def _age_of(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_mtime_ns
    except OSError:
        return 0


def _asked_at(posted: InboxEntry) -> float:
    return posted.command.at.timestamp() if posted.command is not None else 0.0


def _read_command(path: Path) -> InboxEntry:
    command_id = path.stem[:64]
    try:
        if path.stat().st_size > MAX_COMMAND_BYTES:
            problem = f"the file is larger than {MAX_COMMAND_BYTES} bytes"
            return InboxEntry(path=path, id=command_id, command=None, problem=problem)
        command = COMMAND_ADAPTER.validate_json(path.read_bytes())
    except ValidationError as error:
        details = "; ".join(
            f"{'.'.join(str(part) for part in item['loc']) or 'command'}: {item['msg']}"
            for item in error.errors(include_url=False, include_input=False)[:3]
        )
        return InboxEntry(path=path, id=command_id, command=None, problem=details)
    except OSError as error:
        problem = f"the file cannot be read: {error.strerror or error}"
        return InboxEntry(path=path, id=command_id, command=None, problem=problem)
    return InboxEntry(path=path, id=command.id, command=command)


def queue_note(state: StateFolder, text: str, *, by: str) -> None:
    """Store a note for the next start; raises ``StateUnusable`` where that fails."""
    folder = make_private_folder(_folder(state))
    line = json.dumps({"text": text, "by": by}, ensure_ascii=False)
    data = line.encode("utf-8", errors="replace") + b"\n"
    write_atomic(folder / f"{secrets.token_hex(8)}.json", data, mode=PRIVATE_FILE)


def queue_reset(state: StateFolder, task: str, *, by: str) -> None:
    """Store the reset of a task for a resumed run; raises like ``queue_note``."""
    folder = make_private_folder(_folder(state))
    name = secrets.token_hex(8)
    line = json.dumps({"task": task, "by": by, "command": name}, ensure_ascii=False)
    data = line.encode("utf-8", errors="replace") + b"\n"
    write_atomic(folder / f"{name}.{_RESET}.json", data, mode=PRIVATE_FILE)


def queue_overrule(state: StateFolder, *, by: str) -> None:
    """Store that the judge is overruled in a resumed run; raises like ``queue_note``."""
    folder = make_private_folder(_folder(state))
    name = secrets.token_hex(8)
    line = json.dumps({"overrule": True, "by": by, "command": name}, ensure_ascii=False)
    data = line.encode("utf-8", errors="replace") + b"\n"
    write_atomic(folder / f"{name}.{_OVERRULE}.json", data, mode=PRIVATE_FILE)


def take_overrules(state: StateFolder) -> list[tuple[str, str]]:
    """All stored overrulings as author and id, oldest first; call ``take_notes`` first."""
    found = (_entry(path) for path in _notes(state, "*.taken"))
    return [
        (str(one["by"]), str(one["command"]))
        for one in found
        if {"overrule", "by", "command"} <= one.keys()
    ]


def take_resets(state: StateFolder) -> list[tuple[str, str, str]]:
    """All stored resets as task, author and id, oldest first; call ``take_notes`` first.

    They are kept as long as notes.
    """
    found = (_entry(path) for path in _notes(state, "*.taken"))
    return [
        (str(one["task"]), str(one["by"]), str(one["command"]))
        for one in found
        if {"task", "by", "command"} <= one.keys()
    ]


def take_notes(state: StateFolder) -> list[tuple[str, str]]:
    """All stored notes as text and author, oldest first.

    They are kept until ``remove_taken_notes``, so that an engine that is killed before its journal
    has them leaves them to the next one.
    """
    left = _notes(state, "*.json")
    for path in left:
        path.rename(path.with_suffix(".taken"))
    return [note for path in _notes(state, "*.taken") if (note := _read_note(path)) is not None]


def peek_notes(state: StateFolder) -> list[tuple[str, str]]:
    """The notes that ``take_notes`` would return, without taking them."""
    left = [*_notes(state, "*.taken"), *_notes(state, "*.json")]
    return [note for path in left if (note := _read_note(path)) is not None]


def remove_taken_notes(state: StateFolder) -> None:
    """Remove the taken notes, which the journal has now."""
    for path in _notes(state, "*.taken"):
        path.unlink(missing_ok=True)


def _notes(state: StateFolder, pattern: str) -> list[Path]:
    found = [path for path in _folder(state).glob(pattern) if not path.name.startswith(".")]
    return sorted(found, key=lambda path: (path.stat().st_mtime_ns, path.name))


_RESET = "reset"
_OVERRULE = "overrule"


def _read_note(path: Path) -> tuple[str, str] | None:
    """The note in a file; None for an invalid file."""
    note = _entry(path)
    return (str(note["text"]), str(note["by"])) if {"text", "by"} <= note.keys() else None


def _entry(path: Path) -> dict[str, object]:
    try:
        found = json.loads(read_if_there(path) or b"")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _folder(state: StateFolder) -> Path:
    return state.folder / "notes"


STOP_NOW_PATIENCE = 2.0
"""Seconds that ``stop --now`` waits for acceptance before it signals (docs/rules.md#inbox)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandReply:
    """Reply to a command."""

    accepted: bool
    code: str
    """``accepted``, or the kebab-case reason of the rejection."""
    text: str
    by: str = ""


def new_command_id() -> str:
    """A unique id."""
    return secrets.token_hex(8)


def send_command(worktree: Worktree, run: FoundRun, command: Command) -> CommandReply:
    """Send ``command`` to the engine of ``run`` and wait for its reply.

    Raises ``NoEngine`` without a live engine, or where it ended before it read the command.
    """
    if not run.live:
        raise NoEngine(f"no engine is running in {worktree.root}; start one with: ralph run")
    state = StateFolder(folder=run.files.folder.parent.parent)
    journal = JournalTail(run.files.journal, offset=run.files.journal.stat().st_size)
    changed = threading.Event()
    patience = STOP_NOW_PATIENCE if isinstance(command, Stop) and command.now else None
    with FolderWatch([run.files.folder], changed.set):
        path = post_command(state.inbox, command)
        waited = 0.0
        while True:
            changed.clear()
            alive = is_held(worktree.git_dir)
            if reply := _find_reply(journal, command.id):
                return reply
            if not alive:
                path.unlink(missing_ok=True)
                raise NoEngine(
                    f"run {run.state.run} ended before it read the command; check it: ralph status"
                )
            if patience is not None and waited >= patience:
                return _signal(worktree)
            if not changed.wait(timeout=LIVE_INTERVAL):
                waited += LIVE_INTERVAL


def _find_reply(journal: JournalTail, command_id: str) -> CommandReply | None:
    for event in journal.read():
        if isinstance(event, CommandAccepted) and event.command == command_id:
            return CommandReply(accepted=True, code="accepted", text=event.text, by=event.by)
        if isinstance(event, CommandRejected) and event.command == command_id:
            return CommandReply(accepted=False, code=event.code, text=event.reason, by=event.by)
    return None


def _signal(worktree: Worktree) -> CommandReply:
    """End an engine that does not respond by a signal, and nothing else."""
    owner = read_owner(worktree.git_dir)
    if owner is None or not is_same_process(owner.pid, owner.process_start_time):
        raise NoEngine("the engine is gone; check it: ralph status")
    if sys.platform == "win32":
        os.kill(owner.pid, signal.CTRL_BREAK_EVENT)
    else:
        os.kill(owner.pid, signal.SIGTERM)
    return CommandReply(
        accepted=True, code="signalled", text=f"asked the engine (pid {owner.pid}) to end"
    )
