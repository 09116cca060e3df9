"""The issues of the fake ``bd``, and what its commands look up in them.

A program that is started hundreds of times imports it, so it imports nothing that takes long.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    Raw = dict[str, Any]

HOLDING = ("blocks", "conditional-blocks", "waits-for")
FREE = ("related", "discovered-from", "relates-to")


class BdError(Exception):
    """What is reported as an error, with code 1."""


class Database:
    """The issues, in memory until they are written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.issues: dict[str, Raw] = {}
        self.made = 0

    def load(self) -> Database:
        with contextlib.suppress(FileNotFoundError):
            value = json.loads(self.path.read_text(encoding="utf-8"))
            self.issues, self.made = value["issues"], value["made"]
        return self

    def write(self) -> None:
        text = json.dumps({"made": self.made, "issues": self.issues}, indent=1)
        temporary = self.path.with_name(f"{self.path.name}.{os.getpid()}.tmp")
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(self.path)

    def add(self, issue: Raw) -> Raw:
        self.made += 1
        now = now_in_words()
        needs, parent = issue.pop("needs", ()), issue.pop("parent", None)
        made: Raw = {
            "id": issue.get("id") or self._fresh_id(parent),
            "title": "",
            "description": "",
            "status": "open",
            "priority": 2,
            "issue_type": "task",
            "created_at": f"2026-01-01T00:{self.made // 60 % 60:02d}:{self.made % 60:02d}Z",
            "updated_at": now,
            "dependencies": [[one, "blocks"] for one in needs],
        }
        if parent:
            made["dependencies"].append([parent, "parent-child"])
        made |= {key: value for key, value in issue.items() if value not in ("", None)}
        made["title"] = made["title"] or made["id"]
        if made["status"] == "closed":
            made.setdefault("close_reason", "Closed")
            made.setdefault("closed_at", now)
        self.issues[made["id"]] = made
        return made

    def find(self, issue_id: str) -> Raw:
        """By its id, or by a part of it that only one has."""
        if issue_id in self.issues:
            return self.issues[issue_id]
        alike = [one for one in self.issues if one.endswith(f"-{issue_id}")]
        if len(alike) != 1:
            raise BdError(f'no issue found matching "{issue_id}"')
        return self.issues[alike[0]]

    def open_needs(self, issue: Raw) -> list[str]:
        """What keeps it from beginning: its own needs, and those of what it is a part of."""
        found = []
        seen: set[str] = set()
        at: Raw | None = issue
        while at is not None and at["id"] not in seen:
            seen.add(at["id"])
            found += [
                on for on, kind in at["dependencies"] if kind in HOLDING and self._is_open(on)
            ]
            parents = [on for on, kind in at["dependencies"] if kind == "parent-child"]
            at = self.issues.get(parents[0]) if parents else None
        return found

    def leads_to(self, start: str, goal: str) -> bool:
        left, seen = [start], set()
        while left:
            at = left.pop()
            if at == goal:
                return True
            if at not in seen and at in self.issues:
                seen.add(at)
                left += [on for on, kind in self.issues[at]["dependencies"] if kind not in FREE]
        return False

    def below(self, parent: str) -> set[str]:
        found: set[str] = set()
        left = [parent]
        while left:
            at = left.pop()
            for issue in self.issues.values():
                if [at, "parent-child"] in issue["dependencies"] and issue["id"] not in found:
                    found.add(issue["id"])
                    left.append(issue["id"])
        return found

    def _is_open(self, issue_id: str) -> bool:
        return issue_id in self.issues and self.issues[issue_id]["status"] != "closed"

    def _fresh_id(self, parent: str | None) -> str:
        number = 1
        while True:
            issue_id = f"{parent}.{number}" if parent else f"bd-{number:03x}"
            if issue_id not in self.issues:
                return issue_id
            number += 1


def now_in_words() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
