"""Notices of a fleet: the notifications of tasks that wait for their user, and of a session's end.

When and where they are sent is decided as for a run (``core.notify``).
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable

from ralph_ls.core.notify.occasions import Notification
from ralph_ls.core.plurals import count_of
from ralph_ls.core.views.panel.question import listed_choices
from ralph_ls.protocol.config.notify import NotifyEvent
from ralph_ls.protocol.fleet import FleetTaskState
from ralph_ls.protocol.run.values import TaskRef

State = FleetTaskState


def notice_of_task(
    key: str, task: TaskRef, state: FleetTaskState, message: str, *, starts_no_more: bool
) -> Notification:
    """The notification of a task that asks or is parked; ``key`` is ``repository#id``.

    ``starts_no_more``: the breaker of its repository is open.
    """
    shown = shlex.quote(key)
    if state is State.ASKING:
        return Notification(
            event=NotifyEvent.QUESTION,
            text=message,
            command=f"ralph fleet answer {shown} '…'",
            is_anywhere=True,
            options=listed_choices(message),
            task=task,
        )
    repository = key.partition("#")[0]
    more = f"\n{repository} starts no more tasks until you retry." if starts_no_more else ""
    return Notification(
        event=NotifyEvent.SET_ASIDE,
        text=f"{message}{more}",
        command=f"ralph fleet retry {shown}",
        is_anywhere=True,
        task=task,
    )


def notice_of_end(states: Iterable[FleetTaskState], *, waits_for_release: bool) -> Notification:
    """The notification of a session that ended by itself, with what is left for the user."""
    found = Counter(states)
    n_all = found.total() - found[State.DROPPED]
    text = f"{found[State.MERGED]} of {count_of(n_all, 'task')} merged"
    if found[State.MERGED] == n_all:
        event, command = NotifyEvent.COMPLETE, "ralph fleet publish"
    else:
        event, command = NotifyEvent.BLOCKER, "ralph fleet status"
    parts = [text]
    parts += [f"{found[State.ASKING]} with a question"] if found[State.ASKING] else []
    parts += [f"{found[State.PARKED]} parked"] if found[State.PARKED] else []
    parts += ["others wait for a release"] if waits_for_release else []
    return Notification(event=event, text=", ".join(parts), command=command, is_anywhere=True)
