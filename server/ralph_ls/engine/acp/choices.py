"""Which of the modes and models that a session offers is chosen, and how the agent is told.

An agent offers them as options of the session's configuration, which is the newer way, or in lists
of their own. Names are the agents': those that ask nothing are known by what they are called.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Session = Mapping[str, Any]
"""The result of ``session/new``, ``session/load`` or ``session/resume``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What can be chosen of one sort."""

    current: str
    values: tuple[tuple[str, str], ...]
    """Each with what it is called."""
    option: str | None
    """The option of the configuration that it is; None where it is a list of its own."""

    def find(self, wanted: str) -> str | None:
        """The value that is meant, by its id or by what it is called, in any case."""
        for value, _ in self.values:
            if value == wanted:
                return value
        for value, name in self.values:
            if wanted.casefold() in {value.casefold(), name.casefold()}:
                return value
        return None

    def request(self, sort: str, session: str, value: str) -> tuple[str, dict[str, Any]]:
        """The method and the parameters that choose it."""
        if self.option is not None:
            params = {"sessionId": session, "configId": self.option, "value": value}
            return "session/set_config_option", params
        return f"session/set_{sort}", {"sessionId": session, f"{sort}Id": value}


def offer_of(session: Session, sort: str) -> Offer | None:
    """What the session offers of a ``sort``, ``mode`` or ``model``; None where nothing."""
    for option in _rows(session.get("configOptions")):
        if sort in {option.get("category"), option.get("id")} and _is_text(option.get("id")):
            values = tuple(_values(option.get("options")))
            if values:
                current = str(option.get("currentValue", ""))
                return Offer(current=current, values=values, option=str(option["id"]))
    offered = session.get(f"{sort}s")
    if not isinstance(offered, dict):
        return None
    key = "id" if sort == "mode" else "modelId"
    rows = _rows(offered.get(f"available{sort.capitalize()}s"))
    values = tuple(
        (row[key], str(row.get("name", row[key]))) for row in rows if _is_text(row.get(key))
    )
    current = str(offered.get(f"current{sort.capitalize()}Id", ""))
    return Offer(current=current, values=values, option=None) if values else None


def permission_requests(session: Session, name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """What turns questions off where that is an option of its own, beside the mode."""
    for option in _rows(session.get("configOptions")):
        number = option.get("id")
        is_one = option.get("category") == "permissions" and _is_text(number)
        if not is_one or _ASKS_NOTHING.search(str(number)) is None:
            continue
        given = {"sessionId": name, "configId": number}
        if option.get("currentValue") is False:
            yield "session/set_config_option", {**given, "type": "boolean", "value": True}
        elif option.get("currentValue") == "off" and "on" in dict(_values(option.get("options"))):
            yield "session/set_config_option", {**given, "value": "on"}


def mode_to_choose(offer: Offer, *, asks: bool) -> str | None:
    """The mode to go into; None: the one that it is in.

    ``asks``: a list says what may be used, so it must not be in a mode that asks nothing.
    """
    if asks:
        if not _asks_nothing(offer.current, dict(offer.values).get(offer.current, "")):
            return None
        return next((value for value, name in offer.values if _is_asking(value, name)), None)
    found = next((value for value, name in offer.values if _asks_nothing(value, name)), None)
    return None if found == offer.current else found


def _asks_nothing(value: str, name: str) -> bool:
    return any(_ASKS_NOTHING.search(text) is not None for text in (value, name))


def _is_asking(value: str, name: str) -> bool:
    return not _asks_nothing(value, name) and _PLANS.search(f"{value} {name}") is None


def _values(options: object) -> Iterator[tuple[str, str]]:
    """The values of an option, also where they stand in groups."""
    for row in _rows(options):
        if _is_text(row.get("value")):
            yield row["value"], str(row.get("name", row["value"]))
        else:
            yield from _values(row.get("options"))


def _rows(value: object) -> list[dict[str, Any]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _is_text(value: object) -> bool:
    return isinstance(value, str)


_ASKS_NOTHING = re.compile(
    r"bypass|yolo|full[ _-]?access|allow[ _-]?all|skip[ _-]?permissions", re.IGNORECASE
)
_PLANS = re.compile(r"plan|read[ _-]?only", re.IGNORECASE)
