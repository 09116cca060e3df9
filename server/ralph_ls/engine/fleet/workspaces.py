"""Workspaces of a fleet: what a plan, a merge or a lane's setup needs of a repository's work tree.

They are those of a run, without the run: settings, agents, plan and approvals are read as at a
run's start, and nothing is written or recovered.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ralph_ls.core.redaction.redactor import Redactor
from ralph_ls.core.redaction.secret_names import secrets_of_addresses
from ralph_ls.engine.agent.run_agents import describe_agents, require_metered, secrets_around
from ralph_ls.engine.agent.selection import with_agent
from ralph_ls.engine.parallel.lane_worktree import LaneTree
from ralph_ls.engine.plan.plan_file import config_for_task
from ralph_ls.engine.plan.selection import locate_plan, source_of
from ralph_ls.engine.run.preparation import claims_here
from ralph_ls.engine.sandbox.selection import choose_sandbox
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.fleet import FleetRepository
from ralph_ls.store.files import make_private_folder
from ralph_ls.store.project import trust
from ralph_ls.store.project.config_file import load_settings, require_one_profile


def open_workspace(
    tree: LaneTree,
    environment: Mapping[str, str],
    overrides: Mapping[str, Any],
    *,
    run: str,
    approved: Mapping[str, str],
    needs_approval: bool = True,
) -> Workspace:
    """The workspace of a checked-out tree.

    Raises ``NotAllowed`` where it brings what was not approved, unless ``needs_approval`` is off,
    and any other ``RalphError`` that a run there would begin with.
    """
    root = tree.root
    trust.write_record(tree.state, trust.TrustRecord(root=str(root), allowed=dict(approved)))
    settings = load_settings(root, environment, overrides)
    require_one_profile(settings)
    settings = with_agent(settings, environment, root)
    # Lanes are set up, as in a parallel run.
    parallel = settings.config.model_copy(update={"parallel": 2})
    claims = claims_here(tree.worktree, tree.state, replace(settings, config=parallel))
    allowed = trust.RunTrust(trust.read_record(tree.state).allowed)
    if needs_approval:
        allowed.require(claims)
    agents = describe_agents(settings.config)
    require_metered(settings, agents)
    redactor = Redactor(
        secrets={
            **secrets_around(environment, agents, root),
            **secrets_of_addresses(settings.config.notify.urls),
        }
    )
    plan = locate_plan(root, settings, environment)
    source = source_of(root, settings.config, plan.path, environment, redact=redactor.redact)
    if settings.config.task is not None:
        config = config_for_task(settings.config, source.parse(plan.text).plan)
        settings = replace(settings, config=config)
    files = tree.state.run(run)
    make_private_folder(files.folder)
    return Workspace(
        worktree=tree.worktree,
        state=tree.state,
        run=run,
        files=files,
        config=settings.config,
        agent=agents[settings.config.agent],
        agents=agents,
        source=source,
        environment=environment,
        redactor=redactor,
        claims=claims,
        trust=allowed,
        sandbox=choose_sandbox(settings, tree.worktree, tree.state, environment),
    )


def repository_overrides(repository: FleetRepository) -> dict[str, Any]:
    """The settings of a repository's tasks that ``fleet.toml`` sets."""
    found: dict[str, Any] = {
        "paths.plan": repository.plan,
        "profile": repository.profile,
        "agent": repository.agent,
        "max_iterations": repository.max_iterations,
        "max_cost_usd": repository.max_cost_usd,
        "max_duration": repository.max_duration,
    }
    if repository.agent_command is not None:
        table = {"argv": shlex.split(repository.agent_command), "prompt": "stdin"}
        found |= {"agent": "command", "agents.command": table}
    return {key: value for key, value in found.items() if value is not None}
