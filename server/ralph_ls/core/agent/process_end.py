"""How one agent process failed: by its own structured output, its exit, or what it refused.

The agent's own word comes first, then how its process ended. What it printed on standard error is
looked at only where it printed nothing else: then it is the program's own complaint about how it
was called. It must never know what is done about a failure.
"""

from __future__ import annotations

import re

from ralph_ls.core.agent.decode.final import Final
from ralph_ls.core.agent.failure import MESSAGES, Failure
from ralph_ls.protocol.run.events import AgentExited
from ralph_ls.protocol.run.report import AgentFailure


def failure_of(
    final: Final,
    exit_event: AgentExited | None,
    stderr: str = "",
    *,
    has_result: bool,
) -> Failure | None:
    """How an agent's process failed; None where it did not, or where it was ended on purpose.

    ``has_result``: it gave a report or a promise. A limit of the iteration that ended it is no
    failure of the agent's.
    """
    if exit_event is None or exit_event.stopped or exit_event.overspent:
        return None
    if exit_event.timed_out:
        return Failure(kind=AgentFailure.TIMED_OUT)
    if exit_event.idle:
        return Failure(kind=AgentFailure.IDLE)
    if final.limit is not None and (final.failed or not has_result):
        return Failure(kind=AgentFailure.LIMIT, words=final.why)
    if final.failure is not None and final.failure is not AgentFailure.CRASHED:
        return Failure(kind=final.failure, words=final.why)
    if exit_event.signal is not None or (final.failed and exit_event.exit_code in _BY_SIGNAL):
        return Failure(kind=AgentFailure.KILLED, words=final.why)
    is_silent = not final.text.strip()
    has_failed = final.failed or (exit_event.exit_code != 0 and not has_result)
    if not has_failed:
        is_nothing = is_silent and not has_result
        return Failure(kind=AgentFailure.CRASHED, words=SAID_NOTHING) if is_nothing else None
    if final.failure is AgentFailure.CRASHED and (turns := _line_of(_OUT_OF_TURNS, stderr)):
        return Failure(kind=AgentFailure.MAX_TURNS, words=turns)
    refused = _refusal_in(stderr) if is_silent and final.session_id is None else None
    if refused is not None:
        return refused
    is_own_word = final.failed and final.failure is None
    kind = AgentFailure.OTHER if is_own_word else AgentFailure.CRASHED
    return Failure(kind=kind, words=final.why)


SAID_NOTHING = "it said nothing"

_BY_SIGNAL = frozenset({129, 130, 137, 143})
"""Exit codes by which programs and shells tell that a signal ended them."""


def _refusal_in(stderr: str) -> Failure | None:
    """Why a program that printed nothing else did not even begin, by its own last lines."""
    for kind, shape in _REFUSALS:
        if line := _line_of(shape, stderr):
            return Failure(kind=kind, words=line)
    return None


def _line_of(shape: re.Pattern[str], stderr: str) -> str:
    """The first of the last lines that fits; empty where none does."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    fitting = (line for line in lines[-_LAST_LINES:] if shape.search(line) is not None)
    return next(fitting, "")[:_LONGEST_LINE]


_OUT_OF_TURNS = re.compile(r"\breached max(?:imum)? (?:session )?turns\b", re.IGNORECASE)
"""All that ``qwen`` says of it: its stream just ends."""

_LAST_LINES = 10
_LONGEST_LINE = 300

_REFUSALS: tuple[tuple[AgentFailure, re.Pattern[str]], ...] = (
    (
        AgentFailure.REFUSED_AS_ROOT,
        re.compile(
            r"\b(?:cannot|can't|must not|may not|not allowed|refus\w+)\b.{0,80}"
            r"\b(?:as|with|by|under) (?:the )?root\b|\brunning as root is not\b",
            re.IGNORECASE,
        ),
    ),
    (
        AgentFailure.WRONG_CALL,
        re.compile(
            r"\b(?:unknown|unrecogni[sz]ed|unexpected|invalid) (?:option|argument|arguments|flag)\b"
            r"|\binvalid (?:value|choice)\b.*\B--",
            re.IGNORECASE,
        ),
    ),
    *((kind, shape) for kind, shape in MESSAGES if kind is not AgentFailure.CONTEXT_FULL),
)
