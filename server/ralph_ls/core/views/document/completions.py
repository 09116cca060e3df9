"""Completions for a page: tags, boxes, tasks to wait for, front matter, file names, list items.

Each completion has the part of the line that it replaces and the text by which an editor filters.
Does not read the disk: the names of specifications are passed in.

A new line below a task begins another one of the same indentation and mark, with an open box and
the next number. A task without a title ends the list. Nothing is continued outside of tasks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from posixpath import dirname

from ralph_ls.core.plan.model import Plan, Task
from ralph_ls.core.plan.parse.lines import find_marks
from ralph_ls.core.plan.specs import FOLDER, SpecStatus
from ralph_ls.core.views.document.page import Page, PageBlockKind, PageKind
from ralph_ls.core.views.document.structure import task_detail
from ralph_ls.core.views.document.task_ids import naming_spans
from ralph_ls.core.views.model.words import one_line
from ralph_ls.protocol.task_words import SETTLED_STATES

MAX_COMPLETIONS = 200
"""Completions offered at once; the editor asks again as the user types."""

SHOWN_TITLE = 80


class CompletionKind(StrEnum):
    """Kind of a completion."""

    BOX = "box"
    TAG = "tag"
    KEY = "key"
    VALUE = "value"
    TASK = "task"
    SPEC = "spec"


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """One completion."""

    kind: CompletionKind
    label: str
    text: str
    """Replaces the line's characters from ``start`` to ``end``."""
    detail: str
    start: int
    end: int
    filter: str
    """Text to filter by, which begins with the replaced one."""
    settled: bool = False
    """The task is done or skipped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completions:
    """Completions, the most useful first."""

    items: tuple[Completion, ...] = ()
    is_complete: bool = True
    """False where completions were omitted that further typing may match."""


def completions_at(
    page: Page, line: int, column: int, *, plan: Plan, specs: Sequence[str]
) -> Completions:
    """Completions at a position, ``column`` in characters of the line. Total.

    ``plan`` has the tasks that can be waited for; ``specs`` are names within ``specs/``.
    """
    if not 0 <= line < len(page.outline.lines):
        return Completions()
    at = _At(page.outline.lines[line], line, column)
    block = page.outline.block_at(line)
    if block is not None and block.kind is not PageBlockKind.FRONT_MATTER:
        return Completions()
    if _is_in_front_matter(page, line):
        return Completions(items=tuple(_front_matter(page, at, specs)))
    found = [*_spec_paths(page, at, specs)]
    if not found and page.kind is PageKind.PLAN:
        found = [*_tasks(page, at, plan)] or [*_tags(at)]
    return _at_most(found, at)


_TAGS = (
    ("BLOCKED", "cannot be done now; say below what it needs"),
    ("HIGH PRIORITY", "before all others (P0)"),
    ("MEDIUM PRIORITY", "as usual (P1)"),
    ("LOW PRIORITY", "after all others (P2)"),
    ("BUG", "something that does not work"),
    ("IN PROGRESS", "someone is working on it"),
    ("DONE", "finished, for an item without a box"),
)
_BOXES = (
    ("[ ]", "open"),
    ("[x]", "done"),
    ("[~]", "in progress"),
    ("[!]", "blocked"),
    ("[-]", "skipped"),
)
_KEYS = (
    ("status", "active, implemented, obsolete or superseded-by"),
    ("created", "a date, as YYYY-MM-DD"),
    ("updated", "a date, as YYYY-MM-DD"),
    ("tags", "a list of words"),
    ("dependencies", "specifications that come first"),
    ("supersedes", "specifications that this one replaces"),
)
_STATUSES = {
    SpecStatus.ACTIVE: "still to be done",
    SpecStatus.IMPLEMENTED: "all its tasks are done",
    SpecStatus.OBSOLETE: "no longer wanted",
    SpecStatus.SUPERSEDED_BY: "replaced by another one",
}
_NAMING_KEYS = frozenset({"dependencies", "supersedes"})
_KEY_SO_FAR = re.compile(r"[\w-]*\Z")
_KEY = re.compile(r"([A-Za-z_][\w-]*)[ \t]*:")
_SEPARATOR = re.compile(r"[,;&+]|\band[ \t]", re.IGNORECASE)
_WHOLE_TAG = re.compile(r"\[[^\[\]]*\]")
_PATH_CHARACTER = re.compile(r"[\w./-]")


class _At:
    """A position in a line."""

    def __init__(self, text: str, line: int, column: int) -> None:
        self.text = text
        self.line = line
        self.column = min(max(column, 0), len(text))
        self.before = text[: self.column]

    def closed_at(self, bracket: str) -> int:
        """End of the replaced part: editors close a bracket as soon as it is opened."""
        return self.column + self.text.startswith(bracket, self.column)


def _at_most(found: Sequence[Completion], at: _At) -> Completions:
    if len(found) <= MAX_COMPLETIONS:
        return Completions(items=tuple(found))
    fitting = [
        one for one in found if at.text[one.start : at.column].casefold() in one.filter.casefold()
    ]
    return Completions(items=tuple(fitting[:MAX_COMPLETIONS]), is_complete=False)


# ----------------------------------------------------------------------------------- front matter


def _is_in_front_matter(page: Page, line: int) -> bool:
    """Whether a line is in front matter; unclosed front matter reaches to the first heading."""
    matter = page.outline.front_matter
    if page.kind is not PageKind.SPEC:
        return False
    if matter.is_there:
        return 0 < line < matter.end_line
    heads = page.outline.headings
    upto = heads[0].line if heads else len(page.outline.lines)
    return bool(matter.remarks) and 0 < line < upto


def _front_matter(page: Page, at: _At, specs: Sequence[str]) -> Iterator[Completion]:
    key = _KEY.match(at.before)
    if key is not None:
        yield from _values(page, at, key[1].lower(), key.end(), specs)
    elif at.before.lstrip().startswith("-"):
        begin = len(at.before) - len(at.before.lstrip()) + 1
        yield from _values(page, at, _key_above(page, at.line), begin, specs)
    elif _KEY_SO_FAR.match(at.before):
        there = {field.key for field in page.outline.front_matter.fields}
        for name, detail in _KEYS:
            if name not in there:
                colon = at.text.startswith(":", at.column)
                text = name if colon else f"{name}: "
                yield _completion(CompletionKind.KEY, name, text, detail, (0, at.column))


def _key_above(page: Page, line: int) -> str:
    """The key whose list an item belongs to; empty where there is none."""
    for above in reversed(page.outline.lines[1:line]):
        key = _KEY.match(above)
        if key is not None:
            return key[1].lower()
        if not above.lstrip().startswith("-"):
            break
    return ""


def _values(
    page: Page, at: _At, key: str, begin: int, specs: Sequence[str]
) -> Iterator[Completion]:
    """Values of a key; the replaced part begins after the last comma, bracket or quote."""
    start = max(begin, *(at.before.rfind(mark) + 1 for mark in "[],\"'"))
    typed = at.text[start : at.column]
    start += len(typed) - len(typed.lstrip())
    space = " " if at.before.endswith(":") and start == at.column else ""
    after_status = f"{SpecStatus.SUPERSEDED_BY} "
    if key == "status" and typed.lstrip().startswith(after_status):
        start += len(after_status)
        key = "supersedes"
    span = (start, at.column)
    if key == "status":
        for status, detail in _STATUSES.items():
            text = f"{space}{status.value}"
            yield _completion(CompletionKind.VALUE, status.value, text, detail, span)
    elif key in _NAMING_KEYS:
        # A bare name is relative to the specification.
        prefix = f"{FOLDER}/" if dirname(page.spec_name) else ""
        for shown in (f"{prefix}{name}" for name in specs if name != page.spec_name):
            yield _completion(CompletionKind.SPEC, shown, f"{space}{shown}", "", span)


# ------------------------------------------------------------------------------------------ plans


def _spec_paths(page: Page, at: _At, specs: Sequence[str]) -> Iterator[Completion]:
    """Names of specifications, once a path to one or the target of a link is begun."""
    start = at.column
    while start and _PATH_CHARACTER.match(at.before[start - 1]):
        start -= 1
    path = at.before[start:]
    is_target = at.before[:start].endswith("](")
    if not is_target and not path.startswith(f"{FOLDER}/"):
        return
    is_beside = page.kind in {PageKind.SPEC, PageKind.INDEX}
    up = "../" * page.name.count("/")
    for name in specs:
        # A Markdown link is relative to its file.
        shown = f"{up}{FOLDER}/{name}" if is_beside and is_target else f"{FOLDER}/{name}"
        if f"{FOLDER}/{name}" != page.name:
            yield _completion(CompletionKind.SPEC, shown, shown, "", (start, at.column))


def _tasks(page: Page, at: _At, plan: Plan) -> Iterator[Completion]:
    """Tasks that this one may wait for, open ones first, found by id or title."""
    own = page.plan.at_line(at.line)
    is_first_line = own is not None and own.line == at.line
    spans = naming_spans(at.text, is_task=is_first_line)
    span = next((one for one in spans if one[0] <= at.column <= one[1]), None)
    if span is None:
        return
    separators = list(_SEPARATOR.finditer(at.text, span[0], at.column))
    start = separators[-1].end() if separators else span[0]
    typed = at.text[start : at.column]
    start += len(typed) - len(typed.lstrip())
    space = " " if start == at.column and at.before[-1:] in {":", ",", ";"} else ""
    for task in _open_first(plan.tasks):
        if own is None or task.id != own.id:
            title = one_line(task.title, limit=SHOWN_TITLE)
            yield Completion(
                kind=CompletionKind.TASK,
                label=task.id,
                text=f"{space}{task.id}",
                detail=f"{title} ({task_detail(task)})",
                start=start,
                end=at.column,
                filter=f"{task.id} {title}",
                settled=task.state in SETTLED_STATES,
            )


def _open_first(tasks: Iterable[Task]) -> Iterator[Task]:
    settled: list[Task] = []
    for task in tasks:
        if task.state in SETTLED_STATES:
            settled.append(task)
        else:
            yield task
    yield from settled


def _tags(at: _At) -> Iterator[Completion]:
    """Tags at the beginning of a title, or a box where there is none yet."""
    marks = find_marks(at.text)
    if marks is None or at.column < marks.contents[-1]:
        return
    content = marks.contents[-1]
    is_in_box = marks.box is not None and at.column < marks.text
    begin = content if is_in_box or marks.box is None else marks.text
    start, has_bracket = _start_of_tag(at, begin)
    if _WHOLE_TAG.sub("", at.before[begin:start]).strip("* :\t"):
        # A part of the title precedes it.
        return
    typed = at.before[start + has_bracket :].upper()
    end = at.closed_at("]") if has_bracket else at.column
    space = "" if at.text.startswith(" ", end) else " "
    if start == content and (has_bracket or not (typed or at.text[marks.starts[-1]].isdigit())):
        for box, detail in _BOXES:
            yield _completion(CompletionKind.BOX, box, f"{box}{space}", detail, (start, end))
    if not is_in_box:
        yield from _tags_named(typed, (start, end), space, has_bracket=has_bracket)


def _tags_named(
    typed: str, span: tuple[int, int], space: str, *, has_bracket: bool
) -> Iterator[Completion]:
    """Those that contain what was typed in a bracket, or begin with what was typed without one."""
    for name, detail in _TAGS:
        if typed in name if has_bracket else name.startswith(typed):
            tag = f"[{name}]"
            found = _completion(CompletionKind.TAG, tag, f"{tag}{space}", detail, span)
            yield found if has_bracket else replace(found, filter=name)


def _start_of_tag(at: _At, begin: int) -> tuple[int, bool]:
    """Where the tag before the cursor begins, and whether it has its bracket already."""
    opening = at.before.rfind("[", begin)
    if opening >= 0 and "]" not in at.before[opening:]:
        return opening, True
    start = at.column
    while start > begin and at.before[start - 1].isalpha():
        start -= 1
    return start, False


def _completion(
    kind: CompletionKind, label: str, text: str, detail: str, replaced: tuple[int, int]
) -> Completion:
    start, end = replaced
    return Completion(
        kind=kind, label=label, text=text, detail=detail, start=start, end=end, filter=label
    )


# --------------------------------------------------------------------------------------- checklists


_ITEM = re.compile(r"(?P<indent>[ \t]*)(?P<mark>[-*+]|\d{1,9}[.)])(?P<gap>[ \t]+)\[.\](?P<rest>.*)")
_NEW = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])?[ \t]*")
"""What an editor may have put on the new line: an indentation, or the mark of a list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineEdit:
    """New text for a part of one line."""

    line: int
    """From 0."""
    start: int
    """In characters of the line."""
    end: int
    text: str


def continued(page: Page, line: int) -> LineEdit | None:
    """The edit after Enter has begun ``line``, from 0; None where nothing is to be done. Total."""
    lines = page.outline.lines
    if not 0 < line < len(lines):
        return None
    item = _ITEM.fullmatch(lines[line - 1])
    if item is None or page.outline.is_verbatim(line - 1):
        return None
    if not item["rest"].strip():
        is_empty = _NEW.fullmatch(lines[line]) is not None
        whole = LineEdit(line=line - 1, start=0, end=len(lines[line - 1]), text="")
        return whole if is_empty else None
    if all(task.line != line - 1 for task in page.plan.tasks):
        return None
    begun = _NEW.match(lines[line])
    end = 0 if begun is None else begun.end()
    if lines[line][end:].startswith("["):
        return None
    start = f"{item['indent']}{_next(item['mark'])}{item['gap']}[ ] "
    return LineEdit(line=line, start=0, end=end, text=start)


def _next(mark: str) -> str:
    return f"{int(mark[:-1]) + 1}{mark[-1]}" if mark[:-1].isdecimal() else mark
