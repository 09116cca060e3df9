"""Restored changes in words: which rule an agent broke, for the next agent and for the history.

The rules are those of the guard; here they only have names. It must never know how a file is
restored.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from ralph_ls.protocol.run.events import GuardReverted
from ralph_ls.protocol.run.iteration_events import Forbidden

SHOWN_TASKS = 5
SHOWN_WHY = 300

RULES: Mapping[Forbidden, str] = MappingProxyType(
    {
        Forbidden.DROPPED: "an open task may be finished, split or marked as blocked, not removed",
        Forbidden.SKIPPED: "only the user marks a task as skipped",
        Forbidden.CRITERIA: "the acceptance criteria of a task may not be changed or removed",
        Forbidden.REVIEW: "a story moves only as its review cycle allows",
        Forbidden.PRIORITY: "the priority of a task may not be changed",
        Forbidden.DEPENDENCY: "dependencies may be added, not removed",
        Forbidden.TYPE: "the type of an issue may not be changed",
        Forbidden.VERIFY: "the commands that verify the work may not be changed",
        Forbidden.CHANGED: "no iteration may change this file",
        Forbidden.DELETED: "no iteration may delete this file",
        Forbidden.CREATED: "no iteration may create this file",
    }
)
"""Which rule each kind of change breaks."""


def broken_rule(what: Forbidden, why: str | None) -> str:
    """The rule that a change broke: as it was said of this very change, else of its kind."""
    return " ".join(why.split())[:SHOWN_WHY] if why else RULES[what]


def restored_lines(events: Iterable[GuardReverted]) -> tuple[str, ...]:
    """One line for each thing that was restored: the file, the tasks, and the rule."""
    return tuple(dict.fromkeys(_line(one) for one in events))


def _line(one: GuardReverted) -> str:
    titles = [" ".join(task.title.split()) for task in one.tasks[:SHOWN_TASKS]]
    titles += ["…"] if one.n_tasks > len(titles) > 0 else []
    whose = f" ({'; '.join(titles)})" if titles else ""
    return f"{one.path}{whose}: {broken_rule(one.what, one.why)}"
