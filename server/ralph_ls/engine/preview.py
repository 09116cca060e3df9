"""What ``run`` would do first, without doing it (``--dry-run``)."""

from __future__ import annotations

from dataclasses import dataclass

from ralph_ls.core.loop.gate import wanted
from ralph_ls.core.loop.profiles import profile_of, require_runnable
from ralph_ls.core.prompt.context import PromptContext
from ralph_ls.engine.agent_choice import choose_agent
from ralph_ls.engine.plans import (
    facts_of,
    find_plan,
    parse_plan,
    read_plan_text,
    require_task,
)
from ralph_ls.engine.preparation import RunRequest, claims_here
from ralph_ls.engine.prompts import fill_template
from ralph_ls.protocol.config import Config
from ralph_ls.store import trust
from ralph_ls.store.config_file import load_settings
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
    task: str | None
    prompt: str
    plan_path: str
    not_allowed: tuple[str, ...]


def preview(request: RunRequest) -> Preview:
    """What ``run`` would do first; takes no lock and starts nothing."""
    worktree = find_worktree(request.folder)
    state = state_folder(state_root(request.environment), worktree)
    settings = load_settings(worktree.root, request.environment, request.overrides)
    config = settings.config
    require_runnable(config)
    agent = choose_agent(config)
    plan_path = find_plan(worktree.root, profile_of(config.profile).plan_files, config.paths.plan)
    text = read_plan_text(worktree.root, plan_path)
    plan = parse_plan(text, config)
    if config.task is not None:
        require_task(plan, config.task)
    task = facts_of(plan, text, config).next_task
    title = None if task is None else task.title
    context = PromptContext(
        iteration=1,
        max_iterations=config.max_iterations,
        plan_path=plan_path,
        decide_path=config.paths.decide,
        blocked_path=config.paths.blocked,
        complete_word=config.promise.complete,
        completion=wanted(config.gate, config.promise.complete),
        task=title,
        confirming=task is None,
    )
    claims = claims_here(worktree, settings)
    return Preview(
        settings=config,
        argv=agent.argv,
        task=title,
        prompt=fill_template(worktree.root, config, context),
        plan_path=plan_path,
        not_allowed=tuple(claim.key for claim in trust.not_allowed(state, claims)),
    )
