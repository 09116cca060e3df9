"""``ralph run`` as it is typed: its lines, its events, its preview, its background."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ralph_ls.protocol.run.events import parse_event
from ralph_ls.store.run.launch import run_arguments
from tests.engine.project_builder import start_ralph, wait_for, write_agent
from tests.unit.cli.cli_runner import Ralph
from tests.unit.cli.shell_agents import ASKER, BLOCKED, IDLER, WORKER


def agent(repository: Path, body: str) -> str:
    return write_agent(repository.parent / "agents", body)


class TestForeground:
    def test_text_output_has_each_event_the_agents_words_and_the_summary(
        self, ralph: Ralph, repository: Path
    ) -> None:
        said = ralph(repository, "run", "--agent-command", agent(repository, WORKER))
        assert (said.code, said.err) == (0, "")
        why = ralph(repository, "status", "--why")
        assert why.out.startswith("Iteration 1: progress: ")
        assert ralph(repository, "status", "--why", "--json").json["why"][0]["start"] == 1
        lines = said.out.splitlines()
        told = [line for line in lines if line.startswith("▸ ")]
        assert told[0].startswith("▸ Run: ")
        assert told[1] == (
            "▸ Profile: fixplan (found by @fix_plan.md)   Agent: command   Plan: @fix_plan.md"
        )
        assert told[2:4] == ["▸ Branch: main", "▸ Pushes: no"]
        assert told[5] == "▸ Sandbox: none"
        assert told[6] == "▸ Limits: at most 20 iterations, 30m an iteration"
        assert "ralph init --profile fixplan" in told[8]
        assert "ralph rollback 1" in told[8]
        begun = "▸ Iteration 1 of 20: First task (0/2 tasks done, mode build, "
        first = next(place for place, line in enumerate(lines) if line.startswith(begun))
        assert lines[first + 1] == "I did the task. 漢字"
        assert "▸ Report: IN_PROGRESS, 2 files, 1 task, tests passing. Go on" in lines
        summary = lines.index("Ralph Loop Summary")
        assert lines[summary : summary + 3] == [
            "Ralph Loop Summary",
            "──────────────────",
            "Exit:        COMPLETE (code 0)",
        ]
        assert "Log:         .ralph/logs/summary.csv" in lines
        assert lines[-3] == "Cost of each finished task:"
        assert lines[-2].startswith("  First task: 1 iteration, ")

    def test_json_output_has_events_alone_and_the_summary_is_beside_them(
        self, ralph: Ralph, repository: Path
    ) -> None:
        said = ralph(repository, "run", "--agent-command", agent(repository, WORKER), "--json")
        assert said.code == 0
        events = [parse_event(line) for line in said.out.splitlines()]
        assert [event.seq for event in events] == list(range(1, len(events) + 1))
        kinds = [str(getattr(event, "kind", "")) for event in events]
        assert (kinds[0], kinds[-1]) == ("runStarted", "runEnded")
        assert all(
            line == json.dumps(json.loads(line), ensure_ascii=False, separators=(",", ":"))
            for line in said.out.splitlines()
        )
        assert said.err.splitlines()[1] == "Ralph Loop Summary"

    @pytest.mark.parametrize(
        ("body", "code", "name", "step"),
        [
            (IDLER, 4, "STUCK (code 4)", "fix the cause, then: ralph run --resume"),
            (ASKER, 3, "DECIDE (code 3)", "ralph answer"),
            (BLOCKED, 2, "BLOCKED (code 2)", "ralph resume"),
            ("exit 3", 5, "FATAL (code 5)", "ralph run --resume"),
        ],
        ids=["stuck", "decide", "blocked", "fatal"],
    )
    def test_every_end_says_what_to_type_next(
        self, ralph: Ralph, repository: Path, body: str, code: int, name: str, step: str
    ) -> None:
        said = ralph(repository, "run", "--agent-command", agent(repository, body))
        assert said.code == code
        lines = said.out.splitlines()
        assert f"Exit:        {name}" in lines
        assert lines[-1].startswith("Next:        ")
        assert step in lines[-1]
        shown = ralph(repository, "status").out
        assert "ralph status" not in shown
        assert shown.splitlines()[-1] == lines[-1]
        assert ("In a row:" in shown) == (code in {4, 5})

    def test_an_agents_last_line_without_an_end_is_no_part_of_ours(
        self, ralph: Ralph, repository: Path
    ) -> None:
        said = ralph(repository, "run", "1", "--agent-command", agent(repository, "printf half"))
        lines = said.out.splitlines()
        assert lines[lines.index("half") + 1].startswith("▸ ")

    def test_a_resumed_run_reports_only_what_is_new(self, ralph: Ralph, repository: Path) -> None:
        command = agent(repository, IDLER)
        assert ralph(repository, "run", "1", "--agent-command", command).code == 1
        said = ralph(repository, "run", "2", "--resume", "--json")
        assert said.code == 1
        assert said.events[0]["kind"] == "runResumed"
        assert [
            event["iteration"] for event in said.events if event["kind"] == "iterationEnded"
        ] == [2]
        words = ralph(repository, "run", "3", "--resume").out
        assert "continues, resumed by ralph run" in words
        assert "Iteration 1 of" not in words

    def test_settings_of_one_run_are_given_by_flags(self, ralph: Ralph, repository: Path) -> None:
        (repository / "other.md").write_text("- [ ] Mine\n- [ ] Theirs\n", encoding="utf-8")
        task = ralph(repository, "plan", "other.md", "--json").json["tasks"][1]["id"]
        said = ralph(
            repository,
            *("run", "--agent-command", agent(repository, IDLER), "--plan", "other.md"),
            *("--task", task, "--max-stuck", "1", "--timeout", "1m30s", "--json"),
        )
        assert said.code == 4
        started = said.events[0]
        assert started["plan"] == "other.md"
        assert started["config"]["timeouts"]["iteration"] == 90.0
        assert started["overrides"]["task"] == task
        (iteration,) = [event for event in said.events if event["kind"] == "iterationStarted"]
        assert iteration["task"]["title"] == "Theirs"


class TestPrompt:
    @pytest.mark.parametrize(
        ("flags", "words", "expected"),
        [
            ([], "cat", "Task: First task"),
            (["--agent-prompt", "argument"], """printf '%s' "$1" """, "Task: First task"),
            (["--agent-prompt", "file"], 'cat "$1"', "Task: First task"),
        ],
        ids=["stdin", "argument", "file"],
    )
    def test_it_reaches_the_agent_as_the_flag_says(
        self, ralph: Ralph, repository: Path, flags: list[str], words: str, expected: str
    ) -> None:
        seen = repository.parent / "prompt"
        command = agent(repository, f"{words} >'{seen}'; echo done")
        assert ralph(repository, "run", "1", "--agent-command", command, *flags).code == 1
        assert expected in seen.read_text(encoding="utf-8")


class TestDryRun:
    def test_text_output_shows_what_would_happen_and_nothing_does(
        self, ralph: Ralph, repository: Path, state_dir: Path
    ) -> None:
        command = agent(repository, "touch ran")
        said = ralph(repository, "run", "7", "--agent-command", f"{command} 'a b'", "--dry-run")
        assert said.code == 0
        lines = said.out.splitlines()
        assert lines[0].startswith("Profile: fixplan (found by @fix_plan.md)   Agent: command   ")
        assert lines[1:5] == [
            "Branch: main",
            "Pushes: no",
            "Sandbox: none",
            "Limits: at most 7 iterations, 30m an iteration",
        ]
        first = lines.index("Plan: @fix_plan.md")
        assert lines[first : first + 3] == [
            "Plan: @fix_plan.md",
            "Task: First task",
            f"Agent: {command} 'a b'",
        ]
        assert "  max_iterations = 7  # flag\n" in said.out
        assert "You are one iteration of a loop: iteration 1 of 7." in said.out
        assert not (repository / "ran").exists()
        assert not state_dir.exists()
        assert not (repository / ".git" / "ralph.json").exists()
        assert not (repository / ".ralph").exists()

    def test_programs_get_the_same(self, ralph: Ralph, repository: Path) -> None:
        shown = ralph(repository, "run", "--agent", "demo", "--dry-run", "--json").json
        told = {"argv", "mode", "task", "plan", "prompt", "template", "instead", "settings"}
        assert set(shown) == {*told, "agent", "model", "notAllowed", "branch", "choices"}
        choices = {key: value for key, value in shown["choices"].items() if value is not None}
        assert (shown["branch"], choices) == (
            "main",
            {"profile": "found", "sign": "@fix_plan.md", "agent": "given", "sandbox": "none"},
        )
        assert (shown["agent"], shown["model"]) == ("demo", None)
        assert (shown["template"], shown["instead"]) == (None, None)
        assert (shown["task"], shown["plan"]) == ("First task", "@fix_plan.md")
        assert shown["notAllowed"] == []
        assert shown["settings"]["maxIterations"] == 20

    def test_a_plan_that_is_done_has_no_task(self, ralph: Ralph, repository: Path) -> None:
        (repository / "@fix_plan.md").write_text("- [x] a\n", encoding="utf-8")
        said = ralph(repository, "run", "--agent", "demo", "--dry-run")
        assert "Task: none is open" in said.out
        assert "No required task is open" in said.out or "has no open required task" in said.out

    def test_it_looks_also_during_a_run(self, ralph: Ralph, repository: Path) -> None:
        command = agent(repository, "echo begun; sleep 600")
        with start_ralph(repository, "run", "3", "--agent-command", command) as running:
            running.wait_for("agentStarted")
            assert ralph(repository, "run", "--agent", "demo", "--dry-run").code == 0
            busy = ralph(repository, "run", "--agent", "demo")
            assert busy.code == 5
            assert f"another engine (pid {running.pid}) owns this work tree" in busy.err
            assert ralph(repository, "stop", "--now").code == 0
            running.wait()


class TestBackground:
    @pytest.mark.slow
    @pytest.mark.usefixtures("forked_engines")
    def test_it_says_the_run_and_how_to_look_at_it(self, ralph: Ralph, repository: Path) -> None:
        command = agent(repository, IDLER)
        said = ralph(repository, "run", "1", "--agent-command", command, "--detach")
        assert (said.code, said.err) == (0, "")
        first, *header, last = said.out.splitlines()
        assert first.startswith("Run ")
        assert "is running in the background (pid " in first
        assert "Limits: at most 1 iteration, 30m an iteration" in header
        assert last.startswith("Watch: ralph watch")
        wait_for(repository, "runEnded", exit_code=1)
        started = ralph(repository, "run", "1", "--agent-command", command, "--detach", "--json")
        assert set(started.json) == {"run", "pid"}
        ended = wait_for(repository, "runEnded", exit_code=1)
        assert ended.run in {started.json["run"], first.split()[1]}
        ralph(repository, "watch")

    @pytest.mark.parametrize(
        ("overrides", "arguments"),
        [
            ({}, ["run"]),
            ({"max_iterations": 5, "agent": "demo"}, ["run", "5", "--agent", "demo"]),
            (
                {
                    "profile": "fixplan",
                    "paths.plan": "a b.md",
                    "task": "T-1",
                    "max_stuck": 2,
                    "timeouts.iteration": 90.0,
                    "on_halt": "wait",
                },
                [
                    *("run", "--profile", "fixplan", "--plan", "a b.md", "--task", "T-1"),
                    *("--max-stuck", "2", "--timeout", "90.0", "--on-halt", "wait"),
                ],
            ),
            ({"skip_review": True}, ["run", "--skip-review"]),
            (
                {
                    "max_duration": 5400.0,
                    "max_cost_usd": 2.5,
                    "max_tokens": 1000,
                    "allow_unmetered": True,
                },
                [
                    *("run", "--allow-unmetered", "--max-time", "5400.0"),
                    *("--max-cost", "2.5", "--max-tokens", "1000"),
                ],
            ),
            (
                {
                    "agent": "command",
                    "agents.command": {"argv": ["./a b", "it's"], "prompt": "file"},
                },
                ["run", "--agent-command", """'./a b' 'it'"'"'s'""", "--agent-prompt", "file"],
            ),
        ],
        ids=["none", "agent", "all", "skip-review", "budgets", "command"],
    )
    def test_its_process_gets_the_same_flags(
        self, overrides: dict[str, object], arguments: list[str]
    ) -> None:
        assert run_arguments(overrides) == arguments


def test_a_run_started_below_works_in_the_whole_tree(ralph: Ralph, repository: Path) -> None:
    (repository / "below").mkdir()
    seen = repository.parent / "folder"
    command = agent(repository, f"pwd >'{seen}'; echo done")
    assert ralph(repository / "below", "run", "1", "--agent-command", command).code == 1
    assert seen.read_text(encoding="utf-8") == f"{os.path.realpath(repository)}\n"
