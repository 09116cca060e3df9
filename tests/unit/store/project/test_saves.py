"""What people saved is kept for the engine: bounded, private, and never a reason to fail."""

from __future__ import annotations

import stat
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.store.layout import StateFolder
from ralph_ls.store.project import plan_file
from ralph_ls.store.project.plan_file import UserSave, read_saves, record_save, text_hash

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)
SAVED = UserSave(at=NOON, path="plan.md", before="b", sha256="s", ticked=("A-1", "é"))
DECIDED = replace(SAVED, decided=(("dropped", "A-2"),), text="a = 1\n")


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    return StateFolder(folder=tmp_path / "state")


def test_what_was_recorded_is_read_by_file_and_time(state: StateFolder) -> None:
    later = replace(SAVED, at=NOON + timedelta(seconds=1), ticked=())
    for saved in (SAVED, replace(SAVED, path="other.md"), DECIDED, later):
        record_save(state, saved)
    assert read_saves(state, "plan.md", since=NOON) == [SAVED, DECIDED, later]
    assert read_saves(state, "plan.md", since=later.at) == [later]
    assert stat.S_IMODE(state.saves.stat().st_mode) == 0o600


def test_nothing_recorded_is_nothing(state: StateFolder) -> None:
    assert read_saves(state, "plan.md", since=NOON) == []


def test_what_cannot_be_read_is_passed_over(state: StateFolder) -> None:
    record_save(state, SAVED)
    whole = state.saves.read_bytes()
    broken = [b"{", b"[]", b'{"at":"now"}', whole.replace(b"Z", b"").strip(), whole[:-9]]
    state.saves.write_bytes(b"\n".join([*broken, whole]))
    assert read_saves(state, "plan.md", since=NOON) == [SAVED]
    state.saves.unlink()
    state.saves.mkdir()
    assert read_saves(state, "plan.md", since=NOON) == ()
    with pytest.raises(StateUnusable, match=r"saves.jsonl cannot be written"):
        record_save(state, SAVED)


def test_the_newer_ones_are_kept(state: StateFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_file, "LARGEST", 1000)
    for second in range(60):
        record_save(state, replace(SAVED, at=NOON + timedelta(seconds=second)))
        assert state.saves.stat().st_size <= 1000
    kept = read_saves(state, "plan.md", since=NOON)
    assert 0 < len(kept) < 20
    assert kept[-1].at == NOON + timedelta(seconds=59)
    assert stat.S_IMODE(state.saves.stat().st_mode) == 0o600


def test_a_mark_at_the_beginning_makes_no_other_text() -> None:
    assert text_hash("\ufeffa") == text_hash("a") != text_hash("b")
