"""Set-up drafts: plan items in free markdown, task templates, and the checks of a draft.

Items are found with the plan reader, which determines task and priority. Where it finds none, lists
without boxes count: first below headings that name a priority, then anywhere, then inside code
fences.

A template is markdown with front matter (``title``, ``detail``, ``profile``), a description, and
items below a heading ``# Plan``; for a kind of project also notes for agents below ``# AGENTS.md``
and ``checks`` in the front matter. Users write them, so unusable parts become problems and are left
out.

The checks are one table for the wizard, ``ralph init`` and any editor (docs/rules.md#set-up).
Lengths count code points of the trimmed text; searched words are English, and a list counts in
every language.
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
from ralph_ls.core.setup.documents import task_title
from ralph_ls.core.setup.project_kind import ProjectCheck, checks_from
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
from ralph_ls.protocol.task_words import Priority, TaskState


def read_plan_items(text: str) -> tuple[PlanItem, ...]:
    """The open items in text order, each title once; never fails.

    An item without a priority is standard. Lines nested below an item are its detail.
    """
    for candidate in _candidates(clean_text(text)):
        found = tuple(_items_of(candidate))
        if found:
            return found
    return ()


def items_of_description(text: str) -> tuple[DraftItem, ...]:
    """A plan for who has only said what should be built, in text order.

    A description that is nothing but a list is the tasks themselves. Any other is one task: its
    list says when that is done, and is a part of its detail.
    """
    lines = [line for line in clean_text(text).strip().splitlines() if line.strip()]
    if len(lines) > 1 and all(_LIST.match(line) or line[0] in " \t" for line in lines):
        return tuple(
            DraftItem(title=item.title, priority=item.priority, detail=item.detail)
            for item in read_plan_items("\n".join(lines))
        )
    title = task_title(text)
    return (DraftItem(title=title),) if title else ()


def _candidates(text: str) -> Iterator[str]:
    """Possible readings of the text, the most likely first."""
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
    """The lines below an item, without indentation and boxes."""
    kept = [_BOX.sub(r"\1", line).rstrip() for line in lines]
    return dedent("\n".join(kept).expandtabs(4)).strip("\n").strip()


def _unfenced(text: str) -> str:
    """The content of code fences, without the fence lines."""
    inside = ["\n".join(text[start:end].split("\n")[1:]) for start, end in fence_spans(text)]
    return "\n".join(_CLOSING.sub("", part) for part in inside)


def _boxed(text: str, *, everywhere: bool) -> str:
    """The text with boxes added to unindented list items."""
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
"""Prefix of the ids of users' templates, so that none hides a built-in one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedTemplate:
    """A template, and its unusable parts."""

    template: TemplateChoice | None
    """None where nothing of it is usable."""
    notes: str = ""
    """Its notes for agents, the section ``# AGENTS.md``."""
    checks: tuple[ProjectCheck, ...] = ()
    """What has to pass in a project that has no checks yet."""
    problems: Sequence[str] = ()
    """Messages that follow its path."""


def read_template(
    name: str, text: str, *, source: TemplateSource, path: str | None = None
) -> ParsedTemplate:
    """Parse a template; never fails. ``name`` is its file name without extension."""
    matter = read_front_matter(text)
    problems = [f"line {remark.line + 1}: {remark.message}" for remark in matter.remarks]
    body = _without_first_lines(text.removeprefix("\ufeff"), matter.end_line + 1)
    description, items, notes = _parted(body)
    if not description and not items:
        problems.append("it is empty; write the description that a task starts with")
        return ParsedTemplate(template=None, problems=tuple(problems))
    if len(items) > MAX_ITEMS:
        problems.append(
            f"only the first {MAX_ITEMS} of its {count_of(len(items), 'item')} are taken"
        )
    fields = {
        key: " ".join(matter.values(key)[:1]).strip() for key in ("title", "detail", "profile")
    }
    profile = ProfileName(fields["profile"]) if fields["profile"] in set(ProfileName) else None
    if fields["profile"] and profile is None:
        known = ", ".join(ProfileName)
        problems.append(f"there is no profile {fields['profile']!r}; use one of {known}")
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
    return ParsedTemplate(
        template=template,
        notes=notes,
        checks=checks_from(matter.values("checks")),
        problems=tuple(problems),
    )


def _without_first_lines(text: str, count: int) -> str:
    starts = [start for start, _ in lines_of(text)]
    return text[starts[count] :] if count < len(starts) else ""


def _parted(body: str) -> tuple[str, tuple[PlanItem, ...], str]:
    """Split into the description, the items below ``# Plan``, and what is below ``# AGENTS.md``."""
    found = list(_SECTION.finditer(body))
    ends = [*(match.start() for match in found[1:]), len(body)]
    parts = {
        match[1].upper(): body[match.end() : end] for match, end in zip(found, ends, strict=False)
    }
    description = body[: found[0].start()] if found else body
    items = read_plan_items(parts["PLAN"]) if "PLAN" in parts else ()
    return _trimmed(description), items, _trimmed(parts.get("AGENTS.MD", ""))


def _trimmed(text: str) -> str:
    stripped = text.replace("\r\n", "\n").strip()
    return f"{stripped}\n" if stripped else ""


_SECTION = re.compile(r"^#[ \t]+(Plan|AGENTS\.md)[ \t]*#*[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)


SHORT_DESCRIPTION = 50
"""Characters below which a description is probably too short."""

TIMEOUT_MINUTES = (5, 60)
"""Minimum and maximum time of one iteration."""

TESTS_WANTED = "All new code has tests and they pass."


def check_draft(
    *,
    description: str | None = None,
    completion_phrase: str | None = None,
    timeout: float | str | None = None,
    items: Sequence[DraftItem] | None = None,
) -> tuple[SetupProblem, ...]:
    """Problems of a draft, the most severe first; None values are not checked.

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
    """The problems that prevent writing."""
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
            f"Short ({len(text)} of {SHORT_DESCRIPTION} characters): say what you want, and why."
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
        message = (
            f"{timeout!r} is not a duration: write minutes from {least} to {most}, such as 30m."
        )
        yield _error(SetupField.TIMEOUT, "timeout-malformed", message)
        return
    # Written as a negation so that NaN is out of range as well.
    if not (isinstance(seconds, int | float) and least * 60 <= seconds <= most * 60):
        message = f"An iteration may take from {least} to {most} minutes, for example 30m."
        yield _error(SetupField.TIMEOUT, "timeout-outside", message)


def _check_items(items: Sequence[DraftItem]) -> Iterator[SetupProblem]:
    if not items:
        message = "No plan item is selected: select at least one."
        yield _error(SetupField.ITEMS, "items-none", message)
    untitled = [number for number, item in enumerate(items, 1) if not item.title.strip()]
    if untitled:
        message = f"Plan item {untitled[0]} has no title: say what should be done, or remove it."
        yield _error(SetupField.ITEMS, "item-untitled", message)


def _error(field: SetupField, code: str, message: str) -> SetupProblem:
    return SetupProblem(field=field, severity=SetupSeverity.ERROR, code=code, message=message)


# Words end at ASCII letters only: other scripts set no spaces around them.
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
