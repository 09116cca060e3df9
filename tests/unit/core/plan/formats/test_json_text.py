"""JSON with positions: valid JSON parses like ``json``; errors are reported; the rest is kept."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ralph_ls.core.plan.formats import json_text
from ralph_ls.core.plan.formats.json_text import (
    DEEPEST,
    MOST_FAULTS,
    JsonNode,
    repeated_members,
    scan_json,
    value_of,
)

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inside: st.lists(inside) | st.dictionaries(st.text(), inside),
    max_leaves=20,
)
LIKE_JSON = st.lists(
    st.sampled_from(
        ["{", "}", "[", "]", ",", ":", '"a"', '"', "1", "-", ".5", "01", "true", "nul", " ", "\n",
         "\\", '"\\u00e9"', '"\\x"', "\t", '"\t"', "//", "/*", "*/", "\r\n", "\ufeff", "\u00a0",
         "1e999", '"k":']
    ),
    max_size=30,
).map("".join)  # fmt: skip


def read(text: str) -> object:
    root = scan_json(text).root
    assert root is not None
    return value_of(root)


def told(text: str) -> list[tuple[str, str]]:
    """The faults: the text at each, and the message."""
    return [(text[fault.start : fault.end], fault.message) for fault in scan_json(text).faults]


@given(JSON, st.sampled_from([None, 2, "\t"]), st.booleans())
def test_what_json_wrote_is_read_as_json_reads_it(
    value: Any, indent: int | str | None, is_ascii: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=is_ascii)
    assert scan_json(text).faults == ()
    assert read(text) == json.loads(text)


@given(LIKE_JSON)
@example("1e999")
@example('"\ud800"')
@example("[" * 101 + "]" * 101)
def test_a_fault_is_found_exactly_where_json_refuses(text: str) -> None:
    try:
        value = json.loads(text.removeprefix("\ufeff"), parse_constant=_refuse)
    except ValueError:
        assert scan_json(text).faults
    else:
        assert not scan_json(text).faults or text.startswith("[" * 101)
        assert scan_json(text).faults or read(text) == value


def _refuse(word: str) -> None:
    raise ValueError(word)


@given(LIKE_JSON)
def test_places_are_inside_what_is_around_them(text: str) -> None:
    def check(node: JsonNode) -> None:
        assert 0 <= node.start <= node.end <= len(text)
        last = node.start
        for member in node.members or ():
            assert last <= member.start <= member.end <= member.node.start
            last = member.node.end
            check(member.node)
        for item in node.items or ():
            assert last <= item.start
            last = item.end
            check(item)
        assert last <= node.end

    scanned = scan_json(text)
    if scanned.root is not None:
        check(scanned.root)
    assert all(0 <= fault.start < max(fault.end, 1) <= len(text) + 1 for fault in scanned.faults)


@pytest.mark.parametrize(
    ("text", "value", "faults"),
    [
        pytest.param("", None, [("", "the file is empty")], id="empty"),
        pytest.param('{"a": 1,}', {"a": 1}, [(",", "remove this comma")], id="last-comma"),
        pytest.param("[1 2]", [1, 2], [("2", "a comma is missing before this")], id="no-comma"),
        pytest.param("[,1,,2]", [1, 2], [(",", "a value is missing before the comma")] * 2,
                     id="comma-too-much"),
        pytest.param("{a: 1}", {"a": 1}, [("a", "a key in double quotes")], id="bare-key"),
        pytest.param("{: 1}", {}, [(":", "a key in double quotes is missing"),
                                   ("1", "a comma is missing"), ("1", "a key in double quotes"),
                                   ("1", "a colon is missing"), ("1", "a value is missing")],
                     id="no-key"),
        pytest.param('{"a" 1}', {"a": 1}, [('"a"', "a colon is missing")], id="no-colon"),
        pytest.param('{"a":, "b": 2}', {"b": 2}, [('"a"', "a value is missing")], id="no-value"),
        pytest.param('{"a": True}', {}, [("True", "True is not a JSON value; write true")],
                     id="python"),
        pytest.param("[None]", [], [("None", "None is not a JSON value; write null")], id="none"),
        pytest.param("['a']", [], [("'a'", "'a' is not a JSON value; put a text in double")],
                     id="single-quotes"),
        pytest.param("[:]", [], [(":", "a value is missing before :")], id="colon-in-list"),
        pytest.param('["a\n]', ["a"], [('"a', "the text has no closing quote")], id="quote"),
        pytest.param('["a\tb"]', ["a\tb"], [('"a\tb"', "write a tab")], id="tab"),
        pytest.param(r'["a\q"]', [r"a\q"], [(r'"a\q"', "this \\ has no meaning")], id="escape"),
        pytest.param("[1] // x", [1], [("// x", "JSON has no comments")], id="comment"),
        pytest.param("[/* x */1]", [1], [("/* x */", "JSON has no comments")], id="block-comment"),
        pytest.param("[1] 2", [1], [("2", "the value has already ended")], id="more"),
        pytest.param('{"a": [1', {"a": [1]}, [("[", "this [ is never closed"),
                                              ("{", "this { is never closed")], id="open"),
        pytest.param('{"a": [1}', {"a": [1]}, [("}", "] is missing before }")], id="crossed"),
        pytest.param("[1}]", [1], [("}", "] is missing before }"),
                                   ("]", "the value has already ended")], id="wrong-end"),
        pytest.param("[" + "9" * 5000 + "]", [], [("9" * 5000, "the number has too many digits")],
                     id="digits"),
    ],
)  # fmt: skip
def test_what_is_no_json_is_reported_and_the_rest_is_read(
    text: str, value: object, faults: list[tuple[str, str]]
) -> None:
    root = scan_json(text).root
    assert (None if root is None else value_of(root)) == value
    found = told(text)
    assert len(found) == len(faults), found
    for (place, message), (wanted, begin) in zip(found, faults, strict=True):
        assert (place, message[: len(begin)]) == (wanted, begin)


def test_what_is_far_too_deep_is_given_up_once() -> None:
    text = "[" * 5000
    (fault,) = scan_json(text).faults
    assert fault.start == DEEPEST
    assert "levels" in fault.message


def test_a_flood_of_faults_is_reported_in_part() -> None:
    assert len(scan_json("[" + "," * 10_000).faults) == MOST_FAULTS


def test_a_mark_of_the_byte_order_is_passed_over() -> None:
    assert read("\ufeff[1]") == [1]


def test_numbers_are_whole_or_not() -> None:
    assert [type(one) for one in (read("1"), read("1.0"), read("1e3"))] == [int, float, float]
    assert read("-1e999") == -math.inf


def test_keys_that_come_again_are_found_at_any_depth() -> None:
    root = scan_json('{"a": 1, "b": [{"c": 1, "c": 2}], "a": {"d": 1, "d": 2}}').root
    assert root is not None
    assert sorted((one.key, one.start) for one in repeated_members(root)) == [
        ("a", 1),
        ("c", 16),
        ("d", 40),
    ]


@pytest.mark.parametrize("part", ["1,", ",", "/**/", '{"a":1},'])
def test_more_parts_than_any_plan_has_are_not_read(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_text, "MOST_PARTS", 500)
    known = scan_json("[" + part * 501)
    told = [fault.message for fault in known.faults]
    assert told.count("the file is larger than a story file may be") == 1
    assert known.root is not None
    assert len(known.root.items or ()) <= 500
