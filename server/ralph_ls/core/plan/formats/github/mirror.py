"""Mirror: the Markdown file that shows the queue, with the marks that agents and users set in it.

Titles and criteria come from GitHub, states and notes from the file. The titles of strangers become
plain words: nothing in them is a mark, a tag or a dependency of the plan.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ralph_ls.core.plan.formats.github.issues import QueueIssue
from ralph_ls.core.plan.model import Task
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.plan.parse.titles import fold_whitespace
from ralph_ls.core.plurals import count_of
from ralph_ls.protocol.task_words import TaskState

LONGEST_TITLE = 200
MOST_CRITERIA = 50
SHOWN_IGNORED = 50

OPEN, DONE, IGNORED, LOCAL = "Open", "Done", "Not in the queue", "Only in this file"


@dataclass(frozen=True, slots=True, kw_only=True)
class IgnoredIssue:
    """An issue that is not in the queue."""

    number: int
    title: str
    why: str
    """In words that follow its name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueContent:
    """The queue as GitHub has it now."""

    title: str
    """``ada/invoice with the label ralph``."""
    issues: tuple[QueueIssue, ...] = ()
    """In the order in which they are taken."""
    waits: Mapping[int, tuple[int, ...]]
    """The open issues that each waits for."""
    ignored: tuple[IgnoredIssue, ...] = ()
    done: Mapping[int, str]
    """Titles of those that were finished here."""
    closed: Collection[int] = ()
    """Those of the file before that were closed on GitHub."""
    again: Collection[int] = ()
    """Those that somebody wants done again."""


def task_id(number: int) -> str:
    """The id of an issue's task; GitHub links it, too."""
    return f"GH-{number}"


def issue_number(task: str) -> int | None:
    """The number of the issue that is a task; None for any other task."""
    found = _TASK_ID.fullmatch(task)
    return None if found is None else int(found[1])


def in_order(issues: Sequence[QueueIssue]) -> tuple[QueueIssue, ...]:
    """By the priority that their labels name, then the oldest first."""
    return tuple(
        sorted(issues, key=lambda one: (priority_of(one.labels), one.created_at, one.number))
    )


def priority_of(labels: Sequence[str]) -> int:
    """0, 1 or 2, by labels such as ``P0``, ``priority: high`` and ``urgent``; 1 without one."""
    found = [rank for one in labels if (rank := _rank(one)) is not None]
    return min(found, default=1)


def needed_issues(body: str) -> tuple[int, ...]:
    """The issues that a text says it waits for: ``Blocked by #7``, and open boxes such as ``#8``.

    Only lines of that form count, so a number that is merely mentioned holds nothing.
    """
    found: list[int] = []
    for line in _prose(body):
        box = _PART.fullmatch(line)
        if box is not None:
            found += [int(box[1])] if box[1] else []
        elif waiting := _WAITS.match(line):
            found += [int(one) for one in re.findall(r"#([1-9]\d{0,9})", waiting[1])]
    return tuple(dict.fromkeys(found))


def criteria_of(body: str) -> tuple[tuple[bool, str], ...]:
    """The boxes of a text that name no issue: whether each is ticked, and its words."""
    boxes = (_BOX.fullmatch(line) for line in _prose(body) if _PART.fullmatch(line) is None)
    found = [(one[1] != " ", plain_words(one[2])) for one in boxes if one is not None]
    kept = {text: ticked for ticked, text in found if text}
    return tuple((ticked, text) for text, ticked in kept.items())[:MOST_CRITERIA]


def plain_words(text: str) -> str:
    """A text on one line in which nothing is a mark of a plan."""
    folded = fold_whitespace("".join(one if one.isprintable() else " " for one in text))
    folded = _RUN.sub(r"\1", folded)
    for mark, instead in _NEUTRAL:
        folded = folded.replace(mark, instead)
    folded = _KEYWORD.sub(r"\1 -", _STATE_AT_END.sub("( ", folded))
    cut = folded if len(folded) <= LONGEST_TITLE else f"{folded[: LONGEST_TITLE - 1].rstrip()}…"
    return fold_whitespace(cut)


def numbers_in(mirror: str) -> dict[int, Task]:
    """The tasks of a mirror that are issues."""
    tasks = parse_markdown(mirror).plan.tasks
    found = ((issue_number(one.id), one) for one in tasks if one.depth == 0)
    return {number: one for number, one in found if number is not None}


def criteria_in(mirror: str, number: int) -> tuple[str, ...]:
    """The criteria of an issue's task as the mirror has them: box, words and evidence."""
    task = numbers_in(mirror).get(number)
    return () if task is None else _entry(task, mirror.splitlines()).criteria


def write_mirror(before: str, content: QueueContent) -> str:
    """The text of the mirror, with the marks and notes of the one before."""
    lines, plan = before.splitlines(), parse_markdown(before).plan
    known = {
        number: _entry(one, lines)
        for one in plan.tasks
        if one.depth == 0 and (number := issue_number(one.id)) is not None
    }
    entries = {one.number: _merged(one, known.get(one.number), content) for one in content.issues}
    finished = _finished(entries, known, content)
    others = [
        "\n".join(lines[one.line : one.end_line + 1]).rstrip()
        for one in plan.tasks
        if one.depth == 0 and issue_number(one.id) is None
    ]
    sections = {
        OPEN: [_written(one) for number, one in entries.items() if number not in finished],
        DONE: [_written(one) for one in finished.values()],
        LOCAL: others,
    }
    parts = [f"# GitHub issues of {plain_words(content.title)}", _ABOUT]
    for name, blocks in sections.items():
        parts += [f"## {name}", "\n".join(blocks)] if blocks else []
    if content.ignored:
        parts += [f"## {IGNORED}", "\n".join(_ignored_lines(content.ignored))]
    return "\n\n".join(parts) + "\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    """A task of the mirror."""

    number: int
    title: str
    state: TaskState
    priority: int | None = None
    needs: tuple[int, ...] = ()
    criteria: tuple[str, ...] = ()
    """Box and words of each."""
    notes: tuple[str, ...] = ()
    """Other lines, as they are written."""


_ABOUT = (
    "Ralph writes this file from GitHub before each iteration, and keeps the marks and notes of "
    "its tasks. To change an issue, change it on GitHub."
)


def _entry(task: Task, lines: Sequence[str]) -> _Entry:
    criteria, notes = [], []
    for line in lines[task.line + 1 : task.end_line + 1]:
        if found := _CRITERION.fullmatch(line):
            criteria.append(found[1])
        elif line.strip() and _GENERATED.match(line) is None:
            notes.append(line.rstrip())
    is_held = task.state is TaskState.BLOCKED and _HELD.fullmatch(task.blocked_by or "")
    return _Entry(
        number=issue_number(task.id) or 0,
        title=task.title,
        state=TaskState.TODO if is_held else task.state,
        criteria=tuple(criteria),
        notes=tuple(notes),
    )


def _merged(issue: QueueIssue, known: _Entry | None, content: QueueContent) -> _Entry:
    is_again = issue.number in content.again
    known = None if is_again else known
    state = TaskState.TODO if known is None else known.state
    if issue.number in content.done:
        state = TaskState.DONE
    inside = {one.number for one in content.issues} - set(content.done)
    waits = content.waits.get(issue.number, ())
    outside = [one for one in waits if one not in inside and one not in content.done]
    notes = () if known is None else known.notes
    if outside and state in {TaskState.TODO, TaskState.IN_PROGRESS}:
        state = TaskState.BLOCKED
        notes = (f"  - Blocked by: {_names(outside)}, open and not in this queue", *notes)
    old = {} if known is None else {one[4:]: one for one in known.criteria}
    return _Entry(
        number=issue.number,
        title=plain_words(issue.title) or f"Issue {issue.number}",
        state=state,
        priority=priority_of(issue.labels),
        needs=tuple(one for one in waits if one in inside),
        criteria=tuple(
            _criterion(text, old, is_ticked=done) for done, text in criteria_of(issue.body)
        ),
        notes=notes,
    )


def _criterion(text: str, old: Mapping[str, str], *, is_ticked: bool) -> str:
    """The criterion with the mark and the evidence that it has in the file."""
    same = (line for words, line in old.items() if words == text or words.startswith(f"{text} ("))
    return next(same, f"[{'x' if is_ticked else ' '}] {text}")


def _finished(
    entries: Mapping[int, _Entry], known: Mapping[int, _Entry], content: QueueContent
) -> dict[int, _Entry]:
    """The tasks that are done, whether they are open on GitHub or not."""
    found = {number: one for number, one in entries.items() if one.state is TaskState.DONE}
    for number, one in known.items():
        if number not in entries and (number in content.closed or number in content.done):
            notes = one.notes
            if number not in content.done and one.state is not TaskState.DONE:
                notes = (*notes, "  - Closed on GitHub")
            found[number] = replace(one, state=TaskState.DONE, notes=notes)
    for number, title in content.done.items():
        if number not in found:
            name = plain_words(title) or f"Issue {number}"
            found[number] = _Entry(number=number, title=name, state=TaskState.DONE)
    return found


def _written(entry: _Entry) -> str:
    tag = "" if entry.priority is None else f"[P{entry.priority}] "
    lines = [f"- [{_MARKS[entry.state]}] **{task_id(entry.number)}** {tag}{entry.title}"]
    if entry.needs:
        lines.append(f"  - Depends on: {', '.join(map(task_id, entry.needs))}")
    if entry.criteria:
        lines += ["  - Acceptance criteria:", *(f"    - {one}" for one in entry.criteria)]
    return "\n".join([*lines, *entry.notes])


def _ignored_lines(ignored: Sequence[IgnoredIssue]) -> Iterator[str]:
    """Quoted, so that nothing in them is a task."""
    for one in ignored[:SHOWN_IGNORED]:
        yield f"> #{one.number} {plain_words(one.title)}: {one.why}  "
    if len(ignored) > SHOWN_IGNORED:
        yield f"> and {count_of(len(ignored) - SHOWN_IGNORED, 'more issue')}"


def _names(numbers: Sequence[int]) -> str:
    return ", ".join(f"#{one}" for one in numbers)


def _prose(body: str) -> Iterator[str]:
    """The lines of a text outside of fences and comments."""
    fence = ""
    for line in re.sub(r"<!--.*?(?:-->|\Z)", "", body, flags=re.DOTALL).splitlines():
        found = re.match(r"\s*(`{3,}|~{3,})", line)
        if found and not fence:
            fence = found[1]
        elif found and line.strip().startswith(fence):
            fence = ""
        elif not fence:
            yield line


def _rank(label: str) -> int | None:
    words = re.sub(r"[^a-z0-9]+", " ", label.casefold()).strip()
    words = re.sub(r"\b(priority|prio|severity|importance)\b", "", words).strip() or words
    is_named = words != re.sub(r"[^a-z0-9]+", " ", label.casefold()).strip()
    found = re.fullmatch(r"p ?([0-9])", words) or (
        re.fullmatch(r"([0-9])", words) if is_named else None
    )
    if found is not None:
        return min(int(found[1]), 2)
    return _ALWAYS.get(words, _NAMED.get(words) if is_named else None)


_ALWAYS = {"critical": 0, "urgent": 0, "blocker": 0}
_NAMED = {"high": 0, "highest": 0, "medium": 1, "normal": 1, "low": 2, "lowest": 2}
_MARKS = {
    TaskState.TODO: " ",
    TaskState.IN_PROGRESS: "~",
    TaskState.DONE: "x",
    TaskState.BLOCKED: "!",
    TaskState.SKIPPED: "-",
}
_NEUTRAL = (
    ("[", "("),
    ("]", ")"),
    ("<!--", "< !--"),
    ("-->", "-- >"),
    ("|", "/"),
)
_STATE_AT_END = re.compile(r"\((?=(?:BLOCKED|WIP|IN[ -])[^()]*\)\W*\Z)")
_RUN = re.compile(r"([~*_{}])\1+")
"""What is a mark when there are several of it, as in ``~~all~~`` and ``{{TASK}}``."""
_KEYWORD = re.compile(
    r"((?i:depends(?: on)?|depends_on|dependson|dependenc(?:y|ies)|after|blocked by|needs|status"
    r"|severity|(?:acceptance )?criteria|done when))\s*:"
)
_TASK_ID = re.compile(r"GH-([1-9]\d{0,9})")
_BOX = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])\s+\[([ xX])\]\s+(.+)")
_PART = re.compile(r"\s*[-*+]\s+\[(?:[xX]\]\s+#\d+|\s\]\s+#([1-9]\d{0,9}))\s*")
"""A box that stands for another issue; the number is that of an open one."""
_WAITS = re.compile(
    r"\s*(?:[-*+]\s+)?[*_]{0,2}(?i:blocked by|depends on|depends upon|waits for)[*_]{0,2}\s*:?"
    r"[*_]{0,2}\s*((?:#[1-9]\d{0,9})(?:(?:\s*,\s*|\s+and\s+|\s+)#[1-9]\d{0,9})*)\s*[.;]?\s*$"
)
_CRITERION = re.compile(r"    - (\[[ xX]\] .*)")
_GENERATED = re.compile(
    r"  - (?:Depends on: GH-|Acceptance criteria:$|Blocked by: #.* not in this queue$)"
)
_HELD = re.compile(r"#.*, open and not in this queue")
