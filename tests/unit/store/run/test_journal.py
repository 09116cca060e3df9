from __future__ import annotations

import itertools
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.protocol.run.events import NoteAdded, UnknownEvent
from ralph_ls.store.run.journal import Journal, JournalReader, read_journal
from tests.unit.store.store_builders import (
    RUN,
    ended,
    note,
    notes,
    resumed,
    start_python,
    to_lines,
)

UNKNOWN = (
    b'{"v":2,"seq":3,"at":"2026-01-31T12:00:03.000Z","run":"%s","kind":"teaBrewed","cups":2}\n'
    % RUN.encode()
)

# Text of more than one byte a character, so that cuts fall inside characters too.
MIXED = b"".join(
    [
        to_lines([note(1, "größer als 0: 終わり 🎈")]),
        b"this is no event\n",
        UNKNOWN,
        b"\n",
        to_lines([note(4, "x" * 300), ended(5), resumed(6)]),
    ]
)


class TestReader:
    @given(cuts=st.lists(st.integers(0, len(MIXED))))
    def test_any_chunking_decodes_alike(self, cuts: list[int]) -> None:
        whole = JournalReader()
        expected = whole.feed(MIXED)
        reader = JournalReader()
        edges = [0, *sorted(cuts), len(MIXED)]
        events = [
            event
            for start, end in itertools.pairwise(edges)
            for event in reader.feed(MIXED[start:end])
        ]
        assert events == expected
        assert [event.seq for event in events] == [1, 3, 4, 5, 6]
        assert reader.unreadable == whole.unreadable == [2, 4]
        assert reader.pending == 0

    def test_a_line_that_is_not_whole_waits_for_its_end(self) -> None:
        line = to_lines([note(1)])
        reader = JournalReader()
        assert reader.feed(line[:-1]) == []
        assert reader.pending == len(line) - 1
        assert reader.feed(line[-1:]) == [note(1)]
        assert reader.pending == 0

    def test_a_partial_line_that_was_forgotten_is_not_part_of_the_next(self) -> None:
        reader = JournalReader()
        reader.feed(b'{"torn')
        assert reader.forget_partial() == len(b'{"torn')
        assert reader.feed(to_lines([note(1)])) == [note(1)]
        assert reader.unreadable == []

    def test_an_event_of_a_newer_engine_keeps_its_place(self) -> None:
        events = JournalReader().feed(UNKNOWN)
        assert [type(event) for event in events] == [UnknownEvent]
        assert (events[0].seq, events[0].v) == (3, 2)


class TestJournal:
    def test_what_was_appended_is_read_again(self, tmp_path: Path) -> None:
        journal = Journal(tmp_path / "journal.jsonl")
        journal.append(notes(1, 3))
        journal.append([])
        journal.append([ended(4)])
        assert journal.size == journal.path.stat().st_size
        journal.sync()
        journal.close()
        read = read_journal(journal.path)
        assert read.events == (*notes(1, 3), ended(4))
        assert read.size == journal.path.stat().st_size
        assert (read.torn, read.unreadable) == (0, ())
        assert journal.path.stat().st_mode & 0o777 == 0o600

    def test_each_event_can_be_read_as_soon_as_append_returns(self, tmp_path: Path) -> None:
        journal = Journal(tmp_path / "journal.jsonl")
        for seq in range(1, 4):
            journal.append([note(seq)])
            assert len(read_journal(journal.path).events) == seq
        journal.close()

    def test_one_that_is_not_there_is_empty(self, tmp_path: Path) -> None:
        read = read_journal(tmp_path / "none")
        assert (read.events, read.size, read.torn, read.unreadable) == ((), 0, 0, ())

    @pytest.mark.parametrize("torn", [b"{", b'{"v":1,"seq":3', to_lines([note(3)])[:-1], b"\xe7"])
    def test_a_torn_last_line_is_reported_and_cut_on_reopening(
        self, tmp_path: Path, torn: bytes
    ) -> None:
        path = tmp_path / "journal.jsonl"
        whole = to_lines(notes(1, 2))
        path.write_bytes(whole + torn)
        read = read_journal(path)
        assert read.events == tuple(notes(1, 2))
        assert (read.size, read.torn) == (len(whole), len(torn))
        journal = Journal(path, size=read.size)
        journal.append([note(3, "after the fall")])
        journal.close()
        again = read_journal(path)
        assert again.events == (*notes(1, 2), note(3, "after the fall"))
        assert again.torn == 0

    def test_a_whole_line_that_is_no_event_is_skipped_and_reported(self, tmp_path: Path) -> None:
        path = tmp_path / "journal.jsonl"
        path.write_bytes(to_lines([note(1)]) + b"\0\0\0\n" + to_lines([note(2)]) + b"{}\n")
        read = read_journal(path)
        assert read.events == tuple(notes(1, 2))
        assert read.unreadable == (2, 4)
        assert read.size == path.stat().st_size

    @pytest.mark.parametrize("path", ["", "missing/journal.jsonl"])
    def test_a_place_that_cannot_be_written_is_named(self, tmp_path: Path, path: str) -> None:
        with pytest.raises(StateUnusable, match=r"the journal .* cannot be used: \w"):
            Journal(tmp_path / path)

    def test_one_that_cannot_be_read_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(StateUnusable, match=r"the journal .* cannot be used: is a folder"):
            read_journal(tmp_path)

    def test_a_disk_that_fails_to_sync_is_reported(self, tmp_path: Path) -> None:
        journal = Journal(tmp_path / "journal.jsonl")
        journal.close()
        with pytest.raises(StateUnusable, match="Bad file descriptor"):
            journal.sync()

    @pytest.mark.slow
    def test_a_full_disk_leaves_no_half_line(self, tmp_path: Path) -> None:
        path = tmp_path / "journal.jsonl"
        code = """if True:
            import resource, signal, sys
            from pathlib import Path
            from ralph_ls.protocol.errors import StateUnusable
            from ralph_ls.store.run.journal import Journal
            from tests.unit.store.store_builders import note

            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
            journal = Journal(Path(sys.argv[1]))
            seq = 0
            try:
                while True:
                    journal.append([note(seq + 1)])
                    seq += 1
            except StateUnusable as error:
                print(seq, error.message)
            # Somebody made room: the engine goes on where it was.
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
            journal.append([note(seq + 1, "there is room again")])
        """
        with start_python(code, path) as child:
            told, _ = child.communicate()
        assert child.returncode == 0
        n_written, _, message = told.partition(" ")
        assert message.startswith(f"the journal {path} cannot be used: File too large; free some")
        last = int(n_written) + 1
        assert last > 2
        read = read_journal(path)
        assert read.events == (*notes(1, last - 1), note(last, "there is room again"))
        assert (read.torn, read.unreadable) == (0, ())

    def test_two_that_append_do_not_write_over_each_other(self, tmp_path: Path) -> None:
        path = tmp_path / "journal.jsonl"
        first = Journal(path)
        first.append([note(1)])
        # Not allowed by the lock, but no line may be lost even so.
        second = Journal(path, size=path.stat().st_size)
        second.append([note(2)])
        first.append([note(3)])
        first.close()
        second.close()
        assert read_journal(path).events == tuple(notes(1, 3))


@given(text=st.text(st.characters(codec="utf-8"), max_size=200))
def test_any_text_is_one_line_and_comes_back_whole(text: str) -> None:
    lines = to_lines([note(1, text)])
    assert lines.count(b"\n") == 1
    (event,) = JournalReader().feed(lines)
    assert isinstance(event, NoteAdded)
    assert event.text == text


def test_a_disk_that_is_full_from_the_start_is_reported() -> None:
    # Every write to this device fails with "no space left", like on a full disk.
    journal = Journal(Path(os.devnull).with_name("full"))
    with pytest.raises(StateUnusable, match="No space left on device"):
        journal.append([note(1)])
    journal.close()
