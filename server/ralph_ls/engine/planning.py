"""The plan that a run begins with, and whether an iteration is there to write it (SPEC §8).

Where there is no plan yet the profile says what to do: refuse, write an empty one, or have the
agent write it. What a start would do is found here without doing it, so that ``--dry-run`` says
the same.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from pathlib import Path

from ralph_ls.core.loop.inputs import Notice
from ralph_ls.core.loop.profiles import WithoutPlan, profile_of
from ralph_ls.core.plan.skeleton import fix_plan_skeleton
from ralph_ls.core.plan.specs import FOLDER
from ralph_ls.core.words import count_of
from ralph_ls.engine.plans import (
    find_plan,
    parse_plan,
    read_plan_text,
    require_task,
    reset_for_replanning,
)
from ralph_ls.protocol.config import Config, FirstMode
from ralph_ls.protocol.errors import PlanMissing, UsageError
from ralph_ls.protocol.run_words import Mode
from ralph_ls.store.config_file import Settings
from ralph_ls.store.files import resolve_inside, write_atomic
from ralph_ls.store.specs import find_specs

SHOWN_TASKS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFound:
    """The plan of a run that is about to begin."""

    path: str
    """Relative to the root."""
    text: str
    """Empty where the first iteration writes it."""
    is_to_write: bool = False
    """The text is not there yet: a start writes it."""


def look_for_plan(root: Path, settings: Settings, *, resume: bool = False) -> PlanFound:
    """The plan that a start works on; writes nothing.

    Raises ``PlanMissing`` where there is none and none comes about by itself, and ``UsageError``
    where the task that was asked for is not in it.
    """
    config = settings.config
    if config.task is not None and config.mode is FirstMode.PLAN:
        raise UsageError(
            "a plan iteration is for the whole plan, so --task and --mode plan do not go together; "
            "leave one of them out"
        )
    try:
        path = find_plan(root, profile_of(config.profile).plan_files, config.paths.plan)
        found = PlanFound(path=path, text=read_plan_text(root, path))
    except PlanMissing:
        instead = _without_plan(root, settings, resume=resume)
        if instead is None:
            raise
        found = instead
    if config.task is not None:
        require_task(parse_plan(found.text, config), config.task)
    if writes_plan(config) and not found.text.strip() and not find_specs(root):
        raise PlanMissing(
            f"there is neither a plan nor a specification in {root}: write what is to be built "
            f"into {FOLDER}/, such as {FOLDER}/login.md, or the tasks into {found.path}"
        )
    return found


def begin_plan(root: Path, settings: Settings, found: PlanFound, *, resume: bool) -> list[Notice]:
    """Do to the plan what a start does, and tell it: write an empty one, reset what is in progress.

    Call it while holding the lock. Raises ``StateUnusable`` where the plan cannot be written.
    """
    config = settings.config
    notices: list[Notice] = []
    if found.is_to_write:
        target = resolve_inside(root, found.path)
        with contextlib.suppress(OSError):
            # What is wrong with the folder is said by the writing.
            target.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(target, found.text.encode())
        message = (
            f"there was no plan, so {found.path} was written with its sections and no task; "
            "write your tasks into it, the loop takes them as they come"
        )
        notices.append(Notice(code="plan-written", message=message))
    elif config.mode is FirstMode.PLAN and not resume and found.text.strip():
        notices += _reset(root, found.path)
    return notices


def writes_plan(config: Config) -> bool:
    """Whether a plan that is missing is written by the agent, in an iteration of its own."""
    policy = profile_of(config.profile).without_plan
    return policy is WithoutPlan.PLAN and config.task is None


def mode_of(config: Config, text: str, *, counted: int) -> Mode:
    """What the next iteration is for, after so many that count.

    A plan without a character is no plan. The wish to plan first is fulfilled by the first
    iteration that counts.
    """
    if writes_plan(config) and not text.strip():
        return Mode.PLAN
    wanted = config.mode is FirstMode.PLAN and counted == 0 and config.task is None
    return Mode.PLAN if wanted else Mode.BUILD


def _without_plan(root: Path, settings: Settings, *, resume: bool) -> PlanFound | None:
    """What a start works on where there is no plan; None: nothing, the run is refused."""
    config = settings.config
    profile = profile_of(config.profile)
    # A plan that was named for this run and is not there is a slip of the hand.
    if config.task is not None or "paths.plan" in settings.overrides or not profile.plan_files:
        return None
    path = config.paths.plan or profile.plan_files[0]
    if resolve_inside(root, path).exists() or (root / path).is_symlink():
        return None
    if profile.without_plan is WithoutPlan.PLAN:
        return PlanFound(path=path, text="")
    is_wanted = settings.names_profile and not resume
    if profile.without_plan is WithoutPlan.SKELETON and is_wanted:
        return PlanFound(path=path, text=fix_plan_skeleton(), is_to_write=True)
    return None


def _reset(root: Path, path: str) -> list[Notice]:
    reset = reset_for_replanning(root, path)
    notices: list[Notice] = []
    if reset.opened:
        message = f"opened again for planning: {_titles(reset.opened)}"
        notices.append(Notice(code="plan-reset", message=message))
    if reset.left:
        message = (
            f"still in progress in the plan, since their state is no box and no tag: "
            f"{_titles(reset.left)}; mark them as open yourself, if nobody is at them"
        )
        notices.append(Notice(code="plan-not-reset", message=message))
    return notices


def _titles(titles: tuple[str, ...]) -> str:
    n_more = len(titles) - SHOWN_TASKS
    more = [f"and {count_of(n_more, 'more task')}"] if n_more > 0 else []
    return "; ".join([*titles[:SHOWN_TASKS], *more])
