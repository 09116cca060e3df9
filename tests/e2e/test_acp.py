"""Real agents of the Agent Client Protocol in whole runs, each against the stub of its model.

They are run by hand: ``make agents`` names them in ``RALPH_E2E_AGENTS``, as ``--agent`` has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ralph_ls.protocol.config.agent_catalog import Dialect
from ralph_ls.protocol.run.messages import FileMessage, ToolMessage
from tests.e2e import agents
from tests.e2e.recipe import DONE, GOES_ON
from tests.e2e.recipes import CLAUDE, CODEX, COPILOT, GEMINI, OPENCODE, QWEN
from tests.e2e.scene import Project, scene_of
from tests.e2e.test_tools import own_call
from tests.engine.project_builder import marked_processes
from tests.engine.ralph_runner import told, warnings
from tests.fakes.model_stub import Answer

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

RECIPES = {
    f"{one.name}-acp": replace(one, name=f"{one.name}-acp", dialect=Dialect.ACP)
    for one in (CLAUDE, CODEX, GEMINI, OPENCODE, QWEN, COPILOT)
}
"""They are led to the stub as the command lines of the same agents are.

That of cline is not among them: it works with no provider but its own, logged in by a browser.
"""

NAMES = [
    name
    for name in agents.CALLERS_ENVIRONMENT.get("RALPH_E2E_AGENTS", "").split()
    if name in RECIPES
]

__test__ = bool(NAMES)


@pytest.fixture(params=NAMES)
def project(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Project]:
    with scene_of(RECIPES[request.param], tmp_path, monkeypatch) as found:
        yield found


def test_two_tasks_are_done_in_one_session(project: Project) -> None:
    project.stub.say(
        *project.does_task("First", "one.txt"),
        Answer(text=f"The first is done.\n\n{GOES_ON}"),
        *project.does_task("Second", "two.txt"),
        Answer(text=f"All tasks are complete. Everything is finished.\n\n{DONE}"),
    )
    done = project.run()
    assert done.exit_code == 0, done.stderr
    assert project.stub.n_left == 0
    messages = project.messages()
    assert any(isinstance(one, ToolMessage) for one in messages)
    assert {one.path for one in messages if isinstance(one, FileMessage)} >= {"one.txt", "two.txt"}
    for ended in told(done, "iterationEnded"):
        assert ended.usage.input_tokens
        assert ended.usage.output_tokens
    assert told(done, "agentStarted")[0].dialect == "acp"
    assert marked_processes(project.run_folder().name) == []


@pytest.mark.parametrize("is_listed", [False, True])
def test_it_reports_by_tool(project: Project, is_listed: bool) -> None:
    if is_listed and project.recipe.name == "codex-acp":
        # Its requests do not say which tool they are about, so it reports in words.
        return
    if is_listed:
        project.settle('[tools]\nallow = ["read"]\n')
    stated = own_call(project.recipe.name.removesuffix("-acp"), "report_status", status="COMPLETE")
    if project.recipe.name == "qwen-acp":
        # It hides the tools of a session's servers behind a search.
        stated = replace(stated, deferred=True)
    project.stub.say(Answer(text="I report.", tools=(stated,)), Answer(text="That is all."))
    done = project.run("1")
    assert [event.tool for event in told(done, "agentReported")] == ["report_status"], done.stdout


def test_what_the_rules_do_not_permit_is_not_done(project: Project) -> None:
    project.settle("[tools]\nallow = []\n")
    project.stub.say(
        Answer(tools=(project.recipe.write(project.repository / "one.txt", "no\n"),)),
        Answer(text=f"I may not.\n\n{GOES_ON}"),
    )
    done = project.run("1")
    assert told(done, "iterationEnded")
    assert not (project.repository / "one.txt").exists()
    assert "permission-denied" in warnings(done)
