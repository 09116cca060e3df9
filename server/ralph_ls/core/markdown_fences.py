"""Fenced code blocks of Markdown: which line opens one, which line closes it, and where they are.

The rules are those of CommonMark (4.5): a run of three or more backticks or tildes opens a fence,
unless another backtick in the line makes it inline code; a bare run of the same character, at
least as long and less than four columns deeper, closes it. The readers of plans depart from it in
one point: in a fence for ``markdown``, one with a language opens another one, because agents quote
whole documents without a longer run around them. Comments hide lines in the same way, so these
readers treat them as one more kind of mark. List items around a fence are left to
the callers, and so is what a fence that is never closed means for them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

CODE_INDENT = 4
"""From how many columns deeper a line is indented code and does not close a fence."""

COMMENT = "<!--"
"""The mark that opens a comment."""


def fence_run(text: str, start: int = 0) -> str:
    """The run of three or more backticks or tildes at a position; empty where there is none."""
    found = _RUN.match(text, start)
    return "" if found is None else found[0]


def leading_run(line: str) -> str:
    """The run that a line begins with, at most three spaces from its left."""
    bare = line.lstrip(" ")
    return fence_run(bare) if len(line) - len(bare) < CODE_INDENT else ""


def opening_run(line: str, start: int = 0) -> str:
    """The run that opens a fence at a position of a line; empty where none is opened."""
    found = _RUN.match(line, start)
    if found is None or (found[0][0] == "`" and "`" in line[found.end() :]):
        return ""
    return found[0]


def opening_mark(text: str) -> str:
    """What a line opens and does not close itself: the run of a fence, ``COMMENT`` or nothing."""
    if text.startswith(COMMENT):
        return "" if "-->" in text else COMMENT
    return opening_run(text)


def is_closing(mark: str, bare: str) -> bool:
    """Whether a line without the white space around it closes what the mark opened.

    How deep the line is indented is not considered; compare it with ``CODE_INDENT``.
    """
    if mark == COMMENT:
        return "-->" in bare
    return bare.startswith(mark) and not bare.strip(mark[0])


def opens_inside(mark: str, language: str, bare: str) -> bool:
    """Whether a line in a fence for a document opens another one there, which is to be closed."""
    run = opening_run(bare)
    if language not in DOCUMENTS or run[:1] != mark[:1] or len(run) < len(mark):
        return False
    return bool(bare[len(run) :].strip())


DOCUMENTS = frozenset({"markdown", "md"})
"""The languages of fences that hold Markdown."""


def fence_spans(text: str) -> tuple[tuple[int, int], ...]:
    """Find the fenced code blocks of prose, fence lines included, sorted and not overlapping.

    A fence may open behind the mark of a list item, and indentation is free. A fence that is never
    closed extends to the end. In that case a fence with a language inside another one is tried as
    a nested block, because agents quote whole Markdown files that way; the nested reading is used
    if it closes everything. Linear in the text.
    """
    fences: list[re.Match[str]] = []
    for start in _lines_with_runs(text):
        fence = _FENCE_LINE.match(text, start)
        if fence is not None and not (fence["run"][0] == "`" and "`" in fence["info"]):
            fences.append(fence)
    spans, is_closed = _pair_fences(fences, len(text), nested=False)
    if is_closed:
        return spans
    nested_spans, is_closed = _pair_fences(fences, len(text), nested=True)
    return nested_spans if is_closed else spans


_RUN = re.compile(r"`{3,}+|~{3,}+")
_FENCE_LINE = re.compile(
    rf"[^\S\n]*+(?:(?:[-*+]|\d{{1,9}}[.)])[^\S\n]++)?(?P<run>{_RUN.pattern})(?P<info>[^\n]*)"
)


def _lines_with_runs(text: str) -> list[int]:
    """Where the lines that hold a run begin; a plain search is many times faster than a pattern."""
    starts: set[int] = set()
    for run in ("```", "~~~"):
        # One character is found in a tenth of the time, and a log may have none.
        at = text.find(run) if run[0] in text else -1
        while at >= 0:
            starts.add(text.rfind("\n", 0, at) + 1)
            end = text.find("\n", at)
            at = -1 if end < 0 else text.find(run, end)
    return sorted(starts)


def _pair_fences(
    fences: Sequence[re.Match[str]], length: int, *, nested: bool
) -> tuple[tuple[tuple[int, int], ...], bool]:
    """Pair opening and closing fences; the second value is whether all were closed."""
    spans: list[tuple[int, int]] = []
    open_runs: list[str] = []
    start = 0
    for fence in fences:
        run, is_bare = fence["run"], not fence["info"].strip()
        if open_runs and is_bare and is_closing(open_runs[-1], run):
            open_runs.pop()
            if not open_runs:
                spans.append((start, fence.end()))
        elif not open_runs:
            open_runs.append(run)
            start = fence.start()
        elif nested and not is_bare:
            open_runs.append(run)
    if open_runs:
        spans.append((start, length))
    return tuple(spans), not open_runs
