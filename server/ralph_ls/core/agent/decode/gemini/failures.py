"""Which failure a ``gemini`` stream tells, by the kind of its error and the answer of the service.

The kind is a name of its program's own, or ``unknown``; then the message holds what the service of
the model answered: an object with a code, or its words and a status. It must never read a clock.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import msgspec

from ralph_ls.core.agent.decode.final import Limit
from ralph_ls.core.agent.decode.gemini.records import Failure
from ralph_ls.core.agent.decode.records import decode
from ralph_ls.core.agent.failure import failure_in, failure_of_status
from ralph_ls.protocol.run.report import AgentFailure


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """How an agent failed."""

    why: str
    """In one line."""
    kind: AgentFailure | None = None
    limit: Limit | None = None


def failed_with(error: Failure) -> Failed:
    """What an error says; its first line, where it has no more than words."""
    message = error.message.strip()
    wrapped = _WRAPPED.match(message)
    inner = message if wrapped is None else wrapped[1]
    answer = decode(_ANSWER, inner.encode()) if inner.startswith("{") else None
    if answer is not None and answer.error.message:
        told, code = answer.error.message, answer.error.code
        why = told if not isinstance(code, int) else f"{told} (status {code})"
    else:
        told, code = inner, None
        why = inner or error.type or "it failed"
    is_quota = _OF_A_QUOTA.search(message) is not None
    kind = _KINDS.get(error.type) or (AgentFailure.LIMIT if is_quota else _by_answer(code, told))
    return Failed(
        why=why.strip().split("\n", 1)[0].strip(),
        kind=kind,
        limit=_limit_in(told) if kind is AgentFailure.LIMIT else None,
    )


def _by_answer(code: int | str | None, told: str) -> AgentFailure | None:
    if isinstance(code, int) and failure_of_status(code) is not None:
        return failure_of_status(code)
    status = _STATUS.search(told)
    named = code if isinstance(code, str) else "" if status is None else status[1]
    return _STATUSES.get(named) or _by_words(told)


def _by_words(told: str) -> AgentFailure | None:
    for kind, shape in _WORDS:
        if shape.search(told) is not None:
            return kind
    return failure_in(told)


def _limit_in(told: str) -> Limit:
    """The limit, with the wait that the service asks for."""
    found = _RETRY_IN.search(told)
    return Limit(resets_in=None if found is None else float(found[1]))


class _Error(msgspec.Struct):
    code: int | str | None = None
    message: str = ""


class _Answer(msgspec.Struct):
    error: _Error


_ANSWER = msgspec.json.Decoder(_Answer)
_WRAPPED = re.compile(r"\[API Error: (.*?)\](?=\n|\Z)", re.DOTALL)
_STATUS = re.compile(r"\(Status: ([A-Z_]+)\)\Z")

_KINDS = {
    "FatalAuthenticationError": AgentFailure.NOT_LOGGED_IN,
    "ValidationRequiredError": AgentFailure.NOT_LOGGED_IN,
    "FatalTurnLimitedError": AgentFailure.MAX_TURNS,
    "FatalInputError": AgentFailure.WRONG_CALL,
    "FatalConfigError": AgentFailure.WRONG_CALL,
    "ModelNotFoundError": AgentFailure.WRONG_CALL,
    "TerminalQuotaError": AgentFailure.LIMIT,
    "RetryableQuotaError": AgentFailure.LIMIT,
}
"""Names of errors; most come as ``unknown``, and then the message tells."""

_STATUSES = {
    "UNAUTHENTICATED": AgentFailure.NOT_LOGGED_IN,
    "PERMISSION_DENIED": AgentFailure.NOT_LOGGED_IN,
    "authentication_error": AgentFailure.NOT_LOGGED_IN,
    "NOT_FOUND": AgentFailure.WRONG_CALL,
    "RESOURCE_EXHAUSTED": AgentFailure.LIMIT,
    "rate_limit_error": AgentFailure.LIMIT,
    "INTERNAL": AgentFailure.OVERLOADED,
    "UNAVAILABLE": AgentFailure.OVERLOADED,
    "DEADLINE_EXCEEDED": AgentFailure.OVERLOADED,
    "overloaded_error": AgentFailure.OVERLOADED,
}

_WORDS = tuple(
    (kind, re.compile(shape, re.IGNORECASE))
    for kind, shape in (
        (AgentFailure.MAX_TURNS, r"\bmax(?:imum)? session turns\b"),
        (AgentFailure.LIMIT, r"\bexhausted your\b.*\bquota\b|\bexceeded your current quota\b"),
        (AgentFailure.CONTEXT_FULL, r"\binput token count\b.*\bexceeds\b"),
    )
)
"""What the program's own message of a failure says."""

_OF_A_QUOTA = re.compile(
    r"\nPlease wait and try again later\.|\nPossible quota limitations in place\b"
)
"""What it puts behind the words of every answer with the status 429, and of no other."""

_RETRY_IN = re.compile(r"\b(?:retry in|reset after) (\d{1,7}(?:\.\d{1,9})?)s\b", re.IGNORECASE)
