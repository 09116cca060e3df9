"""Acceptance criteria and the evidence for them, as texts: lines with boxes, commands, exit codes.

B writes what was verified as ``- [x] Unit tests pass (npm test auth.test.ts - exit 0)``. It must
never know which issue a text belongs to, nor run anything.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from ralph_ls.core.plan.programs import is_command
from ralph_ls.core.plan.titles import fold


class Verified(NamedTuple):
    """One line of a close reason."""

    criterion: str
    """Without the box, and without what stands in brackets at its end."""
    is_ticked: bool
    command: str | None
    """What was run; None where the line names no command with its exit code."""
    exit_code: int | None


def read_criteria(text: str) -> tuple[str, ...]:
    """What must hold, one text each: the items of a list, else every line.

    Further lines of an item belong to it. Headings and labels are none.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if not any(_ITEM.match(line) for line in lines):
        return tuple(fold(line) for line in lines if not _is_label(line))
    found: list[str] = []
    for line in lines:
        item = _ITEM.match(line)
        if item is not None:
            found.append(line[item.end() :])
        elif found and line[:1] in {" ", "\t"}:
            found[-1] += f" {line}"
    return tuple(criterion for text in found if (criterion := fold(text)))


def read_evidence(reason: str) -> tuple[Verified, ...]:
    """The lines of a close reason that say of a criterion how it was verified."""
    found = (_verified(line) for line in reason.splitlines())
    return tuple(one for one in found if one is not None)


def write_evidence(verified: Sequence[Verified]) -> str:
    """A close reason in B's words (Exit Condition 2)."""
    lines = ["Acceptance criteria verified:"]
    for one in verified:
        box = "x" if one.is_ticked else " "
        run = "" if one.command is None else f" ({one.command} - exit {one.exit_code})"
        lines.append(f"- [{box}] {one.criterion}{run}")
    return "\n".join(lines)


def without_ticks(text: str) -> tuple[str, ...]:
    """The lines of criteria as they are compared: an agent may tick them, and change nothing."""
    lines = (fold(_BOX.sub("[ ]", line, count=1)) for line in text.splitlines())
    return tuple(line for line in lines if line)


def criterion_key(text: str) -> str:
    """A criterion as it is looked for in a close reason: without command, marks and case."""
    folded = fold(text)
    run = _run_at_end(folded)
    bare = folded if run is None else folded[: run.start]
    return fold(bare.translate(_MARKS)).casefold().rstrip(".!;:, ")


def without_run(criterion: str) -> str:
    """A criterion without the command and exit code in brackets behind it; white space folded."""
    folded = fold(criterion)
    run = _run_at_end(folded)
    return folded if run is None else folded[: run.start].rstrip()


def command_in(criterion: str) -> str | None:
    """The command that a criterion names, so that anybody could run it; None where it names none.

    It stands in brackets at the end, with an exit code or as what is surely a command; or between
    backticks, with an argument or surely a command as well.
    """
    run = _run_at_end(fold(criterion))
    if run is not None:
        return run.command
    quoted = (fold(one) for one in _QUOTED.findall(criterion))
    return next((one for one in quoted if " " in one or is_command(one)), None)


_ITEM = re.compile(
    r"[ \t]*(?:[-*+]|[0-9]{1,4}[.)])[ \t]+(?:\[[ xX]\][ \t]*)?|[ \t]*\[[ xX]\][ \t]*"
)
_BOX = re.compile(r"(?<![^\s])\[[xX]\](?=\s|$)")
_TICKED = re.compile(r"[ \t]*(?:[-*+]|[0-9]{1,4}[.)])?[ \t]*\[([ xX])\][ \t]*(.*)")
_COMMAND = re.compile(
    r"(?P<command>\S.*?)\s*(?:[-\u2013\u2014:,;]|\u2192|=>|->)?\s*\b"
    r"exit(?:ed|s)?(?:\s+(?:code|status|with))*\s*[:=]?\s*(?P<code>-?[0-9]{1,5})",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"`([^`\n]+)`")
_MARKS = str.maketrans("", "", "*`~_")
_LABEL = re.compile(r"\s*(?:#{1,6}\s.*|[*_]*acceptance criteria[*_]*:?[*_]*\s*)", re.IGNORECASE)


def _is_label(line: str) -> bool:
    return _LABEL.fullmatch(line) is not None


def _verified(line: str) -> Verified | None:
    found = _TICKED.fullmatch(line)
    if found is None or not found[2].strip():
        return None
    text = fold(found[2])
    run = _run_at_end(text)
    if run is None or run.exit_code is None:
        return Verified(text, found[1] != " ", None, None)
    return Verified(text[: run.start].rstrip(), found[1] != " ", run.command, run.exit_code)


class _Run(NamedTuple):
    start: int
    """Where its bracket opens."""
    command: str
    exit_code: int | None
    """None where the bracket says none."""


def _run_at_end(text: str) -> _Run | None:
    """The command and exit code in the bracket that a line ends with, whatever brackets it has."""
    whole = text.rstrip(" .")
    depth = 0
    for at in range(len(whole) - 1, -1, -1):
        depth += (whole[at] == ")") - (whole[at] == "(")
        if depth == 0:
            return _run_in(whole[at + 1 : -1], at) if whole[at] == "(" else None
    return None


def _run_in(inside: str, at: int) -> _Run | None:
    found = _COMMAND.fullmatch(inside)
    if found is not None:
        return _Run(at, _strip(found["command"]), int(found["code"]))
    bare = _strip(inside)
    is_marked = inside.strip() == f"`{bare}`" and "`" not in bare and " " in bare
    return _Run(at, bare, None) if is_marked or is_command(bare) else None


def _strip(command: str) -> str:
    return command.strip().strip("`").strip()
