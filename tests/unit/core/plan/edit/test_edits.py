from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.edit.task_edits import block_task, tick_task
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.protocol.errors import RalphError
from tests.unit.core.plan.plan_assertions import PLANS


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("- [ ] A-1: a\n", "- [x] A-1: a\n", id="open"),
        pytest.param("- [~] A-1: a", "- [x] A-1: a", id="in-progress-without-final-newline"),
        pytest.param("- [!] A-1: a", "- [x] A-1: a", id="blocked"),
        pytest.param("- [ ] [BLOCKED] A-1: a", "- [x] [BLOCKED] A-1: a", id="tag-stays"),
        pytest.param("- [-] A-1: a", "- [x] A-1: a", id="skipped"),
        pytest.param("- [&] A-1: a", "- [x] A-1: a", id="unknown"),
        pytest.param("- [] A-1: a", "- [x] A-1: a", id="empty-box"),
        pytest.param("- [  ] A-1: a", "- [x] A-1: a", id="wide-box"),
        pytest.param("- [ ]A-1: a", "- [x]A-1: a", id="no-space"),
        pytest.param("- [x] A-1: a", "- [x] A-1: a", id="done-already"),
        pytest.param("\ufeff* [ ]\tA-1: a  \r\n", "\ufeff* [x]\tA-1: a  \r\n", id="bom-tab-crlf"),
        pytest.param("- 1. [ ] A-1: a", "- 1. [x] A-1: a", id="item-in-an-item"),
        pytest.param("1. A-1: a\n2. b\n", "1. [DONE] A-1: a\n2. b\n", id="without-a-box"),
        pytest.param(
            "1. [BLOCKED] A-1: a\n", "1. [DONE] [BLOCKED] A-1: a\n", id="blocked-without-a-box"
        ),
        pytest.param(
            "# Issues Discovered\n- [BUG] A-1: a\n",
            "# Issues Discovered\n- [DONE] [BUG] A-1: a\n",
            id="bug",
        ),
    ],
)
def test_a_tick_changes_the_box_alone(before: str, after: str) -> None:
    assert tick_task(before, "A-1") == after


def test_the_right_one_of_several_is_ticked() -> None:
    text = "- [ ] c\n- [ ] c\n  - [ ] c\n"
    assert tick_task(text, "2e7d2c03-2") == "- [ ] c\n- [x] c\n  - [ ] c\n"


def test_an_unknown_task_is_reported_with_what_to_do() -> None:
    told = r"no task 'A-9'.*ralph plan"
    with pytest.raises(RalphError, match=told):
        tick_task("- [ ] A-1: a\n", "A-9")
    with pytest.raises(RalphError, match=told):
        block_task("- [ ] A-1: a\n", "A-9", "r")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            "- [ ] A-1: a\n", "- [ ] [BLOCKED] A-1: a\n  - Blocked by: no key\n", id="box"
        ),
        pytest.param(
            "- [ ] A-1: a", "- [ ] [BLOCKED] A-1: a\n  - Blocked by: no key", id="no-final-newline"
        ),
        pytest.param(
            "# P\r\n- [ ] A-1: a",
            "# P\r\n- [ ] [BLOCKED] A-1: a\r\n  - Blocked by: no key",
            id="crlf",
        ),
        pytest.param(
            "10. [P0] A-1: a\n11. b\n",
            "10. [BLOCKED] [P0] A-1: a\n    - Blocked by: no key\n11. b\n",
            id="number",
        ),
        pytest.param(
            "- [ ] b\n\t- [ ] A-1: a\n",
            "- [ ] b\n\t- [ ] [BLOCKED] A-1: a\n\t  - Blocked by: no key\n",
            id="tab",
        ),
        pytest.param(
            "- [ ]A-1: a\n", "- [ ] [BLOCKED] A-1: a\n  - Blocked by: no key\n", id="no-space"
        ),
        pytest.param(
            "- [ ] A-1: a\n  goes on\nso\n\n     - note\n",
            "- [ ] [BLOCKED] A-1: a\n  goes on\nso\n     - Blocked by: no key\n\n     - note\n",
            id="below-the-whole-title-and-indented-as-what-follows",
        ),
        pytest.param(
            "- [ ] A-1: a\n   - Needs: b\n",
            "- [ ] [BLOCKED] A-1: a\n   - Blocked by: no key\n   - Needs: b\n",
            id="above-other-items",
        ),
        pytest.param(
            "- [ ] A-1: a\n  Criteria:\n  - c\n",
            "- [ ] [BLOCKED] A-1: a\n  - Blocked by: no key\n  Criteria:\n  - c\n",
            id="above-a-label",
        ),
        pytest.param(
            "- [ ] A-1: a\n  ```\n x\n  ```\n",
            "- [ ] [BLOCKED] A-1: a\n  - Blocked by: no key\n  ```\n x\n  ```\n",
            id="above-a-fence",
        ),
        pytest.param(
            "- [ ] [BLOCKED] A-1: a\n  - Blocked by: old\n",
            "- [ ] [BLOCKED] A-1: a\n  - Blocked by: no key\n  - Blocked by: old\n",
            id="the-older-reason-stays-below",
        ),
        pytest.param(
            "- [!] A-1: a\n  - Blocked by: no key\n",
            "- [!] A-1: a\n  - Blocked by: no key\n",
            id="blocked-already-with-that-reason",
        ),
        pytest.param("- [x] A-1: a\n", "- [x] A-1: a\n", id="done"),
        pytest.param("- [-] A-1: a\n", "- [-] A-1: a\n", id="skipped"),
    ],
)
def test_blocking_adds_tag_and_reason(before: str, after: str) -> None:
    assert block_task(before, "A-1", " no\n key ") == after


def test_without_a_reason_there_is_only_the_tag() -> None:
    assert block_task("- [ ] A-1: a\n", "A-1", " \n") == "- [ ] [BLOCKED] A-1: a\n"


def test_a_real_plan_keeps_all_else() -> None:
    text = (PLANS / "implementation_plan.md").read_text(encoding="utf-8")
    reset = parse_markdown(text).plan.tasks[2]
    edited = block_task(text, reset.id, "mail is down")
    assert edited == text.replace(
        "4. Implement password reset flow\n",
        "4. [BLOCKED] Implement password reset flow\n   - Blocked by: mail is down\n",
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            "- [ ] A-1: a\r\n- [ ] b\r\n",
            "- [ ] [BLOCKED] A-1: a\r\n  - Blocked by: no key\r\n  - Needs: a key\r\n- [ ] b\r\n",
            id="both",
        ),
        pytest.param(
            "- [ ] A-1: a\n    - note",
            "- [ ] [BLOCKED] A-1: a\n    - Blocked by: no key\n    - Needs: a key\n    - note",
            id="indented-as-what-follows",
        ),
        pytest.param(
            "- [!] A-1: a\n  - Blocked by: no key\n",
            "- [!] A-1: a\n  - Needs: a key\n  - Blocked by: no key\n",
            id="the-need-alone",
        ),
        pytest.param(
            "- [ ] A-1: a\n  Needs: a  key\n",
            "- [ ] [BLOCKED] A-1: a\n  - Blocked by: no key\n  Needs: a  key\n",
            id="the-reason-alone",
        ),
        pytest.param(
            "- [ ] A-1: a\n  - **Needs**: sleep\n",
            "- [ ] [BLOCKED] A-1: a\n  - Blocked by: no key\n  - Needs: a key\n"
            "  - **Needs**: sleep\n",
            id="another-need-stays-below",
        ),
    ],
)
def test_blocking_says_what_the_task_needs(before: str, after: str) -> None:
    assert block_task(before, "A-1", "no key", "a\tkey ") == after
    assert block_task(after, "A-1", "no key", "a key") == after


def test_foreign_text_opens_no_comment_over_the_plan() -> None:
    edited = block_task("- [ ] A-1: a\n- [ ] A-2: b\n", "A-1", "see <!-- this", "<!---->")
    assert [task.id for task in parse_markdown(edited).plan.tasks] == ["A-1", "A-2"]
    assert "  - Blocked by: see <! -- this\n  - Needs: <! ---->\n" in edited


_WORDS = st.text(alphabet="<!-`~[]x #:>|*_\\\n\r\t&a1.", max_size=30)


@given(reason=_WORDS, needs=_WORDS, ending=st.sampled_from(["\n", "\r\n"]))
def test_whatever_blocks_a_task_the_other_tasks_stay_as_they_are(
    reason: str, needs: str, ending: str
) -> None:
    plan = ending.join(["# P", "- [ ] A-1: a", "  - [ ] A-2: b", "- [x] A-3: c", ""])
    edited = block_task(plan, "A-1", reason, needs)
    tasks = parse_markdown(edited).plan.tasks
    assert [(task.id, task.title, task.state.value) for task in tasks] == [
        ("A-1", "a", "blocked"),
        ("A-2", "b", "todo"),
        ("A-3", "c", "done"),
    ]
    assert edited.replace("[BLOCKED] ", "").endswith(plan[plan.index("  - [ ]") :])
