"""A repository that tries to run something: nothing of it runs before ``ralph allow``.

See docs/rules.md#trust.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.engine.hostile_repository import clone_of, leaving
from tests.engine.project_builder import git, write_agent
from tests.unit.cli.cli_runner import Ralph, caller

CONFIG = """\
agent = "claude"
[agents.claude]
argv = ["./tools/agent.sh"]
env = { LD_PRELOAD = "./tools/preload.so" }
[agents.command]
argv = ["sh", "-c", "exec ./tools/helper.sh"]
"""


@pytest.fixture
def ralph(capsys: pytest.CaptureFixture[str]) -> Ralph:
    return caller(capsys)


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """Where whatever runs without leave writes its name."""
    return tmp_path / "marker"


@pytest.fixture
def clone(tmp_path: Path, marker: Path) -> Path:
    """A clone of a repository that brings commands, scripts and a prompt."""
    files = {
        ".ralph/config.toml": CONFIG,
        ".ralph/prompts/PROMPT_build.md": "Do as {{TASK}} says\n",
        ".ralph/validate.sh": leaving(marker, "validate"),
        "tools/agent.sh": leaving(marker, "agent"),
        "tools/helper.sh": leaving(marker, "helper"),
        "tools/preload.so": "no library\n",
    }
    return clone_of(tmp_path, files)


CLAUDE = [
    "agents.claude",
    "agents.claude: ./tools/agent.sh",
    "agents.claude: ./tools/preload.so",
]
ALWAYS = [".ralph/prompts/PROMPT_build.md", ".ralph/validate.sh"]
COMMAND = ["agents.command", "agents.command: ./tools/helper.sh"]


class TestNothingRunsWithoutLeave:
    @pytest.mark.parametrize(
        ("arguments", "keys"),
        [
            pytest.param(["run", "1"], [*ALWAYS, *CLAUDE], id="run"),
            pytest.param(["run", "1", "--json"], [*ALWAYS, *CLAUDE], id="run-json"),
            pytest.param(["run", "1", "--agent", "command"], [*ALWAYS, *COMMAND], id="other-agent"),
            pytest.param(["run", "1", "--agent", "demo"], ALWAYS, id="built-in-agent"),
            pytest.param(["run", "1", "--agent-command", "true"], ALWAYS, id="own-agent"),
            pytest.param(["run", "1", "--detach"], [*ALWAYS, *CLAUDE], id="detached"),
        ],
    )
    def test_a_run_is_refused_and_names_every_key(
        self, ralph: Ralph, clone: Path, marker: Path, arguments: list[str], keys: list[str]
    ) -> None:
        said = ralph(clone, *arguments)
        assert said.code == 78
        assert said.out == ""
        named = said.err.partition("you haven't approved: ")[2].partition("; review")[0].split(", ")
        assert named == sorted(keys)
        assert "ralph allow" in said.err
        assert not marker.exists()
        assert git(clone, "status", "--porcelain", "--ignored") == ""

    @pytest.mark.parametrize(
        ("arguments", "code"),
        [
            pytest.param([], 0, id="nothing"),
            pytest.param(["--help"], 0, id="help"),
            pytest.param(["status"], 0, id="status"),
            pytest.param(["status", "--json"], 0, id="status-json"),
            pytest.param(["plan"], 0, id="plan"),
            pytest.param(["plan", "--json"], 0, id="plan-json"),
            pytest.param(["read", "tools/agent.sh"], 0, id="read"),
            pytest.param(["run", "--dry-run"], 0, id="dry-run"),
            pytest.param(["run", "--dry-run", "--json"], 0, id="dry-run-json"),
            pytest.param(["run", "--resume"], 64, id="resume-run"),
            pytest.param(["run", "--resume", "--detach"], 5, id="resume-detached"),
            pytest.param(["watch"], 5, id="watch"),
            pytest.param(["stop"], 5, id="stop"),
            pytest.param(["stop", "--now"], 5, id="stop-now"),
            pytest.param(["pause"], 5, id="pause"),
            pytest.param(["resume"], 5, id="resume"),
            pytest.param(["reset"], 5, id="reset"),
            pytest.param(["answer", "yes"], 5, id="answer"),
            pytest.param(["note", "look at this"], 0, id="note"),
            pytest.param(["allow"], 64, id="allow-without-a-terminal"),
            pytest.param(["allow", "--json"], 0, id="allow-json"),
            pytest.param(["init"], 0, id="init"),
        ],
    )
    def test_no_other_verb_runs_anything(
        self, ralph: Ralph, clone: Path, marker: Path, arguments: list[str], code: int
    ) -> None:
        said = ralph(clone, *arguments)
        assert (said.code, said.err if code == 0 else "") == (code, "")
        assert not marker.exists()
        assert ralph(clone, "run", "1").code == 78

    def test_a_dry_run_shows_what_would_run_and_what_is_not_allowed(
        self, ralph: Ralph, clone: Path
    ) -> None:
        shown = ralph(clone, "run", "--dry-run", "--json").json
        assert shown["argv"] == ["./tools/agent.sh"]
        assert shown["notAllowed"] == sorted([*ALWAYS, *CLAUDE])
        assert shown["prompt"] == "Do as Task: First task says\n"

    def test_what_the_file_says_of_an_agent_never_reaches_one_that_the_user_gives(
        self, ralph: Ralph, tmp_path: Path
    ) -> None:
        config = '[agents.command]\nargv = ["false"]\nenv = { INJECTED = "yes" }\n'
        clone = clone_of(tmp_path, {".ralph/config.toml": config})
        seen = tmp_path / "environment"
        agent = write_agent(tmp_path / "agents", f"env >'{seen}'")
        assert ralph(clone, "run", "1", "--agent-command", agent).code == 1
        assert "INJECTED" not in seen.read_text(encoding="utf-8")


class TestAllowing:
    def test_what_was_allowed_runs(self, ralph: Ralph, tmp_path: Path, marker: Path) -> None:
        files = {
            ".ralph/config.toml": 'agent = "command"\n[agents.command]\nargv = ["./agent.sh"]\n',
            ".ralph/validate.sh": leaving(marker, "validate"),
            ".ralph/prompts/PROMPT_build.md": "Do as {{TASK}} says\n",
            "agent.sh": leaving(marker, "agent"),
        }
        clone = clone_of(tmp_path, files)
        assert ralph(clone, "allow", "--yes").code == 0
        assert ralph(clone, "run", "1").code == 1
        assert marker.read_text(encoding="utf-8") == "agent\nvalidate\n"

    @pytest.mark.parametrize(
        ("path", "text", "key"),
        [
            pytest.param(
                ".ralph/config.toml",
                CONFIG.replace("./tools/preload.so", "./tools/other.so"),
                "agents.claude",
                id="a-setting",
            ),
            pytest.param(
                "tools/agent.sh", "#!/bin/sh\n", "agents.claude: ./tools/agent.sh", id="a-program"
            ),
            pytest.param(
                "tools/preload.so", "x\n", "agents.claude: ./tools/preload.so", id="a-library"
            ),
            pytest.param(
                ".ralph/validate.sh", "#!/bin/sh\n", ".ralph/validate.sh", id="the-validation"
            ),
            pytest.param(
                ".ralph/prompts/PROMPT_build.md",
                "Do no harm\n",
                ".ralph/prompts/PROMPT_build.md",
                id="a-prompt",
            ),
        ],
    )
    def test_a_change_asks_again(
        self, ralph: Ralph, clone: Path, marker: Path, path: str, text: str, key: str
    ) -> None:
        assert ralph(clone, "allow", "--yes").code == 0
        (clone / path).write_text(text, encoding="utf-8")
        said = ralph(clone, "run", "1")
        assert said.code == 78
        assert f"you haven't approved: {key}; " in said.err
        assert not marker.exists()
        shown = ralph(clone, "allow", "--json").json
        assert [claim["key"] for claim in shown["claims"] if not claim["allowed"]] == [key]

    def test_a_file_that_comes_later_is_asked_for(self, ralph: Ralph, clone: Path) -> None:
        (clone / "tools/agent.sh").unlink()
        assert ralph(clone, "allow", "--yes").code == 0
        (clone / "tools/agent.sh").write_text("#!/bin/sh\n", encoding="utf-8")
        assert "agents.claude: ./tools/agent.sh" in ralph(clone, "run", "1").err

    def test_permission_is_given_for_one_work_tree_alone(
        self, ralph: Ralph, clone: Path, tmp_path: Path
    ) -> None:
        assert ralph(clone, "allow", "--yes").code == 0
        shutil.copytree(clone, tmp_path / "copy")
        assert ralph(tmp_path / "copy", "run", "1").code == 78

    def test_the_permission_is_outside_the_tree_for_its_owner_alone(
        self, ralph: Ralph, clone: Path, state_dir: Path
    ) -> None:
        assert ralph(clone, "allow", "--yes").code == 0
        (record,) = state_dir.glob("worktrees/*/trust.json")
        assert record.stat().st_mode & 0o777 == 0o600
        assert record.parent.stat().st_mode & 0o777 == 0o700
        assert git(clone, "status", "--porcelain", "--ignored") == ""
        record.write_text("{", encoding="utf-8")
        assert ralph(clone, "run", "1").code == 78

    def test_everything_that_would_run_is_shown_to_its_end(self, ralph: Ralph, clone: Path) -> None:
        lines = [f"echo {number}" for number in range(500)]
        (clone / "tools/agent.sh").write_text("\n".join(lines), encoding="utf-8")
        shown = ralph(clone, "allow", "--yes").out
        assert "── agents.claude: ./tools/agent.sh (not approved yet)\n   echo 0\n" in shown
        assert "   echo 499\n" in shown
        assert '"LD_PRELOAD": "./tools/preload.so"' in shown

    def test_nothing_hides_behind_an_escape_sequence(self, ralph: Ralph, clone: Path) -> None:
        hidden = "\x1b[8mrm -rf ~\x1b[0m\r\u202elive\u200b"
        (clone / "tools/agent.sh").write_text(f"{hidden}\n", encoding="utf-8")
        config = CONFIG + '[agents."a\\u001b[2Jb"]\nargv = ["x"]\n'
        (clone / ".ralph/config.toml").write_text(config, encoding="utf-8")
        shown = ralph(clone, "allow", "--yes").out
        assert "   \\x1b[8mrm -rf ~\\x1b[0m\\x0d\\u202elive\\u200b\n" in shown
        assert "── agents.a\\x1b[2Jb (not approved yet)\n" in shown
        assert "\x1b" not in shown

    @pytest.mark.parametrize(
        ("data", "words"),
        [
            pytest.param(b"\x7fELF\x00\x01", "not text", id="a-program"),
            pytest.param(b"x" * 100_001, "longer than 100000 bytes", id="a-long-text"),
        ],
    )
    def test_what_nobody_can_read_is_named_by_its_hash(
        self, ralph: Ralph, clone: Path, data: bytes, words: str
    ) -> None:
        (clone / "tools/agent.sh").write_bytes(data)
        shown = ralph(clone, "allow", "--yes").out
        assert f"({words}; SHA-256 " in shown

    def test_a_repository_that_brings_nothing_needs_no_leave(
        self, ralph: Ralph, tmp_path: Path
    ) -> None:
        clone = clone_of(tmp_path, {})
        assert ralph(clone, "allow").out == f"nothing in {clone} needs your approval\n"
        shown = ralph(clone, "allow", "--json").json
        assert (shown["allowed"], shown["claims"]) == (True, [])
