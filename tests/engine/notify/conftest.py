"""What tests of notifications are given."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.fakes import gh, gh_comments


@pytest.fixture
def github(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A GitHub with the issue 12, and a ``gh`` that is logged in there."""
    path = tmp_path / "github.json"
    gh.seed(path, i12={"title": "Letters get lost", "body": "Find out why."})
    program = gh_comments.install(tmp_path / "github")
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("FAKE_GITHUB", str(path))
    monkeypatch.setenv("FAKE_CALLS", str(tmp_path / "calls.jsonl"))
    monkeypatch.setenv("FAKE_COMMENTS", str(tmp_path / "comments.json"))
    monkeypatch.setenv("FAKE_PERMISSIONS", str(tmp_path / "permissions.json"))
    monkeypatch.setenv("GH_TOKEN", "gho_0123456789")
    (tmp_path / "comments.json").write_text("[]", encoding="utf-8")
    (tmp_path / "permissions.json").write_text("{}", encoding="utf-8")
    return path


@pytest.fixture
def own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Writes the user's own settings."""
    folder = tmp_path / "config"
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))

    def write(text: str) -> None:
        (folder / "ralph").mkdir(parents=True, exist_ok=True)
        (folder / "ralph/config.toml").write_text(text, encoding="utf-8")

    return write


@pytest.fixture
def comments(tmp_path: Path) -> Callable[..., None]:
    """Writes the comments on the issue, and who may write."""

    def write(*found: dict[str, Any], **permissions: str) -> None:
        (tmp_path / "comments.json").write_text(json.dumps(found), encoding="utf-8")
        (tmp_path / "permissions.json").write_text(json.dumps(permissions), encoding="utf-8")

    return write
