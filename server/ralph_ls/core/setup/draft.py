"""Plan items out of markdown that somebody wrote freely: an agent's proposal, a template.

The plan reader says what a task is and how urgent; where it finds none, lists without boxes count,
first below headings that say a priority, then anywhere, and then what stands in code fences. This
module must never know who wrote the text.

A template of a task: a description to fill in, and some items of a plan.

A template is markdown. Front matter may say ``title``, ``detail`` and ``profile``; the text is the
description, up to a heading ``# Plan``, below which the items stand as in any plan. Anybody may
write one, so whatever cannot be used is told and left out. This module must never know a folder.

The rules of a draft (docs/rules.md#set-up): one table for the wizard, ``ralph init`` and any
editor.

Lengths are code points of the trimmed text, so a description in Chinese counts like any other; the
words that are looked for are English, and a list counts in every language. This module must never
know who asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from textwrap import dedent

from ralph_ls.core.agent.text import clean_text
from ralph_ls.core.markdown_fences import fence_spans
from ralph_ls.core.plan.edit.layout import sections_of
from ralph_ls.core.plan.model import Plan, Task, TaskKind
from ralph_ls.core.plan.parse.front_matter import read_front_matter
from ralph_ls.core.plan.parse.lines import lines_of
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.plurals import count_of
from ralph_ls.protocol.config.config import ProfileName
from ralph_ls.protocol.config.tables import to_seconds
from ralph_ls.protocol.lsp.setup import (
    MAX_ITEMS,
    DraftItem,
    PlanItem,
    SetupField,
    SetupFix,
    SetupProblem,
    SetupSeverity,
    TemplateChoice,
    TemplateSource,
)
from ralph_ls.protocol.plan import Priority, TaskState


def read_plan_items(text: str) -> tuple[PlanItem, ...]:
    """The open items in the order of the text, each title once; total.

    What nothing says a priority of is standard. What stands nested below an item is its detail.
    """
    for candidate in _candidates(clean_text(text)):
        found = tuple(_items_of(candidate))
        if found:
            return found
    return ()


def _candidates(text: str) -> Iterator[str]:
    """The text as it may be meant, the likeliest first."""
    fenced = _unfenced(text)
    both = [text, fenced] if fenced else [text]
    yield from both
    yield from (_boxed(each, everywhere=False) for each in both)
    yield from (_boxed(each, everywhere=True) for each in both)


def _items_of(text: str) -> Iterator[PlanItem]:
    plan = parse_markdown(text).plan
    lines = text.split("\n")
    titles: set[str] = set()
    for task in _open_ones(plan):
        key = task.title.casefold()
        if key not in titles:
            titles.add(key)
            yield PlanItem(
                title=task.title,
                priority=task.priority or Priority.P1,
                detail=_detail_of(lines[task.line + 1 : task.end_line + 1]),
            )


def _open_ones(plan: Plan) -> Iterator[Task]:
    for task in plan.tasks:
        is_open = task.state not in {TaskState.DONE, TaskState.SKIPPED}
        if task.depth == 0 and task.title and is_open and task.kind is not TaskKind.HEADING:
            yield task


def _detail_of(lines: list[str]) -> str:
    """What stands below an item, without what indents it and without boxes."""
    kept = [_BOX.sub(r"\1", line).rstrip() for line in lines]
    return dedent("\n".join(kept).expandtabs(4)).strip("\n").strip()


def _unfenced(text: str) -> str:
    """What stands in code fences, without the fences' own lines."""
    inside = ["\n".join(text[start:end].split("\n")[1:]) for start, end in fence_spans(text)]
    return "\n".join(_CLOSING.sub("", part) for part in inside)


def _boxed(text: str, *, everywhere: bool) -> str:
    """The text in which the items of a list that stand at its margin have boxes."""
    lines = text.split("\n")
    if everywhere:
        return "\n".join(map(_with_box, lines))
    for section in sections_of(lines):
        if section.priority is not None and not section.is_done:
            for number in range(section.line + 1, section.last + 1):
                lines[number] = _with_box(lines[number])
    return "\n".join(lines)


def _with_box(line: str) -> str:
    return _ITEM.sub(r"\1[ ] ", line, count=1)


_ITEM = re.compile(r"^ ?((?:[-*+]|[0-9]{1,9}[.)])[ \t]+)(?!\[[^\]]?\])(?=\S)")
_BOX = re.compile(r"^([ \t]*(?:[-*+]|[0-9]{1,9}[.)])[ \t]+)\[[ xX~!-]\][ \t]+")
_CLOSING = re.compile(r"\n?^[ \t]*(?:`{3,}|~{3,})[ \t]*\Z", re.MULTILINE)


OWN_TEMPLATE_PREFIX = "own:"
"""How the ids of a user's own templates begin, so that none hides a built-in one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedTemplate:
    """A template, and what in it could not be used."""

    template: TemplateChoice | None
    """None where nothing of it can be used."""
    problems: Sequence[str] = ()
    """In words that follow its path."""


def read_template(
    name: str, text: str, *, source: TemplateSource, path: str | None = None
) -> ParsedTemplate:
    """Read a template; total. ``name`` is its file's name without the ending."""
    matter = read_front_matter(text)
    problems = [f"line {remark.line + 1}: {remark.message}" for remark in matter.remarks]
    body = _without_first_lines(text.removeprefix("\ufeff"), matter.end_line + 1)
    description, items = _parted(body)
    if not description and not items:
        problems.append("it is empty; write the description that a task begins with")
        return ParsedTemplate(template=None, problems=tuple(problems))
    if len(items) > MAX_ITEMS:
        problems.append(f"of its {count_of(len(items), 'item')} the first {MAX_ITEMS} are taken")
    fields = {
        key: " ".join(matter.values(key)[:1]).strip() for key in ("title", "detail", "profile")
    }
    profile = ProfileName(fields["profile"]) if fields["profile"] in set(ProfileName) else None
    if fields["profile"] and profile is None:
        known = ", ".join(ProfileName)
        problems.append(f"the profile {fields['profile']!r} is not known; use one of {known}")
    template = TemplateChoice(
        id=f"{OWN_TEMPLATE_PREFIX}{name}" if source is TemplateSource.OWN else name,
        title=fields["title"] or name.replace("-", " ").replace("_", " ").strip().capitalize(),
        detail=fields["detail"],
        source=source,
        description=description,
        items=items[:MAX_ITEMS],
        profile=profile,
        path=path,
    )
    return ParsedTemplate(template=template, problems=tuple(problems))


def _without_first_lines(text: str, count: int) -> str:
    starts = [start for start, _ in lines_of(text)]
    return text[starts[count] :] if count < len(starts) else ""


def _parted(body: str) -> tuple[str, tuple[PlanItem, ...]]:
    """The description, and the items below ``# Plan``."""
    found = _PLAN.search(body)
    if found is None:
        return _trimmed(body), ()
    below = read_plan_items(body[found.end() :])
    return _trimmed(body[: found.start()]), below


def _trimmed(text: str) -> str:
    stripped = text.replace("\r\n", "\n").strip()
    return f"{stripped}\n" if stripped else ""


_PLAN = re.compile(r"^#[ \t]+Plan[ \t]*#*[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)


SHORT_DESCRIPTION = 50
"""Characters below which a description is likely to say too little."""

TIMEOUT_MINUTES = (5, 60)
"""The least and the most that one iteration is given."""

TESTS_WANTED = "All new code has tests and they pass."


def check_draft(
    *,
    description: str | None = None,
    completion_phrase: str | None = None,
    timeout: float | str | None = None,
    items: Sequence[DraftItem] | None = None,
) -> tuple[SetupProblem, ...]:
    """What is wrong with a draft, the most severe first; what is None is not judged.

    ``timeout`` is in seconds, or a text such as ``30m``.
    """
    found: list[SetupProblem] = []
    if description is not None:
        found += _check_description(description.strip())
    if completion_phrase is not None:
        found += _check_phrase(completion_phrase)
    if timeout is not None:
        found += _check_timeout(timeout)
    if items is not None:
        found += _check_items(items)
    order = list(SetupSeverity)
    return tuple(sorted(found, key=lambda problem: order.index(problem.severity)))


def errors_of(problems: Sequence[SetupProblem]) -> tuple[SetupProblem, ...]:
    """Those with which nothing can be written."""
    return tuple(one for one in problems if one.severity is SetupSeverity.ERROR)


def _check_description(text: str) -> Iterator[SetupProblem]:
    def problem(severity: SetupSeverity, code: str, message: str) -> SetupProblem:
        return SetupProblem(
            field=SetupField.DESCRIPTION, severity=severity, code=code, message=message
        )

    if not text:
        yield problem(SetupSeverity.ERROR, "description-empty", "A task description is needed.")
        return
    if len(text) < SHORT_DESCRIPTION:
        message = (
            f"Short ({len(text)} of {SHORT_DESCRIPTION} characters): say what is wanted, and why."
        )
        yield problem(SetupSeverity.WARNING, "description-short", message)
    if not _CRITERIA.search(text) and not _LIST.search(text):
        message = "No success criteria found: say when it is done."
        yield problem(SetupSeverity.WARNING, "criteria-missing", message)
    if not _TESTS.search(text):
        message = f"No test requirement found. Suggestion: {TESTS_WANTED}"
        problem_found = problem(SetupSeverity.INFORMATION, "tests-missing", message)
        yield problem_found.model_copy(update={"fix": SetupFix(title="Add it", text=TESTS_WANTED)})


def _check_phrase(phrase: str) -> Iterator[SetupProblem]:
    if not _PHRASE.fullmatch(phrase):
        yield _error(
            SetupField.COMPLETION_PHRASE,
            "completion-phrase-malformed",
            "Upper-case letters, digits and _ only, for example COMPLETE.",
        )


def _check_timeout(timeout: float | str) -> Iterator[SetupProblem]:
    least, most = TIMEOUT_MINUTES
    try:
        seconds = to_seconds(timeout)
    except ValueError:
        message = f"{timeout!r} is no duration: write minutes from {least} to {most}, such as 30m."
        yield _error(SetupField.TIMEOUT, "timeout-malformed", message)
        return
    # Said so, a value that is no number is outside as well.
    if not (isinstance(seconds, int | float) and least * 60 <= seconds <= most * 60):
        message = f"An iteration may take from {least} to {most} minutes, for example 30m."
        yield _error(SetupField.TIMEOUT, "timeout-outside", message)


def _check_items(items: Sequence[DraftItem]) -> Iterator[SetupProblem]:
    if not items:
        message = "No plan item is selected: select at least one."
        yield _error(SetupField.ITEMS, "items-none", message)
    untitled = [number for number, item in enumerate(items, 1) if not item.title.strip()]
    if untitled:
        message = f"Plan item {untitled[0]} has no title: say what is to be done, or remove it."
        yield _error(SetupField.ITEMS, "item-untitled", message)


def _error(field: SetupField, code: str, message: str) -> SetupProblem:
    return SetupProblem(field=field, severity=SetupSeverity.ERROR, code=code, message=message)


# Words end where letters of our alphabet end: other scripts set no spaces around them.
_BEGIN, _END = r"(?<![A-Za-z])", r"(?![A-Za-z])"
_CRITERIA = re.compile(
    rf"{_BEGIN}(?:done\s+when|success\w*|accept\w*|must|should|pass(?:es|ed|ing)?|expected){_END}",
    re.IGNORECASE,
)
_LIST = re.compile(r"^[ \t]*(?:[-*+•]|[0-9]{1,9}[.)])[ \t]+\S", re.MULTILINE)
_TESTS = re.compile(
    rf"{_BEGIN}(?:(?:py|unit)?test(?:s|ed|ing)?|specs?|verif(?:y|ies|ied|ication)|coverage){_END}",
    re.IGNORECASE,
)
_PHRASE = re.compile(r"[A-Z0-9_]+")
