"""Profiles: presets of settings, as data (SPEC §3).

A profile is nothing but values for the settings of ``protocol.config``, so every one of them can
be said otherwise, and no rule may ask which profile it works for. Each states every row of SPEC's
table, also where a row is what ``Config`` has anyway: one screen shows the whole profile.

What of it this version cannot obey yet is said here too, once, by ``hindrances``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from ralph_ls.core.loop.gate import wanted
from ralph_ls.protocol.config import (
    Committer,
    Config,
    LogForm,
    OnBlocked,
    ProfileName,
)
from ralph_ls.protocol.errors import ConfigError
from ralph_ls.protocol.report import ReportKind


class PlanSource(StrEnum):
    """Where the tasks come from (SPEC §8)."""

    MARKDOWN = "markdown"
    STORIES = "stories"
    """``tasks.json`` or ``prd.json`` (R)."""
    BEADS = "beads"
    """``bd`` (B)."""
    REQUEST = "request"
    """The text of a request (A)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One preset."""

    name: ProfileName
    plan_source: PlanSource
    plan_files: tuple[str, ...]
    """Where its plan is looked for, first match wins; empty where it is no file."""
    own_block: ReportKind = ReportKind.RALPH_STATUS
    """The status block that its prompts ask for, and that is preferred (SPEC §5)."""
    settings: Mapping[str, object]
    """Dotted snake_case key to value; what is missing has the default of ``Config``."""


SPEC = Profile(
    name=ProfileName.SPEC,
    plan_source=PlanSource.MARKDOWN,
    plan_files=("IMPLEMENTATION_PLAN.md",),
    settings=MappingProxyType(
        {
            "agent": "cline",
            "max_iterations": None,
            "gate.rule": "marker",
            "optional_sections": ("Optional", "Future"),
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
            "log_form": "run",
            "log_retention.days": 30,
            "log_retention.newest": 30,
        }
    ),
)

FIXPLAN = Profile(
    name=ProfileName.FIXPLAN,
    plan_source=PlanSource.MARKDOWN,
    plan_files=("@fix_plan.md", ".ralph/fix_plan.md", "fix_plan.md"),
    settings=MappingProxyType(
        {
            "agent": "claude",
            "max_iterations": 20,
            "gate.rule": "dual",
            "gate.indicators": 2,
            "breaker.enabled": True,
            "max_stuck": None,
            "on_blocked": "open",
            "attempts.limit": 0,
            "progress.evidence": ("commits", "worktree", "tasks"),
            "commits": "agent",
            "push": False,
            "on_timeout": "continue",
            "log_form": "run",
            "log_retention.days": 30,
            "log_retention.newest": 30,
        }
    ),
)

STORIES = Profile(
    name=ProfileName.STORIES,
    plan_source=PlanSource.STORIES,
    plan_files=(
        "ralph/tasks.json",
        "ralph/prd.json",
        "tasks.json",
        "prd.json",
        "scripts/ralph/prd.json",
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
            "progress.evidence": ("head",),
            "commits": "agent",
            "push": False,
            "on_timeout": "continue",
            "log_form": "iteration",
            "log_retention.days": None,
            "log_retention.newest": None,
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
    plan_source=PlanSource.BEADS,
    plan_files=(),
    settings=MappingProxyType(
        {
            "agent": "claude",
            "max_iterations": None,
            "gate.rule": "queue",
            "breaker.enabled": True,
            # Its own way out is to set a task aside, so only what no other task can mend opens it.
            "breaker.no_progress_half_open": 0,
            "breaker.no_progress_open": 0,
            "breaker.failing_tests_open": 0,
            "breaker.refused_completions_open": 0,
            "max_stuck": None,
            "on_blocked": "set-aside",
            "attempts.limit": 3,
            "attempts.counts": "not-done",
            "attempts.mark": False,
            "progress.evidence": ("commits", "worktree", "tasks"),
            "commits": "agent",
            "push": False,
            "on_timeout": "continue",
            "log_form": "jsonl",
            "log_retention.days": None,
            "log_retention.newest": 10,
        }
    ),
)

ISSUE = Profile(
    name=ProfileName.ISSUE,
    plan_source=PlanSource.REQUEST,
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
            "log_form": "run",
            "log_retention.days": 30,
            "log_retention.newest": 30,
        }
    ),
)

PROFILES: Mapping[ProfileName, Profile] = MappingProxyType(
    {profile.name: profile for profile in (SPEC, FIXPLAN, STORIES, BEADS, ISSUE)}
)


def profile_of(name: ProfileName) -> Profile:
    """The profile of that name; whether this version can run it is ``require_runnable``'s."""
    return PROFILES[name]


def preset(profile: Profile) -> Config:
    """The settings of a profile where nobody says otherwise."""
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Hindrance:
    """A setting that this version does not obey."""

    why: str
    """What is set, and why that cannot be."""
    instead: str
    """What to set, as in a config file."""


def hindrances(config: Config) -> tuple[Hindrance, ...]:
    """What keeps this version from running with these settings; empty where nothing does."""
    source = profile_of(config.profile).plan_source
    if source is not PlanSource.MARKDOWN:
        same_gate = f'gate.rule = "{config.gate.rule.value}" for the same gate'
        return (
            Hindrance(
                why=f"it works on {_SOURCES[source]}, but only markdown plans can be read",
                instead=f'profile = "fixplan" and {same_gate}',
            ),
        )
    found: list[Hindrance] = []
    if config.commits is Committer.LOOP:
        why = 'commits = "loop", but only the agent commits'
        found.append(Hindrance(why=why, instead='commits = "agent"'))
    if config.push:
        found.append(Hindrance(why="push = true, but nothing is pushed", instead="push = false"))
    if config.log_form is LogForm.JSONL:
        why = 'log_form = "jsonl", but logs are written in frames only'
        found.append(Hindrance(why=why, instead='log_form = "run"'))
    return tuple(found)


def require_runnable(config: Config) -> None:
    """Raise ``ConfigError`` for settings that this version does not obey, and say what to set."""
    found = hindrances(config)
    if found:
        why = "; ".join(one.why for one in found)
        instead = " and ".join(one.instead for one in found)
        raise ConfigError(
            f"the profile {config.profile.value} cannot be run by this version: {why}; "
            f"set {instead}"
        )


def matrix() -> tuple[tuple[str, ...], ...]:
    """SPEC §3's table, made from the settings themselves: the header, then a row a subject."""
    columns = [(profile, preset(profile)) for profile in PROFILES.values()]
    header = ("", *(f"`{profile.name.value}`" for profile in PROFILES.values()))
    rows = ((name, *(cell(*column) for column in columns)) for name, cell in _ROWS.items())
    return (header, *rows)


_SOURCES = {
    PlanSource.MARKDOWN: "a markdown plan",
    PlanSource.STORIES: "stories (tasks.json or prd.json)",
    PlanSource.BEADS: "the issues of bd",
    PlanSource.REQUEST: "the text of a request",
}


def _plan(profile: Profile, _config: Config) -> str:
    files = ", ".join(f"`{name}`" for name in profile.plan_files)
    return files or _SOURCES[profile.plan_source]


def _gate(_profile: Profile, config: Config) -> str:
    return f"`{config.gate.rule.value}`: {wanted(config.gate, config.promise.complete)}"


def _breaker(_profile: Profile, config: Config) -> str:
    if not config.breaker.enabled:
        return "off"
    kept = [words for name, words in _BREAKER_ROWS.items() if getattr(config.breaker, name)]
    return "on" if len(kept) == len(_BREAKER_ROWS) else f"only {', '.join(kept)}"


_BREAKER_ROWS = {
    "no_progress_open": "no progress",
    "same_error_open": "same error",
    "failing_tests_open": "failing tests",
    "denials_open": "permission denied",
    "refused_completions_open": "refused completions",
    "set_aside_open": "tasks set aside",
}


def _blocked(_profile: Profile, config: Config) -> str:
    return {
        OnBlocked.OPEN: "opens the breaker",
        OnBlocked.SET_ASIDE: "sets the task aside",
        OnBlocked.NOTHING: "only the promise counts",
    }[config.on_blocked]


def _attempts(_profile: Profile, config: Config) -> str:
    attempts = config.attempts
    if not attempts.limit:
        return "off"
    then = "marked in the plan" if attempts.mark else "not taken any more"
    return f"{attempts.limit} {attempts.counts.value.replace('-', ' ')}, then {then}"


def _retention(_profile: Profile, config: Config) -> str:
    days, newest = config.log_retention.days, config.log_retention.newest
    kept = [] if days is None else [f"newer than {days} days"]
    kept += [] if newest is None else [f"the {newest} newest"]
    return ", or ".join(kept) or "all are kept"


def _runs(_profile: Profile, config: Config) -> str:
    found = hindrances(config)
    if not found:
        return "yes"
    if profile_of(config.profile).plan_source is not PlanSource.MARKDOWN:
        return "no"
    return "with " + " and ".join(f"`{one.instead}`" for one in found)


def _or_off(value: object) -> str:
    return "off" if value is None else str(value)


_ROWS: Mapping[str, Callable[[Profile, Config], str]] = {
    "plan": _plan,
    "gate": _gate,
    "optional sections": lambda _, config: ", ".join(config.optional_sections) or "none",
    "breaker": _breaker,
    "max_stuck": lambda _, config: _or_off(config.max_stuck),
    "STATUS BLOCKED": _blocked,
    "attempts per task": _attempts,
    "progress": lambda _, config: ", ".join(config.progress.evidence),
    "who commits": lambda _, config: config.commits.value,
    "push": lambda _, config: "on" if config.push else "off",
    "on timeout": lambda _, config: config.on_timeout.value,
    "N not given": lambda _, config: str(config.max_iterations or "unlimited"),
    "agent log": lambda _, config: f"`{config.log_form.value}`",
    "retention": _retention,
    "agent if unset": lambda _, config: config.agent,
    "own block": lambda profile, _: profile.own_block.value,
    "decide file": lambda _, config: f"`{config.paths.decide}`",
    "runs in this version": _runs,
}
