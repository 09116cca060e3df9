"""What stands behind the words of a line: how a task that is done became so (UX §6).

A hint is read in passing, so it says what will never change; what still goes on is a lens's to say.
It must never know an editor, nor how a commit is opened there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ralph_ls.core.plan.model import Task, TaskKind
from ralph_ls.core.views.controls import log_of
from ralph_ls.core.views.history import Done
from ralph_ls.core.views.seen import Places, Seen, Span, places
from ralph_ls.core.views.words import SHORT_HASH
from ralph_ls.protocol.plan import TaskState


@dataclass(frozen=True, slots=True, kw_only=True)
class Hint:
    """A few words behind one line."""

    line: int
    """From 0."""
    column: int
    """Behind the line's last word, in characters of that line."""
    text: str
    """``done in #2 · a1b2c3d``."""
    tooltip: str
    """The same with the whole hash, which can be copied."""
    commit: str | None = None
    """Whole hash of the commit that did it."""
    arguments: Mapping[str, object] = field(default_factory=dict)
    """Plain JSON values: the ``run`` and ``iteration`` that did it, and its ``commit``."""


def hints(seen: Seen) -> tuple[Hint, ...]:
    """All of one file, by line. Total.

    Only what the newest run did is known: a task that was done before, or ticked by a person, has
    none.
    """
    known = seen.history.done
    at = places(seen)
    tasks = seen.plan.some(ids=set(known)) if known else ()
    return tuple(
        _hint(seen, known[task.id], _place(at, task))
        for task in tasks
        if task.state is TaskState.DONE
    )


def _place(at: Places, task: Task) -> Span:
    """Behind a task's words, or behind what a story begins with: in quotes it would be a part."""
    if task.kind is not TaskKind.STORY:
        return at.of_task(task)
    return Span(line=task.line, start=0, end=task.end - task.start)


def _hint(seen: Seen, done: Done, words: Span) -> Hint:
    text, tooltip = f"done in #{done.iteration}", f"Done in iteration {done.iteration}"
    arguments = log_of(seen, done.start)
    if done.commit is not None:
        text = f"{text} · {done.commit[:SHORT_HASH]}"
        tooltip = f"{tooltip}, commit {done.commit}"
        arguments = {**arguments, "commit": done.commit}
    return Hint(
        line=words.line,
        column=words.end,
        text=text,
        tooltip=tooltip,
        commit=done.commit,
        arguments=arguments,
    )
