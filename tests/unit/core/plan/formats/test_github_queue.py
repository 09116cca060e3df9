"""The queue: GitHub, the mirror and the records, whichever has the newest word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ralph_ls.core.plan.formats.github.issues import QueueIssue, QueuePage
from ralph_ls.core.plan.formats.github.mirror import write_mirror
from ralph_ls.core.plan.formats.github.queue import (
    BuiltQueue,
    QueueFacts,
    build_queue,
    unknown_numbers,
)
from ralph_ls.core.plan.formats.github.records import IssueRecord, RecordState
from tests.unit.core.plan.formats.github_issues import RALPH, day, event, issue, labelled, may

WRITTEN = day(10)
"""When the mirror was written last."""


def record(state: RecordState, at: int = 5, number: int = 12) -> IssueRecord:
    return IssueRecord(number=number, state=state, at=day(at), title="Letters get lost")


def page(*issues: QueueIssue) -> QueuePage:
    return QueuePage(
        repository="ada/invoice",
        viewer="ada",
        has_issues=True,
        is_archived=False,
        branch="main",
        total=len(issues),
        issues=issues,
    )


def built(
    *issues: QueueIssue,
    mirror: str = "",
    records: Mapping[int, IssueRecord] | None = None,
    **more: Any,
) -> BuiltQueue:
    given = {"states": {}, "wanted": RALPH, "may": may, "mirror_at": WRITTEN, **more}
    return build_queue(
        QueueFacts(page=page(*issues), mirror=mirror, records=records or {}, **given)
    )


def mirror(*marks: str) -> str:
    """The mirror of issue 12 and more, with their marks."""
    issues = tuple(issue(12 + at) for at in range(len(marks)))
    text = write_mirror("", built(*issues).content)
    for at, mark in enumerate(marks):
        note = "  - Blocked by: no key\n" if mark == "!" else ""
        old = f"- [ ] **GH-{12 + at}** [P1] Letters get lost\n"
        text = text.replace(old, old.replace("[ ]", f"[{mark}]") + note)
    return text


def numbers(found: BuiltQueue) -> list[int]:
    return [one.number for one in found.content.issues]


def test_the_queue_has_what_is_admitted_and_says_why_the_rest_is_not() -> None:
    found = built(
        issue(12),
        issue(13, author="mallory"),
        issue(14, labels=("other",)),
        issue(15),
        refused={15: "it was closed"},
    )
    assert numbers(found) == [12]
    assert [(one.number, one.why[:17]) for one in found.content.ignored] == [
        (13, "opened by mallory"),
        (15, "it was closed"),
    ]
    assert found.content.title == "ada/invoice with the label ralph"


def test_what_was_finished_is_done_until_somebody_wants_it_again() -> None:
    records = {12: record(RecordState.DONE)}
    assert dict(built(issue(12), records=records).content.done) == {12: "Letters get lost"}
    for again in (labelled("ada", 6), event("ReopenedEvent", "bob", 6)):
        found = built(issue(12, events=(again,)), records=records, mirror=mirror("x"))
        assert (found.records, found.content.done, found.content.again) == ({}, {}, {12})
        assert [one.id for one in found.again] == ["GH-12"]
    found = built(issue(12, events=(labelled("ada", 4),)), records=records)
    assert found.content.again == set()


def test_what_was_claimed_is_not_wanted_again_by_its_label() -> None:
    records = {12: record(RecordState.CLAIMED)}
    found = built(issue(12, events=(labelled("ada", 6),)), records=records, mirror=mirror(" "))
    assert found.records == records


def test_a_mark_in_the_mirror_that_is_newer_becomes_a_record() -> None:
    found = built(issue(12), issue(13), mirror=mirror("x", "!"))
    assert found.records[12].state is RecordState.DONE
    assert (found.records[13].state, found.records[13].reason) == (RecordState.SET_ASIDE, "no key")
    assert found.records[12].at == WRITTEN
    claimed = {12: record(RecordState.CLAIMED)}
    assert built(issue(12), mirror=mirror("x"), records=claimed).records[12].state is (
        RecordState.DONE
    )


def test_a_mark_that_was_taken_away_takes_its_record_away() -> None:
    done = {12: record(RecordState.DONE)}
    assert built(issue(12), mirror=mirror(" "), records=done).records == {}
    newer = {12: record(RecordState.DONE, at=11)}
    assert built(issue(12), mirror=mirror(" "), records=newer).records == newer
    assert built(issue(12), mirror=mirror("x"), records=done).records == done


def test_an_issue_that_waits_elsewhere_was_not_set_aside() -> None:
    waiting = issue(12, waits_for={7: True})
    text = write_mirror("", built(waiting).content)
    found = built(waiting, mirror=text)
    assert found.records == {}
    assert found.content.waits[12] == (7,)


def test_what_is_closed_needs_nothing_more_and_stays_in_the_mirror_of_its_run() -> None:
    text, done = mirror("x", " ", " "), {12: record(RecordState.DONE)}
    found = built(mirror=text, records=done, states={13: False, 14: True})
    assert found.records[12].state is RecordState.CLOSED
    assert [one.id for one in found.closed] == ["GH-13"]
    assert [one.id for one in found.left] == ["GH-14"]
    assert found.content.closed == {12, 13}
    assert built(mirror=text, records=done, keeps_closed=False).content.closed == ()


def test_what_is_done_and_left_the_queue_is_still_to_be_closed() -> None:
    done = {12: record(RecordState.DONE)}
    found = built(records=done, states={12: True})
    assert found.records == done
    assert dict(found.content.done) == {12: "Letters get lost"}


def test_what_was_closed_here_and_is_open_again_without_a_word_is_done() -> None:
    closed = {12: record(RecordState.CLOSED)}
    assert dict(built(issue(12), records=closed).content.done) == {12: "Letters get lost"}


def test_an_issue_waits_for_what_its_text_and_github_name() -> None:
    waiting = issue(12, body="Blocked by #13, #7, #8, #12, #9", waits_for={9: False, 6: True})
    found = built(waiting, issue(13), states={7: True, 8: False})
    assert found.content.waits[12] == (6, 13, 7)


def test_only_states_that_matter_and_are_unknown_are_asked_for() -> None:
    waiting = issue(12, body="Blocked by #13, #7, #9", waits_for={9: True})
    records = {5: record(RecordState.DONE, number=5), 4: record(RecordState.CLOSED, number=4)}
    text = write_mirror("", built(issue(3), issue(12)).content)
    assert unknown_numbers(page(waiting, issue(13)), records, text) == (3, 5, 7)
