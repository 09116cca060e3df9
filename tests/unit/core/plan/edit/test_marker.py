"""The plan's completion marker (docs/rules.md#exit-gate): where it counts, and where not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.completion import find_completion_marker, has_completion_marker
from tests.unit.core.plan.plan_assertions import plan_texts

WORD = "PROJECT_COMPLETE"

ALONE: dict[str, str] = {
    "bare": "PROJECT_COMPLETE",
    "last line": "# Plan\n\n- [x] a\n\nPROJECT_COMPLETE\n",
    "first line": "PROJECT_COMPLETE\n# Plan\n",
    "spaces around": "   PROJECT_COMPLETE  \n",
    "tabs around": "\tPROJECT_COMPLETE\t\n",
    "windows lines": "# Plan\r\nPROJECT_COMPLETE\r\n",
    "old mac lines": "# Plan\rPROJECT_COMPLETE\rmore\r",
    "byte order mark": "\ufeffPROJECT_COMPLETE\n",
    "wide spaces": "\u3000PROJECT_COMPLETE\u3000\n",
    "between lines in Chinese": "# 计划\n完成\nPROJECT_COMPLETE\n全部任务已完成\n",
    "heading": "## PROJECT_COMPLETE",
    "closed heading": "# PROJECT_COMPLETE ##",
    "underlined heading": "PROJECT_COMPLETE\n================\n",
    "bold": "**PROJECT_COMPLETE**",
    "bold by underscores": "__PROJECT_COMPLETE__",
    "italic": "*PROJECT_COMPLETE*",
    "bold and italic": "***PROJECT_COMPLETE***",
    "bold heading": "### **PROJECT_COMPLETE**",
    "dash": "- PROJECT_COMPLETE",
    "star": "* PROJECT_COMPLETE",
    "plus": "+ PROJECT_COMPLETE",
    "number": "12. PROJECT_COMPLETE",
    "number with a bracket": "3) PROJECT_COMPLETE",
    "nested": "- [x] all\n    - PROJECT_COMPLETE",
    "items in items": "- 1. PROJECT_COMPLETE",
    "ticked box": "- [x] PROJECT_COMPLETE",
    "ticked box, upper case": "* [X] **PROJECT_COMPLETE**",
    "comment": "<!-- PROJECT_COMPLETE -->",
    "tight comment": "<!--PROJECT_COMPLETE-->",
    "comment in a list": "- <!-- PROJECT_COMPLETE -->",
    "comment of several lines": "<!--\nPROJECT_COMPLETE\n-->",
    "bold comment": "<!-- **PROJECT_COMPLETE** -->",
    "after a fence": "```sh\nmake\n```\nPROJECT_COMPLETE",
    "after a longer fence": "````\n```\n````\nPROJECT_COMPLETE",
    "after tildes": "~~~ text `a`\nx\n~~~\nPROJECT_COMPLETE",
    "between fences": "```\na\n```\nPROJECT_COMPLETE\n```\nb\n```",
    "after a fence in an item": "- a\n  ```\n  x\n  ```\n- b\n\nPROJECT_COMPLETE",
    "after a fence behind a mark": "- ```\n  x\n  ```\n\nPROJECT_COMPLETE",
    "before a fence that has no end": "PROJECT_COMPLETE\n```\n",
    "after inline code": "```a``` b\nPROJECT_COMPLETE",
    "after a short run of backticks": "``\nPROJECT_COMPLETE\n~~~\n",
    "once in a sentence, once alone": "Write PROJECT_COMPLETE at the end.\nPROJECT_COMPLETE",
    "once in a fence, once alone": "```\nPROJECT_COMPLETE\n```\nPROJECT_COMPLETE",
    "after items of all depths": "- a\n  - b\n    - c\n- - d\n~~~\n~~~\nPROJECT_COMPLETE",
}

NONE: dict[str, str] = {
    "nothing": "",
    "no marker": "# Plan\n- [x] a\n",
    "sentence": "The PROJECT_COMPLETE marker is added when all is done.",
    "a note about the marker": (
        "**Note:** The `PROJECT_COMPLETE` marker should only be added when all tasks are finished."
    ),
    "start of a sentence": "PROJECT_COMPLETE is not there yet",
    "with a full stop": "PROJECT_COMPLETE.",
    "after a label": "Status: PROJECT_COMPLETE",
    "Chinese on the same line": "PROJECT_COMPLETE 完成",
    "Chinese that touches it": "完成PROJECT_COMPLETE",
    "longer word": "PROJECT_COMPLETED",
    "word around it": "NOT_PROJECT_COMPLETE",
    "lower case": "project_complete",
    "open box": "- [ ] PROJECT_COMPLETE",
    "skipped box": "- [-] PROJECT_COMPLETE",
    "inline code": "`PROJECT_COMPLETE`",
    "struck out": "~~PROJECT_COMPLETE~~",
    "quote": "> PROJECT_COMPLETE",
    "half bold": "**PROJECT_COMPLETE",
    "wrongly bold": "**PROJECT_COMPLETE__",
    "comment with more": "<!-- add PROJECT_COMPLETE here -->",
    "comment without an end": "<!-- PROJECT_COMPLETE",
    "end of a comment": "PROJECT_COMPLETE -->",
    "seven hashes": "####### PROJECT_COMPLETE",
    "hashes behind, none before": "PROJECT_COMPLETE ##",
    "fence": "```\nPROJECT_COMPLETE\n```",
    "fence with a language": "```markdown\n# PROJECT_COMPLETE\n```\n",
    "tildes": "~~~\nPROJECT_COMPLETE\n~~~",
    "fence without an end": "```\nPROJECT_COMPLETE",
    "fence with windows lines": "```\r\nPROJECT_COMPLETE\r\n```\r\n",
    "tildes do not end backticks": "```\n~~~\nPROJECT_COMPLETE\n```",
    "a shorter run ends nothing": "````\n```\nPROJECT_COMPLETE\n````",
    "a run with a word ends nothing": "```\n```sh\nPROJECT_COMPLETE\n```",
    "an end too far right": "```\n    ```\nPROJECT_COMPLETE\n```",
    "fence in an item": "- a\n  ```\n  PROJECT_COMPLETE\n  ```",
    "fence behind a mark": "- ```\n  PROJECT_COMPLETE\n  ```",
    "fence behind two marks": "- 1. ```\n     PROJECT_COMPLETE\n     ```",
    "line left of an indented fence": "  ```\nPROJECT_COMPLETE\n  ```",
    "fence after an item that ended": "- a\n\ntext\n  ```\nPROJECT_COMPLETE\n  ```",
    "fence after one without an end in an item": "- a\n  ```\n  x\n\n```\nPROJECT_COMPLETE\n```",
    "fence after one that is indented code": "a\n\n    ```\n\n```\nPROJECT_COMPLETE\n```",
    "fence left of a numbered item's text": "1. ```\n  ```\n   PROJECT_COMPLETE",
    "fence after a mark with nothing behind it": "-\n  ```\n  x\n ```\nPROJECT_COMPLETE",
    "fence in an item far from its mark": "-      a\n  ```\n\n```\nPROJECT_COMPLETE\n```",
    "end too far right of the item": "   ```\n    ```\nPROJECT_COMPLETE\n```",
    "blank lines in a fence": "```\n\n \t\nPROJECT_COMPLETE\n\n```",
}


@pytest.mark.parametrize("name", ALONE)
def test_a_separate_line_is_the_marker(name: str) -> None:
    assert has_completion_marker(ALONE[name], WORD)


@pytest.mark.parametrize("name", NONE)
def test_anything_else_is_none(name: str) -> None:
    assert not has_completion_marker(NONE[name], WORD)


@pytest.mark.parametrize("word", ["DONE", "A", "_", "X_", "__X__", "0"])
def test_the_word_is_a_setting(word: str) -> None:
    assert has_completion_marker(f"# Plan\n- **{word}**\n", word)
    assert not has_completion_marker(f"# Plan\n- {word}{word}\n", word)


def test_a_mark_around_a_word_that_ends_like_it_is_no_part_of_it() -> None:
    assert has_completion_marker("_X_", "X")
    assert not has_completion_marker("_X_", "Y")


WORST = {
    "the word on one line": WORD * 600_000,
    "the word in sentences": f"see {WORD} here\n" * 100_000,
    "hashes": "#" * 4_000_000 + WORD,
    "stars": "*" * 4_000_000 + WORD,
    "spaces": " " * 4_000_000 + WORD + " x",
    "list marks": "- " * 2_000_000 + WORD + " x",
    "boxes": "- [x] " * 600_000 + WORD,
    "dashes in a comment": "<!--" + "-" * 4_000_000 + WORD + "-" * 4_000_000,
    "list marks before a fence": "- " * 100_000 + f"```\n{WORD} x",
    "a fence that is never closed": "```\n" + f"{WORD}\n" * 50_000,
    "backticks": "`" * 4_000_000 + f"\n{WORD}",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", WORST)
def test_megabytes_are_no_more_than_many_short_lines(name: str) -> None:
    # What is not linear takes hours here.
    assert not has_completion_marker(WORST[name], WORD)


lines_like_fences = st.lists(
    st.sampled_from(
        (
            WORD,
            f"  {WORD}",
            f"- {WORD}",
            f"## {WORD}",
            "```",
            "  ```",
            "    ```",
            "~~~",
            "````",
            "```sh",
            "- ```",
            "- a",
            "  - b",
            "1. c",
            "",
            "text",
            "> ```",
            "<!--",
            "-->",
            "\t~~~",
        )
    ),
    max_size=12,
).map("\n".join)
texts = st.one_of(lines_like_fences, plan_texts, st.text(alphabet=f"`~-# \n\r\t{WORD}"))
without_fences = texts.map(lambda text: text.replace("`", "").replace("~", ""))


class TestProperties:
    @given(texts)
    def test_a_text_inside_a_fence_has_no_marker(self, text: str) -> None:
        fence = "`" * (text.count("`") + 3)
        assert not has_completion_marker(f"{fence}\n{text}\n{WORD}\n{fence}\n", WORD)

    @given(without_fences, texts, st.sampled_from("`~"))
    def test_putting_text_into_a_fence_never_adds_a_marker(
        self, before: str, text: str, mark: str
    ) -> None:
        fence = mark * (text.count(mark) + 3)
        fenced = f"{before}\n{fence}\n{text}\n{WORD}\n{fence}"
        assert has_completion_marker(fenced, WORD) == has_completion_marker(before, WORD)

    @given(without_fences)
    def test_a_line_put_after_a_text_without_fences_is_the_marker(self, text: str) -> None:
        assert has_completion_marker(f"{text}\n{WORD}", WORD)

    @given(texts, st.sampled_from(("\r\n", "\r")))
    def test_line_endings_make_no_difference(self, text: str, ending: str) -> None:
        plain = text.replace("\r\n", "\n").replace("\r", "\n")
        assert has_completion_marker(plain.replace("\n", ending), WORD) == has_completion_marker(
            plain, WORD
        )

    @given(texts)
    def test_where_there_is_a_marker_there_is_the_word_on_a_short_line(self, text: str) -> None:
        if has_completion_marker(text, WORD):
            lines = text.replace("\r", "\n").split("\n")
            stripped = [line.strip(" \t-+*#_.)[]xX<!>\ufeff0123456789\x0b\x0c") for line in lines]
            assert WORD.strip("xX") in stripped


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("- [x] a\n\nPROJECT_COMPLETE\nPROJECT_COMPLETE\n", 2),
        ("\ufeffPROJECT_COMPLETE\r\n", 0),
        ("```\nPROJECT_COMPLETE\n```\r\nPROJECT_COMPLETE", 3),
        ("```\nPROJECT_COMPLETE\n```\n", None),
        ("nothing", None),
    ],
)
def test_the_first_line_that_counts_is_found(text: str, line: int | None) -> None:
    assert find_completion_marker(text, WORD) == line


def test_no_word_is_no_marker() -> None:
    assert find_completion_marker("# Roof\n- [ ] Saw\n", "") is None
