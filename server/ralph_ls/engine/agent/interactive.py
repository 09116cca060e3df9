"""Interactive agent: the agent's own program, in a session of an iteration, in the user's terminal.

It gets the user's environment and the variables of its settings, and none of the flags that let it
work unasked. No loop may run meanwhile; that is for the caller to see to.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from ralph_ls.engine.agent.environment import base_agent_environment, find_program
from ralph_ls.engine.agent.selection import adapter_of, is_session_id
from ralph_ls.protocol.config.agent import AgentConfig
from ralph_ls.protocol.config.agent_catalog import ACP_VARIANTS, CATALOG, AgentDescription
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import AgentUnavailable, UsageError
from ralph_ls.store.run.ancestry import MARKER
from ralph_ls.store.run.iterations import IterationSession

_OF_ITERATIONS = (MARKER, "RALPH_ITERATION", "RALPH_START")

_PLAIN_SCREEN = "\x1b[?1049l\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?25h\x1b[0m"
"""Leaves the alternate screen, mouse and paste modes of a program that was killed."""


class InteractiveAgent(NamedTuple):
    """What is started in the terminal."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]


def require_attachable(worked: IterationSession, config: Config) -> AgentDescription:
    """The catalog's entry of an iteration's agent; raises ``UsageError`` where none can be opened.

    ``config`` are the settings of its run.
    """
    name, number = worked.agent, worked.iteration
    if name is None:
        raise UsageError(f"iteration {number} started no agent; see: ralph show {number}")
    known = _description(name, config)
    if known is None or not known.resume:
        able = ", ".join(one.name for one in CATALOG.values() if one.resume)
        raise UsageError(
            f"iteration {number} was worked on by {name!r}, whose sessions cannot be opened again; "
            f"it works with {able}; see what the agent wrote: ralph logs {number}"
        )
    is_shared = any(folder.sessions for folder in known.folders)
    if config.sandbox.is_elsewhere or (config.sandbox.wants_box and not is_shared):
        raise UsageError(
            f"iteration {number} ran in a sandbox, which keeps its session to itself; "
            f"see what the agent wrote: ralph logs {number}"
        )
    return known


def interactive_agent(
    worked: IterationSession, config: Config, root: Path, caller: Mapping[str, str]
) -> InteractiveAgent:
    """The command that opens an iteration's session.

    Raises ``UsageError`` and ``AgentUnavailable``.
    """
    known, number = require_attachable(worked, config), worked.iteration
    if worked.session is None or not is_session_id(worked.session):
        raise UsageError(
            f"iteration {number} has no session: {worked.agent} named none; "
            f"see what it wrote: ralph logs {number}"
        )
    table = config.agents.get(worked.agent or "", AgentConfig())
    around = base_agent_environment(caller, extra={**known.env_as_root, **table.env})
    environment = {name: value for name, value in around.items() if name not in _OF_ITERATIONS}
    # Another path of the program was approved with the settings that named it.
    is_named = Path(worked.program).name == known.program
    program = find_program(worked.program if is_named else known.program, environment, root)
    resume = (part.replace("{session}", worked.session) for part in known.resume)
    model = worked.model or table.model
    given = () if model is None else (part.replace("{model}", model) for part in known.model)
    return InteractiveAgent((str(program), *resume, *given), environment)


def _description(name: str, config: Config) -> AgentDescription | None:
    adapter = adapter_of(name, config)
    if adapter is not None and adapter in CATALOG:
        return CATALOG[adapter]
    # Its client of the protocol has the sessions of the program itself.
    return CATALOG[name.removesuffix("-acp")] if name in ACP_VARIANTS else None


def run_in_terminal(agent: InteractiveAgent, root: Path) -> int:
    """Hand the terminal to the program and wait; its exit code, or the negative signal.

    The terminal is restored afterwards, however the program ended. Raises ``AgentUnavailable``.
    """
    with _terminal_kept(), _signals_left_to_program():
        try:
            process = subprocess.Popen(agent.argv, cwd=root, env=dict(agent.environment))
        except OSError as error:
            why = error.strerror or error
            raise AgentUnavailable(f"{agent.argv[0]} does not start: {why}") from error
        signal.signal(signal.SIGTERM, lambda *_: process.terminate())
        code = _wait(process)
        if code < 0:
            sys.stdout.write(_PLAIN_SCREEN)
            sys.stdout.flush()
    return code


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Wait for the end; Ctrl-Z stops both, and ``fg`` continues both."""
    while True:
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            process.returncode = os.waitstatus_to_exitcode(status)
            return process.returncode
        os.kill(os.getpid(), signal.SIGSTOP)
        os.kill(process.pid, signal.SIGCONT)


@contextlib.contextmanager
def _signals_left_to_program() -> Iterator[None]:
    """Keys that send signals reach the program; this process waits for its end."""
    # A function, since what is ignored would be ignored by the program as well.
    numbers = (signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP)
    before = {number: signal.signal(number, lambda *_: None) for number in numbers}
    before[signal.SIGTERM] = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def _terminal_kept() -> Iterator[None]:
    import termios

    descriptor = sys.stdin.fileno()
    saved = termios.tcgetattr(descriptor)
    try:
        yield
    finally:
        with contextlib.suppress(OSError, termios.error):
            termios.tcsetattr(descriptor, termios.TCSANOW, saved)
