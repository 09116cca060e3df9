"""Claude Code, headless: the prompt on stdin, JSON lines on stdout (SPEC §10)."""

from __future__ import annotations

import os
from collections.abc import Mapping

from ralph_ls.engine.agent_description import Agent
from ralph_ls.protocol.agent_config import AgentConfig, Dialect, ToolsConfig

PROGRAM = "claude"

STREAM = ("--output-format", "stream-json", "--verbose")
"""What makes its output readable for us."""

WITHOUT_ASKING = "--dangerously-skip-permissions"

RESUME = ("--resume", "{session}")
"""Never ``--continue``: the latest session there may be a person's own (SPEC §9.7)."""


def describe(config: AgentConfig, tools: ToolsConfig | None = None) -> Agent:
    """The agent with the settings of ``[agents.claude]`` and ``[tools]``.

    A command of one's own, ``argv``, takes the place of the program and of its standing flags; the
    flags that come from settings are added to it.
    """
    return Agent(
        name=PROGRAM,
        argv=(*(config.argv or _standing(tools)), *_chosen(tools)),
        prompt=config.prompt,
        env={**_for_root(), **config.env},
        dialect=config.dialect or Dialect.CLAUDE,
        resume=RESUME,
        model=config.model,
        model_flags=("--model", "{model}"),
    )


def _standing(tools: ToolsConfig | None) -> tuple[str, ...]:
    """Nobody is there to be asked: all tools may be used, or those that are listed and no other."""
    has_list = tools is not None and tools.allow is not None
    return (PROGRAM, "-p", *(() if has_list else (WITHOUT_ASKING,)), *STREAM)


def _chosen(tools: ToolsConfig | None) -> tuple[str, ...]:
    flags: tuple[str, ...] = ()
    if tools is not None and tools.allow is not None:
        # Its own default mode would still read files and run harmless commands unasked.
        flags += ("--permission-mode", "dontAsk", "--allowedTools", *tools.allow)
    if tools is not None and tools.deny:
        flags += ("--disallowedTools", *tools.deny)
    return flags


def _for_root() -> Mapping[str, str]:
    """As root it refuses to work without asking, unless it is told that it is in a sandbox.

    Root is what one is in a container, and there it says no word about what it wants. Nobody else
    is told so.
    """
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    return {"IS_SANDBOX": "1"} if is_root else {}
