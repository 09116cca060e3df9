"""What an engine leaves for viewers that come later, and how often it does."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from ralph_ls.engine.run.effect_runner import EVERY, SHARE, ViewSnapshots
from ralph_ls.store.layout import RunFiles
from ralph_ls.store.run.journal import read_journal
from ralph_ls.store.run.run_view import RunView, ViewPosition, load_view, read_view
from tests.contracts.fake_clock import FakeClock
from tests.engine.project_builder import journal_of
from tests.engine.ralph_runner import Project
from tests.unit.store.store_builders import note, to_lines

LINE = len(to_lines([note(1000, "x" * 4000)]))


class Journal:
    """A journal that grows by as much as is wanted."""

    def __init__(self, folder: Path) -> None:
        self.files = RunFiles(folder=folder)
        self.size = 0
        self._seq = 1000

    def grow(self, n_bytes: int) -> int:
        """At least so many more; gives its size."""
        with self.files.journal.open("ab") as file:
            for _ in range(-(-n_bytes // LINE)):
                self.size += file.write(to_lines([note(self._seq, "x" * 4000)]))
                self._seq += 1
        return self.size

    @property
    def snapshot(self) -> ViewPosition:
        return load_view(self.files)


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path)


def test_there_is_one_after_so_many_bytes(journal: Journal) -> None:
    views = ViewSnapshots(journal.files, FakeClock(step=timedelta()))
    views.save(journal.grow(EVERY // 2))
    assert not journal.files.view_snapshot.exists()
    first = journal.grow(EVERY)
    views.save(first)
    assert journal.snapshot.offset == first
    views.save(journal.grow(EVERY // 2))
    assert journal.snapshot.offset == first
    then = journal.grow(EVERY // 2)
    journal.grow(LINE)
    views.save(then)
    assert journal.snapshot == read_view(journal.files, until=then)
    assert journal.snapshot.offset == then


def test_they_take_only_their_share_of_the_time(journal: Journal) -> None:
    views = ViewSnapshots(journal.files, FakeClock(step=timedelta(seconds=3)))
    first = journal.grow(EVERY)
    views.save(first)
    then = journal.grow(EVERY)
    for _ in range(round(1 / SHARE) - 1):
        # Three seconds pass with each look at the clock, which were what the first one took.
        views.save(then)
        assert journal.snapshot.offset == first
    views.save(then)
    assert journal.snapshot.offset == then


def test_the_last_one_leaves_the_last_event_to_be_shown(journal: Journal) -> None:
    views = ViewSnapshots(journal.files, FakeClock(step=timedelta()))
    views.save_last(0)
    assert not journal.files.view_snapshot.exists()
    before = journal.grow(3 * LINE)
    views.save_last(journal.grow(LINE))
    assert journal.snapshot.offset == before
    journal.files.view_snapshot.unlink()
    views.save_last(journal.size)
    assert not journal.files.view_snapshot.exists()


@pytest.mark.slow
def test_a_run_leaves_one_of_its_last_settled_iteration(project: Project) -> None:
    project.plan("First task", "Second task").agent("work; commit; report 'STATUS: IN_PROGRESS'")
    project.run("3")
    files = RunFiles(folder=journal_of(project.repository).parent)
    events = read_journal(files.journal).events
    known = load_view(files)
    assert known.view.state.last is not None
    assert (known.view.state.last.start, known.view.state.current) == (3, None)
    assert (known.view.state.end, known.view.state.seq) == (None, len(events) - 1)
    assert [row.start for row in known.view.rows.rows] == [3, 2, 1]
    assert known.view == RunView().plus(events[: known.view.state.seq])
    assert read_view(files).view == RunView().plus(events)
