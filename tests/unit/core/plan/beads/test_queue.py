"""The work queue of beads issues, and its description when no issue is ready."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.formats.beads.queue import (
    IssueQueue,
    describe_unready,
    find_cycles,
    find_path,
    read_queue,
)
from ralph_ls.core.plan.formats.beads.snapshot import (
    BeadsSnapshot,
    parse_beads,
    plan_of_snapshot,
    snapshot_to_text,
    take_snapshot,
)
from ralph_ls.core.plan.model import Task
from ralph_ls.core.plan.queries import count_tasks, task_view
from ralph_ls.protocol.task_words import Priority, TaskState


def snapshot_of(
    *issues: Mapping[str, Any], ready: list[str] | None = None, parent: str | None = None
) -> BeadsSnapshot:
    """``a`` is short for an id; ``needs`` for what blocks it."""
    raw = []
    for nth, issue in enumerate(issues):
        links = [{"depends_on_id": on, "type": "blocks"} for on in issue.get("needs", ())]
        links += [{"depends_on_id": on, "type": "parent-child"} for on in issue.get("parts", ())]
        raw.append({"created_at": f"2026-01-{nth:04d}", "dependencies": links, **issue})
    return take_snapshot(raw, ready=ready, parent=parent)


def queue_of(*issues: Mapping[str, Any], **given: Any) -> IssueQueue:
    ready, parent = given.pop("ready", None), given.pop("parent", None)
    return read_queue(snapshot_of(*issues, ready=ready, parent=parent), **given)


def ids(queue: IssueQueue) -> list[str]:
    return [task.id for task in queue.ready]


def held(queue: IssueQueue) -> list[tuple[str, str, str]]:
    return [(one.task.id, one.reason.value, one.why) for one in queue.held]


def task_of(**issue: Any) -> Task:
    (task,) = plan_of_snapshot(snapshot_of({"id": "a", **issue})).plan.tasks
    return task


@pytest.mark.parametrize(
    ("edges", "rings"),
    [
        pytest.param({"a": ["b"], "b": []}, [], id="none"),
        pytest.param({"a": ["b"], "b": ["c"], "c": ["a"]}, ["abc"], id="three"),
        pytest.param({"a": ["a"]}, ["a"], id="itself"),
        pytest.param({"a": ["b"], "b": ["c", "b"], "c": ["b"]}, ["b"], id="the shortest"),
        pytest.param({"b": ["c"], "c": ["a", "b"], "a": ["b"]}, ["abc"], id="from the least"),
        pytest.param({"a": ["b", "x"], "b": ["a"], "x": ["y"], "y": ["x"]}, ["ab", "xy"], id="two"),
        pytest.param(
            {"d": ["c"], "a": ["b"], "b": ["a"], "c": ["a"]}, ["ab"], id="waiting for one"
        ),
        pytest.param({}, [], id="nothing"),
    ],
)
def test_rings_are_found(edges: dict[str, list[str]], rings: list[str]) -> None:
    assert ["".join(ring) for ring in find_cycles(edges)] == rings


@pytest.mark.parametrize(
    ("start", "goal", "path"),
    [("a", "c", "abc"), ("c", "a", ""), ("a", "a", "a"), ("a", "z", ""), ("a", "d", "ad")],
)
def test_a_way_is_the_shortest(start: str, goal: str, path: str) -> None:
    edges = {"a": ["b", "d"], "b": ["c", "d"], "c": ["d"]}
    assert "".join(find_path(edges, start, goal)) == path


_NODES = st.sampled_from("abcdefg")


@given(st.dictionaries(_NODES, st.sets(_NODES)))
def test_rings_are_rings_and_without_them_there_is_an_order(edges: dict[str, set[str]]) -> None:
    rings = find_cycles(edges)
    for ring in rings:
        assert ring[0] == min(ring)
        assert all(b in edges[a] for a, b in zip(ring, ring[1:] + ring[:1], strict=True))
    left = {node: set(targets) for node, targets in edges.items()}
    while free := [node for node, targets in left.items() if not targets & left.keys()]:
        for node in free:
            del left[node]
    assert bool(left) is bool(rings)


@pytest.mark.parametrize(
    ("status", "state"),
    [
        ("open", TaskState.TODO),
        ("in_progress", TaskState.IN_PROGRESS),
        ("blocked", TaskState.BLOCKED),
        ("deferred", TaskState.SKIPPED),
        ("closed", TaskState.DONE),
        ("hooked", TaskState.BLOCKED),
    ],
)
def test_the_status_is_the_state(status: str, state: TaskState) -> None:
    assert task_of(status=status).state is state


@pytest.mark.parametrize(
    ("priority", "counts_as"),
    [(0, Priority.P0), (1, Priority.P1), (2, Priority.P2), (3, Priority.P2), (4, Priority.P2)],
)
def test_the_priority_is_called_as_bd_calls_it_as_far_as_a_plan_can(
    priority: int, counts_as: Priority
) -> None:
    task = task_of(priority=priority)
    assert task.priority is counts_as
    assert task.shown_priority == f"P{priority}"


@pytest.mark.parametrize(
    ("issue", "reason"),
    [
        ({}, None),
        ({"notes": "Blocked by: x"}, None),
        ({"status": "blocked"}, None),
        ({"status": "blocked", "notes": "Needs: old\nBLOCKED: a key\nmore"}, "a key"),
        ({"status": "blocked", "notes": "Blocked by:"}, "Blocked by:"),
        ({"status": "hooked"}, "its status hooked"),
        ({"status": "closed", "needs": ["b"]}, None),
        ({"needs": ["b", "c", "gone"]}, "b (The other)"),
    ],
)
def test_what_an_issue_waits_for_is_its_reason(issue: dict[str, Any], reason: str | None) -> None:
    others = ({"id": "b", "title": "The  other"}, {"id": "c", "status": "closed"})
    plan = plan_of_snapshot(snapshot_of({"id": "a", **issue}, *others)).plan
    assert plan.by_id()["a"].blocked_by == reason


def test_a_task_knows_its_line_and_what_it_is_a_part_of() -> None:
    snapshot = snapshot_of(
        {"id": "b", "title": "Part", "parent": "e"},
        {"id": "e", "title": "The  epic", "issue_type": "epic"},
        {"id": "x", "title": "Outside", "acceptance_criteria": "- [ ] one\n- [x] two"},
    )
    text = snapshot_to_text(snapshot)
    parsed = parse_beads(text)
    assert parsed.problems == ()
    shown = [(one.id, one.depth, one.parent, one.section) for one in parsed.plan.tasks]
    assert shown == [("e", 0, None, ""), ("b", 1, "e", "The epic"), ("x", 0, None, "")]
    for task in parsed.plan.tasks:
        assert text.split("\n")[task.line] == text[task.start : task.end]
        assert f'"id":"{task.id}"' in text[task.start : task.end]
    assert task_view(parsed.plan.tasks[2]).criteria == ("one", "two")


def test_in_a_scope_its_parent_is_no_task_and_names_the_section() -> None:
    issues = ({"id": "e", "title": "Epic"}, {"id": "b", "parent": "e"}, {"id": "c"})
    (task,) = plan_of_snapshot(snapshot_of(*issues, parent="e")).plan.tasks
    assert (task.id, task.depth, task.parent, task.section) == ("b", 0, None, "Epic")


def test_parts_of_each_other_are_tasks_too() -> None:
    ring = ({"id": "a", "parent": "b"}, {"id": "b", "parent": "a"}, {"id": "c"})
    plan = plan_of_snapshot(snapshot_of(*ring)).plan
    assert sorted(task.id for task in plan.tasks) == ["a", "b", "c"]
    assert (
        ids(read_queue(snapshot_of({"id": "a", "parent": "b"}, {"id": "b", "parent": "a"}))) == []
    )


def test_what_is_odd_is_a_problem() -> None:
    snapshot = snapshot_of({"id": "a"}, {"id": "b", "status": "hooked"}, {"id": "--x"})
    found = [(one.code, one.line) for one in plan_of_snapshot(snapshot).problems]
    assert found == [("unusable-id", 1), ("unknown-status", 5)]


def test_deferred_issues_hold_no_run_open() -> None:
    counts = count_tasks(
        plan_of_snapshot(snapshot_of({"id": "a", "status": "deferred"}, {"id": "b"})).plan
    )
    assert (counts.required, counts.open_required) == (1, 1)


@pytest.mark.parametrize(
    ("issues", "order"),
    [
        pytest.param([{"id": "a"}, {"id": "b", "priority": 0}], ["b", "a"], id="priority"),
        pytest.param(
            [{"id": "a", "priority": 3}, {"id": "b", "priority": 4}], ["a", "b"], id="low"
        ),
        pytest.param(
            [{"id": "a", "priority": 0}, {"id": "b", "status": "in_progress", "priority": 4}],
            ["b", "a"],
            id="in progress first",
        ),
        pytest.param([{"id": "a"}, {"id": "b"}], ["a", "b"], id="oldest"),
        pytest.param(
            [{"id": "a", "status": "closed"}, {"id": "b", "status": "deferred"}], [], id="nobody's"
        ),
        pytest.param([{"id": "a", "needs": ["b"]}, {"id": "b", "priority": 4}], ["b"], id="needs"),
        pytest.param(
            [{"id": "a", "needs": ["b", "x"]}, {"id": "b", "status": "closed"}], ["a"], id="met"
        ),
        pytest.param([{"id": "e"}, {"id": "p", "parent": "e"}], ["p"], id="parts go first"),
        pytest.param(
            [{"id": "e"}, {"id": "p", "parent": "e", "status": "closed"}], ["e"], id="parts done"
        ),
    ],
)
def test_the_most_urgent_comes_first(issues: list[dict[str, Any]], order: list[str]) -> None:
    queue = queue_of(*issues)
    assert ids(queue) == order
    assert queue.next_task is None if not order else queue.next_task == queue.ready[0]


def test_what_bd_offers_counts_and_its_order_among_equals() -> None:
    issues: list[dict[str, Any]] = [{"id": "a"}, {"id": "b"}, {"id": "c"}]
    issues.append({"id": "d", "needs": ["a"]})
    queue = queue_of(*issues, ready=["c", "b", "d"])
    assert ids(queue) == ["c", "b", "d"]
    assert held(queue) == [("a", "notOffered", "not offered by bd ready")]


def test_what_is_in_progress_need_not_be_offered() -> None:
    issues = [{"id": "a", "status": "in_progress"}, {"id": "b"}]
    assert ids(queue_of(*issues, ready=["b"])) == ["a", "b"]
    waits: list[dict[str, Any]] = [{**issues[0], "needs": ["b"]}, {"id": "b"}]
    assert ids(queue_of(*waits, ready=["b"])) == ["b"]


def test_a_ring_that_bd_does_not_mind_is_none() -> None:
    issues: list[dict[str, Any]] = [{"id": "a", "needs": ["b"]}, {"id": "b", "needs": ["a"]}]
    queue = queue_of(*issues, ready=["a"])
    assert ids(queue) == ["a"]
    assert [one[:2] for one in held(queue)] == [("b", "cycle")]


def test_only_one_may_be_wanted() -> None:
    issues = [{"id": "a"}, {"id": "b", "status": "blocked"}]
    assert ids(queue_of(*issues, only="a")) == ["a"]
    assert held(queue_of(*issues, only="b")) == [("b", "blocked", "blocked in bd")]
    assert queue_of(*issues, only="x").is_empty


LEFT: list[dict[str, Any]] = [
    {"id": "b1", "status": "blocked", "notes": "Blocked by: a key"},
    {"id": "s1", "title": "Stuck"},
    {"id": "c1", "needs": ["c2"]},
    {"id": "c2", "needs": ["c1"]},
    {"id": "w1", "needs": ["s1"]},
    {"id": "e", "issue_type": "epic", "title": "Epic"},
    {"id": "e.1", "parent": "e", "needs": ["s1"]},
    {"id": "k1"},
    {"id": "n1"},
    {"id": "d1", "status": "deferred"},
]


def test_what_is_left_is_held_each_with_its_reason() -> None:
    queue = queue_of(*LEFT, ready=["s1", "k1"], set_aside={"s1": 3}, skipped=["k1"])
    assert ids(queue) == []
    assert held(queue) == [
        ("b1", "blocked", "blocked by a key"),
        ("s1", "stuck", "set aside after 3 attempts"),
        ("c1", "cycle", "in a cycle: c1 → c2 → c1"),
        ("c2", "cycle", "in a cycle: c1 → c2 → c1"),
        ("w1", "waiting", "waiting for Stuck (s1)"),
        ("e", "parts", "waiting for its sub-issues, such as e.1"),
        ("e.1", "waiting", "waiting for Stuck (s1)"),
        ("k1", "skipped", "skipped in this run"),
        ("n1", "notOffered", "not offered by bd ready"),
    ]
    assert (queue.is_empty, queue.is_stuck, queue.cycles) == (False, True, (("c1", "c2"),))
    assert describe_unready(queue) == (
        "blocked: b1 (blocked by a key); stuck: s1 (set aside after 3 attempts); waiting: w1 "
        "(waiting for Stuck (s1)), e.1 (waiting for Stuck (s1)); skipped: k1 (skipped in this "
        "run); not offered by bd ready: n1 (not offered by bd ready); waiting for each other: c1 "
        "→ c2 → c1; remove a dependency: bd dep remove"
    )


def test_a_part_waits_with_the_whole() -> None:
    issues: list[dict[str, Any]] = [
        {"id": "x", "status": "in_progress"},
        {"id": "e", "needs": ["x"]},
        {"id": "p", "parent": "e"},
    ]
    queue = queue_of(*issues)
    assert ids(queue) == ["x"]
    assert [one[:2] for one in held(queue)] == [("e", "waiting"), ("p", "waiting")]


def test_an_empty_queue_has_an_empty_description() -> None:
    queue = queue_of({"id": "a", "status": "closed"})
    assert (queue.is_empty, queue.is_stuck, describe_unready(queue)) == (True, False, "")


def test_of_many_some_are_named() -> None:
    many = [{"id": f"b{nth}", "status": "blocked"} for nth in range(7)]
    assert describe_unready(queue_of(*many)).endswith("b4 (blocked in bd), and 2 more")
    ring: list[dict[str, Any]] = [
        {"id": f"r{nth}", "needs": [f"r{(nth + 1) % 8}"]} for nth in range(8)
    ]
    assert "r0 → r1 → r2 → r3 → r4 → r5 → …;" in describe_unready(queue_of(*ring))


@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "id": _NODES,
                "status": st.sampled_from(["open", "in_progress", "blocked", "closed", "deferred"]),
                "needs": st.lists(_NODES, max_size=2),
                "parts": st.lists(_NODES, max_size=1),
            }
        ),
        unique_by=lambda issue: str(issue["id"]),
    ),
    st.none() | st.lists(_NODES),
)
def test_each_unfinished_issue_is_ready_or_held(
    issues: list[dict[str, Any]], ready: list[str] | None
) -> None:
    snapshot = snapshot_of(*issues, ready=ready)
    plan = parse_beads(snapshot_to_text(snapshot)).plan
    queue = read_queue(snapshot, set_aside={"a": 3})
    unfinished = {task.id for task in plan.tasks if task.state not in {"done", "skipped"}}
    found = [*ids(queue), *(one.task.id for one in queue.held)]
    assert sorted(found) == sorted(unfinished)
    assert {task.id for task in plan.tasks} == {issue["id"] for issue in issues}
    assert bool(describe_unready(queue)) is any(one.reason != "parts" for one in queue.held)
