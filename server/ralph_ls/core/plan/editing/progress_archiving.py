"""Which entries of a progress log are old, and where they go (S, Future Enhancements 3).

An entry is a heading that begins with a day (``### 2026-02-04``, ``## 2026-02-04 14:00 - US-001``)
and all below it, to the next such heading or one that is not below it. Entries move byte for byte;
everything else stays. It must never know which day it is, nor where a log lies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from typing import NamedTuple

TITLE = "# Progress Log Archive"


class Parted(NamedTuple):
    """A log without its old entries, and those."""

    kept: str
    old: tuple[str, ...]
    """In the order of the log; each ends as it does there."""


def archive_path(log: str) -> str:
    """The file beside a log that its old entries go to: ``PROGRESS-archive.md``."""
    folder, slash, name = log.rpartition("/")
    stem, dot, suffix = name.rpartition(".")
    if not stem:
        stem, dot, suffix = name, "", ""
    return f"{folder}{slash}{stem}-archive{dot}{suffix}"


def part_old(log: str, *, today: date, keep_days: int) -> Parted:
    """Take out the entries that are older than so many days; never raises.

    An entry of a day that does not exist is no entry, and one of a day to come is not old.
    """
    first_kept = (today - timedelta(days=min(keep_days, today.toordinal() - 1))).isoformat()
    kept: list[str] = []
    old: list[str] = []
    for day, text in _parts(log):
        if day and day < first_kept:
            old.append(text)
        else:
            kept.append(text)
    return Parted("".join(kept), tuple(old))


def add_to_archive(archive: str, old: tuple[str, ...]) -> str:
    """The archive with these entries before the older ones that it has.

    An entry that stands in it already is not added again, so that moving may be cut off anywhere
    and be done anew.
    """
    there = {text.rstrip() for day, text in _parts(archive) if day}
    new = [entry for entry in old if entry.rstrip() not in there]
    if not new:
        return archive
    ending = "\r\n" if "\r\n" in (archive or new[0]) else "\n"
    if not archive.strip("\ufeff \t\r\n"):
        archive = f"{TITLE}{ending}{ending}"
    if not new[-1].endswith("\n"):
        new[-1] += ending
    parts = list(_parts(archive))
    first = next((at for at, (day, _) in enumerate(parts) if day), len(parts))
    before = "".join(text for _, text in parts[:first])
    if before and not before.endswith("\n"):
        before += ending
    return before + "".join(new) + "".join(text for _, text in parts[first:])


def _parts(text: str) -> Iterator[tuple[str, str]]:
    """The text in pieces, each with the day of its entry; empty for what belongs to none."""
    day, level, fence = "", 0, ""
    piece: list[str] = []
    for line in _LINE.findall(text):
        mark = _FENCE.match(line)
        if mark is not None and not fence:
            fence = mark[1]
        elif mark is not None and mark[1].startswith(fence) and not line[mark.end() :].strip():
            fence = ""
        heading = None if fence else _HEADING.match(line)
        if heading is not None:
            began = _day_of(line[heading.end() :])
            if began or len(heading[1]) <= level:
                yield day, "".join(piece)
                piece, day, level = [], began, len(heading[1]) if began else 0
        piece.append(line)
    yield day, "".join(piece)


def _day_of(text: str) -> str:
    found = _DAY.match(text)
    if found is None:
        return ""
    try:
        return date.fromisoformat(found[1]).isoformat()
    except ValueError:
        return ""


_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_HEADING = re.compile(r"\ufeff?(#{1,6})[ \t]+")
_DAY = re.compile(r"\[?([0-9]{4}-[0-9]{2}-[0-9]{2})(?![0-9])")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
