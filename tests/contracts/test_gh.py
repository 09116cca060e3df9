"""What the loop relies on in ``gh``: the fake keeps it, and so does a real one.

``TEST_GH`` names a real one, which is then asked the same, of a GitHub on this machine.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.core.plan.formats.request import read_github_issue
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.plan import IssueReference, read_reference
from ralph_ls.store.external import gh_queue
from ralph_ls.store.external.gh import (
    FIELDS,
    Gh,
    comment_words,
    explain_failure,
    find_gh,
    open_pull_request,
    view_issue,
)
from ralph_ls.store.external.supervisor import Supervisor
from tests.fakes import gh as fake
from tests.fakes import github, github_queue

REAL = [os.environ["TEST_GH"]] if "TEST_GH" in os.environ else []

pytestmark = pytest.mark.slow

ISSUE: Mapping[str, Any] = {
    "title": 'Letters "get" lost: $HOME; rm & ümläut',
    "body": "First line\r\n\r\n- [ ] box\n```\n---CLARITY_STATUS---\n```\n漢字",
    "comments": [
        {"author": "grace", "body": "Only on Mondays", "association": "MEMBER"},
        {"author": "spam", "body": "Buy", "hidden": True},
    ],
}


@dataclass
class Program:
    """A ``gh``, a working folder, and a GitHub."""

    gh: Gh
    around: dict[str, str]
    database: Path
    host: str

    def named(self, repository: str, number: int) -> IssueReference:
        prefix = f"{self.host}/" if self.host else ""
        return IssueReference(number=number, repository=f"{prefix}{repository}")

    def run(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.gh.program, *words],
            cwd=self.gh.root,
            env=dict(self.gh.environment),
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )

    def refuses(
        self, reference: IssueReference, *, fields: str = ",".join(FIELDS)
    ) -> tuple[int, str]:
        repository = (f"--repo={reference.repository}",) if reference.repository else ()
        done = self.run("issue", "view", str(reference.number), *repository, "--json", fields)
        assert done.returncode != 0
        assert done.stdout == ""
        return done.returncode, explain_failure(reference, done.returncode, done.stderr)


@pytest.fixture(params=["fake", *REAL])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    """A program with these variables around it."""
    root, database = tmp_path / "work", tmp_path / "github.json"
    root.mkdir()
    subprocess.run(["git", "init", "-q", root], check=True)
    fake.seed(
        database, i12=ISSUE, i13={"title": "Closed", "state": "CLOSED"}, i14={"is_pull": True}
    )
    with github.serving(database) as proxy:
        is_fake = request.param == "fake"
        program = fake.install(tmp_path / "bin") if is_fake else Path(request.param)
        own = {"FAKE_GITHUB": str(database)} if is_fake else {"http_proxy": proxy}

        def made(**around: str) -> Program:
            environment = {
                "HOME": str(tmp_path),
                "GH_TOKEN": "gho_0123456789",
                **own,
                **around,
                "PATH": f"{program.parent}{os.pathsep}{os.environ['PATH']}",
            }
            found = find_gh(root, environment)
            assert Path(found.program).name == "gh"
            return Program(found, environment, database, "" if is_fake else github.HOST)

        yield made


def test_an_issue_comes_as_it_was_written(make: Any) -> None:
    program = make()
    issue = view_issue(program.gh, program.named("ada/invoice", 12))
    assert (issue.number, issue.title, issue.is_open) == (12, ISSUE["title"], True)
    assert issue.body == ISSUE["body"].replace("\r\n", "\n")
    (comment,) = issue.comments
    assert (comment.author, comment.role, comment.at) == ("grace", "member", "2026-01-31")
    assert comment.body == "Only on Mondays"
    reference = read_reference(issue.url)
    assert reference is not None
    assert reference == program.named("ada/invoice", 12)


def test_only_the_fields_that_were_asked_for_are_given(make: Any) -> None:
    program = make()
    words = ("issue", "view", "12", f"--repo={program.named('ada/invoice', 12).repository}")
    done = program.run(*words, "--json", ",".join(FIELDS))
    assert set(json.loads(done.stdout)) == set(FIELDS)
    assert read_github_issue(done.stdout) is not None
    assert done.stderr == ""


@pytest.mark.parametrize("base", ["main", None])
def test_a_pull_request_is_opened_once(make: Any, base: str | None) -> None:
    program = make(GH_HOST=github.HOST)
    url = f"https://{program.host or 'github.com'}/ada/invoice.git"
    subprocess.run(["git", "remote", "add", "origin", url], cwd=program.gh.root, check=True)
    opens = partial(
        open_pull_request,
        program.gh,
        head="ralph/one",
        base=base,
        title="A $HOME",
        body="- a\n",
        draft=True,
    )
    opened = opens()
    assert opened.endswith("/ada/invoice/pull/100")
    assert opens() == opened
    (pull,) = json.loads(program.database.read_text())["repositories"]["ada/invoice"]["pulls"]
    assert pull == {
        "number": 100,
        "head": "ralph/one",
        "owner": "ada",
        "base": "main",
        "title": "A $HOME",
        "body": "- a\n",
        "draft": True,
    }


def test_a_pull_request_that_cannot_be_opened_is_a_failure(make: Any) -> None:
    program = make(GH_TOKEN="expired", GH_HOST=github.HOST)
    url = f"https://{program.host or 'github.com'}/ada/invoice.git"
    subprocess.run(["git", "remote", "add", "origin", url], cwd=program.gh.root, check=True)
    with pytest.raises(RalphError, match=r"opened no pull request for one: .*Bad credentials"):
        open_pull_request(program.gh, head="one", base="main", title="A", body="")


def test_a_closed_issue_says_so(make: Any) -> None:
    program = make()
    assert view_issue(program.gh, program.named("ada/invoice", 13)).is_open is False


def test_a_pull_request_is_known_by_its_address(make: Any) -> None:
    program = make()
    done = program.run(
        "issue",
        "view",
        "14",
        f"--repo={program.named('ada/invoice', 14).repository}",
        "--json",
        ",".join(FIELDS),
    )
    issue = read_github_issue(done.stdout)
    assert issue is not None
    assert issue.is_pull_request


def test_a_comment_comes_from_standard_input(make: Any) -> None:
    program = make()
    body = "```text\n$(rm -rf /) 'or' @everyone\n```\n"
    words = comment_words(program.gh, program.named("ada/invoice", 12))
    done = program.run(*words[1:], stdin=body)
    assert done.returncode == 0, done.stderr
    assert "/ada/invoice/issues/12#issuecomment-" in done.stdout
    (told,) = fake.posted(program.database)
    assert (told["repository"], told["number"]) == ("ada/invoice", 12)
    assert told["body"].strip() == body.strip()


def test_an_issue_that_is_not_there(make: Any) -> None:
    program = make()
    _, said = program.refuses(program.named("ada/invoice", 99))
    assert said.startswith("there is no issue #99 of ")


def test_a_repository_that_is_not_there(make: Any) -> None:
    program = make()
    _, said = program.refuses(program.named("ada/nothing", 1))
    assert said.startswith("your GitHub account cannot see the repository ")


def test_nobody_is_logged_in(make: Any) -> None:
    program = make(GH_TOKEN="")
    code, said = program.refuses(IssueReference(number=12, repository="ada/invoice"))
    assert code == 4
    assert "run: gh auth login" in said


def test_a_login_that_is_over(make: Any) -> None:
    program = make(GH_TOKEN="expired")
    _, said = program.refuses(program.named("ada/invoice", 12))
    assert "not logged in" in said
    assert "gh auth login" in said


def test_a_folder_without_a_remote(make: Any) -> None:
    _, said = make().refuses(IssueReference(number=12))
    assert "name it: ralph run --issue owner/name#123" in said


def test_a_folder_whose_remote_is_elsewhere(make: Any) -> None:
    program = make()
    remote = ("git", "remote", "add", "origin", "https://git.example/ada/invoice.git")
    subprocess.run(remote, cwd=program.gh.root, check=True)
    _, said = program.refuses(IssueReference(number=12))
    assert "no remote here" in said or "not logged in" in said


def test_a_field_that_it_does_not_know(make: Any) -> None:
    program = make()
    _, said = program.refuses(program.named("ada/invoice", 12), fields="title,colour")
    assert "update gh" in said


def test_a_queue_is_read_with_the_rights_of_people(make: Any) -> None:
    program = make()
    github_queue.queue(
        program.database,
        {"tom": "triage", "mallory": "read"},
        i12={"title": "First", "comments": [{"body": "hi"}]},
        i13={"title": "Second", "milestone": "Version 2"},
    )
    found = github_queue.read(program.database)
    found["repositories"]["ada/invoice"]["on_branch"] = ["abc"]
    github_queue.write(program.database, found)
    name = program.named("ada/invoice", 1).repository
    place = gh_queue.find_place(program.gh, name, Supervisor())
    page, more = gh_queue.read_queue(place, label="ralph", milestone=None)
    assert ([one.title for one in page.issues], more) == (["First", "Second"], 0)
    page, _ = gh_queue.read_queue(place, label=None, milestone="Version 2")
    assert [one.number for one in page.issues] == [13]
    assert gh_queue.states_of(place, (12, 99)) == {12: True}
    assert [one.body for one in gh_queue.read_one(place, 12).comments] == ["hi"]
    assert gh_queue.read_one(place, 99).issues == ()
    rights = [gh_queue.triage_right(place, one) for one in ("ada", "tom", "mallory", "x")]
    assert rights == [True, True, False, False]
    assert gh_queue.is_on_branch(place, "main", "abc")
    assert not gh_queue.is_on_branch(place, "main", "abd")


@pytest.mark.parametrize(
    "words",
    [
        ("issue", "close", "12", "--reason=completed"),
        ("issue", "edit", "12", "--add-assignee=@me"),
        ("issue", "edit", "12", "--remove-label=wip"),
        ("issue", "comment", "12", "--body-file=-"),
        ("repo", "view", "--json=nameWithOwner,url"),
        ("api", "graphql", "--hostname=github.example", "--input=-"),
    ],
)
def test_the_flags_of_a_queue_are_known(make: Any, words: tuple[str, ...]) -> None:
    done = make(GH_TOKEN="").run(*words)
    assert done.returncode != 0
    assert "unknown" not in done.stderr
    assert "nvalid argument" not in done.stderr
