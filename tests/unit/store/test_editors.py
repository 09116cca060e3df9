"""Files of connected editors: those of living servers are shown, others are removed."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from ralph_ls.protocol.json_output import ConnectedEditor, MissingFeature
from ralph_ls.store.editors import announce_editor, connected_editors, withdraw_editor
from ralph_ls.store.run.lock import own_start_time

LACKS = MissingFeature(feature="code lenses", instead="code actions")


def editor(pid: int, started: float) -> ConnectedEditor:
    return ConnectedEditor(name="Neovim", pid=pid, started=started, missing=(LACKS,))


@pytest.fixture
def own() -> ConnectedEditor:
    return editor(os.getpid(), own_start_time())


def test_a_living_server_is_shown_until_it_withdraws(tmp_path: Path, own: ConnectedEditor) -> None:
    assert connected_editors(tmp_path) == ()
    announce_editor(tmp_path, own)
    assert connected_editors(tmp_path) == (own,)
    (file,) = (tmp_path / "editors").iterdir()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    withdraw_editor(tmp_path, own.pid)
    assert connected_editors(tmp_path) == ()
    withdraw_editor(tmp_path, own.pid)


@pytest.mark.parametrize("written", [b"{", b"", b"[1]", b"\xff"])
def test_what_is_no_living_server_is_ignored_and_removed(
    tmp_path: Path, own: ConnectedEditor, written: bytes
) -> None:
    announce_editor(tmp_path, editor(own.pid, own.started - 1000))
    (tmp_path / "editors" / "7.json").write_bytes(written)
    assert connected_editors(tmp_path) == ()
    announce_editor(tmp_path, own)
    assert [file.name for file in (tmp_path / "editors").iterdir()] == [f"{own.pid}.json"]


def test_a_folder_that_cannot_be_written_loses_nothing(
    tmp_path: Path, own: ConnectedEditor
) -> None:
    (tmp_path / "editors").write_text("a file", encoding="utf-8")
    announce_editor(tmp_path, own)
    withdraw_editor(tmp_path, own.pid)
    assert connected_editors(tmp_path) == ()
