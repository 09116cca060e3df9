"""Remarks on guesses: what of a plan was read by a rule that may be wrong, as messages.

One remark for each cause, with a count; ``parse.guesses`` finds the lines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ralph_ls.core.plan.lint.remarks import (
    CheckCode,
    LineSpan,
    LintRemark,
    QuickFix,
    first_names,
)
from ralph_ls.core.plan.model import GuessCause, PlanGuess
from ralph_ls.core.plan.parse.lines import find_marks, lines_of
from ralph_ls.core.plan.parse.words.state_words import CIRCLES
from ralph_ls.core.plurals import count_of

_GUESSED = {
    GuessCause.LINES: CheckCode.LINES_READ_AS_TASKS,
    GuessCause.FINISHED: CheckCode.LINES_READ_AS_DONE,
    GuessCause.SIGNED: CheckCode.LINES_READ_AS_DONE,
    GuessCause.HEADINGS: CheckCode.HEADINGS_READ_AS_TASKS,
    GuessCause.UNREAD_HEADINGS: CheckCode.HEADINGS_NOT_READ,
    GuessCause.UNREAD_LINES: CheckCode.LINES_NOT_READ,
    GuessCause.UNREAD_ROWS: CheckCode.ROWS_NOT_READ,
    GuessCause.UNREAD_BOXES: CheckCode.BOX_NOT_READ,
    GuessCause.QUOTED: CheckCode.BOX_NOT_READ,
    GuessCause.CODE: CheckCode.BOX_NOT_READ,
    GuessCause.PROSE: CheckCode.LINES_READ_AS_PROSE,
    GuessCause.TABLE: CheckCode.TABLE_READ_BY_COLUMN,
    GuessCause.OPEN_BELOW_DONE: CheckCode.OPEN_UNDER_COMPLETED,
    GuessCause.CRITERIA: CheckCode.CRITERIA_READ_AS_TASKS,
    GuessCause.UNREAD_STATUS: CheckCode.STATUS_NOT_READ,
    GuessCause.CLAIMS: CheckCode.OPEN_UNDER_COMPLETED,
    GuessCause.DONE_BELOW_OPEN: CheckCode.TICKED_UNDER_OPEN,
    GuessCause.STATUS_AGAINST_BOX: CheckCode.STATUS_AGAINST_BOX,
}


_BOX_EACH = "add a box to each that is a task"
_WITHOUT_FIX = frozenset(
    {
        GuessCause.UNREAD_ROWS,
        GuessCause.QUOTED,
        GuessCause.CODE,
        GuessCause.PROSE,
        GuessCause.OPEN_BELOW_DONE,
        GuessCause.DONE_BELOW_OPEN,
        GuessCause.STATUS_AGAINST_BOX,
        GuessCause.CLAIMS,
        GuessCause.UNREAD_STATUS,
        GuessCause.CRITERIA,
    }
)


def check_guesses(guesses: Sequence[PlanGuess], text: str) -> Iterator[LintRemark]:
    """What was guessed: one remark for each cause, at its first line."""
    lines = [line for _, line in lines_of(text)] if guesses else []
    for guess in guesses:
        line = lines[guess.lines[0]]
        marks = find_marks(line)
        start = len(line) - len(line.lstrip("\ufeff \t")) if marks is None else marks.text
        end = len(line.rstrip())
        yield LintRemark(
            code=_GUESSED[guess.cause],
            message=_guess_message(guess, _level_of(line)) + _on_colours(guess, lines),
            place=LineSpan(line=guess.lines[0], start=min(start, end), end=end),
            repair=None if guess.cause in _WITHOUT_FIX else QuickFix.ADD_BOXES,
        )


def _on_colours(guess: PlanGuess, lines: Sequence[str]) -> str:
    """What is to be known of coloured circles, which may mean anything: they are states."""
    if guess.cause is not GuessCause.LINES:
        return ""
    marks = ((lines[number], find_marks(lines[number])) for number in guess.lines)
    words = (line if found is None else line[found.text :] for line, found in marks)
    is_coloured = any(text.lstrip("*_ ")[:1] in CIRCLES for text in words if text.strip())
    return "; coloured circles in front are read as states" if is_coloured else ""


def _level_of(line: str) -> str:
    """The signs before a heading; those of the third level, where a line has none."""
    bare = line.lstrip("\ufeff \t>")
    return "#" * (len(bare) - len(bare.lstrip("#"))) or "###"


def _guess_message(guess: PlanGuess, level: str) -> str:
    number, is_one = len(guess.lines), len(guess.lines) == 1
    names = first_names(guess.names)
    lines = f"{count_of(number, 'line')} without a box {'is' if is_one else 'are'} read as"
    headings = count_of(number, "heading")
    section = f" (section {names})" if names else ""
    match guess.cause:
        case GuessCause.LINES:
            task = "a task" if is_one else "tasks"
            return f"{lines} {task}{section}; add a box to each task, and none to the rest"
        case GuessCause.FINISHED:
            return f"{lines} done, as {names} is; add a box to each task that is open"
        case GuessCause.SIGNED:
            return f"{lines} done, by the emoji in front{section}; add a box to each that is open"
        case GuessCause.HEADINGS:
            task = "is read as a task" if is_one else "are read as tasks"
            return (
                f"{headings} {task} ({names}); add a box to each, as in: "
                f"{level} [ ] {guess.names[0]}"
            )
        case GuessCause.UNREAD_HEADINGS:
            task = "looks like a task and is" if is_one else "look like tasks and are"
            return f"{headings} {task} not read ({names}); add a box to each, as in: {level} [ ] …"
        case GuessCause.UNREAD_LINES:
            lines = f"{count_of(number, 'line')} without a box {'is' if is_one else 'are'}"
            return f"{lines} not read{section}; {_BOX_EACH}"
        case GuessCause.UNREAD_ROWS:
            rows = f"{count_of(number, 'row')} of a table {'is' if is_one else 'are'} not read"
            return f"{rows}{section}; add a column with a box, [ ], in each row that is a task"
        case GuessCause.UNREAD_BOXES:
            lines = "line with a box is" if is_one else "lines with a box are"
            return f"{number} {lines} in no list, so not read; write each as: - [ ] …"
        case GuessCause.PROSE:
            lines = f"{count_of(number, 'line')} with a number, a name, a state or a box"
            return f"{lines} {'is' if is_one else 'are'} read as prose{section}; {_BOX_EACH}"
        case GuessCause.TABLE:
            rows = "row is" if is_one else "rows are"
            column = f"by the column {names}"
            return f"{number} {rows} read from a table {column}; write boxes there to be sure"
        case GuessCause.STATUS_AGAINST_BOX:
            have, other = (
                ("1 task has", "its box") if is_one else (f"{number} tasks have", "the box")
            )
            says = f"that says something else than {other}, which counts; change one of them"
            return f"{have} a line Status: {says}"
        case _:
            return _disagreement_message(guess)


def _disagreement_message(guess: PlanGuess) -> str:
    """The message of what disagrees with the tasks, or looks like something else."""
    number, is_one, names = len(guess.lines), len(guess.lines) == 1, first_names(guess.names)
    tasks, tick = ("1 open task is", "it") if is_one else (f"{number} open tasks are", "them")
    done = "a heading that is" if len(guess.names) == 1 else "headings that are"
    match guess.cause:
        case GuessCause.QUOTED:
            boxes = "1 ticked box is" if is_one else f"{number} ticked boxes are"
            return f"{boxes} in a quote, so not read; tick the tasks that are meant"
        case GuessCause.CODE:
            boxes = "1 open box is" if is_one else f"{number} open boxes are"
            return (
                f"{boxes} in a code block, so not read; if tasks are meant, remove its fences, or "
                "close the block above with longer ones, since a fence in it has ended it"
            )
        case GuessCause.CRITERIA:
            boxes = "1 box is read as a task" if is_one else f"{number} boxes are read as tasks"
            by = "name of its section" if is_one else "names of their sections"
            return f"{boxes}, and last, by the {by} ({names})"
        case GuessCause.UNREAD_STATUS:
            return "this status is not read, and no task is done; write the states at the tasks"
        case GuessCause.CLAIMS:
            return (
                "this line says that all tasks are done, and some are open; tick them, or change it"
            )
        case GuessCause.DONE_BELOW_OPEN:
            are = "1 heading is" if is_one else f"{number} headings are"
            below = f"and everything below {'it' if is_one else 'them'} is"
            return f"{are} not done ({names}), {below}; change the heading, or add what is missing"
        case _:
            return f"{tasks} below {done} done ({names}); tick {tick}, or change the heading"
