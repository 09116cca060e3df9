"""Document edits of Backlog.md: status, boxes and notes of one task's document.

Line endings and the way in which a value is quoted stay.
"""

from __future__ import annotations

import re

from ralph_ls.core.plan.formats.backlog_md.task_document import (
    NOTES_BEGIN,
    NOTES_END,
    blocked_reason,
    boxes_of,
    last_note,
    notes_end,
    status_place,
)
from ralph_ls.core.plan.parse.front_matter import read_front_matter
from ralph_ls.core.plan.parse.lines import lines_of

_PLAIN = re.compile(r"[^\W_][\w ./()-]*")


def with_status(document: str, status: str) -> str:
    """The document with another status; one without gets it before its front matter ends."""
    matter = read_front_matter(document)
    place = status_place(document, matter)
    if place is None:
        field = matter.find("status")
        closing = list(lines_of(document))[matter.end_line][0]
        start, end = (closing, closing) if field is None else (field.start, field.end)
        ending = _ending_of(document) if field is None else ""
        return f"{document[:start]}status: {_quoted(status)}{ending}{document[end:]}"
    start, end = place
    match document[start - 1]:
        case '"':
            status = status.replace("\\", "\\\\").replace('"', '\\"')
        case "'":
            status = status.replace("'", "''")
        case _:
            status = _quoted(status)
    return document[:start] + status + document[end:]


def with_boxes_ticked(document: str) -> str:
    """The document with every box of its criteria ticked."""
    for box in boxes_of(document):
        if not box.is_done:
            document = f"{document[: box.mark]}x{document[box.mark + 1 :]}"
    return document


def with_notes_line(document: str, note: str) -> str:
    """The document with one more line of notes, unless they end with it."""
    ending = _ending_of(document)
    end = notes_end(document)
    if end is None:
        between = ending if document.endswith(("\n", "\r")) else ending * 2
        section = ["## Implementation Notes", "", NOTES_BEGIN, note, NOTES_END, ""]
        return document + between + ending.join(section)
    if last_note(document, end) == note:
        return document
    written, rest = document[:end].rstrip(), document[len(document[:end].rstrip()) :]
    between = ending * 2 if last_note(document, end).startswith("##") else ending
    behind = ending if rest.lstrip(" \t") and rest.lstrip(" \t")[0] not in "\r\n" else ""
    return written + between + note + behind + rest


def without_reason(document: str) -> str:
    """The document without the reason at the end of its notes."""
    end = notes_end(document)
    if end is None or blocked_reason(document) is None:
        return document
    written = document[:end].rstrip()
    start = max(written.rfind("\n"), written.rfind("\r"))
    before = document[:start].removesuffix("\r")
    return before + document[len(written) :]


def _ending_of(document: str) -> str:
    return "\r\n" if "\r\n" in document else "\n"


def _quoted(status: str) -> str:
    if _PLAIN.fullmatch(status):
        return status
    doubled = status.replace("'", "''")
    return f"'{doubled}'"
