"""Whether lessons help, and which are stale."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from ralph_ls.core.lessons.effect import effect_words, effects_of, why_stale
from ralph_ls.core.lessons.lesson import Lesson
from ralph_ls.protocol.lessons import LessonEffect
from tests.unit.core.lessons.histories import figure

USE_UV = Lesson(id="use-uv", title="Use uv", text="x", date="2026-01-01")


class TestEffect:
    def test_tasks_with_and_without_are_compared(self) -> None:
        here = [
            figure("A", "use-uv", cost_usd=0.5),
            figure("A", cost_usd=0.25),
            figure("B"),
            figure("C", cost_usd=1.0),
            figure("C", cost_usd=1.0),
            figure("C"),
            figure(None, "use-uv"),
            figure("D", counted=False),
        ]
        elsewhere = [figure("E"), figure("F", "other")]
        assert effects_of([USE_UV], [here, elsewhere]) == {
            "use-uv": LessonEffect(
                iterations=2,
                tasks_with=1,
                tasks_without=2,
                attempts_with=2.0,
                attempts_without=2.0,
                cost_with_usd=0.75,
                cost_without_usd=2.0,
                last_used="2026-01-31",
            )
        }

    def test_only_tasks_that_it_is_meant_for_are_compared(self) -> None:
        meant = Lesson(id="use-uv", title="T", text="x", tasks=("parser",))
        here = [figure("Parser one", "use-uv"), figure("Parser two"), figure("Docs")]
        found = effects_of([meant], [here])["use-uv"]
        assert (found.tasks_with, found.tasks_without, found.cost_with_usd) == (1, 1, None)

    def test_a_lesson_that_no_prompt_had_has_none(self) -> None:
        assert effects_of([USE_UV], [[figure("A", "other")], []]) == {}

    @pytest.mark.parametrize(
        ("effect", "expected"),
        [
            (
                LessonEffect(iterations=1, last_used="2026-01-31"),
                "1 iteration, last on 2026-01-31",
            ),
            (
                LessonEffect(
                    iterations=9,
                    last_used="2026-01-31",
                    tasks_with=8,
                    tasks_without=1,
                    attempts_with=1.25,
                    attempts_without=2,
                    cost_with_usd=0.5,
                ),
                (
                    "9 iterations, last on 2026-01-31; attempts a task: 1.25 with it (8 tasks), "
                    "2 without (1 task); US dollars a task: 0.5 with it"
                ),
            ),
        ],
    )
    def test_it_is_told_with_its_numbers(self, effect: LessonEffect, expected: str) -> None:
        assert effect_words(effect) == expected


def effect(**more: Any) -> LessonEffect:
    return LessonEffect(
        **{
            "iterations": 9,
            "last_used": "2026-01-30",
            "tasks_with": 5,
            "tasks_without": 5,
            "attempts_with": 2.0,
            "attempts_without": 1.0,
            **more,
        }
    )


class TestStale:
    @pytest.mark.parametrize(
        ("found", "expected"),
        [
            (None, None),
            (effect(last_used="2025-01-30"), "no prompt has had it since 2025-01-30"),
            (effect(), "5 tasks with it took 2 iterations on average, 5 tasks without it 1"),
            (effect(cost_with_usd=3, cost_without_usd=1), "5 tasks with it took 2 iterations"),
            (effect(cost_with_usd=1, cost_without_usd=3), None),
            (effect(attempts_with=1.05), None),
            (effect(tasks_without=4), None),
        ],
    )
    def test_unused_and_useless_ones_are(
        self, found: LessonEffect | None, expected: str | None
    ) -> None:
        why = why_stale(USE_UV, found, today=date(2026, 1, 31), stale_days=90)
        assert why is None if expected is None else why is not None and why.startswith(expected)

    def test_one_that_was_never_used_is_after_its_date(self) -> None:
        why = why_stale(USE_UV, None, today=date(2026, 6, 1), stale_days=90)
        assert why == "no prompt has had it since 2026-01-01"

    def test_one_without_a_date_or_with_a_wrong_one_is_not(self) -> None:
        for one in (
            Lesson(id="a", title="T", text="x"),
            Lesson(id="a", title="T", text="x", date="soon", problems=("no date",)),
        ):
            assert why_stale(one, None, today=date(2026, 6, 1), stale_days=90) is None
