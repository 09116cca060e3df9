"""Pipes, devices and huge files that an agent leaves: no run waits for one, and each is named."""

from __future__ import annotations

import subprocess

import pytest

from ralph_ls.protocol.run.events import GuardReverted, RunEnded
from ralph_ls.protocol.run.iteration_events import Forbidden
from tests.engine.project_builder import Completed, git
from tests.engine.ralph_runner import Project

TWO = ("First task", "Second task")
NO_BREAKER = "[breaker]\nno_progress_half_open = 0\nno_progress_open = 0\n"
GIT_FILES = [
    ".gitignore",
    ".gitattributes",
    ".gitmodules",
    ".mailmap",
    ".git/config",
    ".git/info/attributes",
    ".git/info/exclude",
]


def restored(ran: Completed) -> dict[str, GuardReverted]:
    return {event.path: event for event in ran.events if isinstance(event, GuardReverted)}


def ended(ran: Completed) -> RunEnded:
    (event,) = [event for event in ran.events if isinstance(event, RunEnded)]
    return event


@pytest.mark.parametrize(
    ("make", "kind"), [("mkfifo", "a named pipe"), ("ln -s /dev/zero", "a device")]
)
def test_what_git_would_wait_for_is_replaced_by_what_was_there(
    project: Project, make: str, kind: str
) -> None:
    """Another file in each iteration."""
    project.plan(*TWO, files={".gitignore": "*.pyc\n", ".ralph/config.toml": NO_BREAKER})
    before = {
        name: project.file(name).read_bytes() if project.file(name).exists() else None
        for name in GIT_FILES
    }
    project.agent(
        f"set -- {' '.join(GIT_FILES)}; shift $((RALPH_START - 1)); mkdir -p .git/info\n"
        f'rm -f "$1"; {make} "$1"; echo more >>work.txt; say done'
    )
    ran = project.run(str(len(GIT_FILES)))
    assert ran.exit_code == 1, ran.stderr
    events = [event for event in ran.events if isinstance(event, GuardReverted)]
    assert [(event.iteration, event.path) for event in events] == [*enumerate(GIT_FILES, start=1)]
    for event in events:
        was = before[event.path]
        assert event.what is (Forbidden.CREATED if was is None else Forbidden.CHANGED)
        assert f"{event.path} is {kind}, not a regular file" in (event.why or "")
        assert project.file(event.path).exists() is (was is not None)
        assert was is None or project.file(event.path).read_bytes().startswith(was)
    assert "?? work.txt" in git(project.repository, "status", "--porcelain")


@pytest.mark.parametrize("name", [".git/index", ".git/HEAD", ".git/packed-refs"])
def test_what_cannot_be_restored_ends_the_run_by_name(project: Project, name: str) -> None:
    project.plan(*TWO)
    project.agent(f"rm -f {name}; mkfifo {name}")
    ran = project.run("1")
    assert ran.exit_code == (2 if name == ".git/HEAD" else 5)
    assert f"{name} is a named pipe, not a regular file" in ended(ran).message


def test_a_head_that_became_a_pipe_is_written_again_as_the_message_says(project: Project) -> None:
    project.plan(*TWO)
    project.agent("[ -e .git/kept ] || { touch .git/kept; rm .git/HEAD; mkfifo .git/HEAD; }; work")
    message = ended(project.run("2")).message
    command = message.split("write it again: ")[1].split(", then continue")[0]
    subprocess.run(["sh", "-c", command], check=True, timeout=10)
    assert project.run("3", "--resume").exit_code == 1
    assert git(project.repository, "fsck") == ""


def test_without_the_guard_a_plan_that_became_a_pipe_ends_the_run_by_name(project: Project) -> None:
    project.plan(*TWO, files={".ralph/config.toml": "[guard]\nenabled = false\n"})
    project.agent("rm @fix_plan.md; mkfifo @fix_plan.md")
    ran = project.run("1")
    assert ran.exit_code == 5
    assert "@fix_plan.md is a named pipe, not a regular file; remove it" in ended(ran).message


@pytest.mark.parametrize("name", [".ralph/decide.txt", ".ralph/blocked.txt"])
def test_a_pipe_in_the_place_of_an_answer_ends_the_run_by_name(project: Project, name: str) -> None:
    project.plan(*TWO)
    project.agent(f"mkdir -p .ralph; mkfifo {name}")
    ran = project.run("1")
    assert ran.exit_code == 5
    assert f"{name} is a named pipe, not a regular file; remove it" in ended(ran).message


@pytest.mark.parametrize(
    "name",
    [
        "PROGRESS.md",
        "AGENTS.md",
        "PRD.md",
        "specs/x.md",
        ".ralph/logs/iteration-002.log",
        ".ralph/logs/summary.csv",
        "work.txt",
    ],
)
def test_a_pipe_elsewhere_holds_nothing_up(project: Project, name: str) -> None:
    project.plan(*TWO, files={"work.txt": "work\n"})
    folder = name.rpartition("/")[0] or "."
    project.agent(f"mkdir -p {folder}; rm -f {name}; mkfifo {name}; echo more >>more.txt")
    assert project.run("2").exit_code == 1


@pytest.mark.parametrize(
    ("make", "words"),
    [
        ("mkfifo", "is a named pipe, not a regular file"),
        ("mkdir", "is a folder, not a regular file"),
        ("ln -s /dev/zero", "is a device, not a regular file"),
        ("truncate -s 200000000", "is larger than 16 MB"),
        ("yes | head -n 100001 >", "is longer than 100,000 lines"),
    ],
)
@pytest.mark.parametrize(
    "plan", ["@fix_plan.md", "IMPLEMENTATION_PLAN.md", "prd.json"], ids=["fix", "spec", "stories"]
)
def test_no_run_begins_with_a_plan_that_cannot_be_read(
    project: Project, plan: str, make: str, words: str
) -> None:
    project.plan(*TWO)
    git(project.repository, "rm", "-q", "@fix_plan.md")
    git(project.repository, "commit", "-qm", "No plan")
    subprocess.run(["sh", "-c", f"{make} {plan}"], cwd=project.repository, check=True)
    project.agent("echo never >ran.txt")
    for ran in (project.run("1"), project.ralph(project.repository, "plan")):
        assert ran.exit_code == 5
        assert f"{plan} {words}; " in ran.stderr
    assert not project.file("ran.txt").exists()
