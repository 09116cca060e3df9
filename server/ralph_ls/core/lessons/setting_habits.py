"""Setting habits: values that several runs were given by hand, and changes between two runs.

Only plain values are shown: tables of agents, variables and addresses may hold secrets.
"""

from __future__ import annotations

import itertools
import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ralph_ls.core.lessons.history import RunRecord
from ralph_ls.core.plurals import count_of
from ralph_ls.core.views.model.words import one_line
from ralph_ls.protocol.lessons import Finding, FindingKind, IterationRef

FEWEST = 2
"""Runs on which a finding rests at least."""

MAX_VALUE = 200
"""Characters of a value that is shown."""

_NOT_A_HABIT = frozenset({"mode", "on_halt", "profile", "skip_review", "task"})
"""Settings that belong to one run."""
_NOT_SHOWN = frozenset({"agents", "env", "issue", "notify"})
"""Tables that may hold secrets, or what a single run works on."""


def find_settings(runs: Sequence[RunRecord]) -> Iterator[Finding]:
    """Values that several runs were given by hand, and changes of the files between two runs."""
    given: dict[tuple[str, Any], list[RunRecord]] = defaultdict(list)
    for run in runs:
        for key, value in run.given.items():
            if _is_habit(key, value):
                given[key, value].append(run)
    for (key, value), having in given.items():
        if len(having) >= FEWEST:
            shown = _toml(value)
            quoted = shlex.quote(shown)
            yield Finding(
                kind=FindingKind.SETTING,
                text=f"{key} = {shown} was given by hand in {len(having)} of "
                f"{count_of(len(runs), 'run')}",
                iterations=tuple(ref for run in having for ref in _first(run)),
                next=f"ralph config set {key} {quoted}",
            )
    for before, after in itertools.pairwise(runs):
        yield from _changed(before, after)


def _changed(before: RunRecord, after: RunRecord) -> Iterator[Finding]:
    if before.config.profile is not after.config.profile:
        return
    old, new = (_flat(run.config.model_dump(mode="json")) for run in (before, after))
    for key in sorted(old.keys() & new.keys()):
        is_given = key in before.given or key in after.given
        if old[key] != new[key] and not is_given and _is_habit(key, new[key]):
            yield Finding(
                kind=FindingKind.SETTING,
                text=f"{key} was changed from {_toml(old[key])} to {_toml(new[key])} before run "
                f"{after.run.rpartition('-')[2]}",
                iterations=(*_last(before), *_first(after)),
            )


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, dict):
            found |= _flat(value, f"{prefix}{name}.")
        else:
            found[f"{prefix}{name}"] = value
    return found


def _is_habit(key: str, value: Any) -> bool:
    is_plain = isinstance(value, str | int | float | bool)
    return is_plain and key not in _NOT_A_HABIT and key.partition(".")[0] not in _NOT_SHOWN


def _toml(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return "unset" if value is None else one_line(str(value), limit=MAX_VALUE)


def _first(run: RunRecord) -> tuple[IterationRef, ...]:
    return _refs(run)[:1]


def _last(run: RunRecord) -> tuple[IterationRef, ...]:
    return _refs(run)[-1:]


def _refs(run: RunRecord) -> tuple[IterationRef, ...]:
    return tuple(IterationRef(run=one.run, iteration=one.iteration) for one in run.iterations)
