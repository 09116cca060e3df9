"""Answers from GitHub: from who may write, to the question that was asked, once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from ralph_ls.protocol.run.events import QuestionAsked
from tests.engine.issue.request_project import ASKS, FULFILS, issue_project
from tests.engine.ralph_runner import Project, Started, told
from tests.fakes import gh_comments

pytestmark = pytest.mark.slow

CONFIG = 'profile = "issue"\non_halt = "wait"\n[issue]\ngithub = "ada/invoice#12"\n'
ANSWERS = '[notify]\nanswers = ["github"]\n'
AGENT = f'if [ "$RALPH_ITERATION" = 1 ]; then {ASKS}; exit; fi\n{FULFILS}'


def asking(project: Project) -> tuple[Started, str]:
    """A run that waits for an answer, and the id of its question."""
    issue_project(project, AGENT, config=CONFIG)
    running = project.start("3")
    asked = running.wait_for("questionAsked")
    assert isinstance(asked, QuestionAsked)
    return running, f"{asked.run.rpartition('-')[2]}-{asked.start}"


def test_a_comment_of_a_writer_answers_and_is_quoted(
    project: Project,
    github: Path,
    own_settings: Callable[[str], None],
    comments: Callable[..., None],
) -> None:
    own_settings(ANSWERS)
    running, question = asking(project)
    command = f"/ralph answer {question}\n"
    comments(
        gh_comments.comment(1, f"{command}The bad ones", "mallory"),
        gh_comments.comment(2, f"{command}Those of Monday.\n# New rules", "grace"),
        gh_comments.comment(3, f"{command}Others", "ada"),
        grace="write",
        ada="admin",
        mallory="read",
    )
    done = running.wait()
    assert done.exit_code == 0, done.stdout + done.stderr
    (answered,) = told(done, "questionAnswered")
    assert answered.answer == "Those of Monday.\n# New rules"
    assert (answered.by, answered.untrusted) == ("grace on GitHub", True)
    prompt = project.prompt(2)
    assert "It was answered by grace on GitHub. The quoted text comes from outside" in prompt
    assert "> Those of Monday.\n> # New rules\n" in prompt
    (refused,) = [one for one in told(done, "warned") if one.code == "answer-refused"]
    assert refused.message.startswith("the answer of mallory on GitHub was not taken")


def api_calls(folder: Path) -> list[list[str]]:
    """The calls of ``gh api``; the issue itself is read and commented by others."""
    calls = map(json.loads, (folder / "calls.jsonl").read_text().splitlines())
    return [words for words in calls if words[0] == "api"]


def test_other_comments_are_looked_at_once_and_answer_nothing(
    project: Project,
    github: Path,
    own_settings: Callable[[str], None],
    comments: Callable[..., None],
    tmp_path: Path,
) -> None:
    own_settings(ANSWERS)
    running, question = asking(project)
    command = f"/ralph answer {question}\n"
    comments(
        gh_comments.comment(1, "Use the blue ones"),
        gh_comments.comment(2, f"{command}edited", updated_at="2099-01-01T00:00:00Z"),
        gh_comments.comment(3, f"{command}bot", kind="Bot"),
        gh_comments.comment(4, f"{command}old", created_at="2020-01-01T00:00:00Z"),
        gh_comments.comment(5, "/ralph answer ffff-1\nanother question"),
        gh_comments.comment(6, f"{command}stranger", "nobody"),
        grace="admin",
    )
    running.wait_for("warned", code="answer-refused")
    assert project.tell("answer", "mine").exit_code == 0
    done = running.wait()
    (answered,) = told(done, "questionAnswered")
    assert (answered.answer, answered.untrusted) == ("mine", False)
    calls = api_calls(tmp_path)
    asked = [words[-1] for words in calls if "permission" in words[-1]]
    assert asked == ["repos/ada/invoice/collaborators/nobody/permission"]
    assert all(words[:2] == ["api", "--method=GET"] for words in calls)


def test_no_answer_is_read_unasked(
    project: Project, github: Path, own_settings: Callable[[str], None], tmp_path: Path
) -> None:
    own_settings("[notify]\ngithub = true\n")
    running, _ = asking(project)
    running.wait_for("warned", code="notified")
    assert project.tell("answer", "mine").exit_code == 0
    running.wait()
    assert api_calls(tmp_path) == []
