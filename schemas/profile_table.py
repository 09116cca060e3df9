"""The table of profiles in words, made from the profiles themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ralph_ls.core.loop.profiles import PROFILES, Profile, WithoutPlan, preset_of
from ralph_ls.core.loop.rules.gate import gate_words
from ralph_ls.core.plan.formats.registry import format_of
from ralph_ls.protocol.config.config import Config, OnBlocked


def profile_table() -> tuple[tuple[str, ...], ...]:
    """The table of profiles, made from their settings: the header, then a row a subject."""
    columns = [(profile, preset_of(profile)) for profile in PROFILES.values()]
    header = ("", *(f"`{profile.name.value}`" for profile in PROFILES.values()))
    rows = ((name, *(cell(*column) for column in columns)) for name, cell in _ROWS.items())
    return (header, *rows)


def _plan(profile: Profile, _config: Config) -> str:
    files = ", ".join(f"`{name}`" for name in profile.plan_files)
    return files or format_of(profile.plan_kind).source


def _signs(profile: Profile, _config: Config) -> str:
    signs = [f"`{sign}`" for sign in profile.signs]
    signs += [f"`{sign}` if nothing else decides" for sign in profile.faint_signs]
    return ", ".join(signs) or "nothing; choose it yourself"


def _gate(_profile: Profile, config: Config) -> str:
    return f"`{config.gate.rule.value}`: {gate_words(config.gate, config.promise.complete)}"


def _without_plan(profile: Profile, _config: Config) -> str:
    return {
        WithoutPlan.REFUSE: "the run does not start",
        WithoutPlan.SKELETON: "an empty one is created",
        WithoutPlan.PLAN: "a plan iteration writes it",
    }[profile.without_plan]


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
    then = "marked in the plan" if attempts.mark else "not tried again"
    return f"{attempts.limit} {attempts.counts.value.replace('-', ' ')}, then {then}"


def _retention(_profile: Profile, config: Config) -> str:
    days, newest = config.logs.days, config.logs.newest
    kept = [] if days is None else [f"newer than {days} days"]
    kept += [] if newest is None else [f"the newest {newest}"]
    return ", or ".join(kept) or "all"


def _or_off(value: object) -> str:
    return "off" if value is None else str(value)


_ROWS: Mapping[str, Callable[[Profile, Config], str]] = {
    "plan": _plan,
    "detected by": _signs,
    "without a plan": _without_plan,
    "gate": _gate,
    "optional sections": lambda _, config: ", ".join(config.optional_sections) or "none",
    "breaker": _breaker,
    "max_stuck": lambda _, config: _or_off(config.max_stuck),
    "STATUS BLOCKED": _blocked,
    "attempts per task": _attempts,
    "progress": lambda _, config: ", ".join(config.progress.evidence),
    "plan iteration": lambda _, config: (
        "may change anything" if config.guard.planning_is_free else "guarded like any other"
    ),
    "commits by": lambda _, config: config.commits.value,
    "push": lambda _, config: "on" if config.push else "off",
    "on timeout": lambda _, config: config.on_timeout.value,
    "default iterations": lambda _, config: str(config.max_iterations or "unlimited"),
    "agent log": lambda _, config: f"`{config.logs.form.value}`",
    "retention": _retention,
    "default agent": lambda _, config: config.agent,
    "status block": lambda profile, _: profile.own_block.value,
    "question file": lambda _, config: f"`{config.paths.decide}`",
}
