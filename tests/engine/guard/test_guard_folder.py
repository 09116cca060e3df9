"""A plan in several files, guarded in whole runs: each file by itself, in tree and branch."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ralph_ls.core.plan.model import PlanKind
from ralph_ls.editor.documents.loop_documents import DocumentSave
from ralph_ls.editor.features.saves import record_document_save
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.store.layout import StateFolder
from tests.engine.project_builder import git
from tests.engine.ralph_runner import Project, told, wait_until, warnings

DATA = Path("tests/data/plan_formats/backlog.md")
FIRST = "backlog/tasks/task-1 - Basket-with-a-total.md"
SECOND = "backlog/tasks/task-2 - Pay-by-card.md"
IDLES = "report 'STATUS: IN_PROGRESS'"
TICKS = "sed -i 's/To Do/Done/; s/\\[ \\]/[x]/' backlog/tasks/task-2*"
DROPS = "git rm -q backlog/tasks/task-2*"

pytestmark = pytest.mark.slow


@pytest.fixture
def backlog(project: Project) -> Project:
    """A project whose plan is a folder of Backlog.md."""
    project.plan()
    shutil.copytree(DATA, project.repository, dirs_exist_ok=True)
    git(project.repository, "rm", "-q", "@fix_plan.md")
    git(project.repository, "add", "-A")
    git(project.repository, "commit", "-qm", "sample")
    return project


def test_what_an_agent_committed_is_restored_by_a_commit(backlog: Project) -> None:
    before = backlog.file(SECOND).read_bytes()
    backlog.agent(f"work; {TICKS}; sed -i '/double click/d' backlog/tasks/task-2*; commit; {IDLES}")
    ran = backlog.run("1")
    after = before.replace(b"To Do", b"Done").replace(b"[ ]", b"[x]")
    assert backlog.file(SECOND).read_bytes() == after
    (event,) = told(ran, "guardReverted")
    assert (event.path, event.what) == (SECOND, Forbidden.CRITERIA)
    assert [task.id for task in event.tasks] == ["TASK-2"]
    assert b"double" not in (backlog.run_folder() / event.kept).read_bytes()
    assert git(backlog.repository, "rev-parse", "HEAD").strip() == event.commit
    assert git(backlog.repository, "status", "--porcelain") == ""
    assert warnings(ran).count("left-uncommitted") == 0


def test_a_dropped_task_comes_back_in_the_branch(backlog: Project) -> None:
    backlog.agent(f"work; {DROPS}; commit; {IDLES}")
    ran = backlog.run("1")
    (event,) = told(ran, "guardReverted")
    assert (event.path, event.what) == (SECOND, Forbidden.DROPPED)
    assert git(backlog.repository, "status", "--porcelain") == ""
    assert git(backlog.repository, "diff", "HEAD~2", "--stat", "--", "backlog") == ""


def test_what_nobody_committed_is_restored_in_the_tree_alone(backlog: Project) -> None:
    backlog.agent(f"rm {FIRST.replace(' ', '?')} {SECOND.replace(' ', '?')}; {IDLES}")
    ran = backlog.run("1")
    (event,) = told(ran, "guardReverted")
    assert event.what in {Forbidden.DROPPED, Forbidden.CHANGED}
    assert git(backlog.repository, "status", "--porcelain") == ""
    assert told(ran, "planChanged") == []


@pytest.mark.parametrize(
    "breaks",
    [
        "printf '\\377\\376' | tee backlog/tasks/task-2*",
        "ln -sf /etc/hostname backlog/tasks/task-2*",
        "rm backlog/tasks/task-2*; mkdir 'backlog/tasks/task-2 - Pay-by-card.md'",
        "rm -r backlog/tasks",
        "rm -r backlog/tasks; echo no >backlog/tasks",
        "sed -i 1,3d backlog/tasks/*",
    ],
)
def test_a_folder_that_an_agent_broke_is_whole_again(backlog: Project, breaks: str) -> None:
    backlog.agent(f"{breaks}; {IDLES}")
    ran = backlog.run("1")
    assert told(ran, "guardReverted")
    assert told(ran, "iterationEnded")[0].counts.open_required == 1
    assert git(backlog.repository, "status", "--porcelain") == ""


def test_a_renamed_file_with_another_task_text_is_undone(backlog: Project) -> None:
    renamed = "backlog/tasks/task-2 - Other.md"
    backlog.agent(
        f"git mv {SECOND.replace(' ', '?')} '{renamed}'; sed -i '/double/d' '{renamed}'; "
        f"work; commit; {IDLES}"
    )
    backlog.run("1")
    assert not backlog.file(renamed).exists()
    assert git(backlog.repository, "status", "--porcelain") == ""
    assert git(backlog.repository, "ls-files", "backlog/tasks").count("\n") == 2


class TestUser:
    """The user edits a task in an editor while the agent works."""

    def run(self, project: Project, then: str, text: str) -> list[object]:
        project.agent(f"wait_here; {then}; {IDLES}")
        project.make_gate()
        running = project.start("1")
        wait_until(project.kept, (project.kept / "here").exists)
        path = project.file(SECOND)
        save = DocumentSave("file:///f", path.read_text(encoding="utf-8"), text)
        path.write_text(text, encoding="utf-8")
        state = StateFolder(folder=project.run_folder().parents[1])
        record_document_save(state, SECOND, save, at=datetime.now(UTC), kind=PlanKind.BACKLOG)
        project.open_gate()
        ran = running.wait()
        assert [one for one in warnings(ran) if one == "person-edited-plan"] == (
            ["person-edited-plan"] if "status: Done" in text else []
        )
        assert not any(event.done for event in told(ran, "planChanged"))
        return told(ran, "guardReverted")

    def text(self, project: Project) -> str:
        return project.file(SECOND).read_text(encoding="utf-8")

    def test_what_the_user_saved_stays(self, backlog: Project) -> None:
        text = self.text(backlog).replace("Pay by card", "Pay by any card")
        assert self.run(backlog, "true", text) == []
        assert self.text(backlog) == text

    def test_a_tick_of_the_users_is_not_the_agents(self, backlog: Project) -> None:
        text = self.text(backlog).replace("To Do", "Done").replace("[ ]", "[x]")
        self.run(backlog, "true", text)
        assert self.text(backlog) == text

    def test_what_the_agent_did_elsewhere_is_restored(self, backlog: Project) -> None:
        text = self.text(backlog).replace("Pay by card", "Pay by any card")
        new = "backlog/tasks/task-3 - More.md"
        assert (
            self.run(backlog, f"sed 's/TASK-2/TASK-3/' {SECOND.replace(' ', '?')} >'{new}'", text)
            == []
        )
        assert self.text(backlog) == text
        assert backlog.file(new).exists()

    def test_what_the_agent_did_to_it_is_restored(self, backlog: Project) -> None:
        text = self.text(backlog).replace("To Do", "In Progress")
        (event,) = self.run(backlog, "sed -i '/double/d' backlog/tasks/task-2*", text)
        assert event.what is Forbidden.CRITERIA  # type: ignore[attr-defined]
        assert "double click" in self.text(backlog)


MOVES = {"completed": "sed -i 's/To Do/Done/; s/\\[ \\]/[x]/' {0}", "archive/tasks": "true"}


@pytest.mark.parametrize(("place", "first"), MOVES.items())
@pytest.mark.parametrize("commits", [True, False])
def test_a_task_that_an_agent_put_away_is_moved_back(
    backlog: Project, place: str, first: str, commits: bool
) -> None:
    before = backlog.file(SECOND).read_bytes()
    away = f"backlog/{place}"
    moves = f"mkdir -p {away}; mv backlog/tasks/task-2* {away}; {'commit' if commits else 'true'}"
    backlog.agent(f"work; commit; {first.format(SECOND.replace(' ', '?'))}; {moves}; {IDLES}")
    ran = backlog.run("1")
    assert [path.name for path in backlog.file(away).iterdir()] == []
    done = before.replace(b"To Do", b"Done").replace(b"[ ]", b"[x]")
    assert backlog.file(SECOND).read_bytes() == (done if place == "completed" else before)
    (event,) = told(ran, "guardReverted")
    name = SECOND.rpartition("/")[2]
    assert (event.path, event.what) == (f"{away}/{name}", Forbidden.CREATED)
    assert event.why.endswith(f"moved back to {SECOND}")
    head = git(backlog.repository, "rev-parse", "HEAD").strip()
    assert event.commit == (head if commits else None)
    left = "" if commits or place != "completed" else f' M "{SECOND}"\n'
    assert git(backlog.repository, "status", "--porcelain") == left


def test_what_the_user_has_put_away_before_stays_there(backlog: Project) -> None:
    away = backlog.file("backlog/completed") / SECOND.rpartition("/")[2]
    away.parent.mkdir()
    shutil.copyfile(backlog.file(SECOND), away)
    git(backlog.repository, "add", "-A")
    git(backlog.repository, "commit", "-qm", "mine")
    backlog.agent(f"work; {DROPS}; commit; {IDLES}")
    (event,) = told(backlog.run("1"), "guardReverted")
    assert (event.path, event.what) == (SECOND, Forbidden.DROPPED)
    assert away.is_file()
    assert git(backlog.repository, "status", "--porcelain") == ""
