"""Every cell of the table of plan formats, from one fixture a format."""

from __future__ import annotations

import shutil
from difflib import SequenceMatcher
from pathlib import Path

import pytest

from ralph_ls.core.plan.diff.guard import PlanPowers, guard_plan
from ralph_ls.core.plan.edit.task_edits import tick_task
from ralph_ls.core.plan.formats.dispatch import operations_of
from ralph_ls.core.plan.formats.plan_format import PlanFormat, ReadOptions
from ralph_ls.core.plan.formats.text_operations import guard_text, write_verification
from ralph_ls.core.plan.model import Plan, PlanKind, Task
from ralph_ls.core.plan.verification.criterion_checks import (
    CheckOutcome,
    CriterionCheck,
    TaskVerification,
)
from ralph_ls.core.plan.verification.markdown_evidence import write_markdown_verification
from ralph_ls.protocol.run.values import TaskRef
from ralph_ls.protocol.task_words import TaskState
from ralph_ls.store.project.detection import detect_plans
from ralph_ls.store.project.plan_file import PlanLocation, text_of_plan
from schemas.plan_formats import HEAD, table_formats

DATA = Path(__file__).resolve().parents[2] / "data" / "plan_formats"
FOUND = [one for one in table_formats() if one.files]
EVERY = pytest.mark.parametrize("known", table_formats(), ids=lambda one: one.name.value)


def text_of(known: PlanFormat) -> str:
    folder = DATA / known.name.value
    found = [one.path for one in detect_plans(folder) if one.kind is known.name]
    found += [path.name for path in sorted(folder.iterdir()) if path.name.endswith(known.suffixes)]
    return text_of_plan(folder, PlanLocation(path=found[0], kind=known.name))


def plan_of(known: PlanFormat, text: str) -> Plan:
    return operations_of(known.name).parse(text, ReadOptions()).plan


def a_task(known: PlanFormat, text: str, state: TaskState) -> Task:
    """A task in that state without others below it."""
    tasks = plan_of(known, text).tasks
    parents = {one.parent for one in tasks}
    return next(one for one in tasks if one.state is state and one.id not in parents)


def done(known: PlanFormat, text: str, task: str) -> str:
    structured = operations_of(known.name).text
    if structured is None:
        return tick_task(text, task)
    return structured.with_state(text, task, TaskState.DONE, "")


def states(known: PlanFormat, text: str) -> dict[str, TaskState]:
    return {one.id: one.state for one in plan_of(known, text).tasks}


def test_each_column_has_a_test() -> None:
    assert HEAD == ("format", "found", "read", "ticked", "closed", "guarded")
    assert {one.name.value for one in table_formats()} == {one.name for one in DATA.iterdir()}


@pytest.mark.parametrize("known", FOUND, ids=lambda one: one.name.value)
def test_it_is_found(known: PlanFormat, tmp_path: Path) -> None:
    shutil.copytree(DATA / known.name.value, tmp_path / "project")
    assert {one.kind for one in detect_plans(tmp_path / "project")} == {known.name}


PLACES = [(known, pattern) for known in FOUND for pattern in known.files]
NAMES = {"[0-9]*.[0-9]*.*": "1.2.x", "[0-9]*-*": "001-x", "20*-*-*": "2026-01-05-x", "*": "x"}
"""Names that the patterns of the table match."""


@pytest.mark.parametrize(
    ("known", "pattern"), PLACES, ids=lambda one: one if isinstance(one, str) else one.name.value
)
def test_it_is_found_in_each_of_its_places(known: PlanFormat, pattern: str, tmp_path: Path) -> None:
    place = pattern
    for sign, name in NAMES.items():
        place = place.replace(sign, name)
    for path in (*known.signs, f"{place}/x" if known.members else place):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        # Where other programs have files, the text decides.
        text = text_of(known) if pattern in known.shared else ""
        (tmp_path / path).write_text(text, encoding="utf-8")
    assert (known.name, place) in {(one.kind, one.path) for one in detect_plans(tmp_path)}


@EVERY
def test_it_is_read(known: PlanFormat) -> None:
    found = {one.state for one in plan_of(known, text_of(known)).tasks}
    assert {TaskState.TODO, TaskState.DONE} <= found


@EVERY
def test_it_is_ticked(known: PlanFormat) -> None:
    text = text_of(known)
    task = a_task(known, text, TaskState.TODO)
    before, after = states(known, text), states(known, done(known, text, task.id))
    changed = {one for one in before if before[one] is not after.get(one)}
    assert task.id in changed
    # A task around it may have become done with it.
    assert changed <= {task.id, task.parent}
    assert after[task.id] is TaskState.DONE


@EVERY
def test_no_line_of_another_task_changes_with_a_tick(known: PlanFormat) -> None:
    text = text_of(known)
    task = a_task(known, text, TaskState.TODO)
    lines, ticked = text.splitlines(), done(known, text, task.id).splitlines()
    others = {
        nth
        for one in plan_of(known, text).tasks
        if one.id not in {task.id, task.parent}
        for nth in range(one.line, one.end_line + 1)
    }
    pieces = SequenceMatcher(None, lines, ticked, autojunk=False).get_opcodes()
    changed = {nth for tag, *span, _, _ in pieces if tag != "equal" for nth in range(*span)}
    assert changed
    assert not changed & others


@EVERY
def test_it_is_closed(known: PlanFormat) -> None:
    text = text_of(known)
    task = a_task(known, text, TaskState.TODO)
    check = CriterionCheck(criterion="it works", command="make check", argv=("make", "check"))
    refuted = TaskVerification(
        task=TaskRef(id=task.id, title=task.title),
        checked=(CheckOutcome(check=check, exit_code=1),),
    )
    closed = done(known, text, task.id)
    structured = operations_of(known.name).text
    if structured is None:
        opened = write_markdown_verification(closed, refuted, before=text)
    else:
        opened = write_verification(structured, closed, refuted)
    assert states(known, opened)[task.id] is TaskState.TODO


@EVERY
def test_it_is_guarded(known: PlanFormat) -> None:
    text = text_of(known)
    structured = operations_of(known.name).text
    if structured is None:
        plans = plan_of(known, text), plan_of(known, "")
        back = guard_plan(plans[0], text, plans[1], "", powers=PlanPowers()).text
    else:
        back = guard_text(structured, text, "", PlanPowers()).text
    open_tasks = {one for one, state in states(known, text).items() if state is TaskState.TODO}
    assert open_tasks
    assert open_tasks <= states(known, back).keys()


def test_the_archive_of_openspec_is_no_plan() -> None:
    found = [one.name for one in detect_plans(DATA / PlanKind.OPENSPEC.value)]
    assert found == ["add-checkout"]
