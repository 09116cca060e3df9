"""Question view: the open question of a run with its answer, and the choices that it lists.

An answer reaches the agent word for word, so choices are only offered where the question lists
them unambiguously; otherwise the user writes an answer. No choice is invented.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from ralph_ls.core.plan.parse.titles import title_id
from ralph_ls.core.views.model.control_chars import escape_control_chars
from ralph_ls.core.views.model.document_context import (
    DocumentContext,
    OpenHalt,
    document_positions,
    halt_files_of,
    open_question,
)
from ralph_ls.core.views.model.words import some_lines
from ralph_ls.protocol.base import to_wire_time
from ralph_ls.protocol.lsp.panel import QuestionView
from ralph_ls.protocol.run.state import Question


def question_view(context: DocumentContext) -> QuestionView | None:
    """The open question, or an answered one that no iteration has received yet."""
    asked = None if context.state is None else context.state.question
    waits = open_question(context)
    if waits is not None and waits.lane is not None:
        return _question_of_lane(context, waits)
    if asked is not None:
        return _asked_question(context, asked)
    return None if waits is None else _question_in_file(context, waits)


def _asked_question(context: DocumentContext, asked: Question) -> QuestionView:
    at, halt = document_positions(context), halt_files_of(context)
    task = at.task_of(asked.start)
    answer, by = asked.answer, asked.answered_by
    if answer is None and halt is not None:
        answer = halt.answer
    return QuestionView(
        key=f"{_run(context)} {to_wire_time(asked.asked_at)}",
        text=some_lines(asked.question),
        options=listed_choices(asked.question),
        iteration=asked.iteration,
        start=asked.start,
        asked_at=asked.asked_at,
        task=None if task is None else task.id,
        line=at.span_of_task(task).line,
        answer=None if answer is None else some_lines(answer),
        answered_by=None if by is None else some_lines(by),
    )


def _question_of_lane(context: DocumentContext, waits: OpenHalt) -> QuestionView:
    at = document_positions(context)
    return QuestionView(
        key=f"{_run(context)} {waits.lane} {title_id(waits.text)}",
        text=some_lines(waits.text),
        options=listed_choices(waits.text),
        task=waits.task,
        lane=waits.lane,
        line=at.span_of_task(at.task_of_halt(waits)).line,
    )


def _question_in_file(context: DocumentContext, waits: OpenHalt) -> QuestionView:
    """A question that is only in the file: no journal has the time at which it was asked."""
    return QuestionView(
        key=f"{_run(context)} {title_id(waits.text)}".lstrip(),
        text=some_lines(waits.text),
        options=listed_choices(waits.text),
    )


def _run(context: DocumentContext) -> str:
    return "" if context.state is None else context.state.run


MAX_CHOICE_CHARS = 200
"""Characters of one choice; longer ones are not offered, as cutting would change the answer."""

MAX_QUESTION_CHARS = 4000
"""Characters of a question that are scanned for choices."""

MAX_CHOICE_WORDS = 4
"""Words of a choice in "this or that?"."""


def listed_choices(question: str) -> tuple[str, ...]:
    """The choices in order, each on one line; empty where the question lists none. Total."""
    return tuple(choice for _, choice in labelled_choices(question))


def labelled_choices(question: str) -> tuple[tuple[str, str], ...]:
    """The choices, each after the label that it has in the question: ``(a)``, ``1.`` or none."""
    text = _trimmed(question)
    if len(text) > MAX_QUESTION_CHARS:
        return ()
    for read, labels in _READERS:
        found = [_tidy(choice) for choice in read(text)]
        if _are_choices(found):
            return tuple(zip(labels or [""] * len(found), found, strict=False))
    return ()


def question_stem(question: str) -> str:
    """The question without the lines that list its choices; whole where it is nothing but those.

    For callers that list the choices themselves. Total.
    """
    text = _trimmed(question)
    if len(text) > MAX_QUESTION_CHARS:
        return question
    for read, marker in _LINE_READERS:
        items = read(text)
        if _are_choices([_tidy(item) for item in items]):
            return _without_items(text, marker, items) or question
    return question


def question_lines(question: str) -> list[str]:
    """The question, and below it its choices, each with the number that answers it. Total."""
    choices = enumerate(listed_choices(question), 1)
    return [*question_stem(question).splitlines(), *(f"  {n}  {choice}" for n, choice in choices)]


def answer_of(options: Sequence[str], typed: str) -> str:
    """The option that a typed number names, else what was typed. Total.

    An option that is a number itself names itself.
    """
    if typed in options:
        return typed
    number = int(typed) if typed.isascii() and typed.isdigit() and len(typed) < 3 else 0
    return options[number - 1] if 0 < number <= len(options) else typed


def _trimmed(question: str) -> str:
    return "\n".join(line.rstrip() for line in question.strip().splitlines())


_MARKED = r"\*{{0,2}}{}\*{{0,2}}"
_LETTER = _MARKED.format(r"\(?([a-z])\)") + r"|" + _MARKED.format(r"([a-z])\.")
_NUMBER = _MARKED.format(r"\(?([1-9])[.)]")
_LETTERED_LINE = re.compile(rf"^(?:[-*] +)?(?:{_LETTER})[ \t]+(?=\S)", re.IGNORECASE | re.MULTILINE)
_NUMBERED_LINE = re.compile(rf"^(?:[-*] +)?{_NUMBER}[ \t]+(?=\S)", re.MULTILINE)
_LETTERED = re.compile(r"(?:^|(?<=\s))\*{0,2}\(([a-z])\)\*{0,2}\s+(?=\S)", re.IGNORECASE)
_NUMBERED = re.compile(r"(?:^|(?<=\s))\(?([1-9])[.)]\s+(?=\S)")
_BULLET = re.compile(r"^[-*+] +(?=\S)", re.MULTILINE)


def _lettered_lines(text: str) -> list[str]:
    return _on_lines(text, _LETTERED_LINE, "abcdefghi")


def _numbered_lines(text: str) -> list[str]:
    return _on_lines(text, _NUMBERED_LINE, "123456789")


def _bullets(text: str) -> list[str]:
    """The items of a list that ends the question, directly below a line that asks for one."""
    found = list(_BULLET.finditer(text))
    if not found or not _asks_for_a_list(text, found[0]):
        return []
    items = _items(text, found)
    listed = text[found[0].start() :].splitlines()
    return items if len(listed) == len(items) else []


def _lettered(text: str) -> list[str]:
    return _within(text, _LETTERED, "abcdefghi")


def _numbered(text: str) -> list[str]:
    first = _NUMBERED.search(text)
    # A version number looks like the number of a choice.
    if first is None or not _asks_for_a_list(text, first):
        return []
    return _within(text, _NUMBERED, "123456789")


def _on_lines(text: str, marker: re.Pattern[str], labels: str) -> list[str]:
    found = list(marker.finditer(text))
    return _items(text, found) if _count_up(found, labels) else []


def _items(text: str, found: list[re.Match[str]]) -> list[str]:
    """The text of each marker's line and of the indented lines below it."""
    ends = [match.start() for match in found[1:]] + [len(text)]
    return [
        re.split(r"\n(?![ \t]+\S)", text[match.end() : end], maxsplit=1)[0]
        for match, end in zip(found, ends, strict=True)
    ]


def _within(text: str, marker: re.Pattern[str], labels: str) -> list[str]:
    """Choices within one line of text; the last one ends with the line."""
    found = list(marker.finditer(text))
    if not _count_up(found, labels):
        return []
    last = re.split(r"\n|(?<=\?)\s", text[found[-1].end() :], maxsplit=1)[0]
    pieces = [text[one.end() : other.start()] for one, other in pairwise(found)] + [last]
    # It is unclear which sentence after a choice still belongs to it.
    return [] if any(re.search(r"[.?!]\s+\S", piece) for piece in pieces) else pieces


def _asks_for_a_list(text: str, first: re.Match[str]) -> bool:
    return text[: first.start()].rstrip().endswith(("?", ":"))


def _count_up(found: list[re.Match[str]], labels: str) -> bool:
    """Whether the markers are the first labels, each once and in order."""
    marks = "".join(next(filter(None, match.groups())) for match in found).lower()
    return len(marks) > 1 and labels.startswith(marks)


_EITHER = re.compile(r"(?P<first>[^?.!;:()\n]+?),? or (?P<last>[^?.!;:,()\n]+)\?")
_OPENING = re.compile(r"^(?:[^?:\n]+:|(?:which|what)\b[^,:?\n]*[,:])\s+", re.IGNORECASE)
_NO_CHOICE = re.compile(
    r"(?:am|are|can|could|did|do|does|had|has|have|how|if|is|may|might|must|not|shall|should|was|were"
    r"|what|when|where|whether|which|who|whose|why|will|would)\b",
    re.IGNORECASE,
)


def _either(text: str) -> list[str]:
    """The choices of ``SQLite or Postgres?``: short, with only introductory words around."""
    asked = _OPENING.sub("", text, count=1).removeprefix("either ")
    match = _EITHER.fullmatch(asked)
    if match is None or " or " in match["last"] or " or " in match["first"]:
        return []
    found = [*match["first"].split(","), match["last"]]
    lengths = {len(choice.split()) for choice in found}
    is_short = min(lengths) > 0 and max(lengths) <= MAX_CHOICE_WORDS
    # In "use this or that?" the verb is not a part of the first choice.
    is_even = len(lengths) == 1 or asked != text
    asks = any(_NO_CHOICE.match(choice.strip()) for choice in found)
    return found if is_short and is_even and not asks else []


_LETTERS = tuple(f"({letter})" for letter in "abcdefghi")
_NUMBERS = tuple(f"{number}." for number in range(1, 10))
_READERS: tuple[tuple[Callable[[str], list[str]], tuple[str, ...]], ...] = (
    (_lettered_lines, _LETTERS),
    (_numbered_lines, _NUMBERS),
    (_bullets, ()),
    (_lettered, _LETTERS),
    (_numbered, _NUMBERS),
    (_either, ()),
)
"""The readers of choices in the order in which they are tried, with the labels of their choices."""

_LINE_READERS: tuple[tuple[Callable[[str], list[str]], re.Pattern[str]], ...] = (
    (_lettered_lines, _LETTERED_LINE),
    (_numbered_lines, _NUMBERED_LINE),
    (_bullets, _BULLET),
)
"""The first of these readers, with what begins each line of a choice."""


def _without_items(text: str, marker: re.Pattern[str], items: list[str]) -> str:
    found = list(marker.finditer(text))
    for match, item in reversed(list(zip(found, items, strict=True))):
        text = text[: match.start()] + text[match.end() + len(item) :]
    return re.sub(r"\n{3,}", "\n\n", text).strip()


_TAIL = re.compile(r"[\s,;.?]*(?:\b(?:or|and))?[\s,;.?]*\Z", re.IGNORECASE)


def _tidy(choice: str) -> str:
    """A choice on one line, escaped, without the separator from the next one."""
    return escape_control_chars(_TAIL.sub("", " ".join(choice.split()), count=1))


def _are_choices(found: list[str]) -> bool:
    is_whole = all(0 < len(choice) <= MAX_CHOICE_CHARS for choice in found)
    return len(found) > 1 and is_whole and len(set(found)) == len(found)
