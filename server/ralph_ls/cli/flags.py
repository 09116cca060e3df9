"""The flags that several verbs have, and what they say wrongly in the same words."""

from __future__ import annotations

import itertools
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from ralph_ls.cli.output import print_error
from ralph_ls.protocol.config.agent import PromptBy, SandboxKind
from ralph_ls.protocol.config.config import ProfileName
from ralph_ls.protocol.config.tables import to_seconds
from ralph_ls.protocol.errors import UsageError
from ralph_ls.protocol.plan import FORMS, STDIN, read_reference

Json = Annotated[bool, typer.Option("--json", help="For programs.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
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

MaxIterations = Annotated[
    int | None, typer.Option("--max-iterations", min=1, help="The same as N.")
]
MaxTime = Annotated[
    str | None,
    typer.Option("--max-time", metavar="TIME", help="Of the whole run, such as 90m or 2h."),
]
MaxCost = Annotated[
    float | None,
    typer.Option("--max-cost", metavar="DOLLARS", help="Of the whole run, in US dollars."),
]
MaxTokens = Annotated[
    int | None,
    typer.Option("--max-tokens", min=1, metavar="COUNT", help="In and out, of the whole run."),
]
AllowUnmetered = Annotated[
    bool,
    typer.Option(
        "--allow-unmetered",
        help="Start although nobody can tell what the agent uses of a limit.",
    ),
]

Issue = Annotated[
    str | None,
    typer.Option(
        metavar="WHAT",
        help="Work on a request: a file, - for standard input, 123, owner/name#123, or a URL.",
    ),
]


Sandbox = Annotated[
    str | None,
    typer.Option(
        "--sandbox",
        metavar="[KIND]",
        help="Keep the agent to the work tree: auto (also without a word), bwrap, docker, none.",
    ),
]
NoNetwork = Annotated[
    bool,
    typer.Option("--no-network", help="In a sandbox without any network; implies --sandbox."),
]


def with_sandbox_kind(arguments: list[str]) -> list[str]:
    """A command line in which ``--sandbox`` without a kind has the kind ``auto``."""
    kinds = set(SandboxKind)
    found: list[str] = []
    for word, following in itertools.zip_longest(arguments, arguments[1:]):
        is_bare = word == "--sandbox" and following not in kinds
        found.append(f"--sandbox={SandboxKind.AUTO}" if is_bare else word)
    return found


def sandbox_overrides(kind: str | None, *, no_network: bool) -> dict[str, Any]:
    """What the flags set; raises ``UsageError`` for a kind that there is not.

    A flag is a promise: without a network means in a sandbox that can keep it off.
    """
    if kind is not None and kind not in set(SandboxKind):
        raise UsageError(f"--sandbox {kind!r}: there is {', '.join(SandboxKind)}")
    if no_network and kind not in {None, SandboxKind.AUTO, SandboxKind.BWRAP}:
        raise UsageError(
            f"--no-network does not go with --sandbox {kind}; it needs bwrap, or leave it out"
        )
    return {
        "sandbox.kind": SandboxKind.AUTO.value if no_network and kind is None else kind,
        "sandbox.network": False if no_network else None,
    }


def budget_overrides(
    n: int | None,
    *,
    max_iterations: int | None,
    max_time: str | None,
    max_cost: float | None,
    max_tokens: int | None,
    allow_unmetered: bool,
) -> dict[str, Any]:
    """The limits that a run's flags set; raises ``UsageError`` for one given twice, or of 0."""
    if n is not None and max_iterations is not None:
        raise UsageError(
            f"N ({n}) and --max-iterations ({max_iterations}) both limit the iterations; "
            "leave one of them out"
        )
    seconds = duration("--max-time", max_time)
    if seconds == 0:
        raise UsageError("--max-time 0 leaves no time for any iteration; leave it out for no limit")
    return {
        "max_iterations": n if max_iterations is None else max_iterations,
        "max_duration": seconds,
        "max_cost_usd": max_cost,
        "max_tokens": max_tokens,
        "allow_unmetered": allow_unmetered or None,
    }


def duration(flag: str, text: str | None) -> object:
    """Seconds, or None where the flag was not given; raises ``UsageError``."""
    try:
        return to_seconds(text)
    except ValueError as error:
        raise UsageError(f"{flag}: {error}") from error


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
        print_error("write the request, then end it with Ctrl-D on a line of its own")
    if issue != STDIN and read_reference(issue) is not None:
        return {"profile": own, "issue.github": issue.strip(), "issue.file": "", "issue.text": ""}
    if "://" in issue:
        raise UsageError(f"--issue {issue!r} names no issue on GitHub; write {FORMS}")
    # The engine works in the root of the work tree, wherever the command was given.
    path = issue if issue == STDIN else str(Path(issue).expanduser().absolute())
    return {"profile": own, "issue.file": path, "issue.github": "", "issue.text": ""}


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
