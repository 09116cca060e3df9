"""The text of ``decide.txt``: a question for the user, and the answer that the user writes below
it.

The answer is the text after the last ``---`` that ``## Answer`` follows, else after the last
``---``; a blank one is no answer (docs/rules.md#questions).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

from ralph_ls.core.loop.inputs import HaltFiles

SEPARATOR = "---"
_QUESTION_HEADING = re.compile(r"^##\s*Question\b.*$", re.IGNORECASE)
_ORIGIN = re.compile(r"^##\s*Question\s*\(from iteration (\d{1,9}),", re.IGNORECASE)
_ANSWER_HEADING = re.compile(r"^##\s*Answer\s*:?\s*$", re.IGNORECASE)


def format_decide(
    question: str, iteration: int | None, asked_at: datetime, answer: str | None = None
) -> str:
    """The file for a question; a ``---`` inside the question is indented."""
    moment = asked_at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    origin = "an earlier run" if iteration is None else f"iteration {iteration}"
    body = "\n".join(_harmless(line) for line in question.strip().splitlines())
    reply = "" if answer is None else f"{answer.strip()}\n"
    return f"## Question (from {origin}, {moment})\n{body}\n\n{SEPARATOR}\n## Answer\n{reply}"


def parse_decide(text: str) -> tuple[str, str | None]:
    """The question and the answer in the file; None while it is unanswered. Never fails."""
    lines = text.lstrip("\ufeff").replace("\r\n", "\n").split("\n")
    cut = _separator(lines)
    asked, replied = (lines, []) if cut is None else (lines[:cut], lines[cut + 1 :])
    question = "\n".join(line for line in asked if not _QUESTION_HEADING.match(line)).strip()
    if replied and _ANSWER_HEADING.match(_first_text(replied)):
        replied = replied[_first_text_index(replied) + 1 :]
    answer = "\n".join(replied).strip()
    return question, answer or None


def iteration_asked_in(text: str) -> int | None:
    """The iteration that the file's heading says it is from; None where it says none."""
    origins = (_ORIGIN.match(line) for line in text.lstrip("\ufeff").splitlines())
    found = next((origin for origin in origins if origin is not None), None)
    return None if found is None else int(found[1])


def read_halt_files(decide: str | None, blocked: str | None) -> HaltFiles:
    """The contents of the two files; None for a missing file."""
    reason = None if blocked is None else blocked.strip() or "no reason given"
    if decide is None or not decide.strip():
        return HaltFiles(blocked=reason)
    question, answer = parse_decide(decide)
    return HaltFiles(question=question, answer=answer, blocked=reason)


def _separator(lines: list[str]) -> int | None:
    found = [index for index, line in enumerate(lines) if line.rstrip() == SEPARATOR]
    headed = [index for index in found if _ANSWER_HEADING.match(_first_text(lines[index + 1 :]))]
    chosen = headed or found
    return chosen[-1] if chosen else None


def _first_text(lines: list[str]) -> str:
    return next((line for line in lines if line.strip()), "")


def _first_text_index(lines: list[str]) -> int:
    return next(index for index, line in enumerate(lines) if line.strip())


def _harmless(line: str) -> str:
    return f"    {line}" if line.rstrip() == SEPARATOR else line.rstrip()
