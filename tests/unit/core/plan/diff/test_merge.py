"""Two writers of one plan: both changes survive, and what cannot is shown with both sides."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ralph_ls.core.plan.diff.merge import merge_markdown
from ralph_ls.core.plan.diff.merge_lines import (
    MergeConflict,
    are_alike,
    common_base,
    merge_line,
    must_stay_attached,
)
from ralph_ls.core.plan.diff.text_diff import changed_stretches, lines_with_endings, same_lines
from ralph_ls.core.plan.parse.markdown import parse_markdown
from tests.unit.core.plan.plan_assertions import PLANS

TWO = "# High\n- [ ] A-1: a\n- [ ] A-2: b\n"


@pytest.mark.parametrize(
    ("base", "mine", "theirs", "merged"),
    [
        pytest.param(
            TWO,
            "# High\n- [x] A-1: a\n- [ ] A-2: b\n",
            "# High\n- [ ] A-1: a\n- [x] A-2: b\n",
            "# High\n- [x] A-1: a\n- [x] A-2: b\n",
            id="neighbouring-tasks",
        ),
        pytest.param(
            "- [ ] add the letter\n",
            "- [x] add the letter\n",
            "- [ ] add the first letter\n",
            "- [x] add the first letter\n",
            id="a-tick-and-other-words",
        ),
        pytest.param(
            "1. add the letter\n2. b\n",
            "1. [DONE] add the letter\n2. b\n",
            "1. add the first letter\n2. b\n",
            "1. [DONE] add the first letter\n2. b\n",
            id="a-tag-and-other-words",
        ),
        pytest.param(
            "- [ ] ~~A-1: add it~~\n",
            "- [ ] A-1: add it\n",
            "- [x] ~~A-1: add it~~\n",
            "- [x] A-1: add it\n",
            id="no-more-strike-and-a-tick",
        ),
        pytest.param(
            "- [ ] A-1: a\n  - note\n- [ ] A-2: b\n# Low\n- [ ] A-3: c\n",
            "- [ ] A-2: b\n# Low\n- [ ] A-3: c\n- [ ] A-1: a\n  - note\n",
            "- [x] A-1: a\n  - note\n  - more\n- [ ] A-2: b\n# Low\n- [ ] A-3: c\n",
            "- [ ] A-2: b\n# Low\n- [ ] A-3: c\n- [x] A-1: a\n  - note\n  - more\n",
            id="moved-by-me-ticked-by-them",
        ),
        pytest.param(
            "- [ ] A-1: a\n- [ ] A-2: b\n- [ ] A-3: c\n",
            "- [x] A-1: a\n- [ ] A-2: b\n- [ ] A-3: c\n",
            "- [ ] A-2: b\n- [ ] A-3: c\n- [ ] A-1: a\n",
            "- [ ] A-2: b\n- [ ] A-3: c\n- [x] A-1: a\n",
            id="moved-by-them-ticked-by-me",
        ),
        pytest.param(
            "- [ ] A-1: a\n- [ ] A-2: b\n- [ ] A-3: c\n",
            "- [ ] A-2: b\n- [x] A-1: a\n- [ ] A-3: c\n",
            "- [ ] A-2: b\n- [ ] A-3: c\n- [ ] A-1: a\n",
            "- [ ] A-2: b\n- [x] A-1: a\n- [ ] A-3: c\n",
            id="moved-by-both",
        ),
        pytest.param(
            "- [ ] A-1: a",
            "- [ ] A-1: a\n- [ ] A-2: b\n  - q",
            "- [ ] A-1: a\n- [x] A-2: b\n  - r\n- [ ] A-3: c",
            "- [ ] A-1: a\n- [x] A-2: b\n  - q\n  - r\n- [ ] A-3: c",
            id="both-added-one-task",
        ),
        pytest.param(
            "- [ ] A-1: a\n",
            "- [ ] A-1: a\n\n## New\n\n- [ ] A-2: b\n\n",
            "- [ ] A-1: a\n\n## New\n\n- [ ] A-3: c\n\n",
            "- [ ] A-1: a\n\n## New\n\n- [ ] A-2: b\n- [ ] A-3: c\n\n",
            id="both-added-a-section",
        ),
        pytest.param(
            TWO,
            TWO + "- [ ] A-3: c\n",
            TWO + "\nprose\n",
            TWO + "- [ ] A-3: c\n\nprose\n",
            id="both-added-at-the-end",
        ),
        pytest.param(
            "- [ ] A-1: a\n- [ ] A-2: b\n- [ ] A-3: c\n",
            "- [ ] A-2: b\n- [ ] A-3: c\n",
            "- [ ] A-1: a\n- [x] A-2: b\n- [ ] A-3: c\n",
            "- [x] A-2: b\n- [ ] A-3: c\n",
            id="one-removes-the-other-ticks-another",
        ),
        pytest.param(
            "- [ ] A-1: a\n- [ ] A-2: b\n- [ ] A-3: c\n",
            "- [ ] A-2: b\n- [x] A-3: c\n",
            "- [ ] A-2: b\n- [ ] A-3: c\nend\n",
            "- [ ] A-2: b\n- [x] A-3: c\nend\n",
            id="both-removed-it",
        ),
        pytest.param(
            "- [ ] c\n- [ ] c\n- [ ] c\n",
            "- [x] c\n- [ ] c\n- [ ] c\n",
            "- [ ] c\n- [ ] c\n- [x] c\n",
            "- [x] c\n- [ ] c\n- [x] c\n",
            id="equal-titles-go-by-their-place",
        ),
        pytest.param(
            "\ufeff- [ ] A-1: a\r\n\t- note  \r\n- [ ] A-2: b",
            "\ufeff- [x] A-1: a\r\n\t- note  \r\n- [ ] A-2: b",
            "\ufeff- [ ] A-1: a\r\n\t- note  \r\n- [ ] A-2: b\r\n- [ ] A-3: c",
            "\ufeff- [x] A-1: a\r\n\t- note  \r\n- [ ] A-2: b\r\n- [ ] A-3: c",
            id="bom-tab-crlf-no-final-newline",
        ),
        pytest.param(
            "- [ ] A-1: a\n- [ ] A-2: b\n",
            "- [ ] A-1: a\r\n- [ ] A-2: b\r\n",
            "- [x] A-1: a\n- [ ] A-2: b\n",
            "- [x] A-1: a\r\n- [ ] A-2: b\r\n",
            id="other-line-endings",
        ),
        pytest.param(
            "- [ ] A-1: a\n- [ ] A-2: b\n- [ ] A-3: c\n",
            "- [ ] A-1: a\n  - mine\n- [ ] A-2: b\n- [ ] A-3: c\n",
            "- [ ] A-2: b\n- [ ] A-3: c\n    - [ ] A-1: a\n",
            "- [ ] A-2: b\n- [ ] A-3: c\n    - [ ] A-1: a\n      - mine\n",
            id="nested-by-them-noted-by-me",
        ),
        pytest.param(
            "- [ ] A-2: b\n- [ ] A-3: c\n- [ ] A-4: d\n- [ ] A-1: a\n",
            "- [ ] A-2: b\n  - [ ] A-1: a\n- [ ] A-3: c\n- [ ] A-4: d\n",
            "- [ ] A-3: c\n- [ ] A-4: d\n- [ ] A-1: a\n  - [ ] A-2: b\n",
            "  - [ ] A-1: a\n- [ ] A-3: c\n- [ ] A-4: d\n  - [ ] A-2: b\n",
            id="nested-in-each-other",
        ),
    ],
)
def test_both_changes_survive(base: str, mine: str, theirs: str, merged: str) -> None:
    found = merge_markdown(base, mine, theirs)
    assert found.text == merged
    assert found.conflicts == ()


@pytest.mark.parametrize(
    ("base", "mine", "theirs", "merged", "conflict"),
    [
        pytest.param(
            "- [ ] write a letter\n  to them\n  - note\n",
            "- [x] write the letter\n  to them\n  - note\n",
            "- [ ] write one letter\n  to them\n  - note\n",
            "- [x] write the letter\n  to them\n"
            "  - Conflict: the other version says: [ ] write one letter\n  - note\n",
            MergeConflict(line=0, mine="- [x] write the letter", theirs="- [ ] write one letter"),
            id="words",
        ),
        pytest.param(
            "\t1. [ ] A-1: a",
            "\t1. [x] A-1: a",
            "\t1. [-] A-1: a",
            "\t1. [x] A-1: a\n\t   - Conflict: the other version says: [-] A-1: a",
            MergeConflict(line=0, mine="\t1. [x] A-1: a", theirs="\t1. [-] A-1: a"),
            id="states",
        ),
        pytest.param(
            "[ ] A-1: a\n",
            "[x] A-1: a\n",
            "[-] A-1: a\n",
            "[x] A-1: a\n  - Conflict: the other version says: [-] A-1: a\n",
            MergeConflict(line=0, mine="[x] A-1: a", theirs="[-] A-1: a"),
            id="states-without-a-list-marker",
        ),
        pytest.param(
            "- [ ] A-1: a\n  - n\n- [ ] A-2: b\n",
            "- [ ] A-2: b\n",
            "- [ ] A-1: a\n  - [x] n\n- [ ] A-2: b\n",
            "- [ ] A-1: a\n  - Conflict: the other version no longer has this task\n  - [x] n\n- "
            "[ ] A-2: b\n",
            MergeConflict(line=0, mine=None, theirs="- [ ] A-1: a"),
            id="i-removed-what-they-changed",
        ),
        pytest.param(
            "- [ ] A-1: a\n  - [ ] A-4: n\n- [ ] A-2: b\n",
            "- [ ] A-2: b\n",
            "- [ ] A-1: a\n  - [x] A-4: n\n- [ ] A-2: b\n",
            "- [ ] A-1: a\n  - Conflict: the other version no longer has this task\n  - [x] A-4: "
            "n\n- [ ] A-2: b\n",
            MergeConflict(line=0, mine=None, theirs="- [ ] A-1: a"),
            id="i-removed-it-all-and-they-ticked-what-is-nested",
        ),
        pytest.param(
            "- [ ] A-1: a\n- [ ] A-2: b\n",
            "- [ ] A-2: b\n- [ ] A-1: a\n",
            "- [ ] A-2: b\n\nend\n",
            "- [ ] A-2: b\n- [ ] A-1: a\n  - Conflict: the other version no longer has this task\n"
            "\nend\n",
            MergeConflict(line=1, mine="- [ ] A-1: a", theirs=None),
            id="they-removed-what-i-moved",
        ),
        pytest.param(
            "- [ ] c\n- [ ] c\n- [ ] A-1: a\n",
            "- [ ] c\n- [ ] A-1: a\n",
            "- [ ] c\n- [x] c\n- [ ] A-1: a\n",
            "- [ ] c\n- [x] c\n  - Conflict: the other version no longer has this task\n- [ ] "
            "A-1: a\n",
            MergeConflict(line=1, mine=None, theirs="- [x] c"),
            id="one-of-equal-titles",
        ),
        pytest.param(
            "- [ ] A-1: a\n",
            "- [ ] A-1: a\n- [x] A-2: b\n",
            "- [ ] A-1: a\n- [-] A-2: b\n",
            "- [ ] A-1: a\n- [x] A-2: b\n  - Conflict: the other version says: [-] A-2: b\n",
            MergeConflict(line=1, mine="- [x] A-2: b", theirs="- [-] A-2: b"),
            id="both-added-it-in-another-state",
        ),
        pytest.param(
            "some prose here\n",
            "more prose here\n",
            "good prose here\n",
            "more prose here\ngood prose here\n",
            MergeConflict(line=0, mine="more prose here", theirs="good prose here"),
            id="prose",
        ),
        pytest.param(
            "some prose here\nx\n",
            "x\n",
            "good prose here\nx\n",
            "good prose here\nx\n",
            MergeConflict(line=0, mine=None, theirs="good prose here"),
            id="prose-removed",
        ),
        pytest.param(
            "some prose here\nx\n",
            "good prose here\nx\n",
            "x\n",
            "good prose here\nx\n",
            MergeConflict(line=0, mine="good prose here", theirs=None),
            id="prose-removed-by-them",
        ),
        pytest.param(
            "## Work now -->\n",
            "## Work soon -->\n",
            "## Work later -->\n",
            "## Work soon -->\n<!-- Conflict: the other version says: ## Work later -- > -->\n",
            MergeConflict(line=0, mine="## Work soon -->", theirs="## Work later -->"),
            id="a-heading-stands-once",
        ),
        pytest.param(
            "| a task | no |\n| other | no |\nend",
            "| a task | yes |\n| other | no |\nend",
            "| a task | half |\n| other | no |\nend",
            "| a task | yes |\n| other | no |\n"
            "<!-- Conflict: the other version says: | a task | half | -->\nend",
            MergeConflict(line=0, mine="| a task | yes |", theirs="| a task | half |"),
            id="a-table-stays-whole",
        ),
    ],
)
def test_a_conflict_is_shown_with_both_sides(
    base: str, mine: str, theirs: str, merged: str, conflict: MergeConflict
) -> None:
    found = merge_markdown(base, mine, theirs)
    assert found.text == merged
    assert found.conflicts == (conflict,)


def test_two_conflicts_in_one_title_are_both_noted() -> None:
    found = merge_markdown(
        "- [ ] write a letter\n  to all of them\n",
        "- [ ] write the letter\n  to all of you\n",
        "- [ ] write one letter\n  to all of us\n",
    )
    assert found.text == (
        "- [ ] write the letter\n  to all of you\n"
        "  - Conflict: the other version says: [ ] write one letter\n  to all of us\n"
    )
    assert len(found.conflicts) == 2


def test_a_note_is_no_task() -> None:
    found = merge_markdown("- [ ] A-1: a\n", "- [x] A-1: a\n", "- [-] A-1: a\n")
    assert [task.id for task in parse_markdown(found.text).plan.tasks] == ["A-1"]


LINES = st.sampled_from(
    [
        "- [ ] A-1: a",
        "- [x] A-1: a",
        "- [ ] A-2: b",
        "- [x] A-2: b and more",
        "  - [ ] A-3: c",
        "- [ ] A-3: c",
        "- [-] A-3: c",
        "- [ ] c",
        "  - note",
        "# High",
        "",
        "prose",
        "| a | b |",
        "```",
    ]
)
TEXTS = st.builds(
    lambda lines, ending, last: ending.join(lines) + last,
    st.lists(LINES, max_size=9),
    st.sampled_from(["\n", "\r\n"]),
    st.sampled_from(["", "\n"]),
)
SAMPLES = [path.read_text(encoding="utf-8") for path in sorted(PLANS.glob("*.md"))]
EDITED = st.one_of(TEXTS, st.sampled_from(SAMPLES), st.text())


@given(EDITED, EDITED)
def test_an_unchanged_version_adds_nothing(base: str, other: str) -> None:
    assert merge_markdown(base, other, base).text == other
    assert merge_markdown(base, base, other).text == other
    assert merge_markdown(base, other, other).text == other


@given(TEXTS, TEXTS, TEXTS)
def test_nothing_that_either_side_added_is_lost(base: str, mine: str, theirs: str) -> None:
    merged = merge_markdown(base, mine, theirs).text

    def words_of(line: str) -> str:
        words = line.strip().removeprefix("- ")
        return words[4:] if words.startswith("[") else words

    before = {words_of(line) for line in base.splitlines()}
    tasks = {task.id[:3] for task in parse_markdown(merged).plan.tasks}
    for side in (mine, theirs):
        for line in side.splitlines():
            assert words_of(line) in before or words_of(line) in merged
    known = {task.id[:3] for task in parse_markdown(base).plan.tasks}
    if "```" not in base + mine + theirs:
        for side in (mine, theirs):
            added = {task.id[:3] for task in parse_markdown(side).plan.tasks} - known
            assert {name for name in added if name.startswith("A-")} - tasks == set()


@example("", "- [ ] A-1: a\n# High", "# High\n- [ ] A-1: a")
@given(TEXTS, TEXTS, TEXTS)
def test_it_is_the_same_from_both_sides_but_for_the_order(
    base: str, mine: str, theirs: str
) -> None:
    one, other = merge_markdown(base, mine, theirs), merge_markdown(base, theirs, mine)
    # What becomes of a line that one side has twice depends on which of them is found first.
    if not any(map(_repeats, (base, mine, theirs))):
        assert len(one.conflicts) == len(other.conflicts)
        if not one.conflicts:
            assert sorted(one.text.split()) == sorted(other.text.split())
    elif not one.conflicts and not other.conflicts:
        assert {*one.text.split()} == {*other.text.split()}


def _repeats(text: str) -> bool:
    lines = [line for line in text.splitlines() if line.strip()]
    return len(lines) != len({*lines})


@given(st.sets(st.integers(0, 11)), st.sets(st.integers(0, 11)), st.integers(0, 11))
def test_ids_of_untouched_tasks_stay_and_all_ticks_count(
    mine: set[int], theirs: set[int], moved: int
) -> None:
    def plan(done: set[int], order: list[int]) -> str:
        return "".join(f"- [{'x' if at in done else ' '}] task {at:x}{at}\n" for at in order)

    order = [*range(12)]
    other = [*(at for at in order if at != moved), moved]
    base = plan(set(), order)
    merged = merge_markdown(base, plan(mine, order), plan(theirs, other))
    assert merged.text == plan(mine | theirs, other)
    assert merged.conflicts == ()


@pytest.mark.slow
def test_a_long_plan_is_merged_in_a_moment() -> None:
    lines = [f"- [ ] task number {at}\n" + "\n" * (at % 2) for at in range(10_000)]
    base = "".join(lines)
    mine = base.replace("- [ ] task number 7\n", "- [x] task number 7\n") + "- [ ] new\n" * 3
    theirs = "".join(lines[5:3000] + lines[3500:] + lines[:5])
    began = time.process_time()
    merged = merge_markdown(base, mine, theirs)
    assert merged.text.count("- [x] ") == 1
    assert merged.text.count("\n- [ ] task number 9999\n") == 1
    assert time.process_time() - began < 20


def test_texts_without_a_unique_line_are_compared_up_to_a_size() -> None:
    assert same_lines("abab", "baba") == [(0, 1), (1, 2), (2, 3)]
    assert same_lines("ab" * 400, "ba" * 400 + "c") == []
    assert list(changed_stretches("axb", "ayb")) == [(1, 2, 1, 2)]
    assert list(changed_stretches("ab", "ab")) == []


@given(st.text(alphabet="ab\r\n"))
def test_whole_lines_are_the_text(text: str) -> None:
    assert "".join(lines_with_endings(text)) == text
    assert all(lines_with_endings(text))


@given(st.text(alphabet="abcd", max_size=12), st.text(alphabet="abcd", max_size=12))
def test_pairs_hold_the_same_and_grow(one: str, other: str) -> None:
    pairs = same_lines(one, other)
    assert all(one[here] == other[there] for here, there in pairs)
    assert [here for here, _ in pairs] == sorted({here for here, _ in pairs})
    assert [there for _, there in pairs] == sorted({there for _, there in pairs})


@pytest.mark.parametrize(
    ("line", "following", "goes"),
    [
        pytest.param("- a", "  more of it", True, id="paragraph"),
        pytest.param("- a", "  - b", False, id="item"),
        pytest.param("- a", "  Needs: b", False, id="field"),
        pytest.param("- a", "  ```", False, id="fence"),
        pytest.param("- a", "", False, id="blank"),
        pytest.param("prose", "more", False, id="no-item"),
    ],
)
def test_a_note_waits_for_the_end_of_the_title(line: str, following: str, *, goes: bool) -> None:
    assert must_stay_attached(line, following) is goes


def test_parts_of_lines_that_differ_in_kind_are_not_mixed() -> None:
    assert merge_line("- a", "- [ ] a", "- b") == ("- [ ] a", False)
    assert merge_line("a", "- a", "b") == ("- a", False)
    assert common_base("- [x] a", "- [ ] a") == "- [ ] a"
    assert common_base("a", "- b") == ""
    assert not are_alike("abc", "xyz")
    assert not are_alike("abcdef", "fedcba")
    assert are_alike("- [ ] add a letter", "- [x] add letters")


@pytest.mark.parametrize(
    ("mine", "theirs"), [(TWO, "other\n"), ("other\n", TWO), ("other\n", "other\n")]
)
def test_where_one_writer_or_both_alike_wrote_there_is_nothing_to_merge(
    mine: str, theirs: str
) -> None:
    assert merge_markdown(TWO, mine, theirs).text == "other\n"


def test_two_tasks_with_ids_of_their_own_are_two_tasks_whatever_they_say() -> None:
    base = "- [ ] A-1: write the letter\n"
    merged = merge_markdown(
        base, "- [ ] A-2: write the letters\n", "- [x] A-1: write the letter\n"
    ).text
    assert {task.id for task in parse_markdown(merged).plan.tasks} >= {"A-2"}


def test_a_task_that_moved_is_no_other_wording_of_one_at_its_former_place() -> None:
    base = "- [ ] A-1: write one\n- [ ] A-2: write two\n- [ ] A-3: write three\n"
    mine = "- [ ] A-3: write three\n- [ ] A-1: write one\n- [ ] A-2: write two now\n"
    merged = merge_markdown(base, mine, base.replace("- [ ] A-1", "- [x] A-1")).text
    assert merged == ("- [ ] A-3: write three\n- [x] A-1: write one\n- [ ] A-2: write two now\n")


def test_where_one_writer_removed_all_what_the_other_did_is_kept_at_its_task() -> None:
    base = "- [ ] A-1: write one\n- [ ] A-2: write two\n"
    merged = merge_markdown(base, "", "- [x] A-2: write two\n").text
    assert merged == (
        "- [x] A-2: write two\n  - Conflict: the other version no longer has this task\n"
    )
