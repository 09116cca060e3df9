"""Reading front matter: the flat part of YAML, its places, and what is no part of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.parse.front_matter import read_front_matter


def fields(body: str) -> dict[str, tuple[str, ...]]:
    matter = read_front_matter(f"---\n{body}---\ntext\n")
    assert matter.remarks == ()
    return {field.key: field.values for field in matter.fields}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("status: active\n", {"status": ("active",)}),
        ("Status : active  \n", {"status": ("active",)}),
        ("status: active # so far\n", {"status": ("active",)}),
        ("status: a#b\n", {"status": ("a#b",)}),
        ("status:\n", {"status": ()}),
        ("status: # none yet\n", {"status": ()}),
        ("title: 'it''s' # so\n", {"title": ("it's",)}),
        ('title: "a: \\"b\\" # c"\n', {"title": ('a: "b" # c',)}),
        ("title: don't\n", {"title": ("don't",)}),
        ("tags: [a, 'b c', \"d\",]\n", {"tags": ("a", "b c", "d")}),
        ("tags: [] # none\n", {"tags": ()}),
        ("tags:\n  - a\n- 'b'\nstatus: active\n", {"tags": ("a", "b"), "status": ("active",)}),
        ("tags:\n  -\n  - b\n", {"tags": ("b",)}),
        ("\n# a remark\nstatus: active\n", {"status": ("active",)}),
        ("", {}),
    ],
)
def test_what_a_flat_yaml_says(body: str, expected: dict[str, tuple[str, ...]]) -> None:
    assert fields(body) == expected


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("just words", "front-matter-line"),
        ("a: {b: c}", "front-matter-line"),
        ("a: [b", "front-matter-line"),
        ("a: [b, 'c]", "front-matter-line"),
        ('a: "b', "front-matter-line"),
        ("- item of no list", "front-matter-line"),
        ("  deeper: text", "front-matter-line"),
        ("status: again", "front-matter-key-twice"),
    ],
)
def test_a_line_that_is_none_is_reported_with_its_place_and_the_others_are_read(
    line: str, code: str
) -> None:
    text = f"---\r\nstatus: active\r\n{line}\r\ntags: [a]\r\n...\r\n"
    matter = read_front_matter(text)
    (remark,) = matter.remarks
    assert (remark.code, remark.line, text[remark.start : remark.end]) == (code, 2, line)
    assert matter.values("status") == ("active",)
    assert matter.values("tags") == ("a",)
    assert matter.end_line == 4


def test_a_list_ends_with_the_next_key_and_none_follows_a_text() -> None:
    matter = read_front_matter("---\ntags: []\n- a\nstatus: active\n- b\n---\n")
    assert [remark.line for remark in matter.remarks] == [2, 4]


def test_a_field_has_its_place() -> None:
    text = "\ufeff---\ntags:\n  - a\n  - b\nstatus: active\n---\n"
    matter = read_front_matter(text)
    tags, status = matter.find("tags"), matter.find("status")
    assert tags is not None
    assert status is not None
    assert text[tags.start : tags.end] == "tags:\n  - a\n  - b"
    assert (tags.line, status.line, text[status.start : status.end]) == (1, 4, "status: active")


@pytest.mark.parametrize("text", ["", "# A title\n", "--- \nx", "text\n---\na: b\n---\n"])
def test_without_fences_there_is_none(text: str) -> None:
    matter = read_front_matter(text)
    assert (matter.is_there, matter.fields, matter.values("a")) == (False, (), ())
    assert len(matter.remarks) == text.startswith("---")


def test_one_that_is_not_closed_is_reported_at_its_first_line() -> None:
    (remark,) = read_front_matter("---\nstatus: active\n\n# Title\n").remarks
    assert (remark.code, remark.line, remark.start, remark.end) == ("front-matter-open", 0, 0, 3)


@given(
    st.one_of(
        st.text(),
        st.lists(
            st.sampled_from(
                ["---", "a: b", "- c", "tags:", "tags: [x, 'y']", "  z", "#", "a:", '"']
            )
        ).map("\n".join),
    )
)
def test_it_never_fails_and_every_place_is_in_the_text(text: str) -> None:
    matter = read_front_matter(text)
    n_lines = text.count("\n") + text.count("\r") + 1
    places = [(field.line, field.start, field.end) for field in matter.fields]
    places += [(remark.line, remark.start, remark.end) for remark in matter.remarks]
    for line, start, end in places:
        assert 0 <= start <= end <= len(text)
        assert 0 <= line < n_lines
    assert all("\n" not in value for field in matter.fields for value in field.values)


@pytest.mark.parametrize("piece", [" ", "[", "'", '"', "#", "a: [", "\\", "- ", ","])
def test_a_long_line_takes_no_longer_than_its_length(piece: str) -> None:
    matter = read_front_matter(f"---\na: {piece * 200_000}\n---\n")
    assert matter.is_there


@pytest.mark.parametrize("mark", [">-", "|", ">", "|2 # as it is"])
def test_a_text_in_the_lines_below_is_folded(mark: str) -> None:
    matter = read_front_matter(f"---\na: {mark}\n  one: two\n\n  - three\nb: c\n- d\n---\n")
    assert matter.values("a") == ("one: two - three",)
    assert matter.values("b") == ("c",)
    (remark,) = matter.remarks
    assert remark.line == 6
