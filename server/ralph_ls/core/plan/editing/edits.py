"""Change one task in the text of a plan, and nothing else: every other byte stays as it was.

Line endings, tabs, trailing spaces, a BOM and a missing last line ending are the writer's own.
An edit works on text, so it knows neither the file nor who else is writing it. Each gives the new
text, and raises RalphError when the plan has no such task, or when what is meant cannot be written
without changing how another task is read (``rewriting``).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

from ralph_ls.core.plan.changes import Change
from ralph_ls.core.plan.editing.nesting import add_below, cut_fields, in_line, text_of
from ralph_ls.core.plan.editing.rewriting import Lines, apply, find, lines_in, reword
from ralph_ls.core.plan.editing.rows import add_commit, add_note, commits_in, row_of
from ralph_ls.core.plan.editing.wordings import blocks, blocks_in_line, opens, ticks, unblocks
from ralph_ls.core.plan.model import Task, TaskKind
from ralph_ls.core.plan.reading.items import read_field
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.plan import TaskState


def tick(text: str, task_id: str) -> str:
    """Mark a task as done.

    With a box, what stands in it becomes ``x``: one character. An emoji, a word in a table or a
    line ``Status: …`` becomes another one (``written``). What has none of these gets ``[DONE] ``
    before its text, as in the plan's other tags; a box there would change how the other items
    without one are read. A task that is done already leaves the text as it is; a skipped or
    blocked one is ticked like any other.
    """
    plan, task = find(text, task_id)
    if task.state is TaskState.DONE:
        return text
    proposals = (apply(text, changes) for changes in ticks(text, task))
    return reword(
        text, plan, task, proposals, lambda now: now.state is TaskState.DONE, doing="ticked"
    )


def untick(text: str, task_id: str) -> str:
    """Open a task again that is done: what says so goes, in the box, tag, strike, sign or word.

    Tags that say something else stay: a task that was blocked when it was ticked is blocked again.
    A task that is not done leaves the text as it is. One that is done because it stands below
    ``Completed`` is not opened where it is: it has to be moved.
    """
    plan, task = find(text, task_id)
    if task.state is not TaskState.DONE:
        return text
    proposals = (apply(text, changes) for changes in opens(text, task))
    return reword(
        text,
        plan,
        task,
        proposals,
        lambda now: now.state is not TaskState.DONE,
        doing="opened where it stands",
        instead=f"move it out of the section {task.section!r}, or edit the plan by hand",
    )


def block(text: str, task_id: str, reason: str, needs: str = "") -> str:
    """Set a task aside in S's form: the tag ``[BLOCKED]``, and below it what blocks it.

    The tag is put before the text unless the task is blocked already. The lines ``- Blocked by:``
    and ``- Needs:`` become the first ones nested in the task, unless the plan already says so;
    older ones stay below them. White space is folded, and an empty value gives no line. A row of a
    table, which can hold no lines, gets the reason in its tag: ``[BLOCKED: reason]``, and so does
    a task below which no line would be read as meant. A task that is done or skipped leaves the
    text as it is.
    """
    plan, task = find(text, task_id)
    if task.state in {TaskState.DONE, TaskState.SKIPPED}:
        return text
    blocked_by, needed = in_line(reason), in_line(needs)
    lines = lines_in(text)
    said = blocked_by or needed
    fields = []
    if blocked_by and blocked_by != task.blocked_by:
        fields.append(f"Blocked by: {blocked_by}")
    if needed and not _needs_already(lines, task, needed):
        fields.append(f"Needs: {needed}")
    is_row = task.kind is TaskKind.ROW
    if is_row and task.state is TaskState.BLOCKED and (not said or task.blocked_by == said):
        return text
    below = [] if is_row or not fields else [add_below(text, lines, task, fields)]
    ways = [] if is_row else ([*changes, *below] for changes in blocks(text, task))
    proposals = (apply(text, changes) for changes in chain(ways, blocks_in_line(text, task, said)))
    return reword(
        text,
        plan,
        task,
        proposals,
        lambda now: now.state is TaskState.BLOCKED and bool(now.blocked_by or not said),
        doing="blocked",
    )


def unblock(text: str, task_id: str) -> str:
    """Take a task up again that was set aside: box, tag and the lines that say why go.

    A line with a reason that has lines of its own below it stays: it tells a story by then. A task
    that is not blocked leaves the text as it is.
    """
    plan, task = find(text, task_id)
    if task.state is not TaskState.BLOCKED:
        return text
    below = cut_fields(text, lines_in(text), plan, task, ("blocked by", "needs"))
    proposals = (apply(text, [*changes, *below]) for changes in unblocks(text, task))
    return reword(
        text,
        plan,
        task,
        proposals,
        lambda now: now.state is not TaskState.BLOCKED,
        doing="unblocked",
    )


def note(text: str, task_id: str, said: str) -> str:
    """Add a note below a task and its earlier notes, as a list item of one line.

    White space is folded. ``Note:`` is put before a text that would be read as something else, such
    as ``[ ] more`` or ``Needs: …``. A row of a table takes it in its column for notes, and is
    refused without one. Nothing to say leaves the text as it is.
    """
    plan, task = find(text, task_id)
    words = in_line(said)
    if not words:
        return text
    lines = lines_in(text)
    if task.kind is TaskKind.ROW:
        written = add_note(row_of(lines, task), words)
        ways = [_require_column(written, task, "a note", "Notes")]
    else:
        ways = [
            [add_below(text, lines, task, [way], is_last=is_last)]
            for way in (words, f"Note: {words}")
            for is_last in (True, False)
        ]
    proposals = (apply(text, changes) for changes in ways)
    return reword(
        text, plan, task, proposals, lambda now: now.blocked_by == task.blocked_by, doing="noted at"
    )


def attach_commit(text: str, task_id: str, commit: str) -> str:
    """Say in which commit a task was worked on: ``- Commit: abc1234`` below it (S, PROGRESS.md).

    A commit that the task names already leaves the text as it is; another one is added above it.
    A row of a table takes it in its column for commits, and is refused without one.
    Raises RalphError, too, for what is no commit's hash.
    """
    plan, task = find(text, task_id)
    require_hash(commit)
    lines = lines_in(text)
    if task.kind is TaskKind.ROW:
        row = row_of(lines, task)
        if any(_is_same(commit, known) for known in commits_in(row)):
            return text
        changes = _require_column(add_commit(row, commit), task, "a commit", "Commit")
    elif names_commit([line for _, line in lines[task.line + 1 : task.end_line + 1]], commit):
        return text
    else:
        changes = [add_below(text, lines, task, [f"Commit: {commit}"])]
    proposals = [apply(text, changes)]
    return reword(
        text, plan, task, proposals, lambda now: now.state is task.state, doing="given a commit"
    )


def require_hash(commit: str) -> None:
    """Raise RalphError for what is no hash of a commit, short or whole."""
    if _HASH.fullmatch(commit) is None:
        raise RalphError(
            f"{commit!r} is no hash of a commit; give 4 to 64 hexadecimal digits, as of: "
            "git rev-parse --short HEAD"
        )


def names_commit(lines: Sequence[str], commit: str = "") -> bool:
    """Whether one of the lines is ``Commit: …``, of this one or of any."""
    found = (_COMMIT.fullmatch(text_of(line)) for line in lines)
    return any(one is not None and _is_same(commit, one[1]) for one in found)


_HASH = re.compile(r"[0-9a-fA-F]{4,64}")
_COMMIT = re.compile(r"[*_]{0,2}Commit[*_]{0,2}:[*_]{0,2}\s*`?([0-9a-zA-Z]+)`?\s*", re.IGNORECASE)


def _is_same(commit: str, known: str) -> bool:
    return known.startswith(commit) or commit.startswith(known)


def _needs_already(lines: Lines, task: Task, needs: str) -> bool:
    """Whether a line in the task says that it needs just this."""
    inside = (line for _, line in lines[task.line + 1 : task.end_line + 1])
    return any(read_field(text_of(line)) == ("needs", needs) for line in inside)


def _require_column(changes: list[Change] | None, task: Task, what: str, head: str) -> list[Change]:
    if changes is None:
        raise RalphError(
            f"the task {task.id} on line {task.line + 1} of the plan is a row of a table, which "
            f"has no column for {what}; give the table one with the head {head}"
        )
    return changes
