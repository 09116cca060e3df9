"""Profiles: presets of settings, as data (docs/rules.md#profiles).

A profile is nothing but values for the settings of ``protocol.config``, so each of them can be
overridden, and no rule depends on the profile itself. Each has every row of the table, also where a
row equals the default of ``Config``: one screen shows the whole profile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from ralph_ls.core.plan.model import PlanKind
from ralph_ls.protocol.config.config import Config, ProfileName
from ralph_ls.protocol.run.report import ReportKind


class WithoutPlan(StrEnum):
    """What a start does where there is no plan yet (docs/rules.md#plan-mode)."""

    REFUSE = "refuse"
    SKELETON = "skeleton"
    """Write the four sections of a fix plan, where the user chose the profile
    (docs/rules.md#plan-mode).
    """
    PLAN = "plan"
    """Have the agent write it, in a separate iteration (docs/rules.md#plan-mode)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One preset."""

    name: ProfileName
    plan_kind: PlanKind
    plan_files: tuple[str, ...]
    """Paths of its plan, first match wins; empty where it is no file."""
    signs: tuple[str, ...] = ()
    """Paths any of which indicates this profile (docs/rules.md#profiles)."""
    faint_signs: tuple[str, ...] = ()
    """Paths that indicate it only where no other profile is indicated."""
    own_block: ReportKind = ReportKind.RALPH_STATUS
    """The status block that its prompts ask for, and that is preferred.

    See docs/rules.md#status-block.
    """
    without_plan: WithoutPlan = WithoutPlan.REFUSE
    settings: Mapping[str, object]
    """Dotted snake_case key to value; what is missing has the default of ``Config``."""


OPTIONAL_SECTIONS = ("Optional", "Future", "Later", "Backlog")
"""Headings of a markdown plan below which nothing is required."""

SPEC = Profile(
    name=ProfileName.SPEC,
    plan_kind=PlanKind.MARKDOWN,
    plan_files=("IMPLEMENTATION_PLAN.md",),
    signs=("IMPLEMENTATION_PLAN.md",),
    faint_signs=("specs",),
    without_plan=WithoutPlan.PLAN,
    settings=MappingProxyType(
        {
            "agent": "cline",
            "max_iterations": None,
            "gate.rule": "marker",
            "optional_sections": OPTIONAL_SECTIONS,
            "breaker.enabled": True,
            "max_stuck": None,
            "on_blocked": "set-aside",
            "attempts.limit": 3,
            "attempts.counts": "no-progress",
            "attempts.mark": True,
            "progress.evidence": ("commits", "worktree", "tasks"),
            "commits": "loop",
            "push": True,
            "on_timeout": "stop",
            "logs.form": "run",
            "logs.days": 30,
            "logs.newest": 30,
        }
    ),
)

FIXPLAN = Profile(
    name=ProfileName.FIXPLAN,
    plan_kind=PlanKind.MARKDOWN,
    plan_files=("@fix_plan.md", ".ralph/fix_plan.md", "fix_plan.md"),
    signs=("@fix_plan.md", ".ralph/fix_plan.md", "fix_plan.md"),
    without_plan=WithoutPlan.SKELETON,
    settings=MappingProxyType(
        {
            "agent": "claude",
            "max_iterations": 20,
            "gate.rule": "dual",
            "gate.indicators": 2,
            "optional_sections": OPTIONAL_SECTIONS,
            "breaker.enabled": True,
            "max_stuck": None,
            "on_blocked": "open",
            "attempts.limit": 0,
            "progress.evidence": ("commits", "worktree", "tasks"),
            "commits": "agent",
            "push": False,
            "on_timeout": "continue",
            "logs.form": "run",
            "logs.days": 30,
            "logs.newest": 30,
        }
    ),
)

STORIES = Profile(
    name=ProfileName.STORIES,
    plan_kind=PlanKind.STORIES,
    plan_files=(
        "ralph/tasks.json",
        "ralph/prd.json",
        "tasks.json",
        "prd.json",
        "scripts/ralph/prd.json",
        ".ralph/prd.json",
        "plans/prd.json",
        "feature_list.json",
    ),
    # A tasks.json in the root may as likely belong to another tool.
    signs=(
        "ralph/tasks.json",
        "ralph/prd.json",
        "prd.json",
        "scripts/ralph/prd.json",
        ".ralph/prd.json",
        "plans/prd.json",
        "feature_list.json",
    ),
    settings=MappingProxyType(
        {
            "agent": "claude",
            "max_iterations": 20,
            "gate.rule": "verified",
            "breaker.enabled": False,
            "max_stuck": 3,
            "on_blocked": "nothing",
            "attempts.limit": 0,
            # Stories have no state for one that was given up.
            "attempts.mark": False,
            "progress.evidence": ("head",),
            "guard.planning_is_free": True,
            "commits": "agent",
            "push": False,
            "on_timeout": "continue",
            "logs.form": "iteration",
            "logs.days": None,
            "logs.newest": None,
            "paths.decide": "ralph/decide.txt",
            "paths.blocked": "ralph/blocked.txt",
            "paths.logs": "ralph/logs",
            "paths.validate_script": "ralph/validate.sh",
            "paths.prompts": "ralph",
            "paths.progress": "ralph/progress.txt",
        }
    ),
)

BEADS = Profile(
    name=ProfileName.BEADS,
    plan_kind=PlanKind.BEADS,
    plan_files=(),
    signs=(".beads",),
    settings=MappingProxyType(
        {
            "agent": "claude",
            "max_iterations": None,
            "gate.rule": "queue",
            "breaker.enabled": True,
            # It sets tasks aside by itself, so only what no other task can fix opens the breaker.
            "breaker.no_progress_half_open": 0,
            "breaker.no_progress_open": 0,
            "breaker.failing_tests_open": 0,
            "breaker.refused_completions_open": 0,
            "max_stuck": None,
            "on_blocked": "set-aside",
            "attempts.limit": 3,
            "attempts.counts": "not-done",
            "attempts.mark": False,
            "plan_when_stuck": True,
            "progress.evidence": ("commits", "worktree", "tasks"),
            "guard.planning_is_free": True,
            "commits": "agent",
            "push": False,
            "on_timeout": "continue",
            "logs.form": "jsonl",
            "logs.days": None,
            "logs.newest": 10,
        }
    ),
)

ISSUE = Profile(
    name=ProfileName.ISSUE,
    plan_kind=PlanKind.REQUEST,
    plan_files=(),
    own_block=ReportKind.CLARITY_STATUS,
    settings=MappingProxyType(
        {
            "agent": "claude",
            "max_iterations": 20,
            "gate.rule": "status",
            "breaker.enabled": True,
            "max_stuck": None,
            "on_blocked": "open",
            "attempts.limit": 0,
            "progress.evidence": ("commits", "worktree", "tasks", "declared"),
            "commits": "agent",
            "push": False,
            "on_timeout": "continue",
            "logs.form": "run",
            "logs.days": 30,
            "logs.newest": 30,
        }
    ),
)

PROFILES: Mapping[ProfileName, Profile] = MappingProxyType(
    {profile.name: profile for profile in (SPEC, FIXPLAN, STORIES, BEADS, ISSUE)}
)


def profile_of(name: ProfileName) -> Profile:
    """The profile of that name."""
    return PROFILES[name]


def preset_of(profile: Profile) -> Config:
    """The settings of a profile without any override."""
    tables = to_tables({"profile": profile.name, **profile.settings})
    return Config.model_validate(tables, by_alias=False, by_name=True)


def to_tables(dotted: Mapping[str, Any]) -> dict[str, Any]:
    """Turn dotted keys into nested tables, as TOML has them."""
    nested: dict[str, Any] = {}
    for key, value in dotted.items():
        *tables, last = key.split(".")
        table = nested
        for name in tables:
            table = table.setdefault(name, {})
        table[last] = value
    return nested


def is_parallel(config: Config) -> bool:
    """Whether a run with these settings works on several tasks at once, each in a lane."""
    return config.parallel is not None and config.parallel > 1
