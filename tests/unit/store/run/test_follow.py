from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver
from watchdog.utils import BaseThread

from ralph_ls.protocol.run.events import Event, UnknownEvent
from ralph_ls.store.run import follow
from ralph_ls.store.run.follow import FolderWatch, JournalFollower, Tail
from ralph_ls.store.run.journal import Journal
from tests.unit.store.store_builders import ended, note, notes, resumed, to_lines

PATIENCE = 60
"""Seconds before a test that waits for something gives up; none of them takes that long."""


class Following:
    """A follower in a separate thread, and the batches that it has yielded so far."""

    def __init__(self, journal: Path, *, after_seq: int = 0) -> None:
        self.live = True
        self.batches: queue.Queue[list[Event | UnknownEvent]] = queue.Queue()
        self.follower = JournalFollower(journal, is_live=lambda: self.live, after_seq=after_seq)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def take(self, n_events: int) -> list[Event | UnknownEvent]:
        """The next events, once there are so many."""
        events: list[Event | UnknownEvent] = []
        while len(events) < n_events:
            events.extend(self.batches.get(timeout=PATIENCE))
        return events

    def rest(self) -> list[Event | UnknownEvent]:
        """What else came, once the follower has ended by itself."""
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "the follower has not ended"
        events: list[Event | UnknownEvent] = []
        while not self.batches.empty():
            events.extend(self.batches.get_nowait())
        return events

    def end(self) -> None:
        self.follower.stop()
        self._thread.join(PATIENCE)

    def _run(self) -> None:
        for events in self.follower:
            self.batches.put(events)


@contextmanager
def following(journal: Path, *, after_seq: int = 0) -> Iterator[Following]:
    follower = Following(journal, after_seq=after_seq)
    try:
        yield follower
    finally:
        follower.end()


@pytest.fixture
def journal(tmp_path: Path) -> Iterator[Journal]:
    opened = Journal(tmp_path / "journal.jsonl")
    yield opened
    opened.close()


def append_bytes(path: Path, data: bytes) -> None:
    with path.open("ab") as file:
        file.write(data)


class TestFollower:
    def test_what_was_there_before_and_what_comes_later_arrive_once_and_in_order(
        self, journal: Journal
    ) -> None:
        journal.append(notes(1, 3))
        with following(journal.path) as viewer:
            assert viewer.take(3) == notes(1, 3)
            for seq in range(4, 9):
                journal.append([note(seq)])
                assert viewer.take(1) == [note(seq)]
            assert viewer.batches.empty()

    def test_a_journal_that_is_not_there_yet_is_waited_for(self, tmp_path: Path) -> None:
        with following(tmp_path / "journal.jsonl") as viewer:
            later = Journal(tmp_path / "journal.jsonl")
            later.append([note(1)])
            assert viewer.take(1) == [note(1)]
            later.close()

    def test_it_ends_when_the_run_has_ended(self, journal: Journal) -> None:
        with following(journal.path) as viewer:
            journal.append([note(1), ended(2)])
            assert viewer.rest() == [note(1), ended(2)]

    def test_an_end_before_what_is_followed_ends_nothing_while_an_engine_lives(
        self, journal: Journal
    ) -> None:
        journal.append([note(1), ended(2)])
        with following(journal.path, after_seq=2) as viewer:
            journal.append([resumed(3), ended(4)])
            assert viewer.rest() == [resumed(3), ended(4)]

    def test_an_end_before_what_is_followed_is_the_end_without_an_engine(
        self, journal: Journal
    ) -> None:
        journal.append([note(1), ended(2)])
        with following(journal.path, after_seq=2) as viewer:
            viewer.live = False
            assert viewer.rest() == []

    def test_it_ends_when_the_engine_dies_without_an_end_and_misses_nothing(
        self, journal: Journal
    ) -> None:
        with following(journal.path) as viewer:
            journal.append([note(1)])
            viewer.take(1)
            journal.append([note(2)])
            viewer.live = False
            assert viewer.rest() == [note(2)]

    def test_what_a_dead_engine_left_is_read_before_it_ends(self, journal: Journal) -> None:
        journal.append(notes(1, 2))
        follower = JournalFollower(journal.path, is_live=lambda: False)
        assert list(follower) == [notes(1, 2)]

    def test_a_run_that_was_resumed_continues_after_its_first_end(self, journal: Journal) -> None:
        journal.append([note(1), ended(2), resumed(3)])
        with following(journal.path) as viewer:
            assert viewer.take(3) == [note(1), ended(2), resumed(3)]
            journal.append([note(4), ended(5)])
            assert viewer.rest() == [note(4), ended(5)]

    def test_one_that_comes_back_gets_what_it_missed_once(self, journal: Journal) -> None:
        journal.append(notes(1, 4))
        with following(journal.path, after_seq=2) as viewer:
            assert viewer.take(2) == notes(3, 4)
            journal.append([note(5)])
            assert viewer.take(1) == [note(5)]

    def test_it_can_be_stopped_while_it_waits(self, journal: Journal) -> None:
        with following(journal.path) as viewer:
            viewer.follower.stop()
            assert viewer.rest() == []

    def test_it_can_be_woken_to_see_that_its_engine_is_gone(self, journal: Journal) -> None:
        with following(journal.path) as viewer:
            viewer.live = False
            viewer.follower.wake()
            assert viewer.rest() == []

    def test_half_a_line_is_no_event_until_it_is_whole(self, journal: Journal) -> None:
        line = to_lines([note(2, "größer als 0")])
        journal.append([note(1)])
        # Cut inside a character.
        cut = line.index(b"\xc3") + 1
        with following(journal.path) as viewer:
            viewer.take(1)
            append_bytes(journal.path, line[:cut])
            append_bytes(journal.path, line[cut:])
            assert viewer.take(1) == [note(2, "größer als 0")]

    @pytest.mark.parametrize("torn", [b'{"v":1,"seq":2,"at":', to_lines([note(2)])[:-1]])
    def test_half_a_line_that_is_cut_off_again_spoils_nothing(
        self, tmp_path: Path, torn: bytes
    ) -> None:
        path = tmp_path / "journal.jsonl"
        whole = to_lines([note(1)])
        path.write_bytes(whole + torn)
        with following(path) as viewer:
            assert viewer.take(1) == [note(1)]
            taking_over = Journal(path, size=len(whole))
            taking_over.append([resumed(2), note(3, "x" * 500)])
            assert viewer.take(2) == [resumed(2), note(3, "x" * 500)]
            taking_over.close()

    def test_a_backlog_larger_than_one_read_arrives_whole(self, journal: Journal) -> None:
        large = [note(seq, "x" * 100_000) for seq in range(1, 31)]
        journal.append(large)
        with following(journal.path) as viewer:
            assert viewer.take(30) == large
            journal.append([note(31)])
            assert viewer.take(1) == [note(31)]

    def test_a_line_that_is_no_event_holds_up_nothing(self, journal: Journal) -> None:
        with following(journal.path) as viewer:
            append_bytes(journal.path, b"not an event\n" + to_lines([note(1)]))
            assert viewer.take(1) == [note(1)]


class TestReads:
    @pytest.fixture
    def looks(self, monkeypatch: pytest.MonkeyPatch) -> queue.Queue[tuple[float, int]]:
        """When a follower has looked at its file, and how many bytes it found, for each time."""
        looked: queue.Queue[tuple[float, int]] = queue.Queue()
        really_read = Tail.read

        def read(tail: Tail, limit: int = follow.READ_LIMIT) -> bytes:
            began = time.monotonic()
            data = really_read(tail, limit)
            looked.put((began, len(data)))
            return data

        monkeypatch.setattr(Tail, "read", read)
        return looked

    @pytest.mark.slow
    def test_fifty_appends_are_at_most_a_hundred_reads_and_none_follow_when_idle(
        self, journal: Journal, looks: queue.Queue[tuple[float, int]]
    ) -> None:
        with following(journal.path) as viewer:
            for seq in range(1, 51):
                journal.append([note(seq)])
                viewer.take(1)
            n_reads = viewer.follower.n_reads
            assert n_reads <= 100
            while not looks.empty():
                looks.get_nowait()
            # The system may report the last append late. The follower's own reads wake nobody: if
            # they did, no look would ever wait for the timer.
            last, _ = looks.get(timeout=PATIENCE)
            for _ in range(5):
                before, (last, n_bytes) = last, looks.get(timeout=PATIENCE)
                assert n_bytes == 0
                if last - before > 0.9 * follow.LIVE_INTERVAL:
                    break
            else:
                pytest.fail("it looks all the time")
            assert viewer.follower.n_reads == n_reads

    def test_a_writer_in_a_hurry_is_read_in_larger_pieces(self, journal: Journal) -> None:
        with following(journal.path) as viewer:
            for seq in range(1, 501):
                journal.append([note(seq)])
            assert viewer.take(500) == notes(1, 500)
            assert viewer.follower.n_reads <= 500


class TestWithoutEvents:
    """Windows, network mounts and full inotify tables report no changes."""

    @pytest.fixture
    def silent(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def refuse(observer: BaseObserver) -> None:
            raise OSError(28, "inotify watch limit reached")

        monkeypatch.setattr(Observer, "start", refuse)

    @pytest.mark.usefixtures("silent")
    def test_the_watch_says_that_it_does_not_work(self, tmp_path: Path) -> None:
        with FolderWatch([tmp_path], lambda: None) as watch:
            assert not watch.works

    @pytest.mark.slow
    @pytest.mark.usefixtures("silent")
    def test_a_live_run_is_followed_all_the_same(self, journal: Journal) -> None:
        with following(journal.path) as viewer:
            for seq in (1, 2):
                journal.append([note(seq)])
                assert viewer.take(1) == [note(seq)]
            journal.append([ended(3)])
            assert viewer.rest() == [ended(3)]

    def test_where_one_folder_cannot_be_watched_no_thread_is_left(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folders = [tmp_path / name for name in "abc"]
        for folder in folders:
            folder.mkdir()
        watch = FolderWatch(folders, lambda: None)
        emitter_class = watch._observer._emitter_class
        really_start = emitter_class.start
        started: list[BaseThread] = []

        def start_but_the_third(emitter: BaseThread) -> None:
            if len(started) == 2:
                raise OSError(28, "inotify watch limit reached")
            started.append(emitter)
            really_start(emitter)

        monkeypatch.setattr(emitter_class, "start", start_but_the_third)
        before = threading.active_count()
        with watch:
            assert not watch.works
            assert len(started) == 2
            assert threading.active_count() == before


class TestFolderWatch:
    @pytest.fixture
    def changed(self) -> threading.Event:
        return threading.Event()

    def test_it_calls_for_each_way_in_which_a_file_comes_and_goes(
        self, tmp_path: Path, changed: threading.Event
    ) -> None:
        path, other = tmp_path / "a", tmp_path / "b"

        def calls(do: Callable[[], object]) -> bool:
            changed.clear()
            do()
            return changed.wait(PATIENCE)

        with FolderWatch([tmp_path, tmp_path / "missing"], changed.set) as watch:
            assert watch.works
            assert calls(lambda: path.write_bytes(b"new"))
            assert calls(lambda: append_bytes(path, b"more"))
            assert calls(lambda: path.rename(other))
            assert calls(other.unlink)

    def test_what_happens_below_a_folder_is_not_its_business(
        self, tmp_path: Path, changed: threading.Event
    ) -> None:
        below = tmp_path / "below"
        below.mkdir()
        seen: list[None] = []

        def call() -> None:
            seen.append(None)
            changed.set()

        with FolderWatch([tmp_path], call):
            (below / "deep").mkdir()
            (below / "file").write_bytes(b"x")
            (tmp_path / "last").mkdir()
            assert changed.wait(PATIENCE)
        assert len(seen) == 1


class TestTail:
    def test_it_gives_what_is_new_in_pieces_and_reads_nothing_when_there_is_none(
        self, tmp_path: Path
    ) -> None:
        path = tmp_path / "out"
        tail = Tail(path)
        assert tail.read() == b""
        path.write_bytes(b"0123456789")
        assert [tail.read(4), tail.read(4), tail.read(4), tail.read(4)] == [
            b"0123",
            b"4567",
            b"89",
            b"",
        ]
        assert (tail.offset, tail.n_reads) == (10, 3)

    def test_it_can_begin_in_the_middle(self, tmp_path: Path) -> None:
        (tmp_path / "out").write_bytes(b"0123456789")
        assert Tail(tmp_path / "out", offset=7).read() == b"789"
