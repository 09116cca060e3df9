"""Contradictions: headings and lines that say something else of a state than the tasks.

The tasks count. Of headings that are tasks themselves nothing is reported. The box of a task counts
more than a line ``Status: …`` below it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import TypeAlias

from ralph_ls.core.plan.model import GuessCause, TaskKind
from ralph_ls.core.plan.parse.blocks import PlacedBlock, PlanBlock
from ralph_ls.core.plan.parse.headings import HeadingSection, SectionKind, with_parents
from ralph_ls.core.plan.parse.items import PlanItemDraft
from ralph_ls.core.plan.parse.lines import TICKS
from ralph_ls.core.plan.parse.scanner import LineKind
from ralph_ls.core.plan.parse.task_rules import ParsedRow, PlanContext
from ralph_ls.core.plan.parse.titles import read_title
from ralph_ls.protocol.task_words import SETTLED_STATES, TaskState

_Found: TypeAlias = tuple[GuessCause, int, str]
"""With a line, and the title of the heading."""
_Stated: TypeAlias = Mapping[HeadingSection, tuple[int, TaskState]]
"""The line and the state of each heading that has one."""


def find_contradictions(placed: Sequence[PlacedBlock], context: PlanContext) -> Iterator[_Found]:
    """Open tasks below headings that are done, headings that are not without one, and claims."""
    yield from _unread_claims(placed)
    yield from _against_boxes(placed)
    stated = {
        section: (line, state)
        for reading, first, _ in reversed(placed)
        for section, line, state in _stated_in(reading.block, first, context)
    }
    if stated:
        yield from _open_below_done(placed, stated)
        yield from _done_below_open(placed, stated)


def _unread_claims(placed: Sequence[PlacedBlock]) -> Iterator[_Found]:
    """The lines that say that all tasks are done, or some, where the tasks say something else."""
    tally = {one for reading, _, _ in placed for one in reading.tally}
    causes: dict[LineKind, GuessCause] = {}
    if any(_is_open(one) for one in tally):
        causes[LineKind.CLAIM] = GuessCause.CLAIMS
        if all(state not in SETTLED_STATES for state, _ in tally):
            causes[LineKind.STATUS] = GuessCause.UNREAD_STATUS
    for reading, first, _ in placed if causes else ():
        for kind, line, _ in reading.block.noted:
            if kind in causes:
                yield causes[kind], first + line, ""


def _stated_in(
    block: PlanBlock, first: int, context: PlanContext
) -> Iterator[tuple[HeadingSection, int, TaskState]]:
    """The headings of a block that have a state, and the title, by a line below it, too."""
    section = block.leave[-1]
    if section.is_title and section.is_done:
        yield section, first, TaskState.DONE
    for item in block.items:
        if item.kind is TaskKind.HEADING and item.section not in context.headings:
            state = _state_in_heading(item)
            if state is not None:
                yield item.section, first + item.line, state


def _against_boxes(placed: Sequence[PlacedBlock]) -> Iterator[_Found]:
    """The tasks with a line ``Status: …`` that says that an open one is done, or a done one not."""
    for reading, first, _ in placed:
        items = [item for item in reading.block.items if _has_other_status(item)]
        tasks = {row.line for row in reading.guessable()} if items else ()
        for item in items:
            if item.line in tasks:
                yield GuessCause.STATUS_AGAINST_BOX, first + item.line, ""


def _has_other_status(item: PlanItemDraft) -> bool:
    if item.kind is not TaskKind.ITEM or item.box is None or item.written_state is None:
        return False
    if item.box in TICKS:
        return item.written_state not in SETTLED_STATES
    return not item.box and item.written_state is TaskState.DONE


def _is_open(task: tuple[TaskState, bool]) -> bool:
    state, is_optional = task
    return not (is_optional or state in SETTLED_STATES)


def _state_in_heading(heading: PlanItemDraft) -> TaskState | None:
    """The state of a heading, if it is neither decoration nor one of a list that it announces."""
    is_sure = heading.is_in_words or not (heading.is_signed or heading.is_coloured)
    if not is_sure or heading.text.endswith((":", "\uff1a")):
        return None
    if heading.box is not None:
        return TaskState.DONE if heading.box in TICKS else TaskState.TODO
    if heading.written_state is not None:
        return heading.written_state
    parts = read_title(heading.text)
    if parts.is_done or parts.is_struck:
        return TaskState.DONE
    return TaskState.IN_PROGRESS if parts.is_in_progress or parts.is_blocked else None


def _open_below_done(placed: Sequence[PlacedBlock], stated: _Stated) -> Iterator[_Found]:
    """The tasks, except optional ones, and those below ``Completed``, each of which is reported."""
    done = {section for section, (_, state) in stated.items() if state in SETTLED_STATES}
    for reading, first, _ in placed:
        if done.isdisjoint(_with_around(reading.open_sections())):
            continue
        for row in reading.rows():
            headings = [one for one in with_parents(row.section) if one in done]
            if headings and _is_required(row):
                yield GuessCause.OPEN_BELOW_DONE, first + row.line, headings[0].title


def _is_required(row: ParsedRow) -> bool:
    return _is_open((row.state, row.optional)) and row.section.kind is not SectionKind.DONE


def _done_below_open(placed: Sequence[PlacedBlock], stated: _Stated) -> Iterator[_Found]:
    with_tasks: set[HeadingSection] = set()
    with_open: set[HeadingSection] = set()
    for reading, _, _ in placed:
        with_tasks |= _with_around(reading.sections())
        with_open |= _with_around(reading.open_sections())
    for section, (line, state) in sorted(stated.items(), key=itemgetter(1)):
        if state not in SETTLED_STATES and section in with_tasks - with_open:
            yield GuessCause.DONE_BELOW_OPEN, line, section.title


def _with_around(sections: Iterator[HeadingSection]) -> set[HeadingSection]:
    return {one for section in sections for one in with_parents(section)}
