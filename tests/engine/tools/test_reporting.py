"""Agents that report by tool, in real runs: what counts, what does not, and who waits for whom."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.engine.project_builder import Completed, Running
from tests.engine.ralph_runner import Project, told, warnings

pytestmark = pytest.mark.slow

AGENT = Path(__file__).with_name("reporting_agent.py")

STATUS = ["report_status", {"status": "IN_PROGRESS", "testsStatus": "PASSING"}]
COMPLETE = ["report_status", {"status": "COMPLETE", "exitSignal": True}]
ASK = ["ask_decision", {"question": "Red or blue?", "options": ["red", "blue"]}]
WORK = ["sh", "echo a >>work.txt; git add -A; git commit -qm Work"]
SAYS_COMPLETE = ["say", "All tasks are complete.\n\n<promise>COMPLETE</promise>\n"]
BLOCK = "---RALPH_STATUS---\nSTATUS: COMPLETE\nEXIT_SIGNAL: true\n---END_RALPH_STATUS---"


def reporting(project: Project, *starts: list[Any], settings: str = "") -> Project:
    """The agent makes these calls, in one start after the other; the last ones again and again."""
    if not project.repository.exists():
        project.plan(files={".ralph/config.toml": settings} if settings else None)
    for number, calls in enumerate(starts, 1):
        (project.kept / f"calls-{number}.json").write_text(json.dumps(calls), encoding="utf-8")
    command = shlex.join([sys.executable, "-I", str(AGENT)])
    project.agent(
        f'n=$RALPH_START; [ "$n" -le {len(starts)} ] || n={len(starts)}\n'
        f'exec {command} "$kept/calls-$n.json" <"$kept/prompt-$RALPH_START"'
    )
    return project


def results(project: Project, start: int = 1) -> list[tuple[str, bool | None, str]]:
    """What the agent got for its calls."""
    printed = (project.run_folder() / f"iteration-{start:03}.out").read_text(encoding="utf-8")
    lines = [json.loads(line) for line in printed.splitlines() if line.startswith("[")]
    return [(name, failed, text) for name, failed, text in lines]


def end_of(done: Completed) -> tuple[str, int | None]:
    (ended,) = told(done, "runEnded")
    return ended.reason.value, done.exit_code


class TestReports:
    def test_all_tools_in_one_run(self, project: Project) -> None:
        project.plan("First\n  Acceptance criteria:\n  - tested\n  - documented", "Second")
        evidence = [{"criterion": n, "evidence": "make test: 3 passed"} for n in (1, 2)]
        calls = [
            *(["get_task", {}], ["get_plan", {}]),
            *(["complete_task", {}], ["complete_task", {"evidence": evidence}]),
            *(["add_task", {"title": "Third"}], ["note_discovery", {"text": "the cache is old"}]),
            *(["remember", {"text": "make db first"}], ["report_status", {"status": "DONE"}]),
            *(["complete_task", {"task": "Fifth"}], ["nonsense", {}], WORK, STATUS),
        ]
        done = reporting(project, calls).run("2")
        assert end_of(done) == ("limit", 1)
        found = results(project)
        plan = project.file("@fix_plan.md").read_text(encoding="utf-8")
        assert "- [x] First" in plan
        assert "- [ ] Third" in plan
        failed = {f"{name}: {text}" for name, is_error, text in found if is_error}
        assert any("criterion 1 has no evidence: 'tested'" in one for one in failed)
        assert any("status: Input should be 'IN_PROGRESS'" in one for one in failed)
        assert any("the plan has no task 'Fifth'" in one for one in failed)
        assert any("there is no tool 'nonsense'" in one for one in failed)
        assert len(failed) == 4
        assert "1. tested\n2. documented" in found[0][2]
        assert [one.text for one in told(done, "lessonRemembered")][:1] == ["make db first"]
        assert told(done, "ralphStatusUpdate")[0].report.tests_status == "PASSING"
        assert "> the cache is old" in project.prompt(2)
        assert told(done, "evidenceGathered")[0].evidence.progress

    def test_a_liar_completes_nothing(self, project: Project) -> None:
        """It says by tool that all is done, and changes nothing."""
        project.plan("First", "Second")
        done = reporting(project, [COMPLETE, ["say", "All tasks are complete."]]).run("9")
        assert end_of(done)[0] == "stuck"
        assert told(done, "completionRefused")
        assert not any(one.evidence.progress for one in told(done, "evidenceGathered"))

    def test_a_tick_by_tool_is_an_agents_tick(self, project: Project) -> None:
        done = reporting(project, [["complete_task", {}], STATUS]).run("1")
        assert "tick-without-change" in warnings(done)

    def test_a_guarded_change_is_restored_whatever_tool_made_it(self, project: Project) -> None:
        drops = ["sh", "sed -i /Second/d @fix_plan.md"]
        project.plan("First", "Second")
        done = reporting(project, [["add_task", {"title": "Third"}], drops, STATUS]).run("1")
        assert [one.what.value for one in told(done, "guardReverted")] == ["dropped"]
        plan = project.file("@fix_plan.md").read_text(encoding="utf-8")
        assert "Second" in plan
        assert "Third" in plan

    def test_blocked_by_tool_halts_whatever_is_said_later(self, project: Project) -> None:
        calls = [
            *(["report_blocked", {"reason": "no key", "needs": "API_KEY"}], ["complete_task", {}]),
            *(WORK, COMPLETE, SAYS_COMPLETE, ["say", BLOCK]),
        ]
        done = reporting(project, calls).run("9")
        assert end_of(done) == ("blocked", 2)
        assert "API_KEY" in project.file(".ralph/blocked.txt").read_text(encoding="utf-8")

    def test_a_block_that_is_printed_later_wins(self, project: Project) -> None:
        failing = BLOCK.replace("COMPLETE", "IN_PROGRESS").replace("true", "false")
        done = reporting(project, [["say", BLOCK], STATUS], [STATUS, ["say", failing]]).run("2")
        reports = [one.report for one in told(done, "ralphStatusUpdate")]
        assert [(one.status, one.tests_status) for one in reports] == [
            ("IN_PROGRESS", "PASSING"),
            ("IN_PROGRESS", "NOT_RUN"),
        ]

    def test_it_can_be_turned_off(self, project: Project) -> None:
        done = reporting(project, [STATUS], settings='mcp = "off"\n').run("1")
        assert not told(done, "agentReported")
        assert "report_status" not in project.prompt(1)


class TestOutside:
    def test_it_says_so(self, project: Project) -> None:
        said = project.plan().tell("mcp")
        assert said.exit_code == 64
        assert "this process is in none" in said.stderr

    def test_after_its_iteration_a_child_reports_nothing(self, project: Project) -> None:
        """As a postinstall script that was left running: it holds the environment, and no more."""
        project.make_gate()
        child = shlex.join([sys.executable, "-I", str(AGENT)])
        late = (
            f'env >"$kept/env"; cp "$kept/prompt-$RALPH_START" "$kept/none"; '
            f"echo '{json.dumps([['report_blocked', {'reason': 'late'}]])}' >\"$kept/late.json\"; "
            f'[ "$RALPH_START" = 2 ] && export RALPH_MCP_TICKET="$(cat "$kept/token")" '
            f'&& {child} "$kept/late.json" <"$kept/none" >"$kept/late.out"; '
            f'printf %s "$RALPH_MCP_TICKET" >"$kept/token"; work; commit'
        )
        done = project.agent(late).run("2")
        assert end_of(done) == ("limit", 1)
        assert not told(done, "agentReported")
        (name, failed, text) = json.loads((project.kept / "late.out").read_text(encoding="utf-8"))
        assert (name, failed) == ("report_blocked", True)
        assert "this iteration is over" in text
        environment = (project.kept / "env").read_text(encoding="utf-8")
        assert "RALPH_MCP_SOCKET=" in environment


class TestAsking:
    def start(self, project: Project, *calls: Any, settings: str = "") -> Running:
        reporting(project, [ASK, *(calls or (WORK, STATUS))], [WORK, STATUS], settings=settings)
        return project.start("2", "--on-halt", "wait")

    def test_the_answer_reaches_the_waiting_agent(self, project: Project) -> None:
        """Its time limit is shorter than the user takes, and is held."""
        settings = "[timeouts]\niteration = 3\n"
        running = self.start(project, settings=settings)
        running.wait_for("phaseChanged", phase="parked", reason="decide")
        question = project.file(".ralph/decide.txt").read_text(encoding="utf-8")
        assert "Red or blue?\n\n- red\n- blue" in question
        answered = project.tell("answer", "blue")
        assert "it waited for it" in answered.stdout
        done = running.wait()
        assert end_of(done) == ("limit", 1)
        (_, failed, text), *_ = results(project)
        assert (failed, text.splitlines()[-1]) == (False, "blue")
        assert not project.file(".ralph/decide.txt").exists()
        assert "blue" not in project.prompt(2)
        phases = [one.phase.value for one in told(done, "phaseChanged")]
        assert phases[:5] == ["starting", "preparing", "running", "parked", "running"]

    def test_without_an_answer_it_parks_at_its_end(self, project: Project) -> None:
        running = self.start(project, settings='ask_wait = "50ms"\n')
        running.wait_for("iterationEnded")
        running.wait_for("phaseChanged", phase="parked", reason="decide")
        project.tell("answer", "red")
        done = running.wait()
        assert "Nobody has answered in time" in results(project)[0][2]
        assert "red" in project.prompt(2)
        assert len(told(done, "questionAsked")) == 1

    def test_where_the_run_exits_it_does_not_wait(self, project: Project) -> None:
        done = reporting(project, [ASK, SAYS_COMPLETE]).run("9", "--on-halt", "exit")
        assert end_of(done) == ("decide", 3)
        assert "The run halts for the user" in results(project)[0][2]

    def test_a_stop_lets_it_go(self, project: Project) -> None:
        running = self.start(project)
        running.wait_for("phaseChanged", phase="parked", reason="decide")
        assert project.tell("stop").exit_code == 0
        running.wait()
        assert "The user stops the run" in results(project)[0][2]

    def test_stopped_at_once_nothing_is_left(self, project: Project) -> None:
        running = self.start(project)
        running.wait_for("phaseChanged", phase="parked", reason="decide")
        assert project.tell("stop", "--now").exit_code == 0
        done = running.wait()
        assert end_of(done) == ("stopped", 130)

    def test_a_killed_engine_leaves_the_question_for_the_next(self, project: Project) -> None:
        running = self.start(project)
        running.wait_for("phaseChanged", phase="parked", reason="decide")
        running.kill()
        running.wait()
        assert project.tell("answer", "blue", "--no-continue").exit_code == 0
        done = project.run("2", "--resume")
        assert told(done, "iterationEnded")[0].outcome == "lost"
        assert "blue" in project.prompt(2)

    def test_agents_in_lanes_wait_each_for_its_answer(self, project: Project) -> None:
        lane = ["sh", "echo a >>work-$RALPH_LANE.txt; git add -A; git commit -qm Work"]
        say = ["say", "All tasks are complete."]
        calls = [ASK, ["complete_task", {}], lane, COMPLETE, say]
        reporting(project.plan("First", "Second"), calls)
        running = project.start("4", "--on-halt", "wait", "--parallel", "2")
        for _ in range(2):
            running.wait_for("laneWaiting", phase="parked")
        for _ in range(2):
            assert project.tell("inbox", "answer", "1", "blue").exit_code == 0
        done = running.wait()
        assert end_of(done) == ("complete", 0)
        assert len(told(done, "laneMerged")) == 2
