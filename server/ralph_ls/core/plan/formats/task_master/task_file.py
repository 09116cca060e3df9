"""Task file of Task Master: tasks, subtasks and tags of ``tasks.json`` with their positions.

A file is an object of tags, each with a list ``tasks`` or a list itself; an older one is a single
such list. One tag is the plan of a run, but an edit finds its task in any: numbers begin again in
each tag, so an id names its tag, ``auth:5``, except in ``master``, or in the first tag where there
is no such one. Unknown fields stay in the text, which is never written as a whole from these.

A subtask's id is that of its task with its number: ``5.2``. Its dependencies without a point name
its siblings. Below a task that is done or was given up, no subtask is open: its tool looks at none
there either.

Parsing is total: what cannot be read is reported, and the rest is used.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import NamedTuple

from ralph_ls.core.plan.formats.json_text import JsonMember, JsonNode, last_members, scan_json
from ralph_ls.core.plan.formats.plan_format import PLAN_MISSING
from ralph_ls.core.plan.parse.titles import escape_surrogates, fold_whitespace, title_id
from ralph_ls.core.plan.parse.words.state_words import read_state_word
from ralph_ls.core.plurals import count_of
from ralph_ls.protocol.task_words import SETTLED_STATES, Priority, TaskState

FIRST_TAG = "master"
_MOST_NAMED = 3
BLOCKED_BY = "Blocked by: "
"""How the last line of the details begins in which a reason is noted."""

STATUS_OF: Mapping[TaskState, str] = MappingProxyType(
    {
        TaskState.TODO: "pending",
        TaskState.IN_PROGRESS: "in-progress",
        TaskState.DONE: "done",
        TaskState.BLOCKED: "blocked",
        TaskState.SKIPPED: "deferred",
    }
)
STATE_OF: Mapping[str, TaskState] = MappingProxyType(
    {
        **{word: state for state, word in STATUS_OF.items()},
        "todo": TaskState.TODO,
        "open": TaskState.TODO,
        "completed": TaskState.DONE,
        "complete": TaskState.DONE,
        # The user looks at it and decides, so no agent takes it.
        "review": TaskState.BLOCKED,
        "cancelled": TaskState.SKIPPED,
        "canceled": TaskState.SKIPPED,
    }
)
REASON_OF = {"review": "waits for your review: set it to done, or to pending"}
PRIORITY_OF = {
    "critical": Priority.P0,
    "high": Priority.P0,
    "medium": Priority.P1,
    "low": Priority.P2,
}


class TaskFinding(NamedTuple):
    """One problem of the file with its place."""

    code: str
    message: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MasterTask:
    """One task or subtask."""

    id: str
    title: str
    """White space is folded."""
    state: TaskState
    priority: Priority | None = None
    """A subtask has that of its task."""
    test: str = ""
    """The test strategy, white space folded."""
    reason: str | None = None
    needs: tuple[str, ...] = ()
    """The ids that it depends on, also those that no task has."""
    parent: str | None = None
    parts: tuple[str, ...] = ()
    """The ids of its subtasks."""
    tag: str = ""
    node: JsonNode = field(repr=False, compare=False)
    fields: Mapping[str, JsonMember] = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFile:
    """The tasks of all tags that are read, each task before its subtasks."""

    text: str = field(repr=False)
    tasks: tuple[MasterTask, ...] = ()
    lists: Mapping[str, JsonNode] = field(default_factory=dict, repr=False, compare=False)
    """The list of the tasks of every tag; that of a file without tags has an empty name."""
    findings: tuple[TaskFinding, ...] = ()

    def by_id(self) -> Mapping[str, MasterTask]:
        """Every task under its id; ids are unique here."""
        return {task.id: task for task in self.tasks}


def read_task_file(text: str, tag: str | None = None) -> TaskFile:
    """Read the tasks of one tag; an empty one is that whose ids have no name. None: of all tags.

    Never raises.
    """
    scanned = scan_json(text)
    findings = [TaskFinding("json-syntax", *fault) for fault in scanned.faults]
    if scanned.root is None:
        return TaskFile(text=text, findings=tuple(findings))
    lists, start = _lists_in(scanned.root), scanned.root.start
    first = FIRST_TAG if FIRST_TAG in lists else next(iter(lists), "")
    if not lists:
        message = "the list tasks is missing; write one in Task Master with: task-master parse-prd"
        findings.append(TaskFinding("tasks-shape", message, start, start + 1))
    elif tag and tag not in lists and first:
        message = f"there is no tag {tag[:40]}; the tags are: {', '.join(lists)}"
        findings.append(TaskFinding(PLAN_MISSING, message, start, start + 1))
    elif tag is not None:
        findings += _tags_left(lists, tag or first)
    if untitled := _untitled(lists):
        message = "no task has a title, so they are not those of Task Master"
        findings.append(TaskFinding("tasks-shape", message, untitled.start, untitled.start + 1))
        return TaskFile(text=text, lists=lists, findings=tuple(findings))
    reader = _Reader(text, findings)
    wanted = lists if tag is None or not first else {tag or first} & lists.keys()
    tasks = [
        task
        for name, array in lists.items()
        if name in wanted
        for task in reader.read_tag(name, array, is_first=name == first)
    ]
    tasks = [_with_known_needs(task, reader.ids) for task in tasks]
    findings += _unknown_needs(tasks, reader.ids)
    findings += _open_below_done(tasks)
    findings.sort(key=lambda one: one.start)
    return TaskFile(text=text, tasks=tuple(tasks), lists=lists, findings=tuple(findings))


def tags_in(text: str) -> tuple[str, ...]:
    """The tags of a task file that have a list of tasks; none in a file without tags."""
    root = scan_json(text).root
    return () if root is None else tuple(filter(None, _lists_in(root)))


def current_tag(state: str) -> str:
    """The current tag in Task Master's own ``state.json``; empty where it names none."""
    root = scan_json(state).root
    return "" if root is None else _text_of(last_members(root), "currentTag")


def normalise_status(word: str) -> str:
    """A status as it is compared: small letters, and a hyphen between its words."""
    return "-".join(word.casefold().replace("_", " ").replace("-", " ").split())


def _state_of(status: str) -> TaskState | None:
    """The state of a normalised status, also of words that only other tools write."""
    return STATE_OF.get(status) or read_state_word(status.replace("-", " "))


def _lists_in(root: JsonNode) -> Mapping[str, JsonNode]:
    """The lists of tasks by tag; the only one of a file without tags has an empty name."""
    if root.items is not None:
        return {"": root}
    only = _list_of(root)
    if only is not None:
        return {"": only}
    nodes = {name: member.node for name, member in last_members(root).items()}
    if (inner := nodes.get("tags")) is not None and inner.members is not None:
        nodes = {name: member.node for name, member in last_members(inner).items()}
    has_bare = any(map(_is_bare_list, nodes.values()))
    tags = {
        name: node if has_bare and _may_be_list(node) else _list_of(node)
        for name, node in nodes.items()
    }
    return {escape_surrogates(name): found for name, found in tags.items() if found is not None}


def _untitled(lists: Mapping[str, JsonNode]) -> JsonNode | None:
    """The first list with objects, where no object of any has a title."""
    found = [
        (array, last_members(node))
        for array in lists.values()
        for node in array.elements
        if node.members is not None
    ]
    has_titles = any(_text_of(members, "title").strip() for _, members in found)
    return None if has_titles or not found else found[0][0]


def _tags_left(lists: Mapping[str, JsonNode], tag: str) -> Iterator[TaskFinding]:
    """The tags with open tasks that are not read."""
    for name, array in lists.items():
        words = (_text_of(last_members(task), "status") for task in array.elements)
        states = (_state_of(normalise_status(word or "pending")) for word in words)
        n_open = sum(state in {TaskState.TODO, TaskState.IN_PROGRESS} for state in states)
        if n_open and name != tag:
            message = (
                f"the tag {name[:40]} has {count_of(n_open, 'open task')}, and only the tag "
                f"{tag[:40]} is read; work on it with: ralph run --plan {name[:40]}"
            )
            yield TaskFinding("task-tag-left", message, array.start, array.start + 1)


def _list_of(node: JsonNode) -> JsonNode | None:
    member = last_members(node).get("tasks")
    return None if member is None or member.node.items is None else member.node


def _is_bare_list(node: JsonNode) -> bool:
    """Whether it is a list of tasks without an object around it, as agents write it."""
    tasks = [last_members(one) for one in node.elements if one.members is not None]
    return any(_text_of(task, "title").strip() and "status" in task for task in tasks)


def _may_be_list(node: JsonNode) -> bool:
    """Whether it is such a list in a file that has one, also without its last task."""
    return node.items is not None and (not node.elements or _is_bare_list(node))


class _Reader:
    """Reads the tasks of tags, one after the other; ids are unique in all of them."""

    def __init__(self, text: str, findings: list[TaskFinding]) -> None:
        self._text = text
        self._findings = findings
        self.ids: set[str] = set()
        """Those of the tasks that were read."""
        self._tag = self._prefix = ""

    def read_tag(self, tag: str, array: JsonNode, *, is_first: bool) -> Iterator[MasterTask]:
        """The tasks of a tag; the ids of any but the first begin with its name."""
        self._tag, self._prefix = tag, "" if is_first else f"{tag}:"
        yield from self._read_list(array)

    def _read_list(self, array: JsonNode, parent: MasterTask | None = None) -> Iterator[MasterTask]:
        for node in array.elements:
            if node.members is None:
                what = "task" if parent is None else "subtask"
                self._report("task-type", f"a {what} must be an object; this is not read", node)
                continue
            task = self._read_task(node, parent)
            subtasks = task.fields.get("subtasks")
            if parent is not None or subtasks is None or subtasks.node.items is None:
                yield task
                continue
            inner = tuple(self._read_list(subtasks.node, task))
            yield replace(task, parts=tuple(one.id for one in inner))
            yield from inner

    def _read_task(self, node: JsonNode, parent: MasterTask | None) -> MasterTask:
        members = last_members(node)
        title = fold_whitespace(_text_of(members, "title"))
        number = self._word_of(members["id"].node) if "id" in members else ""
        own = f"{self._prefix}{title_id(title)}"
        task_id = self._own_id(self._full_id(number, parent) if number else own, node)
        if not title:
            self._report("task-title-missing", f"task {task_id} has no title", node)
        status = normalise_status(_text_of(members, "status") or "pending")
        state = self._state(task_id, status, members, parent)
        priority = PRIORITY_OF.get(_text_of(members, "priority").strip().casefold())
        return MasterTask(
            id=task_id,
            title=title or task_id,
            state=state,
            priority=priority if parent is None or priority is not None else parent.priority,
            test=fold_whitespace(_text_of(members, "testStrategy")),
            reason=_reason(status, state, _text_of(members, "details")),
            needs=self._needs(members, parent),
            parent=None if parent is None else parent.id,
            tag=self._tag,
            node=node,
            fields=members,
        )

    def _state(
        self,
        task_id: str,
        status: str,
        members: Mapping[str, JsonMember],
        parent: MasterTask | None,
    ) -> TaskState:
        if status not in STATE_OF:
            known = ", ".join(["pending", "in-progress", "done", "review", "blocked", "deferred"])
            message = f"task {task_id} has the unknown status {status[:40]}; write one of {known}"
            self._report("task-status-unknown", message, members["status"].node)
        state = _state_of(status) or TaskState.BLOCKED
        if parent is not None and parent.state in SETTLED_STATES and state not in SETTLED_STATES:
            return parent.state
        return state

    def _needs(
        self, members: Mapping[str, JsonMember], parent: MasterTask | None
    ) -> tuple[str, ...]:
        if "dependencies" not in members:
            return ()
        words = filter(None, map(self._word_of, members["dependencies"].node.elements))
        full = (self._full_id(word, None if "." in word else parent) for word in words)
        return tuple(dict.fromkeys(full))

    def _full_id(self, number: str, parent: MasterTask | None) -> str:
        """The id of a task, with its tag; of a subtask with that of its task in front."""
        above = "" if parent is None else f"{parent.id}."
        full = f"{self._prefix}{number}"
        return full if full.startswith(above) else f"{above}{number}"

    def _word_of(self, node: JsonNode) -> str:
        """An id as it is written, for 5.10 is not 5.1; empty for anything but text and number."""
        scalar = node.scalar
        if isinstance(scalar, str):
            return escape_surrogates(fold_whitespace(scalar))
        is_number = isinstance(scalar, int | float) and not isinstance(scalar, bool)
        return self._text[node.start : node.end] if is_number else ""

    def _own_id(self, wanted: str, node: JsonNode) -> str:
        task_id, number = wanted, 2
        while task_id in self.ids:
            task_id, number = f"{wanted}-{number}", number + 1
        if task_id != wanted:
            message = f"an earlier task already has the id {wanted}; ids must be unique"
            self._report("task-id-duplicate", message, node)
        self.ids.add(task_id)
        return task_id

    def _report(self, code: str, message: str, node: JsonNode) -> None:
        end = node.end if node.members is None else node.start + 1
        self._findings.append(TaskFinding(code, message, node.start, end))


def _with_known_needs(task: MasterTask, ids: Collection[str]) -> MasterTask:
    """The task; a subtask may need a whole task by a number that no sibling has."""
    if task.parent is None or all(name in ids for name in task.needs):
        return task
    tag, colon, _ = task.parent.rpartition(":")
    needs = []
    for name in task.needs:
        whole = f"{tag}{colon}{name.removeprefix(task.parent + '.')}"
        is_whole = name not in ids and whole in ids and whole != task.parent
        needs.append(whole if is_whole else name)
    return replace(task, needs=tuple(needs))


def _unknown_needs(tasks: Sequence[MasterTask], known: Collection[str]) -> Iterator[TaskFinding]:
    for task in tasks:
        for name in task.needs:
            if name not in known:
                message = f"{task.id} depends on {name}, but there is no such task"
                node = task.fields["dependencies"].node
                yield TaskFinding("task-dependency-unknown", message, node.start, node.end)


def _open_below_done(tasks: Sequence[MasterTask]) -> Iterator[TaskFinding]:
    """One finding for all open subtasks of tasks that are done, at the first of them."""
    done = {task.id for task in tasks if task.state is TaskState.DONE}
    found = [
        task
        for task in tasks
        if task.parent in done
        and _state_of(normalise_status(_text_of(task.fields, "status") or "pending"))
        not in SETTLED_STATES
    ]
    if not found:
        return
    is_one = len(found) == 1
    names = ", ".join(task.id for task in found[:_MOST_NAMED])
    more = f" and {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    message = (
        f"{'1 open subtask is' if is_one else f'{len(found)} open subtasks are'} below tasks that "
        f"are done, and {'counts' if is_one else 'count'} as done ({names}{more}); set "
        f"{'it' if is_one else 'them'} to done, or open the task again"
    )
    start, status = found[0].node.start, found[0].fields.get("status")
    place = JsonNode(start, start + 1) if status is None else status.node
    yield TaskFinding("subtasks-read-as-done", message, place.start, place.end)


def _text_of(members: Mapping[str, JsonMember], key: str) -> str:
    scalar = members[key].node.scalar if key in members else None
    return escape_surrogates(scalar) if isinstance(scalar, str) else ""


def _reason(status: str, state: TaskState, details: str) -> str | None:
    if state is not TaskState.BLOCKED:
        return None
    last = details.rstrip().rpartition("\n")[2].strip()
    if last.startswith(BLOCKED_BY):
        return fold_whitespace(last.removeprefix(BLOCKED_BY)) or None
    return REASON_OF.get(status) or (None if _state_of(status) else f"its status {status[:40]}")
