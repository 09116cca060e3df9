from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from ralph_ls.protocol.errors import NoEngine
from ralph_ls.protocol.run.commands import Note, Stop
from ralph_ls.protocol.run.events import CommandAccepted, CommandRejected, Event
from ralph_ls.protocol.run.state import RunState
from ralph_ls.store.layout import StateFolder, Worktree
from ralph_ls.store.run import inbox as asking
from ralph_ls.store.run.follow import FolderWatch
from ralph_ls.store.run.inbox import CommandReply, collect_commands, new_command_id, send_command
from ralph_ls.store.run.journal import Journal
from ralph_ls.store.run.lock import EngineLock, LockOwner, own_start_time
from ralph_ls.store.run.runs import FoundRun
from tests.unit.store.store_builders import RUN, START, note, start_python

PATIENCE = 60


@dataclass(frozen=True, kw_only=True)
class Place:
    """A work tree with a run, as far as asking needs it."""

    worktree: Worktree
    state: StateFolder
    journal: Journal

    def found(self, *, live: bool = True) -> FoundRun:
        files = self.state.run(RUN)
        return FoundRun(files=files, state=RunState(run=RUN), owner=None, live=live)


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    root = tmp_path / "tree"
    (root / ".git").mkdir(parents=True)
    state = StateFolder(folder=tmp_path / "state")
    state.run(RUN).folder.mkdir(parents=True)
    state.inbox.mkdir()
    worktree = Worktree(root=root, git_dir=root / ".git", common_dir=root / ".git")
    journal = Journal(state.run(RUN).journal)
    yield Place(worktree=worktree, state=state, journal=journal)
    journal.close()


def owner(pid: int, started: float) -> LockOwner:
    return LockOwner(pid=pid, process_start_time=started, run=RUN, state_dir="/state")


@contextmanager
def engine(place: Place, answer: Callable[[Note], list[Event]]) -> Iterator[None]:
    """A thread that holds the lock, answers one command as an engine would, and lets go."""
    lock = EngineLock(place.worktree.git_dir)
    lock.acquire()
    lock.claim(owner(1, 1.0))
    arrived = threading.Event()

    def serve() -> None:
        with FolderWatch([place.state.inbox], arrived.set):
            while not (posted := collect_commands(place.state.inbox)):
                assert arrived.wait(PATIENCE)
                arrived.clear()
        assert isinstance(posted[0].command, Note)
        place.journal.append(answer(posted[0].command))
        lock.release()

    thread = threading.Thread(target=serve)
    thread.start()
    yield
    thread.join(PATIENCE)
    assert not thread.is_alive()


def command(command_id: str = "command-1") -> Note:
    return Note(id=command_id, run=RUN, at=START, by="Ada", text="mind the tax")


def accepted(command_id: str, seq: int = 2) -> CommandAccepted:
    return CommandAccepted(
        seq=seq, at=START, run=RUN, command=command_id, command_kind="note", by="Ada", text="noted"
    )


def rejected(command_id: str) -> CommandRejected:
    return CommandRejected(
        seq=2, at=START, run=RUN, command=command_id, by="Ada", code="twice", reason="asked twice"
    )


def test_ids_are_ones_that_commands_may_have() -> None:
    ids = {new_command_id() for _ in range(100)}
    assert len(ids) == 100
    assert all(command(one).id == one for one in ids)


def test_an_acceptance_is_the_reply(place: Place) -> None:
    with engine(place, lambda asked: [note(1), accepted(asked.id)]):
        reply = send_command(place.worktree, place.found(), command())
    assert reply == CommandReply(accepted=True, code="accepted", text="noted", by="Ada")


def test_a_rejection_is_the_reply_with_its_reason(place: Place) -> None:
    with engine(place, lambda asked: [rejected(asked.id)]):
        reply = send_command(place.worktree, place.found(), command())
    assert reply == CommandReply(accepted=False, code="twice", text="asked twice", by="Ada")


def test_replies_to_others_and_to_earlier_ones_are_not_ours(place: Place) -> None:
    place.journal.append([accepted("command-1", 1)])
    with engine(place, lambda asked: [accepted("command-2"), rejected(asked.id)]):
        assert not send_command(place.worktree, place.found(), command()).accepted


def test_where_no_engine_runs_nothing_is_posted(place: Place) -> None:
    with pytest.raises(NoEngine, match=r"no engine is running in .*; start one with: ralph run"):
        send_command(place.worktree, place.found(live=False), command())
    assert collect_commands(place.state.inbox) == []


def test_an_engine_that_ends_without_a_word_is_reported_and_the_command_taken_back(
    place: Place,
) -> None:
    with (
        engine(place, lambda _: []),
        pytest.raises(NoEngine, match="ended before it read the command; check it: ralph status"),
    ):
        send_command(place.worktree, place.found(), command())
    assert collect_commands(place.state.inbox) == []


HOLDER = """if True:
    import os, sys
    from pathlib import Path
    from ralph_ls.store.run.lock import EngineLock, LockOwner, own_start_time

    lock = EngineLock(Path(sys.argv[1]))
    lock.acquire()
    lock.claim(LockOwner(pid=os.getpid(), process_start_time=own_start_time(), run=sys.argv[2],
                     state_dir="/state"))
    print("deaf", flush=True)
    sys.stdin.readline()
"""


@contextmanager
def deaf_engine(place: Place) -> Iterator[subprocess.Popen[str]]:
    """A process that holds the lock and reads no inbox."""
    process = start_python(HOLDER, place.worktree.git_dir, RUN)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "deaf\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def stop_now() -> Stop:
    return Stop(id="command-1", run=RUN, at=START, by="Ada", now=True)


@pytest.mark.parametrize("patience", [0.0, 0.01])
def test_an_engine_that_does_not_listen_to_stop_now_is_signalled(
    place: Place, monkeypatch: pytest.MonkeyPatch, patience: float
) -> None:
    monkeypatch.setattr(asking, "STOP_NOW_PATIENCE", patience)
    monkeypatch.setattr(asking, "LIVE_INTERVAL", 0.01)
    with deaf_engine(place) as process:
        reply = send_command(place.worktree, place.found(), stop_now())
        assert process.wait(PATIENCE) == -15
    assert reply == CommandReply(
        accepted=True, code="signalled", text=f"asked the engine (pid {process.pid}) to end"
    )


@pytest.mark.parametrize("known", [True, False])
def test_only_the_engine_itself_is_ever_signalled(
    place: Place, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    monkeypatch.setattr(asking, "STOP_NOW_PATIENCE", 0.0)
    lock = EngineLock(place.worktree.git_dir)
    with lock:
        # The pid is this very process's, but the one that was started then is another.
        lock.claim(owner(1, own_start_time() - 1000))
        if not known:
            monkeypatch.setattr(asking, "read_owner", lambda _: None)
        with pytest.raises(NoEngine, match="the engine is gone"):
            send_command(place.worktree, place.found(), stop_now())
