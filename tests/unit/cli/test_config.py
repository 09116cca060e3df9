"""``ralph config``: values with their origin, changes in place, explanations."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ralph_ls.store.layout import find_worktree, state_folder, state_root
from ralph_ls.store.project import config_edit
from ralph_ls.store.project.plan_file import read_saves
from ralph_ls.store.project.settings_reference import all_settings, find_setting, setting_keys
from tests.unit.cli.cli_runner import Ralph

START = "#:schema ./config.schema.json\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return folder


@pytest.fixture
def ask(ralph: Ralph, repository: Path, home: Path) -> Ralph:
    """``ralph`` with a home for itself."""
    assert home.is_dir()
    return ralph


def text_of(repository: Path) -> str:
    return (repository / ".ralph" / "config.toml").read_text(encoding="utf-8")


class TestShow:
    def test_what_differs_is_shown_with_its_origin(
        self, ask: Ralph, repository: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ask(repository, "config", "set", "--user", "agent", "codex")
        ask(repository, "config", "set", "timeouts.iteration", "45m")
        monkeypatch.setenv("RALPH_MAX_STUCK", "4")
        lines = ask(repository, "config").out.splitlines()
        assert [line.split() for line in lines[:5]] == [
            ["SETTING", "VALUE", "FROM"],
            ["agent", '"codex"', "~/.config/ralph/config.toml"],
            ["max_stuck", "4", "RALPH_MAX_STUCK"],
            ["timeouts.iteration", '"45m"', ".ralph/config.toml"],
            ["max_iterations", "20", "profile", "fixplan"],
        ]
        assert not any("breaker" in line for line in lines)
        everything = ask(repository, "config", "show", "--all").out
        assert "breaker.enabled" in everything
        assert "max_cost_usd" in everything

    @pytest.mark.parametrize("width", ["40", "80", "200"])
    def test_no_line_is_wider_than_the_terminal(
        self, ask: Ralph, repository: Path, monkeypatch: pytest.MonkeyPatch, width: str
    ) -> None:
        monkeypatch.setenv("COLUMNS", width)
        ask(repository, "config", "set", "optional_sections", "Some day", "Never", "A long heading")
        lines = ask(repository, "config", "show").out.splitlines()
        assert max(map(len, lines[:-1])) <= int(width)

    def test_secrets_are_hidden(self, ask: Ralph, repository: Path) -> None:
        key = "sk-" + "abcdefgh" * 4
        ask(repository, "config", "set", "--user", "agents.codex.env.OPENAI_API_KEY", key)
        for words in (["show"], ["show", "--json"], ["get", "agents.codex.env"]):
            said = ask(repository, "config", *words)
            assert "OPENAI_API_KEY" in said.out
            assert key not in said.out + said.err

    def test_each_command_reads_the_settings_where_it_runs(
        self, ask: Ralph, repository: Path, tmp_path: Path
    ) -> None:
        assert ask(repository, "config", "get", "max_stuck").code == 1
        file = repository / ".ralph" / "config.toml"
        file.parent.mkdir(exist_ok=True)
        file.write_text("max_stuck = 4\n", encoding="utf-8")
        assert ask(repository, "config", "get", "max_stuck").out == "4\n"
        assert ask(tmp_path, "config", "get", "max_stuck").code == 5

    def test_for_programs(self, ask: Ralph, repository: Path) -> None:
        ask(repository, "config", "set", "push", "yes")
        found = ask(repository, "config", "show", "--json").json["settings"]
        assert found[0] == {"key": "push", "value": True, "origin": "file", "default": "false"}
        assert ask(repository, "config", "get", "push", "--json").json == found[0]
        assert ask(repository, "config", "get", "task", "--json").json["value"] is None

    def test_values_alone(self, ask: Ralph, repository: Path) -> None:
        ask(repository, "config", "set", "timeout", "5400")
        assert ask(repository, "config", "get", "timeouts.iteration").out == "90m\n"
        assert ask(repository, "config", "get", "push").out == "false\n"
        unset = ask(repository, "config", "get", "max_stuck")
        assert (unset.code, unset.out) == (1, "")
        assert "max_stuck is not set" in unset.err


class TestChange:
    def test_a_file_is_made_and_changed_in_place(self, ask: Ralph, repository: Path) -> None:
        said = ask(repository, "config", "set", "max_iterations", "20")
        assert (said.code, said.out) == (0, "Set max_iterations in .ralph/config.toml\n")
        assert text_of(repository) == f"{START}max_iterations = 20\n"
        path = repository / ".ralph" / "config.toml"
        path.write_text(f"{START}# mine\nmax_iterations = 20 # few\n\n[paths]\nlogs = 'l'\n")
        ask(repository, "config", "set", "max_iterations", "30")
        ask(repository, "config", "set", "env.only", "PATH,HOME")
        assert text_of(repository) == (
            f"{START}# mine\nmax_iterations = 30 # few\n\n[paths]\nlogs = 'l'\n\n"
            '[env]\nonly = ["PATH", "HOME"]\n'
        )
        said = ask(repository, "config", "unset", "env.only")
        assert said.out == "Removed env.only in .ralph/config.toml\n"
        assert "env" not in text_of(repository)
        assert "not set in" in ask(repository, "config", "unset", "env.only").out
        assert "set to that already" in ask(repository, "config", "set", "max_iterations", "30").out

    def test_editors_find_the_schema_and_git_does_not(self, ask: Ralph, repository: Path) -> None:
        ask(repository, "config", "set", "push", "true")
        schema = repository / ".ralph" / "config.schema.json"
        assert '"title": "Config"' in schema.read_text(encoding="utf-8")
        excluded = (repository / ".git" / "info" / "exclude").read_text(encoding="utf-8")
        assert "/.ralph/config.schema.json" in excluded.splitlines()

    def test_a_live_run_knows_that_the_user_did_it(self, ask: Ralph, repository: Path) -> None:
        ask(repository, "config", "set", "push", "true")
        worktree = find_worktree(repository)
        state = state_folder(state_root(os.environ), worktree)
        (saved,) = read_saves(state, ".ralph/config.toml", since=datetime(2000, 1, 1, tzinfo=UTC))
        assert saved.text == text_of(repository)

    def test_the_users_own_file_is_private(self, ask: Ralph, repository: Path, home: Path) -> None:
        said = ask(repository, "config", "set", "--user", "fallback", "codex", "gemini")
        assert said.out == "Set fallback in ~/.config/ralph/config.toml\n"
        path = home / ".config" / "ralph" / "config.toml"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert path.read_text() == f'{START}fallback = ["codex", "gemini"]\n'

    def test_an_old_key_is_replaced(self, ask: Ralph, repository: Path) -> None:
        path = repository / ".ralph" / "config.toml"
        path.parent.mkdir(exist_ok=True)
        path.write_text('timeout = "5m"\npush = true\n')
        ask(repository, "config", "set", "timeout", "10m")
        assert text_of(repository) == 'push = true\n\n[timeouts]\niteration = "10m"\n'
        path.write_text('timeout = "5m"\n')
        ask(repository, "config", "unset", "timeouts.iteration")
        assert text_of(repository) == ""

    @pytest.mark.parametrize(
        ("words", "line"),
        [
            (["agents.codex.model", "o5"], '[agents.codex]\nmodel = "o5"'),
            (["agents.codex.env.A", "b c"], '[agents.codex.env]\nA = "b c"'),
            (["prices.gpt-5.1.input", "2.5"], '[prices."gpt-5.1"]\ninput = 2.5'),
            (['prices."gpt-5.1".input', "3"], '[prices."gpt-5.1"]\ninput = 3'),
            (["models.tag.simple", "haiku"], '[models.tag]\nsimple = "haiku"'),
            (["models.mode.review", '{ agent = "codex" }'], "[models.mode.review]"),
            (["fallback", '["codex"]'], 'fallback = ["codex"]'),
            (["max_tokens", "2_000_000"], "max_tokens = 2000000"),
            (["task", "7"], 'task = "7"'),
        ],
    )
    def test_values_of_every_kind(
        self, ask: Ralph, repository: Path, words: list[str], line: str
    ) -> None:
        said = ask(repository, "config", "set", *words)
        assert (said.code, said.err) == (0, "")
        assert line in text_of(repository)

    def test_what_would_start_something_needs_approval(self, ask: Ralph, repository: Path) -> None:
        said = ask(repository, "config", "set", "notify.command", "./notify.sh", "now")
        assert "Next: approve what a run would start: ralph allow" in said.out
        assert "ralph allow" not in ask(repository, "config", "set", "push", "true").out

    def test_a_stronger_source_is_named(
        self, ask: Ralph, repository: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        ask(repository, "config", "set", "push", "true")
        said = ask(repository, "config", "set", "--user", "push", "false")
        assert "Note: here .ralph/config.toml wins, which sets it too" in said.out
        monkeypatch.setenv("RALPH_PUSH", "1")
        said = ask(repository, "config", "set", "push", "false")
        assert "Note: here the environment wins" in said.out

    @pytest.mark.parametrize(
        ("words", "message"),
        [
            (["set", "max_iterations", "many"], 'must be a whole number, such as 20; it is "many"'),
            (["set", "max_iteration", "3"], "did you mean max_iterations?"),
            (["set", "profile", "specs"], "did you mean spec?"),
            (["set", "breaker", "3"], "breaker is a table; name one of its keys"),
            (["set", "agents.NAME.model", "x"], "write a name for NAME, such as agents.claude"),
            (["set", "task", "a", "b"], "takes one value, and here are 2"),
            (["set", "fallback", "[codex"], "must be a list of texts"),
            (["set", "push"], "push needs a value"),
            (["set"], "needs a key"),
            (["get"], "needs a key"),
            (["get", "nonsense"], "unknown setting nonsense"),
            (["show", "push"], "did you mean: ralph config get push?"),
            (["get", "push", "x"], "takes no value"),
            (["sett", "push", "x"], "unknown action sett; did you mean set?"),
            (["set", "--user", "--project", "push", "true"], "do not go together"),
        ],
    )
    def test_misuse_is_named(
        self, ask: Ralph, repository: Path, words: list[str], message: str
    ) -> None:
        said = ask(repository, "config", *words)
        assert said.code == 64
        assert message in said.err
        assert not (repository / ".ralph" / "config.toml").exists()

    def test_a_broken_file_is_not_made_worse(self, ask: Ralph, repository: Path) -> None:
        path = repository / ".ralph" / "config.toml"
        path.parent.mkdir(exist_ok=True)
        path.write_text("push = maybe\n")
        said = ask(repository, "config", "set", "push", "true")
        assert said.code == 78
        assert ".ralph/config.toml:1: " in said.err
        assert path.read_text() == "push = maybe\n"
        assert "Now:" not in ask(repository, "config", "explain", "push").out

    def test_outside_of_a_work_tree_only_the_users_can_be_changed(
        self, ask: Ralph, tmp_path: Path, home: Path
    ) -> None:
        said = ask(tmp_path, "config", "set", "push", "true")
        assert said.code == 5
        assert "or change your own with --user" in said.err
        assert ask(tmp_path, "config", "set", "--user", "push", "true").code == 0
        assert (home / ".config" / "ralph" / "config.toml").is_file()

    def test_an_iteration_changes_nobodys_settings(
        self, ask: Ralph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("RALPH_ITERATION_ID", "20260131T120000Z-0a1b/1")
        said = ask(tmp_path, "config", "set", "--user", "push", "true")
        assert said.code == 77
        assert "ralph config was refused" in said.err


class TestEdit:
    @pytest.fixture
    def editor(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        """A program that appends a text to the file."""
        addition = tmp_path / "addition"
        program = tmp_path / "editor.py"
        program.write_text(
            f"import sys\nopen(sys.argv[1], 'a').write(open({str(addition)!r}).read())\n"
        )
        monkeypatch.delenv("VISUAL", raising=False)
        monkeypatch.setenv("EDITOR", f"{sys.executable} -S {program}")
        return addition

    def test_it_is_checked_afterwards(self, ask: Ralph, repository: Path, editor: Path) -> None:
        editor.write_text("push = true\n")
        said = ask(repository, "config", "edit")
        assert (said.code, said.out) == (0, "The settings in .ralph/config.toml are valid\n")
        assert text_of(repository) == f"{START}push = true\n"
        editor.write_text("")
        assert ask(repository, "config", "edit").out == "No changes in .ralph/config.toml\n"

    def test_a_wrong_file_is_kept(self, ask: Ralph, repository: Path, editor: Path) -> None:
        editor.write_text("push = maybe\n")
        said = ask(repository, "config", "edit")
        assert said.code == 78
        assert ".ralph/config.toml:2: " in said.err
        assert "The file is kept as you saved it" in said.err
        assert "maybe" in text_of(repository)

    @pytest.mark.parametrize(
        ("name", "message"),
        [("", "set VISUAL or EDITOR"), ("/nowhere/vi", "does not start"), ("false", "code 1")],
    )
    def test_an_editor_that_does_not_work_is_named(
        self,
        ask: Ralph,
        repository: Path,
        monkeypatch: pytest.MonkeyPatch,
        name: str,
        message: str,
    ) -> None:
        monkeypatch.delenv("VISUAL", raising=False)
        monkeypatch.setenv("EDITOR", name)
        said = ask(repository, "config", "edit")
        assert said.code == 64
        assert message in said.err


class TestExplain:
    def test_it_has_all_that_is_known(self, ask: Ralph, repository: Path) -> None:
        said = ask(repository, "config", "explain", "on_validate_fail").out
        for words in (
            "rollback  Roll the iteration back",
            'Default:  "stop"',
            'Now:      "stop" (default)',
            "Variable: RALPH_ON_VALIDATE_FAIL",
            "docs/configuration.md#on_validate_fail",
            'on_validate_fail = "repair"',
        ):
            assert words in said

    def test_an_old_key_names_its_new_one(self, ask: Ralph, repository: Path) -> None:
        said = ask(repository, "config", "explain", "idle_timeout").out
        assert said.startswith("idle_timeout is now timeouts.idle; the old key works until ralph ")

    def test_for_programs(self, ask: Ralph, repository: Path) -> None:
        said = ask(repository, "config", "explain", "agents.claude.model", "--json").json
        assert (said["key"], said["type"], said["default"]) == ("agents.NAME.model", "text", None)


def test_a_file_that_cannot_be_written_is_named(
    ask: Ralph, repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(config_edit, "write_atomic", refuse)
    said = ask(repository, "config", "set", "push", "true")
    assert said.code == 5
    assert ".ralph/config.toml cannot be written: Permission denied; fix that" in said.err


class TestMigrate:
    def test_old_keys_of_both_files_are_renamed_in_place(
        self, ask: Ralph, repository: Path, home: Path
    ) -> None:
        ours, users = repository / ".ralph" / "config.toml", home / ".config/ralph/config.toml"
        ours.parent.mkdir(exist_ok=True)
        users.parent.mkdir(parents=True)
        ours.write_bytes(b'# ours\r\ntimeout = "20m"  # slow\r\n')
        users.write_bytes(b"[log_retention]\ndays = 3\n")
        notice = ask(repository, "doctor").out
        assert ".ralph/config.toml: timeout is now timeouts.iteration" in notice
        assert "ralph config migrate" in notice
        assert ask(repository, "config", "migrate").out.splitlines() == [
            "Renamed timeout to timeouts.iteration in .ralph/config.toml",
            "Renamed log_retention.days to logs.days in ~/.config/ralph/config.toml",
        ]
        assert ours.read_bytes() == b'# ours\r\ntimeouts.iteration = "20m"  # slow\r\n'
        assert users.read_bytes() == b"[logs]\ndays = 3\n"
        again = ask(repository, "config", "migrate", "--project").out
        assert again == "No old keys in .ralph/config.toml\n"

    def test_outside_of_a_repository_your_own_file_is_changed(
        self, ask: Ralph, tmp_path: Path
    ) -> None:
        said = ask(tmp_path, "config", "migrate")
        assert (said.code, said.out) == (0, "No old keys in ~/.config/ralph/config.toml\n")


def test_every_setting_has_its_place_in_the_reference() -> None:
    keys = setting_keys()
    assert len(keys) == len(set(keys))
    documented = setting_keys(advanced=False)
    assert len(documented) <= 112
    assert keys[: len(documented)] == documented
    assert all(one.about and one.example for one in all_settings())
    assert find_setting("models.tag.simple") == find_setting("models.tag")
    assert find_setting("nonsense") is None


def test_listing_the_keys_loads_no_models() -> None:
    code = (
        "import sys; from ralph_ls.store.project.settings_reference import setting_keys; "
        "setting_keys(); print('pydantic' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout == "False\n"
