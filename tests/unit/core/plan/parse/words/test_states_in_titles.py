"""Every common way to write a state at either end of a title, in headings and in lists."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from ralph_ls.core.plan.edit import task_edits
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.protocol.task_words import TaskState
from tests.unit.core.plan.plan_assertions import shown

TITLES = (
    *("Phase {}: Parser", "Phase {} - Parser", "Phase {} – Parser", "Phase {} — Parser"),  # noqa: RUF001
    *("Phase {}. Parser", "Step {}: Parse (fast)", "Task {}.1: Lexer & parser"),
    *("Milestone {}: The parser's core", "Phase {} (Week 1-2): Parser", "Phase {}: Parser - lexer"),
    *("Phase {}: Parser, lexer", "Phase {}: Parser `lex.py`", "Phase {}: Parser: lexer"),
)
AT_THE_END = {
    TaskState.DONE: (
        *("- DONE", "— DONE", "– Done", "-- done", ": DONE", "| Done", "- *done*", "- **DONE**"),  # noqa: RUF001
        *("(DONE)", "*(done)*", "**(DONE)**", "(completed)", "(Implemented)", "(✅ DONE)"),
        *("[DONE]", "**[COMPLETE]**", "**DONE**", "✅", "✓", "✅ DONE", "✔️ Done", "- ✅ DONE"),
        *("— ✅ Complete", ": ✅ Done", "- DONE ✅", "— COMPLETE ✅", "✅ **DONE**"),
        *("(COMPLETED 2025-10-01)", "- COMPLETED (2025-10-01)", "— done 2025-10-01"),
        *("- Completed on 2025-10-01", "(completed in v1.2)", "(DONE - PR #12)", "— DONE (PR #12)"),
        *("(100% complete)", "(done: see the log)"),
    ),
    TaskState.IN_PROGRESS: (
        *("- IN PROGRESS", "(in progress)", "**(in progress)**", "🚧", "🔄 In progress"),
        *("- 🔄 IN PROGRESS", "— ⏳ in progress", "(WIP)", "[IN PROGRESS]", "(60% complete)"),
        "- Started 2025-10-01",
    ),
    TaskState.TODO: (
        *("- TODO", "(pending)", "[TODO]", "— planned", "- NOT STARTED", "⏳ Pending", "(next)"),
        *("- ⬜ Not started", "❌ Not started", "— ❌ NOT DONE"),
    ),
    TaskState.BLOCKED: ("- BLOCKED", "(BLOCKED)", "(blocked: needs a key)", "🚫 Blocked"),
    TaskState.SKIPPED: ("- SKIPPED", "(skipped)", "— deferred", "- CANCELLED", "(won't do)"),
}
IN_FRONT = {
    TaskState.DONE: (
        *("✅ {}", "✅**{}**", "**✅ {}**", "✓ {}", "☑ {}", "🟢 {}", "✅ DONE: {}", "~~{}~~"),
        *("~~{}~~ ✅", "[x] {}", "**[x]** {}", "[✓] {}", "[DONE] {}", "**[DONE]** {}"),
        *("(done) {}", "DONE: {}", "DONE - {}", "Completed: {}", "COMPLETED — {}"),
    ),
    TaskState.IN_PROGRESS: (
        *("🚧 {}", "🔄 {}", "⏳ {}", "🟡 {}", "[~] {}", "[/] {}", "[WIP] {}", "In progress: {}"),
        *("(in progress) {}", "IN PROGRESS - {}"),
    ),
    TaskState.TODO: ("⬜ {}", "☐ {}", "❌ {}", "[ ] {}", "[TODO] {}", "🔲 {}"),
}
AT_EITHER_END = [
    pytest.param(form if "{}" in form else f"{{}} {form}", state, id=form)
    for forms in (AT_THE_END, IN_FRONT)
    for state, some in forms.items()
    for form in some
]


def in_headings(stated: str, others: list[str]) -> str:
    """A plan without boxes whose headings are its tasks."""
    chapters = (f"## {title}\n\nWords.\n" for title in (stated, *others))
    return "\n".join(("# Implementation plan\n", *chapters))


def in_a_list(stated: str, others: list[str]) -> str:
    """A plan without boxes whose bullets are its tasks."""
    return "\n".join(("# Plan\n\n## Tasks\n", *(f"- {title}" for title in (stated, *others)), ""))


@pytest.mark.parametrize("write", [in_headings, in_a_list])
@pytest.mark.parametrize(("form", "state"), AT_EITHER_END)
def test_a_state_at_either_end_is_read_and_cut(
    write: Callable[[str, list[str]], str], form: str, state: TaskState
) -> None:
    for title in TITLES:
        stated, *others = (title.format(number) for number in (1, 2, 3))
        has_box = write is in_a_list and form.lstrip("*`").startswith(
            ("[x", "[~", "[/", "[ ", "[✓")
        )
        lines = [f"[ ] {one}" for one in others] if has_box else others
        tasks = parse_markdown(write(form.format(stated), lines)).plan.tasks
        assert [task.state for task in tasks] == [state, TaskState.TODO, TaskState.TODO], stated
        assert [_bare(task.title) for task in tasks] == [_bare(stated), *map(_bare, others)]


@pytest.mark.parametrize("write", [in_headings, in_a_list])
@pytest.mark.parametrize(("form", "state"), AT_EITHER_END)
def test_it_is_changed_where_it_is(
    write: Callable[[str, list[str]], str], form: str, state: TaskState
) -> None:
    text = write(form.format("Phase 1: Parser"), ["Phase 2: Writer", "Phase 3: Printer"])
    task, *_ = parse_markdown(text).plan.tasks
    is_done = state is TaskState.DONE
    edited = (
        task_edits.untick_task(text, task.id) if is_done else task_edits.tick_task(text, task.id)
    )
    (now, *_), before, after = (
        parse_markdown(edited).plan.tasks,
        text.split("\n"),
        edited.split("\n"),
    )
    assert (now.title, now.state is TaskState.DONE) == (task.title, not is_done)
    assert len(after) == len(before)
    assert [old == new for old, new in zip(before, after, strict=True)].count(False) == 1


def _bare(title: str) -> str:
    return title.replace("**", "").replace("`", "")


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(
            (
                "| # | Step |",
                "|---|---|",
                "| 1 | ✅ Parse |",
                "| 2 | ✅ **Lex** it |",
                "| 3 | Send |",
            ),
            ["done Parse", "done Lex it", "todo Send"],
            id="in-front-of-the-title-in-a-table-with-numbers",
        ),
        pytest.param(
            ("| Option | Note |", "|---|---|", "| ✅ Fast | yes |", "| Slow | no |"),
            [],
            id="in-a-table-of-other-things",
        ),
        pytest.param(
            ("| # | Step |", "|---|---|", "| 1 ✅ | Parse |", "| 2 |", "| 3 | ⏳ Send |"),
            ["done Parse", "inProgress Send"],
            id="rows-may-lack-cells",
        ),
        pytest.param(
            ("## Tasks", "- Make the ✅ appear", "- Say `- DONE`", "- Handle blocked: by X"),
            ["todo Make the ✅ appear", "todo Say `- DONE`", "todo Handle blocked: by X"],
            id="not-within-a-title",
        ),
        pytest.param(
            ("### Phase 1: Saw `[x]`", "### `[x]` Phase 2: Oil", "### Phase 3: Wax"),
            ["done Phase 1: Saw", "done Phase 2: Oil", "todo Phase 3: Wax"],
            id="boxes-in-code-in-headings",
        ),
        pytest.param(
            ("## Status values:", "- `[ ]` Not started", "- `[x]` Done", "## Work", "- [ ] Saw"),
            ["todo Saw"],
            id="boxes-in-code-in-a-list-explain-boxes",
        ),
    ],
)
def test_states_elsewhere(lines: tuple[str, ...], expected: list[str]) -> None:
    assert shown("# Plan", *lines) == expected


@pytest.mark.parametrize("sign", ["⛔", "⬜", "✅"])
def test_one_heading_beside_lines_that_give_states_is_read_alike_with_any_sign(sign: str) -> None:
    lines = ("- Status: Done",) * 3
    assert shown(*lines, f"### {sign} Signer") == []
