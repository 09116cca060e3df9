"""The programs of docs/clients.md drive a real loop through a real server."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph_ls.protocol.run.events import QuestionAnswered
from tests.editor.client.recording import replaying
from tests.engine.conftest import ralph
from tests.engine.project_builder import PATIENCE, ROOT, end_run, events_of
from tests.engine.ralph_runner import Project, Ralph

__all__ = ["ralph"]

pytestmark = pytest.mark.slow

PAGE = ROOT / "docs" / "clients.md"
WITH_NODE = ROOT / "client-vscode" / "scripts" / "with_node.py"

AGENT = """\
if [ "$RALPH_START" = 1 ]; then
  work; commit; say '<promise>DECIDE:PostgreSQL or SQLite?</promise>'; exit
fi
work; mark x First; commit; say 'All tasks are complete.'; report 'EXIT_SIGNAL: true'
"""


@pytest.fixture
def project(ralph: Ralph, tmp_path: Path) -> Iterator[Project]:
    made = Project(ralph, tmp_path)
    made.plan("First task", files={".ralph/config.toml": made.settings()}).agent(AGENT)
    yield made
    end_run(made.repository)


CLIENTS = ("library", "python", "typescript")

REAL_PROGRAMS = Path(sys.executable).parent


def programs_for(client: str, server_program: Path) -> Path:
    """The real ``ralph-ls`` for one of the clients; the others start it in the same way."""
    return REAL_PROGRAMS if client == "library" else server_program


def program(client: str) -> str:
    after = PAGE.read_text(encoding="utf-8").partition(f"<!-- client: {client} -->")[2]
    block = re.compile(r"^```(?:python|ts)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    found = block.search(after)
    assert found is not None
    return found[1]


def run(project: Project, client: str, *, programs: Path) -> subprocess.CompletedProcess[str]:
    path = project.kept / ("client.mts" if client == "typescript" else "client.py")
    path.write_text(program(client), encoding="utf-8")
    command = [sys.executable, str(path)]
    if client == "typescript":
        command = [sys.executable, str(WITH_NODE), "node", "--no-warnings", str(path)]
    names = os.pathsep.join([str(programs), str(REAL_PROGRAMS), os.environ["PATH"]])
    return subprocess.run(
        [*command, str(project.repository), "SQLite"],
        env={**os.environ, "PATH": names},
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE,
        check=False,
    )


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_starts_a_run_answers_and_ends_with_it(
    project: Project, client: str, server_program: Path
) -> None:
    assert project.tell("allow", "--yes").exit_code == 0
    done = run(project, client, programs=programs_for(client, server_program))
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    events = events_of(project.repository)
    assert [int(line.split()[0]) for line in lines] == [event.seq for event in events]
    assert lines[-1].split()[1:3] == ["runEnded", "complete"]
    assert any(line.endswith("questionAsked PostgreSQL or SQLite?") for line in lines)
    (answered,) = [event for event in events if isinstance(event, QuestionAnswered)]
    assert answered.answer == "SQLite"


@pytest.mark.parametrize("client", CLIENTS)
def test_a_refusal_is_reported(project: Project, client: str, server_program: Path) -> None:
    done = run(project, client, programs=server_program)
    assert done.returncode != 0
    assert "ralph allow" in done.stderr


@pytest.mark.parametrize("client", CLIENTS)
def test_it_passes_a_recorded_session(project: Project, client: str) -> None:
    report = project.kept / "report.json"
    program = replaying("question", report, project.kept / "programs")
    done = run(project, client, programs=program.parent)
    assert "passed" in done.stderr
    assert done.returncode == 0
    assert json.loads(report.read_text(encoding="utf-8"))["problems"] == []
    assert done.stdout.splitlines()[-1].split()[1:3] == ["runEnded", "complete"]
