"""The registered formats: a sample project of each is found by its path, read, and edited."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.formats.dispatch import operations_of, parse_plan, plan_edit, waiting_tasks
from ralph_ls.core.plan.formats.plan_folder import join_files
from ralph_ls.core.plan.formats.plan_format import PlanStorage, ReadOptions
from ralph_ls.core.plan.formats.registry import FORMATS, format_of, format_of_file
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.plan.queries import next_task
from ralph_ls.protocol.lsp.row_methods import TaskEdit
from ralph_ls.protocol.task_words import TaskState

DATA = Path("tests/data/plan_formats")
STRUCTURED = [
    kind
    for kind, known in FORMATS.items()
    if known.storage in {PlanStorage.FILE, PlanStorage.FOLDER}
]
NEXT = {
    PlanKind.TASK_MASTER: "Pay by card",
    PlanKind.BACKLOG: "Pay by card: a payment that was refused leaves the order unpaid",
    PlanKind.SUPERPOWERS: "Pay by card",
    PlanKind.GSD: "Page",
    PlanKind.BMAD: "Story 1.2: Pay by card",
    PlanKind.BMAD_STORY: "Charge the card (AC: 1, 2)",
    PlanKind.TODO_TXT: "Pay by card +shop @work",
    PlanKind.ORG: "Pay by card",
}


def sample(kind: PlanKind) -> tuple[str, str]:
    """Path and text of a format's sample project."""
    known, root = format_of(kind), DATA / kind.value
    path = next(path for path in known.files if (root / path).exists() or list(root.glob(path)))
    if known.storage is PlanStorage.FILE:
        found = next(root.glob(path))
        return found.relative_to(root).as_posix(), found.read_bytes().decode()
    files = (root / path).glob(known.members)
    return path, join_files(
        {one.relative_to(root).as_posix(): one.read_bytes().decode() for one in files}
    )


@pytest.mark.parametrize("kind", STRUCTURED)
def test_the_next_task_of_a_sample_is_the_one_that_is_ready(kind: PlanKind) -> None:
    path, text = sample(kind)
    assert format_of_file(path, PlanKind.MARKDOWN).name is kind
    operations = operations_of(kind)
    plan = operations.parse(text, ReadOptions()).plan
    assert {task.state for task in plan.tasks} >= {TaskState.TODO, TaskState.DONE}
    waiting = waiting_tasks(operations.parse(text, ReadOptions()), text, kind)
    assert waiting is not None
    needs = {task_id: [task.id for task in tasks] for task_id, tasks in waiting.items()}
    task = next_task(plan, waits_for=needs)
    assert task is not None
    assert task.title == NEXT[kind]
    blocked = plan_edit(kind, TaskEdit.BLOCK, task.id, reason="no licence")(text)
    seen = operations.parse(blocked, ReadOptions()).plan.by_id()[task.id]
    assert (seen.state, seen.blocked_by) == (TaskState.BLOCKED, "no licence")
    opened = plan_edit(kind, TaskEdit.UNBLOCK, task.id)(blocked)
    assert operations.parse(opened, ReadOptions()).plan.by_id()[task.id].state is TaskState.TODO


PIECES = (
    "a", "Parse it", "!", "?", "-", "…", ":", "::", ":1", "1", "1.", "1)", "#", ">", "*", "+", "~",
    "`", "_", "[", "]", "(", ")", "{}", "<b>", "[link](url)", "US-1:", "http://x", "é", "中文", ".",
    ";", "^", "=", "&", "$", "%", "@", "'", "[x]", "[DONE]", "done", "(done)", "x", "TODO", "✅",
    "|",    "blocked", "2026-01-01", "(A)", "key:val", "+p", "@c", "null", "true",
)  # fmt: skip
pieces = st.lists(st.sampled_from(PIECES), min_size=1, max_size=3)
ODD_KINDS = [kind for kind in STRUCTURED if kind not in {PlanKind.BMAD, PlanKind.BACKLOG}]


@pytest.mark.parametrize("kind", ODD_KINDS)
@given(words=pieces.map(" ".join) | pieces.map("".join))
def test_whatever_a_title_is_its_task_is_edited(kind: PlanKind, words: str) -> None:
    text = sample(kind)[1].replace(NEXT[kind], words, 1)
    operations = operations_of(kind)
    assert operations.text is not None
    known = operations.parse(text, ReadOptions()).plan.tasks
    before = operations.parse(sample(kind)[1], ReadOptions()).plan.tasks
    task = next(one for one, old in zip(known, before, strict=True) if old.title == NEXT[kind])
    if task.state is not TaskState.TODO:
        return
    blocked = plan_edit(kind, TaskEdit.BLOCK, task.id, reason="no licence")(text)
    done = operations.text.with_state(text, task.id, TaskState.DONE, "", "2026-01-31")
    for edited, state in (
        (blocked, TaskState.BLOCKED),
        (plan_edit(kind, TaskEdit.UNBLOCK, task.id)(blocked), TaskState.TODO),
        (done, TaskState.DONE),
        (operations.retry(task.id)(done), TaskState.TODO),
        (operations.text.with_note(text, task.id, "A note"), TaskState.TODO),
    ):
        now = operations.parse(edited, ReadOptions()).plan.by_id()[task.id]
        assert (now.title, now.state) == (task.title, state)


def test_what_tasks_wait_for_is_known_of_every_text_but_that_of_others() -> None:
    text = "- [ ] A-1: a\n- [ ] A-2: b\n  - Depends on: A-1\n"
    waiting = waiting_tasks(parse_plan(text, PlanKind.MARKDOWN), text, PlanKind.MARKDOWN)
    assert waiting is not None
    assert {one: [task.id for task in tasks] for one, tasks in waiting.items()} == {"A-2": ["A-1"]}
    assert waiting_tasks(parse_plan("", PlanKind.BEADS), "", PlanKind.BEADS) is None
