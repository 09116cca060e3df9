"""Attempts: when a task that fails is set aside (docs/rules.md#attempts)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.loop.rules.attempts import (
    AttemptsResult,
    attempt_number,
    count_attempt,
    give_up_task,
    is_marked_in_plan,
    rename_tasks,
    skipped_without_mark,
)
from ralph_ls.protocol.config.config import AttemptCounts, AttemptsConfig
from ralph_ls.protocol.run.values import TaskRef

A = TaskRef(id="a", title="Do a")
NOT_DONE = AttemptCounts.NOT_DONE
SPEC = AttemptsConfig(limit=3)
BEADS = AttemptsConfig(limit=3, counts=NOT_DONE, mark=False)
OFF = AttemptsConfig()


def settled(
    attempts: dict[str, int] | None = None,
    task: TaskRef | None = A,
    config: AttemptsConfig = SPEC,
    *,
    done: bool = False,
    progress: bool = False,
    counts: bool = True,
    **more: Any,
) -> AttemptsResult:
    return count_attempt(
        attempts or {}, task, done=done, progress=progress, counts=counts, config=config, **more
    )


@pytest.mark.parametrize(
    ("attempts", "task", "config", "number"),
    [
        pytest.param({}, A, SPEC, 1, id="the first"),
        pytest.param({"a": 2, "b": 1}, A, SPEC, 3, id="the third"),
        pytest.param({"b": 2}, A, BEADS, 1, id="another's do not count"),
        pytest.param({}, None, SPEC, None, id="no task"),
        pytest.param({"a": 2}, A, OFF, None, id="off"),
    ],
)
def test_an_attempt_is_counted_from_the_start(
    attempts: dict[str, int], task: TaskRef | None, config: AttemptsConfig, number: int | None
) -> None:
    assert attempt_number(attempts, task, config) == number


def test_a_task_that_was_reworded_keeps_its_attempts() -> None:
    names = {"a": TaskRef(id="b", title="Do b"), "d": TaskRef(id="e", title="Do e")}
    assert rename_tasks({"a": 2, "c": 1}, names) == {"b": 2, "c": 1}
    assert rename_tasks({"a": 2, "b": 1}, names) == {"b": 2}
    assert rename_tasks({}, names) == {}


@pytest.mark.parametrize(
    ("after", "attempts", "set_aside", "count"),
    [
        pytest.param(settled(), {"a": 1}, False, 1, id="the first failed one"),
        pytest.param(settled({"b": 2}), {"b": 2, "a": 1}, False, 1, id="each task its own"),
        pytest.param(settled({"a": 1}), {"a": 2}, False, 2, id="the second"),
        pytest.param(settled({"a": 2}), {}, True, 3, id="marked, and tried anew if unblocked"),
        pytest.param(settled({"a": 2}, config=BEADS), {"a": 3}, True, 3, id="kept, to be skipped"),
        pytest.param(
            settled({"a": 7}, config=BEADS), {"a": 8}, True, 8, id="the limit was lowered"
        ),
        pytest.param(settled({"a": 2}, done=True), {}, False, 0, id="done"),
        pytest.param(settled({"a": 2}, done=True, counts=False), {}, False, 0, id="lost, but done"),
        pytest.param(settled(done=True), {}, False, 0, id="done at once"),
        pytest.param(settled({"a": 2}, progress=True), {"a": 2}, False, 2, id="progress"),
        pytest.param(
            settled({"a": 1}, config=BEADS, progress=True), {"a": 2}, False, 2, id="not closed"
        ),
        pytest.param(settled({"a": 2}, counts=False), {"a": 2}, False, 2, id="given back"),
        pytest.param(settled(counts=False), {}, False, 0, id="the first given back"),
        pytest.param(settled({"b": 2}, task=None), {"b": 2}, False, 0, id="no task"),
        pytest.param(settled({"a": 2}, config=OFF), {"a": 2}, False, 0, id="off"),
        pytest.param(
            settled({"a": 1, "b": 2, "c": 1}, others_done={"b", "x"}),
            {"a": 2, "c": 1},
            False,
            2,
            id="worked on another",
        ),
        pytest.param(settled({"b": 2}, task=None, others_done=["b"]), {}, False, 0, id="another"),
    ],
)
def test_an_iteration_is_settled(
    after: AttemptsResult, attempts: dict[str, int], set_aside: bool, count: int
) -> None:
    assert after == AttemptsResult(attempts=attempts, set_aside=set_aside, count=count)


def test_a_task_is_set_aside_after_the_limit_and_then_skipped() -> None:
    attempts: dict[str, int] = {}
    told = []
    for _ in range(3):
        after = settled(attempts, config=BEADS)
        attempts = after.attempts
        told.append((after.set_aside, skipped_without_mark(attempts, BEADS)))
    assert told == [(False, ()), (False, ()), (True, ("a",))]


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        pytest.param(BEADS, ("c", "a"), id="those at the limit"),
        pytest.param(AttemptsConfig(limit=4, mark=False), ("c",), id="another limit"),
        pytest.param(SPEC, (), id="the plan says it"),
        pytest.param(AttemptsConfig(mark=False), (), id="off"),
    ],
)
def test_what_is_set_aside_without_a_mark_is_skipped(
    config: AttemptsConfig, expected: tuple[str, ...]
) -> None:
    assert skipped_without_mark({"c": 4, "b": 2, "a": 3}, config) == expected


@pytest.mark.parametrize(
    ("attempts", "config", "expected"),
    [
        pytest.param({"a": 2, "b": 1}, SPEC, {"b": 1}, id="marked"),
        pytest.param({"a": 2, "b": 1}, OFF, {"b": 1}, id="marked, attempts are off"),
        pytest.param({"b": 1}, BEADS, {"b": 1, "a": 3}, id="to be skipped"),
        pytest.param({"a": 5, "b": 1}, BEADS, {"b": 1, "a": 5}, id="skipped already"),
        pytest.param({}, AttemptsConfig(mark=False), {}, id="no limit, so it must be marked"),
    ],
)
def test_a_task_that_says_blocked_is_given_up_at_once(
    attempts: dict[str, int], config: AttemptsConfig, expected: dict[str, int]
) -> None:
    before = dict(attempts)
    after = give_up_task(attempts, A, config)
    assert (after, attempts) == (expected, before)
    assert ("a" in skipped_without_mark(after, config)) != is_marked_in_plan(config)


CONFIGS = st.builds(
    AttemptsConfig,
    limit=st.integers(0, 4),
    counts=st.sampled_from(list(AttemptCounts)),
    mark=st.booleans(),
)
TASKS = st.none() | st.sampled_from([TaskRef(id=name, title=name) for name in "abc"])
TURNS = st.lists(st.tuples(TASKS, st.booleans(), st.booleans(), st.booleans()), max_size=20)


@given(CONFIGS, TURNS)
def test_counts_stay_between_nothing_and_the_limit(
    config: AttemptsConfig, turns: list[tuple[TaskRef | None, bool, bool, bool]]
) -> None:
    attempts: dict[str, int] = {}
    for task, done, progress, counts in turns:
        if task is not None and task.id in skipped_without_mark(attempts, config):
            continue
        before, number = dict(attempts), attempt_number(attempts, task, config)
        after = settled(attempts, task, config, done=done, progress=progress, counts=counts)
        assert attempts == before, "what was given is left alone"
        attempts = after.attempts
        assert all(0 < count <= max(1, config.limit) for count in attempts.values())
        if number is None:
            assert after == AttemptsResult(attempts=before)
        else:
            assert after.count in {0, number - 1, number}
            assert after.set_aside == (after.count == config.limit)
            assert not (after.set_aside and (done or not counts))
