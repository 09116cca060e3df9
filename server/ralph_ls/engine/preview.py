"""What ``run`` would do first, without doing it (``--dry-run``)."""

from __future__ import annotations

from dataclasses import dataclass

from ralph_ls.core.loop.gate import wanted
from ralph_ls.core.loop.profiles import require_runnable
from ralph_ls.core.prompt.context import PromptContext
from ralph_ls.engine.agent_choice import choose_agent
from ralph_ls.engine.planning import look_for_plan, mode_of
from ralph_ls.engine.plans import facts_of, parse_plan
from ralph_ls.engine.preparation import RunRequest, claims_here
from ralph_ls.engine.prompts import fill_template
from ralph_ls.protocol.config import Config
from ralph_ls.protocol.run_words import Mode
from ralph_ls.store import trust
from ralph_ls.store.config_file import load_settings, require_one_profile
from ralph_ls.store.layout import (
    find_worktree,
    state_folder,
    state_root,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """What a run would do first; nothing of it was started (``--dry-run``)."""

    settings: Config
    argv: tuple[str, ...]
    mode: Mode
    """What the first iteration is for."""
    task: str | None
    prompt: str
    plan_path: str
    not_allowed: tuple[str, ...]


def preview(request: RunRequest) -> Preview:
    """What ``run`` would do first; takes no lock and starts nothing."""
    worktree = find_worktree(request.folder)
    state = state_folder(state_root(request.environment), worktree)
    settings = load_settings(worktree.root, request.environment, request.overrides)
    require_one_profile(settings)
    config = settings.config
    require_runnable(config)
    agent = choose_agent(config)
    found = look_for_plan(worktree.root, settings)
    mode = mode_of(config, found.text, counted=0)
    task = facts_of(parse_plan(found.text, config), found.text, config).next_task
    title = None if task is None or mode is Mode.PLAN else task.title
    context = PromptContext(
        iteration=1,
        mode=mode,
        max_iterations=config.max_iterations,
        plan_path=found.path,
        decide_path=config.paths.decide,
        blocked_path=config.paths.blocked,
        complete_word=config.promise.complete,
        completion=wanted(config.gate, config.promise.complete),
        task=title,
        confirming=title is None and mode is Mode.BUILD,
    )
    claims = claims_here(worktree, settings)
    return Preview(
        settings=config,
        argv=agent.argv,
        mode=mode,
        task=title,
        prompt=fill_template(worktree.root, config, context),
        plan_path=found.path,
        not_allowed=tuple(claim.key for claim in trust.not_allowed(state, claims)),
    )
