"""Why a turn failed, by the fields of an error of the Agent Client Protocol, never by its words.

The protocol itself knows one failure that we tell apart: that nobody is logged in. The adapters of
``claude`` and ``codex`` say the others in the error's ``data``, each in its own words, and some
agents put an HTTP status there.
"""

from __future__ import annotations

from collections.abc import Iterator

from ralph_ls.core.agent.decode.acp.records import Record, count_at, record_at, text_at, value_at
from ralph_ls.protocol.run.report import AgentFailure

AUTH_REQUIRED = -32000


def failure_in(error: Record) -> AgentFailure | None:
    """Which failure an error tells; None where it does not say."""
    if value_at(error, "code") == AUTH_REQUIRED:
        return AgentFailure.NOT_LOGGED_IN
    data = record_at(error, "data")
    for word in _words(data):
        if word in _KINDS:
            return _KINDS[word]
    for status in _statuses(data):
        if status in _STATUSES or status >= _SERVER_ERROR:
            return _STATUSES.get(status, AgentFailure.OVERLOADED)
    return None


def words_of(error: Record) -> str:
    """What an error says, for people."""
    message = text_at(error, "message")
    details = text_at(error, "data", "details") or text_at(error, "data", "message")
    if details and details not in message:
        return f"{message}: {details}" if message else details
    return message or "it answered with an error"


def stop_failure(reason: str) -> tuple[str, AgentFailure | None] | None:
    """How a turn failed that ended for this reason, in words and as what; None: it did not."""
    if reason == "end_turn":
        return None
    return _STOPS.get(reason, (f"its turn ended with: {reason or 'no reason'}", None))


def _words(data: Record) -> Iterator[str]:
    yield text_at(data, "errorKind")
    info = value_at(data, "codexErrorInfo")
    if isinstance(info, str):
        yield info
    elif isinstance(info, dict):
        yield from info


def _statuses(data: Record) -> Iterator[int]:
    places = [data, record_at(data, "error"), *_records(record_at(data, "codexErrorInfo"))]
    for place in places:
        for key in ("status", "statusCode", "httpStatusCode", "code"):
            status = count_at(place, key)
            if status is not None and status in range(400, 600):
                yield status


def _records(record: Record) -> list[Record]:
    return [value for value in record.values() if isinstance(value, dict)]


_STOPS: dict[str, tuple[str, AgentFailure | None]] = {
    "max_tokens": ("it reached the largest number of tokens", AgentFailure.CONTEXT_FULL),
    "max_turn_requests": ("it reached its limit of turns", AgentFailure.MAX_TURNS),
    "refusal": ("its model refused to go on", None),
    "cancelled": ("its turn was cancelled", None),
}

_KINDS = {
    "authentication_failed": AgentFailure.NOT_LOGGED_IN,
    "oauth_org_not_allowed": AgentFailure.NOT_LOGGED_IN,
    "rate_limit": AgentFailure.LIMIT,
    "overloaded": AgentFailure.OVERLOADED,
    "server_error": AgentFailure.OVERLOADED,
    "transport_lost": AgentFailure.OVERLOADED,
    "model_not_found": AgentFailure.WRONG_CALL,
    "max_output_tokens": AgentFailure.CONTEXT_FULL,
    "unauthorized": AgentFailure.NOT_LOGGED_IN,
    "usageLimitExceeded": AgentFailure.LIMIT,
    "rateLimitExceeded": AgentFailure.LIMIT,
    "serverOverloaded": AgentFailure.OVERLOADED,
    "internalServerError": AgentFailure.OVERLOADED,
    "contextWindowExceeded": AgentFailure.CONTEXT_FULL,
    "sessionBudgetExceeded": AgentFailure.BUDGET,
}
"""``errorKind`` of the one, ``codexErrorInfo`` of the other."""

_SERVER_ERROR = 500
_STATUSES = {
    401: AgentFailure.NOT_LOGGED_IN,
    403: AgentFailure.NOT_LOGGED_IN,
    408: AgentFailure.OVERLOADED,
    413: AgentFailure.CONTEXT_FULL,
    429: AgentFailure.LIMIT,
}
