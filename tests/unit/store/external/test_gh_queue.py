"""The queue by ``gh``: pages, rights, states, and what is said where GitHub does not answer."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.protocol.errors import IssuesMissing, IssuesRefused
from ralph_ls.store.external import gh_queue
from ralph_ls.store.external.gh import find_gh
from ralph_ls.store.external.gh_queue import GithubPlace
from ralph_ls.store.external.supervisor import Supervisor
from tests.engine.project_builder import git
from tests.fakes import gh, github_queue

pytestmark = pytest.mark.slow


class Github:
    """A GitHub, and the ``gh`` that talks to it."""

    def __init__(self, folder: Path) -> None:
        self.database = folder / "github.json"
        self.trouble = folder / "trouble"
        self.root = folder / "work"
        self.around = {
            "GH_TOKEN": "gho_0123456789",
            "FAKE_GITHUB": str(self.database),
            "FAKE_GH_TROUBLE": str(self.trouble),
            "PATH": f"{gh.install(folder / 'bin').parent}{os.pathsep}{os.environ['PATH']}",
        }
        self.trouble.write_text("", encoding="utf-8")
        git(folder, "init", "-q", str(self.root))
        git(self.root, "remote", "add", "origin", "https://github.com/ada/invoice.git")

    def place(self, repository: str | None = None, **around: str) -> GithubPlace:
        found = find_gh(self.root, {**self.around, **around})
        place = gh_queue.find_place(found, repository, Supervisor())
        return replace(place, retry_after=(0.0,))

    def refuses(self, **around: str) -> str:
        with pytest.raises(IssuesMissing) as raised:
            gh_queue.read_queue(self.place(**around), label="ralph", milestone=None)
        return raised.value.message

    def change(self, **fields: Any) -> None:
        found = github_queue.read(self.database)
        found["repositories"]["ada/invoice"].update(fields)
        github_queue.write(self.database, found)


@pytest.fixture
def github(tmp_path: Path) -> Github:
    made = Github(tmp_path)
    github_queue.queue(
        made.database,
        {"bob": "none", "eve": "gone", "tom": "read", "may": "maintain"},
        i12={"title": "First", "comments": [{"body": "hi"}]},
        i13={"title": "Second", "state": "CLOSED"},
        i14={"title": "Pull", "is_pull": True, "state": "CLOSED"},
        i15={"title": "Third", "labels": [], "milestone": "Version 2"},
    )
    return made


def test_the_repository_is_that_of_the_remote_or_of_the_settings(github: Github) -> None:
    place = github.place()
    assert (place.shown, place.full) == ("ada/invoice", "github.com/ada/invoice")
    assert github.place("ada/other").full == "ada/other"
    assert github.place("ghe.example/ada/other").full == "ghe.example/ada/other"


def test_a_thousand_issues_are_read_page_by_page(github: Github) -> None:
    issues = {f"i{one}": {"title": f"t{one}"} for one in range(1, 121)}
    github_queue.queue(
        github.database, **{name: {**one, "created": "x"} for name, one in issues.items()}
    )
    page, more = gh_queue.read_queue(github.place(), label="ralph", milestone=None)
    assert (len(page.issues), more) == (120, 0)
    assert (page.viewer, page.branch) == ("ada", "main")


def test_more_issues_than_are_read_are_counted(
    github: Github, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(gh_queue, "MOST_ISSUES", 50)
    github_queue.queue(github.database, **{f"i{one}": {"created": "x"} for one in range(1, 61)})
    page, more = gh_queue.read_queue(github.place(), label="ralph", milestone=None)
    assert (len(page.issues), more) == (50, 10)


def test_a_milestone_is_known_by_its_title(github: Github) -> None:
    page, _ = gh_queue.read_queue(github.place(), label=None, milestone="version 2")
    assert [one.number for one in page.issues] == [15]
    with pytest.raises(IssuesMissing, match="no open milestone 'x'"):
        gh_queue.read_queue(github.place(), label=None, milestone="x")


def test_an_old_server_is_asked_without_dependencies(github: Github) -> None:
    page, _ = gh_queue.read_queue(github.place(FAKE_GH_OLD="1"), label="ralph", milestone=None)
    assert [one.number for one in page.issues] == [12]


def test_one_issue_comes_with_its_comments_and_a_gone_one_is_none(github: Github) -> None:
    place = github.place()
    assert [one.body for one in gh_queue.read_one(place, 12).comments] == ["hi"]
    assert gh_queue.read_one(place, 99).issues == ()


def test_states_are_known_of_what_is_there(github: Github) -> None:
    place = github.place()
    assert gh_queue.states_of(place, (12, 13, 14, 99)) == {12: True, 13: False, 14: False}
    assert gh_queue.states_of(place, ()) == {}
    github.trouble.write_text("HTTP 401: Bad credentials\n", encoding="utf-8")
    with pytest.raises(IssuesMissing, match="not logged in"):
        gh_queue.states_of(place, (12,))


def test_who_may_triage_is_what_github_says(github: Github) -> None:
    place = github.place()
    logins = ("ada", "grace", "may", "tom", "bob", "eve")
    rights = [gh_queue.triage_right(place, login) for login in logins]
    assert rights == [True, True, True, False, False, False]


def test_a_right_that_github_does_not_say_is_unknown(github: Github) -> None:
    place = github.place()
    github.trouble.write_text("gh: Must have push access (HTTP 403)\n", encoding="utf-8")
    assert gh_queue.triage_right(place, "ada") is None
    assert gh_queue.triage_right(missing(place), "ada") is None


def missing(place: GithubPlace) -> GithubPlace:
    return replace(place, gh=replace(place.gh, program="/nowhere/gh"))


def test_a_commit_is_on_the_branch_where_github_has_it_there(github: Github) -> None:
    github.change(on_branch=["ab1"], known=["ab1", "ab2"])
    place = github.place()
    found = [gh_queue.is_on_branch(place, "main", one) for one in ("ab1", "ab2", "ab3")]
    assert found == [True, False, False]
    assert gh_queue.is_on_branch(missing(place), "main", "ab1") is False


def test_issues_are_claimed_released_commented_and_closed(github: Github) -> None:
    place = github.place()
    gh_queue.claim(place, 12, None)
    gh_queue.claim(place, 12, "wip")
    issue = github_queue.issue_in(github.database, 12)
    assert (issue["assignees"], issue["labels"]) == (["ada"], ["ralph", "wip"])
    gh_queue.release(place, 12, None)
    gh_queue.release(place, 12, "wip")
    gh_queue.comment(place, 12, "`rm`; $(x)\n")
    gh_queue.close(place, 12)
    issue = github_queue.issue_in(github.database, 12)
    assert (issue["assignees"], issue["labels"], issue["state"]) == ([], ["ralph"], "CLOSED")
    assert issue["comments"][-1]["body"] == "`rm`; $(x)\n"


def test_a_write_that_github_refuses_is_said_and_not_repeated(github: Github) -> None:
    place = github.place()
    with pytest.raises(IssuesRefused, match=r"gh issue close 99 failed in ada/invoice"):
        gh_queue.close(place, 99)
    with pytest.raises(IssuesRefused, match="gh issue close 12 failed"):
        gh_queue.close(missing(place), 12)


def test_a_read_is_tried_again_where_the_network_fails(github: Github) -> None:
    place = github.place()
    github.trouble.write_text("gh: HTTP 502\n", encoding="utf-8")
    page, _ = gh_queue.read_queue(place, label="ralph", milestone=None)
    assert len(page.issues) == 1
    assert github.trouble.read_text(encoding="utf-8") == ""


REFUSALS = (
    ("error connecting to api.github.com\n" * 2, "gh cannot reach GitHub after 2 tries"),
    ("gh: API rate limit exceeded for user ID 1. (HTTP 403)\n", "limit of requests is reached"),
    ("HTTP 401: Bad credentials\n", "run: gh auth login"),
    (
        "gh: Could not resolve to a Repository with the name 'x'.\n",
        "private, renamed or deleted",
    ),
    ("unknown flag: --input\n", "update gh"),
    ("gh: something else\n", "gh could not read the issues of ada/invoice: gh: something else"),
)


def test_what_keeps_github_from_answering_is_said_with_the_remedy(github: Github) -> None:
    place = github.place()
    for lines, words in REFUSALS:
        github.trouble.write_text(lines, encoding="utf-8")
        with pytest.raises(IssuesMissing) as raised:
            gh_queue.read_queue(place, label="ralph", milestone=None)
        assert words in raised.value.message


def test_a_repository_without_issues_or_archived_has_no_queue(github: Github) -> None:
    github.change(disabled=True)
    assert "switched off" in github.refuses()
    github.change(disabled=False, archived=True)
    assert "archived on GitHub" in github.refuses()


def test_a_repository_that_was_renamed_is_found_under_its_new_name(github: Github) -> None:
    found = github_queue.read(github.database)
    found["repositories"]["ada/bill"] = found["repositories"].pop("ada/invoice")
    github_queue.write(github.database, {**found, "renamed": {"ada/invoice": "ada/bill"}})
    page, _ = gh_queue.read_queue(github.place(), label="ralph", milestone=None)
    assert page.repository == "ada/bill"
    github_queue.write(github.database, found)
    assert "cannot see the repository ada/invoice" in github.refuses()


def test_without_a_login_or_a_remote_there_is_no_repository(github: Github) -> None:
    with pytest.raises(IssuesMissing, match="run: gh auth login"):
        github.place(GH_TOKEN="")
    git(github.root, "remote", "remove", "origin")
    with pytest.raises(IssuesMissing, match="no remote here is on GitHub"):
        github.place()


def test_a_gh_that_answers_something_else_or_not_at_all(github: Github, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    program = other / "gh"
    for body, words in (
        ("echo '{}'", "gh printed no repository"),
        ("exec sleep 60", "did not answer within"),
        ("exit 3", "it ended with code 3"),
    ):
        program.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
        program.chmod(0o755)
        found = find_gh(
            github.root, {**github.around, "PATH": f"{other}:/bin"}, timeout_seconds=1.0
        )
        with pytest.raises(IssuesMissing, match=words):
            gh_queue.find_place(found, None, Supervisor())
    gone = missing(GithubPlace(gh=found, owner="ada", name="invoice"))
    with pytest.raises(IssuesMissing, match="cannot be run"):
        gh_queue.read_one(gone, 12)
    program.write_text('#!/bin/sh\necho \'{"data": {"repository": {}}}\'\n', encoding="utf-8")
    with pytest.raises(IssuesMissing, match="gave no answer about ada/invoice"):
        gh_queue.read_queue(
            GithubPlace(gh=found, owner="ada", name="invoice"), label="x", milestone=None
        )
