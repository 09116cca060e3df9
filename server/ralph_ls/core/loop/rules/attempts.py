"""Attempts: counts failures to finish a task, and sets the task aside at the limit.

An attempt is counted when an iteration starts, for the task that it was assigned, also if the agent
then works on another one. It is cancelled where the agent was not available (a usage limit, an
overload, an unreachable API) and where the user stopped it; an engine that dies keeps it, so that
a task that crashes the machine is set aside. The count of a task is cleared when it is done.

How a task is marked in a plan is not decided here, nor what the breaker counts.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from ralph_ls.core.loop.changes import RunChanges, replace_iteration
from ralph_ls.protocol.config.config import AttemptCounts, AttemptsConfig
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import TaskRef

COUNTED = "attemptCounted"
"""The kind of event under which an open iteration remembers that it counts as an attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptsResult:
    """The attempts after one iteration."""

    attempts: dict[str, int]
    """Failed attempts by task id; a task that has none is not in it."""
    set_aside: bool = False
    """The task has had all its attempts, and makes room for the next one."""
    count: int = 0
    """Failed attempts at the task with this one, also where its count was cleared for that."""


def failed_attempts(run: RunState) -> Mapping[str, int]:
    """Failed attempts by task id: those of ``run`` without that of the iteration that is open."""
    current = run.current
    task = None if current is None else current.started.task
    if current is None or task is None or COUNTED not in current.told:
        return run.attempts
    return _with(run.attempts, task.id, run.attempts.get(task.id, 0) - 1)


def attempts_after_run_end(run: RunState, *, stopped: bool) -> RunChanges:
    """The changes of a run that ends with an iteration open: its attempt is not counted if the
    agent never started or the user stopped it.
    """
    current = run.current
    if current is None or not (stopped or current.agent is None):
        return {}
    kinds = tuple(name for name in current.told if name != COUNTED)
    left = replace_iteration(current, told=kinds)
    return {"attempts": dict(failed_attempts(run)), "current": left}


def rename_tasks(attempts: Mapping[str, int], names: Mapping[str, TaskRef]) -> dict[str, int]:
    """The same attempts under the present ids of tasks, by their earlier ones.

    A reworded task is the same task, so it has no more attempts for that (docs/rules.md#attempts).
    """
    renamed: dict[str, int] = {}
    for known, count in attempts.items():
        now = names[known].id if known in names else known
        renamed[now] = max(count, renamed.get(now, 0))
    return renamed


def renamed_ids(tasks: Iterable[str], names: Mapping[str, TaskRef]) -> tuple[str, ...]:
    """The present ids of the same tasks, each once."""
    return tuple(rename_tasks(dict.fromkeys(tasks, 0), names))


def attempt_number(
    attempts: Mapping[str, int], task: TaskRef | None, config: AttemptsConfig
) -> int | None:
    """The number of the attempt that begins now, from 1; None: none is counted."""
    if task is None or not task.id or config.limit == 0:
        return None
    return attempts.get(task.id, 0) + 1


def count_attempt(
    attempts: Mapping[str, int],
    task: TaskRef | None,
    *,
    done: bool,
    progress: bool,
    counts: bool,
    config: AttemptsConfig,
    others_done: Collection[str] = (),
) -> AttemptsResult:
    """The attempts after an iteration on ``task``, and whether it is set aside.

    ``attempts`` are those before it (``failed_attempts``). ``counts`` is false where its attempt
    does not count. A task that is done is done all the same. ``others_done`` are the ids of tasks
    that became done beside the one that was given.
    """
    left = {known: count for known, count in attempts.items() if known not in others_done}
    if task is None or not task.id or config.limit == 0:
        return AttemptsResult(attempts=left)
    if done:
        left.pop(task.id, None)
        return AttemptsResult(attempts=left)
    count = left.get(task.id, 0)
    if not counts or (progress and config.counts is AttemptCounts.NO_PROGRESS):
        return AttemptsResult(attempts=left, count=count)
    count += 1
    left[task.id] = count
    if count < config.limit:
        return AttemptsResult(attempts=left, count=count)
    if config.mark:
        # The plan has it as blocked; a user who unblocks it there wants it tried again.
        del left[task.id]
    return AttemptsResult(attempts=left, set_aside=True, count=count)


def skipped_without_mark(attempts: Mapping[str, int], config: AttemptsConfig) -> tuple[str, ...]:
    """Ids of the tasks that are set aside without a mark in the plan (docs/rules.md#attempts)."""
    if config.mark or config.limit == 0:
        return ()
    return tuple(task for task, count in attempts.items() if count >= config.limit)


def give_up_task(
    attempts: Mapping[str, int], task: TaskRef, config: AttemptsConfig
) -> dict[str, int]:
    """The attempts after a report of BLOCKED, which sets a task aside at once.

    With a mark in the plan its count is cleared, as in ``count_attempt``; without one the count
    becomes the limit, since nothing else excludes the task (docs/rules.md#attempts).
    """
    others = {known: count for known, count in attempts.items() if known != task.id}
    if is_marked_in_plan(config):
        return others
    return {**others, task.id: max(attempts.get(task.id, 0), config.limit)}


def is_marked_in_plan(config: AttemptsConfig) -> bool:
    """Whether a task that is set aside is marked in the plan; without a limit it has to be."""
    return config.mark or config.limit == 0


def _with(attempts: Mapping[str, int], task: str, count: int) -> dict[str, int]:
    others = {known: n for known, n in attempts.items() if known != task}
    return {**others, task: count} if count > 0 else others
