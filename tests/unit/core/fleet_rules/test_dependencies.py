"""References to tasks of other repositories."""

from __future__ import annotations

import pytest

from ralph_ls.core.fleet_rules import foreign_references, resolve_reference
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.protocol.run.values import TaskRef

PLANS = {
    "api": (TaskRef(id="T3", title="Add the **route**"), TaskRef(id="1a2b3c4d", title="Log in")),
    "web": (TaskRef(id="T1", title="Show it"), TaskRef(id="5e6f7a8b", title="W2: Style it")),
}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Depends on: api#T3", ("api#T3",)),
        ("Depends on: Other task, api#Log in; web#T1", ("api#Log in", "web#T1")),
        ("**Depends on:** `api#T3` and api#T3", ("api#T3",)),
        ("Depends on: issue #12", ()),
        ("See api#T3", ()),
    ],
)
def test_references_are_read_where_dependencies_are(line: str, expected: tuple[str, ...]) -> None:
    text = f"- [ ] Show the list\n  - {line}\n- [ ] Other task\n"
    tasks = parse_markdown(text).plan.tasks

    found = foreign_references(tasks, text)

    assert found == ({tasks[0].id: expected} if expected else {})


@pytest.mark.parametrize(
    ("reference", "expected"),
    [
        ("api#T3", "api#T3"),
        ("api#t3", "api#T3"),
        ("api#Add the route", "api#T3"),
        ("api#log in", "api#1a2b3c4d"),
        ("web#W2", "web#5e6f7a8b"),
        ("api#Nothing", None),
        ("nobody#T3", None),
    ],
)
def test_a_reference_names_a_task_by_id_or_title(reference: str, expected: str | None) -> None:
    assert resolve_reference(reference, PLANS) == expected
