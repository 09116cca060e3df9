"""What came of the commands that closed tasks name, in the same words wherever it stands.

It must never know an editor, and it must never judge: what it tells was seen by the engine.
"""

from __future__ import annotations

from collections.abc import Iterator

from ralph_ls.core.loop.rules.validation import verification_of
from ralph_ls.core.plan.model import Task
from ralph_ls.core.plan.verification.criterion_checks import (
    describe_check_failures,
    describe_not_run,
)
from ralph_ls.core.plurals import count_of
from ralph_ls.core.views.seen import Seen
from ralph_ls.core.views.visible import tame
from ralph_ls.core.views.words import SHOWN_REASON, one_line
from ralph_ls.protocol.plan import TaskState
from ralph_ls.protocol.run.events import CriteriaVerified

SHOWN_TAIL_LINES = 5


def verified_words(event: CriteriaVerified) -> str:
    """``Verified: Log in (2 commands ended with 0)``, or what failed, or what was not run."""
    seen, title = verification_of(event), one_line(event.task.title, limit=SHOWN_REASON)
    if event.ok:
        return f"Verified: {title} ({count_of(len(seen.checked), 'command')} ended with 0)"
    if seen.failed:
        return tame(f"{title}: {describe_check_failures(seen)}")
    said = "; ".join(text for _, text in describe_not_run(seen))
    return tame(f"Not verified: {title}: {said}")


def last_words(event: CriteriaVerified) -> list[str]:
    """The end of what the first failed command printed."""
    failed = next(iter(verification_of(event).failed), None)
    return [] if failed is None else failed.tail.strip().splitlines()[-SHOWN_TAIL_LINES:]


def refuted(seen: Seen) -> Iterator[tuple[Task, CriteriaVerified]]:
    """The tasks that were closed, did not hold, and are not done by now."""
    told = {task: event for task, event in seen.history.verified.items() if _has_failed(event)}
    for task in seen.plan.some(ids=told) if told else ():
        if task.state is not TaskState.DONE:
            yield task, told[task.id]


def _has_failed(event: CriteriaVerified) -> bool:
    return bool(verification_of(event).failed)
