"""What a sandbox around the agent means for the loop (SPEC §10)."""

from __future__ import annotations

import shlex

from ralph_ls.core.views.doctor.results import warning, well
from ralph_ls.engine.agent_description import Agent
from ralph_ls.engine.sandbox import stop_command
from ralph_ls.protocol.config import Config
from ralph_ls.protocol.doctor import CheckResult

ABSENT = (
    "hooks, state and the agent's environment are absent inside, so the loop's own checks stand"
)


def check_sandbox(config: Config, agent: Agent) -> list[CheckResult]:
    """How the agent is started in it, what is not there, and what ends it; empty without one."""
    sandbox = config.sandbox
    if not sandbox.is_on:
        return []
    around = agent.tail[1:] if agent.tail[:1] == ("--",) else agent.argv
    shown = shlex.join(around[: len(sandbox.prefix) or around.index("--")])
    told = f"the agent is started with: {shown}; {ABSENT}"
    stop = stop_command(sandbox)
    if stop:
        return [
            well("sandbox", f"{told}; one that has to be ended is ended with: {' '.join(stop)}")
        ]
    remedy = "name a command that ends it: stop under [sandbox] in .ralph/config.toml"
    if sandbox.prefix:
        # Many a prefix changes only what a process may do, and its processes are our children.
        return [well("sandbox", f"{told}; if that leaves processes of its own, {remedy}")]
    message = f"{told}; nothing would end what runs inside when the agent has to be ended"
    return [warning("sandbox", message, remedy)]
