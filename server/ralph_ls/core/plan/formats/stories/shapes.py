"""Story shapes: what other tools call the fields of a story, as one table.

A story is read under our names, whatever the file calls them, and written under the file's. Where a
file has a status in words instead of ``passes``, its words for done and open are written. Words
that are not in the table are those of Markdown plans, in every language.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from types import MappingProxyType

from ralph_ls.core.plan.formats.json_text import JsonMember, JsonNode
from ralph_ls.core.plan.parse.titles import escape_surrogates, fold_whitespace
from ralph_ls.core.plan.parse.words.state_words import read_state_word
from ralph_ls.core.plurals import count_of
from ralph_ls.protocol.task_words import TaskState

LISTS = ("userStories", "stories", "features", "tasks", "items", "user_stories", "todos")
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
        "failing": TaskState.TODO,
        "new": TaskState.TODO,
        "draft": TaskState.TODO,
        "proposed": TaskState.TODO,
        "queued": TaskState.TODO,
        "spec ready": TaskState.TODO,
        "in progress": TaskState.IN_PROGRESS,
        "doing": TaskState.IN_PROGRESS,
        "review": TaskState.IN_PROGRESS,
        "needs review": TaskState.IN_PROGRESS,
        "testing": TaskState.IN_PROGRESS,
        "done": TaskState.DONE,
        "complete": TaskState.DONE,
        "completed": TaskState.DONE,
        "passed": TaskState.DONE,
        "passing": TaskState.DONE,
        "pass": TaskState.DONE,
        "verified": TaskState.DONE,
        "closed": TaskState.DONE,
        "blocked": TaskState.BLOCKED,
        "skipped": TaskState.SKIPPED,
        "deferred": TaskState.SKIPPED,
        "cancelled": TaskState.SKIPPED,
    }
)
_LONGEST_STATUS = 30
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
    if "passes" not in found and is_unknown_status(members.get("status")):
        found["passes"] = found.pop("status")
    return found


def has_field(members: Mapping[str, JsonMember], name: str) -> bool:
    """Whether a story has a field, under our name or another one."""
    others, fits = _ALIASES[name]
    if name in members or any(one in members and fits(members[one].node) for one in others):
        return True
    return name == "passes" and is_unknown_status(members.get("status"))


def status_of(node: JsonNode | None) -> TaskState | None:
    """The state that a status in words means; None where there is no such word."""
    if node is None or not isinstance(node.scalar, str):
        return None
    words = " ".join(re.split(r"[\s_-]+", node.scalar.strip().casefold()))
    if len(words) > _LONGEST_STATUS:
        return None
    return STATUS_WORDS.get(words) or read_state_word(words)


def is_unknown_status(member: JsonMember | None) -> bool:
    """Whether a member is a status in a word that has no known state."""
    if member is None or member.key != "status" or not _is_text(member.node):
        return False
    return len(str(member.node.scalar)) <= _LONGEST_STATUS and status_of(member.node) is None


def status_word(used: Iterable[JsonNode], *, passes: bool) -> str:
    """The word for a story that passes, or not: one that the file uses, else the usual one."""
    wanted = TaskState.DONE if passes else TaskState.TODO
    words = (str(node.scalar) for node in used if status_of(node) is wanted)
    return next(words, _WRITTEN[passes])


def missing_list(lists: Sequence[tuple[tuple[str, ...], int]]) -> str:
    """The message for a file without a list of stories: which list it has, and what to do.

    ``lists`` are the lists of objects, by the keys on the way to each.
    """
    message = f"the list {LISTS[0]} is missing"
    if not lists:
        return f"{message}; add it, with an id and a title for each story"
    path, n_objects = max(lists, key=itemgetter(1))
    return (
        f"{message}; there is a list {path_name(path)} with {count_of(n_objects, 'object')}; if "
        f"they are the work, call it {LISTS[0]}, or give each a title and a status"
    )


def path_name(path: tuple[str, ...]) -> str:
    """A path as messages write it: ``phases.tasks``."""
    return escape_surrogates(fold_whitespace(".".join(path)))[:_LONGEST_PATH]


_LONGEST_PATH = 80


def _is_text(node: JsonNode) -> bool:
    return isinstance(node.scalar, str) and bool(node.scalar.strip())


def _is_list(node: JsonNode) -> bool:
    return node.items is not None


def _is_id(node: JsonNode) -> bool:
    return isinstance(node.scalar, str | int) and not isinstance(node.scalar, bool)


def _is_ids(node: JsonNode) -> bool:
    return node.items is not None or bool(ids_in(node))


def ids_in(node: JsonNode) -> tuple[str, ...]:
    """The ids that a text lists, such as ``US-3, US-4``; none for a sentence."""
    text = node.scalar if isinstance(node.scalar, str) else ""
    parts = [part.strip() for part in text.split(",")]
    return tuple(parts) if all(map(_ONE_ID.fullmatch, parts)) else ()


_ONE_ID = re.compile(r"(?=[^\d\s]*\d)[\w.-]{1,40}")


def _says_whether(node: JsonNode) -> bool:
    return isinstance(node.scalar, bool) or status_of(node) is not None


_ALIASES: Mapping[str, tuple[tuple[str, ...], Callable[[JsonNode], bool]]] = MappingProxyType(
    {
        "id": (("taskId", "task_id", "storyId", "story_id"), _is_id),
        "title": (
            ("name", "story", "task", "summary", "description", "content", "text", "feature"),
            _is_text,
        ),
        "acceptanceCriteria": (
            ("acceptance_criteria", "acceptance", "criteria", "steps"),
            _is_list,
        ),
        "passes": (
            (
                "passed",
                "done",
                "completed",
                "complete",
                "implemented",
                "finished",
                "isCompleted",
                "status",
                "state",
            ),
            _says_whether,
        ),
        "dependsOn": (
            ("dependencies", "depends_on", "deps", "blockedBy", "blocked_by", "prerequisites"),
            _is_ids,
        ),
    }
)
"""By our name: the others, by precedence, and what such a value looks like."""
