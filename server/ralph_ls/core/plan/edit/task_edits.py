"""Task edits: mark one task in the text of a plan as done, open or blocked; all other bytes stay.

Line endings, tabs, trailing spaces, a BOM and a missing last line ending are kept. An edit works on
text and knows neither the file nor concurrent writers. Each function returns the new text, and
raises RalphError if the plan has no such task or the change cannot be written without changing how
another task is parsed (see ``proposals``). Candidates are tried in order, the likeliest first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain

from ralph_ls.core.plan.diff.text_diff import TextChange
from ralph_ls.core.plan.edit.proposals import (
    Lines,
    add_nested_items,
    apply_changes,
    as_single_line,
    cut_fields,
    find_task,
    first_valid_proposal,
    item_text,
    lines_in,
)
from ralph_ls.core.plan.edit.state_markup import (
    BLOCKED,
    DONE,
    OPEN,
    StatePiece,
    StateWord,
    add_commit,
    add_note,
    commits_in,
    find_state_remarks,
    find_strike,
    find_tags,
    is_box,
    reword_remark,
    row_edit,
    tag_title,
    text_start,
    write_state,
    write_status_lines,
)
from ralph_ls.core.plan.model import Task, TaskKind
from ralph_ls.core.plan.parse.items import read_field
from ralph_ls.core.plan.parse.titles import read_title
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.task_words import TaskState

Ways = list[list[TextChange]]


def tick_proposals(text: str, task: Task) -> Ways:
    """Ways to make it done."""
    box = _box_of(text, task)
    if box is not None:
        return [[TextChange(*box, "x")]]
    return _with_remarks(text, task, [*_states(text, task, DONE), *_tagged(text, task, "[DONE]")])


def reopen_proposals(text: str, task: Task) -> Ways:
    """Ways to make it no longer done."""
    line = text[task.start : task.end]
    at = text_start(line)
    strike = find_strike(line, at)
    struck = [] if strike is None else [_cut(task, mark, mark + 2) for mark in strike]
    box = _box_of(text, task)
    if box is not None:
        opened = TextChange(*box, " ")
        return _with_remarks(text, task, [[opened], [opened, *struck]])
    tags = [_cut(task, *span) for span in find_tags(line, at, _DONE_TAGS)]
    ways = [tags, struck, [*tags, *struck]]
    if strike is not None:
        # The text behind the title says that it is done, or when.
        ways.append([*struck[:1], _cut(task, strike[1], len(line.rstrip()))])
    for changes in _states(text, task, OPEN):
        ways += [changes, [*changes, *struck]]
    if task.kind is TaskKind.HEADING:
        # Without a state it would be no task.
        begin = task.start + len(line) - len(line.lstrip("\ufeff \t").lstrip("#").lstrip())
        for sign in (OPEN.circle if OPEN.circle in text else OPEN.sign, "[ ]"):
            ways.append([TextChange(begin, begin, f"{sign} "), *tags, *struck])
    return _with_remarks(text, task, ways, OPEN)


def block_proposals(text: str, task: Task) -> Ways:
    """Proposals to mark it as blocked, where the reason is written elsewhere."""
    if task.state is TaskState.BLOCKED:
        return [[]]
    ways = [*_tagged(text, task, "[BLOCKED]"), *_states(text, task, BLOCKED)]
    return _with_remarks(text, task, ways)


def inline_block_proposals(text: str, task: Task, reason: str) -> Ways:
    """Proposals to mark it as blocked, with the reason on its line."""
    tag = f"[BLOCKED: {_reason_in_tag(reason)}]" if reason else "[BLOCKED]"
    if task.kind is TaskKind.ROW:
        return tag_title(row_edit(lines_in(text), task), tag)
    return _tagged(text, task, tag)


def unblock_proposals(text: str, task: Task) -> Ways:
    """Ways to take it up again."""
    line = text[task.start : task.end]
    tags = [_cut(task, *span) for span in find_tags(line, text_start(line), _BLOCKED_TAGS)]
    below = _state_lines_below(text, task)
    ways = [tags, [*below, *tags]]
    box = _box_of(text, task)
    if box is not None:
        opened = TextChange(*box, " ")
        ways += [[opened, *tags], [opened, *below, *tags], [opened]]
    ways += ([*changes, *tags] for changes in _states(text, task, OPEN))
    return _with_remarks(text, task, ways, OPEN)


def _with_remarks(text: str, task: Task, ways: Ways, word: StateWord | None = None) -> Ways:
    """The ways, then those that also cut what the words of the task say of its state.

    With a ``word``, that is also written into the last such remark instead.
    """
    line = text[task.start : task.end]
    if task.kind is TaskKind.ROW:
        cells = row_edit(lines_in(text), task).cells
    else:
        cells = ((text_start(line), len(line)),)
    remarks = [span for cell in cells for span in find_state_remarks(line, *cell)]
    if not remarks:
        return ways
    cuts = [_cut(task, *span) for span in remarks]
    more = [[*way, *cuts] for way in ways if not _overlap(way, cuts)]
    ways = [*ways, *more, cuts, *([cut] for cut in cuts[:-1]), cuts[-1:]]
    if word is not None:
        *others, last = cuts
        new = reword_remark(text[last.start : last.end], word)
        ways.append([*others, TextChange(last.start, last.end, new)])
    return ways


def _overlap(changes: list[TextChange], others: list[TextChange]) -> bool:
    return any(
        one.start < other.end and other.start < one.end for one in changes for other in others
    )


_CLOSING_HASHES = re.compile(r"\s+#+\Z")
_DONE_TAGS = re.compile(r"done|completed?", re.IGNORECASE)
_BLOCKED_TAGS = re.compile(r"blocked(?:[ :\u2013\u2014-].*)?", re.IGNORECASE)
_IN_TAG = str.maketrans("[]|", "()/")


def _reason_in_tag(reason: str) -> str:
    """A reason as a tag can hold it; one of dashes or colons alone is quoted, or it is lost."""
    words = reason.translate(_IN_TAG)
    return words if read_title(f"[BLOCKED: {words}]").blocked_reason else f'"{words}"'


def _box_of(text: str, task: Task) -> tuple[int, int] | None:
    return task.mark if task.mark is not None and is_box(text, task.mark) else None


def _tagged(text: str, task: Task, tag: str) -> Ways:
    """Before the words of an item, behind those of a heading; a row has no such place."""
    line = text[task.start : task.end]
    if task.kind is TaskKind.ROW:
        return []
    if task.kind is TaskKind.HEADING:
        end = task.start + len(_CLOSING_HASHES.sub("", line.rstrip()))
        return [[TextChange(end, end, f" {tag}")]]
    at = text_start(line)
    gap = "" if line[at - 1].isspace() else " "
    return [[TextChange(task.start + at, task.start + at, f"{gap}{tag} ")]]


def _states(text: str, task: Task, word: StateWord) -> Ways:
    lines = lines_in(text)[task.line : task.end_line + 1]
    mark = None if task.mark is None else (task.mark[0] - task.start, task.mark[1] - task.start)
    ways = write_state([line for _, line in lines], task.kind, mark, word)
    return [[_change(lines, piece) for piece in pieces] for pieces in ways]


def _state_lines_below(text: str, task: Task) -> list[TextChange]:
    lines = lines_in(text)[task.line : task.end_line + 1]
    return [
        _change(lines, one) for one in write_status_lines([line for _, line in lines], OPEN)[:1]
    ]


def _change(lines: Lines, piece: StatePiece) -> TextChange:
    start, _ = lines[piece.line]
    return TextChange(start + piece.start, start + piece.end, piece.text)


def _cut(task: Task, begin: int, end: int) -> TextChange:
    return TextChange(task.start + begin, task.start + end, "")


def tick_task(text: str, task_id: str) -> str:
    """Mark a task as done.

    The content of a box becomes ``x``: one character. An emoji, a word in a table or a line
    ``Status: …`` becomes another one (``state_markup``). A task without any of these gets
    ``[DONE] `` before its text, like the plan's other tags; a box would change how the other items
    without one are parsed. If the task is done already, the text is unchanged; a skipped or blocked
    one is ticked like any other.
    """
    plan, task = find_task(text, task_id)
    if task.state is TaskState.DONE:
        return text
    proposals = (apply_changes(text, changes) for changes in tick_proposals(text, task))
    return first_valid_proposal(
        text, plan, task, proposals, lambda now: now.state is TaskState.DONE, doing="ticked"
    )


def untick_task(text: str, task_id: str) -> str:
    """Open a done task again: in its box, tag, strike, sign or word.

    Other tags stay: a task that was blocked when it was ticked is blocked again. If the task is not
    done, the text is unchanged. A task that is done because it is below ``Completed`` cannot be
    opened in place: it has to be moved.
    """
    plan, task = find_task(text, task_id)
    if task.state is not TaskState.DONE:
        return text
    proposals = (apply_changes(text, changes) for changes in reopen_proposals(text, task))
    return first_valid_proposal(
        text,
        plan,
        task,
        proposals,
        lambda now: now.state is not TaskState.DONE,
        doing="reopened in its section",
        instead=f"move it out of the section {task.section!r}, or edit the plan by hand",
    )


def block_task(text: str, task_id: str, reason: str, needs: str = "") -> str:
    """Mark a task as blocked: the tag ``[BLOCKED]``, and below it the reason.

    The tag is inserted before the text unless the task is blocked already. The lines
    ``- Blocked by:`` and ``- Needs:`` become the first ones nested in the task, unless the plan has
    them; older ones stay below them. White space is folded, and an empty value gives no line. A row
    of a table, which has no nested lines, gets the reason in its tag: ``[BLOCKED: reason]``, and so
    does a task below which no line would be parsed as intended. If the task is done or skipped, the
    text is unchanged.
    """
    plan, task = find_task(text, task_id)
    if task.state in {TaskState.DONE, TaskState.SKIPPED}:
        return text
    blocked_by, needed = as_single_line(reason), as_single_line(needs)
    lines = lines_in(text)
    shown = blocked_by or needed
    fields = []
    if blocked_by and blocked_by != task.blocked_by:
        fields.append(f"Blocked by: {blocked_by}")
    if needed and not _needs_already(lines, task, needed):
        fields.append(f"Needs: {needed}")
    is_row = task.kind is TaskKind.ROW
    is_known = not shown or task.blocked_by == _reason_in_tag(shown)
    if is_row and task.state is TaskState.BLOCKED and is_known:
        return text
    below = [] if is_row or not fields else [add_nested_items(text, lines, task, fields)]
    ways = [] if is_row else ([*changes, *below] for changes in block_proposals(text, task))
    proposals = (
        apply_changes(text, changes)
        for changes in chain(ways, inline_block_proposals(text, task, shown))
    )
    return first_valid_proposal(
        text,
        plan,
        task,
        proposals,
        lambda now: now.state is TaskState.BLOCKED and bool(now.blocked_by or not shown),
        doing="blocked",
    )


def unblock_task(text: str, task_id: str) -> str:
    """Unblock a task: remove the state in its box, its tag and the lines with the reason.

    A reason with nested lines stays, because it has become a record. If the task is not blocked,
    the text is unchanged.
    """
    plan, task = find_task(text, task_id)
    if task.state is not TaskState.BLOCKED:
        return text
    below = cut_fields(text, lines_in(text), plan, task, ("blocked by", "needs"))
    proposals = (
        apply_changes(text, [*changes, *below]) for changes in unblock_proposals(text, task)
    )
    return first_valid_proposal(
        text,
        plan,
        task,
        proposals,
        lambda now: now.state is not TaskState.BLOCKED,
        doing="unblocked",
    )


def add_task_note(text: str, task_id: str, note: str) -> str:
    """Add a note below a task and its earlier notes, as a list item of one line.

    White space is folded. ``Note:`` is prepended to a text that would be parsed as something else,
    such as ``[ ] more`` or ``Needs: …``. In a row of a table it is written into the column for
    notes, and refused without one. An empty note leaves the text unchanged.
    """
    plan, task = find_task(text, task_id)
    words = as_single_line(note)
    if not words:
        return text
    lines = lines_in(text)
    if task.kind is TaskKind.ROW:
        written = add_note(row_edit(lines, task), words)
        ways = [_require_column(written, task, "a note", "Notes")]
    else:
        ways = [
            [add_nested_items(text, lines, task, [way], is_last=is_last)]
            for way in (words, f"Note: {words}")
            for is_last in (True, False)
        ]
    proposals = (apply_changes(text, changes) for changes in ways)
    return first_valid_proposal(
        text, plan, task, proposals, lambda now: now.blocked_by == task.blocked_by, doing="noted at"
    )


def attach_commit(text: str, task_id: str, commit: str) -> str:
    """Record a commit of a task: ``- Commit: abc1234`` below it.

    See docs/rules.md#specifications.

    If the task names the commit already, the text is unchanged; another one is added above it. In a
    row of a table it is written into the column for commits, and refused without one. Also raises
    RalphError for an invalid hash.
    """
    plan, task = find_task(text, task_id)
    require_hash(commit)
    lines = lines_in(text)
    if task.kind is TaskKind.ROW:
        row = row_edit(lines, task)
        if any(_is_same(commit, known) for known in commits_in(row)):
            return text
        changes = _require_column(add_commit(row, commit), task, "a commit", "Commit")
    elif names_commit([line for _, line in lines[task.line + 1 : task.end_line + 1]], commit):
        return text
    else:
        changes = [add_nested_items(text, lines, task, [f"Commit: {commit}"])]
    proposals = [apply_changes(text, changes)]
    return first_valid_proposal(
        text, plan, task, proposals, lambda now: now.state is task.state, doing="given a commit"
    )


def require_hash(commit: str) -> None:
    """Raise RalphError unless this is the hash of a commit, short or whole."""
    if _HASH.fullmatch(commit) is None:
        raise RalphError(
            f"{commit!r} is not a commit hash; give 4 to 64 hexadecimal digits, as printed by: "
            "git rev-parse --short HEAD"
        )


def names_commit(lines: Sequence[str], commit: str = "") -> bool:
    """Whether one of the lines is ``Commit: …``, of this one or of any."""
    found = (_COMMIT.fullmatch(item_text(line)) for line in lines)
    return any(one is not None and _is_same(commit, one[1]) for one in found)


_HASH = re.compile(r"[0-9a-fA-F]{4,64}")
_COMMIT = re.compile(r"[*_]{0,2}Commit[*_]{0,2}:[*_]{0,2}\s*`?([0-9a-zA-Z]+)`?\s*", re.IGNORECASE)


def _is_same(commit: str, known: str) -> bool:
    return known.startswith(commit) or commit.startswith(known)


def _needs_already(lines: Lines, task: Task, needs: str) -> bool:
    """Whether a line in the task has exactly this need."""
    inside = (line for _, line in lines[task.line + 1 : task.end_line + 1])
    return any(read_field(item_text(line)) == ("needs", needs) for line in inside)


def _require_column(
    changes: list[TextChange] | None, task: Task, what: str, head: str
) -> list[TextChange]:
    if changes is None:
        raise RalphError(
            f"the task {task.id} on line {task.line + 1} of the plan is a table row, and the "
            f"table has no column for {what}; add one with the heading {head}"
        )
    return changes
