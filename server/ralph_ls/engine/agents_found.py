"""Which agents could be started here: those that are built in, and those that settings describe.

Only looked for, never started. This module must never know what any of them does.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ralph_ls.engine.agent_choice import BUILT_IN, choose_agent
from ralph_ls.engine.known_agents import install_of
from ralph_ls.engine.preparation import claims_here, require_program
from ralph_ls.protocol.config.config import SessionConfig
from ralph_ls.protocol.errors import AgentUnavailable, RalphError
from ralph_ls.protocol.lsp.setup import AgentChoice
from ralph_ls.store.layout import StateFolder, Worktree
from ralph_ls.store.project import trust
from ralph_ls.store.project.config_file import LoadedSettings

DEMO = "demo"


def find_agents(
    worktree: Worktree, state: StateFolder, settings: LoadedSettings, environment: Mapping[str, str]
) -> tuple[AgentChoice, ...]:
    """Every agent that can be named, those that were found first, ``demo`` behind them."""
    names = dict.fromkeys([*BUILT_IN, *sorted(settings.config.agents)])
    choices = [_choice(name, worktree, state, settings, environment) for name in names]
    return tuple(sorted(choices, key=lambda one: (not one.found, one.name == DEMO)))


def _choice(
    name: str,
    worktree: Worktree,
    state: StateFolder,
    settings: LoadedSettings,
    environment: Mapping[str, str],
) -> AgentChoice:
    plain = {"agent": name, "session": SessionConfig()}
    if name == DEMO:
        plain["tools"] = None
    own = LoadedSettings(
        config=settings.config.model_copy(update=plain),
        from_file=settings.from_file,
        overrides=settings.overrides,
    )
    claims = [claim for claim in claims_here(worktree, state, own) if claim.agent is not None]
    needs_allow = bool(trust.unapproved_claims(state, claims))
    if name == DEMO:
        detail = "Scripted, for the sample project and for trying out; no key, no network"
        return AgentChoice(name=name, found=True, detail=detail, needs_allow=needs_allow)
    try:
        agent = choose_agent(own.config)
        program = require_program(agent.program or agent.argv[0], environment, worktree, own)
    except RalphError as error:
        first = error.message.splitlines()[0].removesuffix(", which holds:")
        install = install_of(name)
        if install is not None and isinstance(error, AgentUnavailable):
            # That it is not on PATH is said beside it, and there is room for one line.
            first = f"install it with {install}"
        return AgentChoice(name=name, found=False, detail=first, needs_allow=needs_allow)
    return AgentChoice(name=name, found=True, detail=_told(program), needs_allow=needs_allow)


def _told(program: Path) -> str:
    return str(program).encode("utf-8", errors="backslashreplace").decode()
