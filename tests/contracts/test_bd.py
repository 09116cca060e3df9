"""What the loop relies on in ``bd``: the fake keeps it in each shape, and so does a real one.

``TEST_BD`` names a real one, which is then asked the same.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.core.plan.formats.beads.bd_output import (
    keeps_close_reasons,
    read_error,
    read_object,
    read_output,
    read_version,
)
from ralph_ls.core.plan.formats.beads.issues import BeadsIssue, read_issue
from tests.fakes.bd import install, seed

SHAPES = ("bare", "items", "data")
REAL = [os.environ["TEST_BD"]] if "TEST_BD" in os.environ else []

pytestmark = pytest.mark.slow


@dataclass
class Program:
    """A ``bd`` and a fresh database."""

    path: str
    root: Path
    around: Mapping[str, str]

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.path, *words, "--json"],
            cwd=self.root,
            env={**os.environ, **self.around},
            capture_output=True,
            text=True,
            check=False,
        )

    def ask(self, *words: str) -> list[Mapping[str, Any]]:
        done = self.run(*words)
        assert done.returncode == 0, done.stderr
        answer = read_output(done.stdout)
        assert (answer.error, answer.oddities) == (None, ())
        return list(answer.items)

    def create(self, title: str, *words: str) -> str:
        (made,) = self.ask("create", title, *words)
        return str(made["id"])

    def show(self, issue_id: str) -> BeadsIssue:
        (shown,) = self.ask("show", issue_id)
        issue, oddities = read_issue(shown)
        assert issue is not None
        assert oddities == ()
        return issue

    def ids(self, *words: str) -> list[str]:
        return [item["id"] for item in self.ask(*words)]

    def refuses(self, *words: str) -> str:
        done = self.run(*words)
        assert done.returncode == 1
        said = read_error(done.stderr, done.stdout)
        assert said
        return said


@pytest.fixture(params=[*SHAPES, *REAL])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Program]:
    """A program in a repository that has no database yet."""

    def made() -> Program:
        root = tmp_path / "work"
        root.mkdir()
        subprocess.run(["git", "init", "-q", root], check=True)
        if request.param in SHAPES:
            path = str(install(tmp_path / "bin"))
            return Program(path, root, {"FAKE_BD_SHAPE": request.param})
        return Program(request.param, root, {})

    return made


@pytest.fixture
def bd(make: Callable[[], Program]) -> Program:
    program = make()
    program.run("init")
    return program


def test_without_a_database_it_fails_and_says_so(make: Callable[[], Program]) -> None:
    assert "database" in make().refuses("list", "--status", "open")


def test_an_empty_database_has_no_issues(bd: Program) -> None:
    assert bd.ids("ready", "--limit", "5") == []
    assert bd.ids("list", "--status", "open", "--limit", "0") == []
    assert bd.ids("blocked") == []


def test_what_is_written_comes_back_as_it_was(bd: Program) -> None:
    text = 'Ünïcödé "quotes"\n- [ ] runs (`make test` - exit 0)\n$HOME; rm'
    words = ("--type", "bug", "--priority", "0", "--description", text, "--acceptance", text)
    issue_id = bd.create("漢字 & more", *words, "--design", "so")
    bd.ask("update", issue_id, "--notes", "- begins with a dash")
    issue = bd.show(issue_id)
    assert (issue.title, issue.kind, issue.priority) == ("漢字 & more", "bug", 0)
    assert (issue.description, issue.criteria, issue.design) == (text, text, "so")
    assert issue.notes == "- begins with a dash"
    assert (issue.status, issue.close_reason) == ("open", "")


def test_notes_replace_what_was_noted(bd: Program) -> None:
    issue_id = bd.create("a")
    bd.ask("update", issue_id, "--notes", "one")
    bd.ask("update", issue_id, "--notes", "two", "--status", "in_progress")
    issue = bd.show(issue_id)
    assert (issue.notes, issue.status) == ("two", "in_progress")


def test_ready_has_what_is_open_and_waits_for_nothing(bd: Program) -> None:
    low, high = bd.create("low", "--priority", "3"), bd.create("high", "--priority", "0")
    waits = bd.create("waits", "--priority", "0")
    begun = bd.create("begun")
    off = bd.create("off")
    bd.run("dep", "add", waits, low)
    bd.ask("update", begun, "--claim")
    bd.ask("update", off, "--status", "deferred")
    assert sorted(bd.ids("ready", "--limit", "10")) == sorted([high, low])
    assert bd.ids("ready", "--limit", "1") == [high]
    assert bd.ids("blocked") == [waits]
    assert bd.show(begun).status == "in_progress"
    bd.ask("close", low, "--reason", "seen (make test - exit 0)")
    assert sorted(bd.ids("ready", "--limit", "10")) == sorted([high, waits])


def test_lists_are_by_status(bd: Program) -> None:
    made = {status: bd.create(status) for status in ("open", "in_progress", "blocked", "deferred")}
    for status, issue_id in made.items():
        bd.ask("update", issue_id, "--status", status)
    closed = bd.create("closed")
    bd.ask("close", closed, "--reason", "why")
    for status, issue_id in {**made, "closed": closed}.items():
        assert bd.ids("list", "--status", status) == [issue_id]
    assert bd.show(closed).close_reason == "why"


def test_a_list_without_an_explicit_limit_ends_at_fifty(bd: Program) -> None:
    ids = [f"bd-x{nth}" for nth in range(52)]
    if bd.path in REAL:
        for issue_id in ids:
            bd.create("t", "--id", issue_id)
    else:
        seed(bd.root, *({"id": issue_id} for issue_id in ids))
    assert len(bd.ids("list", "--status", "open")) == 50
    assert sorted(bd.ids("list", "--status", "open", "--limit", "0")) == sorted(ids)
    bd.ask("close", ids[0], "--reason", "r")
    assert sorted(bd.ids("list", "--all", "--limit", "0")) == sorted(ids)


def test_dependencies_come_and_go(bd: Program) -> None:
    a, b, epic = bd.create("a"), bd.create("b"), bd.create("e", "--type", "epic")
    part = bd.create("part", "--parent", epic)
    bd.run("dep", "add", a, b)
    bd.run("dep", "add", a, epic, "--type", "related")
    assert bd.show(a).dependencies == tuple(sorted([(b, "blocks"), (epic, "related")]))
    assert bd.show(part).parent == epic
    assert "cycle" in bd.refuses("dep", "add", b, a)
    bd.run("dep", "remove", a, b)
    assert bd.show(a).needs == ()
    assert bd.run("dep", "add", b, a).returncode == 0


def test_an_issue_that_waits_is_not_closed(bd: Program) -> None:
    a, b = bd.create("a"), bd.create("b")
    bd.run("dep", "add", a, b)
    done = bd.run("close", a, "--reason", "done")
    assert b in done.stdout + done.stderr
    assert bd.show(a).status == "open"


def test_closing_without_a_reason_says_closed(bd: Program) -> None:
    issue_id = bd.create("a")
    bd.ask("close", issue_id)
    assert bd.show(issue_id).close_reason == "Closed"


def test_what_is_unknown_or_wrong_changes_nothing(bd: Program) -> None:
    issue_id = bd.create("a")
    bd.refuses("show", "bd-nosuch")
    bd.refuses("list", "--status", "nosuch")
    bd.refuses("update", issue_id, "--priority", "9")
    bd.refuses("update", issue_id, "--type", "nosuch")
    bd.refuses("update", issue_id, "--nosuch")
    bd.refuses("create", "b", "--id", issue_id)
    issue = bd.show(issue_id)
    assert (issue.priority, issue.kind) == (2, "task")
    assert bd.ids("list", "--status", "open") == [issue_id]


def test_a_deleted_issue_is_gone_with_its_links_and_can_be_made_again(bd: Program) -> None:
    a = bd.create("a")
    b = bd.create("b", "--deps", f"blocks:{a}", "--description", f"after {a}")
    bd.run("delete", a)
    assert bd.show(a).title == "a"
    bd.run("delete", a, "--force")
    bd.refuses("show", a)
    assert (bd.show(b).needs, bd.show(b).description) == ((), f"after [deleted:{a}]")
    assert bd.create("a", "--id", a) == a


def test_somebody_elses_issue_cannot_be_claimed(bd: Program) -> None:
    issue_id = bd.create("a")
    bd.ask("update", issue_id, "--claim")
    assert bd.ids("update", issue_id, "--claim") == [issue_id]
    bd.ask("update", issue_id, "--assignee", "grace")
    done = bd.run("update", issue_id, "--claim")
    assert "grace" in done.stdout + done.stderr


def test_the_numbers_give_the_state_of_all(bd: Program) -> None:
    first = bd.create("a")
    bd.create("b")
    bd.ask("close", first, "--reason", "r")
    found = read_object(bd.run("stats").stdout)
    assert (found["total_issues"], found["open_issues"], found["closed_issues"]) == (2, 1, 1)
    assert found["ready_issues"] == 1


def test_many_at_once_lose_nothing(bd: Program) -> None:
    issue_id = bd.create("a")
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda nth: bd.create(f"n{nth}"), range(8)))
        others = pool.map(lambda one: bd.run("dep", "add", issue_id, one).returncode, made)
        assert set(others) == {0}
    assert sorted(bd.show(issue_id).needs) == sorted(made)


def of_release(tmp_path: Path, version: str) -> Program:
    program = Program(str(install(tmp_path / "bin")), tmp_path, {"FAKE_BD_VERSION": version})
    program.run("init")
    return program


def test_it_says_which_release_it_is(bd: Program) -> None:
    version = read_version(bd.run("version").stdout)
    assert version is not None
    assert keeps_close_reasons(version)


def test_releases_before_0_30_forget_why_an_issue_was_closed(tmp_path: Path) -> None:
    bd = of_release(tmp_path, "0.24.0")
    issue_id = bd.create("a")
    (closed,) = bd.ask("close", issue_id, "--reason", "seen (make test - exit 0)")
    assert "close_reason" not in closed
    assert bd.show(issue_id).close_reason == ""
    assert read_version(bd.run("version").stdout) == (0, 24, 0)


def test_release_0_34_counts_dependencies_in_lists_and_refuses_known_ones(tmp_path: Path) -> None:
    bd = of_release(tmp_path, "0.34.0")
    a, b = bd.create("a"), bd.create("b")
    bd.run("dep", "add", a, b)
    bd.ask("close", b, "--reason", "r")
    bd.ask("close", a, "--reason", "r")
    listed = {one["id"]: one for one in bd.ask("list", "--all", "--limit", "0")}
    assert ("dependencies" in listed[a], listed[a]["dependency_count"]) == (False, 1)
    assert bd.show(a).dependencies == ((b, "blocks"),)
    assert "UNIQUE constraint failed" in bd.refuses("dep", "add", a, b)


@pytest.mark.parametrize(("how", "title"), [("update:1", "a"), ("!update:1", "b")])
def test_the_fake_may_fail_before_or_after_it_has_done_something(
    tmp_path: Path, how: str, title: str
) -> None:
    bd = of_release(tmp_path, "1.0.0")
    issue_id = bd.create("a")
    bd.around = {"FAKE_BD_FAILS": how}
    bd.refuses("update", issue_id, "--title", "b")
    assert bd.show(issue_id).title == title
    bd.ask("update", issue_id, "--title", "c")
    assert bd.show(issue_id).title == "c"


@pytest.mark.parametrize("shape", SHAPES)
def test_the_shapes_of_the_fake_are_what_they_are_called(tmp_path: Path, shape: str) -> None:
    program = Program(str(install(tmp_path / "bin")), tmp_path, {"FAKE_BD_SHAPE": shape})
    program.run("init")
    value = json.loads(program.run("list").stdout)
    wanted = {"bare": [], "items": {"schema_version": 1, "items": []}}
    assert value == wanted.get(shape, {"schema_version": 1, "data": []})
