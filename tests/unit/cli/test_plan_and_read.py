"""``status``, ``plan``, ``read``, ``watch``: what people read and what programs do."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import pytest

from ralph_ls.protocol.task_words import TaskState
from tests.engine.project_builder import ROOT, fork_ralph, start_ralph, wait_for, write_agent
from tests.unit.cli.cli_runner import Ralph
from tests.unit.cli.shell_agents import ASKER, IDLER, WORKER

PLAN = """\
# Plan

## High Priority (P0)
- [x] Done already
- [~] Half done
  - [ ] A part of it
- [ ] Send mail [BLOCKED]
  Blocked by: no key

## Standard (P1)
- [ ] 漢字 [P2]
"""

REPORT = """\
I did it.
error: one thing failed
<promise>DECIDE:Which one?</promise>
---RALPH_STATUS---
STATUS: SLEEPING
FILES_MODIFIED: 2
EXIT_SIGNAL: true
---END_RALPH_STATUS---
All tasks are complete.
"""


class TestPlan:
    def test_outside_a_repository_optional_tasks_are_optional(
        self, ralph: Ralph, tmp_path: Path
    ) -> None:
        (tmp_path / "TODO.md").write_text("# a\n- [ ] b\n## Future\n- [ ] c\n", encoding="utf-8")
        summary = ralph(tmp_path, "plan", "TODO.md").out.splitlines()[0]
        assert summary == "0 of 2 tasks done, 1 optional and open. Next: b"

    def test_text_output_shows_sections_states_and_ids(
        self, ralph: Ralph, repository: Path
    ) -> None:
        (repository / "@fix_plan.md").write_text(PLAN, encoding="utf-8")
        lines = ralph(repository, "plan").out.splitlines()
        assert [line.partition("  [")[0] for line in lines] == [
            "1 of 5 tasks done, 1 blocked. Next: Half done",
            "High Priority (P0)",
            "  ✓ Done already",
            "  ◐ Half done",
            "    ○ A part of it",
            "  ⊘ Send mail",
            "Standard (P1)",
            "  ○ 漢字",
        ]
        assert lines[5].endswith("]  (blocked by: no key)")

    @pytest.mark.parametrize(
        ("text", "summary"),
        [
            ("- [x] a\n- [x] b\n", "All 2 tasks done."),
            ("- [x] a\n", "1 of 1 task done."),
            ("- [x] a\n- [x] b\n- [-] c\n", "All 2 tasks done, 1 skipped."),
            ("- [ ] a\n- [-] c\n", "0 of 1 task done, 1 skipped. Next: a"),
            ("prose\n", "The plan has no tasks."),
            ("- [!] a\n", "0 of 1 task done, 1 blocked. No task is ready."),
            (
                "- [x] a\n- [ ]* b\n",
                "1 of 2 tasks done, 1 optional and open. No required task is left.",
            ),
            ("- [ ] a\n  - Depends on: B-1\n- [ ] B-1: b\n", "0 of 2 tasks done. Next: B-1 b"),
        ],
    )
    def test_the_first_line_is_a_summary(
        self, ralph: Ralph, tmp_path: Path, text: str, summary: str
    ) -> None:
        (tmp_path / "plan.md").write_text(text, encoding="utf-8")
        assert ralph(tmp_path, "plan", "plan.md").out.splitlines()[0] == summary

    @pytest.mark.parametrize(
        ("fields", "summary"),
        [
            ('"passes": false', "0 of 2 tasks done. Next: US-2 b"),
            ('"passes": true', "1 of 2 tasks done. Next: US-1 a"),
            ('"status": "blocked"', "0 of 2 tasks done, 1 blocked. No task is ready."),
        ],
    )
    def test_the_cycle_of_reviews_chooses_the_next_story(
        self, ralph: Ralph, tmp_path: Path, fields: str, summary: str
    ) -> None:
        waits = '{"id": "US-1", "title": "a", "passes": false, "dependsOn": ["US-2"]}'
        text = f'{{"stories": [{waits}, {{"id": "US-2", "title": "b", {fields}}}]}}'
        (tmp_path / "tasks.json").write_text(text, encoding="utf-8")
        assert ralph(tmp_path, "plan", "tasks.json").out.splitlines()[0] == summary

    def test_a_folder_is_read_by_its_path(self, ralph: Ralph, repository: Path) -> None:
        tasks = repository / "backlog/tasks"
        tasks.mkdir(parents=True)
        text = "---\nid: task-1\ntitle: Sweep\nstatus: To Do\n---\n"
        (tasks / "task-1 - Sweep.md").write_text(text, encoding="utf-8")
        for named in ("backlog/tasks", str(tasks)):
            said = ralph(repository, "plan", named).out
            assert said.startswith("0 of 1 task done. Next: Sweep\n")

    def test_programs_get_the_shape_that_is_documented(
        self, ralph: Ralph, repository: Path
    ) -> None:
        (repository / "@fix_plan.md").write_text(PLAN, encoding="utf-8")
        plan = ralph(repository, "plan", "--json").json
        assert set(plan) == {"tasks", "problems"}
        assert all(
            set(task)
            == {"id", "title", "state", "priority", "section", "line", "optional", "blockedBy"}
            | {"criteria"}
            for task in plan["tasks"]
        )
        states = {state.value for state in TaskState}
        assert {task["state"] for task in plan["tasks"]} <= states
        assert [task["line"] for task in plan["tasks"]] == [4, 5, 6, 7, 11]
        assert plan["tasks"][3]["blockedBy"] == "no key"
        assert plan["tasks"][4]["priority"] == "P2"

    def test_problems_are_reported_with_their_line(self, ralph: Ralph, tmp_path: Path) -> None:
        (tmp_path / "plan.md").write_text("# P\n```\nnever closed\n- [ ] a\n", encoding="utf-8")
        problems = ralph(tmp_path, "plan", "plan.md", "--json").json["problems"]
        assert problems
        assert all(set(problem) == {"code", "message", "line"} for problem in problems)
        first = problems[0]
        shown = ralph(tmp_path, "plan", "plan.md").out
        assert f"line {first['line']}: {first['code']}: {first['message']}\n" in shown

    def test_findings_of_the_checks_are_reported_among_the_problems(
        self, ralph: Ralph, repository: Path
    ) -> None:
        (repository / ".ralph").mkdir(exist_ok=True)
        settings = '[gate]\nmarker = "ALL_OVER"\n'
        (repository / ".ralph/config.toml").write_text(settings, encoding="utf-8")
        text = "ALL_OVER\n\n- [&] a\n  - Depends on: US-007\n"
        (repository / "@fix_plan.md").write_text(text, encoding="utf-8")
        problems = ralph(repository, "plan", "--json").json["problems"]
        assert [(problem["line"], problem["code"]) for problem in problems] == [
            (1, "marker-with-open-tasks"),
            (3, "unknown-box"),
            (4, "unknown-dependency"),
        ]
        shown = ralph(repository, "plan").out
        assert f"line 4: unknown-dependency: {problems[2]['message']}\n" in shown

    def test_a_file_is_read_also_outside_a_repository(self, ralph: Ralph, tmp_path: Path) -> None:
        (tmp_path / "any.md").write_text("- [ ] What\n", encoding="utf-8")
        assert ralph(tmp_path, "plan", "any.md").out.startswith(
            "0 of 1 task done. Next: What\n  ○ What  ["
        )

    def test_a_subtask_is_below_its_task_and_an_optional_one_is_marked(
        self, ralph: Ralph, tmp_path: Path
    ) -> None:
        lines = ("- [ ] a", "", "# Work", "- [ ] b", "  - [ ]* c", "", "# Later", "- [ ] d")
        (tmp_path / "any.md").write_text("\n".join(lines), encoding="utf-8")
        shown = re.sub(r"  \[\w+\]", "", ralph(tmp_path, "plan", "any.md").out)
        assert shown.splitlines()[1:7] == [
            *("  ○ a", "Work", "  ○ b", "    ○ c  (optional)", "Later  (optional)", "  ○ d"),
        ]

    def test_the_settings_say_where_it_is_and_what_is_optional(
        self, ralph: Ralph, repository: Path
    ) -> None:
        (repository / ".ralph").mkdir()
        (repository / ".ralph/config.toml").write_text(
            '[paths]\nplan = "todo.md"\n', encoding="utf-8"
        )
        (repository / "todo.md").write_text("- [ ] Mine\n", encoding="utf-8")
        (repository / "below").mkdir()
        assert "○ Mine" in ralph(repository / "below", "plan").out
        (repository / "todo.md").unlink()
        said = ralph(repository, "plan")
        assert said.code == 5
        assert "looked for todo.md; create one: ralph init" in said.err


class TestRead:
    def test_programs_get_the_shape_that_is_documented(self, ralph: Ralph, tmp_path: Path) -> None:
        (tmp_path / "out.txt").write_text(REPORT, encoding="utf-8")
        found = ralph(tmp_path, "read", "out.txt", "--json").json
        problems = found["report"]["problems"]
        assert found == {
            "text": REPORT,
            "report": {
                "kind": "ralphStatus",
                "fields": {"STATUS": "SLEEPING", "FILES_MODIFIED": "2", "EXIT_SIGNAL": "true"},
                "problems": problems,
            },
            "promise": {"kind": "decide", "text": "Which one?"},
            "errors": ["error: one thing failed"],
            "words": {"completion": found["words"]["completion"], "clarification": []},
            "confidence": 50 + 10 * len(found["words"]["completion"]),
            "claims": {
                "hasStatusBlock": True,
                "summary": "",
                "prReady": None,
                "clarificationWords": [],
                "confidence": found["confidence"],
            },
            "limit": None,
            "usage": None,
            "sessionId": None,
            "failed": False,
            "question": None,
            "failure": None,
            "why": None,
            "deniedTools": None,
            "overlooked": [],
            "hint": None,
        }
        assert found["words"]["completion"]
        assert {"unknown-value", "missing-field"} == {problem["code"] for problem in problems}
        assert all(set(problem) == {"code", "message", "field"} for problem in problems)

    def test_text_output_shows_the_same(self, ralph: Ralph, tmp_path: Path) -> None:
        (tmp_path / "out.txt").write_text(REPORT, encoding="utf-8")
        lines = ralph(tmp_path, "read", "out.txt").out.splitlines()
        assert lines[:4] == [
            "Report: ralphStatus",
            "  STATUS: SLEEPING",
            "  FILES_MODIFIED: 2",
            "  EXIT_SIGNAL: true",
        ]
        assert lines[4].startswith("  ! ")
        assert "Promise: decide Which one?" in lines
        assert "Error: error: one thing failed" in lines
        assert "Clarification phrases: none" in lines

    def test_what_claude_prints_is_read_from_its_records(
        self, ralph: Ralph, tmp_path: Path
    ) -> None:
        recorded = str(ROOT / "tests/data/claude/work.jsonl")
        found = json.loads(ralph(tmp_path, "read", recorded, "--agent", "claude", "--json").out)
        assert found["report"]["fields"]["STATUS"] == "IN_PROGRESS"
        assert found["usage"]["costUsd"] > 0
        # Read as plain text its words are inside JSON, where no signal is looked for.
        assert json.loads(ralph(tmp_path, "read", recorded, "--json").out)["report"] is None

    def test_output_without_signals_is_a_reading_too(
        self, ralph: Ralph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for _ in range(2):
            monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff\n")))
            assert ralph(tmp_path, "read", "-", "--agent", "command").out == (
                "Report: none\nCompletion phrases: none\nClarification phrases: none\n"
                "Confidence: 0\n"
                "Not in plain text: "
                "failure, tokens, cost, session, model\n"
            )

    def test_a_profile_has_its_own_block(self, ralph: Ralph, tmp_path: Path) -> None:
        both = REPORT + "---CLARITY_STATUS---\nSTATUS: COMPLETE\n---END_CLARITY_STATUS---\n"
        (tmp_path / "out.txt").write_text(both + REPORT, encoding="utf-8")
        for profile, kind in (("issue", "clarityStatus"), ("fixplan", "ralphStatus")):
            found = ralph(tmp_path, "read", "out.txt", "--profile", profile, "--json").json
            assert found["report"]["kind"] == kind


class TestStatus:
    def test_where_there_was_never_a_run_it_says_so(self, ralph: Ralph, repository: Path) -> None:
        assert ralph(repository, "status").out == (
            f"No run in {repository} yet. Start one: ralph run\n"
        )
        shown = ralph(repository, "status", "--json").json
        assert (shown["run"], shown["workspace"]) == (None, str(repository))
        assert (shown["live"], shown["needsPerson"], shown["state"]) == (False, False, None)

    def test_six_questions_are_answered(
        self, ralph: Ralph, repository: Path, tmp_path: Path
    ) -> None:
        agent = write_agent(tmp_path / "agents", WORKER)
        assert ralph(repository, "run", "--agent-command", agent).code == 0
        lines = ralph(repository, "status").out.splitlines()
        answers = dict(line.split(":", 1) for line in lines)
        assert list(answers) == ["Running", "Doing", "Last change", "Needs you", "Stopped", "Next"]
        assert answers["Doing"].strip() == "nothing now; 2 of 2 tasks are done"
        assert answers["Stopped"].strip().startswith("complete (code 0): ")
        shown = ralph(repository, "status", "--json").json
        assert shown["answers"] == {key: value.strip() for key, value in answers.items()}
        assert (shown["phase"], shown["live"], shown["pid"]) == ("ended", False, None)
        assert shown["needsPerson"] is False
        assert shown["state"]["run"] == shown["run"]
        assert Path(shown["journal"]).is_file()

    def test_it_is_answered_during_a_run(
        self, ralph: Ralph, repository: Path, tmp_path: Path
    ) -> None:
        agent = write_agent(tmp_path / "agents", "read -r line </dev/zero || sleep 600")
        with start_ralph(repository, "run", "3", "--agent-command", agent) as running:
            running.wait_for("agentStarted")
            shown = ralph(repository, "status", "--json").json
            assert (shown["live"], shown["pid"]) == (True, running.pid)
            assert shown["phase"] == "running"
            assert shown["answers"]["Doing"] == "First task"
            assert ralph(repository, "stop", "--now").code == 0
            assert running.wait().exit_code == 130


class TestWatch:
    def test_without_a_run_there_is_nothing_to_watch(self, ralph: Ralph, repository: Path) -> None:
        said = ralph(repository, "watch")
        assert (said.code, said.out) == (5, "")
        assert "start one: ralph run" in said.err

    def test_of_a_run_that_is_over_it_shows_how_it_ended(
        self, ralph: Ralph, repository: Path, tmp_path: Path
    ) -> None:
        agent = write_agent(tmp_path / "agents", ASKER)
        assert ralph(repository, "run", "3", "--agent-command", agent).code == 3
        said = ralph(repository, "watch")
        assert said.code == 0
        assert "▸ Ended: decide: " in said.out
        assert "\nRalph Loop Summary\n" in said.out
        assert "\nNext:        ralph answer " in said.out

    def test_programs_get_every_event_from_the_first_on(
        self, ralph: Ralph, repository: Path, tmp_path: Path
    ) -> None:
        agent = write_agent(tmp_path / "agents", IDLER)
        ran = fork_ralph(repository, "run", "1", "--agent-command", agent, "--json")
        events = ralph(repository, "watch", "--json").events
        assert [event["seq"] for event in events] == list(range(1, len(ran.events) + 1))
        assert [json.loads(line) for line in ran.stdout.splitlines()] == events

    def test_a_run_that_was_killed_is_shown_as_it_is(
        self, ralph: Ralph, repository: Path, tmp_path: Path
    ) -> None:
        agent = write_agent(tmp_path / "agents", "echo begun; sleep 600")
        with start_ralph(repository, "run", "3", "--agent-command", agent) as running:
            wait_for(repository, "agentStarted")
            running.kill()
        said = ralph(repository, "watch")
        assert said.code == 0
        assert "Next:        ralph run --resume\n" in said.out
        assert ralph(repository, "status", "--json").json["phase"] == "crashed"
