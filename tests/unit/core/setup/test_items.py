"""Plan items out of whatever an agent or a template says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.setup.draft import items_of_description, read_plan_items
from ralph_ls.protocol.task_words import Priority

P0, P1, P2 = Priority


def found(text: str) -> list[tuple[str, Priority]]:
    return [(item.title, item.priority) for item in read_plan_items(text)]


PLAN = """\
# Fix Plan

## High Priority (P0)
- [ ] Mend the login
  - a wrong password is told
  - [ ] also on phones

## Standard (P1)
- [ ] Write it down

## Nice to Have (P2)
1. [ ] Make it fast

## Completed
- [x] Begin
"""


def test_a_plan_as_asked_for() -> None:
    items = read_plan_items(PLAN)
    assert [(item.title, item.priority) for item in items] == [
        ("Mend the login", P0),
        ("Write it down", P1),
        ("Make it fast", P2),
    ]
    assert [item.detail for item in items] == [
        "- a wrong password is told\n- also on phones",
        "",
        "",
    ]


@pytest.mark.parametrize(
    ("text", "items"),
    [
        pytest.param("", [], id="nothing"),
        pytest.param("I would not know where to begin.", [], id="prose"),
        pytest.param(f"Here it is:\n\n```markdown\n{PLAN}```\nGood luck!", None, id="in-a-fence"),
        pytest.param(PLAN.replace("\n", "\r\n"), None, id="crlf"),
        pytest.param(f"\x1b[1m{PLAN}\x1b[0m", None, id="in-colour"),
        pytest.param(
            "Notes:\n- I looked\n\n## High Priority\n- A\n   more of it\n\n## Standard\n1. B\n"
            "## Completed\n- old\n",
            [("A", P0), ("B", P1)],
            id="lists-without-boxes-below-priorities",
        ),
        pytest.param(
            "# Plan\n- I looked\n\n## P0\n- A\n\n## Done\n- [x] old\n",
            [("A", P0)],
            id="lists-without-boxes-beside-one-with",
        ),
        pytest.param("- one\n- two\n", [("one", P1), ("two", P1)], id="a-bare-list"),
        pytest.param("1) one\n2) two\n", [("one", P1), ("two", P1)], id="a-bare-numbered-list"),
        pytest.param("~~~\n- one\n~~~\n", [("one", P1)], id="a-bare-list-in-a-fence"),
        pytest.param("```\n- one\n", [("one", P1)], id="a-fence-that-is-not-closed"),
        pytest.param(
            "- [ ] a\n- [ ] A\n- [ ] [P0] b\n", [("a", P1), ("b", P0)], id="each-title-once"
        ),
        pytest.param("- [x] a\n- [-] b\n- [ ] c\n", [("c", P1)], id="only-what-is-open"),
        pytest.param("## P0\n### [ ] a heading\n- [ ] a\n", [("a", P0)], id="headings-are-none"),
    ],
)
def test_what_is_found(text: str, items: list[tuple[str, Priority]] | None) -> None:
    assert found(text) == (found(PLAN) if items is None else items)


def test_a_detail_keeps_its_lines_and_loses_its_indent() -> None:
    (item,) = read_plan_items("- [ ] a\n\n\t- first\n\n\t- second\n")
    assert item.detail == "- first\n\n- second"


@given(st.text(alphabet=st.sampled_from("-*#[]xP0 \n\t`~1.ab"), max_size=200))
def test_any_text_is_read(text: str) -> None:
    items = read_plan_items(text)
    assert all(item.title.strip() for item in items)
    assert len({item.title.casefold() for item in items}) == len(items)


class TestOfADescription:
    """A plan for who has only said what should be built."""

    @pytest.mark.parametrize(
        ("text", "titles"),
        [
            ("", []),
            ("  \n\n", []),
            ("Build a snake game", ["Build a snake game"]),
            ("Build v1.2 of it! Done when tests pass.", ["Build v1.2 of it"]),
            ("Build a snake game\n- with walls\n- with a score", ["Build a snake game"]),
            ("- Draw the field\n- Move the snake", ["Draw the field", "Move the snake"]),
            ("1. Draw\n   - with walls\n2. Move", ["Draw", "Move"]),
            ("- [x] Draw\n- [ ] Move", ["Move"]),
            ("- Only one", ["Only one"]),
            ("# Title\n\nBuild it.", ["Title"]),
        ],
    )
    def test_it_is_one_task_or_a_list_of_them(self, text: str, titles: list[str]) -> None:
        assert [item.title for item in items_of_description(text)] == titles

    def test_what_is_below_an_item_is_its_detail(self) -> None:
        first, _ = items_of_description("1. Draw\n   - with walls\n2. Move")
        assert first.detail == "- with walls"
