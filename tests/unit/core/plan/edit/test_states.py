from __future__ import annotations

import pytest

from ralph_ls.core.plan.parse.words.state_words import find_sign, read_state
from ralph_ls.core.plan.parse.words.title_states import opening_sign
from ralph_ls.protocol.task_words import TaskState


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("done", TaskState.DONE),
        ("✅ **Complete**", TaskState.DONE),
        ("Completed (2026-01-29)", TaskState.DONE),
        ("Complete 100%", TaskState.DONE),
        ("Complete (60 %)", TaskState.IN_PROGRESS),
        ("IN-PROGRESS", TaskState.IN_PROGRESS),
        ("🟢 Ready", TaskState.TODO),
        ("Not done", TaskState.TODO),
        ("incomplete", TaskState.TODO),
        ("To do", TaskState.TODO),
        ("Blocked on a key", TaskState.BLOCKED),
        ("Won't do", TaskState.SKIPPED),
        ("✔️", TaskState.DONE),
        ("🔴 soon", TaskState.TODO),
        ("doneness", None),
        ("", None),
        ("Ada", None),
    ],
)
def test_words_go_before_signs(text: str, state: TaskState | None) -> None:
    assert read_state(text) is state


def test_signs_are_found_at_their_places() -> None:
    assert find_sign("1.1 🟢 a") == (4, 5)
    assert find_sign("✔️ a") == (0, 2)
    assert find_sign("🚀 a") is None
    assert opening_sign("✅ a") == (0, 1)
    assert opening_sign("a ✅") is None
