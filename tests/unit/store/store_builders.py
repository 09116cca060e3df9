"""Small events and real processes for the tests of the store."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.run.commands import Answer, Asker, Command, Note, Pause, Resume
from ralph_ls.protocol.run.events import Event, NoteAdded, RunEnded, RunResumed, dump_event
from ralph_ls.protocol.run.values import EndReason

RUN = "20260131T120000Z-0a1b"
START = datetime(2026, 1, 31, 12, tzinfo=UTC)
ROOT = Path(__file__).resolve().parents[3]


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def note(seq: int, text: str = "look at the tests first") -> NoteAdded:
    return NoteAdded(seq=seq, at=at(seq), run=RUN, text=text, by="ralph note")


def notes(first: int, last: int) -> list[Event]:
    return [note(seq) for seq in range(first, last + 1)]


def ended(seq: int) -> RunEnded:
    return RunEnded(
        seq=seq,
        at=at(seq),
        run=RUN,
        reason=EndReason.LIMIT,
        exit_code=1,
        message="reached the 3-iteration limit",
    )


def resumed(seq: int) -> RunResumed:
    return RunResumed(
        seq=seq, at=at(seq), run=RUN, version="0.1.0", pid=4711, by="ralph run", config=Config()
    )


def to_lines(events: Sequence[Event]) -> bytes:
    return b"".join(dump_event(event) + b"\n" for event in events)


ASKER = Asker(pid=4711, start_time=1769860800.25)


def pause(command_id: str, *, seconds: float = 0.0) -> Pause:
    return Pause(id=command_id, run=RUN, at=at(seconds), by="ralph pause", asker=ASKER)


def resume(command_id: str, *, seconds: float = 0.0) -> Resume:
    return Resume(id=command_id, run=RUN, at=at(seconds), by="ralph resume", asker=ASKER)


def answer(command_id: str, text: str) -> Answer:
    return Answer(id=command_id, run=RUN, at=START, by="ralph answer", asker=ASKER, text=text)


def ask_note(command_id: str, text: str) -> Note:
    return Note(id=command_id, run=RUN, at=START, by="ralph note", asker=ASKER, text=text)


COMMANDS: tuple[Command, ...] = (
    pause("pause-0001"),
    resume("resume-0001"),
    answer("answer-0001", "Postgres; we run it already"),
    ask_note("note-00001", "the date is wrong in winter"),
)


def git(folder: Path, *arguments: str) -> str:
    """Run git there and give back what it printed."""
    command = ["git", "-C", str(folder), *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def repository(folder: Path) -> Path:
    """A repository with one commit."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet")
    (folder / "README.md").write_text("# A project\n", encoding="utf-8")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", "first")
    return folder


def start_python(code: str, *arguments: str | Path) -> subprocess.Popen[str]:
    """Run ``code`` in a separate process; it talks over its stdin and stdout."""
    return subprocess.Popen(
        [sys.executable, "-c", code, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=environment(),
    )


def environment() -> dict[str, str]:
    """This process's environment, with this package importable."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "server"), str(ROOT)])}
