"""What the engine needs to know of an agent, whichever it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ralph_ls.protocol.config import Dialect, PromptBy


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """One agent, ready to be started in a work tree."""

    name: str
    argv: tuple[str, ...]
    prompt: PromptBy = PromptBy.STDIN
    env: Mapping[str, str] = field(default_factory=dict)
    dialect: Dialect = Dialect.TEXT
    """How it writes what it prints."""
    resume: tuple[str, ...] = ()
    """Flags that let it go on in a session, ``{session}`` for its id; empty: it cannot."""
