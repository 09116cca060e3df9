"""Environment of an agent: its variables, its program, and the sandbox that starts it.

The engine may have been started by an editor, by a git hook or from a virtual environment; an agent
gets the user's environment, as if the user had typed its name into a terminal. This process's
environment is never read implicitly.

``docker sandbox run NAME -- -p "$PROMPT"`` knows how its agent is called, so the agent's program is
left out of the command line; any other prefix is put in front of all of it. Nothing of the loop is
in such a sandbox: no hooks, no state, no variables. See docs/rules.md#sandbox.
"""

from __future__ import annotations

import fnmatch
import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ralph_ls.engine.agent.description import Agent, install_of
from ralph_ls.protocol.config.agent import PromptBy, SandboxConfig, SandboxKind
from ralph_ls.protocol.config.agent_catalog import CATALOG, Dialect
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import AgentUnavailable, ConfigError, RalphError
from ralph_ls.store.external.git_command import without_git_redirections
from ralph_ls.store.external.supervisor import run
from ralph_ls.store.run.ancestry import MARKER

_EDITOR_PREFIXES = ("VSCODE_", "ELECTRON_")
_INTERPRETER_NAMES = frozenset({"PYTHONPATH", "PYTHONHOME"})
_OWN_PREFIX = "RALPH_"
_KEPT_PREFIX = ("RALPH_DEMO_", "RALPH_LANE")
"""Variables by which the user controls the demo agent, such as its pace; the number of a lane."""


def agent_environment(
    caller: Mapping[str, str],
    *,
    marker: str,
    start: int,
    iteration: int,
    max_iterations: int | None,
    scratch: Path | None,
    extra: Mapping[str, str] | None = None,
    only: Sequence[str] | None = None,
) -> dict[str, str]:
    """The environment of one iteration's agent.

    ``caller`` without variables of ours, of the editor or of a running git command;
    with ``only``, an allow list of names and patterns such as ``LC_*``, nothing else of it. Then
    ``extra``, from the configuration. Then what names the iteration: ``marker`` is
    ``<run>/<start>``; ``RALPH_ITERATION`` is the number that users read, ``RALPH_START`` one that
    is never used again in the run; ``RALPH_MAX_ITERATIONS`` is unset where there is no limit.
    """
    environment = _without_foreign(caller)
    if only is not None:
        environment = {
            name: value
            for name, value in environment.items()
            if any(fnmatch.fnmatchcase(name, allowed) for allowed in only)
        }
    environment.update(extra or {})
    environment[MARKER] = marker
    environment["RALPH_ITERATION"] = str(iteration)
    environment["RALPH_START"] = str(start)
    optional = {
        "RALPH_MAX_ITERATIONS": None if max_iterations is None else str(max_iterations),
        "RALPH_SCRATCH": None if scratch is None else str(scratch),
    }
    environment.update({name: value for name, value in optional.items() if value is not None})
    return environment


def base_agent_environment(
    caller: Mapping[str, str],
    *,
    extra: Mapping[str, str] | None = None,
    only: Sequence[str] | None = None,
) -> dict[str, str]:
    """The agent's environment outside of any iteration, for finding and running programs."""
    return agent_environment(
        caller,
        marker="",
        start=0,
        iteration=0,
        max_iterations=None,
        scratch=None,
        extra=extra,
        only=only,
    )


def find_program(name: str, environment: Mapping[str, str], cwd: Path) -> Path:
    """The path of the agent's program, as the agent's own environment would find it.

    A name with a slash is relative to ``cwd``. Relative entries of PATH are skipped: they
    would let a repository bring the program. Raises ``AgentUnavailable`` with the PATH
    that was searched, one entry a line.
    """
    if not name:
        raise AgentUnavailable(
            "the agent's command is empty; set argv in .ralph/config.toml, or use --agent-command"
        )
    if Path(name).name != name:
        return _find_by_path(name, cwd)
    entries = _split(environment.get("PATH", ""))
    searched = [entry for entry in entries if Path(entry).is_absolute()]
    found = shutil.which(name, path=os.pathsep.join(searched)) if searched else None
    if found is not None:
        return Path(found)
    lines = [f"the agent's program {name!r} was not found on PATH, which is:"]
    lines += [f"  {entry}" for entry in searched] or ["  (nothing)"]
    if len(searched) < len(entries):
        lines.append("relative entries of PATH are not searched")
    install = install_of(name)
    get_it = "install it" if install is None else f"install it with {install}"
    lines.append(f"{get_it}, give its full path, or choose another agent with --agent")
    raise AgentUnavailable("\n".join(lines))


def _find_by_path(name: str, cwd: Path) -> Path:
    program = cwd / name
    # The path of a program needs no PATH; on Windows this adds what PATHEXT names.
    found = shutil.which(program)
    if found is not None:
        return Path(found)
    if program.is_dir():
        reason, remedy = "is a folder", "name the program in it"
    elif program.exists():
        reason, remedy = "is not executable", f"run: chmod +x {program}"
    else:
        reason, remedy = "does not exist", "fix the path, or choose another agent with --agent"
    raise AgentUnavailable(f"the agent's program {program} {reason}; {remedy}")


def _without_foreign(caller: Mapping[str, str]) -> dict[str, str]:
    environment = {
        name: value
        for name, value in without_git_redirections(caller).items()
        if name not in _INTERPRETER_NAMES
        and not name.startswith(_EDITOR_PREFIXES)
        and (name.startswith(_KEPT_PREFIX) or not name.startswith(_OWN_PREFIX))
    }
    if any(name.startswith("VSCODE_GIT_ASKPASS") for name in caller):
        # The editor's answer to git's questions, which does not work without its variables.
        environment.pop("GIT_ASKPASS", None)
    _leave_own_virtual_environment(environment)
    return environment


def _leave_own_virtual_environment(environment: dict[str, str]) -> None:
    """Remove the virtual environment that this interpreter runs in, and no other."""
    if sys.prefix == sys.base_prefix:
        return
    own = _real(sys.prefix)
    if _real(environment.get("VIRTUAL_ENV", "")) == own:
        environment.pop("VIRTUAL_ENV", None)
        environment.pop("VIRTUAL_ENV_PROMPT", None)
    if "PATH" in environment:
        programs = _real(str(Path(own, "Scripts" if os.name == "nt" else "bin")))
        kept = [entry for entry in _split(environment["PATH"]) if _real(entry) != programs]
        environment["PATH"] = os.pathsep.join(kept)


def _split(path: str) -> list[str]:
    return path.split(os.pathsep) if path else []


@functools.lru_cache(maxsize=256)
def _real(path: str) -> str:
    """A comparable form of a path; empty for an empty one, which would be the current folder."""
    return os.path.normcase(os.path.realpath(path)) if path else ""


STOP_SECONDS = 10.0
"""Time limit of the command that ends an agent in a sandbox."""

RUN: Mapping[SandboxKind, tuple[str, ...]] = {
    SandboxKind.DOCKER: ("docker", "sandbox", "run"),
    SandboxKind.SBX: ("sbx", "run"),
}
STOP: Mapping[SandboxKind, tuple[str, ...]] = {
    SandboxKind.DOCKER: ("docker", "sandbox", "stop"),
    SandboxKind.SBX: ("sbx", "stop"),
}


def in_sandbox(agent: Agent, config: Config) -> Agent:
    """The agent as it is started in the sandbox of the settings; itself where there is none.

    Raises ``ConfigError`` for an agent that the sandbox's program does not know.
    """
    sandbox = config.sandbox
    if not sandbox.is_elsewhere:
        return agent
    # Our client of the Agent Client Protocol stays outside of the sandbox.
    is_behind = agent.dialect is Dialect.ACP and agent.tail[:1] == ("--",)
    inner = agent.tail[1:] if is_behind else agent.argv
    kind = sandbox.program
    if kind is not None and not _is_known_in_containers(Path(inner[0]).name):
        raise ConfigError(
            f"sandbox: {' '.join(RUN[kind])} has no agent {Path(inner[0]).name!r}; write the "
            "whole command with prefix under [sandbox], or choose another agent"
        )
    if agent.prompt is PromptBy.FILE:
        raise ConfigError(
            f"the agent {config.agent!r} reads its prompt from a file, which is not visible in "
            "the sandbox; use {prompt} instead of {prompt_file}, or stdin or argument: "
            f"--agent-prompt, or prompt under [agents.{config.agent}]"
        )
    if is_behind:
        inside = _around(sandbox, inner)
        return replace(agent, tail=("--", *inside), program=inside[0])
    agent = _with_prompt(agent, sandbox)
    return replace(agent, argv=_around(sandbox, agent.argv), program="")


def _is_known_in_containers(program: str) -> bool:
    return any(agent.in_containers for agent in CATALOG.values() if agent.program == program)


def stop_command(sandbox: SandboxConfig) -> tuple[str, ...]:
    """The command that ends the agent in the sandbox; empty where there is none."""
    if sandbox.stop is not None:
        return sandbox.stop
    kind = sandbox.program
    return () if kind is None or sandbox.name is None else (*STOP[kind], sandbox.name)


def end_in_sandbox(config: Config, root: Path, environment: Mapping[str, str]) -> str | None:
    """End what still runs in the sandbox, also where the process that led into it is gone.

    Returns an error message, or None. Blocks for at most ``STOP_SECONDS``.
    """
    argv = stop_command(config.sandbox)
    if not argv:
        return None
    around = base_agent_environment(
        environment,
        only=config.env.only,
    )
    what = f"the stop command of the sandbox ({' '.join(argv)})"
    try:
        program = find_program(argv[0], around, root)
        done = run((str(program), *argv[1:]), cwd=root, environment=around, seconds=STOP_SECONDS)
    except (RalphError, OSError) as error:
        words = error.message if isinstance(error, RalphError) else str(error)
        return f"{what} could not be started: {words.splitlines()[0]}; stop the sandbox by hand"
    except subprocess.TimeoutExpired:
        return (
            f"{what} took longer than {STOP_SECONDS:g} s; check whether the agent is still running"
        )
    code = done.code
    return f"{what} ended with {code}; check whether the agent is still running" if code else None


def _with_prompt(agent: Agent, sandbox: SandboxConfig) -> Agent:
    """Pass the prompt into the sandbox; for ``claude`` as an argument behind ``-p``."""
    is_claude = sandbox.program is not None and agent.dialect is Dialect.CLAUDE
    wanted = sandbox.prompt or (PromptBy.ARGUMENT if is_claude else agent.prompt)
    if wanted is agent.prompt:
        return agent
    if wanted is PromptBy.STDIN:
        return replace(agent, prompt=wanted)
    argv = agent.argv
    if agent.dialect is Dialect.CLAUDE and "-p" in argv:
        # Behind a flag that takes a list, it would be taken for one more tool.
        at = argv.index("-p") + 1
        argv = (*argv[:at], "{prompt}", *argv[at:])
    tail = () if agent.tail == ("-",) else agent.tail
    return replace(agent, prompt=wanted, argv=argv, tail=tail)


def _around(sandbox: SandboxConfig, argv: tuple[str, ...]) -> tuple[str, ...]:
    kind = sandbox.program
    if kind is None:
        return (*sandbox.prefix, *argv)
    return (*RUN[kind], sandbox.name or Path(argv[0]).name, "--", *argv[1:])
