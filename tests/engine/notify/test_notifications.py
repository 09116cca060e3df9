"""Notifications of whole runs: each destination gets what it should, once, and no secret."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.issue.request_project import ASKS, CLARITY, issue_project
from tests.engine.project_builder import Completed, git
from tests.engine.ralph_runner import Project, told, wait_until
from tests.fakes import gh
from tests.fakes.notify_servers import Received, http_server, smtp_server

pytestmark = pytest.mark.slow

SECRET = "sk_live_4eC39HqLyjWDarjtT1zdp7dc"
TOPIC = "letters-0123456789abcdef"
QUESTION = f"say 'I use {SECRET}' '<promise>DECIDE: With {SECRET}: A or B?</promise>'"


@pytest.fixture
def web() -> Iterator[Received]:
    with http_server() as received:
        yield received


@pytest.fixture
def mail() -> Iterator[Received]:
    with smtp_server() as received:
        yield received


def reported(done: Completed, code: str) -> list[str]:
    return [str(event.message) for event in told(done, "warned") if event.code == code]


def keep_in(project: Project, name: str) -> str:
    """A command that appends what it gets to a file."""
    return json.dumps(
        ["sh", "-c", f'cat >>"{project.kept}/{name}"; echo >>"{project.kept}/{name}"']
    )


def kept(project: Project, name: str) -> list[dict[str, Any]]:
    path = project.kept / name
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return [json.loads(line) for line in lines]


def test_every_destination_gets_a_question_once_and_no_secret(
    project: Project, own_settings: Callable[[str], None], web: Received, mail: Received
) -> None:
    own_settings(
        "[notify]\n"
        f'urls = ["phone=ntfy://127.0.0.1:{web.port}/{TOPIC}",'
        f' "mail=mailto://127.0.0.1:{mail.port}?from=ralph@example.com&to=ada@example.com"]\n'
        f"command = {keep_in(project, 'told')}\n"
    )
    project.agent(QUESTION)
    done = project.run("2")
    assert done.exit_code == 3, done.stdout + done.stderr
    (_, text), (to, letter) = web.wait_for(1)[0], mail.wait_for(1)[0]
    (payload,) = kept(project, "told")
    assert (len(web.items), len(mail.items)) == (1, 1)
    sent = json.loads(text)
    assert sent["title"] == "repository: Ralph has a question"
    assert "With [redacted sk_live]: A or B?" in sent["message"]
    assert sent["message"].endswith(
        f'cd {project.repository} && ralph answer "…" && ralph run --resume'
    )
    assert (to, "Ralph has a question" in letter) == ("ada@example.com", True)
    assert (payload["event"], payload["task"]["title"]) == ("question", "First task")
    for one in (text, letter, json.dumps(payload)):
        assert SECRET not in one
    assert reported(done, "notified") == ["notified phone, mail, command: question"]
    assert "phone, mail, command: question" in project.tell("status").stdout
    assert "notifications go to phone, mail, command" in project.tell("doctor").stdout
    for path in (project.run_folder(), project.file(".ralph")):
        for file in path.rglob("*"):
            assert not file.is_file() or TOPIC.encode() not in file.read_bytes(), file


def test_what_fails_is_reported_without_the_address_and_changes_nothing(
    project: Project, own_settings: Callable[[str], None], web: Received
) -> None:
    web.status = 403
    own_settings(
        f'[notify]\nurls = ["phone=ntfy://127.0.0.1:{web.port}/{TOPIC}"]\ncommand = ["not-there"]\n'
    )
    project.agent("work; commit; mark x First; report 'STATUS: COMPLETE' 'EXIT_SIGNAL: true'")
    done = project.run("2")
    assert done.exit_code in {0, 1}, done.stdout + done.stderr
    failed = reported(done, "notify-failed")
    assert [one.partition(" failed: ")[0] for one in failed] == [
        f"the notification of {'complete' if done.exit_code == 0 else 'limit'} to {name}"
        for name in ("phone", "command")
    ]
    assert "its program 'not-there' was not found" in failed[1]
    assert TOPIC not in "".join(failed)
    assert "Not done:    the notification of" in done.stdout


def test_quiet_hours_hold_what_a_run_has_to_report(
    project: Project, own_settings: Callable[[str], None]
) -> None:
    own_settings(f'[notify]\nquiet = "00:00-23:59"\ncommand = {keep_in(project, "told")}\n')
    project.agent(QUESTION)
    done = project.run("2")
    assert kept(project, "told") == []
    assert reported(done, "notify-held") == ["1 notification fell into quiet hours: question"]


def test_the_issue_gets_questions_and_ends(
    project: Project, github: Path, own_settings: Callable[[str], None]
) -> None:
    own_settings("[notify]\ngithub = true\n")
    config = 'profile = "issue"\n[issue]\ngithub = "ada/invoice#12"\n'
    issue_project(project, ASKS.replace("Which letters?", "Which of ``` @ada?"), config=config)
    done = project.run("3")
    assert done.exit_code == 3
    (comment,) = gh.posted(github)
    assert (comment["repository"], comment["number"]) == ("ada/invoice", 12)
    assert "````text\nWhich of ``` @ada?\n````\n" in comment["body"]
    assert str(project.repository) not in comment["body"]
    assert reported(done, "notified") == ["notified github: question"]


def test_a_comment_that_fails_is_reported(
    project: Project, github: Path, own_settings: Callable[[str], None]
) -> None:
    own_settings("[notify]\ngithub = true\n")
    config = 'profile = "issue"\n[issue]\ngithub = "ada/invoice#12"\n'
    agent = f'echo "{{\\"repositories\\":{{}}}}" >"$FAKE_GITHUB"; {ASKS}'
    issue_project(project, agent, config=config)
    (said,) = reported(project.run("3"), "notify-failed")
    assert "Could not resolve" in said
    assert said.endswith("; see the issue: gh issue view 12 --repo=ada/invoice")


def test_no_issue_gets_a_comment_unasked(project: Project, github: Path) -> None:
    issue_project(project, CLARITY + ASKS)
    assert project.run("3", "--issue", "ada/invoice#12").exit_code == 3
    assert gh.posted(github) == []


def test_a_command_of_the_repository_needs_approval(project: Project) -> None:
    hook = f'#!/bin/sh\ncat >"{project.kept}/told"\n'
    files = {".ralph/config.toml": 'notify.command = ["./hook.sh"]\n', "hook.sh": hook}
    project.plan("First task", files=files).agent(QUESTION)
    project.file("hook.sh").chmod(0o755)
    refused = project.run("2")
    assert (refused.exit_code, "notify.command" in refused.stderr) == (78, True)
    assert project.tell("allow", "--yes").exit_code == 0
    assert project.run("2").exit_code == 3
    assert json.loads((project.kept / "told").read_text(encoding="utf-8"))["event"] == "question"


def test_a_start_that_needs_approval_reports_it(
    project: Project, own_settings: Callable[[str], None]
) -> None:
    own_settings(f"[notify]\ncommand = {keep_in(project, 'told')}\n")
    files = {".ralph/config.toml": 'on_pr_ready = ["make-it"]\n'}
    project.plan("First task", files=files).agent(QUESTION)
    assert project.run("2").exit_code == 78
    (payload,) = kept(project, "told")
    assert (payload["event"], payload["run"]) == ("approval", "")
    assert "on_pr_ready" in payload["text"]
    assert payload["command"] == f"cd {project.repository} && ralph allow"


def test_a_relative_command_of_the_users_own_does_not_run_the_repositorys_file(
    project: Project, own_settings: Callable[[str], None]
) -> None:
    own_settings('[notify]\ncommand = ["./hook.sh"]\n')
    hook = f'#!/bin/sh\n: >"{project.kept}/harm"\n'
    project.plan("First task", files={"hook.sh": hook}).agent(QUESTION)
    project.file("hook.sh").chmod(0o755)
    (said,) = reported(project.run("2"), "notify-failed")
    assert "give its whole path, such as ~/bin/hook.sh" in said
    assert not (project.kept / "harm").exists()


@pytest.mark.parametrize("key", ['urls = ["ntfy://localhost/x"]', 'answers = ["github"]'])
def test_a_repository_sends_nothing_to_an_address_of_its_own(project: Project, key: str) -> None:
    project.plan("First task", files={".ralph/config.toml": f"[notify]\n{key}\n"}).agent("work")
    done = project.run("2")
    name = key.partition(" ")[0]
    assert done.exit_code == 78
    assert f".ralph/config.toml:2: notify.{name} counts in your own settings only" in done.stderr
    assert f"ralph config set --user notify.{name}" in done.stderr


def test_a_command_that_hangs_ends_with_the_run(
    project: Project, own_settings: Callable[[str], None]
) -> None:
    project.make_gate()
    script = f': >"{project.kept}/here"; read -r _ <"{project.kept}/go"'
    own_settings(f"[notify]\ncommand = {json.dumps(['sh', '-c', script])}\n")
    project.agent(QUESTION)
    running = project.start("2")
    running.wait_for("runEnded")
    wait_until(project.kept, (project.kept / "here").exists)
    project.tell("stop", "--now")
    done = running.wait()
    assert done.exit_code == 3
    assert git(project.repository, "status", "--porcelain").strip() in {"", "?? .ralph/"}
