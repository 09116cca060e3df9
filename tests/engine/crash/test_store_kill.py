"""The kill test of the store: engines die at any moment, and no viewer notices more than a pause.

An engine is ``store_writer``, a viewer is ``store_viewer``: separate processes, real files.
The moments are drawn from a seed; where exactly a kill falls is up to the machine.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random

import pytest

from ralph_ls.protocol.run.events import (
    Event,
    EventBase,
    NoteAdded,
    RunEnded,
    RunResumed,
    RunStarted,
    UnknownEvent,
)
from ralph_ls.store.layout import StateFolder
from ralph_ls.store.run.follow import JournalFollower
from ralph_ls.store.run.journal import JournalRead, read_journal
from ralph_ls.store.run.lock import is_held
from tests.engine.crash.store_viewer import digest_of
from tests.engine.crash.store_writer import RUN

ROOT = Path(__file__).resolve().parents[3]
SEED = 20260131
N_KILLS = 20
PATIENCE = 60

Seen = tuple[int, str]
"""An event's number and the digest of all that it says."""


class Store:
    """The folders of one run, and the processes that share them."""

    def __init__(self, folder: Path) -> None:
        self.git_dir = folder / "git"
        self.git_dir.mkdir()
        self.state = StateFolder(folder=folder / "state")
        self.journal = self.state.run(RUN).journal
        self.journal.parent.mkdir(parents=True)

    def read(self) -> JournalRead:
        return read_journal(self.journal)

    @contextmanager
    def process(self, name: str, *arguments: Path) -> Iterator[subprocess.Popen[str]]:
        process = subprocess.Popen(
            [sys.executable, "-m", f"tests.engine.crash.{name}", self.git_dir, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "server"), str(ROOT)])},
        )
        try:
            yield process
        finally:
            process.kill()
            process.communicate()

    @contextmanager
    def engines(self) -> Iterator[Engines]:
        with self.process("store_writer", self.state.folder) as process:
            yield Engines(process)

    @contextmanager
    def viewer(self) -> Iterator[Viewer]:
        with self.process("store_viewer", self.journal) as process:
            yield Viewer(process)


class Engines:
    """One engine after the other, each a new process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._pid = 0

    def begin(self, order: str) -> int:
        """Wait until a new engine owns the run; the number of its first event."""
        assert self._process.stdin is not None
        self._process.stdin.write(order + "\n")
        self._process.stdin.flush()
        seq, self._pid = self._read("claimed")
        return seq

    def kill(self) -> None:
        os.kill(self._pid, signal.SIGKILL)

    def wait(self) -> int:
        """The exit code of the engine once it is gone."""
        (exit_code,) = self._read("over")
        return exit_code

    def _read(self, word: str) -> list[int]:
        assert self._process.stdout is not None
        told, *numbers = self._process.stdout.readline().split()
        assert told == word
        return [int(number) for number in numbers]


class Viewer:
    """A viewer in a separate process, and everything that it has reported."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.seen: list[Seen] = []
        self._process = process
        self._told = threading.Condition()
        self._following = False
        threading.Thread(target=self._listen, daemon=True).start()

    def follow(self) -> None:
        """Continue after the last event that it has seen."""
        self._following = True
        after_seq = self.seen[-1][0] if self.seen else 0
        assert self._process.stdin is not None
        self._process.stdin.write(f"follow {after_seq}\n")
        self._process.stdin.flush()

    def wait_for(self, seq: int) -> None:
        """Wait for the event with this number, or for the end of the engine."""
        with self._told:
            assert self._told.wait_for(
                lambda: not self._following or (self.seen and self.seen[-1][0] >= seq), PATIENCE
            ), f"event {seq} never came"

    def wait_for_end(self) -> None:
        with self._told:
            assert self._told.wait_for(lambda: not self._following, PATIENCE), "it never ended"

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._told:
                match line.split():
                    case ["event", seq, digest]:
                        self.seen.append((int(seq), digest))
                    case ["end"]:
                        self._following = False
                self._told.notify_all()


def to_seen(events: tuple[Event | UnknownEvent, ...] | list[EventBase]) -> list[Seen]:
    return [(event.seq, digest_of(event)) for event in events]


class PatientFollower:
    """A follower in this process that takes every engine of the run for the same one."""

    def __init__(self, journal: Path) -> None:
        self.seen: list[EventBase] = []
        self._follower = JournalFollower(journal, is_live=lambda: True)
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def wait_for_end(self) -> None:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "it never ended"

    def stop(self) -> None:
        self._follower.stop()

    def _run(self) -> None:
        for events in self._follower:
            self.seen.extend(events)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path)


@pytest.mark.slow
def test_engines_killed_at_any_moment_cost_no_viewer_an_event(store: Store) -> None:
    random = Random(SEED)
    n_torn = 0
    with ExitStack() as stack:
        steady = stack.enter_context(store.viewer())
        # This one looks away for every third engine, and catches up with the next.
        forgetful = stack.enter_context(store.viewer())
        patient = PatientFollower(store.journal)
        stack.callback(patient.stop)
        engines = stack.enter_context(store.engines())
        for number in range(N_KILLS):
            tears = random.random() < 0.5
            count, moment = random.randrange(20, 250), random.randrange(250)
            order = "tear" if tears else "write"
            first = engines.begin(f"{order} {random.randrange(1 << 30)} {count}")
            viewers = [steady] if number % 3 == 2 else [steady, forgetful]
            for viewer in viewers:
                viewer.follow()
            if not tears:
                steady.wait_for(first + min(moment, count))
                engines.kill()
            assert engines.wait() == -signal.SIGKILL
            read = store.read()
            n_torn += read.torn > 0
            assert not is_held(store.git_dir)
            assert read.unreadable == ()
            told = to_seen(read.events)
            for viewer in viewers:
                viewer.wait_for_end()
                assert viewer.seen == told, f"engine {number}"
        engines.begin("finish 1 10")
        for viewer in (steady, forgetful):
            viewer.follow()
            viewer.wait_for_end()
        assert engines.wait() == 0
        patient.wait_for_end()
        read = store.read()
        assert (read.torn, read.unreadable) == (0, ())
        # Nothing twice, nothing missing, nothing out of order, the same for everybody.
        assert [event.seq for event in read.events] == list(range(1, len(read.events) + 1))
        assert steady.seen == forgetful.seen == to_seen(patient.seen) == to_seen(read.events)
        kinds = [type(event) for event in read.events]
        assert kinds[0] is RunStarted
        assert kinds[-1] is RunEnded
        assert kinds.count(RunResumed) == N_KILLS
        assert n_torn > 5, "the seed must tear some lines"


@pytest.mark.slow
def test_viewers_that_never_read_change_nothing_for_the_engine(store: Store) -> None:
    holds_it_open = "import sys; file = open(sys.argv[1], 'rb'); print('open', flush=True); input()"
    store.journal.touch()
    let_go = threading.Event()
    seen: list[EventBase] = []

    def consume_nothing_for_long() -> None:
        for events in JournalFollower(store.journal, is_live=lambda: True):
            seen.extend(events)
            let_go.wait(PATIENCE)

    with ExitStack() as stack:
        stack.callback(let_go.set)
        idle = stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-c", holds_it_open, store.journal],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
        )
        stack.callback(idle.kill)
        assert idle.stdout is not None
        assert idle.stdout.readline() == "open\n"
        blocked = threading.Thread(target=consume_nothing_for_long, daemon=True)
        blocked.start()
        engines = stack.enter_context(store.engines())
        assert engines.begin("finish 7 2000") == 1
        assert engines.wait() == 0
        assert blocked.is_alive()
        assert idle.poll() is None
        read = store.read()
        assert [event.seq for event in read.events] == list(range(1, 2003))
        assert sum(isinstance(event, NoteAdded) for event in read.events) == 2000
        # And it has lost nothing by being slow.
        let_go.set()
        blocked.join(PATIENCE)
        assert to_seen(seen) == to_seen(read.events)
