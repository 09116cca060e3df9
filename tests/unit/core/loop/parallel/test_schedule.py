"""Schedule of a parallel run: which tasks are ready, by marks, hints and dependencies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.loop.lanes import OpenTask
from ralph_ls.core.loop.parallel.schedule import open_tasks, ready_tasks
from ralph_ls.core.plan.formats.dispatch import parse_plan, waiting_tasks
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.protocol.run.values import TaskRef


def read(text: str, *, takes_optional: bool = False) -> tuple[OpenTask, ...]:
    parsed = parse_plan(text, PlanKind.MARKDOWN, optional_sections=("Optional",))
    waiting = waiting_tasks(parsed, text, PlanKind.MARKDOWN) or {}
    needs = {task: [one.id for one in targets] for task, targets in waiting.items()}
    return open_tasks(parsed.plan.tasks, text, needs, takes_optional=takes_optional)


def ready(
    text: str, *, in_work: str = "", excluded: str = "", takes_optional: bool = False
) -> list[str]:
    """The ready tasks of a plan by the first word of their titles."""
    tasks = read(text, takes_optional=takes_optional)
    ids = {word(one): one.task.id for one in tasks}
    found = ready_tasks(
        tasks,
        in_work={ids[name] for name in in_work.split()},
        excluded={ids[name] for name in excluded.split()},
    )
    return [word(one) for one in found]


def word(task: OpenTask) -> str:
    return task.task.title.replace("[P]", "").split()[0]


INDEPENDENT = """\
- [ ] Parser reads
- [x] Done before
- [ ] Lexer splits
- [ ] Writer writes
"""
MARKED = """\
- [ ] Setup of the project
- [ ] [P] Alpha of the models
- [ ] [P] Beta of the models
- [ ] Service over both
- [ ] [P] Gamma of the docs
"""
FILES = """\
- [ ] Parser reads
  - files: src/parser.py, `src/my file.py`
- [ ] Lexer splits
  - Files: ./src/parser.py
- [ ] Writer writes
  **File**: src/writer.py
- [ ] Layout of all
  - files: src/
- [ ] Manual of it
"""
ALONE = """\
- [ ] Parser reads
- [ ] Rename everything
  - parallel: false
- [ ] Writer writes
"""
NESTED = """\
- [ ] Whole of it
  - [ ] Part one
  - [ ] Deep part
    - [ ] Inner part
- [ ] Other thing
"""
NEEDS = """\
- [ ] T001 Parser reads
- [ ] T002 Printer prints (depends on T001)
- [ ] T003 Writer writes
"""
OPTIONAL = """\
- [ ] Parser reads

## Optional

- [ ] Colours of it
"""
URGENT = """\
- [ ] Later one [P2]
- [ ] Sooner one [P0]
- [ ] Usual one
"""


@pytest.mark.parametrize(
    ("text", "given_", "expected"),
    [
        (INDEPENDENT, {}, ["Parser", "Lexer", "Writer"]),
        (INDEPENDENT, {"in_work": "Parser"}, ["Lexer", "Writer"]),
        (INDEPENDENT, {"excluded": "Lexer"}, ["Parser", "Writer"]),
        (INDEPENDENT, {"in_work": "Parser Lexer Writer"}, []),
        # A task without the mark is worked on alone, between those before and after it.
        (MARKED, {}, ["Setup"]),
        (MARKED, {"in_work": "Setup"}, []),
        (MARKED.replace("[ ] Setup", "[x] Setup"), {}, ["Alpha", "Beta"]),
        (MARKED.replace("[ ] Setup", "[x] Setup"), {"in_work": "Alpha"}, ["Beta"]),
        (MARKED.replace("[ ] Setup", "[x] Setup"), {"in_work": "Alpha Beta"}, []),
        # What is parked holds nobody up.
        (MARKED, {"excluded": "Setup"}, ["Alpha", "Beta"]),
        (MARKED, {"excluded": "Setup Alpha Beta Service"}, ["Gamma"]),
        (FILES, {}, ["Parser", "Writer", "Manual"]),
        (FILES, {"in_work": "Lexer"}, ["Writer", "Manual"]),
        (FILES, {"in_work": "Layout"}, ["Manual"]),
        (FILES, {"in_work": "Manual", "excluded": "Parser Lexer Writer"}, ["Layout"]),
        (ALONE, {}, ["Parser", "Writer"]),
        (ALONE, {"in_work": "Rename"}, []),
        (ALONE, {"excluded": "Parser Writer"}, ["Rename"]),
        (ALONE.replace("[ ] Parser", "[x] Parser"), {}, ["Rename"]),
        # A task is ready when its subtasks are done.
        (NESTED, {}, ["Part", "Inner", "Other"]),
        (NESTED.replace("[ ] Inner", "[x] Inner"), {}, ["Part", "Deep", "Other"]),
        (NESTED.replace("  - [ ] ", "  - [x] "), {}, ["Whole", "Other"]),
        (NEEDS, {}, ["Parser", "Writer"]),
        (NEEDS, {"in_work": "Parser"}, ["Writer"]),
        (NEEDS, {"excluded": "Parser"}, ["Writer"]),
        (NEEDS.replace("[ ] T001", "[x] T001"), {}, ["Printer", "Writer"]),
        (OPTIONAL, {}, ["Parser"]),
        (OPTIONAL, {"takes_optional": True}, ["Parser", "Colours"]),
        (URGENT, {}, ["Sooner", "Usual", "Later"]),
        ("", {}, []),
    ],
)
def test_ready_tasks(text: str, given_: dict[str, Any], expected: list[str]) -> None:
    assert ready(text, **given_) == expected


def test_a_marked_step_with_subtasks_waits_for_them_and_does_not_block_them() -> None:
    text = "- [ ] [P] Alpha\n- [ ] Whole of it\n  - [ ] [P] Part one\n  - [ ] [P] Second part\n"
    assert ready(text) == ["Alpha"]
    assert ready(text, excluded="Alpha") == ["Part", "Second"]


def test_a_blocked_dependency_keeps_a_task_from_being_started() -> None:
    text = NEEDS.replace("[ ] T001 Parser reads", "[!] T001 Parser reads (blocked: no key)")
    assert ready(text) == ["Writer"]


def test_tasks_that_wait_for_each_other_are_taken_one_at_a_time() -> None:
    text = "- [ ] T001 First (depends on T002)\n- [ ] T002 Second (depends on T001)\n"
    assert ready(text) == ["First"]
    assert ready(text, in_work="First") == []
    assert ready(text, excluded="First") == []


def test_a_task_waits_for_those_behind_it_in_the_plan_as_well() -> None:
    text = "- [ ] [P] T001 Alpha (depends on T002)\n- [ ] T002 Basis of it\n"
    assert ready(text) == ["Basis"]


@pytest.mark.parametrize(
    ("line", "files"),
    [
        ("files: a.py, b.py", {"a.py", "b.py"}),
        ("- **Files**: `a b.py`", {"a b.py"}),
        ("File = src/**", {"src"}),
        ("files: .env", {".env"}),
        ("files: /", set()),
        ("the files: a.py", set()),
        ("profiles: a.py", set()),
    ],
)
def test_files_that_a_task_names(line: str, files: set[str]) -> None:
    (task,) = read(f"- [ ] Parser reads\n  {line}\n")
    assert task.files == files


@pytest.mark.parametrize(
    ("line", "is_alone"),
    [
        ("parallel: false", True),
        ("- Parallel: no", True),
        ("*parallel*: off", True),
        ("parallel: true", False),
        ("parallel: falsely", False),
    ],
)
def test_a_task_that_must_be_alone(line: str, is_alone: bool) -> None:
    (task,) = read(f"- [ ] Parser reads\n  {line}\n")
    assert task.is_alone is is_alone


def test_tasks_without_lines_of_their_own_have_no_hints() -> None:
    # Structured plans have tasks whose places are not those of lines with hints.
    text = "- [ ] Parser reads\n- [ ] Lexer splits\n"
    tasks = parse_plan(text, PlanKind.MARKDOWN).plan.tasks
    found = open_tasks(tasks, "", {})
    assert [one.task.title for one in found] == ["Parser reads", "Lexer splits"]
    assert not any(one.files or one.is_alone for one in found)


def test_a_parent_that_is_not_in_the_plan_ends_the_search_for_subtasks() -> None:
    parent, child, other = parse_plan(
        "- [ ] Whole of it\n  - [ ] Part one\n- [ ] Other\n", PlanKind.MARKDOWN
    ).plan.tasks
    lost = other._replace(parent="gone")
    circle = other._replace(id="c1", parent="c1")
    found = {one.task.id: one for one in open_tasks((parent, child, lost, circle), "", {})}
    assert found[parent.id].waits_for == {child.id}
    assert found[lost.id].waits_for == frozenset()


NAMES = "abcdefgh"
PATHS = ("src", "src/a.py", "src/b.py", "docs", "docs/index.md")


@st.composite
def plans(draw: st.DrawFn) -> tuple[OpenTask, ...]:
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=8))
    tasks = []
    for number, name in enumerate(names):
        tasks.append(
            OpenTask(
                task=TaskRef(id=name, title=name),
                waits_for=frozenset(draw(st.sets(st.sampled_from(NAMES + "xy"), max_size=2))),
                files=frozenset(draw(st.sets(st.sampled_from(PATHS), max_size=2))),
                is_alone=draw(st.booleans()) and draw(st.booleans()),
                barrier=draw(st.integers(0, number)),
            )
        )
    return tuple(tasks)


def overlap(one: OpenTask, other: OpenTask) -> bool:
    pairs = [(a + "/", b + "/") for a in one.files for b in other.files]
    return any(a.startswith(b) or b.startswith(a) for a, b in pairs)


@given(plans(), st.sets(st.sampled_from(NAMES)), st.sets(st.sampled_from(NAMES)))
def test_ready_tasks_do_not_disturb_each_other(
    tasks: tuple[OpenTask, ...], in_work: set[str], excluded: set[str]
) -> None:
    excluded -= in_work
    found = ready_tasks(tasks, in_work=in_work, excluded=excluded)
    working = [one for one in tasks if one.task.id in in_work]
    assert not {one.task.id for one in found} & (in_work | excluded)
    beside = [*working, *found]
    for one in found:
        others = [other for other in beside if other is not one]
        assert not any(overlap(one, other) for other in others)
        assert not any(other.is_alone for other in others)
        assert not (one.is_alone and others)
    if len(found) > 1 or in_work:
        assert not any(one.waits_for for one in found)
    left = [one for one in tasks if one.task.id not in excluded]
    if not in_work and any(not one.waits_for for one in left):
        assert found
        assert not any(one.waits_for for one in found)


@given(plans())
def test_every_task_is_ready_at_some_time(tasks: tuple[OpenTask, ...]) -> None:
    # Each round finishes what was ready, as a run does; only what waits for a task outside of the
    # plan is left.
    left = list(tasks)
    while found := ready_tasks(left, in_work=(), excluded=()):
        done = {one.task.id for one in found}
        left = [
            replace(one, waits_for=one.waits_for - done) for one in left if one.task.id not in done
        ]
    missing = {one.task.id for one in left}
    blocked = {one.task.id for one in left if one.waits_for - missing}
    while grown := {one.task.id for one in left if one.waits_for & blocked} - blocked:
        blocked |= grown
    assert blocked == missing
