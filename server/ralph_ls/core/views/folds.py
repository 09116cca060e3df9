"""What of a page can be folded away: sections, tasks with what they hold, fences, front matter.

It must never know an editor, nor how a fold is shown.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ralph_ls.core.views.outline import BlockKind
from ralph_ls.core.views.pages import Page


class FoldKind(StrEnum):
    """What is folded."""

    SECTION = "section"
    TASK = "task"
    FENCE = "fence"
    COMMENT = "comment"
    FRONT_MATTER = "frontMatter"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """Whole lines, from 0; the first one stays to be seen."""

    kind: FoldKind
    line: int
    end_line: int


def folds(page: Page) -> tuple[Fold, ...]:
    """All of them, by their first line, the longer ones first. Total."""
    outline = page.outline
    found = [
        Fold(
            kind=FoldKind.SECTION,
            line=heading.line,
            end_line=outline.last_text_line(heading.line, heading.last_line),
        )
        for heading in outline.headings
    ]
    found += (
        Fold(kind=FoldKind.TASK, line=task.line, end_line=task.end_line) for task in page.plan.tasks
    )
    found += (
        Fold(kind=_KINDS[block.kind], line=block.line, end_line=block.end_line)
        for block in outline.blocks
    )
    several = (fold for fold in found if fold.end_line > fold.line)
    return tuple(sorted(several, key=lambda fold: (fold.line, -fold.end_line)))


_KINDS = {
    BlockKind.FRONT_MATTER: FoldKind.FRONT_MATTER,
    BlockKind.FENCE: FoldKind.FENCE,
    BlockKind.COMMENT: FoldKind.COMMENT,
}
