"""Finding in a record what a mapping says stands there; what has another shape is not there.

It must never know what becomes of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from ralph_ls.core.agent.decode.claude.tools import summary_of
from ralph_ls.core.agent.decode.one_line import in_one_line
from ralph_ls.core.agent.decode.told import Counts
from ralph_ls.core.agent.usage import add_known
from ralph_ls.protocol.config.agent import JsonLinesConfig

JsonRecord = Mapping[str, Any]

Paths = tuple[tuple[str, ...], ...]


class Fields:
    """Looks into the records of one program."""

    def __init__(self, mapping: JsonLinesConfig) -> None:
        self._kind = (tuple(mapping.kind.split(".")),)
        self._meanings = {
            kind: meaning for meaning, kinds in mapping.kinds.model_dump().items() for kind in kinds
        }
        self._paths: dict[str, Paths] = {
            name: tuple(tuple(path.split(".")) for path in paths)
            for name, paths in mapping.fields.model_dump().items()
        }
        self._input_has_cached = mapping.input_has_cached

    def meaning_of(self, record: JsonRecord) -> str | None:
        """Which of the kinds of the mapping a record is; None for any other."""
        kind = _find(record, self._kind)
        return self._meanings.get(kind) if isinstance(kind, str) else None

    def value(self, record: JsonRecord, name: str) -> Any:
        """Whatever stands there; None where nothing does."""
        return _find(record, self._paths[name])

    def text(self, record: JsonRecord, name: str) -> str:
        """The first text that stands there; empty where none does."""
        for path in self._paths[name]:
            value = _find(record, (path,))
            if isinstance(value, str):
                return value
        return ""

    def name_of_call(self, record: JsonRecord) -> str:
        """What joins a call and its result; numbers will do as well."""
        value = self.value(record, "call")
        return str(value) if isinstance(value, str | int) else ""

    def summary(self, record: JsonRecord, folder: str) -> str:
        """What a tool is used on, in one line."""
        value = self.value(record, "summary")
        if isinstance(value, dict):
            return summary_of(value, folder)
        if isinstance(value, list):
            return in_one_line(", ".join(one for one in value if isinstance(one, str)))
        return "" if value is None else in_one_line(str(value))

    def has_failed(self, record: JsonRecord) -> bool:
        """Whether it says that something did not go well."""
        ok = self.value(record, "ok")
        return (ok is not None and not ok) or bool(self.value(record, "failed"))

    def counts(self, record: JsonRecord) -> Counts:
        """What it says was used, as all agents have it here."""
        whole, cached = self._number(record, "input_tokens"), self._number(record, "cached_tokens")
        if self._input_has_cached and whole is not None:
            whole = max(0, whole - (cached or 0))
        cost = self.value(record, "cost_usd")
        is_cost = isinstance(cost, int | float) and not isinstance(cost, bool)
        return Counts(
            input_tokens=whole,
            output_tokens=self._number(record, "output_tokens"),
            cached_tokens=cached,
            cost_usd=float(cost) if is_cost and cost >= 0 else None,
            turns=self._number(record, "turns"),
        )

    def _number(self, record: JsonRecord, name: str) -> int | None:
        value = self.value(record, name)
        is_count = isinstance(value, int) and not isinstance(value, bool)
        return value if is_count and value >= 0 else None


def add_counts(one: Counts, other: Counts) -> Counts:
    """Both together; what neither knows stays unknown."""
    return Counts(
        **{
            name: add_known(getattr(one, name), getattr(other, name))
            for name in ("input_tokens", "output_tokens", "cached_tokens", "cost_usd", "turns")
        }
    )


def known_over(counts: Counts, earlier: Counts) -> Counts:
    """The later counts, and of the earlier ones what those do not know."""
    known = {name: value for name, value in structs.asdict(counts).items() if value is not None}
    return structs.replace(earlier, **known)


def _find(record: JsonRecord, paths: Paths) -> Any:
    for path in paths:
        value: Any = record
        for name in path:
            value = _inside(value, name)
        if value is not None:
            return value
    return None


def _inside(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return value.get(name)
    is_place = isinstance(value, list) and name.isdecimal() and len(name) < _LONGEST_PLACE
    return value[int(name)] if is_place and int(name) < len(value) else None


_LONGEST_PLACE = 10
"""Digits."""
