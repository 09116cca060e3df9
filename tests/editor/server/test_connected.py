"""``ralph doctor --editor``: which clients are connected, and what each lacks."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import pytest
from lsprotocol import types

from ralph_ls.editor.connected import missing_features
from ralph_ls.editor.lsp.codec import make_converter
from tests.editor.conftest import StartEditor
from tests.editor.features.test_control_matrix import CLIENTS_BY_NAME
from tests.engine.project_builder import fork_ralph, make_repository

LACKS = {
    "neovim": ["refresh of code lenses"],
    "neovim with our file": [],
    "vs code": ["inlay hints"],
}
"""What the clients lack that lack least."""


@functools.cache
def lacks(name: str) -> list[str]:
    declared = make_converter().structure(
        CLIENTS_BY_NAME[name].capabilities(), types.ClientCapabilities
    )
    return [one.feature for one in missing_features(declared)]


@pytest.mark.parametrize("name", LACKS)
def test_the_best_clients_lack_little(name: str) -> None:
    assert lacks(name) == LACKS[name]


@pytest.mark.parametrize("name", CLIENTS_BY_NAME)
def test_no_recorded_client_lacks_what_controls_need(name: str) -> None:
    assert "code action literals" not in lacks(name)


def test_a_client_that_declares_nothing_lacks_everything() -> None:
    assert len(missing_features(types.ClientCapabilities())) == 9


@pytest.mark.slow
@pytest.mark.asyncio
async def test_a_connected_editor_is_shown_until_it_ends(edit: StartEditor, tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository", ["First task"])
    assert fork_ralph(tmp_path, "doctor", "--editor").stdout.startswith("No editor is connected")
    editor = await edit(repository)
    await editor.request("ralph/state", {})
    shown = fork_ralph(tmp_path, "doctor", "--editor")
    assert shown.exit_code == 0
    first, *rest = shown.stdout.splitlines()
    assert first.endswith(f"(server {editor.process.pid}): {repository}")
    assert all(line.startswith("  has ") for line in rest)
    (found,) = json.loads(fork_ralph(tmp_path, "doctor", "--editor", "--json").stdout)["editors"]
    assert (found["pid"], found["folders"]) == (editor.process.pid, [str(repository)])
    assert await editor.leave() == 0
    assert fork_ralph(tmp_path, "doctor", "--editor").stdout.startswith("No editor is connected")
