"""Launch of an agent: its prompt, command line and environment, and the reports of start and end.

The prompt is the user's template or the built-in one, filled. Processes are started elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ralph_ls.core.loop.effects import LaunchAgent
from ralph_ls.core.loop.inputs import AgentFinished, AgentLaunched
from ralph_ls.core.prompt.template import PromptContext, render
from ralph_ls.engine.agent.description import Agent, asking_for_usage
from ralph_ls.engine.agent.environment import agent_environment, end_in_sandbox, find_program
from ralph_ls.engine.agent.mcp_offer import McpOffer, OfferedFiles, with_tools
from ralph_ls.engine.agent.selection import fill_argv, flags_for, prompt_for
from ralph_ls.engine.git import history
from ralph_ls.engine.iteration.worktree_inspector import WorktreeInspector
from ralph_ls.engine.process import running_process
from ralph_ls.engine.sandbox.box import BoxFiles
from ralph_ls.engine.sandbox.home import agent_of
from ralph_ls.engine.sandbox.launch import LeaveBox, in_box
from ralph_ls.engine.sandbox.selection import agent_in_box
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.config.agent import PromptBy
from ralph_ls.protocol.config.agent_catalog import Dialect
from ralph_ls.protocol.errors import ConfigError
from ralph_ls.protocol.run.agent_tools import SOCKET, TICKET
from ralph_ls.store import iteration_socket
from ralph_ls.store.files import PRIVATE_FILE, make_private_folder, write_atomic
from ralph_ls.store.project import trust
from ralph_ls.store.project.prompt_texts import (
    FoundTemplate,
    PromptSource,
    built_in_texts,
    find_template,
)


def fill_template(found: FoundTemplate, context: PromptContext) -> str:
    """The prompt's text.

    Raises ``ConfigError`` naming an unknown placeholder, its file and its line, or a mode that the
    profile does not have.
    """
    try:
        return render(context, built_in_texts(), found.text)
    except ValueError as error:
        where = "" if found.path is None else f"{found.path}: "
        raise ConfigError(f"{where}{error}") from error


def which_wins(found: FoundTemplate) -> str | None:
    """That other templates were passed over for this one, in words; None: there were none."""
    if not found.shadowed:
        return None
    return f"the prompt comes from {found.path}, not from {', '.join(found.shadowed)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationPrompt:
    """The prompt of an agent."""

    text: str
    passed_over: str | None
    """Which templates were passed over for the one that was used, in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolLink:
    """How what runs in an iteration reaches the engine."""

    folder: Path
    """That of the iteration's socket."""
    token: str
    offer: McpOffer | None
    """How the agent is offered the tools; None: it is not."""


def prompt_of(
    workspace: Workspace, effect: LaunchAgent, plan: str, *, has_tools: bool = False
) -> IterationPrompt:
    """The prompt of an iteration; ``plan`` is the plan's text.

    Raises ``NotAllowed`` where the repository brings a template that nobody allowed.
    """
    root, config, mode = workspace.root, workspace.config, effect.context.mode
    found = find_template(root, config, mode, workspace.environment)
    if found.source is PromptSource.REPOSITORY and found.path and found.data is not None:
        claim = trust.claim_of_file(found.path, found.data)
        workspace.trust.require([claim])
    context = replace(effect.context, has_tools=has_tools)
    text = fill_template(found, workspace.source.with_context(context, plan))
    text = prompt_for(workspace.agent_for(effect.agent), text)
    return IterationPrompt(text=text, passed_over=which_wins(found))


def iteration_environment(
    workspace: Workspace, agent: Agent, *, start: int, iteration: int
) -> dict[str, str]:
    """The environment of a program that works in an iteration as an agent."""
    environment = agent_environment(
        workspace.environment,
        marker=workspace.marker(start),
        start=start,
        iteration=iteration,
        max_iterations=workspace.config.max_iterations,
        scratch=make_private_folder(workspace.files.scratch),
        extra=agent.env,
        only=workspace.config.env.only,
    )
    # Some agents go by it, not by their own folder; the caller's may be anywhere.
    environment["PWD"] = str(workspace.root)
    return environment


def launch_of(
    workspace: Workspace,
    effect: LaunchAgent,
    prompt: IterationPrompt,
    looking: WorktreeInspector,
    *,
    link: ToolLink | None = None,
) -> tuple[running_process.Launch, LeaveBox]:
    """What to start, and what to call when it has ended; writes the prompt where the agent may read
    it as a file.

    ``link`` is the iteration's socket, and how the agent is offered its tools.
    Raises ``AgentUnavailable`` where there is no such program.
    """
    prompt_file = workspace.files.prompt(effect.start)
    write_atomic(prompt_file, prompt.text.encode(), mode=PRIVATE_FILE)
    agent, shown = workspace.agent_for(effect.agent), OfferedFiles()
    environment = iteration_environment(
        workspace, agent, start=effect.start, iteration=effect.iteration
    )
    if link is not None:
        environment[SOCKET] = str(link.folder / iteration_socket.NAME)
        environment[TICKET] = link.token
        if link.offer is not None:
            agent, shown = with_tools(agent, link.offer, environment, workspace.files.folder)
    traced = looking.with_git_trace(environment, effect.start)
    trace = _own_trace(environment, traced)
    environment = traced
    more = flags_for(agent, session=effect.session, model=effect.model)
    usage = workspace.files.usage(effect.start, effect.attempt)
    asks = asking_for_usage(agent, usage)
    argv = fill_argv(asks, prompt.text, prompt_file, more)
    program = find_program(argv[0], environment, workspace.root)
    launch = running_process.Launch(
        argv=(str(program), *argv[1:]),
        cwd=workspace.root,
        environment=environment,
        stdin=prompt.text.encode() if agent.prompt is PromptBy.STDIN else None,
        stdout_path=workspace.files.output(effect.start, effect.attempt, "out"),
        stderr_path=workspace.files.output(effect.start, effect.attempt, "err"),
        marker=workspace.marker(effect.start),
        timeout_seconds=workspace.config.timeouts.iteration or None,
        idle_timeout_seconds=workspace.config.timeouts.idle or None,
        grace_seconds=running_process.GRACE_SECONDS,
        is_agent=True,
        keep=frozenset(workspace.config.keep_running),
        reaper_folder=workspace.files.folder,
    )
    files = BoxFiles(
        readable=(prompt_file, *shown.readable),
        writable=tuple(
            path
            for path in (workspace.files.scratch, usage, *trace, *shown.writable)
            if path.exists()
        ),
        hook=None if link is None else link.folder,
    )
    name = agent_of(agent_in_box((*argv, *agent.tail), agent.dialect))
    return in_box(workspace.sandbox.box, launch, agent=name, files=files)


def _own_trace(before: Mapping[str, str], traced: Mapping[str, str]) -> tuple[Path, ...]:
    """The folder that the agent's git writes what it does to, if it is the loop that has it."""
    if history.TARGET in before or history.TARGET not in traced:
        return ()
    return (Path(traced[history.TARGET]).parent,)


def emit_launch(
    workspace: Workspace,
    effect: LaunchAgent,
    prompt: IterationPrompt,
    started: running_process.RunningProcess,
) -> AgentLaunched:
    """The report that the agent has started; its arguments are without the prompt."""
    agent = workspace.agent_for(effect.agent)
    return AgentLaunched(
        agent=agent.name,
        argv=(*agent.argv, *flags_for(agent, session=effect.session, model=effect.model)),
        pid=started.pid,
        process_start_time=started.start_time,
        group=started.group,
        prompt_bytes=len(prompt.text.encode()),
        dialect=None if agent.dialect is Dialect.TEXT else agent.dialect,
        model=effect.model or agent.model,
    )


def leave_sandbox(workspace: Workspace, ended: running_process.ProcessExit) -> str | None:
    """End what an agent that was cut off left running in a sandbox; what went wrong, in words.

    No process in there is a child of ours, so that ending ours may leave them alive.
    """
    is_cut_off = ended.stopped or ended.timed_out or ended.idle or ended.overspent
    if not is_cut_off and ended.signal is None:
        return None
    return end_in_sandbox(workspace.config, workspace.root, workspace.environment)


def emit_agent_end(ended: running_process.ProcessExit) -> AgentFinished:
    """The report that the agent has ended."""
    return AgentFinished(
        exit_code=ended.exit_code,
        signal=ended.signal,
        timed_out=ended.timed_out,
        idle=ended.idle,
        overspent=ended.overspent,
        stopped=ended.stopped,
        killed=ended.killed,
        leftovers=ended.leftovers,
        seconds=round(ended.seconds, 3),
        stdout_bytes=ended.stdout_bytes,
        stderr_bytes=ended.stderr_bytes,
    )
