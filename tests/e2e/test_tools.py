"""Real agents with the tools of an iteration: offered, used and ignored, beside the user's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph_ls.engine.sandbox.selection import find_bubblewrap
from ralph_ls.protocol.config.agent_catalog import CATALOG
from tests.e2e import agents
from tests.e2e.conftest import CALLERS_ENVIRONMENT, need
from tests.e2e.recipes import RECIPES
from tests.e2e.scene import Project, scene_of
from tests.e2e.test_agents import NAMES, said
from tests.engine.ralph_runner import told, warnings
from tests.fakes.model_stub import Answer, ToolCall

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture
def project(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Project]:
    """A repository with two tasks, and the real program beside it."""
    need(agents.what_is_missing())
    with scene_of(RECIPES[request.param], tmp_path, monkeypatch) as made:
        yield made


each = pytest.mark.parametrize("project", NAMES, indirect=True)


def own_call(agent: str, tool: str, **given: object) -> ToolCall:
    """A call of one of the iteration's tools, by the name that the agent's model has for it."""
    place = CATALOG[agent].mcp
    assert place is not None
    if agent == "codex":
        # It hides them behind a search, and has a namespace for each server.
        return ToolCall(name=tool, input=given, deferred=True, namespace="mcp__ralph")
    return ToolCall(name=place.tool.replace("{tool}", tool), input=given)


def own(project: Project, tool: str, **given: object) -> ToolCall:
    return own_call(project.recipe.name, tool, **given)


@each
def test_reports_and_asks_by_tool(project: Project) -> None:
    """Its report is typed; its question reaches the user, and the answer the same turn."""
    asked = own(project, "ask_decision", question="Tabs?", options=["yes", "no"])
    stated = own(project, "report_status", status="IN_PROGRESS", testsStatus="PASSING")
    project.stub.say(
        *project.does_task("First", "one.txt"),
        Answer(text="I ask.", tools=(asked,)),
        Answer(text="I report.", tools=(stated,)),
        Answer(text="That is all for now."),
    )
    with project.start("1", "--on-halt", "wait") as running:
        running.wait_for("phaseChanged", phase="parked", reason="decide")
        assert project.tell("answer", "Yes, tabs").exit_code == 0
        done = running.wait()
    assert done.exit_code == 1, said(done)
    (report,) = (event.report for event in told(done, "ralphStatusUpdate"))
    assert (report.status, report.tests_status) == ("IN_PROGRESS", "PASSING")
    assert "Yes, tabs" in str(project.stub.requests[-1])


LISTED = {"claude": "Read", "gemini": "read_file", "opencode": "read", "qwen": "read_file"}
LISTED["copilot"] = "view"
"""Agents that take a list of tools, and one of its tools that may be on it."""


def reports(project: Project, *arguments: str) -> None:
    """The agent reports by tool and says no more, in one run with these arguments."""
    project.stub.say(
        Answer(text="I report.", tools=(own(project, "report_status", status="IN_PROGRESS"),)),
        Answer(text="That is all for now."),
    )
    done = project.run("1", *arguments)
    assert done.exit_code == 1, said(done)
    assert [event.tool for event in told(done, "agentReported")] == ["report_status"], said(done)
    assert told(done, "ralphStatusUpdate")[0].report.status == "IN_PROGRESS"
    assert "permission-denied" not in warnings(done)


@each
def test_reports_from_a_box(project: Project) -> None:
    found = find_bubblewrap(CALLERS_ENVIRONMENT.get("PATH", ""))
    need(None if found.works else f"{found.problem}; {found.remedy}")
    reports(project, "--sandbox")


@pytest.mark.parametrize("project", [name for name in NAMES if name in LISTED], indirect=True)
def test_a_list_of_tools_does_not_keep_it_from_reporting(project: Project) -> None:
    project.settle(f'[tools]\nallow = ["{LISTED[project.recipe.name]}"]\n')
    reports(project)


@pytest.mark.parametrize("project", ["claude"], indirect=True)
def test_a_sub_agents_call_ends_nothing(project: Project) -> None:
    """Its blocker is marked as a sub-agent's, and its question is refused."""
    given: dict[str, object] = {
        "description": "look",
        "prompt": "Look.",
        "subagent_type": "general-purpose",
    }
    given["run_in_background"] = False
    project.stub.say(
        Answer(text="I delegate.", tools=(ToolCall(name="Agent", input=given),)),
        Answer(text="I stop.", tools=(own(project, "report_blocked", reason="I am lost"),)),
        Answer(text="I ask.", tools=(own(project, "ask_decision", question="Left?"),)),
        Answer(text="I looked."),
        Answer(text="I report.", tools=(own(project, "report_status", status="IN_PROGRESS"),)),
        Answer(text="That is all for now."),
    )
    done = project.run("1", "--on-halt", "wait")
    assert done.exit_code == 1, said(done)
    calls = [(one.tool, one.sub_agent) for one in told(done, "agentReported")]
    assert calls == [("report_blocked", True), ("report_status", False)]
    assert "only the main agent may ask" in str(project.stub.requests)
    assert not told(done, "questionAsked") + told(done, "blockedRaised")
