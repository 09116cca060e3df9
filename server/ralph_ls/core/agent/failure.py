"""The failures of agents: what they are called, and the words and numbers by which they are known.

People and the loop act on the kind: one waits out an overload, and logs in where nobody is logged
in. So a kind comes from an agent's own word for it wherever there is one; words of the program
itself come second, and what a model or a tool said is never looked at. It must never know what is
done about a failure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from ralph_ls.protocol.run.report import AgentFailure


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One failure."""

    kind: AgentFailure
    words: str = ""
    """What the agent's program says of it; empty where it says nothing."""


WORDS: Mapping[AgentFailure, str] = {
    AgentFailure.NOT_LOGGED_IN: "is not logged in, or its account or key is not accepted",
    AgentFailure.LIMIT: "is at its usage limit",
    AgentFailure.OVERLOADED: "cannot reach its model, which is overloaded or out of order",
    AgentFailure.CONTEXT_FULL: "has no room left in its context window",
    AgentFailure.MAX_TURNS: "reached its own limit of turns",
    AgentFailure.BUDGET: "reached its own limit of cost",
    AgentFailure.REFUSED_AS_ROOT: "refuses to work as root",
    AgentFailure.WRONG_CALL: "does not know a flag, a model or a setting that it was given",
    AgentFailure.CRASHED: "crashed",
    AgentFailure.KILLED: "was killed",
    AgentFailure.IDLE: "printed nothing for too long",
    AgentFailure.TIMED_OUT: "ran out of time",
    AgentFailure.OTHER: "failed",
}
"""What happened, behind "the agent"."""


def remedy_of(kind: AgentFailure | None, *, agent: str, login: str = "") -> str:
    """What a person does about it, as one clause; empty where waiting or nothing helps.

    ``login`` is how one logs in with this agent, where its description says so.
    """
    match kind:
        case AgentFailure.NOT_LOGGED_IN:
            return f"log in with: {login}" if login else f"log in with {agent}, or give it a key"
        case AgentFailure.REFUSED_AS_ROOT:
            return (
                f"run ralph as another user, or tell {agent} that it is in a sandbox, with the "
                f"variable that it knows for that, in [agents.{agent}.env] of .ralph/config.toml"
            )
        case AgentFailure.WRONG_CALL:
            return (
                f"look at [agents.{agent}] in .ralph/config.toml, at the model and at the "
                f"version: {agent} --version; ralph run --dry-run shows the whole command"
            )
        case _:
            return ""


def failure_of_status(status: int | None) -> AgentFailure | None:
    """What the HTTP status of a model's service means; None where it says nothing of it."""
    if status is None:
        return None
    if status >= _SERVER_ERROR:
        return AgentFailure.OVERLOADED
    return _STATUSES.get(status)


_SERVER_ERROR = 500
_STATUSES = {
    401: AgentFailure.NOT_LOGGED_IN,
    403: AgentFailure.NOT_LOGGED_IN,
    404: AgentFailure.WRONG_CALL,
    408: AgentFailure.OVERLOADED,
    413: AgentFailure.CONTEXT_FULL,
    429: AgentFailure.LIMIT,
}
"""404 is what a service answers to a model that it does not have."""


def failure_in(message: str) -> AgentFailure | None:
    """What a failure's own message says, which the agent's program made; None: something else.

    Never give it what a model or a tool said.
    """
    for kind, shape in MESSAGES:
        if shape.search(message) is not None:
            return kind
    status = _STATUS.search(message)
    return None if status is None else failure_of_status(int(status[1] or status[2]))


MESSAGES: tuple[tuple[AgentFailure, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(shape, re.IGNORECASE))
    for kind, shape in (
        (
            AgentFailure.CONTEXT_FULL,
            (
                r"\bprompt is too long\b|\bcontext (?:window|length|limit)\b|\bmaximum context\b"
                r"|\bcontext_length_exceeded\b|\btoo many (?:input )?tokens\b|\brequest too large\b"
            ),
        ),
        (
            AgentFailure.NOT_LOGGED_IN,
            (
                r"\bnot (?:logged|signed) in\b|\brun /login\b|\bplease (?:log|sign) in\b"
                r"|\b(?:invalid|incorrect|missing|no|expired) (?:x-)?api[ -]?key\b"
                r"|\bapi[ -]?key (?:is |was )?(?:not (?:valid|set|found)|invalid|missing)\b"
                r"|\bmissing environment variable\b|\bauthentication[ _](?:failed|error)\b"
                r"|\bfailed to authenticate\b|\bunauthori[sz]ed\b|\bset an auth method\b"
                r"|\bno auth(?:entication)? (?:method|information|credentials)\b"
                r"|\boauth token (?:has )?expired\b|\binvalid auth method\b"
            ),
        ),
        (
            AgentFailure.WRONG_CALL,
            (
                r"\bmodel[ _]not[ _]found\b|\b(?:unknown|unsupported|invalid) model\b"
                r"|\bselected model\b.*\bmay not exist\b|\bmodel\b.{1,80}\b(?:does not exist|"
                r"is not (?:supported|found|available))\b"
            ),
        ),
        (
            AgentFailure.OVERLOADED,
            (
                r"\boverloaded\b|\bservice unavailable\b|\binternal server error\b|\bbad gateway\b"
                r"|\bgateway time-?out\b|\bserver[ _]error\b|\bat capacity\b|\bhigh demand\b"
                r"|\bconnection (?:refused|reset|error|closed)\b|\bfetch failed\b|\bECONN[A-Z]+\b"
                r"|\bENOTFOUND\b|\bETIMEDOUT\b|\bstream (?:disconnected|closed|error)\b"
                r"|\berror sending request\b|\brequest timed out\b|\bnetwork error\b"
            ),
        ),
    )
)
"""In this order: what is full or refused may come with words of a server's error."""

_STATUS = re.compile(
    r"\b(?:status(?: code)?:?|API error:?|HTTP(?:/[\d.]+)?|error code:?) (\d{3})\b"
    r"|\b(\d{3}) (?:Unauthorized|Forbidden|Too Many Requests|Not Found|Payload Too Large)\b",
    re.IGNORECASE,
)
