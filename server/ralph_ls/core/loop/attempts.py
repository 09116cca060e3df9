"""Attempts: how often a task was tried in vain, and when it makes room for the next one.

B, Stuck Detection; S, Handling Stuck Tasks; settled in SPEC §6. An attempt is counted at the
start of an iteration for the task it was given, also if the agent then works on another one; it
holds once the iteration is over, so that an engine which dies leaves nothing half counted. It
is given back where the iteration does not count at all, and the task's count is cleared where
the task is done.

It must never know how a task is marked in a plan, nor what the breaker makes of one set aside.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from ralph_ls.protocol.config import AttemptCounts, AttemptsConfig
from ralph_ls.protocol.run_words import TaskRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """The attempts after one iteration."""

    attempts: dict[str, int]
    """Failed attempts by task id; a task that has none is not in it."""
    set_aside: bool = False
    """The task has had all its attempts, and makes room for the next one."""
    count: int = 0
    """Failed attempts at the task with this one, also where its count was cleared for that."""


def rename(attempts: Mapping[str, int], names: Mapping[str, TaskRef]) -> dict[str, int]:
    """The same attempts under what the tasks are called now, by what they were called before.

    Whoever rewords a task makes no other one of it, so it has no more attempts for that (SPEC §8).
    """
    renamed: dict[str, int] = {}
    for known, count in attempts.items():
        now = names[known].id if known in names else known
        renamed[now] = max(count, renamed.get(now, 0))
    return renamed


def rename_each(tasks: Iterable[str], names: Mapping[str, TaskRef]) -> tuple[str, ...]:
    """The ids of the same tasks as they are called now, each once."""
    return tuple(rename(dict.fromkeys(tasks, 0), names))


def begin(attempts: Mapping[str, int], task: TaskRef | None, config: AttemptsConfig) -> int | None:
    """Which attempt at its task an iteration is that begins now, from 1; None: none is counted.

    B10, What Constitutes a Failed Attempt: "increments the counter at the start".
    """
    if task is None or not task.id or config.limit == 0:
        return None
    return attempts.get(task.id, 0) + 1


def settle(
    attempts: Mapping[str, int],
    task: TaskRef | None,
    *,
    done: bool,
    progress: bool,
    counts: bool,
    config: AttemptsConfig,
    others_done: Collection[str] = (),
) -> Settled:
    """The attempts after an iteration on ``task``, and whether it is set aside (B10, B11, S20).

    ``counts`` is false where the iteration does not count: it was at a usage limit, lost or
    stopped, and its attempt is given back. A task that is done is done all the same.
    ``others_done`` are the ids of tasks that became done beside the one that was given.
    """
    left = {known: count for known, count in attempts.items() if known not in others_done}
    if task is None or not task.id or config.limit == 0:
        return Settled(attempts=left)
    if done:
        left.pop(task.id, None)
        return Settled(attempts=left)
    count = left.get(task.id, 0)
    if not counts or (progress and config.counts is AttemptCounts.NO_PROGRESS):
        return Settled(attempts=left, count=count)
    count += 1
    left[task.id] = count
    if count < config.limit:
        return Settled(attempts=left, count=count)
    if config.mark:
        # The plan says that it is blocked; a person who unblocks it there wants it tried anew.
        del left[task.id]
    return Settled(attempts=left, set_aside=True, count=count)


def skipped(attempts: Mapping[str, int], config: AttemptsConfig) -> tuple[str, ...]:
    """Ids of the tasks that are set aside without a mark in the plan (B12)."""
    if config.mark or config.limit == 0:
        return ()
    return tuple(task for task, count in attempts.items() if count >= config.limit)


def give_up(attempts: Mapping[str, int], task: TaskRef, config: AttemptsConfig) -> dict[str, int]:
    """The attempts after a task said BLOCKED, which sets it aside at once (SPEC §6).

    With a mark in the plan its count is cleared, as in ``settle``; without one the count becomes
    the limit, for nothing else keeps the task from being taken again.
    """
    others = {known: count for known, count in attempts.items() if known != task.id}
    if is_marked(config):
        return others
    return {**others, task.id: max(attempts.get(task.id, 0), config.limit)}


def is_marked(config: AttemptsConfig) -> bool:
    """Whether a task that is set aside is marked in the plan; without a limit it has to be."""
    return config.mark or config.limit == 0
