"""A file of the loop that people write: the plan, what was done, and the specifications.

The views of its text (symbols, folds, links, completions, task ids) start from this one value, so
that they agree about its headings and its tasks. Columns are characters of the line. It must never
know a run, nor an editor's way to count.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ralph_ls.core.plan.model import Plan, Task
from ralph_ls.core.plan.parse.lines import find_marks
from ralph_ls.core.plan.specs import FOLDER, INDEX, is_spec
from ralph_ls.core.views.outline import Outline, flat_outline, read_outline


class PageKind(StrEnum):
    """Which of them it is."""

    PLAN = "plan"
    PROGRESS = "progress"
    """What was done, as ``PROGRESS.md``."""
    SPEC = "spec"
    INDEX = "index"
    """``specs/README.md``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One text."""

    kind: PageKind
    name: str
    """Relative to the work tree, with ``/``."""
    text: str
    plan: Plan
    """Its tasks; of a specification only what has a box."""
    outline: Outline

    @property
    def spec_name(self) -> str:
        """Its name within ``specs/``."""
        return self.name.removeprefix(f"{FOLDER}/")


def page_kind(name: str, progress: str) -> PageKind | None:
    """What a file is by its name relative to the work tree; ``progress`` is that of what was done.

    Plans are found by the settings, so that they are never told by name here.
    """
    if name == progress:
        return PageKind.PROGRESS
    below = f"{FOLDER}/"
    if not name.startswith(below):
        return None
    within = name.removeprefix(below)
    if within == INDEX:
        return PageKind.INDEX
    is_hidden = any(part.startswith(".") for part in within.split("/")[:-1])
    return PageKind.SPEC if is_spec(within) and not is_hidden else None


def read_page(
    kind: PageKind, name: str, text: str, plan: Plan, *, is_markdown: bool = True
) -> Page:
    """Look a text over; ``plan`` was read from it. Total."""
    if not is_markdown:
        return Page(kind=kind, name=name, text=text, plan=plan, outline=flat_outline(text))
    if kind in {PageKind.SPEC, PageKind.INDEX}:
        plan = Plan(tasks=tuple(task for task in plan.tasks if _has_box(task, text)))
    outline = read_outline(text, {task.line for task in plan.tasks})
    return Page(kind=kind, name=name, text=text, plan=plan, outline=outline)


def _has_box(task: Task, text: str) -> bool:
    """Whether its item has one; a numbered list of a text is no list of tasks."""
    marks = find_marks(text[task.start : task.end])
    return marks is not None and marks.box is not None
