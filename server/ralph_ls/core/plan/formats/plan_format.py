"""Plan format: where a plan is, how its text is read, edited and guarded, and what an agent reads.

A format says where the tasks are and how they are written, a profile how the loop behaves; so any
format can be worked on with any profile that fits it (docs/rules.md#plans). A format is data with
a loader of its operations, so that a program that only looks for plans parses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Protocol

from ralph_ls.core.plan.model import PlanKind

if TYPE_CHECKING:
    from ralph_ls.core.plan.diff.merge_lines import MergedPlan
    from ralph_ls.core.plan.diff.text_diff import TextChange
    from ralph_ls.core.plan.lint.remarks import LintRemark
    from ralph_ls.core.plan.model import ParsedPlan
    from ralph_ls.protocol.lsp.row_methods import TaskEdit
    from ralph_ls.protocol.run.iteration_events import Forbidden
    from ralph_ls.protocol.task_words import TaskState


class PlanStorage(Enum):
    """How a plan is stored, which decides how it is read and written."""

    MARKDOWN = auto()
    """One file of Markdown."""
    STORIES = auto()
    """One JSON file of stories, with their review cycle."""
    FILE = auto()
    """One file in another form."""
    FOLDER = auto()
    """Several files of one folder, which are one plan together."""
    TRACKER = auto()
    """A program."""
    MIRROR = auto()
    """One file of Markdown that mirrors issues which are stored elsewhere."""
    REQUEST = auto()
    """A text without tasks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadOptions:
    """The settings by which a plan is read."""

    optional_sections: Sequence[str] = ()
    """Headings whose tasks are optional; for Markdown only."""
    skip_review: bool = False
    """Stories are finished without a review."""
    tag: str | None = None
    """Which of the plans in one file is read, empty: the first; None: all of them. For Task Master
    only.
    """


PLAN_MISSING = "task-tag-missing"
"""The code of the problem that the plan is not in its file, where others are."""

PlanEdit = Callable[[str], str]
"""The text of a plan after an edit."""

EditEffects = tuple[tuple[str, ...], tuple[tuple[str, str], ...]]
"""Ids of tasks that became done, and changes that are forbidden to agents, by kind and task."""


class TextOperations(Protocol):
    """What a structured format knows of its text: its module of operations.

    All are pure, and total unless stated.
    """

    def parse_text(self, text: str, /) -> ParsedPlan:
        """All tasks of the text, also where a plan is only a part of it."""
        ...

    def why_broken(self, text: str, /) -> str:
        """Why the text is no such plan, in words that follow its path; empty where it is one."""
        ...

    def needs_of(self, text: str, /) -> Mapping[str, tuple[str, ...]]:
        """The ids of the tasks that each task depends on, finished ones too."""
        ...

    def protected_fields(self, text: str, /) -> Mapping[str, Mapping[Forbidden, str]]:
        """The values of each task that an agent may not change, by the kind of that change."""
        ...

    def with_state(
        self, text: str, task_id: str, state: TaskState, reason: str, day: str = "", /
    ) -> str:
        """The text with a task in a state; the reason is that of a blocked one.

        ``day`` is today, such as ``2026-01-31``, for a format that dates what is done.
        Raises ``RalphError`` where that cannot be written.
        """
        ...

    def with_note(self, text: str, task_id: str, note: str, /) -> str:
        """The text with one more line at a task; the same where it has no place for that."""
        ...

    def with_task_of(self, text: str, other: str, task_id: str, /) -> str:
        """The text with a task as it is in the other one: replaced, inserted or removed."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOperations:
    """What can be done with the text of a plan."""

    parse: Callable[[str, ReadOptions], ParsedPlan]
    check: Callable[[ParsedPlan, str, str], tuple[LintRemark, ...]]
    """The remarks on a parsed text; the last argument is the completion marker."""
    edit: Callable[[TaskEdit, str, str, str | None], PlanEdit]
    """The edit of a task, with its reason and the task that it moves before.

    Raises ``RalphError`` where a plan has no such edits.
    """
    retry: Callable[[str], PlanEdit]
    """The edit that opens a task again, with a note; raises as ``edit``."""
    byte_exact: Callable[[Callable[[str], PlanEdit], str], PlanEdit]
    """An edit of a text that may have lone surrogates for bytes that are not UTF-8."""
    effects: Callable[[str, str], EditEffects]
    """The effects of the user's edit of a text."""
    merge: Callable[[str, str, str], MergedPlan]
    """Concurrent changes of two writers in one text: base, mine, theirs."""
    reparse: Callable[[ParsedPlan, TextChange], ParsedPlan] | None = None
    """Reads only what differs again; None where the whole text is read."""
    text: TextOperations | None = None
    """Of a structured format."""
    why_foreign: Callable[[str], str] = lambda _: ""
    """Why a text at one of the format's ``shared`` places is another program's, in words that
    follow its path; empty where it is such a plan.
    """
    is_sure: Callable[[str], bool] = lambda _: False
    """Whether a text surely is such a plan, which is then as good as one of its ``signs``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFormat:
    """One plan format."""

    name: PlanKind
    title: str
    """As its users call it."""
    source: str
    """What the tasks come from, in words: ``the issues of bd``."""
    storage: PlanStorage
    load: Callable[[], PlanOperations]
    """Its operations; loaded when a text is read for the first time."""
    files: tuple[str, ...] = ()
    """Patterns of its files relative to the root, ``*`` for a part of one name; the first match
    wins. Of a plan in several files: its folder.
    """
    members: str = ""
    """The pattern of the files in the folder of a plan in several files."""
    put_away: tuple[str, ...] = ()
    """Folders beside that folder, to which the tool moves tasks that are over."""
    shared: tuple[str, ...] = ()
    """Those of ``files`` where other programs have files, too: the text decides whose it is, unless
    another of ``files`` names it.
    """
    not_in: tuple[str, ...] = ()
    """Names that ``*`` does not match."""
    signs: tuple[str, ...] = ()
    """Paths one of which must be there too, for a place that other tools use as well, unless a text
    surely is such a plan (``PlanOperations.is_sure``).
    """
    suffixes: tuple[str, ...] = ()
    """Endings of a file that is of this format wherever it is."""
    any_case: bool = False
    """Whether its users also write the names of its files in capitals."""
    written_as: Callable[[str], PlanKind] | None = None
    """The format of a text in one of its files; None where the path alone decides."""
    shows: tuple[str, ...] = ()
    """Patterns of paths that show the format where it has no plan yet."""
    begin: str = ""
    """How its users write a plan, in words that follow "has no plan yet;"."""
    executed: str = ""
    """The pattern of files that the tool writes when it has executed a task, relative to the folder
    of the plan; ``*`` in their name is the id of the task.
    """
    documents: tuple[str, ...] = ()
    """Documents for the prompt, relative to the root; ``{folder}`` is that of the plan."""
    settings: tuple[tuple[str, object], ...] = ()
    """Dotted keys and values: what differs from the profile's settings, unless the user sets it."""
    instructions: str = ""
    """The name of its instructions for agents in ``core/prompt/wording/formats/``."""
    closing: str = ""
    """Advice for a plan that is done; ``{name}`` is the name of its folder."""

    @property
    def is_file(self) -> bool:
        """Whether one file is the plan."""
        return self.storage in _FILES

    @property
    def is_text(self) -> bool:
        """Whether the plan is in files, one or several."""
        return self.is_file or self.storage is PlanStorage.FOLDER

    @property
    def is_markdown(self) -> bool:
        return self.storage in {PlanStorage.MARKDOWN, PlanStorage.MIRROR}

    @property
    def can_block(self) -> bool:
        """Whether a task can be marked as blocked in the text."""
        return self.is_markdown or self.storage in {PlanStorage.FILE, PlanStorage.FOLDER}

    @property
    def has_reviews(self) -> bool:
        """Whether a task is reviewed before it is done."""
        return self.storage is PlanStorage.STORIES


_FILES = frozenset(
    {PlanStorage.MARKDOWN, PlanStorage.STORIES, PlanStorage.FILE, PlanStorage.MIRROR}
)
