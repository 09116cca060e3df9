"""Settings of the loop in VS Code's own Settings: generated from the reference of the settings.

What is set there is written to ``.ralph/config.toml``, so each has the key of that file, its words
and their meanings. Those that hold commands, tables or lists are left to the file.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ralph_ls.protocol.config.agent_catalog import CATALOG

PREFIX = "ralphLoop.run"
TITLE = "%config.run%"

KEYS = (
    *("agent", "models.every", "max_iterations", "max_duration", "max_cost_usd", "max_tokens"),
    *("timeouts.iteration", "timeouts.idle", "on_timeout", "on_halt", "commits", "push"),
    *("on_validate_fail", "breaker.no_progress_open", "breaker.same_error_open"),
    *("breaker.failing_tests_open", "max_stuck", "optional", "sandbox.kind"),
    *("notify.github", "notify.quiet", "notify.cost_usd"),
)
"""What people change most, in the order in which it is shown."""

ABOUT = {"models.every": "The model for every iteration, as the agent names it."}
"""Where the reference's words are about their neighbours in the page."""

AS_CONFIGURED = "As `.ralph/config.toml` has it."


def setting_name(key: str) -> str:
    """``max_cost_usd`` → ``ralphLoop.run.maxCostUsd``."""
    first, *others = key.split("_")
    return f"{PREFIX}.{first}{''.join(word.capitalize() for word in others)}"


def loop_settings(reference: list[dict[str, Any]]) -> dict[str, Any]:
    """The block of package.json; ``reference`` is what ``ralph config explain`` knows."""
    by_key = {row["key"]: row for row in reference}
    properties = {
        setting_name(key): _property(by_key[key], order) for order, key in enumerate(KEYS)
    }
    return {"title": TITLE, "order": 0, "properties": properties}


def settings_table() -> str:
    """The constant of the client: the names of the settings and their keys."""
    rows = "".join(f"  {json.dumps(setting_name(key))}: {json.dumps(key)},\n" for key in KEYS)
    about = "/** Settings of the loop, by their names in VS Code: their keys in a config file. */"
    return f"{about}\nexport const LOOP_SETTINGS = {{\n{rows}}} as const;"


def _property(row: Mapping[str, Any], order: int) -> dict[str, Any]:
    about = ABOUT.get(row["key"], row["about"].partition("\n\n")[0])
    found = f"{about} Written to `{row['key']}` in `.ralph/config.toml`."
    words = {"scope": "resource", "order": order, "markdownDescription": found}
    values: dict[str, str] = dict(row["values"])
    if row["key"] == "agent":
        values = dict.fromkeys(CATALOG, "")
    if row["type"] == "true or false":
        values = {"true": "Yes.", "false": "No."}
    if values:
        meanings = [AS_CONFIGURED, *(meaning or name for name, meaning in values.items())]
        choice = {"type": "string", "enum": ["", *values], "markdownEnumDescriptions": meanings}
        return {**words, **choice, "default": ""}
    if row["type"] == "whole number":
        return {**words, "type": ["integer", "null"], "minimum": 1, "default": None}
    if row["type"] == "number":
        return {**words, "type": ["number", "null"], "exclusiveMinimum": 0, "default": None}
    example = row["example"].rpartition(" = ")[2].strip('"')
    example = f" Such as `{example}`." if row["type"] == "duration" else ""
    return {**words, "markdownDescription": found + example, "type": "string", "default": ""}
