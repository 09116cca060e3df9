"""The flags that name an agent, as every verb that starts one has them."""

from __future__ import annotations

import shlex

from ralph_ls.protocol.config import PromptBy
from ralph_ls.protocol.errors import UsageError


def agent_words(command: str, prompt: str | None, agent: str | None) -> tuple[tuple[str, ...], str]:
    """The program and arguments of ``--agent-command``, and how it gets its prompt.

    Raises ``UsageError`` for what makes no command.
    """
    if agent is not None:
        raise UsageError("give --agent or --agent-command, not both")
    try:
        argv = tuple(shlex.split(command))
    except ValueError as error:
        raise UsageError(f"--agent-command {command!r} is not well quoted: {error}") from error
    if not argv:
        raise UsageError("--agent-command is empty; name a program")
    return argv, prompt_way(prompt).value


def prompt_way(prompt: str | None) -> PromptBy:
    """How ``--agent-prompt`` wants the prompt; raises ``UsageError``."""
    if prompt is not None and prompt not in set(PromptBy):
        raise UsageError(f"--agent-prompt {prompt!r}: it must be stdin, argument or file")
    return PromptBy(prompt) if prompt is not None else PromptBy.STDIN
