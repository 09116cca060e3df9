"""``ralph doctor``: what it finds where something is wrong, and that it leaves all as it was."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from tests.engine.project_builder import (
    end_marked,
    git,
    make_repository,
    start_ralph,
    worktree_of,
    write_agent,
)
from tests.fakes.bd import install, seed
from tests.unit.cli.cli_runner import Ralph, Said
from tests.unit.cli.shell_agents import ASKER, BLOCKED, IDLER

VAGUE = "- [ ] it works correctly"


def checks(said: Said) -> dict[str, dict[str, Any]]:
    """What was found, by code; of two with one code, the last."""
    return {check["code"]: check for check in said.json["checks"]}


def statuses(said: Said) -> dict[str, str]:
    """The status of all that is not well."""
    return {code: one["status"] for code, one in checks(said).items() if one["status"] != "ok"}


def everything_below(*folders: Path) -> dict[str, tuple[int, int]]:
    """Each file's time and size, to see whether anything was touched."""
    files = (path for folder in folders for path in folder.rglob("*"))
    seen = ((path, path.lstat()) for path in files)
    return {str(path): (stats.st_mtime_ns, stats.st_size) for path, stats in seen}


@pytest.fixture
def well(repository: Path) -> Path:
    """The repository on a separate branch."""
    git(repository, "switch", "-q", "-c", "letters")
    return repository


def settings(repository: Path, text: str) -> None:
    path = repository / ".ralph" / "config.toml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "Settings")


class TestWell:
    def test_all_is_well_and_nothing_is_touched(
        self, ralph: Ralph, well: Path, tmp_path: Path
    ) -> None:
        agent = write_agent(tmp_path / "bin", IDLER)
        before = everything_below(tmp_path)
        said = ralph(well, "doctor", "--agent-command", agent)
        assert (said.code, said.err) == (0, "")
        lines = said.out.splitlines()
        assert lines[-1] == "All is well"
        assert "✓ plan             @fix_plan.md: 0 of 2 required tasks done" in lines
        assert "✓ last-run         no run here yet" in lines
        assert everything_below(tmp_path) == before

    def test_programs_get_one_document(self, ralph: Ralph, well: Path, tmp_path: Path) -> None:
        agent = write_agent(tmp_path / "bin", IDLER)
        said = ralph(well, "doctor", "--json", "--agent-command", agent)
        assert said.code == 0
        assert {"ok": True, "workspace": str(well)}.items() <= said.json.items()
        for check in said.json["checks"]:
            assert set(check) == {"code", "status", "message"}
        assert list(checks(said)) == [
            *("python", "git", "repository", "state-folder", "disk", "branch", "settings"),
            *("agent", "bubblewrap", "allowed", "validation", "plan", "agents", "last-run"),
        ]

    def test_variables_of_other_loops_are_listed(
        self, ralph: Ralph, well: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        agent = write_agent(tmp_path / "bin", IDLER)
        monkeypatch.setenv("RALPH_LANE", "1")
        monkeypatch.setenv("RALPH_LOOP_DIR", "x")
        said = ralph(well, "doctor", "--json", "--agent-command", agent)
        assert (said.code, statuses(said)) == (0, {})
        listed = "unknown environment variables are ignored: RALPH_LANE, RALPH_LOOP_DIR"
        assert checks(said)["variables"]["message"] == listed
        monkeypatch.setenv("RALPH_AGNT", "demo")
        said = ralph(well, "doctor", "--json")
        assert "did you mean RALPH_AGENT?" in checks(said)["settings"]["remedy"]

    def test_the_state_of_earlier_runs_is_well(
        self, ralph: Ralph, well: Path, tmp_path: Path
    ) -> None:
        agent = write_agent(tmp_path / "bin", IDLER)
        assert ralph(well, "run", "1", "--agent-command", agent).code == 1
        said = ralph(well, "doctor", "--json", "--agent-command", agent)
        assert (said.code, statuses(said)) == (0, {})
        assert said.json["run"] in checks(said)["last-run"]["message"]
        state = Path(checks(said)["state-folder"]["message"])
        state.chmod(0o755)
        opened = checks(ralph(well, "doctor", "--json"))["state-folder"]
        assert (opened["status"], opened["remedy"]) == (
            "warning",
            f"restrict it: chmod 700 {state}",
        )
        assert stat.S_IMODE(state.stat().st_mode) == 0o755


class TestPlace:
    def test_no_repository(self, ralph: Ralph, tmp_path: Path) -> None:
        said = ralph(tmp_path, "doctor", "--json")
        assert said.code == 1
        assert "workspace" not in said.json
        assert checks(said)["repository"]["remedy"].endswith("create one with git init")

    def test_settings_that_cannot_be_read(self, ralph: Ralph, well: Path) -> None:
        settings(well, 'profile = "fixplam"\n')
        said = ralph(well, "doctor", "--json")
        assert (said.code, statuses(said)) == (1, {"settings": "problem"})
        assert "config.toml" in checks(said)["settings"]["message"]

    def test_several_plans(self, ralph: Ralph, well: Path) -> None:
        (well / "IMPLEMENTATION_PLAN.md").write_text("- [ ] a\n", encoding="utf-8")
        said = ralph(well, "doctor", "--json", "--agent", "demo")
        assert statuses(said) == {"settings": "problem", "dirty-tree": "warning"}
        one = ralph(well, "doctor", "--json", "--agent", "demo", "--profile", "fixplan")
        assert statuses(one) == {"dirty-tree": "warning"}
        assert ralph(well, "doctor", "--profile", "fixplam").code == 64

    def test_a_detached_head_where_the_loop_pushes(self, ralph: Ralph, well: Path) -> None:
        settings(well, 'commits = "loop"\npush = true\nagent = "demo"\n')
        assert statuses(ralph(well, "doctor", "--json")) == {"push-skipped": "warning"}
        git(well, "switch", "-q", "--detach")
        said = ralph(well, "doctor", "--json")
        assert statuses(said) == {"detached-head": "warning", "push": "problem"}

    def test_nobody_to_commit_as(
        self, ralph: Ralph, well: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        git(well, "config", "user.useConfigOnly", "true")
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
        for name in ("AUTHOR", "COMMITTER"):
            monkeypatch.delenv(f"GIT_{name}_NAME", raising=False)
            monkeypatch.delenv(f"GIT_{name}_EMAIL", raising=False)
        assert statuses(ralph(well, "doctor", "--json", "--agent", "demo")) == {
            "git-identity": "warning"
        }
        (well / ".ralph").mkdir()
        (well / ".ralph" / "config.toml").write_text('commits = "loop"\n', encoding="utf-8")
        found = statuses(ralph(well, "doctor", "--json", "--agent", "demo"))
        assert found["git-identity"] == "problem"

    def test_an_agent_that_cannot_see_who_commits(
        self, ralph: Ralph, well: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_agent(tmp_path / "bin", IDLER, name="gemini")
        monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path / "bin"), os.environ["PATH"]]))
        git(well, "config", "--local", "user.email", "ada@example.com")
        assert statuses(ralph(well, "doctor", "--json", "--agent", "gemini")) == {}
        git(well, "config", "--local", "--unset", "user.email")
        own = tmp_path / "own.gitconfig"
        own.write_text("[user]\nname = Ada\nemail = ada@example.com\n", encoding="utf-8")
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(own))
        said = ralph(well, "doctor", "--json", "--agent", "gemini")
        assert statuses(said) == {"git-identity": "warning"}
        assert "the agent gemini hides your git settings" in checks(said)["git-identity"]["message"]
        assert statuses(ralph(well, "doctor", "--json", "--agent", "demo")) == {}

    def test_another_program_of_this_name(
        self, ralph: Ralph, well: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        write_agent(tmp_path / "other", "exit 9", name="ralph")
        monkeypatch.setenv("PATH", os.pathsep.join([str(tmp_path / "other"), os.environ["PATH"]]))
        said = ralph(well, "doctor", "--json", "--agent", "demo")
        assert str(tmp_path / "other" / "ralph") in checks(said)["other-ralph"]["message"]

    def test_the_remote_is_asked_only_when_wanted(
        self, ralph: Ralph, well: Path, tmp_path: Path
    ) -> None:
        def asked() -> dict[str, Any]:
            said = ralph(well, "doctor", "--json", "--agent", "demo", "--network")
            found: dict[str, Any] = checks(said)["remote"]
            return found

        assert asked()["message"] == "there is no remote to check"
        git(tmp_path, "init", "-q", "--bare", str(tmp_path / "remote.git"))
        git(well, "remote", "add", "origin", str(tmp_path / "remote.git"))
        assert asked()["message"] == "origin answers"
        git(well, "remote", "set-url", "origin", "https://ada:secret-word@127.0.0.1:1/x.git")
        refused = asked()
        assert refused["status"] == "problem"
        assert "origin refused: " in refused["message"]
        assert "secret-word" not in json.dumps(refused)
        assert "remote" not in checks(ralph(well, "doctor", "--json", "--agent", "demo"))


class TestStart:
    def test_what_a_start_would_refuse(self, ralph: Ralph, well: Path) -> None:
        script = well / ".ralph" / "validate.sh"
        script.parent.mkdir()
        script.write_text("exit 0\n", encoding="utf-8")
        settings(well, 'agent = "mine"\n[agents.mine]\nargv = ["./agent.sh"]\n')
        said = ralph(well, "doctor", "--json")
        assert (said.code, statuses(said)) == (
            1,
            {"agent": "problem", "allowed": "problem", "validation": "warning"},
        )
        found = checks(said)
        assert "agents.mine, " in found["allowed"]["message"] + ", "
        assert found["agent"]["message"].endswith("agent.sh does not exist")
        script.chmod(0o755)
        assert ralph(well, "allow", "--yes").code == 0
        (well / "agent.sh").write_text("#!/bin/sh\n", encoding="utf-8")
        (well / "agent.sh").chmod(0o755)
        # The agent's file was not there when its command was allowed.
        assert statuses(ralph(well, "doctor", "--json")) == {
            "allowed": "problem",
            "dirty-tree": "warning",
        }

    def test_a_plan_that_is_missing_and_specifications_that_are_none(
        self, ralph: Ralph, well: Path
    ) -> None:
        git(well, "rm", "-q", "@fix_plan.md")
        git(well, "commit", "-q", "-m", "No plan")
        said = ralph(well, "doctor", "--json", "--agent", "demo")
        assert statuses(said) == {"plan": "problem"}
        (well / "specs").write_text("no folder\n", encoding="utf-8")
        as_spec = ralph(well, "doctor", "--json", "--agent", "demo", "--profile", "spec")
        assert "cannot be read" in checks(as_spec)["plan"]["message"]
        (well / "specs").unlink()
        (well / "specs").mkdir()
        (well / "specs" / "letter.md").write_text("# Letter\nWrite it\n", encoding="utf-8")
        first = ralph(well, "doctor", "--json", "--agent", "demo", "--profile", "spec")
        assert checks(first)["plan"]["message"] == (
            "IMPLEMENTATION_PLAN.md does not exist yet; the first run creates it"
        )

    @pytest.mark.parametrize(
        ("text", "status", "words"),
        [
            ("", "warning", "no request is set"),
            ('[issue]\nfile = "-"\n', "ok", "the request comes from standard input"),
            ('[issue]\nfile = "issue.md"\n', "problem", "the request issue.md does not exist"),
            ('[issue]\nfile = "@fix_plan.md"\n', "ok", "the request is @fix_plan.md"),
            ('[issue]\ngithub = "a/b#12"\n', "problem", "read with gh, which was not found"),
        ],
    )
    def test_a_request(
        self,
        ralph: Ralph,
        well: Path,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        text: str,
        status: str,
        words: str,
    ) -> None:
        settings(well, f'profile = "issue"\nagent = "demo"\n{text}')
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin" / "git").symlink_to(os.path.realpath("/usr/bin/git"))
        monkeypatch.setenv("PATH", str(tmp_path / "bin"))
        plan = checks(ralph(well, "doctor", "--json"))["plan"]
        assert plan["status"] == status
        assert words in plan["message"]

    def test_files_that_wait_for_the_user(self, ralph: Ralph, well: Path, tmp_path: Path) -> None:
        asker = write_agent(tmp_path / "bin", ASKER)
        assert ralph(well, "run", "1", "--agent-command", asker).code == 3
        said = ralph(well, "doctor", "--json", "--agent", "demo")
        found = statuses(said)
        assert found["question"] == "problem"
        assert "Which database?" in checks(said)["question"]["message"]
        (well / ".ralph" / "decide.txt").unlink()
        blocked = write_agent(tmp_path / "bin", BLOCKED, name="blocked")
        assert ralph(well, "run", "1", "--agent-command", blocked).code == 2
        said = ralph(well, "doctor", "--json", "--agent", "demo")
        assert statuses(said)["blocked"] == "problem"
        assert "no key for the mail service" in checks(said)["blocked"]["message"]

    def test_what_an_older_loop_left(self, ralph: Ralph, well: Path, tmp_path: Path) -> None:
        (well / ".ralph-attempts").write_text("bd-1:3\n", encoding="utf-8")
        said = ralph(well, "doctor", "--json", "--agent", "demo")
        old = checks(said)["legacy-attempts"]
        assert old["remedy"] == "you can safely delete .ralph-attempts"
        assert f"{tmp_path}" in old["message"]
        # A start reports the same, and what an old marker is worth.
        (well / "IMPLEMENTATION_PLAN.md").write_text(
            "# Implementation Plan\n\n- [ ] Write\n\nPROJECT_COMPLETE\n", encoding="utf-8"
        )
        agent = write_agent(tmp_path / "bin", IDLER)
        flags = ("--profile", "spec", "--no-push", "--agent-command", agent)
        words = ralph(well, "run", "1", *flags).out
        assert "contains .ralph-attempts, a file of an older loop" in words
        assert "; you can safely delete .ralph-attempts" in words
        assert (
            "Warning (marker-at-start): IMPLEMENTATION_PLAN.md contained PROJECT_COMPLETE "
            "before the run began, with 1 required task open;"
        ) in words


class TestIssues:
    def test_what_keeps_issues_from_being_closed(
        self, ralph: Ralph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        install(tmp_path / "bd-bin")
        path = os.pathsep.join([str(tmp_path / "bd-bin"), os.environ["PATH"]])
        files = {".ralph/config.toml": 'profile = "beads"\nagent = "demo"\n'}
        root = make_repository(tmp_path / "issues", files=files)
        git(root, "switch", "-q", "-c", "letters")
        seed(
            root,
            {"id": "bd-1", "title": "One", "acceptance_criteria": VAGUE, "needs": ["bd-2"]},
            {"id": "bd-2", "title": "Two", "needs": ["bd-1"]},
            {"id": "bd-3", "title": "Three", "status": "closed", "close_reason": "Closed"},
        )
        (root / ".git" / "info" / "exclude").write_text("/.beads/\n", encoding="utf-8")
        without = checks(ralph(root, "doctor", "--json"))["plan"]
        assert without["status"] == "problem"
        monkeypatch.setenv("PATH", path)
        issues = (root / ".beads" / "fake.json").read_bytes()
        found = checks(ralph(root, "doctor", "--json"))
        assert found["criteria-vague"]["message"].endswith(": bd-1")
        assert found["criteria-missing"]["message"].endswith(": bd-2")
        assert found["close-without-evidence"]["message"].endswith(": bd-3")
        assert found["dependency-cycle"]["status"] == "warning"
        assert found["everything-blocked"]["status"] == "problem"
        assert (root / ".beads" / "fake.json").read_bytes() == issues


class TestLocks:
    def test_a_lock_of_git_is_named_with_what_removes_it(self, ralph: Ralph, well: Path) -> None:
        lock = well / ".git" / "index.lock"
        lock.touch()
        said = ralph(well, "doctor", "--json", "--agent", "demo")
        assert statuses(said) == {"git-locked": "warning"}
        found = checks(said)["git-locked"]
        assert f"{lock} (there for " in found["message"]
        assert found["remedy"].endswith(f"if nothing needs it: rm {lock}")
        lock.unlink()
        assert statuses(ralph(well, "doctor", "--json", "--agent", "demo")) == {}


class TestLastRun:
    def test_an_engine_that_was_killed_and_what_its_agent_left(
        self, ralph: Ralph, well: Path, tmp_path: Path
    ) -> None:
        os.mkfifo(tmp_path / "never")
        agent = write_agent(tmp_path / "bin", f'read -r _ <"{tmp_path / "never"}"')
        with start_ralph(well, "run", "3", "--agent-command", agent) as running:
            running.wait_for("agentStarted")
            live = checks(ralph(well, "doctor", "--json", "--agent", "demo"))
            assert f"(pid {running.pid})" in live["engine"]["message"]
            assert "orphans" not in live
            running.kill()
            dead = ralph(well, "doctor", "--json", "--agent", "demo")
            assert statuses(dead) == {"engine": "problem", "orphans": "problem"}
            assert checks(dead)["engine"]["remedy"] == "resume it: ralph run --resume"
            end_marked(well)
        assert worktree_of(well).root == well

    def test_what_it_ran_into(self, ralph: Ralph, well: Path, tmp_path: Path) -> None:
        body = """date +%N >>work; git add -A; git commit -qm Work
echo ---RALPH_STATUS---
echo STATUS: IN_PROGRESS
echo TESTS_STATUS: FAILING
echo ---END_RALPH_STATUS---"""
        agent = write_agent(tmp_path / "bin", body)
        assert ralph(well, "run", "3", "--agent-command", agent).code == 1
        said = ralph(well, "doctor", "--agent", "demo")
        assert said.code == 0
        told = [line.split()[1] for line in said.out.splitlines() if line.startswith("! ")]
        assert told == ["same-task", "nothing-finished", "tests-failing"]
        assert said.out.splitlines()[-1] == "0 problems, 3 warnings: a run can start"
