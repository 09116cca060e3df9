from __future__ import annotations

import os
from pathlib import Path

import pytest

from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.store.layout import StateFolder
from ralph_ls.store.run.inbox import (
    peek_notes,
    queue_note,
    queue_reset,
    remove_taken_notes,
    take_notes,
    take_resets,
)


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    return StateFolder(folder=tmp_path / "state")


def leave(state: StateFolder, *texts: str) -> None:
    """Leave notes, each a second after the one before."""
    for text in texts:
        known = set((state.folder / "notes").glob("*"))
        queue_note(state, text, by="Ada")
        (new,) = set((state.folder / "notes").glob("*")) - known
        os.utime(new, (len(known) + 1, len(known) + 1))


def texts(state: StateFolder) -> list[str]:
    return [text for text, _ in take_notes(state)]


def test_where_nobody_left_one_there_is_none(state: StateFolder) -> None:
    assert take_notes(state) == []
    remove_taken_notes(state)


def test_they_can_be_inspected_and_stay(state: StateFolder) -> None:
    assert peek_notes(state) == []
    leave(state, "first")
    taken = take_notes(state)
    leave(state, "second")
    queue_reset(state, "a", by="Ada")
    seen = peek_notes(state)
    assert seen == [*taken, ("second", "Ada")]
    assert peek_notes(state) == take_notes(state) == seen


def test_notes_come_out_as_they_were_left_in_their_order(state: StateFolder) -> None:
    leave(state, "first", "second\nwith two lines", "漢字 \udcff")
    assert take_notes(state) == [
        ("first", "Ada"),
        ("second\nwith two lines", "Ada"),
        ("漢字 ?", "Ada"),
    ]


def test_what_was_taken_is_kept_until_a_journal_has_it(state: StateFolder) -> None:
    leave(state, "first")
    assert texts(state) == ["first"]
    leave(state, "second")
    # The engine that took the first one was killed before it could record it.
    assert texts(state) == ["first", "second"]
    remove_taken_notes(state)
    assert texts(state) == []


def test_a_note_that_comes_while_others_are_taken_is_for_the_next_start(
    state: StateFolder,
) -> None:
    leave(state, "first")
    assert texts(state) == ["first"]
    leave(state, "second")
    remove_taken_notes(state)
    assert texts(state) == ["second"]


def test_a_note_is_for_its_owner_alone(state: StateFolder) -> None:
    leave(state, "first")
    (note,) = (state.folder / "notes").iterdir()
    assert note.stat().st_mode & 0o777 == 0o600
    assert note.parent.stat().st_mode & 0o777 == 0o700


def test_half_a_note_and_what_is_no_note_are_passed_over(state: StateFolder) -> None:
    leave(state, "first")
    for name, data in {
        ".x.json.1234.tmp": b'{"text"',
        ".y.json": b'{"text": "hidden", "by": "x"}',
        "empty.json": b"",
        "list.json": b"[]",
        "half.json": b'{"text": "x"}',
        "bytes.json": b"\xff\xfe",
    }.items():
        (state.folder / "notes" / name).write_bytes(data)
    assert texts(state) == ["first"]


def test_where_none_can_be_left_it_is_reported(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file", encoding="utf-8")
    with pytest.raises(StateUnusable, match="cannot be created"):
        queue_note(StateFolder(folder=tmp_path / "state"), "first", by="Ada")


def test_a_reset_is_no_note_and_a_note_is_no_reset(state: StateFolder) -> None:
    queue_note(state, "mind the tax", by="Ada")
    queue_reset(state, "9e4c1b7d", by="Bob")
    assert take_notes(state) == [("mind the tax", "Ada")]
    ((task, by, command),) = take_resets(state)
    assert (task, by) == ("9e4c1b7d", "Bob")
    assert len(command) == 16
    remove_taken_notes(state)
    assert take_resets(state) == []


@pytest.mark.parametrize("text", ["[]", "7", "no JSON", '{"task": "a"}'])
def test_what_nobody_here_wrote_is_no_reset(state: StateFolder, text: str) -> None:
    (state.folder / "notes").mkdir(parents=True)
    (state.folder / "notes" / "a.json").write_text(text, encoding="utf-8")
    assert take_notes(state) == []
    assert take_resets(state) == []
