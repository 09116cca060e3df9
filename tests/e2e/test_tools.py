"""Real agents with the tools of an iteration: offered, used and ignored, beside the user's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph_ls.protocol.config.agent_catalog import CATALOG
from tests.e2e import agents
from tests.e2e.conftest import need
from tests.e2e.recipes import RECIPES
from tests.e2e.scene import Project, scene_of
from tests.e2e.test_agents import NAMES, said
from tests.engine.ralph_runner import told
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


def own(project: Project, tool: str, **given: object) -> ToolCall:
    """A call of one of the iteration's tools, by the name that the agent's model has for it."""
    place = CATALOG[project.recipe.name].mcp
    assert place is not None
    name = place.tool.replace("{tool}", tool)
    if project.recipe.name == "codex":
        # It hides them behind a search, and has a namespace for each server.
        return ToolCall(name=tool, input=given, deferred=True, namespace="mcp__ralph")
    return ToolCall(name=name, input=given)


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
