"""A freshly laid out sample project for each test that asks."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph_ls.engine.demo.project import lay_out


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    return lay_out(tmp_path / "sample")


@pytest.fixture
def hostile_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A HOME whose git config signs, runs hooks and ignores files; the hooks leave a marker.

    Returns where the marker would be.
    """
    home = tmp_path / "hostile home"
    hooks = home / "hooks"
    hooks.mkdir(parents=True)
    marker = home / "marker"
    for name in (
        "pre-commit",
        "commit-msg",
        "post-commit",
        "post-index-change",
        "reference-transaction",
    ):
        hook = hooks / name
        hook.write_text(f"#!/bin/sh\necho {name} >> '{marker}'\nexit 1\n", encoding="utf-8")
        hook.chmod(0o755)
    (home / "ignored").write_text("*.md\n*.py\n", encoding="utf-8")
    (home / ".gitconfig").write_text(
        f"""\
[commit]
    gpgsign = true
[gpg]
    program = '{home}/no-such-gpg'
[core]
    hooksPath = '{hooks}'
    fsmonitor = '{hooks}/pre-commit'
    excludesFile = '{home}/ignored'
    autocrlf = true
[init]
    defaultBranch = elsewhere
    templateDir = '{home}'
""",
        encoding="utf-8",
    )
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / "config"))
    return marker
