"""Where the text of a request comes from, and what a set-up writes of it (A; SPEC §8).

This module must never know a folder, nor fetch anything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ralph_ls.core.plan.titles import fold
from ralph_ls.core.setup.specifications import title_of
from ralph_ls.protocol.lsp.setup import DraftItem
from ralph_ls.protocol.plan import read_reference

REQUEST_FILE = "issue.md"
"""Where a request is written that a person gives as text."""


def issue_key(named: str) -> str:
    """Which key of ``[issue]`` takes what a person named: ``github``, else ``file``."""
    return "file" if read_reference(named) is None else "github"


def request_text(description: str, items: Sequence[DraftItem]) -> str:
    """The request as it was given, with a title where it is longer; items are its parts."""
    body = description.replace("\r\n", "\n").strip()
    title = title_of(body)
    has_title = _HEADING.match(body) or title == body
    text = body if has_title else f"# {title}\n\n{body}"
    lines = [line for item in items for line in _lines_of(item)]
    return "\n".join([text, *(["", "## What belongs to it", "", *lines] if lines else []), ""])


def _lines_of(item: DraftItem) -> list[str]:
    details = [fold(line) for line in item.detail.splitlines() if line.strip()]
    return [f"- {fold(item.title)}", *(f"  {line}" for line in details)]


_HEADING = re.compile(r"#\s+\S")
