"""What there is to say of one task beside its title, in the same words wherever it stands."""

from __future__ import annotations

from ralph_ls.core.plan.model import Task
from ralph_ls.core.views.history import Done
from ralph_ls.core.views.words import SHORT_HASH, SHOWN_REASON, one_line
from ralph_ls.core.words import count_of


def done_words(done: Done) -> str:
    """``done in iteration 2 · a1b2c3d``."""
    commit = "" if done.commit is None else f" · {done.commit[:SHORT_HASH]}"
    return f"done in iteration {done.iteration}{commit}"


def blocked_words(task: Task) -> str:
    """Why the plan says that it is blocked."""
    reason = one_line(task.blocked_by or "the plan gives no reason", limit=SHOWN_REASON)
    return f"blocked: {reason}"


def tried_words(n_tried: int, *, in_work: bool) -> str:
    """``attempt 2`` while it is in work, else ``2 attempts``."""
    return f"attempt {n_tried}" if in_work else count_of(n_tried, "attempt")
