"""What releases of ``bd`` can do, and whether a command has been carried out already."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.beads.commands import (
    Command,
    add_dependency,
    claim,
    close,
    create_again,
    is_done,
    issue_of,
    note_reason,
    reason_in_notes,
    remove_dependency,
    reopen,
    set_status,
)
from ralph_ls.core.plan.beads.issues import Dependency, Issue, read_issue, to_raw
from ralph_ls.core.plan.beads.versions import (
    Version,
    keeps_close_reasons,
    read_version,
    say_version,
)
from ralph_ls.core.plan.closing.beads import commands_for
from tests.unit.plan.closing.made import checked, verification


@pytest.mark.parametrize(
    ("printed", "version", "keeps"),
    [
        ('{"version": "0.24.0", "build": "dev"}', (0, 24, 0), False),
        ('{"schema_version": 1, "data": {"version": "0.29.9"}}', (0, 29, 9), False),
        ('{"version": "v0.30.0"}', (0, 30, 0), True),
        ("bd version 0.21.6 (b7ac88f)", (0, 21, 6), False),
        ("bd version 1.0 (Homebrew)", (1, 0, 0), True),
        ('{"version": "dev"}', None, True),
        ("", None, True),
    ],
)
def test_a_release_says_what_it_is(printed: str, version: Version | None, *, keeps: bool) -> None:
    assert read_version(printed) == version
    assert keeps_close_reasons(version) is keeps


def test_a_version_is_written_as_it_is_read() -> None:
    assert say_version((0, 34, 1)) == "0.34.1"


WAITS = Issue(
    id="a",
    title="A",
    status="in_progress",
    notes="n",
    criteria="c",
    priority=3,
    dependencies=(Dependency("b", "blocks"),),
)
BLOCKS = Dependency("b", "blocks")


@pytest.mark.parametrize(
    ("command", "is_it"),
    [
        (set_status("a", "in_progress"), True),
        (set_status("a", "open"), False),
        (("update", "a", "--status", "in_progress", "--notes", "n\n"), True),
        (("update", "a", "--status", "in_progress", "--notes", "m"), False),
        (("update", "a", "--acceptance", "c"), True),
        (("update", "a", "--priority", "2"), False),
        (("update", "a", "--type", "task"), True),
        (claim("a"), False),
        (close("a", "r"), False),
        (add_dependency("a", BLOCKS), True),
        (add_dependency("a", Dependency("b", "related")), False),
        (remove_dependency("a", "b"), False),
        (remove_dependency("a", "c"), True),
        (create_again(WAITS)[0], True),
        (("reopen", "a"), False),
    ],
)
def test_what_has_been_done_is_not_repeated(command: Command, *, is_it: bool) -> None:
    assert is_done(command, WAITS) is is_it
    assert not is_done(command, None)
    assert issue_of(command) == "a"


def test_a_command_that_makes_an_issue_without_an_id_names_none() -> None:
    assert issue_of(("create", "title")) == ""


def test_notes_give_the_reason_without_what_the_loop_wrote() -> None:
    closed = Issue(id="a", title="A", status="closed", criteria="- it runs", close_reason="Seen")
    noted = reopen(closed, "Opened again: it was closed.")[-1]
    assert reason_in_notes(f"- [x] it runs\n{noted}\nSTUCK: Failed") == "- [x] it runs"


def test_where_the_notes_are_the_reason_they_are_written() -> None:
    raw = {"id": "a", "status": "closed", "acceptance_criteria": "it runs (make)", "notes": "Done"}
    issue, _ = read_issue({**raw, "close_reason": "Done", "reason_from_notes": True})
    assert issue is not None
    assert read_issue(to_raw(issue)) == (issue, ())
    (command,) = commands_for(issue, verification("a", checked("it runs (make)", "make")))
    assert command[:3] == note_reason(issue, "")[:3] == ("update", "a", "--notes")
    assert "- [x] it runs" in command[3]
