"""Recorded settings without those at their default, so that a new setting changes no comparison.

Events repeat all settings of their run. A recording is compared for what its run chose: a setting
at this version's default, or one that this version has added, makes no difference.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.config.renamed import with_new_keys


def normalised(text: str | bytes) -> str:
    """A JSON text, indented, with only the chosen settings in each ``config``."""
    return json.dumps(_normalised(json.loads(text)), indent=2, ensure_ascii=False) + "\n"


def _normalised(value: Any) -> Any:
    match value:
        case dict():
            return {
                name: _chosen(item) if name == "config" else _normalised(item)
                for name, item in value.items()
            }
        case list():
            return [_normalised(item) for item in value]
        case _:
            return value


def _chosen(recorded: Mapping[str, Any]) -> dict[str, Any]:
    """Raises ``ValidationError`` for settings that this version does not have."""
    config = Config.model_validate(recorded)
    return _named_in(
        config.model_dump(mode="json", by_alias=True, exclude_defaults=True),
        with_new_keys(recorded),
    )


def _named_in(chosen: Mapping[str, Any], recorded: Mapping[str, Any]) -> dict[str, Any]:
    """The chosen settings, sorted, in the form in which they are recorded."""
    return {
        name: _named_in(chosen[name], value)
        if isinstance(value, dict) and isinstance(chosen[name], dict)
        else value
        for name, value in sorted(recorded.items())
        if name in chosen
    }
