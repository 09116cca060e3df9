"""``ralph init`` with a task: by flags in a pipe, by answers in a terminal, by the same rules."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.core.plan.parse.markdown import parse_markdown
from tests.engine.project_builder import git, write_agent
from tests.unit.cli.cli_runner import Ralph
from tests.unit.cli.terminal import CTRL_D, in_terminal

DESCRIPTION = "Let people reset a password. Done when a test shows it, and all others pass."


INSTALL = "npm install -g @anthropic-ai/claude-code"
NEXT = f"\n\nNext, install claude and start the loop:\n  {INSTALL} && ralph run\n"


@pytest.fixture(autouse=True)
def no_agents(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only the system's programs are on PATH, and none of the known agents is."""
    monkeypatch.setenv("PATH", "/usr/bin:/bin")


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A repository with nothing in it."""
    folder = tmp_path / "tree"
    folder.mkdir()
    git(folder, "init", "-q")
    return folder


def tasks(root: Path, plan: str = "@fix_plan.md") -> list[tuple[str, str | None]]:
    text = (root / plan).read_text(encoding="utf-8")
    return [(task.title, task.priority) for task in parse_markdown(text).plan.tasks]


def config(root: Path) -> dict[str, Any]:
    return tomllib.loads((root / ".ralph" / "config.toml").read_text(encoding="utf-8"))


class TestInAPipe:
    def test_flags_say_everything(self, ralph: Ralph, bare: Path) -> None:
        said = ralph(
            bare,
            *("init", "--description", DESCRIPTION, "--profile", "spec", "--json"),
            *("--item", "P2: Be quick", "--item", "Write it", "--item", "p0 Send a mail"),
            *("--agent-command", "./agent.sh 'a b'", "--agent-prompt", "file"),
            *("--completion-phrase", "ALL_DONE", "--max-iterations", "7"),
            *("--timeout", "10m", "--max-time", "1h"),
        )
        assert (said.code, said.err) == (0, "")
        plan = "IMPLEMENTATION_PLAN.md"
        spec = "specs/let-people-reset-a-password-done-when-a.md"
        assert said.json["written"] == [
            *(spec, "specs/README.md", plan, "ralph", ".ralph/prompts/PROMPT_build.md"),
            *(".ralph/validate.sh.example", ".gitignore", ".ralph/config.toml"),
        ]
        assert said.json["notes"] == []
        assert [file["action"] for file in said.json["files"]] == ["create"] * 8
        assert tasks(bare, plan) == [
            (f"Send a mail ({spec})", "P0"),
            (f"Write it ({spec})", None),
            (f"Be quick ({spec})", "P2"),
        ]
        assert config(bare) == {
            "profile": "spec",
            "agent": "command",
            "agents": {"command": {"argv": ["./agent.sh", "a b"], "prompt": "file"}},
            "max_iterations": 7,
            "timeouts": {"iteration": "10m"},
            "max_duration": "60m",
            "promise": {"complete": "ALL_DONE"},
        }

    def test_a_template_brings_description_and_items(self, ralph: Ralph, bare: Path) -> None:
        said = ralph(bare, "init", "--template", "bug-fix")
        assert said.code == 0
        assert "── @fix_plan.md (new)\n   # Fix Plan\n" in said.out
        assert said.out.endswith(NEXT)
        assert len(tasks(bare)) == 5
        assert (bare / "specs" / "fix-this-bug.md").exists()

    def test_a_description_takes_the_place_of_the_templates_own(
        self, ralph: Ralph, bare: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        (tmp_path / "house.md").write_text("---\nprofile: spec\n---\nX\n# Plan\n- [ ] one\n")
        monkeypatch.setenv("RALPH_TEMPLATES_DIR", str(tmp_path))
        assert ralph(bare, "init", "--template", "house", "--description", DESCRIPTION).code == 0
        assert config(bare)["profile"] == "spec"
        ((title, _),) = tasks(bare, "IMPLEMENTATION_PLAN.md")
        assert title.startswith("one (specs/let-people-reset")

    def test_a_dry_run_writes_nothing(self, ralph: Ralph, bare: Path) -> None:
        said = ralph(bare, "init", "--template", "feature", "--dry-run")
        assert said.out.endswith("Nothing was written: this was a dry run\n")
        as_json = ralph(bare, "init", "--template", "feature", "--dry-run", "--json").json
        assert (as_json["written"], len(as_json["files"])) == ([], 4)
        assert git(bare, "status", "--porcelain") == ""

    def test_a_plan_that_is_there_is_added_to(self, ralph: Ralph, bare: Path) -> None:
        (bare / "TODO.md").write_text("- [ ] old\n")
        (bare / ".ralph").mkdir()
        (bare / ".ralph" / "validate.sh").write_text("#!/bin/sh\n")
        said = ralph(bare, "init", "--plan", "TODO.md", "--item", "new")
        assert tasks(bare, "TODO.md") == [("old", None), ("new", None)]
        assert config(bare)["paths"] == {"plan": "TODO.md"}
        assert "Note:     before a run, review what this repository wants to run" in said.out
        assert said.out.endswith("&& ralph allow && ralph run\n")
        again = ralph(bare, "init", "--plan", "TODO.md", "--item", "new", "--dry-run")
        assert "── TODO.md (kept)\n── .gitignore (kept)\n" in again.out

    def test_a_vague_description_gets_one_hint(self, ralph: Ralph, bare: Path) -> None:
        said = ralph(bare, "init", "--description", "Repair it", "--item", "Repair it")
        assert (said.code, said.err) == (0, "")
        assert said.out.count("Hint:") == 1
        assert "Hint:     say when it is done, such as: Done when the tests pass" in said.out
        clear = ralph(bare, "init", "--description", "Done when the tests pass", "--item", "x")
        assert "Hint:" not in clear.out

    def test_a_sentence_is_enough(self, ralph: Ralph, bare: Path) -> None:
        said = ralph(bare, "init", "--agent", "claude", "--task", "P0 Fix the login", "--yes")
        assert (said.code, said.err) == (0, "")
        assert said.out == (
            "Project:  no known language\nAgents:   none on PATH\nAgent:    claude, not installed\n"
            "Plan:     none yet\nWrote:    @fix_plan.md, .gitignore, .ralph/config.toml" + NEXT
        )
        assert tasks(bare) == [("Fix the login", "P0")]
        assert config(bare) == {"profile": "fixplan", "agent": "claude"}
        before = {path: path.read_bytes() for path in bare.rglob("*") if path.is_file()}
        again = ralph(bare, "init", "--agent", "claude", "--task", "P0 Fix the login", "--yes")
        assert (
            "Plan:     @fix_plan.md, 1 open task\nWrote:    nothing; all of it is here" in again.out
        )
        assert before == {path: path.read_bytes() for path in bare.rglob("*") if path.is_file()}

    def test_a_long_task_becomes_a_specification(self, ralph: Ralph, bare: Path) -> None:
        assert ralph(bare, "init", "--task", f"Fix the login\n{'more ' * 50}").code == 0
        assert tasks(bare) == [("Fix the login", "P1")]
        assert (bare / "specs" / "fix-the-login.md").exists()
        assert ralph(bare, "init", "--description", DESCRIPTION).code == 0
        assert tasks(bare)[-1][0].startswith("Let people reset a password")

    @pytest.mark.parametrize(
        ("profile", "path"), [("stories", "ralph/tasks.json"), ("issue", "issue.md")]
    )
    def test_a_sentence_in_other_profiles(
        self, ralph: Ralph, bare: Path, profile: str, path: str
    ) -> None:
        said = ralph(bare, "init", "--profile", profile, "--task", "Fix the login")
        assert said.out.endswith(NEXT)
        assert "Fix the login" in (bare / path).read_text(encoding="utf-8")

    def test_limits_and_a_branch_become_settings(self, ralph: Ralph, bare: Path) -> None:
        limits = ("--max-cost", "5", "--max-time", "2h", "--branch", "auto")
        assert ralph(bare, "init", "--task", "x", *limits).code == 0
        assert config(bare) == {
            "profile": "fixplan",
            "max_duration": "120m",
            "max_cost_usd": 5.0,
            "work_branch": "auto",
        }
        # Settings are changed where others are given, also without a task.
        said = ralph(bare, "init", "--agent", "demo", "--json").json
        assert (said["written"], said["next"]) == ([".ralph/config.toml"], "ralph run")
        assert config(bare)["agent"] == "demo"

    def test_the_next_command_names_what_is_to_be_done_first(
        self, ralph: Ralph, bare: Path
    ) -> None:
        def after(profile: str) -> str:
            return str(
                ralph(bare, "init", "--profile", profile, "--json", "--dry-run").json["next"]
            )

        install = "npm install -g @anthropic-ai/claude-code"
        assert after("fixplan") == f"{install} && ${{EDITOR:-vi}} @fix_plan.md && ralph run"
        (bare / "TODO.md").write_text("- [ ] old\n", encoding="utf-8")
        hinted = ralph(bare, "init").out
        assert (
            "Hint:     TODO.md has 1 open task; to work on it: ralph init --plan TODO.md" in hinted
        )

    @pytest.mark.parametrize(
        ("flags", "words"),
        [
            (["--description", " "], "--description is empty; say what the agent should do"),
            (["--task", ""], "--task is empty; say what the agent should do"),
            (["--agent", "cluade"], "there is no agent 'cluade'; did you mean claude?"),
            (["--agent", "copilot", "--max-cost", "5"], "--max-cost cannot be enforced"),
            (["--agent-command", "cat", "--max-cost", "5"], "--max-cost cannot be enforced"),
            (["--branch", "a b"], "--branch: 'a b' cannot be the name of a branch"),
            (["--max-time", "soon"], "--max-time: "),
            (["--max-cost", "0"], "--max-cost 0: give a number above 0"),
            (["--advanced"], "--advanced asks questions, but this is not a terminal"),
            (
                ["--completion-phrase", "done"],
                "--completion-phrase: Upper-case letters",
            ),
            (["--timeout", "1m"], "--timeout: An iteration may take from 5 to 60 minutes"),
            (["--timeout", "2m"], "from 5 to 60 minutes"),
            (["--timeout", "soon"], "'soon' is not a duration"),
            (["--max-cost-usd", "-1"], "--max-cost -1: give a number above 0"),
            (["--plan", "../up.md"], "--plan: '../up.md' must be a path inside"),
            (["--agent-prompt", "file"], "--agent-prompt needs --agent-command"),
            (["--agent-command", " "], "--agent-command is empty"),
            (["--agent", "a", "--agent-command", "b"], "not both"),
            (["--template", "x"], "there is no template 'x'\nTemplates: bug-fix, "),
            (["--issue", "issue.md"], "there is no request"),
            (["--issue", "#1", "--profile", "spec"], "--issue is for the profile issue"),
            (["--profile", "waterfall"], "unknown profile 'waterfall'; there is: "),
        ],
    )
    def test_errors_end_it_and_nothing_is_written(
        self, ralph: Ralph, bare: Path, flags: list[str], words: str
    ) -> None:
        said = ralph(bare, "init", *flags)
        assert said.code in {5, 64, 78}
        assert words in said.err
        assert git(bare, "status", "--porcelain") == ""

    def test_programs_can_ask_what_there_is_to_choose(self, ralph: Ralph, bare: Path) -> None:
        found = ralph(bare, "init", "--choices").json
        assert [one["name"] for one in found["profiles"]] == [
            *("fixplan", "spec", "stories", "beads", "issue"),
        ]
        assert [one["needsItems"] for one in found["profiles"]] == [True, True, True, False, False]
        assert found["templates"][0]["id"] == "bug-fix"
        assert git(bare, "status", "--porcelain") == ""


class TestInATerminal:
    def test_two_questions(self, bare: Path, tmp_path: Path) -> None:
        for name in ("claude", "codex"):
            write_agent(tmp_path / "bin", "exit 1", name=name)
        path = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
        with in_terminal(bare, "init", environment=path) as seen:
            seen.wait_for("Agent [1]")
            seen.type("9\n")
            seen.wait_for("type a number from 1 to 3, or a name")
            seen.type("codex\n")
            seen.wait_for("What should the agent do first?")
            seen.type("Fix the login\n")
            seen.wait_for("Write these files?")
            assert git(bare, "status", "--porcelain") == ""
            seen.type("\n")
            assert seen.wait() == 0
            assert seen.text.endswith("Next, start the loop:\n  ralph run\n")
        assert (tasks(bare), config(bare)["agent"]) == ([("Fix the login", "P1")], "codex")
        # All of it is answered: nothing is asked, and nothing is written.
        with in_terminal(bare, "init", environment=path) as seen:
            assert seen.wait() == 0
            assert "Wrote:    nothing; all of it is here" in seen.text

    def test_the_only_agent_is_taken_and_of_several_plans_one_is_chosen(
        self, bare: Path, tmp_path: Path
    ) -> None:
        write_agent(tmp_path / "bin", "exit 1", name="codex")
        for name in ("@fix_plan.md", "IMPLEMENTATION_PLAN.md"):
            (bare / name).write_text("- [ ] one\n", encoding="utf-8")
        path = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
        with in_terminal(bare, "init", environment=path) as seen:
            seen.wait_for("Several plans are here:")
            seen.wait_for("Profile [1]")
            seen.type("fixplan\n")
            seen.wait_for("Write these files?")
            seen.type("\n")
            assert seen.wait() == 0
        assert (config(bare)["profile"], config(bare)["agent"]) == ("fixplan", "codex")

    def test_everything_is_asked_and_wrong_answers_are_asked_again(self, bare: Path) -> None:
        with in_terminal(bare, "init", "--advanced") as seen:
            seen.wait_for("Profile [1]")
            seen.type("\n")
            seen.wait_for("Template (0 for none)")
            seen.type("99\n")
            seen.wait_for("A number from 0 to")
            seen.type("0\n")
            seen.wait_for("What should be done?")
            seen.type("Reset passwords by mail\n\n")
            seen.wait_for("Add: All new code has tests and they pass.?")
            seen.type("y\n")
            seen.wait_for("Plan items, one a line")
            seen.type("\n")
            seen.wait_for("error: No plan item is selected")
            seen.type("P0 Send a mail\nBe quick\n\n")
            seen.wait_for("Completion phrase")
            seen.type("done\n")
            seen.wait_for("error: Upper-case letters")
            seen.type("DONE\n")
            seen.wait_for("Timeout of an iteration")
            seen.type("1m\n")
            seen.wait_for("error: An iteration may take from 5 to 60 minutes")
            seen.type("5m\n")
            seen.wait_for("Write these files?")
            assert git(bare, "status", "--porcelain") == ""
            seen.type("y\n")
            assert seen.wait() == 0
        assert tasks(bare) == [("Send a mail", "P0"), ("Be quick", "P1")]
        assert config(bare) == {
            "profile": "fixplan",
            "timeouts": {"iteration": "5m"},
            "promise": {"complete": "DONE"},
        }
        text = (bare / "specs" / "reset-passwords-by-mail.md").read_text(encoding="utf-8")
        assert "All new code has tests and they pass." in text

    def test_nothing_to_do_gives_an_empty_plan(self, bare: Path) -> None:
        with in_terminal(bare, "init", "--advanced") as seen:
            seen.wait_for("Profile [1]")
            seen.type("\n")
            seen.wait_for("Template (0 for none)")
            seen.type("\n")
            seen.wait_for("(Enter: an empty plan)")
            seen.type("\n")
            seen.wait_for("Write these files?")
            seen.type("y\n")
            assert seen.wait() == 0
        assert tasks(bare) == []
        assert config(bare) == {"profile": "fixplan"}

    def test_a_no_writes_nothing(self, bare: Path) -> None:
        with in_terminal(bare, "init", "--advanced") as seen:
            seen.wait_for("Profile [1]")
            seen.type("\n")
            seen.wait_for("Template (0 for none)")
            seen.type("2\n")
            seen.wait_for("(Enter: keep the template's)")
            seen.type("\n")
            seen.wait_for("Completion phrase")
            seen.type("\n")
            seen.wait_for("Timeout of an iteration")
            seen.type("\n")
            seen.wait_for("Write these files?")
            seen.type("n\n")
            assert seen.wait() == 1
        assert git(bare, "status", "--porcelain") == ""

    def test_the_end_of_the_input_gives_up(self, bare: Path) -> None:
        with in_terminal(bare, "init", "--advanced") as seen:
            seen.wait_for("Profile [1]")
            seen.type("\n")
            seen.wait_for("Template (0 for none)")
            seen.type(CTRL_D)
            assert seen.wait() == 130
        assert git(bare, "status", "--porcelain") == ""

    def test_a_yes_beforehand_asks_nothing(self, bare: Path) -> None:
        with in_terminal(bare, "init", "--yes", "--template", "feature") as seen:
            assert seen.wait() == 0
        assert len(tasks(bare)) == 6
