"""``ralph simulate``: what a policy would have made of a trace, or of the journal of a run.

The file is read line by line and nothing of it is kept, so it may be of any length. What in it
cannot be used is reported on standard error, each kind of problem once. Nothing is run or changed.
"""

from __future__ import annotations

import json
import shutil
import sys
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from datetime import date, time
from itertools import chain, count
from typing import Annotated, Any, BinaryIO

from ralph_ls.cli.flags import Json, profile_named
from ralph_ls.cli.output import emit_document, print_error, print_text
from ralph_ls.cli.parameters import argument, option
from ralph_ls.core.loop.profiles import profile_of
from ralph_ls.core.replay.driver import SimulatedIteration, to_json
from ralph_ls.core.replay.journal import simulate_journal
from ralph_ls.core.replay.trace import TraceLine, parse_trace_line
from ralph_ls.core.replay.trace import simulate_lines as simulate_trace
from ralph_ls.core.replay.trace_fields import TraceProblem
from ralph_ls.core.views.model.control_chars import escape_control_chars
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import UsageError
from ralph_ls.protocol.run.events import EVENT_KINDS, EventBase, parse_event
from ralph_ls.protocol.verb_output import SimulatedLine
from ralph_ls.store.files import open_regular
from ralph_ls.store.project.config_file import DEFAULT, changed_settings, settings_of

LONGEST_LINE = 64 << 20
"""Bytes of a line; a longer one is skipped and reported, whatever it holds."""

KINDS_OF_PROBLEMS = 100
"""How many are reported one by one; of more, only the count."""

HELP = """\
Replay a run or a trace under other settings.

Shows what would have happened under the settings of --profile, changed by each --set. Without a
profile, a journal is replayed under the settings of its run. Starts and changes nothing.

\b
A trace has one JSON object a line, one for each iteration:
  report       the status block: {"STATUS": "COMPLETE", "EXIT_SIGNAL": true, …}, or its text
  evidence     what changed: {"commits": 1, "files": 2, "tasks": 1}, numbers or lists; \
without it, the numbers of the report count
  errors       error lines
  finalText    the agent's last text; promises, phrases, errors and, without a report, the \
status block are read from it

\b
and, if known:
  promise      {"kind": "blocked", "text": "why"}, or "BLOCKED:why"
  plan         after the iteration: {"total": 5, "open": 2, "blocked": 1, "marker": false}
  task         the id of its task
  limit        true if the agent reached its usage limit
  deniedTools  names of tools that were denied
  exitCode     of the agent, 0 by default
  timedOut     true if the iteration timed out
  validated    true if validation passed

With --json, prints one object a line: iteration, breaker, reason, verdict and exitCode. The verdict
is continue, complete, limit, blocked, decide, stuck or fatal; nothing follows an end. A run that
ends before its first iteration ends in iteration 0.
"""

_HEADINGS = ("iteration", "breaker", "verdict", "reason")
_WIDTHS = (9, 9, 8)
_GAP = "  "
_NARROWEST = 20
"""Columns that a reason has at least, however narrow the terminal is."""


def simulate(
    trace: Annotated[str, argument("TRACE", "A trace or a journal file; - is standard input.")],
    profile: Annotated[
        str | None,
        option(
            "PROFILE",
            "Use the settings of this profile.",
            default="those of the journal, else of fixplan",
        ),
    ] = None,
    settings: Annotated[
        list[str] | None,
        option(
            "KEY=VALUE",
            "Change a setting, such as breaker.no_progress_open=5; repeatable.",
            "--set",
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """What ``HELP`` says."""
    overrides = _overrides(settings or [])
    chosen = None if profile is None else profile_named(profile)
    config = settings_of(chosen or DEFAULT, overrides)
    problems = _Problems(trace)

    def policy(recorded: Config) -> Config:
        return config if chosen is not None else changed_settings(recorded, overrides)

    with ExitStack() as stack:
        stream = sys.stdin.buffer if trace == "-" else stack.enter_context(_open(trace))
        lines = _lines(stream, trace, problems)
        first = next(lines, None)
        rest = lines if first is None else chain((first,), lines)
        is_journal = first is not None and _is_event(first[1])
        if is_journal:
            sent = simulate_journal(_events(rest, problems), policy)
        else:
            sent = simulate_trace(_trace_lines(rest, config, problems), config)
        last = _emit(sent) if as_json else _show(sent)
    problems.report_remainder()
    if last is None:
        print_error(f"{trace} has no iteration to replay")
    elif not as_json:
        _show_end(last, "journal" if is_journal else "trace")


simulate.__doc__ = HELP


# What is asked.


def _overrides(given: list[str]) -> dict[str, Any]:
    """Dotted key to value, the last of a key; raises ``UsageError``."""
    overrides: dict[str, Any] = {}
    for setting in given:
        key, equals, value = setting.partition("=")
        key = key.strip()
        if not equals or not key:
            raise UsageError(f"--set {setting!r}: write KEY=VALUE, such as max_stuck=3")
        if key == "profile":
            raise UsageError(f"--set {setting!r}: use --profile instead")
        overrides[key] = _toml_value(value.strip())
    return overrides


def _toml_value(text: str) -> object:
    """The value as TOML has it; what is none there is a text, and so is a bare word."""
    try:
        value = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    is_one = value.keys() == {"value"} and not isinstance(value["value"], date | time)
    return value["value"] if is_one else text


# What is read.


class _Problems:
    """Problems of the file: reported when they are met, each kind once."""

    def __init__(self, name: str) -> None:
        self._name = "standard input" if name == "-" else name
        self._again: dict[tuple[str, str], int] = {}
        self._n_others = 0

    def report(self, line: int, problem: TraceProblem) -> None:
        key = (problem.code, problem.field)
        if key in self._again:
            self._again[key] += 1
        elif len(self._again) == KINDS_OF_PROBLEMS:
            self._n_others += 1
        else:
            self._again[key] = 0
            print_error(f"{self._name}, line {line}: {problem.message}")

    def report_remainder(self) -> None:
        for (code, field), n_more in self._again.items():
            if n_more:
                what = f"{code} ({field})" if field else code
                print_error(f"{self._name}: {what}: {n_more} more")
        if self._n_others:
            print_error(f"{self._name}: {self._n_others} more problems")


_Line = tuple[int, bytes]
"""A line's number and its content."""


def _open(path: str) -> BinaryIO:
    try:
        return open_regular(path)
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error


def _unreadable(path: str, error: Exception) -> UsageError:
    why = getattr(error, "strerror", None) or error
    return UsageError(f"cannot read {path}: {why}; name a trace or a journal file")


def _lines(stream: BinaryIO, name: str, problems: _Problems) -> Iterator[_Line]:
    """The lines that hold something; one that is too long is left out."""
    try:
        for number in count(1):
            line = stream.readline(LONGEST_LINE)
            if not line:
                return
            if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                _skip_line(stream)
                message = f"longer than {LONGEST_LINE} bytes, so it is skipped"
                problems.report(number, TraceProblem(code="too-long", message=message))
            elif line.strip():
                yield number, line
    except OSError as error:
        raise _unreadable(name, error) from error


def _skip_line(stream: BinaryIO) -> None:
    while (piece := stream.readline(LONGEST_LINE)) and not piece.endswith(b"\n"):
        pass


def _is_event(line: bytes) -> bool:
    """Whether the file is a journal: a line of a trace has no kind."""
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return False
    kind = value.get("kind") if isinstance(value, dict) else None
    return isinstance(kind, str) and (kind in EVENT_KINDS or {"seq", "run"} <= value.keys())


def _trace_lines(
    lines: Iterable[_Line], config: Config, problems: _Problems
) -> Iterator[TraceLine]:
    preferred = profile_of(config.profile).own_block
    for number, line in lines:
        text = line.decode("utf-8", "replace").removeprefix("\ufeff")
        found, wrong = parse_trace_line(
            text, preferred=preferred, complete_word=config.promise.complete
        )
        for problem in wrong:
            problems.report(number, problem)
        if found is not None:
            yield found


def _events(lines: Iterable[_Line], problems: _Problems) -> Iterator[EventBase]:
    for number, line in lines:
        try:
            yield parse_event(line)
        except ValueError:
            message = "not an event, so it is skipped"
            problems.report(number, TraceProblem(code="no-event", message=message))


# What is said.


def _emit(sent: Iterable[SimulatedIteration]) -> SimulatedIteration | None:
    """One JSON line an iteration; gives the last."""
    last = None
    for last in sent:
        emit_document(SimulatedLine.model_validate(to_json(last)), indent=None)
    return last


def _show(sent: Iterable[SimulatedIteration]) -> SimulatedIteration | None:
    """A table as wide as the terminal; gives the last."""
    last = None
    for last in sent:
        if last.iteration <= 1:
            _show_row(_HEADINGS)
        verdict = "continue" if last.verdict is None else last.verdict.value
        _show_row((str(last.iteration), last.breaker.value, verdict, last.reason))
    return last


def _show_row(cells: tuple[str, str, str, str]) -> None:
    number, *words, reason = cells
    first = number.rjust(_WIDTHS[0])
    others = (word.ljust(width) for word, width in zip(words, _WIDTHS[1:], strict=True))
    start = _GAP.join((first, *others, ""))
    room = max(_NARROWEST, shutil.get_terminal_size().columns - len(start) - 1)
    for line in _folded(escape_control_chars(" ".join(reason.split())), room):
        print_text(f"{start}{line}".rstrip())
        start = " " * len(start)


def _folded(text: str, room: int) -> list[str]:
    """The text in lines that fit; a word that is wider than a line is cut."""
    from rich.cells import cell_len, chop_cells

    lines = [""]
    for word in text.split(" "):
        longer = f"{lines[-1]} {word}".strip()
        if cell_len(longer) <= room:
            lines[-1] = longer
        else:
            lines = [*filter(None, lines), *chop_cells(word, room)]
    return lines


def _show_end(last: SimulatedIteration, what: str) -> None:
    if last.verdict is None:
        where = f"after iteration {last.iteration}, where the {what} ends"
        print_text(f"With these settings the run continues {where}")
        return
    where = f"after iteration {last.iteration}" if last.iteration else "before its first iteration"
    code = f"{last.verdict.value}, exit code {last.exit_code}"
    print_text(f"With these settings the run ends {where}: {code}")
