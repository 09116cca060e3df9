"""A run's reader in the server: where it begins, and what it gives of what was before."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph_ls.editor.worktree.run_reader import RunInterest, RunReader
from ralph_ls.editor.worktree.snapshot import OutputPiece
from ralph_ls.protocol.run.events import AgentStarted, Event, UnknownEvent
from ralph_ls.store.layout import RunFiles
from ralph_ls.store.run import journal as journal_module
from ralph_ls.store.run.run_view import RunView, read_view, save_view
from tests.unit.core.views.document_contexts import CHOOSE, begins, ends, event, started
from tests.unit.store.store_builders import note, notes, to_lines

EVENTS: tuple[Event, ...] = (started(), *notes(2, 30))


@pytest.fixture
def files(tmp_path: Path) -> RunFiles:
    return RunFiles(folder=tmp_path)


def leave(files: RunFiles, events: tuple[Event, ...], n_known: int) -> None:
    """A journal, and a snapshot of its first events."""
    files.journal.write_bytes(to_lines(events[:n_known]))
    save_view(files, read_view(files))
    files.journal.write_bytes(to_lines(events))


def new_events(reader: RunReader) -> list[Event | UnknownEvent]:
    return [event for part in reader.read_parts() for event in part]


def test_it_continues_from_a_snapshot(files: RunFiles) -> None:
    leave(files, EVENTS, 20)
    reader = RunReader(files)
    assert reader.state.seq == 20
    assert [event.seq for event in new_events(reader)] == list(range(21, 31))
    whole = RunView().plus(EVENTS)
    assert (reader.state, reader.history, reader.rows) == (whole.state, whole.history, whole.rows)


def test_a_reader_of_every_event_gets_all_of_them(files: RunFiles) -> None:
    leave(files, EVENTS, 20)
    reader = RunReader(files, every_event=True)
    assert new_events(reader) == [*EVENTS]


@pytest.mark.parametrize("after", [0, 1, 19, 20, 21, 29, 30, 31])
def test_earlier_events_are_read_when_they_are_asked_for(
    files: RunFiles, after: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "PART", 300)
    leave(files, EVENTS, 20)
    reader = RunReader(files)
    new_events(reader)
    earlier = reader.earlier_parts(after)
    with files.journal.open("ab") as journal:
        journal.write(to_lines([note(31)]))
    # What comes later is reported as news, also where that is before these are asked for.
    assert [event.seq for event in new_events(reader)] == [31]
    parts = list(earlier)
    assert [event for part in parts for event in part] == list(EVENTS[after:])
    assert len(parts) > 5 or after > 20


def test_lines_that_are_no_events_are_counted_from_the_first(
    files: RunFiles, caplog: pytest.LogCaptureFixture
) -> None:
    leave(files, EVENTS, 20)
    with files.journal.open("ab") as journal:
        journal.write(b"no event\n")
    new_events(RunReader(files))
    assert "line 31: this is not an event" in caplog.text


def test_an_agent_that_ran_at_the_snapshot_is_listened_to(files: RunFiles) -> None:
    agent = event(
        AgentStarted,
        iteration=1,
        agent="command",
        argv=("./agent.sh",),
        pid=4711,
        process_start_time=1.0,
        group=4711,
    )
    leave(files, (started(), begins(1, CHOOSE), agent), 3)
    files.output(1, 1, "out").write_bytes(b"it works\n")
    reader = RunReader(files)
    pieces = [
        piece for piece in reader.want(RunInterest(output=True)) if isinstance(piece, OutputPiece)
    ]
    assert [piece.text for piece in pieces] == ["it works\n"]
    leave(files, (started(), begins(1, CHOOSE), agent, ends(1)), 4)
    assert RunReader(files).want(RunInterest(output=True)) == []
