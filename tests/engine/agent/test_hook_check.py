"""Whether an agent's stop hook answers: what a start and the doctor ask, and never run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ralph_ls.core.setup.hooks import HOOK_PLACES
from ralph_ls.engine.agent.run_agents import ask_hook, emit_silent_hook
from ralph_ls.protocol.config.config import Config
from ralph_ls.store.setup.hook_launcher import own_launcher

CLAUDE = Config(agent="claude")
HOOK = "ralph hook stop"


def put(root: Path, command: str, agent: str = "claude") -> None:
    place = HOOK_PLACES[agent]
    path = root / place.path
    path.parent.mkdir(exist_ok=True)
    hook = {"hooks": [{"type": "command", "command": command}]}
    path.write_text(json.dumps({"hooks": {place.event: [hook]}}), encoding="utf-8")


def program(folder: Path, body: str) -> dict[str, str]:
    folder.mkdir()
    (folder / "ralph").write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    (folder / "ralph").chmod(0o755)
    return {"PATH": f"{folder}:/usr/bin:/bin"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "the work"
    folder.mkdir()
    return folder


@pytest.mark.parametrize("agent", list(HOOK_PLACES))
def test_our_own_launcher_answers_whatever_the_path(root: Path, agent: str) -> None:
    (root / "ralph_ls.py").write_text("raise SystemExit(9)\n", encoding="utf-8")
    put(root, own_launcher(), agent)
    assert ask_hook(root, Config(agent=agent), {"PATH": "", "PYTHONPATH": str(root)}) == ""


def test_without_a_hook_there_is_nothing_to_ask(root: Path) -> None:
    assert ask_hook(root, CLAUDE, {"PATH": ""}) is None
    assert ask_hook(root, Config(agent="mine"), {"PATH": ""}) is None
    put(root, "touch ran")
    assert ask_hook(root, CLAUDE, {"PATH": "/usr/bin"}) is None
    assert not (root / "ran").exists()


def test_one_that_is_on_the_agents_path_is_asked(root: Path, tmp_path: Path) -> None:
    put(root, HOOK)
    around = program(tmp_path / "bin", "cat >asked; exit 0")
    assert emit_silent_hook(root, CLAUDE, around) == []
    assert json.loads((root / "asked").read_text(encoding="utf-8"))["stop_hook_active"] is False


@pytest.mark.parametrize(
    ("body", "why"),
    [("echo broken >&2; exit 3", "ended with code 3, broken"), ("exit 1", "ended with code 1")],
)
def test_one_that_fails_is_reported_with_what_to_do(
    root: Path, tmp_path: Path, body: str, why: str
) -> None:
    put(root, HOOK)
    (told,) = emit_silent_hook(root, CLAUDE, program(tmp_path / "bin", body))
    assert told.code == "hook-silent"
    assert why in told.message
    assert told.message.endswith("ralph init --hooks --agent claude")


def test_a_program_of_the_repository_is_never_run(root: Path) -> None:
    around = program(root / "bin", "touch ran")
    for command in (HOOK, "bin/ralph hook stop", f"'{root}/bin/ralph' hook stop"):
        put(root, command)
        (told,) = emit_silent_hook(root, CLAUDE, around)
        assert "cannot be started" in told.message
    assert not (root / "ran").exists()
