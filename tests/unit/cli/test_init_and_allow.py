"""``init`` and ``allow``: what they write, and what they leave alone."""

from __future__ import annotations

import json
import shutil
import tomllib
from pathlib import Path

import pytest

from tests.engine.project_builder import git, make_repository, write_agent
from tests.unit.cli.cli_runner import Ralph
from tests.unit.cli.shell_agents import IDLER

WRITTEN = ["@fix_plan.md", ".gitignore", ".ralph/config.toml"]
IGNORED = "/.ralph/logs/\n/.ralph/decide.txt\n/.ralph/blocked.txt\n/.ralph/config.schema.json\n"


OTHER = Path(__file__).parents[2] / "data" / "layouts" / "dot_ralph"


def files_of(root: Path) -> dict[str, bytes]:
    return {
        path.relative_to(root).as_posix(): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and ".git/" not in path.as_posix()
    }


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A repository without a plan."""
    repository = make_repository(tmp_path / "tree", files={"README.md": "# It\n"})
    git(repository, "rm", "-q", "@fix_plan.md")
    return repository


class TestInit:
    def test_it_writes_what_is_missing_and_says_what_is_next(
        self, ralph: Ralph, bare: Path
    ) -> None:
        said = ralph(bare, "init")
        assert (said.code, said.err) == (0, "")
        assert said.out == (
            "Project:  no known language\nAgents:   none on PATH\nPlan:     none yet\n"
            f"Wrote:    {', '.join(WRITTEN)}\n\nNext, install claude, write your tasks and start "
            "the loop:\n  npm install -g @anthropic-ai/claude-code && "
            "${EDITOR:-vi} @fix_plan.md && "
            "ralph run\n"
        )
        assert "## High Priority (P0)" in (bare / "@fix_plan.md").read_text(encoding="utf-8")
        assert (bare / ".gitignore").read_text(encoding="utf-8") == IGNORED
        config = tomllib.loads((bare / ".ralph/config.toml").read_text(encoding="utf-8"))
        assert config == {"profile": "fixplan"}
        assert (bare / ".ralph/logs").is_dir()

    def test_editors_complete_the_settings_by_the_schema_that_it_names(
        self, ralph: Ralph, bare: Path
    ) -> None:
        ralph(bare, "init")
        first, *_ = (bare / ".ralph/config.toml").read_text(encoding="utf-8").splitlines()
        assert first == "#:schema ./config.schema.json"
        schema = json.loads((bare / ".ralph/config.schema.json").read_text(encoding="utf-8"))
        assert "max_iterations" in schema["properties"]

    def test_a_schema_that_cannot_be_written_stops_no_setup(self, ralph: Ralph, bare: Path) -> None:
        (bare / ".ralph/config.schema.json").mkdir(parents=True)
        assert ralph(bare, "init").code == 0
        assert (bare / ".ralph/config.toml").is_file()

    def test_json_output_lists_what_was_written(self, ralph: Ralph, bare: Path) -> None:
        said = ralph(bare, "init", "--json").json
        assert (said["written"], said["notes"], said["workspace"]) == (WRITTEN, [], str(bare))
        assert ralph(bare, "init", "--json").json["written"] == []

    def test_a_second_time_changes_nothing(self, ralph: Ralph, bare: Path) -> None:
        ralph(bare, "init")
        before = {path: path.read_bytes() for path in bare.rglob("*") if path.is_file()}
        assert "Wrote:    nothing; all of it is here\n" in ralph(bare, "init").out
        assert before == {path: path.read_bytes() for path in bare.rglob("*") if path.is_file()}

    def test_what_is_there_is_kept(self, ralph: Ralph, bare: Path) -> None:
        (bare / ".ralph").mkdir()
        (bare / ".ralph/config.toml").write_text("# mine\n", encoding="utf-8")
        (bare / "fix_plan.md").write_text("- [ ] mine\n", encoding="utf-8")
        (bare / ".gitignore").write_bytes(b"*.pyc\r\n/.ralph/logs/\r\n\xff")
        said = ralph(bare, "init", "--json").json
        assert said["written"] == [".gitignore"]
        assert (bare / ".ralph/config.toml").read_text(encoding="utf-8") == "# mine\n"
        assert not (bare / "@fix_plan.md").exists()
        assert (bare / ".gitignore").read_bytes() == (
            b"*.pyc\r\n/.ralph/logs/\r\n\xff\r\n/.ralph/decide.txt\r\n/.ralph/blocked.txt\r\n"
            b"/.ralph/config.schema.json\r\n"
        )

    def test_it_works_from_below_and_the_first_run_leaves_the_tree_clean(
        self, ralph: Ralph, bare: Path, tmp_path: Path
    ) -> None:
        (bare / "below").mkdir()
        assert ralph(bare / "below", "init").code == 0
        (bare / "@fix_plan.md").write_text("- [ ] A task\n", encoding="utf-8")
        git(bare, "add", "-A")
        git(bare, "commit", "-q", "-m", "Set up")
        agent = write_agent(tmp_path / "agents", IDLER)
        assert ralph(bare, "run", "1", "--agent-command", agent).code == 1
        assert git(bare, "status", "--porcelain") == ""

    @pytest.mark.parametrize(
        ("name", "words"),
        [
            (
                ".gitignore",
                ".gitignore is a folder, not a regular file; remove it",
            ),
            (".ralph", "the folder {root}/.ralph/logs cannot be created: Not a directory"),
        ],
    )
    def test_an_obstacle_is_named(self, ralph: Ralph, bare: Path, name: str, words: str) -> None:
        if name == ".ralph":
            (bare / name).touch()
        else:
            (bare / name).mkdir()
        said = ralph(bare, "init")
        assert said.code == 5
        assert words.replace("{root}", str(bare)) in said.err


class TestFromExisting:
    @pytest.fixture
    def other(self, bare: Path) -> Path:
        """A repository as another tool lays it out."""
        shutil.copytree(OTHER, bare, dirs_exist_ok=True)
        return bare

    def test_it_shows_what_it_would_take_and_wants_a_yes(self, ralph: Ralph, other: Path) -> None:
        before = files_of(other)
        said = ralph(other, "init", "--from-existing")
        assert said.code == 64
        assert "needs a terminal to ask in, or --yes" in said.err
        assert said.out.splitlines() == [
            "Found: .ralph/fix_plan.md, a plan for the profile fixplan",
            "── would write .ralph/config.toml, from .ralphrc",
            "   #:schema ./config.schema.json",
            '   profile = "fixplan"',
            "   ",
            "   [timeouts]",
            '   iteration = "20m"',
            "   ",
            "   [session]",
            "   resume = true",
            '   max_age = "12h"',
            "   ",
            "   [breaker]",
            "   no_progress_open = 4",
            "── would write .ralph/prompts/PROMPT_build.md, from .ralph/PROMPT.md",
            "── would write .gitignore, from the loop's own files",
            "── not imported: PROJECT_NAME: there is no such setting",
            "── not imported: MAX_CALLS_PER_HOUR: there is no such setting",
            "── unchanged: .ralphrc, .ralph/PROMPT.md",
        ]
        assert files_of(other) == before

    def test_a_yes_writes_ours_and_leaves_theirs(self, ralph: Ralph, other: Path) -> None:
        before = files_of(other)
        said = ralph(other, "init", "--from-existing", "--yes")
        assert (said.code, said.err) == (0, "")
        after = files_of(other)
        written = {".ralph/config.toml", ".ralph/prompts/PROMPT_build.md", ".gitignore"}
        assert set(after) - set(before) == written | {".ralph/config.schema.json"}
        assert {name: after[name] for name in before} == before
        assert after[".ralph/prompts/PROMPT_build.md"] == before[".ralph/PROMPT.md"]
        shown = ralph(other, "run", "--dry-run", "--json").json
        assert shown["task"] == "Implement password hashing"
        assert (
            shown["settings"]["timeouts"]["iteration"],
            shown["settings"]["session"]["maxAge"],
        ) == (
            1200,
            43200,
        )
        again = ralph(other, "init", "--from-existing", "--yes")
        assert "Wrote:    nothing; all of it is here" in again.out

    def test_programs_look_before_they_write(self, ralph: Ralph, other: Path) -> None:
        seen = ralph(other, "init", "--from-existing", "--json").json
        assert seen["written"] == []
        assert seen["wouldWrite"] == [
            ".ralph/config.toml",
            ".ralph/prompts/PROMPT_build.md",
            ".gitignore",
        ]
        done = ralph(other, "init", "--from-existing", "--yes", "--json").json
        assert done["written"] == seen["wouldWrite"]

    def test_without_another_tool_it_says_how_to_begin(self, ralph: Ralph, bare: Path) -> None:
        said = ralph(bare, "init", "--from-existing")
        assert said.code == 64
        assert "no other loop was found" in said.err


class TestAllow:
    @pytest.fixture
    def bringing(self, bare: Path) -> Path:
        (bare / ".ralph").mkdir()
        (bare / ".ralph/validate.sh").write_text("exit 0\n", encoding="utf-8")
        return bare

    def test_without_a_terminal_it_shows_and_wants_a_yes(
        self, ralph: Ralph, bringing: Path
    ) -> None:
        said = ralph(bringing, "allow")
        assert said.code == 64
        assert said.out == "── .ralph/validate.sh (not approved yet)\n   exit 0\n"
        assert said.err.startswith("ralph: approving needs a terminal to ask in, or --yes\n")

    def test_with_a_yes_it_allows(self, ralph: Ralph, bringing: Path) -> None:
        said = ralph(bringing, "allow", "--yes")
        assert (said.code, said.err) == (0, "")
        assert said.out.endswith(f"Approved for {bringing}. A change asks again\n")
        assert ralph(bringing, "allow").out == "── .ralph/validate.sh (approved)\n   exit 0\n"

    def test_programs_see_it_and_allow_nothing_by_looking(
        self, ralph: Ralph, bringing: Path
    ) -> None:
        digest = "66cf57ba7d3c31a70ccfce7d7a5ab8e0d5e0b0dd52ac8a4d9fe1ae6e7e7b0b3f"
        for _ in range(2):
            shown = ralph(bringing, "allow", "--json").json
            assert shown["allowed"] is False
            (claim,) = shown["claims"]
            assert set(claim) == {"key", "sha256", "allowed", "text", "path", "notCovered"}
            assert (claim["key"], claim["text"]) == (".ralph/validate.sh", "exit 0\n")
            assert len(claim["sha256"]) == len(digest)
            assert claim["allowed"] is False
        shown = ralph(bringing, "allow", "--json", "--yes").json
        assert (shown["allowed"], shown["claims"][0]["allowed"]) == (True, True)
        assert ralph(bringing, "allow", "--json", "--yes").json == shown
        assert ralph(bringing, "allow", "--json").json == shown
