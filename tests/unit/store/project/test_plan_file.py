"""The user's edit of the plan file: complete, merged with other writes, and recorded."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ralph_ls.protocol.errors import PlanMissing, StateUnusable
from ralph_ls.store.layout import StateFolder
from ralph_ls.store.project import plan_file
from ralph_ls.store.project.plan_file import edit_as_user, edit_plan, read_plan, text_hash

NOON = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    return StateFolder(folder=tmp_path / "state")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "tree"
    folder.mkdir()
    (folder / "plan.md").write_bytes(b"- [ ] caf\xe9\r\n")
    return folder


def test_it_is_kept_as_the_users_and_every_other_byte_stays(root: Path, state: StateFolder) -> None:
    assert edit_as_user(root, state, "plan.md", lambda text: text + "- [x] b\r\n", at=NOON)
    assert read_plan(root, "plan.md") == b"- [ ] caf\xe9\r\n- [x] b\r\n"
    (line,) = state.saves.read_text(encoding="utf-8").splitlines()
    kept = json.loads(line)
    assert kept["path"] == "plan.md"
    assert kept["sha256"] == text_hash("- [ ] caf\ufffd\r\n- [x] b\r\n")
    assert len(kept["ticked"]) == 1


def test_what_changes_nothing_is_not_kept(root: Path, state: StateFolder) -> None:
    assert not edit_as_user(root, state, "plan.md", str, at=NOON)
    assert not state.saves.exists()


def test_a_link_to_the_plan_is_kept_under_the_name_of_the_file(
    root: Path, state: StateFolder
) -> None:
    (root / "link.md").symlink_to("plan.md")
    edit_as_user(root, state, "link.md", lambda text: f"{text}more\r\n", at=NOON)
    assert (root / "link.md").is_symlink()
    assert json.loads(state.saves.read_text(encoding="utf-8"))["path"] == "plan.md"


def test_what_somebody_writes_meanwhile_is_in_it(root: Path) -> None:
    others = iter([b"one more\n"])

    def change(text: str) -> str:
        for line in others:
            with (root / "plan.md").open("ab") as file:
                file.write(line)
        return text + "mine\n"

    edit_plan(root, "plan.md", change, "try again")
    assert read_plan(root, "plan.md") == b"- [ ] caf\xe9\r\none more\nmine\n"


def test_a_plan_that_never_rests_is_left_alone(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_file, "MERGES", 3)

    def change(text: str) -> str:
        with (root / "plan.md").open("ab") as file:
            file.write(b"x\n")
        return text + "mine\n"

    with pytest.raises(StateUnusable, match="another program keeps writing"):
        edit_plan(root, "plan.md", change, "try again")
    assert b"mine" not in read_plan(root, "plan.md")


def test_a_plan_that_is_gone_is_reported(root: Path) -> None:
    (root / "plan.md").unlink()
    with pytest.raises(PlanMissing, match="cannot be read"):
        edit_plan(root, "plan.md", str, "try again")
