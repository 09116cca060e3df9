"""What can be chosen when a loop is set up here, for a wizard; only looked at, nothing written."""

from __future__ import annotations

from collections.abc import Mapping

from ralph_ls.cli.context import Place
from ralph_ls.core.loop.profiles import profile_of
from ralph_ls.engine.agent.selection import with_agent
from ralph_ls.engine.run.setup import find_agents
from ralph_ls.protocol.config.config import CONFIG_FILE, ProfileName
from ralph_ls.protocol.errors import UsageError
from ralph_ls.protocol.lsp.setup import (
    AgentChoice,
    ProfileChoice,
    SetupChoicesResult,
    SetupDefaults,
)
from ralph_ls.store.project.config_file import LoadedSettings, load_settings
from ralph_ls.store.run.launch import EDITOR_LIMIT
from ralph_ls.store.setup.setup import PROFILES_WITHOUT_ITEMS, existing_plan
from ralph_ls.store.setup.task_templates import load_templates

_WORDS = {
    ProfileName.FIXPLAN: (
        "Fix plan",
        "One list of tasks by priority; the agent works it off and reports",
    ),
    ProfileName.SPEC: (
        "Specifications",
        "Specifications in specs/, and a plan that the agent keeps in step with them",
    ),
    ProfileName.STORIES: (
        "User stories",
        "Stories in a JSON file, each implemented, reviewed and approved in iterations of its own",
    ),
    ProfileName.BEADS: (
        "Beads",
        "The issues that bd keeps: the loop takes what is ready until nothing is",
    ),
    ProfileName.ISSUE: (
        "Issue",
        "One request, from a file or a GitHub issue, until it is done or a question is open",
    ),
}
"""Title and detail of each, in the order in which they are offered."""

PROFILES = tuple(
    ProfileChoice(
        name=name,
        title=title,
        detail=detail,
        plan=next(iter(profile_of(name).plan_files), ""),
        needs_items=name not in PROFILES_WITHOUT_ITEMS,
    )
    for name, (title, detail) in _WORDS.items()
)


def setup_choices(place: Place, environment: Mapping[str, str]) -> SetupChoicesResult:
    """All of it; raises ``ConfigError`` where the settings cannot be read."""
    root = place.worktree.root
    settings = load_settings(root, environment, {})
    config = settings.config
    templates = load_templates(environment)
    is_clear = settings.names_profile or len(settings.detected) == 1
    agents = find_agents(place.worktree, place.state, settings, environment)
    agent = _default_agent(settings, environment, place, agents)
    return SetupChoicesResult(
        profiles=PROFILES,
        profile=config.profile if is_clear else None,
        templates=templates.choices,
        template_folder=str(templates.folder),
        agents=agents,
        existing_plan=existing_plan(root),
        already_set_up=(root / CONFIG_FILE).exists(),
        defaults=SetupDefaults(
            max_iterations=config.max_iterations or EDITOR_LIMIT,
            timeout=config.timeout,
            completion_phrase=config.promise.complete,
            agent=agent,
            max_cost_usd=config.max_cost_usd,
        ),
        notes=templates.problems,
    )


def _default_agent(
    settings: LoadedSettings,
    environment: Mapping[str, str],
    place: Place,
    agents: tuple[AgentChoice, ...],
) -> str:
    """The one that a run would take; where it would ask which is meant, the first that is here."""
    try:
        name = with_agent(settings, environment, place.worktree.root).config.agent
    except UsageError:
        return agents[0].name
    return name if name in {one.name for one in agents} else agents[0].name
