"""What can be chosen when a loop is set up here, for a wizard; only looked at, nothing written."""

from __future__ import annotations

from collections.abc import Mapping

from ralph_ls.cli.context import Place
from ralph_ls.core.loop.profiles import FIXPLAN, SPEC
from ralph_ls.engine.agents_found import find_agents
from ralph_ls.protocol.config import CONFIG_FILE
from ralph_ls.protocol.setup import ProfileChoice, SetupChoicesResult, SetupDefaults
from ralph_ls.store.config_file import load_settings
from ralph_ls.store.setting_up import existing_plan
from ralph_ls.store.setup_templates import load_templates
from ralph_ls.store.starting import EDITOR_LIMIT

PROFILES = (
    ProfileChoice(
        name=FIXPLAN.name,
        title="Fix plan",
        detail="One list of tasks by priority; the agent works it off and reports",
        plan=FIXPLAN.plan_files[0],
    ),
    ProfileChoice(
        name=SPEC.name,
        title="Specifications",
        detail="Specifications in specs/, and a plan that the agent keeps in step with them",
        plan=SPEC.plan_files[0],
    ),
)


def setup_choices(place: Place, environment: Mapping[str, str]) -> SetupChoicesResult:
    """All of it; raises ``ConfigError`` where the settings cannot be read."""
    root = place.worktree.root
    settings = load_settings(root, environment, {})
    config = settings.config
    templates = load_templates(environment)
    names = {profile.name for profile in PROFILES}
    is_clear = settings.names_profile or len(settings.detected) == 1
    agents = find_agents(place.worktree, place.state, settings, environment)
    agent = config.agent if config.agent in {one.name for one in agents} else agents[0].name
    return SetupChoicesResult(
        profiles=PROFILES,
        profile=config.profile if is_clear and config.profile in names else None,
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
