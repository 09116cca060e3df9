"""What a person orders about one task, as an edit of the plan's text, whatever kind of plan it is.

The issues of ``bd`` and a request have no text that a person edits here: whoever asks for such an
edit is told what to do instead. It must never know who asks, nor where a plan lies.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from ralph_ls.core.plan.comparing.guard import Powers, check
from ralph_ls.core.plan.comparing.merge import merge as merge_markdown
from ralph_ls.core.plan.comparing.merged import Merged
from ralph_ls.core.plan.editing import by_person
from ralph_ls.core.plan.kinds import PlanKind
from ralph_ls.core.plan.markdown import parse
from ralph_ls.core.plan.select import newly_done
from ralph_ls.core.plan.stories import merging, persons
from ralph_ls.core.plan.stories import showing as stories
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.lsp.row_methods import TaskEdit

Change = Callable[[str], str]

INSTEAD = {
    PlanKind.BEADS: "the issues are kept by bd; change them there, for example with: bd update",
    PlanKind.REQUEST: "a request has no tasks; change its text instead",
}


def change_of(
    kind: PlanKind, edit: TaskEdit, task_id: str, *, reason: str = "", before: str | None = None
) -> Change:
    """The change that an edit means; raises ``RalphError`` where a plan has no such edits."""
    _require_text(kind)
    if kind is PlanKind.STORIES:
        return persons.change_of(edit, task_id, before=before)
    return by_person.change_of(edit, task_id, reason=reason, before=before)


def reset_for_retry(kind: PlanKind, task_id: str) -> Change:
    """The change that opens a task again, and says so in the plan; raises as ``change_of``."""
    _require_text(kind)
    if kind is PlanKind.STORIES:
        return partial(persons.reset_for_retry, story_id=task_id)
    return partial(by_person.reset_for_retry, task_id=task_id)


def exact(kind: PlanKind, change: Callable[[str], Change], task_id: str) -> Change:
    """A change of a text in which what is no UTF-8 stands as half characters.

    In markdown a task may have another id there, which is made of its words.
    """
    return by_person.exact(change, task_id) if kind is PlanKind.MARKDOWN else change(task_id)


def effects_of(
    kind: PlanKind, before: str, after: str
) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """What a person's edit did: the ids that became done, and what no agent may have done.

    The latter by what it is and by task; in stories it is the field.
    """
    if kind is PlanKind.STORIES:
        plans = stories.parse(before).plan, stories.parse(after).plan
        return newly_done(*plans), persons.decided(before, after)
    old, new = parse(before).plan, parse(after).plan
    guarded = check(old, before, new, after, powers=Powers())
    return newly_done(old, new), tuple((one.what.value, one.task.id) for one in guarded.violations)


def merge(kind: PlanKind, base: str, mine: str, theirs: str) -> Merged:
    """Put what two have changed at the same time into one text; see ``comparing.merge``."""
    if kind is PlanKind.STORIES:
        return merging.merge(base, mine, theirs)
    return merge_markdown(base, mine, theirs)


def _require_text(kind: PlanKind) -> None:
    instead = INSTEAD.get(kind)
    if instead is not None:
        raise RalphError(instead)
