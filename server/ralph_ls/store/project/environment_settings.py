"""Settings in ``RALPH_*`` variables, and the merging and validation of tables of settings."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from ralph_ls.core.loop.profiles import to_tables
from ralph_ls.core.views.model.control_chars import escape_control_chars
from ralph_ls.protocol.config.agent import with_table
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.config.renamed import RENAMED
from ralph_ls.protocol.errors import ConfigError
from ralph_ls.store.project.setting_problems import find_problems, listed


def read_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    """The settings in ``RALPH_*`` variables, such as ``RALPH_BREAKER_NO_PROGRESS_OPEN``.

    One that resembles a variable of ours is refused as misspelt; any other is ignored, since other
    loops export such names too (docs/rules.md#command-line).
    """
    problems = [*_misspelt(environment)]
    found: dict[str, Any] = {}
    for name, (key, is_list) in _variables().items():
        value = environment.get(name, "")
        if not value:
            continue
        given: Any = [part.strip() for part in value.split(",")] if is_list else value
        layer, wrong = _layer_of(name, key, given)
        problems += wrong
        found = merge_tables(found, layer)
    if problems:
        raise ConfigError(listed("these environment variables are wrong", problems))
    return found


def _misspelt(environment: Mapping[str, str]) -> Iterator[str]:
    for name in unknown_variables(environment):
        meant = nearest(name, (*_variables(), *OTHER_VARIABLES))
        if meant is not None:
            yield (
                f"unknown environment variable {escape_control_chars(name)}; did you mean {meant}? "
                f"Remove the other: unset {shlex.quote(name)}"
            )


def _layer_of(name: str, key: str, given: Any) -> tuple[dict[str, Any], list[str]]:
    """The tables of one variable, and what is wrong with its value."""
    tables = to_tables({key: given})
    try:
        validated_tables(tables)
    except ValidationError as error:
        called = f"the environment variable {name}"
        return {}, [problem.text for problem in find_problems(error, tables, lambda _: called)]
    return with_table(tables), []


def old_variables_in(environment: Mapping[str, str]) -> list[str]:
    """The renamed variables that are set, each with its new name."""
    names = {_variable_of(old): _variable_of(new) for old, new in RENAMED.items()}
    return [
        f"{old} is now {new}"
        for old, new in names.items()
        if environment.get(old, "") and old != LOG
    ]


def retention_in(environment: Mapping[str, str]) -> dict[str, Any]:
    """The tables of ``RALPH_LOG_RETENTION``; raises ``ConfigError`` for what is no number."""
    value = environment.get(RETENTION, "")
    tables, problems = _layer_of(RETENTION, "logs.newest", value) if value else ({}, [])
    if problems:
        raise ConfigError(problems[0])
    return tables


RETENTION = "RALPH_LOG_RETENTION"
"""Variable with the number of JSON-lines logs that are kept (docs/rules.md#logs)."""

LOG = "RALPH_LOG"
"""Variable of the beads loop that switches the JSON-lines log on and off."""

OWN_PREFIX, DEMO_PREFIX = "RALPH_", "RALPH_DEMO_"
OTHER_VARIABLES = frozenset(
    OWN_PREFIX + name
    for name in (
        *("STATE_DIR", "PROMPTS_DIR", "TEMPLATES_DIR", "LOG_RETENTION"),
        *("ITERATION", "ITERATION_ID", "START", "MAX_ITERATIONS", "SCRATCH"),
        *("HOOK_SOCKET", "OUTPUT_FILES"),
        *("EVENT", "RUN", "TASK", "TEXT", "TITLE", "SOURCE", "URL", "BRANCH", "HEAD", "WORKSPACE"),
    )
)
"""Variables that are no setting: read by ``ralph``, or set for agents, hooks and commands."""


def unknown_variables(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Names of the ``RALPH_*`` variables that are set and not ours, sorted."""
    named = {name for name, value in environment.items() if name.startswith(OWN_PREFIX) and value}
    ours = {name for name in named if name.startswith(DEMO_PREFIX)} | OTHER_VARIABLES
    return tuple(sorted(named - ours - _variables().keys()))


@cache
def _variables() -> dict[str, tuple[str, bool]]:
    """By the name of a variable: the key of its setting, and whether that is a list.

    Old names come first, so that new ones win.
    """
    leaves = (("sandbox", False), *_leaves(Config))
    lists = dict(leaves)
    old = {_variable_of(old): (new, lists[new]) for old, new in RENAMED.items()}
    return old | {_variable_of(key): (key, is_list) for key, is_list in leaves}


def _variable_of(key: str) -> str:
    return OWN_PREFIX + key.replace(".", "_").upper()


def dotted_lists() -> dict[str, bool]:
    """Every key that a variable can set, and whether it is a list."""
    return dict(_leaves(Config))


def validated(dotted: Mapping[str, Any]) -> Config:
    """The settings with only these given, by dotted key; raises pydantic's ValidationError."""
    return validated_tables(to_tables(dotted))


def validated_tables(tables: Mapping[str, Any]) -> Config:
    """The settings of these tables; raises pydantic's ValidationError."""
    return Config.model_validate(tables, by_alias=False, by_name=True)


def merge_tables(lower: Mapping[str, Any], upper: Mapping[str, Any]) -> dict[str, Any]:
    """Both tables; what both set is that of ``upper``."""
    merged = dict(lower)
    for key, value in upper.items():
        known = merged.get(key)
        is_table = isinstance(known, dict) and isinstance(value, dict)
        merged[key] = merge_tables(known, value) if is_table else value  # type: ignore[arg-type]
    return merged


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that is at most two edits away; None where there is none.

    An edit inserts, deletes or replaces a letter, or swaps two. In a short word, after what
    both begin with, two edits leave too little, so one has to do.
    """
    found = min(((_edits(word, one), one) for one in sorted(known)), default=(_MANY, ""))
    return found[1] if found[0] < _MANY else None


def _edits(word: str, other: str) -> int:
    """The number of edits between two words; ``_MANY`` where there are more than two."""
    pairs = zip(word, other, strict=False)
    ends = min(len(word), len(other))
    common = next((i for i, (a, b) in enumerate(pairs) if a != b), ends)
    start = max(word.rfind(mark, 0, common) for mark in "_.") + 1
    word, other = word[start:], other[start:]
    most = 2 if len(other) >= _SHORT else 1
    if abs(len(word) - len(other)) > most:
        return _MANY
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, letter in enumerate(word, start=1):
        earlier, before, row = before, row, [i]
        for j, wanted in enumerate(other, start=1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (letter != wanted))
            if earlier and j > 1 and letter == other[j - 2] and word[i - 2] == wanted:
                cost = min(cost, earlier[j - 2] + 1)
            row.append(cost)
    return row[-1] if row[-1] <= most else _MANY


_MANY, _SHORT = 3, 6


def _leaves(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, bool]]:
    """Every setting that a variable can have: its dotted key, and whether it is a list."""
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from _leaves(kind, f"{prefix}{name}.")
            continue
        origins = {get_origin(kind), *(get_origin(part) for part in get_args(kind))}
        if dict not in origins:
            yield f"{prefix}{name}", tuple in origins
