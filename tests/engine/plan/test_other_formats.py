"""Plans of other tools in real runs: the ready task is given, ticked in its form, and guarded."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from ralph_ls.store.project.plan_documents import ignored_tag_of
from tests.engine.project_builder import git
from tests.engine.ralph_runner import Project, told

DATA = Path("tests/data/plan_formats")
TAGS = ("tasks/tasks.json", "state.json")
BACKLOG = "backlog/tasks/task-2*"
ROUNDS = {
    "task-master": (
        "Pay by card",
        "perl -0pi -e 's/(Pay by card.*?)pending/$1done/s' .taskmaster/tasks/tasks.json",
        "The plan is Task Master's",
    ),
    "backlog.md": (
        "Pay by card: a payment that was refused leaves the order unpaid",
        f"sed -i 's/To Do/Done/; s/\\[ \\]/[x]/' {BACKLOG}",
        "The plan is Backlog.md's",
    ),
    "superpowers": (
        "Pay by card",
        "sed -i 's/\\[ \\]/[x]/' docs/superpowers/plans/*.md",
        "The plan is a superpowers plan",
    ),
    "gsd": ("Page", "sed -i '/02-02/s/\\[ \\]/[x]/' .planning/ROADMAP.md", "a GSD roadmap"),
    "bmad": (
        "Story 1.2: Pay by card",
        "sed -i 's/ready-for-dev/done/' _bmad-output/implementation-artifacts/*",
        "The plan is a BMAD sprint",
    ),
    "todo.txt": (
        "Pay by card +shop @work",
        "sed -i 's/^(A) \\(.*\\)/x 2026-01-07 \\1 pri:A/' todo.txt",
        "The plan is a todo.txt",
    ),
    "org": ("Pay by card", "sed -i 's/TODO \\[/DONE [/' plan.org", "The plan is an Org file"),
}


def with_sample(project: Project, name: str) -> Project:
    """The project with the sample of a format instead of its plan."""
    project.plan()
    shutil.copytree(DATA / name, project.repository, dirs_exist_ok=True)
    git(project.repository, "rm", "-q", "@fix_plan.md")
    git(project.repository, "add", "-A")
    git(project.repository, "commit", "-qm", "sample")
    return project


@pytest.mark.slow
@pytest.mark.parametrize("name", ROUNDS)
def test_the_ready_task_is_given_and_its_tick_is_seen(project: Project, name: str) -> None:
    title, tick, rules = ROUNDS[name]
    with_sample(project, name).agent(f"work; {tick}; commit; report 'STATUS: IN_PROGRESS'")
    done = project.run("1", "--json")
    assert rules in project.prompt(1)
    (started,) = told(done, "iterationStarted")
    assert started.task.title == title
    assert title in project.prompt(1)
    assert [event.done for event in told(done, "planChanged")] == [(started.task.id,)]
    assert git(project.repository, "status", "--porcelain") == ""


@pytest.mark.slow
def test_what_an_agent_may_not_change_is_restored(project: Project) -> None:
    with_sample(project, "task-master")
    path = ".taskmaster/tasks/tasks.json"
    before = project.file(path).read_text(encoding="utf-8")
    project.agent(
        f"work; sed -i 's/Checkout/Nothing/' {path}; "
        f"perl -0pi -e 's/(Pay by card.*?)pending/$1done/s; s/(by mail.*?)pending/$1cancelled/s' "
        f"{path}; commit; report 'STATUS: IN_PROGRESS'"
    )
    project.run("1")
    head, pay, rest = before.split('"pending"')
    assert project.file(path).read_text(encoding="utf-8") == f'{head}"done"{pay}"pending"{rest}'


@pytest.mark.slow
def test_a_current_tag_that_is_not_read_is_reported(project: Project) -> None:
    with_sample(project, "task-master").agent("work; commit")
    tasks, state = (project.file(f".taskmaster/{name}") for name in TAGS)
    tags = {**json.loads(tasks.read_text(encoding="utf-8")), "dev": {"tasks": []}}
    tasks.write_text(json.dumps(tags), encoding="utf-8")
    warning = "Task Master's current tag dev is not the one that is read"
    for text, is_warned in [('{"currentTag": "dev"}', True), ('{"currentTag": "dev', False)]:
        state.write_text(text, encoding="utf-8")
        assert (warning in project.tell("doctor").stdout) is is_warned
        assert (warning in project.tell("plan").stdout) is is_warned
        switched = "work; sed -i s/dev/master/ .taskmaster/state.json; commit"
        done = project.agent(switched).run("1", "--json")
        codes = [one.code for one in told(done, "warned")]
        assert ("task-tag-not-read" in codes) is is_warned
        (started,) = told(done, "iterationStarted")
        assert started.task.title == "Pay by card", "the run keeps its tag"


def test_a_state_of_task_master_that_is_no_file_is_none(tmp_path: Path) -> None:
    path, text = f".taskmaster/{TAGS[0]}", '{"master": {"tasks": []}, "dev": {"tasks": []}}'
    assert ignored_tag_of(tmp_path, path, text) == ""
    state = tmp_path / ".taskmaster" / TAGS[1]
    state.mkdir(parents=True)
    assert ignored_tag_of(tmp_path, path, text) == ""
    state.rmdir()
    state.write_bytes(b'{"currentTag": "dev", "x": "\xff"}')
    assert ignored_tag_of(tmp_path, path, text) == "dev"
    assert ignored_tag_of(tmp_path, "tasks/tasks.json", text) == ""


@pytest.mark.slow
def test_a_line_that_is_restored_and_done_has_its_date(project: Project) -> None:
    with_sample(project, "todo.txt").agent(
        "work; sed -i 's/^(A) .*/x Pay by card +shop @work/' todo.txt; commit; "
        "report 'STATUS: IN_PROGRESS'"
    )
    project.run("1")
    line = project.file("todo.txt").read_text(encoding="utf-8").splitlines()[1]
    words = "2026-01-05 Pay by card [+]shop @work dep:basket pri:A"
    assert re.fullmatch(rf"x 20[0-9]{{2}}-[0-9]{{2}}-[0-9]{{2}} {words}", line)


@pytest.mark.slow
def test_a_task_is_named_by_its_number(project: Project) -> None:
    with_sample(project, "kiro").agent("work; commit; report 'STATUS: IN_PROGRESS'")
    ran = project.run("1", "--task", "2.1")
    (begun,) = told(ran, "iterationStarted")
    assert begun.task is not None
    assert begun.task.title.startswith("2.1 ")
