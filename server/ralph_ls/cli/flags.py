"""The flags that several verbs have, and what they say wrongly in the same words."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from ralph_ls.cli.output import complain
from ralph_ls.protocol.agent_config import PromptBy
from ralph_ls.protocol.config import ProfileName
from ralph_ls.protocol.errors import UsageError
from ralph_ls.protocol.request import FORMS, STDIN, read_reference

Json = Annotated[bool, typer.Option("--json", help="For programs.")]
Description = Annotated[
    str | None, typer.Option(help="What is to be done; - reads standard input.")
]
AgentName = Annotated[str | None, typer.Option(help="The agent, such as claude or codex.")]
AgentCommand = Annotated[
    str | None, typer.Option(help="Any program as agent, such as './agent.sh --fast'.")
]
AgentPrompt = Annotated[
    str | None, typer.Option(help="How --agent-command gets the prompt: stdin, argument, file")
]

Model = Annotated[
    str | None, typer.Option(metavar="NAME", help="The model of every iteration, in its own words.")
]
AllowTool = Annotated[
    list[str] | None,
    typer.Option(metavar="TOOL", help="Allow this tool and no other; repeatable."),
]
DenyTool = Annotated[
    list[str] | None, typer.Option(metavar="TOOL", help="Never this tool; repeatable.")
]

Issue = Annotated[
    str | None,
    typer.Option(
        metavar="WHAT",
        help="Work on a request: a file, - for standard input, 123, owner/name#123, or a URL.",
    ),
]


def issue_overrides(issue: str | None, profile: str | None) -> dict[str, str]:
    """What ``--issue`` sets; empty without it.

    A name that could be both is an issue on GitHub: ``./owner/name#1`` is a file. Raises
    ``UsageError`` for a URL that names no issue, and beside another profile.
    """
    if issue is None:
        return {}
    own = ProfileName.ISSUE.value
    if profile not in {None, own}:
        raise UsageError(
            f"--issue works with the profile {own}, not with {profile}; leave --profile out"
        )
    if not issue.strip():
        raise UsageError(f"--issue is empty; name a file, - for standard input, or {FORMS}")
    if issue == STDIN and sys.stdin is not None and sys.stdin.isatty():
        complain("write the request, then end it with Ctrl-D on a line of its own")
    if issue != STDIN and read_reference(issue) is not None:
        return {"profile": own, "issue.github": issue.strip(), "issue.file": ""}
    if "://" in issue:
        raise UsageError(f"--issue {issue!r} names no issue on GitHub; write {FORMS}")
    # The engine works in the root of the work tree, wherever the command was given.
    path = issue if issue == STDIN else str(Path(issue).expanduser().absolute())
    return {"profile": own, "issue.file": path, "issue.github": ""}


def profile_named(name: str) -> ProfileName:
    """What ``--profile`` names; raises ``UsageError`` for what is none."""
    if name not in set(ProfileName):
        raise UsageError(f"--profile {name!r}: it must be one of {', '.join(ProfileName)}")
    return ProfileName(name)


def agent_words(
    command: str | None, prompt: str | None, agent: str | None
) -> tuple[tuple[str, ...], str] | None:
    """The program and arguments of ``--agent-command``, and how it gets its prompt.

    None where none is given. Raises ``UsageError`` for what makes no command, and for flags that
    do not go together.
    """
    if command is None:
        if prompt is not None:
            raise UsageError("--agent-prompt goes with --agent-command")
        return None
    if agent is not None:
        raise UsageError("give --agent or --agent-command, not both")
    try:
        argv = tuple(shlex.split(command))
    except ValueError as error:
        raise UsageError(f"--agent-command {command!r} is not well quoted: {error}") from error
    if not argv:
        raise UsageError("--agent-command is empty; name a program")
    return argv, _prompt_way(prompt).value


def _prompt_way(prompt: str | None) -> PromptBy:
    if prompt is not None and prompt not in set(PromptBy):
        raise UsageError(f"--agent-prompt {prompt!r}: it must be stdin, argument or file")
    return PromptBy(prompt) if prompt is not None else PromptBy.STDIN
