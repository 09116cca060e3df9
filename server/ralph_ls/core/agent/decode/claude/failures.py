"""Which failure a ``claude`` stream tells, by its own fields first and its own words second.

Measured: an account that is not logged in, and a key that is refused, come as an answer of the
program's own with ``error: authentication_failed``; a busy or broken service as ``server_error``,
with or without a status; a model that there is not as ``model_not_found``. The result of all of
them says ``success``.
"""

from __future__ import annotations

from ralph_ls.core.agent.decode.claude.records import ResultRecord
from ralph_ls.core.agent.failure import failure_in, failure_of_status
from ralph_ls.protocol.run.report import AgentFailure


def failure_at_end(result: ResultRecord | None, api_error: str) -> AgentFailure | None:
    """The failure of a stream that ended badly; None where it has a name for none of ours.

    ``api_error`` is the kind that stands in the last answer of the program's own.
    """
    if result is None:
        return _ERRORS.get(api_error, AgentFailure.CRASHED)
    by_words = failure_in(words_of_result(result)) if result.is_error else None
    if by_words is AgentFailure.CONTEXT_FULL:
        # It comes as an invalid request like any other.
        return by_words
    return (
        _SUBTYPES.get(result.subtype)
        or _REASONS.get(result.terminal_reason or "")
        or failure_of_status(result.api_error_status)
        or _ERRORS.get(api_error)
        or by_words
    )


def words_of_result(result: ResultRecord) -> str:
    """What a result says, be it good or bad; several errors are one text."""
    error = result.error
    named = error.get("message") if isinstance(error, dict) else None
    return result.result or "; ".join(result.errors or ()) or str(named or "")


_SUBTYPES = {
    "error_max_turns": AgentFailure.MAX_TURNS,
    "error_max_budget_usd": AgentFailure.BUDGET,
}
_REASONS = {
    "max_turns": AgentFailure.MAX_TURNS,
    "budget_exhausted": AgentFailure.BUDGET,
    "prompt_too_long": AgentFailure.CONTEXT_FULL,
}
_ERRORS = {
    "authentication_failed": AgentFailure.NOT_LOGGED_IN,
    "oauth_org_not_allowed": AgentFailure.NOT_LOGGED_IN,
    "account_on_hold": AgentFailure.NOT_LOGGED_IN,
    "verification_required": AgentFailure.NOT_LOGGED_IN,
    "cloud_credential_error": AgentFailure.NOT_LOGGED_IN,
    "billing_error": AgentFailure.NOT_LOGGED_IN,
    "rate_limit": AgentFailure.LIMIT,
    "server_error": AgentFailure.OVERLOADED,
    "overloaded": AgentFailure.OVERLOADED,
    "model_not_found": AgentFailure.WRONG_CALL,
}
"""``billing_error``: a person has to see to the account, as where nobody is logged in."""
