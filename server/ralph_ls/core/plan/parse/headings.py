"""Headings: what a heading says about the items below it: tasks or notes, priority, done, optional.

A heading is judged by its words, and by whole headings rather than single words: ``# Notes App`` is
no notes section. Does not consider the items.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum, auto
from functools import lru_cache
from typing import NamedTuple

from ralph_ls.core.plan.parse.legend import SignTable
from ralph_ls.core.plan.parse.words.chinese import compile_both
from ralph_ls.core.plan.parse.words.section_words import (
    ANALYSES,
    BEGUN,
    CHECKS,
    CRITERIA,
    DECISIONS,
    DESIGN_LAST_WORDS,
    DONE,
    EXECUTION,
    EXISTING,
    FEATURES,
    FINDINGS,
    FIX_PLANS,
    GATE,
    GROUPS,
    LATER,
    LEGENDS,
    MAYBE,
    NEXT_STEPS,
    NOTES,
    NUMBERED,
    OPEN_WORK,
    ORDER,
    OUT_OF_SCOPE,
    PRESENT,
    PRIORITIES,
    PROGRESS,
    PROSE,
    PROSE_LAST_WORDS,
    RECURRING,
    STAGES,
    STATUS_LABELS,
    STEP_LABEL,
    STEP_NAME,
    STEP_SECTIONS,
    STEPS,
    TASK_NAME,
    TASKS,
    TASKS_LAST_WORDS,
    UNIT_NAME,
    WORK,
)
from ralph_ls.core.plan.parse.words.state_words import read_state, read_state_word
from ralph_ls.core.plan.parse.words.title_states import closing_remark, opening_remark, opening_sign
from ralph_ls.protocol.task_words import Priority, TaskState


class SectionKind(Enum):
    """How the list items of a section are read."""

    PLAIN = auto()
    """The heading has no special meaning: items with a box are tasks."""
    TASKS = auto()
    """Numbered items are tasks without a box, too."""
    DONE = auto()
    """Every item is a task, and done unless its box is open."""
    ISSUES = auto()
    """``[BUG]`` items are tasks without a box, too (docs/rules.md#plans)."""
    PROSE = auto()
    """Guidelines and the like: only a box makes a task."""
    NOTES = auto()
    """Never tasks, not even with a box (docs/rules.md#plans)."""


class HeadingClass(Enum):
    """Why a heading may be a task."""

    STATED = auto()
    """It has a state."""
    SIGNED = auto()
    """It has only an emoji for a state in front, which decorates where others do."""
    STATED_TASK = auto()
    """It has a state and is named like a task, so that those beside it are tasks, too."""
    STATED_STEP = auto()
    """The same for a part of the work."""
    STATED_COUNTED = auto()
    """It has a state, and begins with a word and a number as others do."""
    REMARKED_COUNTED = auto()
    """The same with a state only in words, or in an emoji in front."""
    REMARKED = auto()
    """It has a state only in words at its end: ``Parser (M, done)``."""
    COUNTED = auto()
    """It begins with a word and a number: with others like it, a task where nothing else is one."""
    CHANGE = auto()
    """It says what is done to a file, ``[NEW] lexer.py``: a task where nothing else is one."""
    PLAIN = auto()
    """It says nothing of itself, and is a task beside two or more of those."""
    REMARKED_STEP = auto()
    """It is a part of the work, with a state only in words at its end: ``Phase 1 (done)``."""
    LISTED = auto()
    """It is numbered, directly in a section for tasks: ``### 1. …`` below ``## To do``."""
    TASK = auto()
    """It is named like a task: ``Task 1: …``, ``T001: …``."""
    STEP = auto()
    """It is named like a part of the work, or numbered in one: ``Phase 1: …``, ``1.2 …``."""


NO_TASKS = frozenset({SectionKind.NOTES, SectionKind.PROSE})
"""The kinds of sections in which nothing is a task, or only a box."""
NAMED_TASKS = frozenset({HeadingClass.TASK, HeadingClass.LISTED})
"""The names of headings whose lists describe them."""
UNITS = NAMED_TASKS | {HeadingClass.STEP}
"""The names of tasks and of parts of the work."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class HeadingSection:
    """The part of a plan below one heading; compared by identity, since titles repeat."""

    title: str
    level: int
    """1 to 6; 0 before the first heading."""
    kind: SectionKind
    priority: Priority | None
    optional: bool
    may_be_task: bool = False
    """True for a sub-heading without a special meaning: with a state it is a task.

    See docs/rules.md#plans.
    """
    parent: HeadingSection | None = field(default=None, repr=False)
    """The section around this one."""
    is_title: bool = False
    """True for the first heading, if it is of the first level; it hands nothing down."""
    is_named: bool = False
    """True if its own words give the kind, and not a heading around it; never of the title."""
    is_done: bool = False
    """True below ``Phase 1 (COMPLETED)``: items without a state are done."""
    is_begun: bool = False
    """True below ``In progress``: items without a state or a box are in progress."""
    holds_steps: bool = True
    """True for the title, for optional sections, for ``Phase 1`` and the like, and for plain parts
    of ``Implementation steps`` and the like: without any box in the plan, numbered items directly
    below are tasks."""
    lists_steps: bool = False
    """True below ``Changes`` and the like, whose bullets are tasks where nothing else is one."""
    in_task_file: bool = False
    """True below a title such as ``TODO``, which counts only without any box in the plan."""
    has_criteria: bool = False
    """True below ``Success criteria`` and the like."""
    is_waiting: bool = False
    """True below ``Blocked`` and the like."""
    is_stage: bool = False
    """True below ``2. Design`` or ``Goal: a lid``, whose boxes are work in its place."""
    is_finding: bool = False
    """True below ``Missing``, which says what is not there where headings are the tasks."""
    is_order: bool = False
    """True below ``Implementation order`` and the like, which repeats tasks that have boxes."""
    is_next: bool = False
    """True below ``Next steps``, which does so where the boxes are not only of what is done."""
    name: HeadingClass | None = None
    """What it is named like."""
    signs: SignTable | None = field(default=None, repr=False)
    """What the legend of the plan says of its emoji."""

    @property
    def comes_last(self) -> bool:
        """Whether its boxes are criteria, prose or blocked, which come behind all others."""
        is_prose = self.kind is SectionKind.PROSE and not self.is_stage
        return self.has_criteria or self.is_waiting or is_prose

    def with_signs(self, text: str) -> str:
        """A text of the section with emoji that have the states of the plan's legend."""
        return text if self.signs is None else text.translate(self.signs)

    @property
    def is_for_tasks(self) -> bool:
        """Whether its own words say that it holds tasks."""
        return self.is_named and self.kind is SectionKind.TASKS


def open_document(signs: SignTable | None = None) -> HeadingSection:
    """The section of everything before the first heading."""
    return HeadingSection(
        title="", level=0, kind=SectionKind.PLAIN, priority=None, optional=False, signs=signs
    )


def open_section(
    title: str,
    level: int,
    *,
    parent: HeadingSection,
    optional_sections: Sequence[str],
    is_first: bool = False,
    bare: str | None = None,
    bold_state: TaskState | None = None,
) -> HeadingSection:
    """Open the section of a heading inside its parent (the last heading of a higher level).

    ``bold_state`` is a state in bold at its end, and ``bare`` the title without it.

    Kind, priority and being optional are inherited by sub-headings (docs/rules.md#plans): a
    sub-heading may override them, except that notes stay notes, and that finished tasks stay
    finished whatever priority they had, and that the parts of a phase have none: phases are done in
    their order. The title of the document hands none of them down.
    """
    bare = parent.with_signs(title if bare is None else bare)
    words = _judge_in(parent, bare, _judge_title(bare, tuple(optional_sections)), bold_state)
    is_below_title = parent.is_title
    inherited = SectionKind.PLAIN if is_below_title else parent.kind
    is_plain = words.kind is SectionKind.PLAIN
    is_title = level == 1 and is_first
    name = _name_by_place(title, parent, words.name)
    if name is not None and _repeats(title, parent):
        name = None
    if name is HeadingClass.STEP and _is_no_step(parent, words):
        name = None
    # What is below a numbered heading, or one such as ``Task 1``, describes it.
    is_task = name is HeadingClass.TASK and inherited is SectionKind.TASKS
    is_listed = is_plain and (is_task or words.is_finding or name is HeadingClass.LISTED)
    kind = words.kind if is_listed else _combine(words.kind, inherited)
    return HeadingSection(
        title=title,
        level=level,
        kind=kind,
        priority=words.priority if is_below_title else _priority_below(parent, words.priority),
        optional=words.is_optional or (parent.optional and not is_below_title),
        may_be_task=is_plain
        and (level > 1 or (name is not None and not is_title))
        and words.is_work,
        parent=parent,
        is_title=is_title,
        is_named=not is_plain and not is_title,
        is_done=words.is_done if words.is_done is not None else parent.is_done,
        is_begun=words.is_begun or (is_plain and parent.is_begun),
        holds_steps=is_title
        or words.holds_steps
        or words.is_optional
        or (
            is_plain
            and name is None
            and not names_change(title)
            and _ASKS.match(title) is None
            and words.is_work
            and _is_divided(parent)
        ),
        lists_steps=words.lists_steps,
        has_criteria=words.has_criteria or (parent.has_criteria and not is_below_title),
        is_waiting=not is_title
        and (words.is_waiting or (parent.is_waiting and not is_below_title)),
        in_task_file=name is not HeadingClass.TASK
        and (parent.in_task_file or (is_below_title and parent.kind is SectionKind.TASKS)),
        is_stage=_is_stage(title) or (is_plain and parent.is_stage),
        is_finding=words.is_missing or (is_plain and parent.is_finding),
        is_next=words.is_next,
        is_order=words.is_order or (parent.is_order and not is_below_title),
        signs=parent.signs,
        name=name,
    )


def _is_stage(title: str) -> bool:
    """Whether a heading names a stage of the work, by its number or by its goal."""
    is_numbered = NUMBERED.match(title) is not None and _normalise(title) in STAGES
    return is_numbered or _GOAL.match(title) is not None


_GOAL = compile_both(
    r"\W*(?:(?:sub-?|sprint |phase )?goal|objective|aim|ziel|objectif|objetivo|цель|cel|doel"
    r"|obiettivo|hedef|tujuan|mục tiêu|мета|목표|目标|目標)(?: ?[0-9]+)? ?"
    r"(?:[:\uff1a\u2013\u2014]|-(?=\s))\s*\w",
    re.IGNORECASE,
)
"""``Goal: a parser``, which is about work, where ``Goals`` is prose."""


def with_parents(section: HeadingSection | None) -> Iterator[HeadingSection]:
    """The section and those around it, from the inside out."""
    while section is not None:
        yield section
        section = section.parent


def _priority_below(parent: HeadingSection, priority: Priority | None) -> Priority | None:
    """The priority in a section: its own or that around it, none in a phase."""
    if any(around.name is HeadingClass.STEP for around in with_parents(parent)):
        return None
    return priority or parent.priority


def is_backlog(section: HeadingSection) -> bool:
    """Whether it is in a section that is called Backlog, and optional for that alone."""
    around: HeadingSection | None = section
    while around is not None and around.optional:
        if _normalise(around.title) == _BACKLOG:
            return not _is_optional(around.title.lower().replace(_BACKLOG, ""), _OPTIONAL)
        around = around.parent
    return False


def goes_with_backlog(section: HeadingSection) -> bool:
    """Whether a board has such a section beside its backlog: in progress, or done."""
    if section.kind in {SectionKind.DONE, SectionKind.ISSUES} or is_backlog(section):
        return True
    return _normalise(section.title) in PROGRESS


def _is_divided(section: HeadingSection) -> bool:
    """Whether it holds steps by its whole name, such as ``Proposed fixes``, also in its parts."""
    while section.parent is not None and section.level > 1:
        if _names_steps(_normalise(section.title)) or section.name is HeadingClass.STEP:
            return True
        if not section.holds_steps:
            return False
        section = section.parent
    return False


def _is_in_task(section: HeadingSection) -> bool:
    return any(one.name is HeadingClass.TASK for one in with_parents(section))


def _repeats(title: str, parent: HeadingSection) -> bool:
    """Whether a heading begins with the name of one around it, as in ``Phase 2 constants``."""
    label = heading_label(title)
    return bool(label) and any(heading_label(one.title) == label for one in with_parents(parent))


def heading_label(text: str) -> str:
    """The name of a task that a text begins with: ``phase 2``, ``t-001``; empty without one."""
    bare = _without_tags(text)
    if (ticket := _ID_BEFORE.match(bare)) is not None:
        return ticket[1].lower()
    words = bare.lower()
    found = TASK_NAME.match(words) or STEP_NAME.match(words)
    return "" if found is None else " ".join(_WORDS.findall(found.group()))


def _name_by_place(
    title: str, parent: HeadingSection, name: HeadingClass | None
) -> HeadingClass | None:
    """``1. Parser`` is a task below ``To do``, and a part of ``Phase 1`` or ``Steps``.

    ``Patch 1`` is a task below ``To do``, too; otherwise a heading keeps the name of its words.
    """
    if parent.is_for_tasks and UNIT_NAME.match(title) is not None:
        return HeadingClass.LISTED
    if name is not None or NUMBERED.match(title) is None:
        return name
    if parent.is_for_tasks:
        return HeadingClass.LISTED
    is_divided = parent.level > 0 and parent.holds_steps
    if parent.is_title:
        is_divided = _is_of_tasks(parent)
    elif parent.parent is not None and parent.parent.is_title and parent.kind is SectionKind.PLAIN:
        is_divided = is_divided or _is_of_tasks(parent.parent)
    return HeadingClass.STEP if is_divided or parent.name is HeadingClass.STEP else None


def _is_of_tasks(title: HeadingSection) -> bool:
    """Whether the chapters of a document with this title are tasks."""
    return title.kind is SectionKind.TASKS or _normalise(title.title) in FIX_PLANS


def _judge_in(
    parent: HeadingSection, title: str, words: _TitleWords, bold_state: TaskState | None
) -> _TitleWords:
    """What the words of a heading say below another one, and with a state in bold behind them."""
    if bold_state is not None:
        is_skipped, is_done = bold_state is TaskState.SKIPPED, bold_state is TaskState.DONE
        words = words._replace(is_done=is_done, is_optional=words.is_optional or is_skipped)
    if words.kind is SectionKind.PLAIN and DECISIONS.match(title) is not None:
        words = words._replace(kind=SectionKind.PROSE)
    elif words.kind is SectionKind.TASKS and _describes(title, parent):
        words = words._replace(kind=SectionKind.PLAIN)
    is_part = parent.name is HeadingClass.STEP and words.kind is SectionKind.PROSE
    if is_part and _PART.match(title) is not None and _normalise(title) in FEATURES:
        return words._replace(kind=SectionKind.PLAIN)
    if words.is_finding:
        is_found = ANALYSES.fullmatch(_normalise(parent.title)) is not None
        kind = SectionKind.PLAIN if is_found else words.kind
        is_work, is_missing = not is_found, not is_found
        return words._replace(
            kind=kind, is_work=is_work, is_finding=is_found, is_missing=is_missing
        )
    return words


def _describes(title: str, parent: HeadingSection) -> bool:
    """Whether a heading for tasks is a check list of a task, or a principle: ``P1 — …``."""
    is_principle = parent.kind is SectionKind.PROSE and _P_PREFIX.match(title.lower()) is not None
    return is_principle or _is_in_task(parent)


def _is_no_step(parent: HeadingSection, words: _TitleWords) -> bool:
    """Whether a heading with the name of a step is of a design, or of what is there."""
    is_by_place = words.name is None
    return _is_of_design(parent, is_by_place=is_by_place) or (is_by_place and not words.is_work)


def _is_of_design(section: HeadingSection, *, is_by_place: bool) -> bool:
    """Whether its parts are those of the product, not of the work.

    Those of ``2.1 System architecture`` that are steps by their own names are of the work.
    """
    is_part = _PART.match(section.title) is not None and not is_by_place
    return not is_part and f" {_normalise(section.title)}".endswith(DESIGN_LAST_WORDS)


def is_named_step(section: HeadingSection) -> bool:
    """Whether it is a part of the work by its own words, and not by its place."""
    return section.name is HeadingClass.STEP and _read_name(section.title) is HeadingClass.STEP


def is_to_execute(section: HeadingSection) -> bool:
    """Whether it is a step by its own words in ``Execution steps`` or the like."""
    around = section.parent
    if around is None or around.is_title or not is_named_step(section):
        return False
    return _normalise(around.title) in EXECUTION


def names_tasks(title: str) -> bool:
    """Whether the words of a title or a label say that tasks are below it."""
    return _normalise(title) in TASKS


def is_by_priority(section: HeadingSection) -> bool:
    """Whether items are tasks there only because a heading gives a priority: ``## P0``."""
    while section.parent is not None and not section.is_named:
        section = section.parent
    if WORK.search(section.title) is not None or holds_tasks(section.title):
        return False
    words = _normalise(section.title)
    return section.priority is not None or _read_priority(section.title, words) is not None


def names_criteria(label: str) -> bool:
    """Whether a line such as ``Verification:`` above boxes says that they are criteria."""
    words = _normalise(label)
    return words in CHECKS or CRITERIA.fullmatch(words) is not None


def below_label(section: HeadingSection, label: str) -> HeadingSection | None:
    """The section of what is below a label that says that it is no task, or criteria."""
    words = _normalise(label)
    if RECURRING.match(words):
        return replace(section, kind=SectionKind.NOTES, parent=section)
    is_of_criteria = CRITERIA.fullmatch(words) or GATE.fullmatch(words)
    if is_of_criteria and not section.has_criteria:
        kind = SectionKind.PROSE
        return replace(section, kind=kind, has_criteria=True, holds_steps=False, parent=section)
    return None


def is_prose_label(label: str) -> bool:
    """Whether a line such as ``Pros:`` above a list says that it holds no tasks, nor done ones."""
    return _read_kind(_normalise(label)) in {SectionKind.PROSE, SectionKind.NOTES}


def is_legend(section: HeadingSection) -> bool:
    """Whether the boxes of a section only explain what the marks mean."""
    return _normalise(section.title) in LEGENDS


def holds_tasks(title: str) -> bool:
    """Whether the words of a title say that tasks are below it, whatever else they say."""
    return _read_kind(_normalise(title)) is SectionKind.TASKS


def holds_no_tasks(title: str) -> bool:
    """Whether the words of a title say that nothing open is below it: notes, prose, done."""
    return _read_kind(_normalise(title)) in _WITHOUT_TASKS


_WITHOUT_TASKS = frozenset({SectionKind.DONE, SectionKind.PROSE, SectionKind.NOTES})


class _TitleWords(NamedTuple):
    """What the words of a heading say."""

    kind: SectionKind
    priority: Priority | None
    is_optional: bool
    is_done: bool | None
    """None where they give no state."""
    holds_steps: bool
    lists_steps: bool
    has_criteria: bool
    is_waiting: bool
    is_order: bool
    is_next: bool
    name: HeadingClass | None
    is_work: bool
    """False for the state of a group, and for parts that are there."""
    is_begun: bool
    is_finding: bool
    """True for a group of what an analysis finds to be missing."""
    is_missing: bool = False
    """True for such a group outside of an analysis."""


_PART = re.compile(r"\W*[0-9]+\.[0-9]")
_BACKLOG = "backlog"
_IMPORTANT = "important"
_OPTIONAL = ("optional", "future", "later")
_LONGEST_HEADING_JUDGED = 200
_MARKS = str.maketrans("", "", "*`~")
_FULL_WIDTH = str.maketrans(
    {"\uff08": "(", "\uff09": ")", "\uff3b": "[", "\uff3d": "]", "\uff1a": ":", "\uff0c": ","}
)
_CHAPTER = re.compile(r"\W*[一二三四五六七八九十]+[、.．]\s*")  # noqa: RUF001
"""A number in front of a heading in Chinese or Japanese: ``三、``."""
_NUMBERING = re.compile(rf"(?:phase |step )?\d+(?:\.\d+)*[.):]?\s+|{_CHAPTER.pattern}")
_SEPARATORS = re.compile(r":| [-\u2013\u2014|/] ")
_ASIDE = re.compile(r":| (?:--?|\u2013) | ?\u2014 ?")
_LIST = re.compile(r" *(?:[/|,;:&+\u2014]| (?:--?|\u2013) |\b(?:and|or)\b) *")
_BRACKETS = re.compile(r"[(\[]([^()\[\]]*)[)\]] *")
_AFTER_REMARK = ("", "(", "[", ":", "-", "\u2013", "\u2014")
_OPTIONAL_THINGS = (
    r"(?:work|tasks?|items?|ideas?|features?|improvements?|enhancements?|extensions?)"
)
_FAR = frozenset({"future", "post mvp"})
_FAR_THINGS = (
    r"(?:work|development|direction|expansion|extension|iteration|phase|release|roadmap|scope"
    r"|version|tasks|items|ideas|features|improvements|enhancements|extensions|considerations)"
)
_SEVERAL = r"\w+(?<![ius])s"
"""Any things: ``integrations``, but no ``status``."""
_SEVERAL_TO_DO = re.compile(
    rf"\W*(?:\w+ (?:and|&) )?{_SEVERAL} \((?:to[ -]?dos?|open|pending)\)\s*\Z", re.IGNORECASE
)
"""A heading of things that are still to do: ``Bugs and features (todo)``."""
_P_PREFIX = re.compile(r"\Ap[0-9] *(?::| [-\u2013\u2014] )")
_P_NUMBER = re.compile(
    r"(?:\A\W*(?:[0-9.]+\W+)?|[(\[:|/,\u2013\u2014&+]\s*|\s{2}|\bpriority )p([0-9])\b"
    r"|\bp([0-9])(?=\W*\Z|\s*[)\]:|/,\u2013\u2014&+]|\s(?:tasks?|items?|work|issues?|bugs?|fix)\b)"
)
"""At an end, in brackets or before a word for work; not in ``Applied P0 schemas``."""
_PRIORITY_PHRASE = re.compile(
    r"\b(high(?:est)?|critical|medium|standard|normal|low(?:est)?) priority\b"
)
_PRIORITY_NAMED = re.compile(r"^priority (high|critical|medium|standard|normal|low)\b")
_PRIORITY_LEVEL = compile_both(
    r"\W*(?:priority|приоритет|priorität|priorité|prioridad|prioridade|priorytet|prioriteit"
    r"|优先级|優先級|優先度|우선순위)[ #]?([0-9])\b"
)
"""``Priority 1: …``, of which the first is the highest."""

_PRIORITY_WORDS = {
    Priority.P0: ("high", "highest", "critical", "urgent", "blocker", "blockers", "must have"),
    Priority.P1: ("standard", "medium", "normal", "should have"),
    Priority.P2: ("low", "lowest", "nice to have", "nice to haves", "could have"),
}
_PRIORITY_OF_WORD = {word: level for level, words in _PRIORITY_WORDS.items() for word in words}

_THINGS = r"(?: (?:tasks?|items?|work|features?|issues?|bugs?|stories|steps?|phases?))?"
_THINGS_AT_END = re.compile(_THINGS.removesuffix("?") + "$")
_DONE = compile_both(
    rf"(?:recently |already |just |previously )?(?:completed?|done|finished|archived?){_THINGS}"
    r"|what(?:'s| is| has been) (?:already )?(?:done|completed?|finished)(?: so far| already)?"
    r"|(?:本阶段|本次|本轮|目前|当前|此前|之前|近期|最近|前期|上次|今天|本周)?已经?完成的?"
    r"(?:功能|工作|任务|内容|事项|项目|部分|阶段|项|清单|列表|改动|修复)?"
    r"|(?:completed?|done|finished|shipped|delivered) (?:in|on|at|for|as of|this|last) .*"
)
_STATUS = re.compile(
    rf"\W*(?:[0-9.]+\s+)?((?:\w+ ){{0,3}})(?:{STATUS_LABELS})\s*[:\uff1a]\s*", re.IGNORECASE
)
_WAITS = re.compile(r"(?:blocked|waiting) (?:on|by|for)\b")
_TICKET = re.compile(r"\W*[A-Z][A-Z0-9]{1,9}-[0-9]{1,5}(?=\s*(?:[:|\u00b7\u2013\u2014]|-\s|\Z))")
"""A heading that begins with an id: ``BUG-003 — …``."""
_NO_TICKET = re.compile(r"\W*(?:ADR|RFC|ISO|UTF|SHA|AES|GPT|CVE|PEP|FR|NFR|REQ|AC|SC|DEC|UC)-")
"""Ids of what is no work: decisions, requirements, standards."""
_CHANGE = re.compile(
    r"[^\w\[]*(?:[0-9]+(?:\.[0-9]+)*[.)]?\s+)?"
    r"\[(?:NEW|MODIFY|MODIFIED|DELETE|ADD|UPDATE|REMOVE|CREATE|RENAME|MOVE|REFACTOR)\]\W*\w"
)
_ID_BEFORE = re.compile(r"\W*([A-Z]{1,10}-?[0-9]{1,5})\b")
_WORDS = re.compile(r"\w+")
_ASKS = re.compile(r"\W*(?:why|how|what|when|where|which|who)\b", re.IGNORECASE)
"""A heading that explains."""
_NOTES = re.compile(
    r"(?:(?:implementation|additional|session|agent|developer|technical|general|other|important) )?"
    r"notes?(?: (?:for|from|on|to) .*)?"
)
_TAG_BEFORE = re.compile(r"\s*\[[^\[\]]*\]:?\s*")
_PRIORITY_OF_NAME = {name: Priority(level) for level, names in PRIORITIES.items() for name in names}
_ISSUES = frozenset(
    {"issues discovered", "discovered issues", "bugs discovered", "discovered bugs"}
)


@lru_cache(maxsize=1024)
def _judge_title(title: str, optional_sections: tuple[str, ...]) -> _TitleWords:
    """Judge a heading by its words; the same few are read again with every change of a plan."""
    state, title = _state_in_front(title)
    words, name = _normalise(title), _read_name(title)
    priority, kind = _read_priority(title, words), _read_kind(words)
    if (words == _IMPORTANT and ":" in title) or (name and kind is SectionKind.PROSE):
        # It says how important the work is that the rest names, or names a task or a phase.
        kind = SectionKind.PLAIN
    asks = priority is not None or _SEVERAL_TO_DO.match(title) is not None
    if kind is SectionKind.PLAIN and asks:
        kind = SectionKind.TASKS
    if CRITERIA.fullmatch(words) is not None and RECURRING.search(title) is not None:
        kind = SectionKind.NOTES
    bare = title[:_LONGEST_HEADING_JUDGED].translate(_MARKS).lower()
    return _TitleWords(
        kind,
        # The parts of the work are done in their order.
        None if name is HeadingClass.STEP else priority,
        _is_set_aside(title, words, optional_sections),
        _read_done(title, kind) if state is None else state is TaskState.DONE,
        STEPS.match(bare) is not None or _names_steps(words),
        _names_steps(words),
        CRITERIA.fullmatch(words) is not None,
        _WAITS.match(words) is not None
        or read_state_word(_THINGS_AT_END.sub("", words)) is TaskState.BLOCKED,
        ORDER.fullmatch(words) is not None,
        NEXT_STEPS.fullmatch(words) is not None,
        name,
        words not in GROUPS and EXISTING.fullmatch(words) is None and not _is_status(title),
        words in BEGUN,
        kind is SectionKind.TASKS and FINDINGS.issuperset(words.split("/")),
    )


def _is_status(title: str) -> bool:
    """Whether a heading is a line that gives a state: ``Status: ready``, ``Fix status: ✅``."""
    found = _STATUS.match(title.translate(_MARKS))
    return found is not None and (not found[1] or opening_sign(title[found.end() :]) is not None)


def _names_steps(words: str) -> bool:
    """Whether a whole heading is a name for the steps of the work: ``Proposed work plan``."""
    first, _, rest = words.partition(" ")
    is_order = ORDER.fullmatch(words) is not None
    return words in STEP_SECTIONS or (first in _OF_PLANS and rest in STEP_SECTIONS and not is_order)


_OF_PLANS = frozenset(
    {"proposed", "suggested", "recommended", "detailed", "overall", "updated", "revised", "initial"}
)


def _is_set_aside(title: str, words: str, optional_sections: tuple[str, ...]) -> bool:
    """Whether what is below a heading is optional, by its name or by a state in a remark."""
    end = closing_remark(title)
    return (
        _is_optional(title, optional_sections)
        or any(read_state(remark) is TaskState.SKIPPED for remark in _remarks(title))
        or OUT_OF_SCOPE.fullmatch(words) is not None
        or MAYBE.search(title) is not None
        or (end is not None and end.state is TaskState.SKIPPED)
    )


def _read_done(title: str, kind: SectionKind) -> bool | None:
    """Whether the heading says that what is below it is done; a sign in front may be decoration."""
    if kind is SectionKind.DONE:
        return True
    remark = closing_remark(title.translate(_MARKS))
    if remark is not None:
        return remark.state is TaskState.DONE
    sign = opening_sign(title) if kind is SectionKind.PLAIN else None
    return None if sign is None else read_state(title[: sign[1]]) is TaskState.DONE


def names_change(text: str) -> bool:
    """Whether a heading or an item begins with what is done to a file: ``[NEW] lexer.py``."""
    return _CHANGE.match(text) is not None


def _without_tags(title: str) -> str:
    """The beginning of a title without marks, and without tags in front."""
    bare = title[:_LONGEST_HEADING_JUDGED].translate(_MARKS)
    while (tag := _TAG_BEFORE.match(bare)) is not None:
        bare = bare[tag.end() :]
    return bare


def _state_in_front(title: str) -> tuple[TaskState | None, str]:
    """A state in front of the name of a task or step, and the rest: ``DONE: Phase 1``."""
    bare = _without_tags(title)
    if (sign := opening_sign(bare)) is not None:
        bare = bare[sign[1] :].lstrip()
    remark = opening_remark(bare)
    if remark is None or _read_name(bare[remark.end :]) is None:
        return None, title
    return remark.state, bare[remark.end :]


def _read_name(title: str) -> HeadingClass | None:
    bare = _without_tags(title)
    if _TICKET.match(bare) is not None and _NO_TICKET.match(bare) is None:
        return HeadingClass.TASK
    bare = bare[numbered.end() :] if (numbered := _CHAPTER.match(bare)) is not None else bare
    words = bare.lower()
    if TASK_NAME.match(words) is not None:
        return HeadingClass.TASK
    is_step = STEP_LABEL.match(bare) is not None or STEP_NAME.match(words) is not None
    return HeadingClass.STEP if is_step else None


def _normalise(title: str) -> str:
    """Reduce a heading to its words: lower case, no marks, numbers, emoji, brackets, remarks."""
    if len(title) > _LONGEST_HEADING_JUDGED:
        return ""
    words = _without_numbering(title)
    words = words.translate(_FULL_WIDTH).partition("(")[0].partition("[")[0]
    words = _SEPARATORS.split(words, maxsplit=1)[0]
    return " ".join(_strip_symbols(words).replace("-", " ").split())


def _strip_symbols(text: str) -> str:
    """Strip everything except letters, digits and brackets from both ends."""
    first = next((at for at, mark in enumerate(text) if mark.isalnum() or mark in "(["), len(text))
    last = next(
        (
            at
            for at in range(len(text), first, -1)
            if text[at - 1].isalnum() or text[at - 1] in ")]"
        ),
        first,
    )
    return text[first:last]


def _read_priority(title: str, words: str) -> Priority | None:
    """The priority in a heading; P3 and beyond are nice to have."""
    if len(title) > _LONGEST_HEADING_JUDGED:
        return None
    whole = title.translate(_MARKS).lower().replace("-", " ")
    numbered = _P_NUMBER.search(whole)
    if numbered is not None:
        level = int(numbered[1] or numbered[2])
        return (Priority.P0, Priority.P1, Priority.P2)[min(level, 2)]
    named = _PRIORITY_LEVEL.match(whole)
    if named is not None:
        return (Priority.P0, Priority.P1, Priority.P2)[min(max(int(named[1]) - 1, 0), 2)]
    folded = " ".join(whole.replace(":", " ").split())
    named = _PRIORITY_PHRASE.search(folded) or _PRIORITY_NAMED.search(folded)
    if named is not None:
        return _PRIORITY_OF_WORD[named[1]]
    return _PRIORITY_OF_WORD.get(_THINGS_AT_END.sub("", words)) or _PRIORITY_OF_NAME.get(words)


def _read_kind(words: str) -> SectionKind:
    if words in TASKS or ("/" in words and TASKS.issuperset(words.split("/"))):
        return SectionKind.TASKS
    if words.endswith(TASKS_LAST_WORDS) or OPEN_WORK.fullmatch(words):
        return SectionKind.TASKS
    if _DONE.fullmatch(words) or words in DONE:
        return SectionKind.DONE
    if _NOTES.fullmatch(words) or words in NOTES or words in LEGENDS or RECURRING.match(words):
        return SectionKind.NOTES
    if words in _ISSUES:
        return SectionKind.ISSUES
    is_prose = PROSE.issuperset(words.split(" and "))
    if is_prose or words.endswith(PROSE_LAST_WORDS):
        return SectionKind.PROSE
    if any(names.fullmatch(words) for names in (PRESENT, ANALYSES, CRITERIA, OUT_OF_SCOPE)):
        return SectionKind.PROSE
    return SectionKind.PLAIN


def _combine(own: SectionKind, inherited: SectionKind) -> SectionKind:
    if inherited is SectionKind.NOTES:
        return inherited
    if inherited is SectionKind.DONE:
        return own if own in NO_TASKS else inherited
    return inherited if own is SectionKind.PLAIN else own


def _is_optional(title: str, optional_sections: tuple[str, ...]) -> bool:
    """Whether the heading is the name of an optional section, or has one in brackets.

    ``Future`` fits ``## Future``, ``## Future work``, ``## Future / Later`` and ``## P2 (future)``,
    but not ``## Future-proof the API`` nor ``## Optional parameters``.
    """
    names = tuple(filter(None, map(_normalise, optional_sections)))
    if not LATER.keys().isdisjoint(names):
        names += tuple(other for name in names for other in LATER.get(name, ()))
    if not names or len(title) > _LONGEST_HEADING_JUDGED:
        return False
    is_name = _optional_phrase(names)
    text = _P_PREFIX.sub("", _without_numbering(title).translate(_FULL_WIDTH))
    bare = _outside_brackets(text)
    parts = [part for part in _LIST.split(bare) if part]
    if is_name(bare) or (
        any(map(is_name, parts)) and all(is_name(part) or _goes_with(part) for part in parts)
    ):
        return True
    return any(is_name(one) for remark in _remarks(text) for one in _LIST.split(remark))


def _without_numbering(title: str) -> str:
    """Reduce a heading to lower case without marks and numbering."""
    words = _strip_symbols(title.translate(_MARKS).lower())
    numbering = _NUMBERING.match(words)
    return words if numbering is None else words[numbering.end() :]


def _remarks(text: str) -> Iterator[str]:
    """The texts in brackets before or behind a heading, not within its words."""
    for found in _BRACKETS.finditer(text):
        if not found.start() or text[found.end() : found.end() + 1] in _AFTER_REMARK:
            yield found[1]


def _outside_brackets(text: str) -> str:
    """The words before a colon or a dash, without brackets; the rest is a remark."""
    bare = _BRACKETS.sub(" ", text).partition("(")[0].partition("[")[0]
    return _ASIDE.split(bare, maxsplit=1)[0]


@lru_cache(maxsize=64)
def _optional_phrase(names: tuple[str, ...]) -> Callable[[str], bool]:
    """A pattern for a name of an optional section, alone or with a word for its content."""
    name = f"(?:{'|'.join(map(re.escape, names))})"
    far = "|".join(map(re.escape, sorted(_FAR.intersection(names)))) or r"\Z\w"
    phrase = re.compile(
        rf"{name}(?: {name})*(?: {_OPTIONAL_THINGS})?"
        rf"|(?:{far}) (?:(?:\w+ )?{_FAR_THINGS}|{_SEVERAL})"
    )

    def is_name(text: str) -> bool:
        words = " ".join(_strip_symbols(text).replace("-", " ").split())
        return phrase.fullmatch(words) is not None

    return is_name


def _goes_with(part: str) -> bool:
    """Whether a part of a heading may accompany the name of an optional section."""
    words = " ".join(part.replace("-", " ").split())
    is_low = _PRIORITY_OF_WORD.get(words) is Priority.P2 or words == "low priority"
    return is_low or re.fullmatch(_OPTIONAL_THINGS, words) is not None
