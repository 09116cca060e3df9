"""Reference of the settings: docs/configuration.md, and the data of ``ralph config explain``.

A setting is described by its docstring in ``protocol.config``. ``GROUPS`` orders the settings by
how often users need them and has an example of each; what is in no group is advanced.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from ralph_ls.protocol.config.renamed import DROPPED_IN, RENAMED
from schemas.profiles import Setting, settings

ADVANCED = "Advanced"
_ABOUT_ADVANCED = (
    "Defaults that rarely need a change, and how the output of a custom agent is read."
)

GROUPS: Mapping[str, tuple[str, Mapping[str, str]]] = MappingProxyType(
    {
        "Basics": (
            "What most repositories set.",
            {
                "profile": '"spec"',
                "agent": '"codex"',
                "max_iterations": "20",
                "max_duration": '"8h"',
                "max_cost_usd": "10.0",
                "commits": '"loop"',
                "push": "true",
                "work_branch": '"auto"',
                "on_halt": '"wait"',
            },
        ),
        "Limits": (
            "What a run and an iteration may use. Set the limits of a whole run under Basics.",
            {
                "max_tokens": "2_000_000",
                "max_cost_per_iteration_usd": "1.5",
                "max_tokens_per_iteration": "200_000",
                "max_stuck": "3",
                "max_calls_per_minute": "30",
                "cooldown": '"10s"',
                "allow_unmetered": "true",
            },
        ),
        "Time limits": (
            "How long each step may take.",
            {
                "timeouts.iteration": '"45m"',
                "timeouts.idle": '"10m"',
                "timeouts.validation": '"20m"',
                "timeouts.commit": '"20m"',
                "timeouts.push": '"10m"',
                "on_timeout": '"stop"',
            },
        ),
        "Agents and models": (
            "Which agents and models work, and what they may use. `NAME` is the name of an agent.",
            {
                "fallback": '["codex", "gemini"]',
                "tools.allow": '["Read", "Edit", "Bash"]',
                "tools.deny": '["WebSearch"]',
                "env.only": '["PATH", "HOME", "LANG"]',
                "agents.NAME.model": '"opus"',
                "agents.NAME.args": '["--verbose"]',
                "agents.NAME.argv": '["./agent.sh", "--fast"]',
                "agents.NAME.prompt": '"argument"',
                "agents.NAME.env": '{ NO_COLOR = "1" }',
                "agents.NAME.system_prompt": '"Answer in English."',
                "agents.NAME.adapter": '"claude"',
                "models.every": '"sonnet"',
                "models.tag": '{ simple = "haiku" }',
                "models.mode.plan": '"opus"',
                "models.mode.build": '"sonnet"',
                "models.mode.review": '{ agent = "codex" }',
                "models.mode.review_fix": '"sonnet"',
                "models.priority.high": '"opus"',
                "models.priority.standard": '"sonnet"',
                "models.priority.low": '"haiku"',
                "session.resume": "true",
                "context_window": "200_000",
            },
        ),
        "Plan": (
            "Where the plan is, and which of its tasks a run takes.",
            {
                "paths.plan": '"docs/PLAN.md"',
                "task": '"7"',
                "mode": '"plan"',
                "optional": '"do"',
                "optional_sections": '["Later", "Ideas"]',
                "plan_when_stuck": "true",
                "issue.file": '"issue.md"',
                "issue.github": '"owner/name#123"',
                "beads.parent": '"bd-42"',
                "plan.github.label": '"ralph"',
                "plan.github.milestone": '"Version 2"',
                "plan.github.assignee": '"@me"',
                "plan.github.write": "true",
                "plan.github.claim_label": '"in progress"',
                "plan.github.repository": '"owner/name"',
                "skip_review": "true",
                "review_cap": "3",
            },
        ),
        "Validation": (
            "What checks the work after each iteration.",
            {
                "paths.validate_script": '"scripts/check.sh"',
                "on_validate_fail": '"repair"',
                "max_repairs": "5",
                "verify": "true",
            },
        ),
        "Completion and progress": (
            "When a run is complete, what counts as progress, and when to give up.",
            {
                "gate.rule": '"verified"',
                "gate.indicators": "3",
                "gate.marker": '"ALL_DONE"',
                "progress.evidence": '["commits", "tasks"]',
                "attempts.limit": "3",
                "on_blocked": '"set-aside"',
                "breaker.enabled": "false",
                "breaker.no_progress_open": "5",
                "breaker.same_error_open": "8",
                "breaker.failing_tests_open": "8",
            },
        ),
        "Reviews and notifications": (
            "When to wait for you, and how to [reach you](notifications.md).",
            {
                "review_points.every": "5",
                "review_points.after_tasks": '["7", "Release"]',
                "notify.urls": '["phone=ntfys://ntfy.sh/TOPIC"]',
                "notify.command": '["notify-send", "Ralph"]',
                "notify.bell": "true",
                "notify.github": "true",
                "notify.events.question": '["phone", "bell"]',
                "notify.events.set_aside": "[]",
                "notify.events.complete": '["team", "github"]',
                "notify.quiet": '"22:00-07:00"',
                "notify.interval": '"5m"',
                "notify.cost_usd": "5.0",
                "notify.answers": '["github"]',
                "on_pr_ready": '["./open-pr.sh"]',
            },
        ),
        "Safety": (
            "What an agent can reach and change.",
            {
                "sandbox.kind": '"auto"',
                "sandbox.network": "false",
                "sandbox.show": '["~/.npmrc"]',
                "sandbox.writable": '["~/.cache/pip"]',
                "sandbox.name": '"my-sandbox"',
                "sandbox.prefix": '["firejail", "--quiet"]',
                "guard.enabled": "false",
            },
        ),
        "Files and logs": (
            "Where the loop keeps its files, and for how long.",
            {
                "paths.decide": '"decide.txt"',
                "paths.blocked": '"blocked.txt"',
                "paths.logs": '"logs"',
                "paths.prompts": '"prompts"',
                "paths.progress": '"docs/PROGRESS.md"',
                "progress.keep_days": "30",
                "logs.form": '"iteration"',
                "logs.days": "14",
                "logs.newest": "20",
                "state.keep_days": "30",
                "state.max_bytes": '"2 GB"',
            },
        ),
        "Waiting and prices": (
            "What happens when a model is unavailable, and what its tokens cost.",
            {
                "retry.tries": "20",
                "limit_wait": '"15m"',
                "prices.NAME.input": "3.0",
                "prices.NAME.cached": "0.3",
                "prices.NAME.output": "15.0",
            },
        ),
    }
)
"""Heading to a sentence about it, and key to an example in TOML."""


def reference() -> list[dict[str, Any]]:
    """What is known of each setting, in the order of the page; raises ValueError for a bad key."""
    known = {_dotted(setting): setting for setting in settings()}
    placed = [key for _, keys in GROUPS.values() for key in keys]
    if missing := [key for key in placed if key not in known]:
        raise ValueError(f"no such settings in GROUPS: {', '.join(missing)}")
    rows = [
        _row(known[key], group, example)
        for group, (_, keys) in GROUPS.items()
        for key, example in keys.items()
    ]
    rest = [setting for key, setting in known.items() if key not in placed]
    return [*rows, *(_row(setting, ADVANCED, _example(setting)) for setting in rest)]


def reference_file() -> str:
    """The content of ``settings.json`` in the package."""
    return json.dumps(reference(), indent=1, ensure_ascii=False) + "\n"


def configuration_parts() -> dict[str, str]:
    """The generated parts of docs/configuration.md."""
    return {"settings": "\n".join(_page()), "renamed": "\n".join(_renamed())}


def _page() -> Iterator[str]:
    rows = reference()
    headings = {**{group: about for group, (about, _) in GROUPS.items()}, ADVANCED: _ABOUT_ADVANCED}
    for group, about in headings.items():
        inside = [row for row in rows if row["group"] == group]
        yield from ("", f"### {group}", "", about, "")
        yield from ("| setting | meaning |", "|---|---|")
        yield from (f"| [`{row['key']}`](#{row['anchor']}) | {_first(row)} |" for row in inside)
        for row in inside:
            yield from _section(row)


def _first(row: Mapping[str, Any]) -> str:
    return _in_a_cell(str(row["about"]).split(". ")[0].rstrip("."))


def _section(row: Mapping[str, Any]) -> Iterator[str]:
    """One setting: its meaning, type and default, and an example."""
    yield from ("", f"#### `{row['key']}`", "", str(row["about"]))
    if row["values"]:
        yield ""
        yield from (
            f"- `{value}`{f': {about}' if about else ''}" for value, about in row["values"].items()
        )
    default = f"`{row['default']}`" if row["default"] else "not set"
    yield from ("", f"Type: {row['type']}. Default: {default}. Variable: {_variable(row)}.")
    yield from ("", "```toml", *str(row["example"]).splitlines(), "```")


def _variable(row: Mapping[str, Any]) -> str:
    return f"`{row['variable']}`" if row["variable"] else "none"


def _renamed() -> Iterator[str]:
    yield (
        f"The old keys still work, with a notice, until version {DROPPED_IN}. "
        "`ralph config migrate` renames them in your files, in place."
    )
    yield from ("", "| old | new |", "|---|---|")
    yield from (f"| `{old}` | `{new}` |" for old, new in RENAMED.items())


def _row(setting: Setting, group: str, example: str) -> dict[str, Any]:
    key = _dotted(setting)
    is_named = "NAME" in key or setting.kind.startswith("table")
    return {
        "key": key,
        "group": group,
        "type": setting.kind,
        "default": setting.default.strip("`"),
        "about": setting.about,
        "values": setting.values,
        "example": _as_toml(setting, example),
        "variable": "" if is_named else f"RALPH_{key.replace('.', '_').upper()}",
        "anchor": key.replace(".", "").lower(),
    }


def _dotted(setting: Setting) -> str:
    return f"{setting.table}.{setting.key}".lstrip(".")


def _as_toml(setting: Setting, value: str) -> str:
    table = setting.table.replace(
        "NAME", '"claude-opus"' if "prices" in setting.table else "claude"
    )
    header = f"[{table}]\n" if table else ""
    return f"{header}{setting.key} = {value}"


def _example(setting: Setting) -> str:
    """An advanced setting at its default, or at a value of its type."""
    if setting.default:
        return setting.default.strip("`")
    if setting.values:
        return f'"{next(iter(setting.values))}"'
    by_kind = {"true or false": "true", "whole number": "10", "duration": '"5m"', "number": "1.0"}
    return by_kind.get(setting.kind, '["…"]' if setting.kind.startswith("list") else '"…"')


def _in_a_cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
