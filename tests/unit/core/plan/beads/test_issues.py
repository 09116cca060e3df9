"""Issues in the output of ``bd``, and in a snapshot."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.formats.beads.bd_output import (
    BeadsOutput,
    read_error,
    read_object,
    read_output,
)
from ralph_ls.core.plan.formats.beads.issues import (
    BeadsDependency,
    BeadsIssue,
    BeadsOddity,
    is_usable_id,
    issue_to_raw,
    lacks_dependencies,
    read_issue,
)
from ralph_ls.core.plan.formats.beads.snapshot import (
    FIRST_LINE,
    BeadsSnapshot,
    snapshot_from_text,
    snapshot_to_text,
    take_snapshot,
)

ONE = {"id": "bd-1", "title": "One"}


def issue_of(**raw: Any) -> BeadsIssue:
    issue, oddities = read_issue({"id": "bd-1", **raw})
    assert issue is not None
    assert oddities == ()
    return issue


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        pytest.param('[{"id":"bd-1"},{"id":"bd-2"}]', ["bd-1", "bd-2"], id="bare"),
        pytest.param('{"schema_version":1,"items":[{"id":"bd-1"}]}', ["bd-1"], id="items"),
        pytest.param('{"schema_version":1,"data":[{"id":"bd-1"}]}', ["bd-1"], id="data"),
        pytest.param('{"schema_version":1,"data":{"id":"bd-1"}}', ["bd-1"], id="data of one"),
        pytest.param('{"data":{"items":[{"id":"bd-1"}]}}', ["bd-1"], id="both"),
        pytest.param('{"issues":[{"id":"bd-1"}]}', ["bd-1"], id="issues"),
        pytest.param('{"id":"bd-1","schema_version":1}', ["bd-1"], id="object"),
        pytest.param('{"id":"bd-1","items":[]}', ["bd-1"], id="an issue that has items"),
        pytest.param('Warning: old\n[{"id":"bd-1"}]\n', ["bd-1"], id="behind a warning"),
        pytest.param('{"schema_version":1,"items":null}', [], id="no items"),
        pytest.param("null", [], id="null"),
        pytest.param("[]", [], id="empty"),
        pytest.param(" \n", [], id="nothing"),
    ],
)
def test_an_answer_is_read_in_each_shape(text: str, ids: list[str]) -> None:
    answer = read_output(text)
    assert [item["id"] for item in answer.items] == ids
    assert (answer.oddities, answer.error) == ((), None)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        pytest.param(
            "No  issues\nfound",
            BeadsOutput(
                oddities=(BeadsOddity("no-json", "bd did not print JSON: No issues found"),)
            ),
            id="prose",
        ),
        pytest.param(
            "[1,\n[2",
            BeadsOutput(oddities=(BeadsOddity("no-json", "bd did not print JSON: [1, [2"),)),
            id="torn",
        ),
        pytest.param(
            '[{"id":"bd-1"},2,"x"]',
            BeadsOutput(
                items=({"id": "bd-1"},),
                oddities=(
                    BeadsOddity("odd-answer", "2 of the entries that bd printed are not issues"),
                ),
            ),
            id="strange items",
        ),
        pytest.param(
            "7",
            BeadsOutput(
                oddities=(
                    BeadsOddity("odd-answer", "1 of the entries that bd printed are not issues"),
                )
            ),
            id="a number",
        ),
        pytest.param(
            '{"b":1,"a":2}',
            BeadsOutput(
                oddities=(
                    BeadsOddity("odd-answer", "bd printed an object without issues; it has a, b"),
                )
            ),
            id="another object",
        ),
        pytest.param(
            "{}",
            BeadsOutput(
                oddities=(
                    BeadsOddity(
                        "odd-answer", "bd printed an object without issues; it has nothing"
                    ),
                )
            ),
            id="an empty object",
        ),
        pytest.param('{"error":"no  way"}', BeadsOutput(error="no way"), id="an error"),
        pytest.param(
            '{"data":{"error":"no","hint":"go"}}',
            BeadsOutput(error="no (go)"),
            id="an error inside",
        ),
    ],
)
def test_an_answer_that_is_none_is_reported(text: str, answer: BeadsOutput) -> None:
    assert read_output(text) == answer


@pytest.mark.parametrize(
    ("stderr", "stdout", "said"),
    [
        ('{"error": "no issue found"}', "", "no issue found"),
        ('{"error": {"message": "deep"}}', "", "deep"),
        ('{"error": "no", "hint": ""}', "", "no"),
        ("", '{"error": "on stdout"}', "on stdout"),
        ("warning: x\nError: it\n  broke\n", "", "it"),
        ("first\nlast\n", "[]", "last"),
        ("", "", ""),
        ('{"error": 7}', "", '{"error": 7}'),
    ],
)
def test_an_error_is_in_its_own_words(stderr: str, stdout: str, said: str) -> None:
    assert read_error(stderr, stdout) == said


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"total_issues":3}', {"total_issues": 3}),
        ('{"schema_version":1,"data":{"summary":{"a":1}}}', {"summary": {"a": 1}, "a": 1}),
        ("[]", {}),
        ("x", {}),
    ],
)
def test_the_object_of_an_answer(text: str, value: object) -> None:
    assert read_object(text) == value


@given(st.one_of(st.text(), st.recursive(st.none() | st.integers() | st.text(), st.lists)))
def test_reading_answers_never_fails(value: object) -> None:
    text = value if isinstance(value, str) else json.dumps(value)
    read_output(text)
    read_error(text, text)
    read_object(text)
    snapshot_to_text(snapshot_from_text(text)).encode()


@pytest.mark.parametrize(
    ("text", "is_usable"),
    [
        *[(text, True) for text in ("bd-a1b2", "x.1.2_3", "7")],
        *[(text, False) for text in ("-bd", "--db=/x", "", "a b", "a\nb", "ä", "a" * 201)],
    ],
)
def test_an_id_is_never_a_flag(text: str, is_usable: bool) -> None:
    assert is_usable_id(text) is is_usable


def test_an_issue_without_an_id_is_none() -> None:
    told = (BeadsOddity("unusable-id", "bd lists an issue with an invalid id: '--force'"),)
    assert read_issue({"id": "--force"}) == (None, told)
    assert read_issue({})[1][0].message == "bd lists an issue with an invalid id: 'nothing'"


def test_what_is_left_out_is_as_usual() -> None:
    issue = issue_of()
    assert (issue.title, issue.kind, issue.status, issue.priority) == ("bd-1", "task", "open", 2)
    assert (issue.criteria, issue.parent, issue.needs) == ("", None, ())


@pytest.mark.parametrize(
    ("raw", "name", "value"),
    [
        ({"acceptance_criteria": "a"}, "criteria", "a"),
        ({"acceptance": ["- [ ] a", 2, None]}, "criteria", "- [ ] a\n2"),
        ({"acceptance_criteria": "", "acceptance": "b"}, "criteria", "b"),
        ({"type": "bug"}, "kind", "bug"),
        ({"issue_type": "epic", "type": "bug"}, "kind", "epic"),
        ({"status": "In-Progress"}, "status", "in_progress"),
        ({"priority": 0}, "priority", 0),
        ({"priority": "P4"}, "priority", 4),
        ({"priority": " 3 "}, "priority", 3),
        ({"notes": "a\r\nb\ud800"}, "notes", "a\nb?"),
        ({"labels": ["b", "a", "b", 1]}, "labels", ("a", "b")),
        ({"labels": "a"}, "labels", ()),
        ({"description": 7}, "description", ""),
    ],
)
def test_fields_are_read_as_they_come(raw: dict[str, Any], name: str, value: object) -> None:
    assert getattr(issue_of(**raw), name) == value


@pytest.mark.parametrize("priority", [5, -1, "high", True, 1.5, [1], "P99999"])
def test_a_priority_that_is_none_is_the_usual_one_and_reported(priority: object) -> None:
    issue, oddities = read_issue({"id": "bd-1", "priority": priority})
    assert issue is not None
    assert issue.priority == 2
    assert [one.code for one in oddities] == ["odd-priority"]


@pytest.mark.parametrize(
    ("raw", "dependencies"),
    [
        pytest.param(
            {"dependencies": [{"issue_id": "bd-1", "depends_on_id": "bd-2", "type": "blocks"}]},
            [("bd-2", "blocks")],
            id="of a list",
        ),
        pytest.param(
            {"dependencies": [{"id": "bd-2", "type": "bug", "dependency_type": "related"}]},
            [("bd-2", "related")],
            id="of a single issue",
        ),
        pytest.param(
            {"dependencies": [{"id": "bd-2", "issue_type": "bug"}]},
            [("bd-2", "blocks")],
            id="without a kind",
        ),
        pytest.param({"dependencies": ["bd-3", "bd-2"]}, [("bd-2", "blocks"), ("bd-3", "blocks")]),
        pytest.param({"dependencies": ["bd-1", 7, {}, "-x"]}, [], id="none"),
        pytest.param(
            {"dependencies": [{"issue_id": "bd-9", "depends_on_id": "bd-1"}]}, [], id="another's"
        ),
        pytest.param({"dependencies": "bd-2"}, [], id="no list"),
        pytest.param({"parent": "bd-2"}, [("bd-2", "parent-child")], id="parent"),
        pytest.param({"parent_id": "bd-2"}, [("bd-2", "parent-child")], id="parent_id"),
        pytest.param({"parent": "--x"}, [], id="no parent"),
        pytest.param({"parent": ""}, [], id="empty parent"),
        pytest.param(
            {"parent": "bd-3", "dependencies": [{"id": "bd-2", "dependency_type": "parent-child"}]},
            [("bd-2", "parent-child")],
            id="parent said twice",
        ),
        pytest.param(
            {"dependencies": ["external:shop:login"]}, [("external:shop:login", "blocks")]
        ),
    ],
)
def test_dependencies_are_read_in_each_form(raw: dict[str, Any], dependencies: list[Any]) -> None:
    assert list(issue_of(**raw).dependencies) == dependencies


def test_what_an_issue_waits_for() -> None:
    kinds = ("blocks", "conditional-blocks", "waits-for", "related", "parent-child")
    links = [
        {"depends_on_id": f"bd-{nth}", "type": kind} for nth, kind in enumerate(kinds, start=2)
    ]
    issue = issue_of(dependencies=links, status="closed")
    assert issue.needs == ("bd-2", "bd-3", "bd-4")
    assert issue.parent == "bd-6"
    assert issue.is_closed


@pytest.mark.parametrize(
    ("raw", "lacks"),
    [
        ({}, True),
        ({"dependency_count": 2}, True),
        ({"dependency_count": 0}, False),
        ({"dependencies": []}, False),
    ],
)
def test_a_list_may_leave_dependencies_out(raw: dict[str, Any], lacks: bool) -> None:
    assert lacks_dependencies(raw) is lacks


def test_a_snapshot_is_a_line_for_each_issue_oldest_first() -> None:
    raw = [
        {"id": "bd-10", "created_at": "2026-01-02"},
        {"id": "bd-2.1", "created_at": "2026-01-02"},
        {"id": "bd-2", "created_at": "2026-01-02"},
        {"id": "bd-x", "created_at": "2026-01-01", "updated_at": "2026-02-02"},
    ]
    snapshot = take_snapshot(raw, ready=["bd-10", "bd-gone"], parent="bd-2")
    text = snapshot_to_text(snapshot)
    head, *rest = text.split("\n")
    assert head == '{"kind":"beads","schemaVersion":1,"parent":"bd-2","ready":["bd-10"],'
    ids = [json.loads(line.rstrip(","))["id"] for line in rest[FIRST_LINE - 1 : FIRST_LINE + 3]]
    assert ids == ["bd-x", "bd-2", "bd-2.1", "bd-10"]
    assert "updated_at" not in text
    assert snapshot_from_text(text) == snapshot


def test_of_an_issue_that_comes_twice_the_later_counts() -> None:
    raw = [{"id": "bd-1", "status": "open"}, {"id": "bd-1", "status": "closed"}]
    (issue,) = take_snapshot(raw).issues
    assert issue.is_closed


def test_what_is_deleted_and_templates_are_left_out() -> None:
    raw: list[dict[str, object]] = [
        {"id": "bd-1"},
        {"id": "bd-1", "status": "tombstone"},
        {"id": "bd-2", "is_template": True},
        {"id": "bd-3", "is_template": False},
    ]
    assert [issue.id for issue in take_snapshot(raw).issues] == ["bd-3"]


def test_what_is_odd_is_kept_once() -> None:
    odd = BeadsOddity("odd-answer", "so")
    snapshot = take_snapshot([{"id": "-"}, {"id": "-"}], oddities=[odd])
    assert [one.code for one in snapshot.oddities] == ["odd-answer", "unusable-id"]
    assert snapshot_from_text(snapshot_to_text(snapshot)) == snapshot


@pytest.mark.parametrize(
    ("text", "ids", "codes"),
    [
        ('[{"id":"bd-1"}]', ["bd-1"], []),
        ('{"items":[{"id":"bd-1"}]}', ["bd-1"], []),
        ("[" * 100_000, [], ["no-json"]),
        ("{", [], ["no-json"]),
        ('{"error":"gone"}', [], ["bd-error"]),
        ('{"kind":"beads"}', [], []),
        ('{"kind":"beads","issues":[{"id":"bd-1"},7],"ready":7,"parent":"--x"}', ["bd-1"], []),
        ('{"kind":"beads","ready":[7],"oddities":[7,{"code":"c","message":"m"}]}', [], ["c"]),
    ],
)
def test_other_texts_are_read_as_far_as_can_be(text: str, ids: list[str], codes: list[str]) -> None:
    snapshot = snapshot_from_text(text)
    assert [issue.id for issue in snapshot.issues] == ids
    assert [one.code for one in snapshot.oddities] == codes
    assert snapshot.parent is None


def test_what_is_in_scope_are_the_parts_of_the_parent_and_their_parts() -> None:
    raw = [
        {"id": "bd-1"},
        {"id": "bd-2", "parent": "bd-1"},
        {"id": "bd-3", "parent": "bd-2"},
        {"id": "bd-4", "parent": "bd-5"},
    ]
    assert [one.id for one in take_snapshot(raw, parent="bd-1").in_scope()] == ["bd-2", "bd-3"]
    assert len(take_snapshot(raw).in_scope()) == 4
    ring = [{"id": "bd-1", "parent": "bd-2"}, {"id": "bd-2", "parent": "bd-1"}]
    assert [one.id for one in take_snapshot(ring, parent="bd-1").in_scope()] == ["bd-2"]


_IDS = st.sampled_from([f"bd-{nth}" for nth in range(6)])
_ISSUES = st.builds(
    lambda issue_id, links, **fields: BeadsIssue(
        id=issue_id,
        dependencies=tuple(sorted({BeadsDependency(*one) for one in links if one[0] != issue_id})),
        **fields,
    ),
    _IDS,
    st.lists(st.tuples(_IDS, st.sampled_from(["blocks", "parent-child", "related"]))),
    title=st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(
        lambda text: "\r\n" not in text
    ),
    priority=st.integers(0, 4),
    status=st.sampled_from(["open", "in_progress", "closed", "odd"]),
    labels=st.just(("a", "b")),
)


@given(st.lists(_ISSUES, unique_by=lambda issue: issue.id), st.none() | st.lists(_IDS))
def test_a_snapshot_comes_back_from_its_text(
    issues: list[BeadsIssue], ready: list[str] | None
) -> None:
    snapshot = take_snapshot(map(issue_to_raw, issues), ready=ready)
    text = snapshot_to_text(snapshot)
    assert snapshot_from_text(text) == snapshot
    assert snapshot_to_text(snapshot_from_text(text)) == text
    assert sorted(snapshot.issues, key=lambda one: one.id) == sorted(issues, key=lambda one: one.id)


def test_an_empty_snapshot_is_one() -> None:
    assert snapshot_from_text(snapshot_to_text(BeadsSnapshot())) == BeadsSnapshot()
