"""Looks at a queue without a run, and the look at one issue right before its agent starts."""

from __future__ import annotations

import os
from typing import Any

import pytest

from ralph_ls.engine.plan.github import GithubSource
from ralph_ls.protocol.run.values import TaskRef
from ralph_ls.store.project.config_file import load_settings
from tests.engine.github.queue_project import MIRROR, QueueProject
from tests.fakes.github_queue import now

pytestmark = pytest.mark.slow

TASK = TaskRef(id="GH-12", title="First")


def test_a_queue_is_shown_as_github_has_it_and_without_github_as_it_was(
    queue: QueueProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue.issues(i12={"title": "First"})
    assert "not read yet" not in queue.project.tell("plan", "--all").stdout
    shown = queue.project.tell("plan", "github")
    assert shown.stdout.startswith("0 of 1 task done. Next: GH-12 First")
    assert not queue.project.file(MIRROR).exists()
    config = queue.project.file(".ralph/config.toml")
    config.parent.mkdir(exist_ok=True)
    config.write_text('[plan.github]\nlabel = "ralph"\n', encoding="utf-8")
    assert "ralph plan github" in queue.project.tell("plan").stderr
    assert "not read yet" in queue.project.tell("plan", "--all").stdout
    doctor = queue.project.tell("doctor").stdout
    assert "the issues on GitHub with label ralph; ralph writes nothing there" in doctor
    assert "gh version 2.83.0" in doctor
    queue.project.file(MIRROR).write_text("- [ ] **GH-12** First\n", encoding="utf-8")
    monkeypatch.setenv("GH_TOKEN", "expired")
    kept = queue.project.tell("plan", "github")
    assert "this is what was read last" in kept.stderr
    assert "First" in kept.stdout


def test_a_preview_has_the_text_of_the_issue(
    queue: QueueProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    comments = [{"author": "grace", "body": "Only on Mondays"}]
    queue.issues(i12={"title": "First", "body": "Find out why.", "comments": comments})
    config = queue.project.file(".ralph/config.toml")
    config.parent.mkdir(exist_ok=True)
    config.write_text('[plan.github]\nlabel = "ralph"\n', encoding="utf-8")
    for words in (("run", "--dry-run"), ("prompt",)):
        shown = queue.project.tell(*words).stdout
        assert "Task: GH-12: First" in shown
        assert "> Find out why." in shown
        assert "> Only on Mondays" in shown
    root = queue.project.repository
    source = GithubSource(root, load_settings(root, os.environ, {}).config, MIRROR, os.environ)
    monkeypatch.setenv("GH_TOKEN", "expired")
    source.look_up("GH-12")
    source.look_up("other")


CHANGES: dict[int, tuple[dict[str, Any], str]] = {
    12: ({}, ""),
    13: ({"state": "CLOSED"}, "it was closed on GitHub meanwhile"),
    14: ({"labels": []}, "it is no longer with the label ralph"),
    15: ({"assignees": ["grace"]}, "assigned to grace"),
    16: (
        {"author": "mallory", "edited": {"by": "mallory", "at": now()}},
        "mallory changed its text after ada let it in",
    ),
}


def test_an_issue_is_read_once_more_before_its_agent_starts(queue: QueueProject) -> None:
    queue.issues(**{f"i{number}": {"title": f"Issue {number}"} for number in CHANGES})
    root = queue.project.repository
    settings = load_settings(root, os.environ, {"paths.plan": "github"})
    found = GithubSource.locate(root, settings, os.environ, resume=False)
    source = GithubSource(root, settings.config, found.path, os.environ)
    n_asked = queue.n_asked()
    assert source.begin(settings, found, resume=False) == []
    source.refresh()
    assert queue.n_asked() == n_asked, "a start reads the queue once"
    for number, (fields, _) in CHANGES.items():
        queue.change(number, **fields)
    for number, (_, why) in CHANGES.items():
        claimed = source.claim(found.text, TaskRef(id=f"GH-{number}", title=""))
        assert claimed.refused.startswith(why)
        assert bool(claimed.refused) is bool(why)
    source.refresh()
    left = {number for number in CHANGES if f"GH-{number}" in source.read()}
    assert left == {12, 13}, "what was closed stays in the mirror of a run"


def test_an_issue_that_is_gone_is_not_taken(queue: QueueProject) -> None:
    queue.issues(i13={"title": "Other"})
    root = queue.project.repository
    settings = load_settings(root, os.environ, {"paths.plan": "github"})
    source = GithubSource(root, settings.config, MIRROR, os.environ)
    assert "it is gone from GitHub" in source.claim("", TASK).refused
