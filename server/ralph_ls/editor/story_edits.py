"""Edits of one story as code actions: whether it passes, its review, notes and place.

Each is worked out when a person asks for it, and what cannot be done says why. It must never know
how a story is written: that is the plan's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ralph_ls.core.plan.model import Plan, Task

TO_WRITE = "\N{HORIZONTAL ELLIPSIS}"
"""Stands where a person writes what is meant."""


class Way(NamedTuple):
    """One edit of a plan's text, and what it is called."""

    title: str
    edit: Callable[[str], str]


def story_ways(plan: Plan, task: Task, *, all_of_them: bool) -> Iterator[Way]:
    """What can be made of a story; only what sets its state, unless all are asked for."""
    from ralph_ls.core.plan.formats.stories import edits
    from ralph_ls.core.plan.formats.stories import edits as persons
    from ralph_ls.protocol.plan import TaskState

    if task.state is TaskState.DONE:
        yield Way("Open task again", partial(edits.reopen_story, story_id=task.id))
    else:
        yield Way("Mark task as done", partial(edits.pass_story, story_id=task.id))
    if task.state is TaskState.IN_PROGRESS:
        yield Way("Reset for retry", partial(persons.retry_story, story_id=task.id))
    if not all_of_them:
        return
    if task.state is not TaskState.TODO:
        ask = partial(persons.request_changes, story_id=task.id, feedback=TO_WRITE)
        yield Way("Request changes", ask)
    yield Way("Add a note", partial(persons.note_on_story, story_id=task.id, words=TO_WRITE))
    block = partial(persons.refuse_hold, story_id=task.id)
    yield Way("Block task", block)
    ids = [one.id for one in plan.tasks]
    at = ids.index(task.id)
    if at > 0:
        before = ids[at - 1]
        yield Way("Move task up", partial(persons.move_story, story_id=task.id, before=before))
    if at + 1 < len(ids):
        behind = ids[at + 2] if at + 2 < len(ids) else None
        yield Way("Move task down", partial(persons.move_story, story_id=task.id, before=behind))
