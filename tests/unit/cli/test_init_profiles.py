"""``ralph init`` for each profile: the first files that are right for it, and none besides."""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.core.plan.formats.stories.tasks import parse_stories
from ralph_ls.core.setup.documents import SPEC_NAME
from ralph_ls.store.project.prompt_texts import built_in_texts
from tests.engine.project_builder import git, write_agent
from tests.fakes import bd as fake_bd
from tests.unit.cli.cli_runner import Ralph
from tests.unit.cli.shell_agents import IDLER
from tests.unit.cli.terminal import in_terminal

TEXT = "Let people reset a password. Done when a test shows it, and all others pass."
SPEC_FILES = [
    *(f"specs/{SPEC_NAME}", "specs/README.md", "ralph", ".ralph/prompts/PROMPT_build.md"),
    *(".ralph/validate.sh.example", ".gitignore", ".ralph/config.toml"),
]


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A repository with nothing in it."""
    folder = tmp_path / "tree"
    folder.mkdir()
    git(folder, "init", "-q")
    return folder


def config(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / ".ralph" / "config.toml").read_text(encoding="utf-8"))


def everything(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(root).parts
    }


class TestSpec:
    def test_it_has_all_that_the_seed_asks_for(self, ralph: Ralph, bare: Path) -> None:
        said = ralph(bare, "init", "--profile", "spec")
        assert f"Wrote:    {', '.join(SPEC_FILES)}\n" in said.out
        assert said.out.endswith("${EDITOR:-vi} specs/my-feature.md && ralph run\n")
        assert (bare / ".ralph/logs").is_dir()
        assert os.access(bare / "ralph", os.X_OK)
        assert not os.access(bare / ".ralph/validate.sh.example", os.X_OK)
        prompt = (bare / ".ralph/prompts/PROMPT_build.md").read_text(encoding="utf-8")
        assert prompt == built_in_texts().templates["spec-build"]
        assert "## Implemented Specifications\n" in (bare / "specs/README.md").read_text("utf-8")
        assert not (bare / "IMPLEMENTATION_PLAN.md").exists()

    def test_an_untouched_specification_says_nothing_that_could_be_built(
        self, ralph: Ralph, bare: Path, tmp_path: Path
    ) -> None:
        ralph(bare, "init", "--profile", "spec")
        agent = write_agent(tmp_path / "agents", IDLER)
        refused = ralph(bare, "run", "1", "--agent-command", agent)
        assert refused.code == 5
        assert "no plan and no specification" in refused.err
        path = bare / "specs" / SPEC_NAME
        path.write_text(path.read_text("utf-8").replace("<name>", "login"), encoding="utf-8")
        git(bare, "add", "-A")
        git(bare, "commit", "-q", "-m", "Set up")
        # Its own prompt requires no permission: the user has just had it written.
        assert ralph(bare, "run", "1", "--agent-command", agent).code == 1

    def test_what_is_there_is_kept(self, ralph: Ralph, bare: Path) -> None:
        (bare / "ralph").mkdir()
        (bare / "ralph" / "__init__.py").touch()
        (bare / "specs").mkdir()
        (bare / "specs" / "login.md").write_text("# Login\n", encoding="utf-8")
        (bare / "IMPLEMENTATION_PLAN.md").write_text("- [ ] one\n", encoding="utf-8")
        before = everything(bare)
        said = ralph(bare, "init", "--profile", "spec", "--json").json
        after = everything(bare)
        assert {name: after[name] for name in before} == before
        assert "ralph/ is a folder here, so no wrapper was written" in said["notes"][0]
        assert f"specs/{SPEC_NAME}" not in after
        assert ralph(bare, "init", "--profile", "spec", "--json").json["written"] == []

    @pytest.mark.parametrize(
        ("arguments", "wanted"),
        [
            ([], "run"),
            (["20"], "run 20"),
            (["--max-stuck", "3"], "run --max-stuck 3"),
            (["status", "--json"], "status --json"),
        ],
    )
    def test_the_wrapper_hands_on_to_the_program_on_path(
        self, ralph: Ralph, bare: Path, tmp_path: Path, arguments: list[str], wanted: str
    ) -> None:
        ralph(bare, "init", "--profile", "spec")
        write_agent(tmp_path / "bin", 'pwd; echo "$*"', name="ralph")
        path = os.pathsep.join([str(bare), str(tmp_path / "bin"), os.environ["PATH"]])
        ran = self.call(bare, tmp_path, arguments, path)
        assert ran.stdout.splitlines() == [str(bare), wanted]

    def test_the_wrapper_says_where_the_program_is_missing(
        self, ralph: Ralph, bare: Path, tmp_path: Path
    ) -> None:
        ralph(bare, "init", "--profile", "spec")
        # Its own folder is on PATH, as some people have it: it must not call itself for ever.
        folder = tmp_path / "few"
        folder.mkdir()
        for name in ("sh", "dirname"):
            (folder / name).symlink_to(f"/usr/bin/{name}")
        ran = self.call(bare, tmp_path, [], os.pathsep.join([str(bare), str(folder)]))
        assert ran.returncode == 127
        assert "the program ralph is not on PATH" in ran.stderr

    def call(
        self, bare: Path, tmp_path: Path, arguments: list[str], path: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(bare / "ralph"), *arguments],
            cwd=tmp_path,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )


class TestStories:
    def test_it_begins_with_the_layout_of_the_seed(self, ralph: Ralph, bare: Path) -> None:
        said = ralph(bare, "init", "--profile", "stories")
        assert (
            "Wrote:    ralph/tasks.json, ralph/prd.md, ralph/progress.txt, .gitignore, "
            ".ralph/config.toml\n"
        ) in said.out
        assert said.out.endswith("${EDITOR:-vi} ralph/tasks.json && ralph run\n")
        assert (bare / "ralph/logs").is_dir()
        assert (bare / ".gitignore").read_text("utf-8") == (
            "/ralph/logs/\n/ralph/decide.txt\n/ralph/blocked.txt\n/.ralph/config.schema.json\n"
        )
        assert config(bare) == {"profile": "stories"}
        parsed = parse_stories((bare / "ralph/tasks.json").read_text("utf-8"))
        assert (parsed.plan.tasks, parsed.problems) == ((), ())

    def test_items_become_stories_by_their_priority(self, ralph: Ralph, bare: Path) -> None:
        said = ralph(
            *(bare, "init", "--profile", "stories", "--description", TEXT),
            *("--item", "P2 Be quick", "--item", "P0 Send a mail", "--json"),
        )
        assert said.code == 0
        text = (bare / "ralph/tasks.json").read_text("utf-8")
        stories = json.loads(text)["userStories"]
        assert [(one["id"], one["title"], one["priority"]) for one in stories] == [
            ("US-001", "Send a mail", 1),
            ("US-002", "Be quick", 2),
        ]
        assert stories[0]["reviewStatus"] is None
        assert TEXT in (bare / "ralph/prd.md").read_text("utf-8")
        assert not (bare / "specs").exists()

    def test_an_existing_plan_is_used_where_it_is(self, ralph: Ralph, bare: Path) -> None:
        text = '{"userStories": [{"id": "A", "title": "one", "passes": true}]}\n'
        (bare / "prd.json").write_text(text, encoding="utf-8")
        said = ralph(bare, "init", "--json").json
        assert said["written"] == [".gitignore", ".ralph/config.toml"]
        assert config(bare) == {"profile": "stories"}
        assert (bare / "prd.json").read_text("utf-8") == text
        ralph(bare, "init", "--plan", "prd.json", "--item", "two")
        titles = [
            task.title for task in parse_stories((bare / "prd.json").read_text("utf-8")).plan.tasks
        ]
        assert titles == ["one", "two"]

    def test_a_second_time_changes_nothing(self, ralph: Ralph, bare: Path) -> None:
        ralph(bare, "init", "--profile", "stories")
        before = everything(bare)
        assert "Wrote:    nothing; all of it is here\n" in ralph(bare, "init").out
        assert everything(bare) == before


class TestBeads:
    def test_it_says_what_is_missing_and_runs_nothing(
        self, ralph: Ralph, bare: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        calls = tmp_path / "calls"
        folder = tmp_path / "bin"
        write_agent(folder, f'echo "$*" >>{calls}', name="bd")
        monkeypatch.setenv("PATH", os.pathsep.join([str(folder), os.environ["PATH"]]))
        said = ralph(bare, "init", "--profile", "beads")
        assert (
            "Wrote:    .gitignore, .ralph/config.toml\nNote:     there is no .beads/ here yet; "
            "create it with: bd init\n"
        ) in said.out
        assert said.out.endswith("bd init && bd create 'First task' && ralph run\n")
        assert not calls.exists()
        assert config(bare) == {"profile": "beads"}
        assert (bare / ".gitignore").read_text("utf-8") == (
            "/.ralph/decide.txt\n/.ralph/blocked.txt\n/.ralph/config.schema.json\n"
        )
        assert not (bare / ".ralph/logs").exists()

    def test_without_the_program_it_says_where_to_get_it(self, ralph: Ralph, bare: Path) -> None:
        said = ralph(bare, "init", "--profile", "beads")
        assert said.code == 0
        assert "bd, which was not found on PATH; install it" in said.out

    def test_with_both_there_is_nothing_to_say(
        self, ralph: Ralph, bare: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        fake_bd.install(tmp_path / "bin")
        monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]]))
        (bare / ".beads").mkdir()
        assert "Note" not in ralph(bare, "init", "--profile", "beads").out

    def test_items_are_shown_as_commands_with_any_words_quoted(
        self, ralph: Ralph, bare: Path
    ) -> None:
        said = ralph(
            *(bare, "init", "--profile", "beads", "--description", TEXT),
            *("--item", "P0 Don't; rm it", "--json"),
        ).json
        assert """bd create 'Don'"'"'t; rm it' --priority 0""" in said["notes"][-1]
        assert any(name.startswith("specs/") for name in said["written"])

    def test_settings_alone_are_enough(self, ralph: Ralph, bare: Path) -> None:
        assert ralph(bare, "init", "--profile", "beads", "--max-iterations", "9").code == 0
        assert config(bare) == {"profile": "beads", "max_iterations": 9}

    def test_it_has_no_file_for_a_plan(self, ralph: Ralph, bare: Path) -> None:
        (bare / "a.md").touch()
        said = ralph(bare, "init", "--profile", "beads", "--plan", "a.md")
        assert said.code == 64
        assert "has no plan file" in said.err


class TestIssue:
    @pytest.mark.parametrize(
        ("named", "table"),
        [
            ("request.md", {"file": "request.md"}),
            ("-", {"file": "-"}),
            ("#12", {"github": "#12"}),
            ("owner/name#123", {"github": "owner/name#123"}),
            (
                "https://github.com/o/n/issues/7",
                {"github": "https://github.com/o/n/issues/7"},
            ),
        ],
    )
    def test_a_flag_says_where_the_request_is(
        self, ralph: Ralph, bare: Path, named: str, table: dict[str, str]
    ) -> None:
        (bare / "request.md").write_text(TEXT, encoding="utf-8")
        said = ralph(bare, "init", "--issue", named)
        assert said.code == 0
        assert said.out.endswith("ralph run\n")
        assert "EDITOR" not in said.out
        assert config(bare) == {"profile": "issue", "issue": table}

    def test_without_one_it_says_where_to_write_it(self, ralph: Ralph, bare: Path) -> None:
        said = ralph(bare, "init", "--profile", "issue")
        assert "Wrote:    .gitignore, .ralph/config.toml\n" in said.out
        assert said.out.endswith("${EDITOR:-vi} issue.md && ralph run\n")
        text = (bare / ".ralph/config.toml").read_text("utf-8")
        # What is commented out belongs to no table, so that it means what it says.
        assert text.index("# max_iterations") < text.index("[issue]")
        assert config(bare) == {"profile": "issue", "issue": {"file": "issue.md"}}
        assert not (bare / "issue.md").exists()

    def test_a_description_is_the_request(self, ralph: Ralph, bare: Path) -> None:
        flags = ["init", "--profile", "issue", "--description", TEXT, "--item", "Send a mail"]
        assert ralph(bare, *flags).code == 0
        text = (bare / "issue.md").read_text("utf-8")
        assert text == f"{TEXT}\n\n## What belongs to it\n\n- Send a mail\n"
        assert config(bare)["issue"] == {"file": "issue.md"}
        assert ralph(bare, *flags).code == 0
        other = ralph(bare, *flags[:4], f"{TEXT} Now.")
        assert other.code == 64
        assert "issue.md already exists with another text" in other.err
        assert (bare / "issue.md").read_text("utf-8") == text

    def test_another_place_takes_the_one_that_was_there(self, ralph: Ralph, bare: Path) -> None:
        (bare / ".ralph").mkdir()
        (bare / ".ralph/config.toml").write_text(
            'profile = "issue"\n[issue]\nfile = "old.md"\n', encoding="utf-8"
        )
        ralph(bare, "init", "--issue", "#12", "--max-iterations", "5")
        assert config(bare)["issue"] == {"file": "", "github": "#12"}

    def test_a_description_and_a_place_do_not_go_together(self, ralph: Ralph, bare: Path) -> None:
        said = ralph(bare, "init", "--issue", "#12", "--description", TEXT)
        assert said.code == 64
        assert "leave one of them out" in said.err

    def test_in_a_terminal_it_is_asked_for(self, bare: Path) -> None:
        with in_terminal(bare, "init", "--advanced") as seen:
            seen.wait_for("Profile [1]")
            seen.type("9\n")
            seen.wait_for("A number from 1 to 5")
            seen.type("5\n")
            seen.wait_for("Where is the request?")
            seen.type("owner/name#123\n")
            for question in ("Completion phrase", "Timeout of an iteration", "Write these files?"):
                seen.wait_for(question)
                seen.type("\n")
            assert seen.wait() == 0
        assert config(bare) == {"profile": "issue", "issue": {"github": "owner/name#123"}}


def test_settings_that_name_another_profile_stay_and_are_reported(ralph: Ralph, bare: Path) -> None:
    ralph(bare, "init")
    said = ralph(bare, "init", "--profile", "stories")
    assert 'has profile = "fixplan" and was not changed; for this one write' in said.out
    assert config(bare) == {"profile": "fixplan"}
