"""``ralph init --hooks``: shown, asked, written once (docs/rules.md#stop-hook)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from ralph_ls.store.layout import find_worktree
from ralph_ls.store.run.lock import EngineLock
from tests.unit.cli.cli_runner import Ralph
from tests.unit.cli.terminal import in_terminal

INIT = ("init", "--hooks")
SETTINGS = '{\n  "model": "opus"\n}\n'


@pytest.fixture
def settings(repository: Path) -> Path:
    """What claude reads there already."""
    path = repository / ".claude" / "settings.json"
    path.parent.mkdir()
    path.write_text(SETTINGS)
    return path


def test_it_is_shown_and_written_once(ralph: Ralph, repository: Path, settings: Path) -> None:
    said = ralph(repository, *INIT, "--yes")
    assert (said.code, said.err) == (0, "")
    assert '-  "model": "opus"\n+  "model": "opus",\n+  "hooks": {' in said.out
    assert "Written: .claude/settings.json\n" in said.out
    written = settings.read_text()
    assert json.loads(written)["model"] == "opus"
    again = ralph(repository, *INIT, "--yes", "--json")
    assert again.json == {
        "agent": "claude",
        "path": ".claude/settings.json",
        "diff": [],
        "written": [],
        "alreadyThere": True,
        "notes": [],
    }
    assert "already has the stop hook of claude\n" in ralph(repository, *INIT).out
    assert settings.read_text() == written


def test_the_hook_that_is_written_answers_without_any_path(
    ralph: Ralph, repository: Path, settings: Path
) -> None:
    ralph(repository, *INIT, "--yes")
    (entry,) = json.loads(settings.read_text())["hooks"]["Stop"]
    asked = subprocess.run(
        ["/bin/sh", "-c", entry["hooks"][0]["command"]],
        cwd=repository,
        env={"PATH": "/nonexistent", "PYTHONPATH": str(repository)},
        input="{}",
        capture_output=True,
        text=True,
        check=True,
    )
    assert (asked.stdout, asked.stderr) == ("", "")
    assert "hook             it answers" in ralph(repository, "doctor").out


def test_a_hook_that_no_agent_finds_is_reported_and_renewed(
    ralph: Ralph, repository: Path, settings: Path
) -> None:
    settings.write_text(
        json.dumps({"hooks": {"Stop": [{"hooks": [{"command": "./ralph hook stop"}]}]}})
    )
    (repository / "ralph").write_text("#!/bin/sh\ntouch ran\n")
    (repository / "ralph").chmod(0o755)
    told = ralph(repository, "doctor").out
    assert "the stop hook in .claude/settings.json cannot be started" in told
    assert "ralph init --hooks --agent claude" in told
    assert not (repository / "ran").exists()
    (repository / "ralph").unlink()
    assert ralph(repository, *INIT, "--yes").code == 0
    assert "hook             it answers" in ralph(repository, "doctor").out


def test_a_loop_and_its_hook_are_set_up_together(ralph: Ralph, repository: Path) -> None:
    made = ralph(repository, "init", "--profile", "stories", "--hooks", "--yes", "--json").json
    assert "ralph/tasks.json" in made["written"]
    assert made["hooks"]["written"] == [".claude/settings.json"]
    assert (repository / "ralph" / "tasks.json").is_file()
    assert (repository / ".claude" / "settings.json").is_file()
    refused = ralph(
        repository, "init", "--profile", "spec", "--hooks", "--agent", "opencode", "--yes"
    )
    assert refused.code == 64
    assert not (repository / "specs").exists()


def test_nothing_is_written_unasked(ralph: Ralph, repository: Path, settings: Path) -> None:
    refused = ralph(repository, *INIT)
    assert refused.code == 64
    assert "needs a terminal to ask in, or --yes" in refused.err
    assert '+  "hooks": {' in refused.out
    dry = ralph(repository, *INIT, "--dry-run")
    assert "Nothing was written: this was a dry run" in dry.out
    told = ralph(repository, *INIT, "--json").json
    assert told["written"] == []
    assert told["diff"][:2] == ["--- a/.claude/settings.json", "+++ b/.claude/settings.json"]
    for answer, code in (("n\n", 1), ("\n", 0)):
        assert settings.read_text() == SETTINGS
        with in_terminal(repository, *INIT) as seen:
            seen.wait_for("Write this?")
            seen.type(answer)
            assert seen.wait() == code
    assert "Stop" in settings.read_text()


def test_the_settings_of_another_agent(ralph: Ralph, repository: Path) -> None:
    said = ralph(repository, *INIT, "--agent", "codex", "--yes")
    assert "--- /dev/null\n" in said.out
    assert "Note: codex runs only hooks that you trust" in said.out
    assert json.loads((repository / ".codex" / "hooks.json").read_text())["hooks"]["Stop"]
    noted = ralph(repository, *INIT, "--agent", "codex", "--yes", "--json").json
    assert noted["notes"]
    for name, why in (("opencode", "it has plugins"), ("mine", "ralph does not know where")):
        refused = ralph(repository, *INIT, "--agent", name, "--yes")
        assert (refused.code, why in refused.err) == (64, True)


def test_broken_settings_and_a_run_keep_it_from_being_written(
    ralph: Ralph, repository: Path, settings: Path
) -> None:
    with EngineLock(find_worktree(repository).git_dir):
        assert ralph(repository, *INIT, "--yes").code != 0
    settings.write_text('{\n "a": [}\n')
    refused = ralph(repository, *INIT, "--yes")
    assert refused.code != 0
    assert f"{settings}, line 2: this is not JSON" in refused.err
    assert settings.read_text() == '{\n "a": [}\n'
