"""What is said of the agents that are known by name: which are here, how to get others."""

from __future__ import annotations

from collections.abc import Iterable

from ralph_ls.core.views.doctor.results import well
from ralph_ls.protocol.json_output import AgentSeen, CheckResult


def check_agents(agents: Iterable[AgentSeen]) -> list[CheckResult]:
    """One line for each that is installed, and one for all others.

    None of it is a problem: whether the run's own agent can be started is a check of its own, and
    whether somebody is logged in is known to the agent alone.
    """
    seen = list(agents)
    found = [
        well("agents", f"{_called(agent)} ({agent.program}), {_account(agent)}")
        for agent in seen
        if agent.program is not None
    ]
    missing = [f"{agent.name} ({agent.install})" for agent in seen if agent.program is None]
    if missing:
        found.append(well("agents", f"not installed: {', '.join(missing)}"))
    return found


def _called(agent: AgentSeen) -> str:
    return f"{agent.name} {agent.version or 'of a version that it does not tell'}"


def _account(agent: AgentSeen) -> str:
    if agent.account is not None:
        return f"logged in as far as can be seen: {agent.account}"
    return f"no sign of a login was seen; log in with: {agent.login}"
