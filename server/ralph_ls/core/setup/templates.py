"""A template of a task: a description to fill in, and some items of a plan.

A template is markdown. Front matter may say ``title``, ``detail`` and ``profile``; the text is the
description, up to a heading ``# Plan``, below which the items stand as in any plan. Anybody may
write one, so whatever cannot be used is told and left out. This module must never know a folder.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ralph_ls.core.plan.front_matter import read_front_matter
from ralph_ls.core.plan.lines import lines_of
from ralph_ls.core.setup.items import read_items
from ralph_ls.core.words import count_of
from ralph_ls.protocol.config.config import ProfileName
from ralph_ls.protocol.lsp.setup import MAX_ITEMS, PlanItem, TemplateChoice, TemplateSource

OWN_PREFIX = "own:"
"""How the ids of a user's own templates begin, so that none hides a built-in one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TemplateRead:
    """A template, and what in it could not be used."""

    template: TemplateChoice | None
    """None where nothing of it can be used."""
    problems: Sequence[str] = ()
    """In words that follow its path."""


def read_template(
    name: str, text: str, *, source: TemplateSource, path: str | None = None
) -> TemplateRead:
    """Read a template; total. ``name`` is its file's name without the ending."""
    matter = read_front_matter(text)
    problems = [f"line {remark.line + 1}: {remark.message}" for remark in matter.remarks]
    body = _without_first_lines(text.removeprefix("\ufeff"), matter.end_line + 1)
    description, items = _parted(body)
    if not description and not items:
        problems.append("it is empty; write the description that a task begins with")
        return TemplateRead(template=None, problems=tuple(problems))
    if len(items) > MAX_ITEMS:
        problems.append(f"of its {count_of(len(items), 'item')} the first {MAX_ITEMS} are taken")
    said = {key: " ".join(matter.values(key)[:1]).strip() for key in ("title", "detail", "profile")}
    profile = ProfileName(said["profile"]) if said["profile"] in set(ProfileName) else None
    if said["profile"] and profile is None:
        known = ", ".join(ProfileName)
        problems.append(f"the profile {said['profile']!r} is not known; use one of {known}")
    template = TemplateChoice(
        id=f"{OWN_PREFIX}{name}" if source is TemplateSource.OWN else name,
        title=said["title"] or name.replace("-", " ").replace("_", " ").strip().capitalize(),
        detail=said["detail"],
        source=source,
        description=description,
        items=items[:MAX_ITEMS],
        profile=profile,
        path=path,
    )
    return TemplateRead(template=template, problems=tuple(problems))


def _without_first_lines(text: str, count: int) -> str:
    starts = [start for start, _ in lines_of(text)]
    return text[starts[count] :] if count < len(starts) else ""


def _parted(body: str) -> tuple[str, tuple[PlanItem, ...]]:
    """The description, and the items below ``# Plan``."""
    found = _PLAN.search(body)
    if found is None:
        return _trimmed(body), ()
    below = read_items(body[found.end() :])
    return _trimmed(body[: found.start()]), below


def _trimmed(text: str) -> str:
    stripped = text.replace("\r\n", "\n").strip()
    return f"{stripped}\n" if stripped else ""


_PLAN = re.compile(r"^#[ \t]+Plan[ \t]*#*[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)
