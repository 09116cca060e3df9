"""What the engine needs to know of an agent, whichever it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ralph_ls.protocol.agent_config import Dialect, PromptBy


@dataclass(frozen=True, slots=True, kw_only=True)
class Agent:
    """One agent, ready to be started in a work tree."""

    name: str
    argv: tuple[str, ...]
    program: str = ""
    """What has to be installed, where that is not the first of ``argv``."""
    prompt: PromptBy = PromptBy.STDIN
    env: Mapping[str, str] = field(default_factory=dict)
    dialect: Dialect = Dialect.TEXT
    """How it writes what it prints."""
    resume: tuple[str, ...] = ()
    """Flags that let it go on in a session, ``{session}`` for its id; empty: it cannot."""
    model: str | None = None
    """The model it is given where an iteration wants no other; None: its own choice."""
    model_flags: tuple[str, ...] = ()
    """Flags that give it a model, ``{model}`` for its name; empty: it takes none."""
    tail: tuple[str, ...] = ()
    """What stands behind all flags, before a prompt that is an argument."""
