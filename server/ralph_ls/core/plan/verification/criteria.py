"""Acceptance criteria and their evidence lines as texts: boxes, commands, exit codes.

An evidence line is ``- [x] Unit tests pass (npm test auth.test.ts - exit 0)``. Runs nothing and
does not know which task a text belongs to.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from typing import NamedTuple

from ralph_ls.core.plan.parse.titles import fold_whitespace
from ralph_ls.core.plan.verification.commands import (
    commands_in,
    has_plain_words,
    is_command,
    is_complete_command,
    names_program,
    program_in,
    satisfies_command,
)


class EvidenceLine(NamedTuple):
    """One line of a close reason."""

    criterion: str
    """Without the box and the brackets at its end."""
    is_ticked: bool
    command: str | None
    """The command that was run; None where the line has no command with its exit code."""
    exit_code: int | None


class CommandRun(NamedTuple):
    """A command with its exit code: the expected or the actual one."""

    command: str
    exit_code: int

    def __str__(self) -> str:
        return f"{self.command} - exit {exit_code_word(self.exit_code)}"


SUCCESS = 0
ANY_FAILURE = -1
"""The expected exit code of ``exits non-zero``."""


def read_criteria(text: str) -> tuple[str, ...]:
    """Parse criteria, one text each: the items of a list, else every line.

    Further lines of an item belong to it. Headings and labels are no criteria.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    if not any(_ITEM.match(line) for line in lines):
        return tuple(fold_whitespace(line) for line in lines if not _is_label(line))
    found: list[str] = []
    for line in lines:
        item = _ITEM.match(line)
        if item is not None:
            found.append(line[item.end() :])
        elif found and line[:1] in {" ", "\t"}:
            found[-1] += f" {line}"
    return tuple(criterion for text in found if (criterion := fold_whitespace(text)))


def read_evidence(reason: str) -> tuple[EvidenceLine, ...]:
    """The evidence lines of a close reason."""
    found = (_verified(line) for line in reason.splitlines())
    return tuple(one for one in found if one is not None)


def write_evidence(verified: Sequence[EvidenceLine]) -> str:
    """A close reason with one evidence line per criterion."""
    lines = ["Acceptance criteria verified:"]
    for one in verified:
        box = "x" if one.is_ticked else " "
        run = "" if one.command is None else f" ({one.command} - exit {one.exit_code})"
        lines.append(f"- [{box}] {one.criterion}{run}")
    return "\n".join(lines)


def without_ticks(text: str) -> tuple[str, ...]:
    """The lines of criteria in the form for comparison: an agent may only tick them."""
    lines = (fold_whitespace(_BOX.sub("[ ]", line, count=1)) for line in text.splitlines())
    return tuple(line for line in lines if line)


def criterion_key(text: str) -> str:
    """A criterion in the form for search in a close reason: without command, marks and case."""
    folded = fold_whitespace(text)
    run = _run_at_end(folded)
    bare = folded if run is None else folded[: run.start]
    return fold_whitespace(bare.translate(_MARKS)).casefold().rstrip(".!;:, ")


def without_run(criterion: str) -> str:
    """A criterion without the command and exit code in brackets behind it; white space folded."""
    folded = fold_whitespace(criterion)
    run = _run_at_end(folded)
    return folded if run is None else folded[: run.start].rstrip()


def command_of(criterion: str, *, on_path: Container[str] = ()) -> CommandRun | None:
    """The command that a criterion names, with the expected exit code; None without one.

    It is in brackets at the end, in back-ticks, or is all that comes before "exits 0".
    ``on_path`` are the names of the programs that can be started.
    """
    text = fold_whitespace(criterion)
    run = _run_at_end(text)
    if run is not None and (run.exit_code is not None or not run.is_quoted):
        code = run.exit_code
        wanted = _exit_code_in(text[: run.start]) if code is None else code
        return CommandRun(run.command, SUCCESS if wanted is None else wanted)
    for found in _QUOTED.finditer(text):
        command, before, after = (
            fold_whitespace(found[1]),
            text[: found.start()],
            text[found.end() :],
        )
        if _is_quoted_command(command, before, after, on_path):
            codes = (_exit_code_in(after), _exit_code_in(before), SUCCESS)
            return CommandRun(command, next(one for one in codes if one is not None))
    return _unmarked_command(text, on_path)


def cited_runs(line: EvidenceLine) -> tuple[CommandRun, ...]:
    """The commands and exit codes in an evidence line."""
    if line.command is not None:
        inside = f"{line.command} - exit {line.exit_code}"
        return tuple(CommandRun(_strip(one[1]), int(one[2])) for one in _RUNS.finditer(inside))
    text, found = line.criterion, []
    for quoted in _QUOTED.finditer(text):
        code = _exit_code_in(text[quoted.end() :])
        found += [] if code is None else [CommandRun(fold_whitespace(quoted[1]), code)]
    unmarked = None if found else _COMMAND.match(text)
    if unmarked is not None:
        command = _strip(unmarked["command"])
        ways = dict.fromkeys((command, command.rpartition(": ")[2]))
        found += [CommandRun(one, int(unmarked["code"])) for one in ways]
    return tuple(found)


def find_evidence(criterion: str, lines: Sequence[EvidenceLine]) -> EvidenceLine | None:
    """The first line that cites the command of a criterion; None where it names none."""
    asked = command_of(criterion)
    if asked is None:
        return None
    cites = (
        one
        for one in lines
        for run in cited_runs(one)
        if satisfies_command(asked.command, run.command)
    )
    return next(cites, None)


def exit_code_word(code: int) -> str:
    """An expected exit code as it is written behind "exit"."""
    return "non-zero" if code == ANY_FAILURE else str(code)


def is_wanted(exit_code: int | None, wanted: int) -> bool:
    """Whether a command ended as expected; ``None`` is a command that did not end."""
    if wanted == ANY_FAILURE:
        return exit_code not in {None, SUCCESS}
    return exit_code == wanted


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
_RUNS = re.compile(
    _COMMAND.pattern.replace("?P<command>", "").replace("?P<code>", "")
    + r"(?:\s*(?:[,;&]+|\band\b|\Z)\s*)",
    re.IGNORECASE,
)
"""Several, each with its exit code, as in ``(make lint - exit 0, make test - exit 0)``."""
_QUOTED = re.compile(r"`([^`\n]+)`")
_EXIT = re.compile(
    r"\b(?:exit(?:s|ed|ing)?|return(?:s|ed)? code)\b(?:\s+(?:an?|code|status|with))*\s*[:=]?\s*"
    r"(?P<code>[0-9]{1,5}\b|non-?zero|error)?",
    re.IGNORECASE,
)
_SAYS_RUN = re.compile(r"\b(?:runs?|exit(?:s|ed)?|pass(?:es|ed)?)\b", re.IGNORECASE)
_RUN_BEFORE = re.compile(r".*\b(?:run|runs|running)\s*\Z", re.IGNORECASE)
_ENDS_AFTER = re.compile(
    r"\W*(?:\w+ ){0,2}(?P<exits>exit(?:s|ed)?|passe[sd]|pass)\b", re.IGNORECASE
)
_UNMARKED = re.compile(
    r"(?:run(?:ning)? )?(?P<command>\S.*?),?(?: (?:must|should|still|always|and it))* "
    r"(?P<verb>exits?|exited|pass|passes|passed|succeeds|succeeded)\b.*",
    re.IGNORECASE,
)
_MARKS = str.maketrans("", "", "*`~_")
_LABEL = re.compile(r"\s*(?:#{1,6}\s.*|[*_]*acceptance criteria[*_]*:?[*_]*\s*)", re.IGNORECASE)


def _is_label(line: str) -> bool:
    return _LABEL.fullmatch(line) is not None


def _verified(line: str) -> EvidenceLine | None:
    found = _TICKED.fullmatch(line)
    if found is None or not found[2].strip():
        return None
    text = fold_whitespace(found[2])
    run = _run_at_end(text)
    if run is None or run.exit_code is None:
        return EvidenceLine(text, found[1] != " ", None, None)
    return EvidenceLine(text[: run.start].rstrip(), found[1] != " ", run.command, run.exit_code)


class _Run(NamedTuple):
    start: int
    """Where its bracket opens."""
    command: str
    exit_code: int | None
    """None where the bracket has none."""
    is_quoted: bool
    """It is between backticks, and not surely a command by itself."""


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
        return _Run(at, _strip(found["command"]), int(found["code"]), is_quoted=False)
    bare = _strip(inside)
    is_quoted = inside.strip() == f"`{bare}`" and "`" not in bare and " " in bare
    is_sure = is_command(bare)
    return _Run(at, bare, None, is_quoted=not is_sure) if is_quoted or is_sure else None


def _strip(command: str) -> str:
    return command.strip().strip("`").strip()


def _exit_code_in(text: str) -> int | None:
    """The exit code in a text, or any failure; None where it has none."""
    found = _EXIT.search(text)
    code = None if found is None else found["code"]
    if code is None:
        return None
    return int(code) if code.isdigit() else ANY_FAILURE


def _is_quoted_command(command: str, before: str, after: str, on_path: Container[str]) -> bool:
    """Whether text in backticks is a command; a single word needs a verb like run or exit."""
    if is_command(command):
        return True
    words = next(iter(commands_in(command)), ())
    if not words or _NAME.fullmatch(words[0]) is None:
        return False
    is_known = names_program(program_in(command), on_path)
    if len(words) > 1:
        return is_known or _SAYS_RUN.search(f"{before} {after}") is not None
    ends = _ENDS_AFTER.match(after)
    is_run = _RUN_BEFORE.match(before) is not None
    return is_run or (ends is not None and (is_known or ends["exits"][:4].lower() == "exit"))


_NAME = re.compile(r"[\w./+-]*[A-Za-z0-9][\w./+-]*")


def _unmarked_command(text: str, on_path: Container[str]) -> CommandRun | None:
    """The command of a criterion such as ``npm test auth.test.ts exits 0``."""
    found = _UNMARKED.fullmatch(text)
    if found is None or has_plain_words(found["command"]) or "`" in found["command"]:
        return None
    command = found["command"]
    exits = found["verb"].lower().startswith("exit")
    is_one = is_command(command) or names_program(program_in(command), on_path)
    if not (is_one if exits else is_complete_command(command)):
        return None
    code = _exit_code_in(text[found.end("command") :])
    return CommandRun(command, SUCCESS if code is None else code)
