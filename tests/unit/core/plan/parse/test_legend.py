"""Legends: a plan's own words decide what its emoji mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.edit.task_edits import tick_task, untick_task
from ralph_ls.core.plan.parse.dialect import find_dialect
from ralph_ls.core.plan.parse.legend import find_legend
from ralph_ls.core.plan.parse.markdown import parse_markdown, reparse_markdown
from ralph_ls.protocol.task_words import TaskState
from tests.unit.core.plan.plan_assertions import shown

CIRCLES_ARE_NONE = dict.fromkeys("🟢🟡🔴🔵🟠⚪", " ")
"""Circles that say how grave something is are no states."""


def meanings(text: str) -> dict[str, str]:
    return {chr(sign): to for sign, to in (find_legend(text) or {}).items()}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("Legend: ✅ done in May · ⏳ to do · 🔧 partly\n", {"⏳": "⬜"}, id="line"),
        pytest.param("> **Status legend:** ✅ done | 🔵 planned\n", {"🔵": "⬜"}, id="quote"),
        pytest.param("⏳ = Planned    🚧 = In Progress\n", {"⏳": "⬜"}, id="equals"),
        pytest.param("blank = not started, ⏳ = in progress\n", {}, id="as-usual"),
        pytest.param("**Legend:**\n\n- ✅ Done\n- 🔵 Planned\n- ⏭️ Skipped\n\n- 🚧 Planned x\n",
                     {"🔵": "⬜", "⏭": "⊘"}, id="list"),
        pytest.param("## Legend\n\n| Sign | Meaning |\n|---|---|\n| 🟡 | Not started |\n",
                     {"🟡": "⬜"}, id="table"),
        pytest.param("Key: 🔴 blocked, 🔵 done\n", {"🔴": "⛔", "🔵": "✅"}, id="key"),
        pytest.param("图例:⏳ 未开始\n", {"⏳": "⬜"}, id="chinese"),
        pytest.param("Legend: ✅ to do\n", {}, id="done-stays-done"),
        pytest.param("Legend: 🔴 High · 🟡 Medium\n", CIRCLES_ARE_NONE, id="priorities"),
        pytest.param("### 🔴 Critical\n### 🟢 Low: x\n", CIRCLES_ARE_NONE, id="severities"),
        pytest.param("## 🔴 高\n## 🟡 中\n", CIRCLES_ARE_NONE, id="severities-in-chinese"),
        pytest.param("🔴 High, 🟡 Medium, 🟢 Done\n", {}, id="severities-and-states"),
        pytest.param("## 🔴 High\n- 🟡 Mediums\n", {}, id="one-severity"),
        pytest.param("Legend: 🟡 = planned\n\n🟡 = blocked\n", {}, id="two-meanings"),
        pytest.param("Legend\n\nWords about it.\n\n- 🟡 Planned work\n", {}, id="words-between"),
        pytest.param("| a | ⏳ Pending |\n| b | ⏳ |\n", {"⏳": "⬜"}, id="use"),
        pytest.param("- ⏳ **Pending**: a\n- ⏳ b\n", {"⏳": "⬜"}, id="use-in-front"),
        pytest.param("⏳ In progress\n⏳ Pending\n", {}, id="use-of-both"),
        pytest.param("- 🚧 Next steps\n- 🚧 Pendings\n", {}, id="words-that-are-no-states"),
        pytest.param("Legend: ⏳ to do", {"⏳": "⬜"}, id="at-the-end"),
        pytest.param("Legend: done, to do\n", {}, id="without-signs"),
        pytest.param("Legend: é\n", {}, id="no-sign-that-could-differ"),
    ],
)  # fmt: skip
def test_finds_what_a_plan_says_of_its_signs(text: str, found: dict[str, str]) -> None:
    assert meanings(text) == found


PLAN = """# Plan

Legend: ✅ done · ⏳ to do · 🔵 in review · ⏭ skipped

## Work

- ⏳ Parse
- 🔵 Link
- ✅ Read
- ⏭ Fax

| Step | Status |
|---|---|
| a | ⏳ |
"""


def states(text: str) -> list[TaskState]:
    return [task.state for task in parse_markdown(text).plan.tasks]


def test_items_have_the_states_of_the_legend() -> None:
    tasks = parse_markdown(PLAN).plan.tasks
    assert [(task.title, task.state.value) for task in tasks] == [
        ("Parse", "todo"), ("Link", "inProgress"), ("Read", "done"), ("Fax", "skipped"),
        ("a", "todo"),
    ]  # fmt: skip
    without = PLAN.replace("Legend", "Colours")
    assert states(without)[0] is TaskState.IN_PROGRESS


@pytest.mark.parametrize(
    "text",
    [
        "### Task 1: a ⏳\n\nx\n\n### Task 2: b\n\nx\n",
        "### Task 1: a\n\n- **Status:** ⏳\n\n### Task 2: b\n\nx\n",
        "| Task | Status |\n|---|---|\n| a | ⏳ |\n",
        "- [⏳] a\n",
    ],
)
def test_headings_rows_lines_and_boxes_do_too(text: str) -> None:
    assert states(text)[0] is TaskState.IN_PROGRESS
    assert states(f"⏳ = to do\n\n{text}")[0] is TaskState.TODO


def test_a_title_keeps_its_emoji() -> None:
    text = "⏳ = to do\n\n- [ ] Show ⏳ while it loads\n"
    assert [task.title for task in parse_markdown(text).plan.tasks] == ["Show ⏳ while it loads"]


def test_a_sign_of_the_legend_is_ticked_and_opened() -> None:
    task = parse_markdown(PLAN).plan.tasks[0]
    ticked = tick_task(PLAN, task.id)
    assert ticked == PLAN.replace("- ⏳ Parse", "- ✅ Parse")
    assert states(untick_task(ticked, task.id)) == states(PLAN)


@given(st.integers(0, len(PLAN)), st.integers(0, 12), st.sampled_from(["", "⏳", "to do", "\n"]))
def test_a_keystroke_in_the_legend_is_read_as_the_whole(start: int, size: int, new: str) -> None:
    parsed = reparse_markdown(parse_markdown(PLAN), (start, start + size, new))
    text = PLAN[:start] + new + PLAN[start + size :]
    assert tuple(parsed.plan.tasks) == tuple(parse_markdown(text).plan.tasks)


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        pytest.param(
            "## Status legend\n- [ ] Pending\n- [x] Done\n- [~] Future / out-of-scope\n\n- [~] a\n",
            (("~", "-"),),
            id="a-list",
        ),
        pytest.param(
            "Legend: `[-]` = in progress, [!] done\n", (("-", "~"), ("!", "x")), id="a-line"
        ),
        pytest.param("Legend: [?] blocked | [/] open\n", (("?", "!"), ("/", "")), id="open"),
        pytest.param("Legend: [~] in progress, [-] skipped, [>] who knows\n", (), id="as-usual"),
        pytest.param("Legend: [~] done, [~] blocked\n", (), id="both"),
        pytest.param("Marks: [~] deferred\n\n- [~] a\n", (), id="no-legend"),
        pytest.param("Legend: ✅ done\n\n- [ ] a\n", (), id="no-mark"),
    ],
)
def test_finds_what_a_plan_says_of_its_boxes(text: str, marks: tuple[tuple[str, str], ...]) -> None:
    assert find_dialect(text).marks == marks


def test_boxes_have_the_states_of_the_legend() -> None:
    legend = "Legend: [~] deferred, [-] in progress, [!] done, [/] open"
    lines = (legend, "", "- [~] a", "- [-] b", "- [!] c", "- [/] d")
    assert shown(*lines) == ["skipped a", "inProgress b", "done c", "todo d"]
    kiro = (*lines, "  - _Requirements: 1.1_")
    assert shown(*kiro) == ["skipped a", "inProgress b", "done c", "todo d"]
