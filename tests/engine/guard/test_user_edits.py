"""The user edits the plan while the loop runs: it is known as theirs (docs/rules.md#user-edits)."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from ralph_ls.core.plan.model import PlanKind
from ralph_ls.editor.documents.loop_documents import DocumentSave
from ralph_ls.editor.features.saves import record_document_save
from ralph_ls.protocol.run.events import Warned
from ralph_ls.protocol.run.values import Evidence
from ralph_ls.store.layout import StateFolder
from tests.engine.project_builder import Completed
from tests.engine.ralph_runner import Project, told, wait_until

pytestmark = pytest.mark.slow

BEFORE = "- [ ] A-1: first\n- [ ] A-2: second\n- [ ] A-3: third\n"
BY_PERSON = BEFORE.replace("[ ] A-1", "[x] A-1")
WAITS = "wait_here; report 'STATUS: IN_PROGRESS'"
TICKS = "sed -i 's/\\[ \\] A-2/[x] A-2/' @fix_plan.md; wait_here; report 'STATUS: IN_PROGRESS'"


def held(project: Project, body: str) -> tuple[Project, Path]:
    project.plan(files={"@fix_plan.md": BEFORE}).agent(body)
    project.make_gate()
    return project, project.file("@fix_plan.md")


def found(done: Completed) -> tuple[Evidence, list[str]]:
    (gathered,) = told(done, "evidenceGathered")
    notices = [
        event.message
        for event in told(done, "warned")
        if isinstance(event, Warned) and event.code == "person-edited-plan"
    ]
    return gathered.evidence, notices


def person_saves(project: Project, before: str, text: str) -> None:
    project.file("@fix_plan.md").write_text(text, encoding="utf-8")
    state = StateFolder(folder=project.run_folder().parents[1])
    save = DocumentSave("file:///plan", before, text)
    record_document_save(state, "@fix_plan.md", save, kind=PlanKind.MARKDOWN, at=datetime.now(UTC))


def test_a_users_tick_is_reported_and_is_no_progress(project: Project) -> None:
    held(project, WAITS)
    running = project.start("1")
    wait_until(project.kept, (project.kept / "here").exists)
    person_saves(project, BEFORE, BY_PERSON)
    project.open_gate()
    evidence, notices = found(running.wait())
    assert (evidence.tasks_done, evidence.progress) == ((), False)
    assert len(notices) == 1
    assert notices[0].endswith("not its progress: A-1")


def test_of_both_the_agents_tick_alone_counts(project: Project) -> None:
    _, plan = held(project, TICKS)
    running = project.start("1")
    wait_until(project.kept, (project.kept / "here").exists)
    now = plan.read_text(encoding="utf-8")
    person_saves(project, now, now.replace("[ ] A-1", "[x] A-1"))
    project.open_gate()
    evidence, notices = found(running.wait())
    assert evidence.tasks_done == ("A-2",)
    assert [notice.rpartition(": ")[2] for notice in notices] == ["A-1"]


def test_a_tick_that_nobody_saved_is_the_agents(project: Project) -> None:
    held(project, TICKS)
    running = project.start("1")
    wait_until(project.kept, (project.kept / "here").exists)
    project.open_gate()
    evidence, notices = found(running.wait())
    assert (evidence.tasks_done, notices) == (("A-2",), [])
