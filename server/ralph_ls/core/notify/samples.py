"""Samples: one notification of each event, as ``ralph notify test`` sends it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ralph_ls.core.notify.occasions import Notification
from ralph_ls.protocol.config.notify import NotifyEvent
from ralph_ls.protocol.run.values import TaskRef

_TASK = TaskRef(id="1", title="An example of a task")

_TEXTS: Mapping[NotifyEvent, tuple[str, str]] = MappingProxyType(
    {
        NotifyEvent.QUESTION: ("This is a test. Tea or coffee?", 'ralph answer "…"'),
        NotifyEvent.BLOCKER: ("This is a test. The API key is missing", "ralph resume"),
        NotifyEvent.BREAKER: ("This is a test. 5 iterations without progress", "ralph reset"),
        NotifyEvent.REVIEW_POINT: ("This is a test. 5 iterations are done", "ralph resume"),
        NotifyEvent.APPROVAL: ("This is a test. A script changed", "ralph allow"),
        NotifyEvent.SET_ASIDE: ("This is a test. 3 attempts failed", ""),
        NotifyEvent.USAGE_LIMIT: ("This is a test. The limit resets at 14:05", ""),
        NotifyEvent.COST: ("This is a test. The run has used $5.00", "ralph stop"),
        NotifyEvent.COMPLETE: ("This is a test. All tasks are done", ""),
        NotifyEvent.LIMIT: ("This is a test. 20 iterations are done", "ralph run --resume"),
        NotifyEvent.FATAL: ("This is a test. The disk is full", "ralph run --resume"),
    }
)


def sample_of(event: NotifyEvent) -> Notification:
    """The sample of an event."""
    text, command = _TEXTS[event]
    asks = event is NotifyEvent.QUESTION
    return Notification(
        event=event,
        text=text,
        command=command,
        options=("Tea", "Coffee") if asks else (),
        task=_TASK,
        start=1,
        iteration=1,
        cost_usd=0.42,
    )
