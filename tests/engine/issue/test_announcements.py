"""What goes out of a run on a request: a pull request that is ready (docs/rules.md#requests)."""

from __future__ import annotations

import json
import signal

import pytest

from tests.engine.issue.request_project import ASKS, WORKS, issue_project
from tests.engine.project_builder import Completed, git
from tests.engine.ralph_runner import Project, told, wait_until

pytestmark = pytest.mark.slow

READY = "work; commit; clarity 'STATUS: COMPLETE' 'PR_READY: true' 'WORK_SUMMARY: found it'"
HOOK = """\
[issue]
file = "issue.md"
"""


def write_hook(project: Project, body: str, *, name: str = "hook.sh") -> None:
    path = project.file(name)
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    git(project.repository, "add", "-A")
    git(project.repository, "commit", "-q", "-m", "The hook")


def told_by_hook(project: Project, done: Completed, code: str) -> str:
    (message,) = [event.message for event in told(done, "warned") if event.code == code]
    return str(message)


def test_a_pull_request_that_is_ready_is_handed_on_once(project: Project) -> None:
    config = f'profile = "issue"\non_pr_ready = ["./hook.sh", "--draft"]\n{HOOK}'
    issue_project(project, READY, config=config)
    write_hook(
        project, f'cat >"{project.kept}/told"; env >"{project.kept}/env"; echo "$@"; echo made it'
    )
    assert project.run("3").exit_code == 78
    allowed = project.tell("allow", "--yes")
    assert "on_pr_ready" in allowed.stdout
    assert "hook.sh" in allowed.stdout
    done = project.run("3")
    assert done.exit_code == 0
    payload = json.loads((project.kept / "told").read_text(encoding="utf-8"))
    assert payload["event"] == "prReady"
    assert (payload["text"], payload["title"]) == ("found it", "Letters get lost")
    assert payload["head"] == git(project.repository, "rev-parse", "HEAD").strip()
    assert (payload["iteration"], payload["branch"]) == (1, "main")
    environment = (project.kept / "env").read_text(encoding="utf-8")
    assert "RALPH_EVENT=prReady\n" in environment
    assert "RALPH_TITLE=Letters get lost\n" in environment
    assert (
        told_by_hook(project, done, "on-pr-ready") == "the command on_pr_ready succeeded: made it"
    )
    assert done.kinds()[-2:] == ["runEnded", "warned"]


def test_what_a_killed_engine_had_started_has_an_unknown_outcome(project: Project) -> None:
    config = f'profile = "issue"\nnotify.command = ["./hook.sh"]\n{HOOK}'
    issue_project(project, ASKS, config=config)
    engine = r"""$(sed 's/.*"pid": *\([0-9]*\).*/\1/' .git/ralph.json)"""
    died = f'"{project.kept}/died"'
    write_hook(project, f'[ -e {died} ] || {{ : >{died}; kill -9 "{engine}"; sleep 600; }}')
    project.tell("allow", "--yes")
    assert project.run("3").exit_code == -signal.SIGKILL
    done = project.run("--resume")
    unknown = told_by_hook(project, done, "notify-unknown")
    assert unknown.startswith(
        "the outcome of the notification of question is unknown: the engine ended"
    )
    assert unknown in done.stdout
    told_by_hook(project, project.run("--resume"), "notify-unknown")
    assert [*project.run_folder().glob("*.open")] == []


@pytest.mark.parametrize(
    ("agent", "code"),
    [
        ("work; commit; clarity 'STATUS: COMPLETE' 'PR_READY: false'", 0),
        (WORKS, 1),
        (ASKS, 3),
        (f"{ASKS} 'PR_READY: true'", 3),
    ],
)
def test_nothing_is_handed_on_that_is_not_ready(project: Project, agent: str, code: int) -> None:
    config = f'profile = "issue"\non_pr_ready = ["touch", "{project.kept}/told"]\n{HOOK}'
    issue_project(project, agent, config=config)
    project.tell("allow", "--yes")
    assert project.run("1").exit_code == code
    assert not (project.kept / "told").exists()


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        ('["sh", "-c", "echo no remote >&2; exit 3"]', "ended with 3: no remote;"),
        ('["not-there"]', "was not started: its program 'not-there' was not found;"),
        ('["sh", "-c", "kill -9 $$"]', "was ended by signal 9;"),
    ],
)
def test_a_hand_over_that_fails_is_reported_and_changes_nothing(
    project: Project, argv: str, said: str
) -> None:
    issue_project(project, READY, config=f'profile = "issue"\non_pr_ready = {argv}\n{HOOK}')
    project.tell("allow", "--yes")
    done = project.run("3")
    assert done.exit_code == 0
    assert said in told_by_hook(project, done, "on-pr-ready-failed")
    # It comes after the run's end, and is shown all the same: in the lines and in the summary.
    assert done.stdout.count(said) == 2
    assert said in project.tell("status").stdout


@pytest.mark.parametrize("by", ["Ctrl-C", "stop --now"])
def test_a_hand_over_can_be_ended(project: Project, by: str) -> None:
    project.make_gate()
    config = f'profile = "issue"\non_pr_ready = ["./hook.sh"]\n{HOOK}'
    issue_project(project, READY, config=config)
    write_hook(project, f': >"{project.kept}/here"; read -r _ <"{project.kept}/go"')
    project.tell("allow", "--yes")
    running = project.start("3")
    running.wait_for("runEnded")
    wait_until(project.kept, (project.kept / "here").exists)
    if by == "Ctrl-C":
        running.signal(signal.SIGINT)
    else:
        project.tell("stop", "--now")
    done = running.wait()
    assert done.exit_code == 0
    assert "at your request" in told_by_hook(project, done, "on-pr-ready-failed")


def test_a_hook_that_the_agent_changed_is_restored_before_it_is_run(project: Project) -> None:
    config = f'profile = "issue"\non_pr_ready = ["./hook.sh"]\n{HOOK}'
    issue_project(project, f'echo "touch {project.kept}/harm" >>hook.sh; {READY}', config=config)
    write_hook(project, "echo fine")
    project.tell("allow", "--yes")
    done = project.run("3")
    assert done.exit_code == 0
    assert not (project.kept / "harm").exists()
    assert [event.path for event in told(done, "guardReverted")] == ["./hook.sh"]
