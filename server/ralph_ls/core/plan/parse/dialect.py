"""Markdown dialects: what differs between the tools that write plans as Markdown task lists.

Everything that one tool alone writes is read in every plan; a dialect holds only what means
different things to different tools. Places and file names belong to the plan formats.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from ralph_ls.core.plan.parse.legend import find_marks_of_boxes


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkdownDialect:
    """How one tool writes states in Markdown; a format may pass its own to ``parse_markdown``."""

    only_boxes: bool = False
    """Whether every task has a box, so that lists without boxes are prose anywhere."""
    has_checks_apart: bool = False
    """Whether boxes below criteria and check lists are no tasks, because each task has a number."""
    has_subtasks_first: bool = False
    """Whether a task waits for the open tasks that are nested in it."""
    marks: tuple[tuple[str, str], ...] = ()
    """Marks in boxes that mean something else, with the usual ones; those of a legend last."""

    def usual_mark(self, box: str | None) -> str | None:
        """The mark that usually means what this one does here."""
        return next((usual for mark, usual in self.marks if mark == box), box)


PLAIN = MarkdownDialect()
"""Any plan that shows no sign of a tool."""

KIRO = MarkdownDialect(marks=(("-", "~"),), only_boxes=True, has_subtasks_first=True)
"""Kiro's ``tasks.md``."""

SPEC_KIT = MarkdownDialect(only_boxes=True, has_checks_apart=True)
"""spec-kit's ``tasks.md``."""


def find_dialect(text: str) -> MarkdownDialect:
    """The dialect that a text shows by a tool's own marks, so that edits need not be given it."""
    text = text[:_SHOWN]
    is_kiro = "_Requirements:" in text or ("- _" in text and _REFERENCES.search(text) is not None)
    if is_kiro:
        found = KIRO
    else:
        may_be = "] T" in text or "[T0" in text or "[US" in text
        is_spec_kit = may_be and _NUMBERED_BOX.search(text) is not None
        found = SPEC_KIT if is_spec_kit else PLAIN
    marks = find_marks_of_boxes(text)
    return replace(found, marks=(*found.marks, *marks)) if marks else found


_SHOWN = 1 << 16
"""A tool's marks are in the first characters of a plan, if anywhere."""
_NUMBERED_BOX = re.compile(
    r"^- \[[ xX]\] (?:\[?T0[0-9]{2}\b|T[0-9]{1,2}-[0-9]{1,2}\b|[^\n]{0,40}\[US[0-9]{1,2}\])",
    re.MULTILINE,
)
_REFERENCES = re.compile(
    r"^[ \t]+- _[^\W\d_][^\n_:\uff1a]{1,30}[:\uff1a][ \t]*[0-9]+(?:\.[0-9]+)?[,\u3001_]",
    re.MULTILINE,
)
"""Kiro's line of requirements in any language: ``- _需求: 1.1, 1.2_``."""
