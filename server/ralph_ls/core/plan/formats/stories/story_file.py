"""Story file: the stories of ``tasks.json`` or ``prd.json`` with positions, and its problems.

See docs/rules.md#stories. ``tasks.json`` has all the fields; a ``prd.json`` of other tools has
fewer, and a missing field counts as that of a fresh story. Unknown fields are no problem and stay
in the text: it is never written as a whole from these values. Parsing is total: what cannot be read
is reported, and the rest is used.

The problems, by code:

- ``json-syntax``: the text is not JSON at this place; ``json-duplicate-key``: the key is repeated
  later in the same object, and the later one counts;
- ``stories-shape``: there is no list ``userStories``;
- ``story-field-missing``: a story has no ``id`` or no ``title``; ``story-field-type``: a field has
  a value of another type; ``story-field-value``: the type is right and the value is unknown;
- ``story-id-duplicate``: an earlier story has the same id;
- those of ``tasks``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from types import MappingProxyType
from typing import NamedTuple

from ralph_ls.core.plan.formats.json_edit import values_of
from ralph_ls.core.plan.formats.json_text import (
    MOST_FAULTS,
    JsonMember,
    JsonNode,
    last_members,
    repeated_members,
    scan_json,
    value_of,
)
from ralph_ls.core.plan.formats.stories.shapes import (
    HEAD,
    LISTS,
    canonical_members,
    ids_in,
    missing_list,
    status_of,
)
from ralph_ls.core.plan.formats.stories.story_lists import (
    FoundLists,
    StoryList,
    find_lists,
    places_of,
)
from ralph_ls.core.plan.parse.titles import escape_surrogates, fold_whitespace, title_id
from ralph_ls.protocol.task_words import Priority, TaskState


class ReviewStatus(StrEnum):
    """Where a story is in the review cycle; it has none before it is implemented."""

    NEEDS_REVIEW = "needs_review"
    CHANGES_REQUESTED = "changes_requested"
    APPROVED = "approved"


PASSES, STATUS, COUNT, FEEDBACK = "passes", "reviewStatus", "reviewCount", "reviewFeedback"
DEPENDS = "dependsOn"
REVIEW_FIELDS = (PASSES, STATUS, COUNT, FEEDBACK)
"""The fields that a move of the review cycle changes."""

FRESH: Mapping[str, str] = {PASSES: "false", STATUS: "null", COUNT: "0", FEEDBACK: "null"}
"""The JSON values of those fields in a fresh story."""

LONGEST_TITLE = 120
"""Characters of a title that is taken from another field."""

NOTHING = JsonNode(0, 0)
"""The place of a value that the file does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """One story; missing fields have the values of a fresh one."""

    id: str
    """As the file has it; else 8 hex digits of the title. ``-2``, ``-3`` where it repeats."""
    title: str
    """White space is folded."""
    criteria: tuple[str, ...] = ()
    rank: float | None = None
    """The lowest is taken first; of a priority that is a word it is 1, 2 or 3."""
    priority: Priority | None = None
    """None unless the file gives a word; a number is a rank and no priority class."""
    passes: bool = False
    status: ReviewStatus | None = None
    n_reviews: int = 0
    feedback: str = ""
    """Trimmed."""
    depends_on: tuple[str, ...] = ()
    held: TaskState | None = None
    """Where the file has a status in words: in progress, blocked or skipped."""
    nth_list: int = 0
    """Which of the file's lists it is in; of two stories the one in an earlier list is first."""
    node: JsonNode = field(repr=False, compare=False)
    """The whole story in the text."""
    fields: Mapping[str, JsonMember] = field(repr=False, compare=False)
    """The members of the story in the text, by our name of their key."""

    def key_of(self, name: str) -> str:
        """What the file calls a field; our own name where it has none."""
        return self.fields[name].key if name in self.fields else name


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryFile:
    """A file of stories."""

    text: str = field(repr=False)
    project: str = ""
    branch: str = ""
    description: str = ""
    verify_commands: tuple[str, ...] = ()
    stories: tuple[Story, ...] = ()
    """In the order of the file."""
    root: JsonNode = field(default=NOTHING, repr=False, compare=False)
    """The object that the file is, or the list that it is instead."""
    found: FoundLists = field(default=FoundLists(), repr=False, compare=False)
    """Where the stories are."""

    @property
    def lists(self) -> tuple[StoryList, ...]:
        """The lists of the stories, in the order of the file."""
        return self.found.lists

    def list_of(self, story: Story) -> StoryList:
        """The list that a story of this file is in."""
        return self.lists[story.nth_list]

    def by_id(self) -> Mapping[str, Story]:
        """Every story under its id; ids are unique here."""
        return {story.id: story for story in self.stories}


class StoryFinding(NamedTuple):
    """One problem of a file of stories, with its place."""

    code: str
    message: str
    start: int
    """In characters of the text."""
    end: int
    story: str = ""
    """The id of the story that it is about; empty where it is about the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedStories:
    """A parsed file of stories with its problems, by place."""

    stories: StoryFile
    findings: tuple[StoryFinding, ...] = ()


def read_stories(text: str) -> ParsedStories:
    """Parse a file; never raises. Invariants between fields are checked in ``tasks``."""
    scanned = scan_json(text)
    findings = [StoryFinding("json-syntax", *fault) for fault in scanned.faults]
    if scanned.root is None:
        return ParsedStories(stories=StoryFile(text=text), findings=tuple(findings))
    root = scanned.root
    for member in islice(repeated_members(root), MOST_FAULTS):
        message = f"{_quoted(member.key)} is repeated in this object; only the last one counts"
        findings.append(StoryFinding("json-duplicate-key", message, member.start, member.end))
    reader = _Reader(findings)
    members = last_members(root)
    head = _Fields(reader, members, "")
    found = find_lists(root)
    if not found.lists:
        place = members.get(LISTS[0], JsonNode(root.start, root.start + 1))
        reader.report("stories-shape", missing_list(found.others), place, "")
    stories = StoryFile(
        text=text,
        project=head.first_text("project"),
        branch=head.first_text("branchName"),
        description=head.text("description"),
        verify_commands=head.texts("verifyCommands"),
        stories=reader.read_stories(found.lists),
        root=root,
        found=found,
    )
    findings.sort(key=lambda one: one.start)
    return ParsedStories(stories=stories, findings=tuple(findings))


def counterpart(was: StoryFile, now: StoryFile, story: Story) -> JsonNode | None:
    """The list in another version of the file that is the one of a story; None where it is gone.

    The only list of a file is the one of any other with one list, whatever its name is.
    """
    one = was.list_of(story).node
    if len(was.lists) == len(now.lists) == 1:
        found = now.lists[0].node
    else:
        key = list(places_of(was.lists))[story.nth_list]
        nth = places_of(now.lists).get(key)
        if nth is None:
            return None
        found = now.lists[nth].node
    return found if (found.members is None) is (one.members is None) else None


def is_unusable(known: ParsedStories) -> bool:
    """Whether a file is none that a run could work on: no JSON, or without a list of stories."""
    return unusable_reason(known) is not None


def unusable_reason(known: ParsedStories) -> StoryFinding | None:
    """The first problem that makes a file unusable for a run; None where there is none."""
    fatal = (one for one in known.findings if one.code in {"json-syntax", "stories-shape"})
    return next(fatal, None)


def new_findings(
    found: Sequence[StoryFinding], known: Sequence[StoryFinding]
) -> tuple[StoryFinding, ...]:
    """Those that were not there before, with the same words about the same story."""
    before = {(one.code, one.story, one.message) for one in known}
    return tuple(one for one in found if (one.code, one.story, one.message) not in before)


_RANKS: Mapping[str, tuple[Priority, float]] = MappingProxyType(
    {
        "critical": (Priority.P0, 1),
        "urgent": (Priority.P0, 1),
        "high": (Priority.P0, 1),
        "p0": (Priority.P0, 1),
        "medium": (Priority.P1, 2),
        "normal": (Priority.P1, 2),
        "p1": (Priority.P1, 2),
        "low": (Priority.P2, 3),
        "p2": (Priority.P2, 3),
        "p3": (Priority.P2, 4),
    }
)
_STATUSES = ", ".join(["null", *ReviewStatus])


class _Reader:
    """Reads the stories of one file; ids are unique in it."""

    def __init__(self, findings: list[StoryFinding]) -> None:
        self._findings = findings
        self._ids: set[str] = set()
        self._without_id: list[tuple[JsonNode, str]] = []
        self._next: dict[str, int] = {}
        """By id: the number that the next story gets which has it too."""

    def report(self, code: str, message: str, place: JsonNode | JsonMember, story: str) -> None:
        self._findings.append(StoryFinding(code, message, place.start, place.end, story))

    def read_stories(self, lists: Sequence[StoryList]) -> tuple[Story, ...]:
        found: list[Story] = []
        for nth, one in enumerate(lists):
            keys = [member.key for member in one.node.members or ()]
            for number, node in enumerate(values_of(one.node)):
                if node.members is None:
                    self.report("story-field-type", "a story must be an object", node, "")
                    continue
                found.append(self._read_story(node, keys[number] if keys else "", one, nth))
        self._report_ids(n_stories=len(found))
        return tuple(found)

    def _report_ids(self, n_stories: int) -> None:
        """The stories without an id; where none has one, they are one problem."""
        if len(self._without_id) == n_stories > 1:
            message = "no story has an id; add one to each, so that its title may change"
            self.report("story-field-missing", message, self._without_id[0][0], "")
            return
        for place, story_id in self._without_id:
            self.report("story-field-missing", "the story has no id", place, story_id)

    def _read_story(self, node: JsonNode, otherwise: str, of: StoryList, nth: int) -> Story:
        """Read a story of the nth list; ``otherwise`` is the id of one that has none itself."""
        members = canonical_members(last_members(node))
        written, title = _written_id(members) or _as_id(otherwise), _written_title(members)
        story_id = self._own_id(written or title_id(title))
        fields = _Fields(self, members, story_id)
        place = JsonNode(node.start, node.start + 1)
        if not written and not fields.reports_type("id", "text"):
            self._without_id.append((place, story_id))
        elif written and story_id != written:
            message = f"an earlier story already has the id {written}; ids must be unique"
            at = members["id"].node if "id" in members else place
            self.report("story-id-duplicate", message, at, story_id)
        fields.text("title")
        if not title and not fields.has("title"):
            self.report("story-field-missing", f"{story_id} has no title", place, story_id)
        for key in ("description", "notes"):
            fields.text(key)
        rank, priority = fields.rank()
        return Story(
            id=story_id,
            title=title or story_id,
            criteria=fields.texts("acceptanceCriteria"),
            rank=rank,
            priority=priority,
            passes=fields.flag(PASSES),
            held=fields.held() or of.held,
            nth_list=nth,
            status=fields.status(),
            n_reviews=fields.n_reviews(),
            feedback=fields.text(FEEDBACK).strip(),
            depends_on=fields.ids(DEPENDS),
            node=node,
            fields=members,
        )

    def _own_id(self, wanted: str) -> str:
        story_id, number = wanted, self._next.get(wanted, 2)
        while story_id in self._ids:
            story_id, number = f"{wanted}-{number}", number + 1
        self._ids.add(story_id)
        self._next[wanted] = number
        return story_id


class _Fields:
    """The fields of one object; each is read once, and reported if its type is wrong."""

    def __init__(self, reader: _Reader, members: Mapping[str, JsonMember], story: str) -> None:
        self._reader = reader
        self._members = members
        self._story = story

    def has(self, key: str) -> bool:
        return self._node(key) is not None

    def reports_type(self, key: str, wanted: str) -> bool:
        """Report a field of the wrong type; returns whether it has a value at all."""
        node = self._node(key)
        if node is not None and node.scalar != "":
            self._report_type(key, node, wanted)
            return True
        return False

    def text(self, key: str) -> str:
        node = self._node(key)
        if node is None or isinstance(node.scalar, str):
            return "" if node is None else str(node.scalar)
        self._report_type(key, node, "text")
        return ""

    def first_text(self, key: str) -> str:
        """The field of the file, or what other tools call it; of an object its name."""
        node = self._node(key)
        if node is not None and node.members is not None:
            names = last_members(node)
            name = next((names[one] for one in HEAD[key] if _is_string(names.get(one))), None)
            if name is not None:
                return str(name.node.scalar)
        others = (name for name in HEAD[key] if _is_string(self._members.get(name)))
        return self.text(key if key in self._members else next(others, key))

    def texts(self, key: str) -> tuple[str, ...]:
        return tuple(fold_whitespace(text) for text in self._strings(key) if text.strip())

    def ids(self, key: str) -> tuple[str, ...]:
        node = self._node(key)
        listed = () if node is None else ids_in(node)
        return tuple(dict.fromkeys(filter(None, map(_as_id, listed or self._strings(key)))))

    def flag(self, key: str) -> bool:
        node = self._node(key)
        if node is None or isinstance(node.scalar, bool):
            return node is not None and node.scalar is True
        if self._members[key].key != key:
            return status_of(node) is TaskState.DONE
        self._report_type(key, node, "true or false")
        return False

    def held(self) -> TaskState | None:
        # A file may have both a flag and a status.
        fields = (PASSES, "status")
        states = (status_of(self._node(key)) for key in fields)
        held = (state for state in states if state not in {None, TaskState.TODO, TaskState.DONE})
        return next(held, None)

    def status(self) -> ReviewStatus | None:
        node = self._node(STATUS)
        try:
            return None if node is None else ReviewStatus(str(value_of(node)))
        except ValueError:
            message = f"{STATUS} is not one of {_STATUSES}"
            self._reader.report(
                "story-field-value", message, self._members[STATUS].node, self._story
            )
            return None

    def n_reviews(self) -> int:
        node = self._node(COUNT)
        if node is None:
            return 0
        count = node.scalar
        if isinstance(count, bool) or not isinstance(count, int):
            self._report_type(COUNT, node, "a whole number")
            return 0
        if count < 0:
            message = f"{COUNT} is {count}, but cannot be negative"
            self._reader.report("story-field-value", message, node, self._story)
        return max(count, 0)

    def rank(self) -> tuple[float | None, Priority | None]:
        node = self._node("priority")
        if node is None:
            return None, None
        match node.scalar:
            case int() | float() as rank if not isinstance(rank, bool):
                return rank, None
            case str() as word if word.strip().lower() in _RANKS:
                priority, rank = _RANKS[word.strip().lower()]
                return rank, priority
            case str() as word:
                message = f"{_quoted(word)} is not a priority; write a number, where 1 is first"
                self._reader.report("story-field-value", message, node, self._story)
                return None, None
        self._report_type("priority", node, "a number, where 1 is first")
        return None, None

    def _strings(self, key: str) -> Iterator[str]:
        node = self._node(key)
        if node is None:
            return
        if node.items is None:
            self._report_type(key, node, "a list of texts")
            return
        for item in node.items:
            if isinstance(item.scalar, str | int | float) and not isinstance(item.scalar, bool):
                yield str(item.scalar)
            else:
                self._report_type(key, item, "a list of texts")

    def _node(self, key: str) -> JsonNode | None:
        """The value of a field; None where it is missing or null, which is the same."""
        member = self._members.get(key)
        if member is None:
            return None
        node = member.node
        is_null = node.scalar is None and node.items is None and node.members is None
        return None if is_null else node

    def _report_type(self, key: str, node: JsonNode, wanted: str) -> None:
        self._reader.report("story-field-type", f"{key} must be {wanted}", node, self._story)


def _is_string(member: JsonMember | None) -> bool:
    return member is not None and isinstance(member.node.scalar, str)


def _written_title(members: Mapping[str, JsonMember]) -> str:
    scalar = members["title"].node.scalar if "title" in members else None
    title = fold_whitespace(scalar) if isinstance(scalar, str) else ""
    is_ours = "title" not in members or members["title"].key == "title"
    # Some files have a description instead of a title; it may be long.
    return title if is_ours or len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1]}…"


def _written_id(members: Mapping[str, JsonMember]) -> str:
    """The id as the file has it; a number is one too. Empty where there is none."""
    scalar = members["id"].node.scalar if "id" in members else None
    is_id = isinstance(scalar, str | int) and not isinstance(scalar, bool)
    return _as_id(str(scalar)) if is_id else ""


def _as_id(text: str) -> str:
    return escape_surrogates(fold_whitespace(text))


def _quoted(text: str) -> str:
    return f"“{text[:40]}”"
