"""What a sandbox around the agent means for the loop, and whether it can be had."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping

from ralph_ls.core.views.report.doctor_checks import passed_check, problem_check, warning_check
from ralph_ls.engine.agent_description import Agent
from ralph_ls.engine.sandbox.available import find_bubblewrap
from ralph_ls.engine.sandbox.commands import stop_command
from ralph_ls.protocol.config.agent import SandboxKind
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.json_output import CheckResult

ABSENT = (
    "hooks, state and the agent's environment are absent inside, so the loop's own checks stand"
)


def check_box(environment: Mapping[str, str], config: Config) -> list[CheckResult]:
    """Whether bubblewrap works here, found out by starting it; nothing on other systems."""
    found = find_bubblewrap(environment.get("PATH", ""))
    if found.works:
        is_used = config.sandbox.wants_box
        use = "the agent works in it" if is_used else "use it with: ralph run --sandbox"
        return [passed_check("bubblewrap", f"{found.program} works; {use}")]
    if config.sandbox.wants_box:
        is_required = config.sandbox.kind is SandboxKind.BWRAP
        result = problem_check if is_required else warning_check
        return [result("bubblewrap", f"{found.problem}, so the agent has no sandbox", found.remedy)]
    if not sys.platform.startswith("linux"):
        return []
    return [passed_check("bubblewrap", f"{found.problem}; for ralph run --sandbox, {found.remedy}")]


def check_sandbox(config: Config, agent: Agent) -> list[CheckResult]:
    """How the agent is started in it, what is not there, and what ends it; empty without one."""
    sandbox = config.sandbox
    if not sandbox.is_elsewhere:
        return []
    around = agent.tail[1:] if agent.tail[:1] == ("--",) else agent.argv
    shown = shlex.join(around[: len(sandbox.prefix) or around.index("--")])
    told = f"the agent is started with: {shown}; {ABSENT}"
    stop = stop_command(sandbox)
    if stop:
        return [
            passed_check(
                "sandbox", f"{told}; one that has to be ended is ended with: {' '.join(stop)}"
            )
        ]
    remedy = "name a command that ends it: stop under [sandbox] in .ralph/config.toml"
    if sandbox.prefix:
        # Many a prefix changes only what a process may do, and its processes are our children.
        return [passed_check("sandbox", f"{told}; if that leaves processes of its own, {remedy}")]
    message = f"{told}; nothing would end what runs inside when the agent has to be ended"
    return [warning_check("sandbox", message, remedy)]
