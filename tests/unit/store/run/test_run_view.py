from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.loop.fold import fold
from ralph_ls.core.views.model.history import MAX_STARTS
from ralph_ls.core.views.panel.rows import MAX_ROWS
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.protocol.run.events import Event, UnknownEvent, dump_event, parse_event
from ralph_ls.store.layout import RunFiles
from ralph_ls.store.run import journal as journal_module
from ralph_ls.store.run import run_view as module
from ralph_ls.store.run.follow import Tail
from ralph_ls.store.run.journal import (
    JournalParts,
    each_event,
    last_line,
    offset_behind,
    read_journal,
)
from ralph_ls.store.run.run_view import (
    RunView,
    ViewPosition,
    ViewSnapshot,
    load_view,
    read_view,
    save_view,
    state_before,
)
from tests.histories import record
from tests.unit.core.loop.machine.test_properties import Chance
from tests.unit.core.views.document_contexts import CHOOSE, begins, ends, reports, shows, started
from tests.unit.core.views.run_states import run_started
from tests.unit.store.store_builders import notes, to_lines

EVENTS: tuple[Event, ...] = (run_started(), *notes(2, 40))


@pytest.fixture
def files(tmp_path: Path) -> RunFiles:
    return RunFiles(folder=tmp_path)


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """A journal is read in parts that cut through its lines."""
    monkeypatch.setattr(module, "PART", 100)
    monkeypatch.setattr(journal_module, "PART", 100)


def write(files: RunFiles, events: Sequence[Event | UnknownEvent] = EVENTS) -> None:
    files.journal.write_bytes(b"".join(dump_event(event) + b"\n" for event in events))


def leave_view(files: RunFiles, n_events: int) -> ViewPosition:
    """The snapshot that an engine leaves after so many of the events."""
    known = read_view(files, until=len(to_lines(EVENTS[:n_events])))
    save_view(files, known)
    return known


def kept(view: RunView) -> RunView:
    """The same, out of a snapshot's file."""
    snapshot = ViewSnapshot(made_by="", offset=0, digest="", n_lines=0, view=view)
    data = snapshot.model_dump_json(by_alias=True, exclude_none=True)
    return ViewSnapshot.model_validate_json(data).view


class TestFold:
    """A snapshot at any point and what came after it are the whole."""

    @pytest.mark.exhaustive
    @pytest.mark.parametrize("name", sorted(record.HISTORIES))
    def test_of_each_recorded_run(self, name: str) -> None:
        events = read_journal(record.path_of(name)).events
        whole, view = RunView().plus(events), RunView()
        for event in events:
            view = kept(view.plus([event]))
        assert view == whole

    @pytest.mark.slow
    @given(st.data())
    def test_of_runs_made_by_chance(self, data: st.DataObject) -> None:
        chance = Chance(data)
        for _ in range(30):
            chance.move()
        # As in a journal: with times in whole milliseconds.
        events = [parse_event(dump_event(event)) for event in chance.events]
        cut = data.draw(st.integers(0, len(events)))
        assert kept(RunView().plus(events[:cut])).plus(events[cut:]) == RunView().plus(events)

    @pytest.mark.slow
    @pytest.mark.parametrize("n_events", [1, 7, 1000])
    def test_of_more_iterations_than_are_kept(self, n_events: int) -> None:
        events = list(_iterations(MAX_ROWS + MAX_STARTS + 10))
        view = RunView()
        for start in range(0, len(events), n_events):
            view = view.plus(events[start : start + n_events])
        assert view == RunView().plus(events)
        assert len(view.rows.rows) == MAX_ROWS
        assert len(view.history.tasks) == MAX_STARTS
        assert view.rows.rows[0].start == max(view.history.tasks) == 410


def _iterations(n_iterations: int) -> Iterator[Event]:
    yield started()
    for number in range(1, n_iterations + 1):
        yield begins(number, CHOOSE)
        yield reports(number, STATUS="IN_PROGRESS", RECOMMENDATION="go on " * 200)
        yield shows(number, files=number)
        yield ends(number)


class TestSnapshot:
    def test_without_one_the_journal_says_all(self, files: RunFiles) -> None:
        write(files)
        assert load_view(files) == ViewPosition()
        known = read_view(files)
        assert known.view == RunView().plus(EVENTS)
        assert known.offset == files.journal.stat().st_size
        assert known.n_lines == len(EVENTS)

    def test_without_a_journal_there_is_nothing(self, files: RunFiles) -> None:
        assert read_view(files) == ViewPosition()
        with pytest.raises(StateUnusable, match="cannot be read"):
            save_view(files, ViewPosition(offset=10))

    @pytest.mark.usefixtures("small_parts")
    @pytest.mark.parametrize("n_events", [1, 17, 40])
    def test_a_viewer_continues_from_it(
        self, files: RunFiles, n_events: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write(files)
        known = leave_view(files, n_events)
        assert files.view_snapshot.stat().st_mode & 0o777 == 0o600
        assert known.view == RunView().plus(EVENTS[:n_events])
        assert load_view(files) == known
        begun: list[int] = []
        really_read = Tail.read

        def read(tail: Tail, limit: int) -> bytes:
            begun.append(tail.offset)
            return really_read(tail, limit)

        monkeypatch.setattr(Tail, "read", read)
        assert read_view(files).view == RunView().plus(EVENTS)
        assert begun[0] == known.offset

    def test_one_that_goes_further_than_is_asked_for_is_not_used(self, files: RunFiles) -> None:
        write(files)
        leave_view(files, 30)
        assert read_view(files, until=len(to_lines(EVENTS[:5]))).view == RunView().plus(EVENTS[:5])

    def test_half_a_line_waits_for_its_other_half(self, files: RunFiles) -> None:
        write(files)
        with files.journal.open("ab") as journal:
            journal.write(b'{"v":1,"seq":41')
        known = read_view(files)
        assert (known.view.state.seq, known.offset) == (40, len(to_lines(EVENTS)))

    @pytest.mark.parametrize(
        "spoil",
        [
            pytest.param(lambda text: "", id="empty"),
            pytest.param(lambda text: text[:-20], id="cut"),
            pytest.param(lambda text: "[]", id="other"),
            pytest.param(lambda text: "\0" * 100, id="zeros"),
            pytest.param(lambda text: text.replace('"offset":', '"offset":9'), id="too-far"),
            pytest.param(lambda text: text.replace('"offset":', '"offset":-'), id="before-all"),
            pytest.param(lambda text: text.replace('"seq":30', '"seq":29', 1), id="other-place"),
            pytest.param(lambda text: text.replace('"madeBy":"', '"madeBy":"9'), id="newer-fold"),
            pytest.param(lambda text: text.replace('"digest":"', '"digest":"0'), id="other-lines"),
        ],
    )
    def test_one_that_does_not_fit_loses_nothing(
        self, files: RunFiles, spoil: Callable[[str], str]
    ) -> None:
        write(files)
        leave_view(files, 30)
        text = files.view_snapshot.read_text("utf-8")
        assert spoil(text) != text
        files.view_snapshot.write_text(spoil(text), encoding="utf-8")
        assert load_view(files) == ViewPosition()
        assert read_view(files).view == RunView().plus(EVENTS)

    def test_one_that_cannot_be_read_loses_nothing(self, files: RunFiles) -> None:
        write(files)
        files.view_snapshot.mkdir()
        assert read_view(files).view == RunView().plus(EVENTS)

    @pytest.mark.parametrize("left", [0, 1, 20, 29])
    def test_one_ahead_of_a_journal_that_lost_its_tail_is_not_used(
        self, files: RunFiles, left: int
    ) -> None:
        write(files)
        leave_view(files, 30)
        write(files, EVENTS[:left])
        assert read_view(files).view == RunView().plus(EVENTS[:left])
        # The next engine continues with the same numbers and other text.
        others = [event.model_copy(update={"by": "another"}) for event in EVENTS[left:]]
        write(files, [*EVENTS[:left], *others])
        assert load_view(files) == ViewPosition()
        assert read_view(files).view == RunView().plus([*EVENTS[:left], *others])


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("snapshot_at", [None, 3, 20, 40])
@pytest.mark.parametrize("seq", [1, 2, 20, 21, 40, 41])
def test_a_run_is_known_as_it_was_before_an_event(
    files: RunFiles, seq: int, snapshot_at: int | None
) -> None:
    write(files)
    if snapshot_at is not None:
        leave_view(files, snapshot_at)
    assert state_before(files, seq) == fold(EVENTS[: seq - 1])


class TestParts:
    @pytest.mark.usefixtures("small_parts")
    def test_they_are_the_whole(self, files: RunFiles) -> None:
        data = to_lines(EVENTS[:20]) + b"no event\n" + to_lines(EVENTS[20:]) + b'{"v":1'
        files.journal.write_bytes(data)
        parts = JournalParts(files.journal)
        found = list(parts)
        assert len(found) > 10
        assert [event for part in found for event in part] == [*EVENTS]
        assert (parts.size, parts.torn, parts.unreadable) == (len(data) - 6, 6, (21,))
        read = read_journal(files.journal)
        assert (read.events, read.size, read.torn) == (EVENTS, len(data) - 6, 6)
        assert read.unreadable == (21,)

    @pytest.mark.parametrize("name", sorted(record.HISTORIES)[::5])
    def test_only_the_wanted_kinds_are_given(self, name: str) -> None:
        path, kinds = record.path_of(name), {"iterationStarted", "runEnded"}
        wanted = [event for event in read_journal(path).events if event.kind in kinds]
        assert list(each_event(path, kinds=kinds)) == wanted
        assert wanted

    def test_a_line_in_another_order_is_inspected(self, files: RunFiles) -> None:
        files.journal.write_bytes(
            b'{"kind":"noteAdded","seq":1,"at":"2026-01-31T12:00:00Z","run":"r","text":"a","by":"b"}\n'
        )
        assert [event.seq for event in each_event(files.journal, kinds={"noteAdded"})] == [1]


class TestPlace:
    @given(seq=st.integers(0, 2500), text=st.integers(0, 200))
    def test_no_event_behind_it_is_before_it(
        self, seq: int, text: int, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        journal = tmp_path_factory.getbasetemp() / "place.jsonl"
        journal.write_bytes(to_lines([*_notes(text)]))
        offset = offset_behind(journal, seq)
        parts = JournalParts(journal, offset=offset)
        seen = [event.seq for part in parts for event in part]
        assert {number for number in range(1, 2001) if number > seq} <= {*seen}
        assert seen == sorted(seen)
        # And it is near, however long the journal is.
        before = [number for number in seen if number <= seq]
        assert sum(len(dump_event(note)) for note in _notes(text)[: len(before)]) < 3 * (64 << 10)

    def test_nothing_is_found_in_what_is_no_journal(self, tmp_path: Path) -> None:
        assert offset_behind(tmp_path / "gone", 7) == 0
        path = tmp_path / "long"
        path.write_bytes(b"x" * 300_000 + b"\n" + b"y\n" * 100_000)
        assert offset_behind(path, 7) == 0
        with pytest.raises(StateUnusable):
            offset_behind(tmp_path, 7)

    @pytest.mark.parametrize("length", [0, 10, 70_000])
    def test_the_last_line_is_found_whatever_its_length(self, length: int, files: RunFiles) -> None:
        lines = [dump_event(note) + b"\n" for note in _notes(length)[:5]]
        files.journal.write_bytes(b"".join(lines))
        ends = list(accumulate(map(len, lines)))
        assert [last_line(files.journal, end) for end in ends] == [0, *ends[:-1]]
        assert last_line(files.journal, 0) == 0
        with pytest.raises(StateUnusable):
            last_line(files.folder, 10)


def _notes(length: int) -> list[Event]:
    text = {"text": "x" * length}
    return [note.model_copy(update=text) for note in notes(1, 2000)]
