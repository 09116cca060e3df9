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


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, ""),
        ({"state": "CLOSED"}, "it was closed on GitHub meanwhile"),
        ({"labels": []}, "it is no longer with the label ralph"),
        ({"assignees": ["grace"]}, "assigned to grace"),
        (
            {"author": "mallory", "edited": {"by": "mallory", "at": now()}},
            "mallory changed its text after ada let it in",
        ),
    ],
)
def test_an_issue_is_read_once_more_before_its_agent_starts(
    queue: QueueProject, fields: dict[str, Any], why: str
) -> None:
    queue.issues(i12={"title": "First"})
    root = queue.project.repository
    settings = load_settings(root, os.environ, {"paths.plan": "github"})
    found = GithubSource.locate(root, settings, os.environ, resume=False)
    source = GithubSource(root, settings.config, found.path, os.environ)
    assert source.begin(settings, found, resume=False) == []
    source.refresh()
    queue.change(12, **fields)
    claimed = source.claim(found.text, TASK)
    assert claimed.refused.startswith(why)
    assert bool(claimed.refused) is bool(why)
    source.refresh()
    assert ("GH-12" in source.read()) is not bool(why) or fields.get("state") == "CLOSED"


def test_an_issue_that_is_gone_is_not_taken(queue: QueueProject) -> None:
    queue.issues(i13={"title": "Other"})
    root = queue.project.repository
    settings = load_settings(root, os.environ, {"paths.plan": "github"})
    source = GithubSource(root, settings.config, MIRROR, os.environ)
    assert "it is gone from GitHub" in source.claim("", TASK).refused
