"""Scanner of Markdown: finds list items by hand, line by line, each character considered once.

It covers the part of Markdown that plans use: headings, list items and how they nest, boxes, and
the fences and comments in which boxes do not count. The blocks are those of CommonMark, with three
liberties, because a task that is missed ends a run too early:

- an item is nested when it is two columns deeper than its parent's marker, also below ``1.``;
- an item far too deep is nested all the same, unless a blank line makes it indented code;
- a line such as ``Blocked by:`` begins a new paragraph.

A fence or a comment ends with the item around it, so one forgotten end cannot hide the rest of the
plan. Whether an item is a task is decided by ``task_rules``.

A text is scanned one block at a time. A block begins where nothing before it matters but the
headings: at an item with a box that is not indented, or at a heading, outside fences and comments.
So each is scanned independently with positions relative to its beginning, and after a keystroke
only the changed blocks are scanned again.
"""

from __future__ import annotations

import re
from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from operator import attrgetter
from typing import NamedTuple

from ralph_ls.core.markdown_fences import CODE_INDENT, DOCUMENTS, opens_inside
from ralph_ls.core.plan.parse.heading_items import heading_item, may_be_task, says_state
from ralph_ls.core.plan.parse.headings import (
    NAMED_TASKS,
    NO_TASKS,
    UNITS,
    HeadingSection,
    SectionKind,
    below_label,
    names_criteria,
    names_tasks,
    open_document,
    open_section,
)
from ralph_ls.core.plan.parse.items import (
    CRITERIA_FIELD,
    ItemField,
    ItemRole,
    PlanItemDraft,
    add_criterion,
    attach_item,
    describes_task,
    field_label,
    note_field,
    read_field,
    read_state_line,
    read_status_part,
)
from ralph_ls.core.plan.parse.lines import (
    BlockFinding,
    ListMarks,
    MarkdownLine,
    OpenBlock,
    advance_column,
    begins_like_box,
    ends_block,
    find_marks,
    heading_level,
    is_thematic_break,
    open_block,
    opens_block,
    quotes_ticked_box,
    star_length,
    unclosed_finding,
)
from ralph_ls.core.plan.parse.table_rows import EMPTY_CELLS, TableColumns, read_columns, row_item
from ralph_ls.core.plan.parse.titles import fold_whitespace, strip_comments
from ralph_ls.core.plan.parse.words.section_words import ALL_DONE, PARTS_DONE, STEP_NAME, TASK_NAME
from ralph_ls.core.plan.parse.words.state_words import ITEM_SIGN, box_mark, read_state_word
from ralph_ls.core.plan.parse.words.status_values import (
    read_status,
    says_all_done,
    says_partly_done,
)
from ralph_ls.core.plan.parse.words.title_states import bold_remark, opening_sign
from ralph_ls.protocol.task_words import TaskState


class LineKind(Enum):
    """Why a line that is no item is noted: something may be reported of it."""

    LOOSE = auto()
    """It begins with a box."""
    QUOTED = auto()
    """It is a ticked box in a quote."""
    CODE = auto()
    """It is an open box below a heading, both in a code block that may be a part of the plan."""
    NAMED = auto()
    """It is prose, and begins with the name of a task or a step."""
    CLAIM = auto()
    """It says that all tasks are done."""
    STATUS = auto()
    """It is the status of the document, and says that a part of it is done; or a sentence does."""


class NotedLine(NamedTuple):
    """One such line, counted from the beginning of its block."""

    kind: LineKind
    line: int
    section: HeadingSection


@dataclass(frozen=True, slots=True, kw_only=True)
class ScannedBlock:
    """The items and findings of a block outside fences and comments, in text order."""

    items: tuple[PlanItemDraft, ...]
    findings: tuple[BlockFinding, ...]
    n_prose: int
    """The number of its paragraphs outside lists and tables."""
    noted: tuple[NotedLine, ...]
    sections: tuple[HeadingSection, ...]
    """The headings that are open at its end, outermost first."""
    length: int


def scan_block(
    text: str,
    start: int = 0,
    *,
    sections: tuple[HeadingSection, ...] = (),
    optional_sections: Sequence[str] = (),
    end: int | None = None,
) -> ScannedBlock:
    """Scan from the beginning of a block to where the next one begins, or to ``end``.

    Total, and linear in the length of what is scanned. ``sections`` are the headings open there.
    """
    state = _Scan(sections or (open_document(),), optional_sections)
    stop = len(text) if end is None else end
    position = start
    for number, found in enumerate(_LINE.finditer(text, start, stop)):
        position = found.start()
        if end is None and position > start and state.ends_before(text, position):
            break
        state.take(number, position - start, found[1], is_first=position == 0)
        position = found.end()
    items, findings = state.finish()
    return ScannedBlock(
        items=items,
        findings=findings,
        n_prose=state.n_prose,
        noted=tuple(state.noted),
        sections=tuple(state.sections),
        length=position - start,
    )


def begins_like_name(text: str, *, is_paragraph: bool = False) -> bool:
    """Whether a text begins with a bold name such as ``**Phase 1: …**`` or ``**T00.1 — …**``.

    A paragraph also with ``Phase 1 — …``.
    """
    if not text.startswith("**"):
        return is_paragraph and _PLAIN_NAME.match(text) is not None
    if _BOLD_ID.match(text) is not None:
        return True
    words = text.strip("*_ ").lower()
    return STEP_NAME.match(words) is not None or TASK_NAME.match(words) is not None


_PLAIN_NAME = re.compile(
    r"(?:Phase|Step|Stage|Milestone|Task|Sprint|Etapa|Étape|Paso|Passo|Schritt|Fase|Этап|Шаг"
    r"|Задача|Etap|Krok|Stap) [0-9]{1,2}(?:\.[0-9]+)?(?:\s*[:\u2013\u2014]|\s+-\s)\s*\w"
    r"|第[一二三四五六七八九十0-9]+[阶階步]\w?\s*[\uff1a:]"
)
"""A paragraph that begins like a phase or a task, without marks."""
_BOLD_ID = re.compile(r"\*\*[A-Z]{1,4}-?[0-9]+(?:\.[0-9]+)*[ :.)\u2013\u2014-]+\w")


def begins_block(text: str, position: int) -> bool:
    """Whether the line that begins here begins a block, if it is in no fence or comment."""
    return _BLOCK_START.match(text, position) is not None


_LINE = re.compile(r"([^\r\n]*)(\r\n?|\n|)")
_BLOCK_START = re.compile(
    r"(?:[-*+]|[0-9]{1,9}[.)])[ \t]+\[[ xX~!-]\][ \t]|#{1,6}(?:[ \t]|[\r\n]|\Z)"
)
_ITEM_FIRST = frozenset("-*+0123456789[")
_PROSE_FIRST = frozenset("0123456789[")
_FIRST_NUMBERS = ("1.", "1)", "0.", "0)")
_MARKS = re.compile(r"[*`]|~~")
_LABEL = re.compile(r"\*\*([^*]{1,60})\*\*:?[ \t]*")
"""A line that is one: ``**Tasks:**``."""
_LABEL_BEFORE = re.compile(r"\*\*([^*:]{1,60})(?::\*\*|\*\*:)")
"""One with words behind it."""
_NUMBERED_ROW = re.compile(r"\|?[ \t*`]*[A-Z]{0,3}-?[0-9]+(?:\.[0-9]+)*[a-z.)]?[ \t*`]*\|")
_PART = re.compile(
    r"\[(Overview|Types|Files|Functions|Classes|Dependencies|Testing|Implementation Order)\]\s*"
)
"""A heading of Cline's ``implementation_plan.md``."""
_ANNOUNCING = (":", "：")  # noqa: RUF001


def _plain(title: str) -> str:
    """The title of a heading without comments and marks."""
    return fold_whitespace(_MARKS.sub("", strip_comments(title)))


def _field_in(text: str) -> ItemField | None:
    found = read_field(text)
    if found is None and (part := read_status_part(text)) is not None:
        return ItemField("status", text[slice(*part)])
    return found


def _state_first(text: str, *, is_first: bool) -> ItemField | None:
    """The state in bold that a paragraph begins with, or that it is: ``*(completed)*``.

    Further down it needs a sign; a label such as ``Done:`` is none.
    """
    if text.rstrip(" \t*_").endswith(_ANNOUNCING) or not (is_first or opening_sign(text)):
        return None
    found = _ONLY_STATE.fullmatch(text) or (_BOLD_FIRST.match(text) if is_first else None)
    state = None if found is None else read_state_word(found[1])
    is_open = state in {None, TaskState.TODO}
    return None if found is None or is_open else ItemField("status", found[1])


_ONLY_STATE = re.compile(
    rf"[*_(\[]{{0,3}}((?:{ITEM_SIGN.pattern}[*_ ]*)?[*_(\[]{{0,3}}"
    r"[^\s*_(\[\]()][^*_\[\]()]{1,40}?)[*_)\].! ]*"
)
_BOLD_FIRST = re.compile(r"\*\*([^*]{3,40}?)(?:[.!]\*\*|\*\*[.!]?\s*\Z)")


def _is_among_tasks(heading: PlanItemDraft) -> bool:
    around = heading.section.parent
    return around is not None and around.kind is SectionKind.TASKS and not around.is_title


class _Scan:
    """The state of the scan: open items, open headings, and the kind of the last line."""

    __slots__ = (
        "before_lone",
        "below",
        "below_line",
        "block",
        "code_column",
        "columns",
        "findings",
        "frames",
        "has_states",
        "heading",
        "heading_line",
        "is_divided",
        "is_for_tasks",
        "items",
        "label",
        "last_line",
        "lone_line",
        "n_odd",
        "n_prose",
        "n_stated",
        "noted",
        "optional_sections",
        "paragraph",
        "paragraph_line",
        "sections",
        "unclear",
    )

    def __init__(
        self, sections: Sequence[HeadingSection], optional_sections: Sequence[str]
    ) -> None:
        self.optional_sections = optional_sections
        self.items: list[PlanItemDraft] = []
        self.findings: list[BlockFinding] = []
        self.n_prose = 0
        """The number of its paragraphs outside lists and tables."""
        self.noted: list[NotedLine] = []
        self.frames: list[PlanItemDraft] = []
        """The items that are still open, outermost first."""
        self.sections = list(sections)
        """The open headings, outermost first, each of a deeper level."""
        self.block: OpenBlock | None = None
        self.code_column: int | None = None
        """The column from which lines are indented code, while they are."""
        self.last_line = -1
        """The last line that was not blank."""
        self.paragraph_line = -2
        """The last line that the next line could continue."""
        self.lone_line: MarkdownLine | None = None
        """The last paragraph of one line outside lists: a rule below it makes it a heading."""
        self.before_lone = -1
        """The last line before that one that was not blank."""
        self.paragraph = ""
        """The last line of prose outside lists."""
        self.columns: TableColumns | None = None
        """Those of the table that is open."""
        self.has_states = True
        """Whether it has a column for states."""
        self.n_stated = self.n_odd = 0
        """The numbers of its rows with a known state, and with an unknown word for one."""
        self.unclear: list[PlanItemDraft] = []
        """Those with an unknown one."""
        self.heading: PlanItemDraft | None = None
        """The heading above the lines, if its words allow that it is a task."""
        self.heading_line = -2
        """The line of the last heading."""
        self.is_for_tasks: bool | None = None
        """Whether the last label in the section says that it holds tasks."""
        self.label = ""
        """The last line of prose, if it announces a list."""
        self.below: HeadingSection | None = None
        """The section of what is below it, if that is no part of the heading's."""
        self.below_line = -2
        """The line of that label."""
        self.is_divided = False
        """Whether labels divide what is below the one for criteria."""

    def ends_before(self, text: str, position: int) -> bool:
        """Whether a block begins here: a fence or a comment continues only outside items.

        Boxes that are criteria of a heading are in its block.
        """
        if self.block is not None and self.block.threshold == 0:
            return False
        if not begins_block(text, position):
            return False
        if not text.startswith("#", position):
            return not (self.below or self.takes_boxes or self._has_label())
        line = None if self.heading is None else _LINE.match(text, position)
        if line is None or self._state_of_heading(line[1], heading_level(line[1])) is not None:
            return line is None
        return not self._is_label(line[1], heading_level(line[1]))

    def _state_of_heading(self, line: str, level: int) -> ItemField | None:
        """The state that a heading only gives to the heading above it: ``### Status: done``."""
        if self.heading is None or level <= self.heading.section.level:
            return None
        found = read_field(line[level:].strip(" \t#"))
        is_status = found is not None and found.name == "status"
        return found if is_status and found and read_status(found.value) is not None else None

    def _is_label(self, line: str, level: int) -> bool:
        """Whether a heading only announces the criteria of the heading above it."""
        heading = self.heading
        if heading is None or level <= heading.section.level:
            return False
        if not says_state(heading) and heading.section.name not in NAMED_TASKS:
            return False
        return names_criteria(line[level:].strip(" \t#"))

    @property
    def takes_boxes(self) -> bool:
        """Whether boxes are criteria of the heading, behind a label for them.

        It has a state, or is a part of the work with a table of its tasks.
        """
        heading = self.heading
        if heading is None or not heading.takes_criteria:
            return False
        is_divided = heading.section.name is not None and heading.n_rows > 1
        return says_state(heading) or is_divided

    def _has_label(self) -> bool:
        """Whether boxes may be criteria of the heading, behind a label for them, by its name.

        Whether they are depends on the boxes of the whole plan.
        """
        heading = self.heading
        return heading is not None and heading.takes_criteria and heading.section.name in UNITS

    def take(self, number: int, start: int, text: str, *, is_first: bool) -> None:
        """Take the next line."""
        bom = 1 if is_first and text.startswith("\ufeff") else 0
        stripped = text[bom:].lstrip(" \t")
        if not stripped:
            return
        column = advance_column(0, text[bom : len(text) - len(stripped)])
        line = MarkdownLine(number, start, text, column, stripped)
        if not self._continues_block(line):
            if self._is_code(line):
                self._note_box(line)
            else:
                self._take_text(line)
        self.last_line = number

    def finish(self) -> tuple[tuple[PlanItemDraft, ...], tuple[BlockFinding, ...]]:
        """Close what is still open."""
        if self.block is not None:
            self.findings.append(unclosed_finding(self.block))
        self._close_items(-2)
        self._close_table()
        self._close_heading(self.last_line)
        return tuple(self.items), tuple(self.findings)

    def _continues_block(self, line: MarkdownLine) -> bool:
        """Whether the line belongs to the open fence or comment, which is closed if it ends.

        An end may be further left than the item it was opened in; any other line there ends
                the item, and the block with it.
        """
        block = self.block
        if block is None:
            return False
        if block.language and opens_inside(block.mark, block.language, line.stripped):
            self.block = replace(block, n_inner=block.n_inner + 1)
        elif ends_block(block, line):
            self.block = replace(block, n_inner=block.n_inner - 1) if block.n_inner else None
        elif line.column < block.threshold:
            self.findings.append(unclosed_finding(block))
            self.block = None
            return False
        else:
            self._note_code(block, line)
        return True

    def _note_code(self, block: OpenBlock, line: MarkdownLine) -> None:
        """Note an open box where the block may be no code: a fence in a fence ended too early.

        Or the whole plan is in a fence.
        """
        is_whole = block.language in DOCUMENTS and block.line == 0 and len(self.sections) == 1
        may_be_plan = block.threshold == 0 and (block.language == "" or is_whole)
        if may_be_plan and heading_level(line.stripped):
            self.block = replace(block, is_document=True)
        elif block.is_document:
            marks = find_marks(line.text)
            if marks is not None and marks.box is not None and line.text[slice(*marks.box)] == " ":
                self._note(LineKind.CODE, line)

    def _is_code(self, line: MarkdownLine) -> bool:
        """Whether the line is indented code, in which boxes do not count."""
        if self.code_column is not None:
            if line.column >= self.code_column:
                return True
            self.code_column = None
        if self.frames:
            if self.last_line == line.number - 1:
                return False
            self._close_items(line.column)
            content = self.frames[-1].content if self.frames else line.column
        else:
            content = line.column if self.paragraph_line == line.number - 1 else 0
        if line.column < content + CODE_INDENT or self._is_list_below_heading(line):
            return False
        self.code_column = content + CODE_INDENT
        return True

    def _is_list_below_heading(self, line: MarkdownLine) -> bool:
        """Whether an indented line is the first item of a list, which writers indent like that."""
        is_below = self.heading_line == line.number - 1 and not self.frames
        return is_below and find_marks(line.text) is not None

    def _take_text(self, line: MarkdownLine) -> None:
        """Take a line outside blocks by the kind that its first character gives."""
        first = line.stripped[0]
        continues = self.paragraph_line == line.number - 1
        if continues and not self.frames and line.column >= CODE_INDENT:
            self._take_paragraph(line, continues=True)
        elif first == "[" and not line.column and (part := _PART.fullmatch(line.stripped)):
            self._close_items(line.column)
            self._close_heading(self.last_line)
            self._enter_section(level=2, title=part[1])
        elif first in _ITEM_FIRST and (marks := self._find_item(line, continues=continues)):
            self._take_item(line, marks)
        elif first == "#" and (level := heading_level(line.stripped)):
            self._take_heading(line, level)
        elif first in "`~<" and opens_block(line.stripped):
            self._close_items(line.column)
            self._open_block(line, line.stripped, line.column)
        elif first == ">":
            self._take_quote(line)
        elif first in "=-" and continues and self._turns_heading(line):
            pass
        elif is_thematic_break(line.stripped):
            self._take_break(line)
        else:
            self._take_paragraph(line, continues=continues)

    def _take_quote(self, line: MarkdownLine) -> None:
        """Take a quote, in which nothing is a task; one below the title may have its status."""
        self._close_items(line.column)
        if not self.frames:
            self._note_box(line)
            if quotes_ticked_box(line.stripped):
                self._note(LineKind.QUOTED, line)
            self._update_title(line)
            if self.heading is not None and (found := _field_in(line.stripped.lstrip("> \t"))):
                note_field(self.heading, found)

    def _take_break(self, line: MarkdownLine) -> None:
        """Take a rule: a status below it is that of the document, not of the last heading."""
        self._close_items(line.column)
        if not self.frames:
            self._close_heading(self.last_line)

    def _find_item(self, line: MarkdownLine, *, continues: bool) -> ListMarks | None:
        """Find an item; as in CommonMark, only ``1.`` or one with a box interrupts a paragraph."""
        marks = find_marks(line.text)
        if marks is None or self.frames or not continues:
            return marks
        if marks.box is not None:
            return marks
        is_prose = line.stripped[0] in _PROSE_FIRST and not line.stripped.startswith(_FIRST_NUMBERS)
        return None if is_prose else marks

    def _take_item(self, line: MarkdownLine, marks: ListMarks) -> None:
        """Take the item of a line; there are several where items begin inside items."""
        sibling = self.frames[-1] if self.frames else None
        self._close_items(line.column)
        if sibling is not None and sibling.is_bare_label and sibling.column == line.column:
            self.frames[-1].takes_criteria = True
        content = line.column
        for begin, after in zip(marks.starts[:-1], marks.contents[:-1], strict=True):
            column, content = content, advance_column(content, line.text[begin:after])
            self._open_item(line, begin, column=column, content=content)
        column, begin = content, marks.starts[-1]
        content = advance_column(content, line.text[begin : marks.contents[-1]])
        shown = self.sections[-1].with_signs(line.text)
        box = None if marks.box is None else box_mark(shown[slice(*marks.box)])
        text = (shown if marks.box is None else line.text)[marks.text :]
        self._open_item(
            line, begin, column=column, content=content, box=box, mark=marks.box, text=text
        )
        if marks.box is not None:
            self.frames[-1].is_optional = star_length(line.text, marks.box) > 0
        item = self.frames[-1]
        if item.parent is None:
            self._add_to_heading(text, item)
        else:
            item.is_labelled = item.parent.is_labelled
            if item.parent.parent is None and item.parent.role is ItemRole.LABEL:
                add_criterion(self.heading, item)
        if box is None and opens_block(text):
            self._open_block(line, text, content)
        elif text or box is not None:
            self.paragraph_line = line.number

    def _open_item(
        self,
        line: MarkdownLine,
        begin: int,
        *,
        column: int,
        content: int,
        box: str | None = None,
        mark: tuple[int, int] | None = None,
        text: str = "",
    ) -> None:
        item = PlanItemDraft(
            line=line.number,
            start=line.start,
            end=line.start + len(line.text),
            column=column,
            content=content,
            is_numbered=line.text[begin].isdigit(),
            box=box,
            mark=mark,
            text=text,
            section=self._section_of_item(),
            parent=self.frames[-1] if self.frames else None,
            is_for_tasks=self.is_for_tasks,
            label=self.label,
        )
        attach_item(item)
        self.items.append(item)
        self.frames.append(item)

    def _section_of_item(self) -> HeadingSection:
        """The section of the next item: what is nested in a label may be criteria or the like."""
        if not self.frames:
            return self.below or self.sections[-1]
        around = self.frames[-1]
        label = around.text.strip("*_ ")
        is_label = around.box is None and label.endswith(_ANNOUNCING)
        if not is_label or around.section.name in UNITS:
            return around.section
        return below_label(around.section, label) or around.section

    def _take_heading(self, line: MarkdownLine, level: int) -> None:
        """Take a heading; one that is indented into an item is part of that item."""
        self._close_items(line.column)
        if self.heading is not None and self._is_label(line.stripped, level):
            self.heading.takes_criteria = True
            self.is_for_tasks, self.label, self.below, self.is_divided = None, "", None, False
        elif self.heading and (found := self._state_of_heading(line.stripped, level)):
            note_field(self.heading, found)
        elif not self.frames:
            title = line.stripped[level:].strip(" \t")
            bare = title.rstrip("#")
            has_closing = not bare or bare.endswith((" ", "\t"))
            self._close_heading(self.last_line)
            self.heading_line = line.number
            if ALL_DONE.fullmatch(title):
                self._note(LineKind.CLAIM, line)
            self._enter_section(level=level, title=bare.rstrip(" \t") if has_closing else title)
            if self.sections[-1].may_be_task:
                self._open_heading(line, bare.rstrip(" \t") if has_closing else title)

    def _open_heading(self, line: MarkdownLine, title: str) -> None:
        """Record a heading that may be a task, perhaps by a state in a line below."""
        self.heading = heading_item(line, title, self.sections[-1])
        self.items.append(self.heading)

    def _add_to_heading(self, text: str, item: PlanItemDraft) -> None:
        """Update the heading with an item directly below it."""
        if item.box is None:
            self._update_heading(text, item)
        elif self.takes_boxes:
            add_criterion(self.heading, item)
        else:
            item.is_labelled = self._has_label()

    def _update_heading(self, text: str, item: PlanItemDraft | None = None) -> None:
        """Update the heading with the state or criterion in a line or an item below it."""
        heading = self.heading
        if heading is None:
            return
        found = _field_in(text) or read_state_line(text)
        if found is None and item is None:
            found = _state_first(text, is_first=self.last_line == self.heading_line)
        if found is None and item is None and names_criteria(self.label):
            found = ItemField(CRITERIA_FIELD, "")
        if _is_among_tasks(heading):
            self._describe(heading, text)
        if found is None:
            heading.takes_criteria = heading.takes_criteria and item is not None
            if item is not None and heading.takes_criteria and may_be_task(heading):
                add_criterion(heading, item)
            return
        heading.takes_criteria = False
        note_field(heading, found)

    def _update_title(self, line: MarkdownLine) -> None:
        """Take a status below the title as that of the whole document, if it is done."""
        section = self.sections[-1]
        text = line.stripped.lstrip("> \t")
        if not section.is_title or self.items:
            return
        found = _field_in(text)
        if found is None or found.name != "status":
            if PARTS_DONE.search(text) is not None:
                self._note(LineKind.STATUS, line)
            return
        if says_all_done(found.value):
            self.sections[-1] = replace(section, is_done=True)
        elif says_partly_done(found.value):
            self._note(LineKind.STATUS, line)

    def _describe(self, heading: PlanItemDraft, text: str) -> None:
        """Note whether a line says that the heading is one task; some fields say so together."""
        label = field_label(text)
        if label is not None:
            heading.fields |= {label}
        if describes_task(text) or len(heading.fields) > 1:
            heading.is_described = True

    def _close_heading(self, last_line: int) -> None:
        if self.heading is not None:
            self.heading.end_line = last_line
            self.heading = None

    def _turns_heading(self, line: MarkdownLine) -> bool:
        """Take a line of ``=`` or ``-`` below a paragraph of one line: that was a heading."""
        bare = line.stripped.rstrip(" \t")
        if bare.strip(bare[0]) or self.frames or self.lone_line is None:
            return False
        self._close_heading(self.before_lone)
        prose = NotedLine(LineKind.NAMED, self.lone_line.number, self.sections[-1])
        self.noted = [one for one in self.noted if one != prose]
        self._enter_section(level=1 if bare[0] == "=" else 2, title=self.lone_line.stripped)
        return True

    def _take_paragraph(self, line: MarkdownLine, *, continues: bool) -> None:
        """Take a line of prose; fields and labels begin a paragraph, others may continue it."""
        self._note_box(line)
        found = read_field(line.stripped)
        begins = not continues or found is not None or line.stripped.rstrip().endswith(":")
        # A label ends the criteria of a heading, so that no task can be one.
        begins = begins or (self.takes_boxes and _LABEL.fullmatch(line.stripped) is not None)
        if begins:
            self._close_items(line.column)
        self.paragraph_line = line.number
        if not self.frames:
            self._take_prose(line, continues=continues)
            return
        owner = self.frames[-1]
        owner.is_bare_label = False
        if begins:
            owner.takes_criteria = False
        if found is not None:
            note_field(owner, found)

    def _note(self, kind: LineKind, line: MarkdownLine) -> None:
        self.noted.append(NotedLine(kind, line.number, self.sections[-1]))

    def _note_box(self, line: MarkdownLine) -> None:
        """Note an open box outside lists, where tasks may be."""
        section = self.sections[-1]
        if begins_like_box(line.stripped) and section.kind not in NO_TASKS:
            self._note(LineKind.LOOSE, line)

    def _take_prose(self, line: MarkdownLine, *, continues: bool) -> None:
        """Take a line outside lists: of a table, of a heading's fields, or of neither."""
        if not continues:
            self.lone_line, self.before_lone, self.columns = line, self.last_line, None
        else:
            self.lone_line = None
        self._take_label(line)
        self.n_prose += not continues and not self.label
        if begins_like_name(line.stripped, is_paragraph=not continues):
            self._note(LineKind.NAMED, line)
        if ALL_DONE.fullmatch(line.stripped):
            self._note(LineKind.CLAIM, line)
        if self.columns is not None:
            self._take_row(line, self.columns)
        elif continues:
            self.columns = read_columns(self.paragraph, line.text)
            self._close_table()
        self.paragraph = line.text
        if self.heading is None:
            self._update_title(line)
        self._update_heading(line.stripped)
        if self.takes_boxes or self._has_label():
            self.below, self.is_divided = None, False

    def _take_label(self, line: MarkdownLine) -> None:
        """Take what a line says of the list below it, if it is a label, or begins with one."""
        label = _LABEL.fullmatch(line.stripped)
        if label is not None:
            self.is_for_tasks = names_tasks(label[1])
        bare = line.stripped.strip("*_ \t")
        self.label = bare if label is not None or bare.endswith(_ANNOUNCING) else ""
        before = _LABEL_BEFORE.match(line.stripped)
        announced = self.label if before is None else before[1]
        below = below_label(self.sections[-1], announced) if announced else None
        # A label right behind that for criteria divides these, and so do those like it.
        is_behind = self.last_line == self.below_line or self.is_divided
        is_part = below is None and bool(announced) and is_behind and not names_tasks(announced)
        self.is_divided = is_part
        self.below = self.below if is_part else below
        self.below_line = line.number if self.below is not None else -2

    def _take_row(self, line: MarkdownLine, columns: TableColumns) -> None:
        row = row_item(line, columns, self.sections[-1])
        self.has_states = columns.state is not None
        is_unclear = row is not None and row.box is None and row.written_state is None
        is_plain = row is None or (is_unclear and not self.has_states and columns.part is None)
        if self.heading is not None and is_plain and columns.title is not None:
            self.heading.n_rows += _NUMBERED_ROW.match(line.stripped) is not None
        if row is not None and is_unclear:
            self.unclear.append(row)
            is_empty = row.mark is None or line.text[slice(*row.mark)] in EMPTY_CELLS
            self.n_odd += columns.state is not None and not is_empty
        elif row is not None:
            self.items.append(row)
            self.n_stated += 1

    def _close_table(self) -> None:
        """Rows with an unknown state are open where at least as many have a known one.

        Where states are beside numbers, all without one are open. Where no row has a state, those
        of a table of work may be tasks.
        """
        has_states = self.n_odd <= self.n_stated and (self.n_stated or self.has_states)
        n_planned = sum(row.is_planned for row in self.unclear)
        for row in self.unclear if has_states or n_planned > 1 else ():
            row.is_planned &= not has_states
            is_filed = row.section.kind is SectionKind.DONE
            row.written_state = TaskState.TODO if has_states and not is_filed else None
            if has_states or row.is_planned:
                insort(self.items, row, key=attrgetter("line"))
        self.unclear, self.n_stated, self.n_odd = [], 0, 0

    def _enter_section(self, *, level: int, title: str) -> None:
        self.is_for_tasks, self.label, self.below, self.is_divided = None, "", None, False
        is_first = len(self.sections) == 1
        while self.sections[-1].level >= level:
            self.sections.pop()
        remark = bold_remark(title) if "**" in title else None
        section = open_section(
            _plain(title),
            level,
            parent=self.sections[-1],
            optional_sections=self.optional_sections,
            is_first=is_first,
            bare=None if remark is None else _plain(title[: remark.start]),
            bold_state=None if remark is None else remark.state,
        )
        self.sections.append(section)

    def _open_block(self, line: MarkdownLine, stripped: str, column: int) -> None:
        inner = self.frames[-1] if self.frames else None
        self.block = open_block(
            stripped,
            line=line.number,
            column=max(column, inner.content if inner else 0),
            threshold=inner.threshold if inner else 0,
        )

    def _close_items(self, column: int) -> None:
        """Close the items that a line at this column does not belong to."""
        while self.frames and self.frames[-1].threshold > column:
            self.frames.pop().end_line = self.last_line
