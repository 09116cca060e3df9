"""``ralph prompt``: the prompt of the next agent, to the byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.project_builder import start_ralph, write_agent
from tests.unit.cli.cli_runner import Ralph

PLAN = "@fix_plan.md"


def agent(repository: Path, body: str) -> str:
    return write_agent(repository.parent, body)


class TestNewRun:
    def test_it_is_to_the_byte_what_the_agent_gets(self, ralph: Ralph, repository: Path) -> None:
        (repository / ".ralph").mkdir()
        (repository / ".ralph/decide.txt").write_text(
            "## Question (from iteration 7, 2026-01-31T12:00:00Z)\nTabs?\n\n---\n## Answer\nYes.\n",
            encoding="utf-8",
        )
        # The command that replaces the agent is offered no tools.
        (repository / ".ralph/config.toml").write_text('mcp = "off"\n', encoding="utf-8")
        assert ralph(repository, "note", "mind the \u00e9").code == 0
        said = ralph(repository, "prompt")
        assert (said.code, said.err) == (0, "")
        for part in ("Task: First task", "> Tabs?", "> Yes.", "> mind the \u00e9", "1 of 20"):
            assert part in said.out
        seen = repository.parent / "prompt"
        command = agent(repository, f"cat >'{seen}'; echo done")
        assert ralph(repository, "run", "1", "--agent-command", command).code == 1
        got = seen.read_text(encoding="utf-8")
        assert got == said.out.replace("iteration 1 of 20", "iteration 1 of 1")

    def test_it_does_nothing(self, ralph: Ralph, repository: Path, state_dir: Path) -> None:
        assert ralph(repository, "prompt").code == 0
        assert not state_dir.exists()
        assert not (repository / ".git/ralph.json").exists()
        assert not (repository / ".ralph").exists()

    def test_programs_get_what_it_is_made_of(self, ralph: Ralph, repository: Path) -> None:
        shown = ralph(repository, "prompt", "--json").json
        assert shown.pop("prompt") == ralph(repository, "prompt").out
        assert isinstance(shown.pop("taskId"), str)
        assert shown == {
            "instead": None,
            "iteration": 1,
            "mode": "build",
            "task": "First task",
            "source": "built-in",
            "template": None,
            "notAllowed": [],
        }

    def test_one_task_can_be_named(self, ralph: Ralph, repository: Path) -> None:
        tasks = ralph(repository, "plan", "--json").json["tasks"]
        said = ralph(repository, "prompt", "--task", tasks[1]["id"])
        assert "Task: Second task\n" in said.out

    def test_a_mode_can_be_named(self, ralph: Ralph, repository: Path) -> None:
        said = ralph(repository, "prompt", "--mode", "plan")
        assert "This iteration plans" in said.out
        for name in ("build", "implement"):
            assert "Task: First task" in ralph(repository, "prompt", "--mode", name).out

    @pytest.mark.parametrize(
        ("flags", "code", "message"),
        [
            (["--mode", "think"], 64, "unknown mode 'think'; there is: build, plan, review"),
            (["--mode", "review"], 78, "the profile fixplan has no review iterations; it has"),
            (["--resume"], 64, "there is no run to resume here"),
            (["--task", "none"], 64, "none"),
        ],
    )
    def test_what_cannot_be_is_reported(
        self, ralph: Ralph, repository: Path, flags: list[str], code: int, message: str
    ) -> None:
        said = ralph(repository, "prompt", *flags)
        assert (said.code, said.out) == (code, "")
        assert message in said.err

    def test_where_no_agent_would_be_started_it_says_why(
        self, ralph: Ralph, repository: Path
    ) -> None:
        (repository / ".ralph").mkdir()
        (repository / ".ralph/blocked.txt").write_text("no key\n", encoding="utf-8")
        said = ralph(repository, "prompt")
        assert (said.code, said.out) == (0, "")
        assert "no agent would start: still blocked: no key" in said.err
        shown = ralph(repository, "prompt", "--json").json
        assert (shown["prompt"], shown["instead"]) == ("", "still blocked: no key")
        looked = ralph(repository, "run", "--agent", "demo", "--dry-run").out
        assert "No agent would be started: still blocked: no key" in looked


class TestOtherRuns:
    def test_a_resumed_run_repeats_what_the_last_iteration_recommends(
        self, ralph: Ralph, repository: Path
    ) -> None:
        report = "printf '%s\\n' ---RALPH_STATUS--- 'STATUS: IN_PROGRESS' "
        report += "'RECOMMENDATION: look at the stamps' ---END_RALPH_STATUS---"
        command = agent(repository, f"cat >/dev/null; date >>x; {report}")
        config = repository / ".ralph/config.toml"
        config.parent.mkdir()
        config.write_text("max_iterations = 1\n", encoding="utf-8")
        assert ralph(repository, "run", "--agent-command", command).code == 1
        assert "stamps" not in ralph(repository, "prompt").out
        over = ralph(repository, "prompt", "--resume")
        assert over.out == ""
        assert "no agent would start: this run already reached the 1-iteration limit" in over.err
        config.write_text("max_iterations = 2\n", encoding="utf-8")
        said = ralph(repository, "prompt", "--resume")
        assert "## The last iteration recommends\n\n> look at the stamps\n" in said.out
        assert "iteration 2 of 2" in said.out

    def test_of_a_living_run_it_is_the_one_after_this(self, ralph: Ralph, repository: Path) -> None:
        command = agent(repository, "echo begun; sleep 600")
        with start_ralph(repository, "run", "3", "--agent-command", command) as running:
            running.wait_for("agentStarted")
            assert ralph(repository, "note", "later").code == 0
            shown = ralph(repository, "prompt", "--json").json
            assert shown["iteration"] == 2
            assert "> later" in shown["prompt"]
            assert "iteration 2 of 3" in shown["prompt"]
            assert ralph(repository, "stop", "--now").code == 0
            running.wait()


class TestTemplates:
    def test_the_repositorys_own_has_to_be_allowed_and_wins(
        self, ralph: Ralph, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("RALPH_PROMPTS_DIR", str(tmp_path))
        mine = tmp_path / "PROMPT_build.md"
        mine.write_text("Mine: {{TASK}}\n\n{{> report}}\n", encoding="utf-8")
        said = ralph(repository, "prompt")
        assert said.out.startswith("Mine: Task: First task\n\n### Report by tool")
        assert ralph(repository, "prompt", "--json").json["source"] == "user"
        ours = repository / ".ralph/prompts/PROMPT_build.md"
        ours.parent.mkdir(parents=True)
        ours.write_text("Ours: {{TASK}}\n", encoding="utf-8")
        said = ralph(repository, "prompt")
        assert said.out == "Ours: Task: First task\n"
        told = f"the prompt comes from .ralph/prompts/PROMPT_build.md, not from {mine}"
        assert told in said.err
        assert ".ralph/prompts/PROMPT_build.md is not approved yet" in said.err
        looked = ralph(repository, "run", "--agent", "demo", "--dry-run").out
        assert "Template: .ralph/prompts/PROMPT_build.md\n" in looked
        assert told in looked
        command = agent(repository, "cat >/dev/null; echo done")
        refused = ralph(repository, "run", "1", "--agent-command", command)
        assert (refused.code, "PROMPT_build.md" in refused.err) == (78, True)
        assert ralph(repository, "allow", "--yes").code == 0
        ran = ralph(repository, "run", "1", "--json", "--agent-command", command)
        warned = {one["code"]: one["message"] for one in ran.events if one["kind"] == "warned"}
        assert warned["prompt-passed-over"] == told

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("a\n{{TASKS}}\n", "unknown placeholder {{TASKS}} in line 2; known are ANSWER"),
            ("{{> reports}}\n", "unknown piece {{> reports}} in line 1; known are "),
        ],
    )
    def test_what_is_unknown_in_one_is_an_error_with_file_and_line(
        self,
        ralph: Ralph,
        repository: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        text: str,
        message: str,
    ) -> None:
        monkeypatch.setenv("RALPH_PROMPTS_DIR", str(tmp_path))
        mine = tmp_path / "PROMPT_build.md"
        mine.write_text(text, encoding="utf-8")
        said = ralph(repository, "prompt")
        assert (said.code, said.out) == (78, "")
        assert f"{mine}: {message}" in said.err

    def test_a_run_uses_the_users_own_without_asking(
        self, ralph: Ralph, repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("RALPH_PROMPTS_DIR", str(tmp_path))
        (tmp_path / "PROMPT_build.md").write_text("Mine: {{TASK}}\n", encoding="utf-8")
        seen = repository.parent / "prompt"
        command = agent(repository, f"cat >'{seen}'; echo done")
        assert ralph(repository, "run", "1", "--agent-command", command).code == 1
        assert seen.read_text(encoding="utf-8") == "Mine: Task: First task\n"
