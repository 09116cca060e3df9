"""Story shapes: what other tools call the fields of a story, as one table.

A story is read under our names, whatever the file calls them, and written under the file's. Where a
file has a status in words instead of ``passes``, its words for done and open are written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from ralph_ls.core.plan.formats.json_text import JsonMember, JsonNode, last_members
from ralph_ls.core.plurals import count_of
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


def missing_list(members: Mapping[str, JsonMember]) -> str:
    """The message for a file without a list of stories: which list it has, and what to do."""
    message = f"the list {LISTS[0]} is missing"
    keys = [key for key in members if _PLAIN_KEY.fullmatch(key)]
    for key in keys:
        parts = _objects_in(members[key].node)
        inner = ((name, _stories_below(parts, name)) for name in LISTS)
        found = next(((name, n_stories) for name, n_stories in inner if n_stories), None)
        if found is not None:
            name, n_stories = found
            return (
                f"{message}; there are {count_of(n_stories, 'object')} in {key}[].{name}, which "
                "are not read; put them into one list, as in: "
                f"jq '.{LISTS[0]} = [.{key}[].{name}[]?]' FILE > NEW"
            )
    lists = ((key, len(_objects_in(members[key].node))) for key in keys)
    other = next(((key, n_objects) for key, n_objects in lists if n_objects), None)
    if other is None:
        return f"{message}; add it, with an id and a title for each story"
    return (
        f"{message}; there is a list {other[0]} with {count_of(other[1], 'object')}; if they are "
        f"the work, call it {LISTS[0]}"
    )


_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,39}")


def _objects_in(node: JsonNode) -> list[JsonNode]:
    return [item for item in node.items or () if item.members is not None]


def _stories_below(parts: Iterable[JsonNode], name: str) -> int:
    members = (last_members(part) for part in parts)
    return sum(len(_objects_in(one[name].node)) for one in members if name in one)


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
