"""Profiles are data: the whole table, and what this version can run of it.

See docs/rules.md#profiles.
"""

from __future__ import annotations

from typing import Any

import pytest

from ralph_ls.core.loop.profiles import FIXPLAN, PROFILES, preset_of, profile_of, to_tables
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.protocol.config.config import Config, ProfileName
from ralph_ls.protocol.run.report import ReportKind

USUAL_EVIDENCE = ("commits", "worktree", "tasks")
FRAMES = {"logs.form": "run", "logs.days": 30, "logs.newest": 30}
NO_ATTEMPTS = {"attempts.limit": 0}
AGENT_COMMITS = {"commits": "agent", "push": False, "on_timeout": "continue"}

TABLE: dict[str, dict[str, Any]] = {
    "spec": {
        "gate.rule": "marker",
        "gate.marker": "PROJECT_COMPLETE",
        "optional_sections": ("Optional", "Future", "Later", "Backlog"),
        "breaker.enabled": True,
        "on_blocked": "set-aside",
        "max_stuck": None,
        "attempts.limit": 3,
        "attempts.counts": "no-progress",
        "attempts.mark": True,
        "progress.evidence": USUAL_EVIDENCE,
        "commits": "loop",
        "push": True,
        "on_timeout": "stop",
        "max_iterations": None,
        **FRAMES,
        "agent": "cline",
        "paths.decide": ".ralph/decide.txt",
    },
    "fixplan": {
        "gate.rule": "dual",
        "gate.indicators": 2,
        "optional_sections": ("Optional", "Future", "Later", "Backlog"),
        "breaker.enabled": True,
        "on_blocked": "open",
        "max_stuck": None,
        **NO_ATTEMPTS,
        "progress.evidence": USUAL_EVIDENCE,
        **AGENT_COMMITS,
        "max_iterations": 20,
        **FRAMES,
        "agent": "claude",
        "paths.logs": ".ralph/logs",
    },
    "stories": {
        "gate.rule": "verified",
        "optional_sections": (),
        "breaker.enabled": False,
        "on_blocked": "nothing",
        "max_stuck": 3,
        **NO_ATTEMPTS,
        "progress.evidence": ("head",),
        **AGENT_COMMITS,
        "max_iterations": 20,
        "logs.form": "iteration",
        "logs.days": None,
        "logs.newest": None,
        "agent": "claude",
        "paths.decide": "ralph/decide.txt",
        "paths.blocked": "ralph/blocked.txt",
        "paths.logs": "ralph/logs",
        "paths.validate_script": "ralph/validate.sh",
        "paths.prompts": "ralph",
    },
    "beads": {
        "gate.rule": "queue",
        "optional_sections": (),
        "breaker.enabled": True,
        "breaker.no_progress_half_open": 0,
        "breaker.no_progress_open": 0,
        "breaker.same_error_open": 5,
        "breaker.failing_tests_open": 0,
        "breaker.denials_open": 2,
        "breaker.refused_completions_open": 0,
        "breaker.set_aside_open": 2,
        "on_blocked": "set-aside",
        "max_stuck": None,
        "attempts.limit": 3,
        "attempts.counts": "not-done",
        "attempts.mark": False,
        "progress.evidence": USUAL_EVIDENCE,
        **AGENT_COMMITS,
        "max_iterations": None,
        "logs.form": "jsonl",
        "logs.days": None,
        "logs.newest": 10,
        "agent": "claude",
        "paths.decide": ".ralph/decide.txt",
    },
    "issue": {
        "gate.rule": "status",
        "optional_sections": (),
        "breaker.enabled": True,
        "on_blocked": "open",
        "max_stuck": None,
        **NO_ATTEMPTS,
        "progress.evidence": (*USUAL_EVIDENCE, "declared"),
        **AGENT_COMMITS,
        "max_iterations": 20,
        **FRAMES,
        "agent": "claude",
    },
}
"""The table of profiles, row by row (docs/rules.md#profiles)."""


def value_of(config: Config, key: str) -> Any:
    value: Any = config
    for name in key.split("."):
        value = getattr(value, name)
    return value


@pytest.mark.parametrize("name", TABLE)
class TestEachProfile:
    def test_is_as_the_table_says(self, name: str) -> None:
        config = preset_of(profile_of(ProfileName(name)))
        assert {key: value_of(config, key) for key in TABLE[name]} == TABLE[name]

    def test_is_known_by_its_name(self, name: str) -> None:
        profile = profile_of(ProfileName(name))
        assert profile.name == name
        assert preset_of(profile).profile == name

    def test_states_each_row_also_where_it_is_the_default(self, name: str) -> None:
        rows = set(FIXPLAN.settings) - {"gate.indicators", "optional_sections"}
        assert rows <= set(PROFILES[ProfileName(name)].settings)

    def test_sets_nothing_twice_or_unknown(self, name: str) -> None:
        settings = PROFILES[ProfileName(name)].settings
        Config.model_validate(to_tables(settings), by_alias=False, by_name=True)


def test_there_is_a_profile_for_each_name() -> None:
    assert list(PROFILES) == list(ProfileName)


@pytest.mark.parametrize(
    ("name", "source", "first", "block"),
    [
        ("spec", PlanKind.MARKDOWN, "IMPLEMENTATION_PLAN.md", ReportKind.RALPH_STATUS),
        ("fixplan", PlanKind.MARKDOWN, "@fix_plan.md", ReportKind.RALPH_STATUS),
        ("stories", PlanKind.STORIES, "ralph/tasks.json", ReportKind.RALPH_STATUS),
        ("beads", PlanKind.BEADS, None, ReportKind.RALPH_STATUS),
        ("issue", PlanKind.REQUEST, None, ReportKind.CLARITY_STATUS),
    ],
)
def test_each_profile_has_its_plan_and_its_block(
    name: str, source: PlanKind, first: str | None, block: ReportKind
) -> None:
    profile = profile_of(ProfileName(name))
    assert profile.plan_kind is source
    assert next(iter(profile.plan_files), None) == first
    assert profile.own_block is block


def test_dotted_keys_become_tables() -> None:
    dotted = {"a": 1, "b.c": 2, "b.d.e": 3, "b.f": None}
    assert to_tables(dotted) == {"a": 1, "b": {"c": 2, "d": {"e": 3}, "f": None}}


def config_of(name: str, **settings: Any) -> Config:
    profile = profile_of(ProfileName(name))
    dotted = {"profile": name, **profile.settings, **settings}
    return Config.model_validate(to_tables(dotted), by_alias=False, by_name=True)
