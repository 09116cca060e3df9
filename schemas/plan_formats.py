"""The table of plan formats in ``docs/plans.md``, made of their registry."""

from __future__ import annotations

from collections.abc import Iterator

from ralph_ls.core.plan.formats.plan_format import PlanFormat, PlanStorage
from ralph_ls.core.plan.formats.registry import FORMATS
from ralph_ls.core.plan.model import PlanKind

HEAD = ("format", "found", "read", "ticked", "closed", "guarded")
"""``tests/unit/project/test_plan_formats.py`` tests every cell."""


_MIRRORED = (
    "`--plan github`, or `plan.github` in the settings",
    "with `gh`, again before each iteration",
    "in `.ralph/github.md`",
    "with what was run; on GitHub with `write = true`",
    "yes",
)
"""The cells of a plan that is stored elsewhere: each differs from those of a file."""


def table_formats() -> tuple[PlanFormat, ...]:
    """The formats of other tools, by registration."""
    own = {PlanKind.MARKDOWN, PlanKind.STORIES}
    return tuple(one for one in FORMATS.values() if one.is_text and one.name not in own)


def plan_format_parts() -> dict[str, str]:
    """The part of the page by its name."""
    return {"plan-formats": "\n".join(_table())}


def _table() -> Iterator[str]:
    yield f"| {' | '.join(HEAD)} |"
    yield f"|{'---|' * len(HEAD)}"
    for one in table_formats():
        found = ", ".join(f"`{pattern}`" for pattern in one.files)
        found = found or ", ".join(f"`--plan FILE{ending}`" for ending in one.suffixes)
        found += ", also in capitals" if one.any_case else ""
        if one.storage is PlanStorage.MIRROR:
            yield f"| {one.title} | {' | '.join(_MIRRORED)} |"
            continue
        is_many = one.storage is PlanStorage.FOLDER
        read = "all files as one plan" if is_many else "yes"
        yield f"| {one.title} | {found} | {read} | in place | with what was run | yes |"
