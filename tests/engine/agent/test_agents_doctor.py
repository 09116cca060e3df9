"""Which agents are here: real programs are asked for their version, and no other."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ralph_ls.engine.doctor.start import account_of, find_installed_agents
from ralph_ls.protocol.config.agent_catalog import CATALOG
from ralph_ls.protocol.json_output import AgentSeen
from tests.engine.project_builder import write_agent


def look(
    root: Path, *folders: Path, patience: float = 60, **environment: str
) -> dict[str, AgentSeen]:
    path = os.pathsep.join([*map(str, folders), "/usr/bin", "/bin"])
    found = find_installed_agents(root, {**environment, "PATH": path}, patience=patience)
    return {one.name: one for one in found}


@pytest.mark.slow
class TestVersions:
    def test_each_says_its_own_in_its_own_words(self, tmp_path: Path) -> None:
        root = tmp_path / "tree"
        (root / "bin").mkdir(parents=True)
        programs = tmp_path / "bin"
        write_agent(programs, "echo '2.1.330 (Claude Code)'; pwd >\"$0.where\"", name="claude")
        write_agent(programs, "echo a warning 1.0 >&2; echo codex-cli 0.169.0-rc.1", name="codex")
        write_agent(programs, "echo 'GitHub Copilot CLI 1.0.102.' >&2", name="copilot")
        write_agent(programs, "echo 1.2.3; exit 3", name="gemini")
        write_agent(programs, "echo none", name="qwen")
        write_agent(root / "bin", "touch asked; echo 6.6.6", name="opencode")
        found = look(root, root / "bin", programs, HOME=str(tmp_path))
        assert list(found) == list(CATALOG)
        assert {name: one.version for name, one in found.items() if one.program} == {
            "claude": "2.1.330",
            "codex": "0.169.0-rc.1",
            "gemini": None,
            "qwen": None,
            "copilot": "1.0.102",
        }
        # What the work tree brings is neither found nor started, and nobody works in the tree.
        assert found["opencode"].program is None
        assert not (root / "asked").exists()
        assert str(root) not in (programs / "claude.where").read_text(encoding="utf-8")
        assert found["claude"].login == CATALOG["claude"].login

    def test_one_that_does_not_answer_is_ended_with_all_that_it_started(
        self, tmp_path: Path
    ) -> None:
        # A process that holds the pipe open is alive; the system closes it for one that was killed.
        pipe = tmp_path / "alive"
        os.mkfifo(pipe)
        reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
        body = f"exec 3>{pipe}; sleep 600 & echo 1.2.3; wait"
        write_agent(tmp_path / "bin", body, name="claude")
        found = look(tmp_path / "tree", tmp_path / "bin", patience=2)
        assert (found["claude"].version, found["claude"].account) == (None, None)
        os.set_blocking(reader, True)
        assert os.read(reader, 1) == b""
        os.close(reader)


class TestAccounts:
    def test_a_key_is_named_and_never_shown(self) -> None:
        around = {"GEMINI_API_KEY": "", "GOOGLE_API_KEY": "secret"}
        assert account_of(CATALOG["gemini"], around) == "GOOGLE_API_KEY is set"

    def test_a_file_of_an_account_is_looked_for_where_the_agent_has_it(
        self, tmp_path: Path
    ) -> None:
        home, moved = tmp_path / "home", tmp_path / "moved"
        for folder in (home / ".codex", moved):
            folder.mkdir(parents=True)
        codex = CATALOG["codex"]
        assert account_of(codex, {"HOME": str(home)}) is None
        (home / ".codex" / "auth.json").touch()
        assert account_of(codex, {"HOME": str(home)}) == f"{home}/.codex/auth.json exists"
        around = {"HOME": str(home), "CODEX_HOME": str(moved)}
        assert account_of(codex, around) is None
        (moved / "auth.json").touch()
        assert account_of(codex, around) == f"{moved}/auth.json exists"
        assert account_of(codex, {}) is None
