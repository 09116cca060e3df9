"""Completion: what can follow at the cursor, in three real shells, and how it is installed."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ralph_ls.cli import completion
from ralph_ls.cli.verbs import VERBS
from tests.engine.project_builder import ROOT, make_repository
from tests.unit.cli.cli_runner import Ralph

HOSTILE = """\
# Fix plan
- [ ] T-1: Do the login
- [ ] [x;touch pwned] A third
- [ ] T-2: $(touch pwned) `touch pwned` \x1b[31mred\x07
"""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    folder = make_repository(tmp_path / "tree")
    (folder / "@fix_plan.md").write_text(HOSTILE, encoding="utf-8")
    return folder


def values(folder: Path, *words: str, joined: bool = True) -> list[str]:
    with contextlib.chdir(folder):
        return [value for value, _ in completion.complete(words, joined=joined)]


class TestValues:
    def test_of_nothing_they_are_verbs_and_options(self, tree: Path) -> None:
        found = values(tree, "")
        assert found[: len(VERBS)] == list(VERBS)
        assert "--install-completion" in found

    @pytest.mark.parametrize(
        ("words", "found"),
        [
            (("re",), ["report", "resume", "reset-task", "reset", "replan", "read"]),
            (("run", "--max-t"), ["--max-time", "--max-tokens"]),
            (("run", "--profile", ""), ["spec", "fixplan", "stories", "beads", "issue"]),
            (("run", "--profile=s"), ["--profile=spec", "--profile=stories"]),
            (("run", "20", "--agent", "claude-"), ["claude-acp"]),
            (("report", "--format", ""), ["md", "html"]),
            (("help", "sim"), ["simulate"]),
            (("plan", ""), [":files"]),
            (("run", "--plan", "x"), [":files"]),
            (("skip", "T"), ["T-1", "T-2"]),
            (("run", "--task", "T-2"), ["T-2"]),
            (("skip", "T-1", ""), []),
            (("nonsense", ""), []),
            (("--install-completion", "z"), ["zsh"]),
            (("export", "--run", ""), []),
        ],
    )
    def test_they_are_those_that_fit(
        self, tree: Path, words: tuple[str, ...], found: list[str]
    ) -> None:
        assert values(tree, *words) == found

    @pytest.mark.parametrize("words", [("run", "--profile", "=", "s"), ("run", "--profile=s")])
    def test_bash_splits_at_equals_signs(self, tree: Path, words: tuple[str, ...]) -> None:
        assert values(tree, *words, joined=False) == ["spec", "stories"]
        assert values(tree, "run", "--profile", "=", joined=False)[0] == "spec"

    def test_ids_that_a_shell_would_expand_are_not_offered(self, tree: Path) -> None:
        plan = '{"userStories": [{"id": "$(pwned)", "title": "x"}, {"id": "US-1", "title": "y"}]}'
        (tree / "@fix_plan.md").unlink()
        (tree / "prd.json").write_text(plan, encoding="utf-8")
        assert values(tree, "skip", "") == ["US-1"]

    def test_issues_of_beads_come_from_their_file(self, tree: Path) -> None:
        (tree / "@fix_plan.md").unlink()
        (tree / ".beads").mkdir()
        issues = [{"id": "a-1", "title": "x"}, {"id": "a-2", "status": "closed"}]
        text = "".join(f"{json.dumps(issue)}\n" for issue in issues)
        (tree / ".beads/issues.jsonl").write_text(text, encoding="utf-8")
        assert values(tree, "skip", "") == ["a-1"]

    def test_settings_name_agents_and_the_plan(self, tree: Path) -> None:
        (tree / ".ralph").mkdir()
        (tree / ".ralph/config.toml").write_text(
            '[paths]\nplan = "mine.md"\n[agents.mine]\n[agents."$(x)"]\n', encoding="utf-8"
        )
        (tree / "mine.md").write_text("- [ ] M-1: Mine\n", encoding="utf-8")
        assert values(tree, "run", "--agent", "m") == ["mine"]
        assert values(tree, "skip", "") == ["M-1"]
        (tree / ".ralph/config.toml").write_text("[", encoding="utf-8")
        assert values(tree, "run", "--agent", "cod") == ["codex", "codex-acp"]
        assert values(tree, "skip", "") == ["T-1", *values(tree, "skip", "")[1:]]

    def test_outside_a_repository_only_fixed_ones_are_offered(self, tmp_path: Path) -> None:
        assert values(tmp_path, "skip", "") == []
        assert values(tmp_path, "run", "--agent", "dem") == ["demo"]

    def test_runs_are_those_of_the_work_tree(
        self, tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from ralph_ls.store.layout import find_worktree, state_folder

        monkeypatch.setenv("RALPH_STATE_DIR", str(tmp_path / "state"))
        state = state_folder(tmp_path / "state", find_worktree(tree))
        for run in ("20260101T000000Z-aaaa", "20260102T000000Z-bbbb"):
            (state.runs / run).mkdir(parents=True)
        assert values(tree, "report", "2026") == [
            "20260102T000000Z-bbbb",
            "20260101T000000Z-aaaa",
        ]

    def test_config_offers_actions_keys_and_values(self, tree: Path) -> None:
        assert values(tree, "config", "mi") == ["migrate"]
        assert values(tree, "config", "get", "timeouts.it") == ["timeouts.iteration"]
        assert "max_iterations" in values(tree, "config", "explain", "")
        assert values(tree, "config", "show", "") == []
        assert values(tree, "config", "set", "push", "") == ["true", "false"]
        assert "fixplan" in values(tree, "config", "set", "profile", "")
        assert "codex" in values(tree, "config", "--user", "set", "agent", "")
        assert "rollback" in values(tree, "config", "set", "on_validate_fail", "")
        assert values(tree, "config", "set", "max_iterations", "") == []
        assert values(tree, "config", "get", "push", "") == []

    def test_keys_below_a_name_come_with_the_names_of_the_settings(self, tree: Path) -> None:
        assert values(tree, "config", "get", "agents.") == []
        (tree / ".ralph").mkdir(exist_ok=True)
        (tree / ".ralph/config.toml").write_text('[agents.house]\nargv = ["x"]\n', "utf-8")
        assert "agents.house.model" in values(tree, "config", "get", "agents.house.")
        (tree / ".ralph/config.toml").write_text("[", "utf-8")
        assert "push" in values(tree, "config", "get", "pu")

    def test_texts_are_lines_without_control_characters(self, ralph: Ralph, tree: Path) -> None:
        said = ralph(tree, "--complete", "zsh", "skip", "T-")
        assert said.out == (
            "T-1\tDo the login\nT-2\t$(touch pwned) `touch pwned` \\x1b[31mred\\x07\n"
        )
        assert ralph(tree, "--complete", "bash", "skip", "T-").out == "T-1\nT-2\n"


SCRIPTS = {
    "bash": """
        . {script}
        COMP_WORDS=(ralph skip "$1"); COMP_CWORD=2; _ralph; printf '%s\\n' "${{COMPREPLY[@]}}"
        """,
    "zsh": """
        compdef() {{ : }}
        compadd() {{ print -rl -- $values }}
        . {script}
        words=(ralph skip "$1"); CURRENT=3; _ralph
        """,
    "fish": """
        source {script}
        complete -C "ralph skip $argv[1]" | string replace -r '\\t.*' ''
        """,
}
QUIETLY = {"bash": ["--norc", "-c"], "zsh": ["-f", "-c"], "fish": ["--no-config", "-c"]}


class TestShells:
    @pytest.mark.slow
    @pytest.mark.parametrize("shell", SCRIPTS)
    def test_each_completes_task_ids_and_runs_nothing_of_them(
        self, tree: Path, tmp_path: Path, shell: str
    ) -> None:
        if shutil.which(shell) is None:
            pytest.skip(f"there is no {shell}; install it: apt-get install {shell}")
        programs = tmp_path / "bin"
        programs.mkdir()
        ralph = programs / "ralph"
        ralph.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -P -m ralph_ls "$@"\n')
        ralph.chmod(0o755)
        script = SCRIPTS[shell].format(script=completion.SHELLS / f"ralph.{shell}")
        name = [] if shell == "fish" else ["_"]
        done = subprocess.run(
            [shell, *QUIETLY[shell], script, *name, "T-"],
            cwd=tree,
            env={
                **os.environ,
                "PATH": f"{programs}:{os.environ['PATH']}",
                "PYTHONPATH": str(ROOT / "server"),
            },
            capture_output=True,
            text=True,
            check=True,
        )
        assert (sorted(done.stdout.split()), done.stderr) == (["T-1", "T-2"], "")
        assert not (tree / "pwned").exists()

    @pytest.mark.slow
    def test_completing_loads_no_library_of_models_or_commands(self, tree: Path) -> None:
        program = (
            "import sys; from ralph_ls.cli.main import main; "
            "main(['--complete', 'zsh', 'skip', '']); "
            "print({'typer', 'pydantic', 'rich', 'msgspec'} & sys.modules.keys())"
        )
        done = subprocess.run(
            [sys.executable, "-P", "-c", program],
            cwd=tree,
            env={**os.environ, "PYTHONPATH": str(ROOT / "server")},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.startswith("T-1\t")
        assert done.stdout.endswith("\nset()\n")


class TestInstall:
    @pytest.fixture(autouse=True)
    def home(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "ZDOTDIR"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("SHELL", "/usr/bin/zsh")
        return tmp_path

    @pytest.mark.parametrize("shell", ["bash", "zsh"])
    def test_the_start_up_file_gets_one_line(self, ralph: Ralph, home: Path, shell: str) -> None:
        startup = home / f".{shell}rc"
        startup.write_text("alias x=y")
        for _ in range(2):
            assert ralph(home, "--install-completion", shell).code == 0
        script = home / f".local/share/ralph/completion.{shell}"
        assert script.read_text() == (completion.SHELLS / f"ralph.{shell}").read_text()
        first, second = startup.read_text().splitlines()
        assert (first, str(script) in second) == ("alias x=y", True)

    def test_fish_finds_its_script_by_itself(self, ralph: Ralph, home: Path) -> None:
        assert ralph(home, "--install-completion", "fish").code == 0
        assert (home / ".config/fish/completions/ralph.fish").is_file()

    def test_without_a_name_it_is_the_user_s_shell(
        self, ralph: Ralph, home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert ralph(home, "--show-completion").out.startswith("#compdef ralph\n")
        monkeypatch.setenv("SHELL", "")
        said = ralph(home, "--show-completion")
        assert (said.code, "name your shell: " in said.err) == (64, True)

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [(["bsh"], "'bsh'; did you mean bash?"), (["bash", "zsh"], "takes one shell, not 2")],
    )
    def test_another_shell_is_refused(
        self, ralph: Ralph, home: Path, arguments: list[str], words: str
    ) -> None:
        said = ralph(home, "--install-completion", *arguments)
        assert (said.code, words in said.err) == (64, True)
