"""The rules of a draft (I, 1.4; UX §9): one table for the wizard, ``ralph init`` and any editor.

Lengths are code points of the trimmed text, so a description in Chinese counts like any other; the
words that are looked for are English, and a list counts in every language. This module must never
know who asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ralph_ls.protocol.config.tables import to_seconds
from ralph_ls.protocol.lsp.setup import DraftItem, SetupField, SetupFix, SetupProblem, SetupSeverity

SHORT = 50
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
    if len(text) < SHORT:
        message = f"Short ({len(text)} of {SHORT} characters): say what is wanted, and why."
        yield problem(SetupSeverity.WARNING, "description-short", message)
    if not _CRITERIA.search(text) and not _LIST.search(text):
        message = "No success criteria found: say when it is done."
        yield problem(SetupSeverity.WARNING, "criteria-missing", message)
    if not _TESTS.search(text):
        message = f"No test requirement found. Suggestion: {TESTS_WANTED}"
        told = problem(SetupSeverity.INFORMATION, "tests-missing", message)
        yield told.model_copy(update={"fix": SetupFix(title="Add it", text=TESTS_WANTED)})


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
