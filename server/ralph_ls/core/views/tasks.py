"""What there is to say of one task beside its title, in the same words wherever it stands."""

from __future__ import annotations

from ralph_ls.core.loop.rules.attempts import COUNTED, failed_attempts
from ralph_ls.core.plan.model import Task
from ralph_ls.core.plurals import count_of
from ralph_ls.core.views.history import Done
from ralph_ls.core.views.seen import Seen
from ralph_ls.core.views.words import SHORT_HASH, SHOWN_REASON, one_line
from ralph_ls.protocol.plan import TaskState
from ralph_ls.protocol.run.events import TaskSetAside
from ralph_ls.protocol.run.state import RunState


def done_words(done: Done) -> str:
    """``done in iteration 2 · a1b2c3d``."""
    commit = "" if done.commit is None else f" · {done.commit[:SHORT_HASH]}"
    return f"done in iteration {done.iteration}{commit}"


def blocked_words(task: Task) -> str:
    """Why the plan says that it is blocked."""
    reason = one_line(task.blocked_by or "the plan gives no reason", limit=SHOWN_REASON)
    return f"blocked: {reason}"


def tried_words(seen: Seen, task: Task, *, in_work: bool) -> str:
    """``attempt 2 of 3`` in work, else ``2 of 3 attempts failed``; empty for one never tried.

    Where attempts are not counted it is ``attempt 2`` and ``2 attempts``: iterations that had it.
    """
    n_tried = len(seen.history.attempts.get(task.id, ()))
    state = RunState() if seen.state is None else seen.state
    if in_work:
        return attempt_words(state) or f"attempt {n_tried}"
    return failed_words(state, task.id) or (count_of(n_tried, "attempt") if n_tried else "")


def attempt_words(state: RunState) -> str:
    """``attempt 2 of 3`` of the open iteration; empty where none is counted."""
    current, limit = state.current, state.config.attempts.limit
    if current is None or current.started.task is None or limit == 0:
        return ""
    if COUNTED not in current.told:
        return ""
    return f"attempt {max(1, state.attempts.get(current.started.task.id, 0))} of {limit}"


def failed_words(state: RunState, task_id: str) -> str:
    """``2 of 3 attempts failed``; empty where none has failed, or none is counted."""
    failed, limit = failed_attempts(state).get(task_id, 0), state.config.attempts.limit
    return f"{failed} of {count_of(limit, 'attempt')} failed" if failed and limit else ""


SKIPPED = "skipped in this run"


def is_skipped(seen: Seen, task: Task) -> bool:
    """Whether a person wants it skipped, in a run that has not come to its end."""
    state = seen.state
    return state is not None and state.end is None and task.id in state.skipped


def set_aside(seen: Seen, task: Task) -> TaskSetAside | None:
    """How this run set a task aside, where that still holds: a person may have changed the plan."""
    told = seen.history.set_aside.get(task.id)
    if told is None:
        return None
    is_blocked = task.state is TaskState.BLOCKED
    is_open = task.state in {TaskState.TODO, TaskState.IN_PROGRESS}
    holds = is_blocked if told.marked else is_blocked or is_open
    return told if holds else None


def aside_words(told: TaskSetAside) -> str:
    """``set aside after 3 attempts: no progress``."""
    return f"set aside{after_attempts(told)}: {one_line(told.reason, limit=SHOWN_REASON)}"


def after_attempts(told: TaskSetAside) -> str:
    """`` after 3 attempts``, to go on with; empty where none were counted."""
    return f" after {count_of(told.attempts, 'attempt')}" if told.attempts else ""
