from __future__ import annotations

import pytest
from hypothesis import given

from ralph_ls.core.plan.model import Plan
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.plan.queries import renamed_tasks
from tests.unit.core.plan.plan_assertions import plan_of, plan_texts


def titles(before: tuple[str, ...], after: tuple[str, ...]) -> dict[str, str]:
    """Each title that is followed, under the one that it was."""
    old, new = (plan_of(*(f"- [ ] {title}" for title in each)) for each in (before, after))
    olds, news = old.by_id(), new.by_id()
    return {news[now].title: olds[was].title for now, was in renamed_tasks(old, new).items()}


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        pytest.param(("a", "b"), ("a", "b"), {}, id="nothing-changed"),
        pytest.param(("Fix login",), ("Fix the login",), {"Fix the login": "Fix login"}, id="word"),
        pytest.param(("Fix logn",), ("Fix login",), {"Fix login": "Fix logn"}, id="letter"),
        pytest.param(("修复登录页",), ("修复登录页面",), {"修复登录页面": "修复登录页"}, id="cjk"),
        pytest.param(
            ("Fix login", "b", "c"), ("b", "c", "Fix login form"), {"Fix login form": "Fix login"},
            id="moved",
        ),
        pytest.param(
            ("Add login and logout pages",),
            ("Add login page", "Add logout pages"),
            {"Add logout pages": "Add login and logout pages"},
            id="split",
        ),
        pytest.param(
            ("x", "Draw the settings page", "y"),
            ("x", "Show settings in a dialog", "y"),
            {"Show settings in a dialog": "Draw the settings page"},
            id="in-its-place",
        ),
        pytest.param(
            ("x", "Draw the settings page", "y"), ("x", "y", "Show settings in a dialog"), {},
            id="elsewhere-and-too-unlike",
        ),
        pytest.param(("Fix login",), ("Write docs",), {}, id="another"),
        pytest.param(("Fix login",), ("Fix login", "Fix logins"), {}, id="added"),
        pytest.param(("Fix login", "b"), ("b",), {}, id="gone"),
        pytest.param(("?",), ("!",), {}, id="nothing-to-compare"),
        pytest.param(
            ("Fix part 1 now", "Fix part 2 now"),
            ("Fix part 1 soon", "Fix part 2 soon"),
            {"Fix part 1 soon": "Fix part 1 now", "Fix part 2 soon": "Fix part 2 now"},
            id="each-its-own",
        ),
        pytest.param(("A-1: Fix it",), ("A-2: Fix it",), {"Fix it": "Fix it"}, id="explicit-id"),
    ],
)  # fmt: skip
def test_an_edited_task_is_followed(
    before: tuple[str, ...], after: tuple[str, ...], expected: dict[str, str]
) -> None:
    assert titles(before, after) == expected


@given(plan_texts, plan_texts)
def test_ids_are_given_once_and_only_to_new_ones(before: str, after: str) -> None:
    old, new = parse_markdown(before).plan, parse_markdown(after).plan
    found = renamed_tasks(old, new)
    assert len(set(found.values())) == len(found)
    assert found.keys() <= new.by_id().keys() - old.by_id().keys()
    assert set(found.values()) <= old.by_id().keys() - new.by_id().keys()
    assert renamed_tasks(old, old) == renamed_tasks(Plan(), new) == {}


@pytest.mark.slow
def test_a_plan_that_was_rewritten_as_a_whole_is_compared_in_part() -> None:
    old, new = (
        plan_of(*(f"- [ ] {words} {number}" for number in range(1000)))
        for words in ("Mend the part", "Mend each part")
    )
    assert 0 < len(renamed_tasks(old, new)) <= 200
