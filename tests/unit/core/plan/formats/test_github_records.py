"""Records of issues: kept as they were, and said in a summary."""

from __future__ import annotations

import json

import pytest

from ralph_ls.core.plan.formats.github import records as module
from ralph_ls.core.plan.formats.github.records import (
    IssueRecord,
    RecordState,
    read_records,
    records_to_bytes,
    to_close_lines,
)
from tests.unit.core.plan.formats.github_issues import day

DONE = IssueRecord(
    number=12, state=RecordState.DONE, at=day(1), title="Letters [x]", commit="a" * 40, is_told=True
)
ASIDE = IssueRecord(number=13, state=RecordState.SET_ASIDE, at=day(2), reason="ümläut")


def test_records_are_read_as_they_were_written() -> None:
    known = {12: DONE, 13: ASIDE}
    assert read_records(records_to_bytes(known)) == known


def test_of_too_many_the_newest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_RECORDS", 1)
    assert read_records(records_to_bytes({12: DONE, 13: ASIDE})) == {13: ASIDE}


@pytest.mark.parametrize(
    "data", [b"", b"[]", b"nonsense", b"[" * 100_000, b'{"issues": 1}', b'{"issues": [1]}']
)
def test_a_file_of_another_shape_has_none(data: bytes) -> None:
    assert read_records(data) == {}


@pytest.mark.parametrize(
    "change",
    [{"number": "12"}, {"at": None}, {"at": "x"}, {"at": "2026-01-01"}, {"state": "other"}],
)
def test_what_is_no_record_is_left_out(change: dict[str, object]) -> None:
    found = json.loads(records_to_bytes({12: DONE}))
    found["issues"][0].update(change)
    assert read_records(json.dumps(found).encode()) == {}


def test_a_summary_names_what_to_close_and_how() -> None:
    first, how = to_close_lines([ASIDE, DONE], is_writing=False)
    assert first == "To close:    #12 Letters (x) (aaaaaaaaaa)"
    assert "gh issue close 12" in how
    assert how.endswith("Fixes #12")
    assert "the next run closes" in to_close_lines([DONE], is_writing=True)[1]
    assert to_close_lines([ASIDE], is_writing=False) == ()


def test_a_summary_of_many_counts_the_rest() -> None:
    many = [IssueRecord(number=one, state=RecordState.DONE, at=day(1)) for one in range(1, 14)]
    first, _ = to_close_lines(many, is_writing=True)
    assert first.endswith("#10 and 3 more")
