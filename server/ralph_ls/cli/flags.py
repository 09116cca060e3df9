"""Flags that several verbs have, and the values they set."""

from __future__ import annotations

import itertools
import shlex
import sys
from pathlib import Path
from typing import Annotated, Any

from ralph_ls.cli.output import print_error
from ralph_ls.cli.parameters import flag, option
from ralph_ls.core.suggestions import unknown
from ralph_ls.protocol.config.agent import PromptBy, SandboxKind
from ralph_ls.protocol.config.config import ProfileName
from ralph_ls.protocol.config.tables import to_seconds
from ralph_ls.protocol.errors import UsageError
from ralph_ls.protocol.plan import FORMS, STDIN, read_reference

Json = Annotated[bool, flag("--json", text="Print JSON, for scripts.")]
Yes = Annotated[bool, flag("--yes", text="Answer yes to every question.")]
Description = Annotated[
    str | None,
    option("TEXT", "What should be built; - reads standard input.", default="asks on a terminal"),
]
Profile = Annotated[
    str | None,
    option(
        "PROFILE",
        "Use this profile: spec, fixplan, stories, beads or issue.",
        default="from the settings, else detected",
    ),
]
AgentName = Annotated[
    str | None,
    option("AGENT", "Use this agent, such as claude or codex.", default="from the settings"),
]
AgentCommand = Annotated[
    str | None,
    option("COMMAND", "Use any program as the agent, such as './agent.sh --fast'.", default="none"),
]
AgentPrompt = Annotated[
    str | None,
    option("stdin|argument|file", "How --agent-command gets the prompt.", default="stdin"),
]

Model = Annotated[
    str | None,
    option("NAME", "Use this model, as the agent names it.", default="the agent's choice"),
]
AllowTool = Annotated[list[str] | None, option("TOOL", "Allow only this tool; repeatable.")]
DenyTool = Annotated[list[str] | None, option("TOOL", "Deny this tool; repeatable.")]

MaxIterations = Annotated[
    int | None,
    option("N", "Stop after N iterations.", "--max-iterations", default="from the profile", min=1),
]
MaxTime = Annotated[
    str | None,
    option(
        "TIME", "Stop the run after this time, such as 90m or 2h.", "--max-time", default="no limit"
    ),
]
MaxWait = Annotated[
    str | None,
    option(
        "TIME",
        "End instead of waiting longer than this for the agent, such as 2h.",
        "--max-wait",
        default="one day",
    ),
]
Until = Annotated[
    str | None,
    option(
        "HH:MM",
        "Begin no iteration after this time of day, such as 07:00.",
        "--until",
        default="no limit",
    ),
]
MaxCost = Annotated[
    float | None,
    option(
        "DOLLARS", "Stop the run at this cost, in US dollars.", "--max-cost", default="no limit"
    ),
]
MaxTokens = Annotated[
    int | None,
    option(
        "COUNT",
        "Stop the run after so many tokens, input and output together.",
        "--max-tokens",
        default="no limit",
        min=1,
    ),
]
AllowUnmetered = Annotated[
    bool,
    flag("--allow-unmetered", text="Start even if the agent does not report what a limit counts."),
]

Issue = Annotated[
    str | None,
    option(
        "WHAT",
        "Work on a request: a file, - for standard input, 123, owner/name#123 or a URL.",
        default="work on the plan",
    ),
]


Sandbox = Annotated[
    str | None,
    option(
        "[KIND]",
        "Run the agent in a sandbox: auto (the same without KIND), bwrap, docker or none.",
        "--sandbox",
        default="from the settings",
    ),
]
NoNetwork = Annotated[
    bool, flag("--no-network", text="Cut the agent off the network; implies --sandbox.")
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
        raise UsageError(unknown("sandbox", kind, SandboxKind))
    if no_network and kind not in {None, SandboxKind.AUTO, SandboxKind.BWRAP}:
        raise UsageError(f"--no-network needs --sandbox bwrap, not {kind}; change one of them")
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
            "give one of them"
        )
    seconds = duration("--max-time", max_time)
    if seconds == 0:
        raise UsageError("--max-time 0 leaves no time to run; leave it out for no limit")
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
        print_error("write the request, then end it with Ctrl-D on a separate line")
    if issue != STDIN and read_reference(issue) is not None:
        return {"profile": own, "issue.github": issue.strip(), "issue.file": "", "issue.text": ""}
    if "://" in issue:
        raise UsageError(f"--issue {issue!r} is not an issue on GitHub; write {FORMS}")
    # The engine works in the root of the work tree, wherever the command was given.
    path = issue if issue == STDIN else str(Path(issue).expanduser().absolute())
    return {"profile": own, "issue.file": path, "issue.github": "", "issue.text": ""}


def profile_named(name: str) -> ProfileName:
    """What ``--profile`` names; raises ``UsageError`` for what is none."""
    if name not in set(ProfileName):
        raise UsageError(unknown("profile", name, ProfileName))
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
            raise UsageError("--agent-prompt needs --agent-command")
        return None
    if agent is not None:
        raise UsageError("give --agent or --agent-command, not both")
    try:
        argv = tuple(shlex.split(command))
    except ValueError as error:
        raise UsageError(f"--agent-command {command!r}: a quotation mark is not closed") from error
    if not argv:
        raise UsageError("--agent-command is empty; name a program")
    return argv, _prompt_way(prompt).value


def _prompt_way(prompt: str | None) -> PromptBy:
    if prompt is not None and prompt not in set(PromptBy):
        raise UsageError(f"unknown --agent-prompt {prompt!r}; use stdin, argument or file")
    return PromptBy(prompt) if prompt is not None else PromptBy.STDIN


def lane_overrides(parallel: int | None, *, onto: str | None, direct: bool) -> dict[str, Any]:
    """What the flags of a parallel run set."""
    return {"parallel": parallel, "lane.onto": onto, "lane.direct": direct or None}
