"""Which versions of journals this program reads and goes on with.

Readers understand journals one major version back, and of newer ones what they know. An engine goes
on with no newer one: it would decide by events that it cannot read.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.protocol.version import SCHEMA_VERSION
from ralph_ls.store.files import open_regular

OLDEST = max(0, SCHEMA_VERSION - 1)

_TAIL = 1 << 16
"""Bytes at the end of a journal in which its last whole line is looked for first."""


def version_of(journal: Path) -> int | None:
    """The version that wrote last into a journal; None where nothing there says one."""
    try:
        with open_regular(journal) as file:
            size = file.seek(0, 2)
            data = b""
            while True:
                start = max(0, size - len(data) - _TAIL)
                file.seek(start)
                data = file.read(size - start)
                for line in reversed(data.split(b"\n")[1 if start else 0 : -1]):
                    with contextlib.suppress(ValueError, TypeError, KeyError):
                        return int(json.loads(line)["v"])
                if start == 0:
                    return None
    except OSError:
        return None


def why_unreadable(journal: Path) -> str | None:
    """Why this program does not understand all of a journal, in words; None where it does."""
    version = version_of(journal)
    if version is None or OLDEST <= version <= SCHEMA_VERSION:
        return None
    age = "newer" if version > SCHEMA_VERSION else "much older"
    return (
        f"the journal {journal} was written by a {age} ralph, in version {version} of its schema; "
        f"this one reads {OLDEST} and {SCHEMA_VERSION}"
    )


def require_understood(journal: Path) -> None:
    """Raise ``StateUnusable`` where nobody may act on what a journal says."""
    if (why := why_unreadable(journal)) is not None:
        raise StateUnusable(
            f"{why}; use that version of ralph for this run, or begin a new one with: ralph run"
        )
