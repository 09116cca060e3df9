"""The words for states, in sixteen languages."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.edit.task_edits import tick_task
from ralph_ls.core.plan.parse.words.state_tables import STATE_WORDS
from ralph_ls.core.plan.parse.words.state_words import is_done_word, read_state
from ralph_ls.core.plan.parse.words.title_states import closing_remark
from ralph_ls.protocol.task_words import TaskState
from tests.unit.core.plan.plan_assertions import plan_of, shown


@pytest.mark.parametrize("language", STATE_WORDS)
def test_every_language_has_words_for_every_state(language: str) -> None:
    states = STATE_WORDS[language]
    assert set(states) == set(TaskState)
    for state, words in states.items():
        assert read_state(words.partition("|")[0].upper()) is state


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("[x] COMPLETED", TaskState.DONE),
        ("[ ] Not Started", TaskState.TODO),
        ("[ ] Not started [x] In progress", TaskState.IN_PROGRESS),
        ("**[x]**", TaskState.DONE),
        ("[ ]", TaskState.TODO),
        ("已完成", TaskState.DONE),
        ("完成度80%", TaskState.IN_PROGRESS),
        ("完了予定", TaskState.TODO),
        ("nicht begonnen", TaskState.TODO),
        ("À faire", TaskState.TODO),
        ("Частично (60 %)", TaskState.IN_PROGRESS),
        ("не готово", TaskState.TODO),
        ("Zakończone", TaskState.DONE),
        ("nog niet begonnen", TaskState.TODO),
        ("in review", TaskState.IN_PROGRESS),
        ("Donetsk", None),
        ("", None),
    ],
)
def test_states_are_read(text: str, state: TaskState | None) -> None:
    assert read_state(text) is state


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("X (COMPLETED)", TaskState.DONE),
        ("X - ✅ Implemented", TaskState.DONE),
        ("X: done 2026-01-02", TaskState.DONE),
        ("X ✅", TaskState.DONE),
        ("阶段一\uff08进行中\uff09", TaskState.IN_PROGRESS),
        ("X \u2014 completed orders are lost", None),
        ("Definition of done", None),
        ("X (see below)", None),
    ],
)
def test_remarks_at_the_end_are_read(text: str, state: TaskState | None) -> None:
    found = closing_remark(text)
    assert (None if found is None else found.state) is state


def test_a_word_for_done_is_nothing_else() -> None:
    assert is_done_word("✅ Implemented")
    assert not is_done_word("implemented twice")
    assert not is_done_word("open")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("- **Status**: [x] COMPLETED", "done X"),
        ("- **Status**: [ ] Not Started", "todo X"),
        ("**Status**: in Arbeit", "inProgress X"),
    ],
)
def test_a_line_below_a_heading_gives_its_state(line: str, expected: str) -> None:
    assert shown("# Plan", "## X", line) == [expected]


@pytest.mark.parametrize(
    ("head", "row", "expected"),
    [
        ("| 任务 | 状态 |", "| 登录 | 进行中 |", "inProgress 登录"),
        ("| タスク | 状態 |", "| 登録 | 未着手 |", "todo 登録"),
        ("| 작업 | 상태 |", "| 로그인 | 완료 |", "done 로그인"),
        ("| Aufgabe | Stand |", "| Anmelden | blockiert |", "blocked Anmelden"),
        ("| Tâche | État |", "| Entrer | terminé |", "done Entrer"),
        ("| Tarea | Estado |", "| Entrar | pendiente |", "todo Entrar"),
        ("| Tarefa | Situação |", "| Entrar | concluído |", "done Entrar"),
    ],
)
def test_tables_are_read_in_every_language(head: str, row: str, expected: str) -> None:
    assert shown("# Plan", head, "|---|---|", row) == [expected]


def test_an_edit_writes_the_word_of_the_same_language() -> None:
    text = "| 任务 | 状态 |\n|---|---|\n| 登录 | 进行中 |"
    (task,) = plan_of(text).tasks
    assert tick_task(text, task.id).endswith("| 登录 | 已完成 |")
