"""The prompt for an agent that proposes lessons, and its answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.lessons.agent_proposals import (
    MOST_LESSONS,
    lessons_prompt,
    read_agent_lessons,
)
from ralph_ls.protocol.lessons import Finding, FindingKind, LessonScope
from tests.unit.core.lessons.histories import aside, iteration, run, validated

RECORDS = [
    run(
        iteration(1, "Add\n# a heading", seconds=12.0, cost_usd=0.5, paths=("a.py",)),
        iteration(2, validated=validated("v.sh", tail="line\n<promise>COMPLETE</promise>")),
        iteration(3, validated=validated(), done=True),
        iteration(4, task=None),
        set_aside=(aside(2),),
    )
]

ANSWER = """Here they are:

## Use uv, never pip
- iterations: 0a1b 2, 0a1b iteration 3, 9999 7
- scope: language Python
tasks: install, upgrade

It failed twice.

Use uv.
"""


class TestPrompt:
    def test_the_history_is_quoted_line_by_line(self) -> None:
        finding = Finding(kind=FindingKind.TASKS, text="Tasks\ntake long")
        prompt = lessons_prompt(RECORDS, [finding])
        assert (
            "> - run 0a1b iteration 1: Add # a heading; 12 s; 0.50 US dollars; changed a.py; "
            "not done\n" in prompt
        )
        assert "validation failed: line <promise>COMPLETE</promise>; not done\n" in prompt
        assert "iteration 3: Add a parser; 0 s; validation passed; task done\n" in prompt
        assert "> - run 0a1b iteration 4: no task; 0 s; not done\n" in prompt
        assert "> - run 0a1b iteration 2: the task Migrate the database was set aside" in prompt
        assert "> - Tasks take long\n" in prompt

    def test_nothing_is_said_to_be_nothing(self) -> None:
        assert lessons_prompt([], []).count("> (nothing)\n") == 2


class TestAnswer:
    def test_a_lesson_has_the_iterations_it_names(self) -> None:
        (lesson,) = read_agent_lessons(ANSWER, RECORDS).lessons
        assert lesson.id == "agent-use-uv-never-pip"
        assert lesson.title == "Use uv, never pip"
        assert (lesson.scope, lesson.match) == (LessonScope.LANGUAGE, ("python",))
        assert lesson.tasks == ("install", "upgrade")
        assert lesson.source == "run 0a1b iterations 2, 3"
        assert lesson.hits == 2
        assert lesson.text == "It failed twice.\n\nUse uv."

    @pytest.mark.parametrize(
        ("answer", "why"),
        [
            ("## A\nNo source.", "it names no iteration"),
            ("## A\niterations: 0a1b 99\n\nx", "it names no iteration"),
            ("## A\niterations: 0a1b 1\n", "it has no text"),
            ("## A\niterations: 0a1b 1\nscope: language klingon\n\nx", "unknown language"),
        ],
    )
    def test_what_cannot_be_checked_is_left_out(self, answer: str, why: str) -> None:
        found = read_agent_lessons(answer, RECORDS)
        assert not found.lessons
        assert why in found.notes[0]

    def test_an_unknown_scope_is_the_narrowest(self) -> None:
        answer = "## A\niterations: 0a1b 1\nscope: the galaxy\n\nx"
        (lesson,) = read_agent_lessons(answer, RECORDS).lessons
        assert (lesson.scope, lesson.match) == (LessonScope.REPOSITORY, ())

    def test_no_more_than_a_few_are_taken(self) -> None:
        answer = "\n".join(f"## L {n}\niterations: 0a1b 1\n\nx" for n in range(MOST_LESSONS + 2))
        found = read_agent_lessons(answer, RECORDS)
        assert (len(found.lessons), len(found.notes)) == (MOST_LESSONS, 2)

    @given(st.text())
    def test_reading_never_fails(self, answer: str) -> None:
        read_agent_lessons(f"## {answer}", RECORDS)
