"""Headings that may be tasks, with the state that a heading gives: a box, a sign, a tag or words.

Whether a heading is a task is decided by ``task_rules``.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ralph_ls.core.plan.model import TaskKind
from ralph_ls.core.plan.parse.headings import UNITS, HeadingClass, HeadingSection
from ralph_ls.core.plan.parse.items import PlanItemDraft
from ralph_ls.core.plan.parse.lines import MarkdownLine
from ralph_ls.core.plan.parse.titles import without_half_bold
from ralph_ls.core.plan.parse.words.section_words import NUMBERED
from ralph_ls.core.plan.parse.words.state_words import (
    CIRCLES,
    OPEN_BOX_SIGNS,
    box_mark,
    find_sign,
    is_of_one_stage,
    read_state,
)
from ralph_ls.core.plan.parse.words.title_states import (
    StateRemark,
    bold_remark,
    closing_remark,
    find_remark,
    find_sign_with_words,
    opening_remark,
    read_opening_sign,
)
from ralph_ls.protocol.task_words import TaskState


def heading_item(line: MarkdownLine, title: str, section: HeadingSection) -> PlanItemDraft:
    """Take a box or an emoji for a state out of a heading; one without may get a state later."""
    begin, title = line.text.find(title), section.with_signs(title)
    found = _find_box(title) or _find_sign(title, section) or _find_words(title, section)
    found = found or _HeadingState(title)
    item = PlanItemDraft.of_line(line, TaskKind.HEADING, section, box=found.box, text=found.text)
    if (mark := found.mark) is not None:
        item.mark = (begin + mark[0], begin + mark[1])
    item.written_state = found.state
    item.is_signed, item.is_coloured = found.is_signed, found.is_coloured
    item.is_in_words = found.is_in_words
    return item


class _HeadingState(NamedTuple):
    """A state in a heading, and the text without it."""

    text: str
    box: str | None = None
    mark: tuple[int, int] | None = None
    state: TaskState | None = None
    is_signed: bool = False
    is_coloured: bool = False
    is_in_words: bool = False


def _find_box(title: str) -> _HeadingState | None:
    found = _BOX.match(title)
    if found is not None:
        text = f"{found[1]}{title[found.end() :]}"
        return _HeadingState(text, box=box_mark(found[2]), mark=found.span(2))
    behind = _BOX_BEHIND.search(title) if "[" in title else None
    if behind is None:
        return None
    text = f"{title[: behind.start()].rstrip()} {title[behind.end() :].lstrip()}".rstrip()
    return _HeadingState(text, box=behind[1].strip(), mark=behind.span(1))


def _find_sign(title: str, section: HeadingSection) -> _HeadingState | None:
    """An emoji anywhere in a heading, with words for its state beside it."""
    mark = None if is_of_one_stage(title) else find_sign(title)
    if mark is None:
        return None
    begins, ends = find_remark(title) or mark
    found = _HeadingState(
        title,
        mark=mark,
        is_signed=section.name is None and _is_decoration(title, begins, ends),
        is_coloured=begins == 0 and title[0] in CIRCLES,
    )
    signed = find_sign_with_words(title)
    if signed is not None and signed.mark[0] <= mark[0] < signed.mark[1]:
        return found._replace(text=title[: signed.start], mark=signed.mark, state=signed.state)
    before, after = title[:begins].rstrip(), title[ends:].lstrip()
    text = before + after if before.endswith("*") else f"{before} {after}".lstrip()
    opening = opening_remark(text) if section.name in UNITS else None
    text = text if opening is None else text[opening.end :]
    return found._replace(text=text, state=_state_at_sign(title, begins, ends))


def _find_words(title: str, section: HeadingSection) -> _HeadingState | None:
    """A state in words: in front of a name, in a tag, in bold, or as a remark at the end."""
    opening = opening_remark(title) if section.name in UNITS else None
    if opening is not None:
        text = title[opening.end :]
        return _HeadingState(text, mark=opening.mark, state=opening.state, is_in_words=True)
    if (tag := _find_state_tag(title)) is not None:
        text = title[: tag[0][0] - 1].rstrip(" \t*_")
        return _HeadingState(text, mark=tag[0], state=tag[1])
    is_signed = section.name in _GUESSED_WITH_WORDS
    if (remark := bold_remark(title)) is not None:
        bare = title.rstrip().removesuffix("**")
        return _HeadingState(
            title[: remark.start],
            mark=(bare.rindex("**") + 2, len(bare)),
            state=remark.state,
            is_signed=is_signed,
            is_in_words=True,
        )
    if (remark := _find_remark_in_words(title, section)) is not None:
        text = without_half_bold(title[: remark.start])
        return _HeadingState(text, state=remark.state, is_signed=is_signed, is_in_words=True)
    return None


def _is_decoration(title: str, begins: int, ends: int) -> bool:
    """Whether an emoji may be no state: one in front, or a cross in front of a problem's words."""
    if begins == 0:
        return NUMBERED.match(title[ends:]) is None and title[0] not in OPEN_BOX_SIGNS
    number = NUMBERED.match(title) if title[begins] == "❌" else None
    return number is not None and not title[number.end() : begins].strip()


def _state_at_sign(title: str, begins: int, ends: int) -> TaskState | None:
    """The state that an emoji gives, in which words behind it have precedence."""
    if not begins:
        return read_opening_sign(title, ends)[0]
    return read_state(title[ends:]) or read_state(title[begins:ends])


def _find_state_tag(title: str) -> tuple[tuple[int, int], TaskState] | None:
    """A state in square brackets at the end: ``[ERLEDIGT]``; not those that a title may begin with.

    Its place is inside the brackets.
    """
    tag = None if has_tag(title) else _STATE_TAG.search(title)
    remark = None if tag is None else closing_remark(tag[0])
    return None if tag is None or remark is None else (tag.span(1), remark.state)


_GUESSED_WITH_WORDS = frozenset({None, HeadingClass.STEP})
"""Headings that state words at their end make tasks only in a plan without boxes."""


def _find_remark_in_words(title: str, section: HeadingSection) -> StateRemark | None:
    """A state in words at the end; where the heading has no name, no ``- next`` or ``: open``."""
    remark = closing_remark(title) if _OPENS_REMARK.search(title) is not None else None
    if remark is not None and has_tag(title):
        return None
    if remark is None or section.name is not None or title[remark.start :].strip()[:1] in _OPENERS:
        return remark
    return None if remark.state is TaskState.TODO else remark


_OPENS_REMARK = re.compile(r"[(\[\uff08\u3010:\uff1a|\u2013\u2014-]")
_OPENERS = frozenset("([\uff08\u3010")


def has_state(heading: PlanItemDraft) -> bool:
    """Whether the line of a heading has a state."""
    if heading.box is not None or heading.written_state is not None:
        return True
    return has_tag(heading.text)


def says_state(heading: PlanItemDraft) -> bool:
    """Whether a heading is a task by a state that is no decoration."""
    return has_state(heading) and not heading.is_signed


def may_be_task(heading: PlanItemDraft) -> bool:
    """Whether a heading may be a task by its own words or a line below, not by those beside it."""
    return heading.section.name is not None or heading.is_described or has_state(heading)


def has_tag(text: str) -> bool:
    """Whether a text has a strike, or a tag such as ``[DONE]`` or ``[WIP]``."""
    return _TAG.search(text) is not None


def opens_with_tag(text: str) -> bool:
    """Whether a tag is where a box would be: ``[blocked] Wait for the key``."""
    return _TAG.match(text) is not None and text.startswith("[")


_BOX = re.compile(r"((?:[0-9.]+\s+)?)(?:`|\*\*)?\[([ xXvV✓✔√✅~!/-]?)\](?:`|\*\*)?\s+(?=\S)")
_BOX_BEHIND = re.compile(r"(?<=\s)`?\[([ xX~!-])\]`?(?=\s|\Z)")
_STATE_TAG = re.compile(r"(?<=\s)[*_]{0,3}\[([^\[\]]{2,40})\][*_ \t]*\Z")
_TAG = re.compile(
    r"~~\S.*~~|\[\s*(?:done|completed?|wip|in[ _-]progress|to-?do|pending|blocked\b[^\[\]]*)\s*\]",
    re.IGNORECASE,
)
