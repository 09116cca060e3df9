"""A task's description as a specification, where every agent of the loop reads it (S, specs/).

A plan is no place for it: a list of criteria in it would be read as tasks. This module must never
know a folder; it works on texts and names within ``specs/``.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from datetime import date

from ralph_ls.core.plan.skeleton import spec_index_skeleton
from ralph_ls.core.plan.specs import read_index

LONGEST_SLUG = 40
LONGEST_TITLE = 80

_TAKEN = frozenset(
    {"readme", "con", "prn", "aux", "nul"}
    | {f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10)}
)
"""Names that are the index's, or that some systems keep for themselves."""


def title_of(description: str) -> str:
    """One line for the whole: its first words that are no label of their own."""
    lines = [" ".join(_HEAD.sub("", line).split()) for line in description.splitlines()]
    told = [line for line in lines if line]
    title = next((line for line in told if not line.endswith((":", "\uff1a"))), "") or "".join(
        told[:1]
    )
    if len(title) <= LONGEST_TITLE:
        return title
    words = title[:LONGEST_TITLE].rsplit(" ", 1)[0]
    return f"{words.rstrip(' ,;:')}…"


def name_for(description: str, taken: Collection[str]) -> str:
    """A file name within ``specs/`` that nobody has; ``taken`` are those that are there."""
    slug = _slug(title_of(description))
    in_use = {name.casefold() for name in taken}
    candidates = (slug if number == 1 else f"{slug}-{number}" for number in range(1, 10_000))
    return next(f"{one}.md" for one in candidates if f"{one}.md".casefold() not in in_use)


def spec_text(description: str, *, created: date) -> str:
    """The specification: front matter, a title, and the description as it was given."""
    body = description.replace("\r\n", "\n").strip()
    heading = "" if _HEADING.match(body) else f"# {title_of(description)}\n\n"
    return f"---\nstatus: active\ncreated: {created.isoformat()}\n---\n\n{heading}{body}\n"


def is_said_by(text: str, description: str) -> bool:
    """Whether a specification says just this, whenever it was made."""
    body = description.replace("\r\n", "\n").strip()
    return bool(body) and text.replace("\r\n", "\n").rstrip().endswith(f"\n{body}")


def with_entry(index: str | None, name: str, description: str, *, today: date) -> str:
    """The index ``specs/README.md`` with an entry for it, below the active ones.

    One that names it already stays as it is.
    """
    text = spec_index_skeleton() if index is None else index
    if any(entry.name == name for entry in read_index(text)):
        return text
    title = " ".join(re.sub(r"[\[\]()#]", " ", title_of(description)).split())
    newline = "\r\n" if "\r\n" in text else "\n"
    entry = [f"### {title} ({name})", "", "- **Status**: Active", f"- **Last Updated**: {today}"]
    lines = text.replace("\r\n", "\n").rstrip("\n").split("\n")
    active = next((at for at, line in enumerate(lines) if _ACTIVE.match(line)), None)
    if active is None:
        lines += ["", "## Active Specifications"]
        active = len(lines) - 1
    end = next((at for at in range(active + 1, len(lines)) if _PART.match(lines[at])), len(lines))
    while not lines[end - 1].strip():
        end -= 1
    lines[end:end] = ["", *entry]
    return newline.join([*lines, ""])


def _slug(title: str) -> str:
    """Letters and digits of any script in lower case, with dashes between."""
    words = unicodedata.normalize("NFC", title).lower()
    slug = re.sub(r"[^\w]+|_+", "-", words).strip("-")
    if len(slug) > LONGEST_SLUG:
        cut = slug[: LONGEST_SLUG + 1]
        slug = (cut.rsplit("-", 1)[0] if "-" in cut else cut[:LONGEST_SLUG]).strip("-")
    if not slug:
        return "task"
    return f"task-{slug}" if slug in _TAKEN else slug


_HEAD = re.compile(r"^\s*(?:#{1,6}\s+|[-*+•]\s+|[0-9]{1,9}[.)]\s+)?(?:\[[ xX]\]\s+)?")
_HEADING = re.compile(r"#\s+\S")
_ACTIVE = re.compile(r"#{1,2}[ \t]+active\b", re.IGNORECASE)
_PART = re.compile(r"#{1,2}[ \t]")
