"""Story shapes: what other tools call the fields of a story, as one table.

A story is read under our names, whatever the file calls them, and written under the file's. Where a
file has a status in words instead of ``passes``, its words for done and open are written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from ralph_ls.core.plan.formats.json_text import JsonMember, JsonNode
from ralph_ls.protocol.task_words import TaskState

LISTS = ("userStories", "stories", "features", "tasks", "items")
"""The fields of a file that may be its list of stories, ours first."""

HEAD: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"project": ("projectName", "name", "feature", "title"), "branchName": ("branch",)}
)
"""The other names of the fields of a file."""

STATUS_WORDS: Mapping[str, TaskState] = MappingProxyType(
    {
        "open": TaskState.TODO,
        "todo": TaskState.TODO,
        "pending": TaskState.TODO,
        "not started": TaskState.TODO,
        "failed": TaskState.TODO,
        "in progress": TaskState.IN_PROGRESS,
        "doing": TaskState.IN_PROGRESS,
        "done": TaskState.DONE,
        "complete": TaskState.DONE,
        "completed": TaskState.DONE,
        "passed": TaskState.DONE,
        "closed": TaskState.DONE,
        "blocked": TaskState.BLOCKED,
        "skipped": TaskState.SKIPPED,
        "deferred": TaskState.SKIPPED,
        "cancelled": TaskState.SKIPPED,
    }
)
_WRITTEN = {True: "done", False: "open"}


def canonical_members(members: Mapping[str, JsonMember]) -> Mapping[str, JsonMember]:
    """The members of a story under our names; each keeps the key that it has in the file."""
    found = dict(members)
    for name, (others, fits) in _ALIASES.items():
        if name in members:
            continue
        key = next((one for one in others if one in members and fits(members[one].node)), None)
        if key is not None:
            found.pop(key, None)
            found[name] = members[key]
    return found


def status_of(node: JsonNode | None) -> TaskState | None:
    """The state that a status in words means; None where there is no such word."""
    if node is None or not isinstance(node.scalar, str):
        return None
    return STATUS_WORDS.get(" ".join(re.split(r"[\s_-]+", node.scalar.strip().casefold())))


def status_word(used: Iterable[JsonNode], *, passes: bool) -> str:
    """The word for a story that passes, or not: one that the file uses, else the usual one."""
    wanted = TaskState.DONE if passes else TaskState.TODO
    words = (str(node.scalar) for node in used if status_of(node) is wanted)
    return next(words, _WRITTEN[passes])


def _is_text(node: JsonNode) -> bool:
    return isinstance(node.scalar, str) and bool(node.scalar.strip())


def _is_list(node: JsonNode) -> bool:
    return node.items is not None


def _says_whether(node: JsonNode) -> bool:
    return isinstance(node.scalar, bool) or status_of(node) is not None


_ALIASES: Mapping[str, tuple[tuple[str, ...], Callable[[JsonNode], bool]]] = MappingProxyType(
    {
        "title": (("name", "story", "summary", "description"), _is_text),
        "acceptanceCriteria": (
            ("acceptance_criteria", "acceptance", "criteria", "steps"),
            _is_list,
        ),
        "passes": (
            ("passed", "done", "completed", "implemented", "status", "state"),
            _says_whether,
        ),
        "dependsOn": (("dependencies", "depends_on", "blockedBy"), _is_list),
    }
)
"""By our name: the others, by precedence, and what such a value looks like."""
