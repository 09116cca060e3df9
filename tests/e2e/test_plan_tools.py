"""Plans of other tools in whole runs, and what each tool's own command line then reads."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.protocol.run.values import TaskRef
from tests.e2e import agents, plan_tools
from tests.e2e.conftest import need
from tests.engine.forked_ralph import fork_server
from tests.engine.project_builder import git
from tests.engine.ralph_runner import Project, Ralph, told

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(600)]

WORKS = "work; commit; report 'STATUS: COMPLETE' 'EXIT_SIGNAL: true'"
TICKS = "sed -i '0,/- \\[ \\]/s//- [x]/' {path}"
"""Ticks the first open box."""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Project]:
    """A repository; the tools ask nobody, and send nothing home."""
    need(plan_tools.what_is_missing())
    monkeypatch.setenv("OPENSPEC_TELEMETRY", "0")
    monkeypatch.setenv("NO_COLOR", "1")
    with ExitStack() as at_the_end:
        yield Project(Ralph(fork_server(), at_the_end), tmp_path).plan()


def ask(project: Project, program: Path | str, *arguments: str) -> str:
    """What a tool prints in the project; it has to succeed."""
    path = os.pathsep.join([agents.node_folder(), os.environ["PATH"]])
    done = subprocess.run(
        [str(program), *arguments],
        cwd=project.repository,
        env={**os.environ, "PATH": path},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def teller(project: Project, name: str) -> Callable[..., Any]:
    """Asks a tool for JSON."""
    return lambda *words: json.loads(ask(project, plan_tools.program(name), *words, "--json"))


def write(project: Project, texts: dict[str, str]) -> None:
    for path, text in texts.items():
        target = project.file(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")


def finish(project: Project, *given: str) -> list[TaskRef]:
    """Run to the end; the tasks that were given to the agent."""
    git(project.repository, "rm", "-q", "@fix_plan.md")
    git(project.repository, "add", "-A")
    git(project.repository, "commit", "-qm", "plan")
    ran = project.run(*given)
    assert ran.exit_code == 0, ran.stdout + ran.stderr
    assert git(project.repository, "status", "--porcelain") == ""
    return [event.task for event in told(ran, "iterationStarted") if event.task]


def test_backlog_md_reads_what_ralph_closed_blocked_and_restored(project: Project) -> None:
    backlog = plan_tools.program("backlog")
    ask(project, backlog, "init", "Shop", "--defaults", "--agent-instructions", "none")
    ask(project, backlog, "task", "create", "Basket", "--ac", "It has a total")
    ask(project, backlog, "task", "create", "Pay", "--ac", "Once", "--dep", "task-1")
    # The agent of the first iteration drops what the second is to be held to.
    project.agent(
        "grep -q Done backlog/tasks/task-1* || sed -i '/#1 Once/d' backlog/tasks/task-2*\n"
        "one=$(grep -L 'status: Done' backlog/tasks/* | head -n 1)\n"
        f"sed -i 's/status: .*/status: Done/; s/\\[ \\]/[x]/' \"${{one:-work.txt}}\"; {WORKS}"
    )
    assert [task.id for task in finish(project)] == ["TASK-1", "TASK-2"]
    found = teller(project, "backlog")("task", "list")["tasks"]
    assert [(one["id"], one["status"]) for one in found] == [("TASK-1", "Done"), ("TASK-2", "Done")]
    assert {one["acceptanceCriteriaCount"] for one in found} == {1}
    assert "No duplicate" in ask(project, backlog, "doctor")
    # What ralph writes itself.
    assert project.tell("reset-task", "TASK-2").exit_code == 0
    shown = ask(project, backlog, "task", "2", "--plain")
    assert "To Do" in shown
    assert "#1 Once" in shown


CHANGE = "openspec/changes/add-checkout"
OPENSPEC = {
    f"{CHANGE}/proposal.md": (
        "# Checkout\n\n## Why\n\nNobody can pay for what is in the basket, so nothing is sold.\n\n"
        "## What Changes\n\n- Pay by card\n"
    ),
    f"{CHANGE}/specs/checkout/spec.md": (
        "## ADDED Requirements\n\n### Requirement: Pay by card\n"
        "A customer SHALL pay for a basket by card.\n\n#### Scenario: A card is accepted\n"
        "- **WHEN** the card is accepted\n- **THEN** the order is paid\n"
    ),
    f"{CHANGE}/tasks.md": (
        "## 1. Basket\n\n- [ ] 1.1 Add a basket\n- [ ] 1.2 Show its total\n\n"
        "## 2. Checkout\n\n- [ ] 2.1 Pay by card\n"
    ),
}


def test_openspec_reads_and_archives_a_change_that_ralph_finished(project: Project) -> None:
    openspec, tell = plan_tools.program("openspec"), teller(project, "openspec")
    ask(project, openspec, "init", "--tools", "none", ".")
    ask(project, openspec, "new", "change", "add-checkout")
    write(project, OPENSPEC)
    project.agent(f"{TICKS.format(path=f'{CHANGE}/tasks.md')}; {WORKS}")
    assert [task.title for task in finish(project, "--plan", "add-checkout")] == [
        "1.1 Add a basket",
        "1.2 Show its total",
        "2.1 Pay by card",
    ]
    (found,) = tell("list")["changes"]
    assert (found["completedTasks"], found["totalTasks"], found["status"]) == (3, 3, "complete")
    assert tell("validate", "--all", "--strict")["summary"]["totals"]["failed"] == 0
    assert tell("instructions", "apply", "--change", "add-checkout")["progress"]["remaining"] == 0
    assert "archived" in ask(project, openspec, "archive", "add-checkout", "--yes")


FEATURE = "specs/001-checkout"
SPEC_KIT = {
    ".specify/feature.json": json.dumps({"feature_directory": FEATURE}),
    f"{FEATURE}/spec.md": "# Feature Specification: Checkout\n\nA customer pays for a basket.\n",
    f"{FEATURE}/plan.md": "# Implementation Plan: Checkout\n\nOne file.\n",
    f"{FEATURE}/tasks.md": (
        "# Tasks: Checkout\n\n## Phase 1: Setup\n\n- [ ] T001 Add a basket in src/basket.py\n\n"
        "## Phase 2: User Story 1\n\n- [ ] T002 [P] [US1] Pay by card in src/pay.py\n\n"
        "## Implementation Strategy\n\n1. Setup first\n2. Then the story\n"
    ),
}


def test_spec_kit_reads_a_feature_that_ralph_finished(project: Project) -> None:
    specify = plan_tools.program("specify")
    options = "--here --force --non-interactive --integration claude --ignore-agent-tools"
    ask(project, specify, "init", *options.split())
    write(project, SPEC_KIT)
    project.agent(f"{TICKS.format(path=f'{FEATURE}/tasks.md')}; {WORKS}")
    assert [task.id for task in finish(project)] == ["T001", "T002"]
    script = project.file(".specify/scripts/bash/check-prerequisites.sh")
    words = ("--json", "--require-tasks", "--include-tasks")
    found = json.loads(ask(project, script, *words).splitlines()[-1])
    assert Path(found["FEATURE_DIR"]).name == "001-checkout"
    assert "tasks.md" in found["AVAILABLE_DOCS"]
    assert "[ ]" not in project.file(f"{FEATURE}/tasks.md").read_text(encoding="utf-8")
    assert "claude" in ask(project, specify, "integration", "list")
