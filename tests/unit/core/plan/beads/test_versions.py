"""What releases of ``bd`` can do, and whether a command has been carried out already."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.formats.beads.bd_output import (
    BeadsVersion,
    format_version,
    keeps_close_reasons,
    read_version,
)
from ralph_ls.core.plan.formats.beads.commands import (
    BeadsCommand,
    add_dependency,
    claim_command,
    close_command,
    commanded_issue,
    is_in_effect,
    note_reason,
    reason_in_notes,
    recreate_commands,
    remove_dependency,
    reopen_command,
    set_status,
)
from ralph_ls.core.plan.formats.beads.evidence import verification_commands
from ralph_ls.core.plan.formats.beads.issues import (
    BeadsDependency,
    BeadsIssue,
    issue_to_raw,
    read_issue,
)
from tests.unit.core.plan.verification.criterion_cases import checked, verification


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
def test_a_release_says_what_it_is(
    printed: str, version: BeadsVersion | None, *, keeps: bool
) -> None:
    assert read_version(printed) == version
    assert keeps_close_reasons(version) is keeps


def test_a_version_is_written_as_it_is_read() -> None:
    assert format_version((0, 34, 1)) == "0.34.1"


WAITS = BeadsIssue(
    id="a",
    title="A",
    status="in_progress",
    notes="n",
    criteria="c",
    priority=3,
    dependencies=(BeadsDependency("b", "blocks"),),
)
BLOCKS = BeadsDependency("b", "blocks")


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
        (claim_command("a"), False),
        (close_command("a", "r"), False),
        (add_dependency("a", BLOCKS), True),
        (add_dependency("a", BeadsDependency("b", "related")), False),
        (remove_dependency("a", "b"), False),
        (remove_dependency("a", "c"), True),
        (recreate_commands(WAITS)[0], True),
        (("reopen", "a"), False),
    ],
)
def test_what_has_been_done_is_not_repeated(command: BeadsCommand, *, is_it: bool) -> None:
    assert is_in_effect(command, WAITS) is is_it
    assert not is_in_effect(command, None)
    assert commanded_issue(command) == "a"


def test_a_command_that_makes_an_issue_without_an_id_names_none() -> None:
    assert commanded_issue(("create", "title")) == ""


def test_notes_give_the_reason_without_what_the_loop_wrote() -> None:
    closed = BeadsIssue(
        id="a", title="A", status="closed", criteria="- it runs", close_reason="Seen"
    )
    noted = reopen_command(closed, "Opened again: it was closed.")[-1]
    assert reason_in_notes(f"- [x] it runs\n{noted}\nSTUCK: Failed") == "- [x] it runs"


def test_where_the_notes_are_the_reason_they_are_written() -> None:
    raw = {"id": "a", "status": "closed", "acceptance_criteria": "it runs (make)", "notes": "Done"}
    issue, _ = read_issue({**raw, "close_reason": "Done", "reason_from_notes": True})
    assert issue is not None
    assert read_issue(issue_to_raw(issue)) == (issue, ())
    (command,) = verification_commands(issue, verification("a", checked("it runs (make)", "make")))
    assert command[:3] == note_reason(issue, "")[:3] == ("update", "a", "--notes")
    assert "- [x] it runs" in command[3]
