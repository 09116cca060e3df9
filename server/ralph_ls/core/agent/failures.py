"""Error lines and failures of agents.

Error lines are found in an agent's output and normalised, so that the breaker can compare the
errors of two iterations (docs/rules.md#error-lines).

A failure has a kind, on which the user and the loop act: an overload is waited out, a missing login
needs the user. The kind comes from the agent's structured output first, then from messages that the
program itself writes, then from the exit code. What a model or a tool printed is never searched.
Standard error is searched only where the program printed nothing else, since then it is the
program's complaint about its command line. Of plain text the last lines alone are looked at, and
only for what programs print in place of an answer.

Does not decide what follows from a failure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ralph_ls.core.agent.result import (
    AgentResult,
    find_account_limit,
    find_own_limit,
)
from ralph_ls.core.agent.text import LiteralHits, line_around, lower
from ralph_ls.protocol.run.events import AgentExited
from ralph_ls.protocol.run.report import AgentFailure

MAX_PATTERN_CHARACTERS = 1_000
"""Longest part of a line that is normalised, since patterns are kept in the run's state."""


def find_error_lines(text: str, lowered: str | None = None) -> tuple[str, ...]:
    """Find the error lines, trimmed and otherwise as written, in text order.

    See docs/rules.md#error-lines. Two stages: lines with a JSON field whose name contains "error",
    such as ``"is_error": false``, are excluded. Of the rest, a line is an error line if it starts
    with ``error:``, ``failed:``, ``failed`` or the words ``exception`` or ``fatal``, or contains
    ``]: error`` anywhere. Case is ignored. ``lowered`` is ``lower(text)``, where the caller has it.
    """
    hits = LiteralHits(lower(text) if lowered is None else lowered, _SIGNS)
    lines: list[str] = []
    position = 0
    while (hit := hits.next_from(position)) is not None:
        start, end = line_around(text, hit)
        line = text[start:end]
        if _ERROR.search(line) is not None and _JSON_ERROR_FIELD.search(line) is None:
            lines.append(line.strip())
        position = end + 1
    return tuple(lines)


def normalise_error(line: str) -> str:
    """Normalise an error line so that the same error of two iterations compares equal.

    Times, paths, hashes, addresses and numbers become ``<time>``, ``<path>``, ``<hash>`` and
    ``<n>``; white space becomes one blank. Only the first ``MAX_PATTERN_CHARACTERS`` are used.
    """
    pattern = " ".join(line[:MAX_PATTERN_CHARACTERS].split())
    for shape, name in _CHANGING_PARTS:
        pattern = shape.sub(name, pattern)
    return pattern


_SIGNS = ("error:", "exception", "fatal", "failed", "]: error")
"""Every error line contains one of these in lower case."""

_ERROR = re.compile(
    r"^[^\S\n]*+(?:error:|(?:exception|fatal)\b|failed(?::|[^\S\n]|$))|\]: error",
    re.IGNORECASE,
)

_JSON_ERROR_FIELD = re.compile(r'"(?:(?!error)[^"])*+error[^"]*+"\s*+:', re.IGNORECASE)

_DAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]{0,6}"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}"

_SPAN = r"\d++(?:[.,]\d++)?(?:ms|us|\u00b5s|ns|min|[smh])"

_CHANGING_PARTS = (
    (
        re.compile(
            r"(?<!\d)\d{4}[-/]\d\d[-/]\d\d"
            r"(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d++)?(?: ?Z| ?[+-]\d\d:?\d\d)?)?(?!\d)"
        ),
        "<time>",
    ),
    (
        re.compile(
            rf"(?<!\w)(?:{_DAY},? )?(?:{_MONTH}[ /-]\d{{1,2}},?|\d{{1,2}}[ /-]{_MONTH})"
            r"(?:[ /-]\d{4})?(?:[ :T]\d\d:\d\d(?::\d\d)?(?:[.,]\d++)?)?"
            r"(?: (?:[A-Z]{3,4}|[+-]\d{4})(?!\w))?(?: \d{4}(?!\d))?(?!\w)"
        ),
        "<time>",
    ),
    (
        re.compile(
            r"(?<![\w:])\d{1,2}:\d\d(?::\d\d(?:[.,]\d++)?(?: ?[AP]M)?| ?[AP]M)(?![\w:])",
            re.IGNORECASE,
        ),
        "<time>",
    ),
    (re.compile(r"(?<!\w)\d{8}T\d{6}Z?(?!\w)"), "<time>"),
    (
        re.compile(rf"(?<![\w.,]){_SPAN}(?: ?{_SPAN}){{0,4}}+(?!\w)"),
        "<time>",
    ),
    (re.compile(r"(?<![\w.~@+/\\-])(?:[A-Za-z]:)?(?:[\w.~@+-]*+[/\\])++[\w.~@+-]*+"), "<path>"),
    (
        re.compile(
            r"(?<!\w)(?:0x[0-9a-f]++"
            r"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
            r"|(?=[a-f]*+[0-9])(?=[0-9]*+[a-f])[0-9a-f]{7,64})(?!\w)",
            re.IGNORECASE,
        ),
        "<hash>",
    ),
    (re.compile(r"\d++(?:[.,]\d++)*+"), "<n>"),
)
"""Order matters: a time contains numbers, and a path may contain a hash."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """How an agent process failed."""

    kind: AgentFailure
    text: str = ""
    """The message of the agent's program; empty where there is none."""


FAILURE_TEXTS: Mapping[AgentFailure, str] = {
    AgentFailure.NOT_LOGGED_IN: "is not logged in, or its account or key was rejected",
    AgentFailure.LIMIT: "reached its usage limit",
    AgentFailure.OVERLOADED: "got no answer: its model is overloaded or down",
    AgentFailure.UNREACHABLE: "cannot reach its model's API",
    AgentFailure.CONTEXT_FULL: "ran out of context window",
    AgentFailure.MAX_TURNS: "reached its own turn limit",
    AgentFailure.BUDGET: "reached its own cost limit",
    AgentFailure.REFUSED_AS_ROOT: "refuses to run as root",
    AgentFailure.WRONG_CALL: "rejected a flag, a model or a setting",
    AgentFailure.CRASHED: "crashed",
    AgentFailure.NO_OUTPUT: "printed nothing",
    AgentFailure.KILLED: "was killed",
    AgentFailure.IDLE: "printed nothing for too long",
    AgentFailure.TIMED_OUT: "timed out",
    AgentFailure.OTHER: "failed",
}
"""What happened, as the predicate of a sentence that begins with "the agent"."""


def remedy_of(
    kind: AgentFailure | None, *, agent: str, login: str = "", is_flag: bool = False
) -> str:
    """The remedy that is up to the user, as one clause; empty where none is needed or known.

    ``login`` is the command that logs in to this agent, where its description has one. ``is_flag``:
    the agent was given with ``--agent-command``, so no file describes it.
    """
    match kind:
        case AgentFailure.NOT_LOGGED_IN if is_flag:
            return "log in with the program of --agent-command, or give it an API key"
        case AgentFailure.NOT_LOGGED_IN:
            return (
                f"log in with: {login}" if login else f"log in with {agent}, or give it an API key"
            )
        case AgentFailure.REFUSED_AS_ROOT if is_flag:
            return (
                "run ralph as another user, or set the variable by which the agent knows that it "
                "is in a sandbox: --agent-command 'env NAME=1 …'"
            )
        case AgentFailure.WRONG_CALL if is_flag:
            return (
                "check the flags and the model in --agent-command; ralph run --dry-run shows the "
                "full command"
            )
        case AgentFailure.REFUSED_AS_ROOT:
            return (
                f"run ralph as another user, or set the variable by which {agent} knows that it "
                f"is in a sandbox, in [agents.{agent}.env] of .ralph/config.toml"
            )
        case AgentFailure.WRONG_CALL:
            return (
                f"check [agents.{agent}] in .ralph/config.toml, the model, and the version "
                f"({agent} --version); ralph run --dry-run shows the full command"
            )
        case _:
            return ""


def failure_of_status(status: int | None) -> AgentFailure | None:
    """Classify the HTTP status of a model's service; None for any other status."""
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
"""404 is the answer of a service to a model that it does not have."""


def failure_in_text(message: str) -> AgentFailure | None:
    """Classify the failure message of an agent's program; None for an unknown one.

    Never pass text of a model or a tool.
    """
    kind = next((kind for kind, shape in FAILURE_PATTERNS if shape.search(message)), None)
    if kind is not None and kind is not AgentFailure.UNREACHABLE:
        return kind
    status = _STATUS.search(message)
    # A service that gave a status was reached, though it may not have reached another.
    return kind if status is None else failure_of_status(int(status[1] or status[2])) or kind


FAILURE_PATTERNS: tuple[tuple[AgentFailure, re.Pattern[str]], ...] = tuple(
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
            ),
        ),
        (
            AgentFailure.UNREACHABLE,
            (
                r"\bconnection ?(?:refused|reset|error|failed|closed)\b|\bECONN[A-Z]+\b"
                r"|\bENOTFOUND\b|\bEAI_AGAIN\b|\bETIMEDOUT\b|\bE(?:HOST|NET)UNREACH\b"
                r"|\b(?:unable|failed) to connect\b"
                r"|\b(?:cannot|can't|could not) (?:connect to|reach) "
                r"|\bfetch failed\b|\berror sending request\b|\bnetwork (?:error|is unreachable)\b"
                r"|\bcould(?: not|n't) resolve host\b|\bdns error\b|\bgetaddrinfo\b"
                r"|\bFailedToOpenSocket\b"
            ),
        ),
        (
            AgentFailure.OVERLOADED,
            r"\bstream (?:disconnected|closed|error)\b|\brequest timed out\b",
        ),
    )
)
"""Order matters: messages about limits and refusals may contain the words of a server error."""

_STATUS = re.compile(
    r"\b(?:status(?: code)?:?|API error:?|HTTP(?:/[\d.]+)?|error code:?) (\d{3})\b"
    r"|\b(\d{3}) (?:Unauthorized|Forbidden|Too Many Requests|Not Found|Payload Too Large)\b",
    re.IGNORECASE,
)


def with_stated_failure(final: AgentResult) -> AgentResult:
    """The result of a stream with what its failure message states and its fields do not.

    This is the kind of an unknown failure, a refused connection among the failures of a service,
    and a limit of the account with its time.
    """
    if not final.failed:
        return final
    stated = failure_in_text(final.why)
    is_general = final.failure in {None, AgentFailure.OTHER, AgentFailure.LIMIT}
    limit = final.limit
    if limit is None and is_general and stated is not AgentFailure.CONTEXT_FULL:
        limit = find_account_limit(final.why)
    elif limit is not None and not limit.is_timed:
        limit = find_account_limit(final.why) or limit
    if limit is not None and is_general:
        return replace(final, failure=AgentFailure.LIMIT, limit=limit)
    is_unreached = stated is AgentFailure.UNREACHABLE and final.failure is AgentFailure.OVERLOADED
    return replace(final, failure=stated if is_unreached else final.failure or stated, limit=limit)


def with_failure_in_plain_text(
    final: AgentResult, stderr: str = "", *, has_failed: bool
) -> AgentResult:
    """The result of a program that prints plain text, with a failure in place of an answer.

    That is one of its last lines, of ``stderr`` where it printed nothing else, and only where the
    process ``has_failed`` or this line is all output. An answer that is about limits is none.
    """
    text = final.text.strip()
    for line in _closing_lines(text or stderr):
        limit = find_own_limit(line) if len(line) <= _LONGEST_LINE else None
        kind = AgentFailure.LIMIT if limit is not None else _own_error(line)
        if kind is not None and (has_failed or line == text):
            return replace(final, failed=True, why=line, failure=kind, limit=limit)
    return final


def _closing_lines(output: str) -> Iterator[str]:
    """The last line, then those before it that a wrapper's own remarks may follow.

    These begin at the margin with a letter and are in no fence: a list, a quotation or a listing is
    what the agent writes about.
    """
    lines = [line for line in output.splitlines() if line.strip()]
    fences = sum(line.lstrip().startswith("```") for line in lines)
    for number, line in enumerate(reversed(lines[-_CLOSING_LINES:])):
        fences -= line.lstrip().startswith("```")
        if number == 0 or (line[0].isalpha() and fences % 2 == 0):
            yield line.strip()


_CLOSING_LINES = 4


def _own_error(line: str) -> AgentFailure | None:
    is_one = len(line) <= _LONGEST_LINE and _API_ERROR.match(line) is not None
    return failure_in_text(line) if is_one else None


_API_ERROR = re.compile(r"(?:[^\w\s]{1,2} )?API Error\b", re.IGNORECASE)
"""How ``claude`` begins a message about the service, where it prints plain text."""


def process_failure(
    final: AgentResult,
    exit_event: AgentExited | None,
    stderr: str = "",
    *,
    has_result: bool,
) -> Failure | None:
    """Classify how an agent process failed; None for success or an intended stop.

    ``has_result`` means that the agent gave a report or a promise. Being stopped at a limit of the
    iteration is not the agent's failure.
    """
    if exit_event is None or exit_event.stopped or exit_event.overspent:
        return None
    final = with_stated_failure(final)
    known = _known_failure(final, exit_event, has_result=has_result)
    if known is not None:
        return known
    is_silent = not final.text.strip()
    if final.failed or (exit_event.exit_code != 0 and not has_result):
        return _unnamed_failure(final, stderr, is_silent=is_silent)
    if is_silent and not has_result:
        return Failure(kind=AgentFailure.NO_OUTPUT, text=NO_OUTPUT)
    return None


def _known_failure(
    final: AgentResult, exit_event: AgentExited, *, has_result: bool
) -> Failure | None:
    """A failure that the engine caused, or that the agent or the system names."""
    if exit_event.timed_out:
        return Failure(kind=AgentFailure.TIMED_OUT)
    if exit_event.idle:
        return Failure(kind=AgentFailure.IDLE)
    if final.limit is not None and (final.failed or not has_result):
        return Failure(kind=AgentFailure.LIMIT, text=final.why)
    if final.failure is not None and final.failure is not AgentFailure.CRASHED:
        return Failure(kind=final.failure, text=final.why)
    if exit_event.signal is not None or (final.failed and exit_event.exit_code in _BY_SIGNAL):
        return Failure(kind=AgentFailure.KILLED, text=final.why)
    return None


def _unnamed_failure(final: AgentResult, stderr: str, *, is_silent: bool) -> Failure:
    """A failure that nothing named: standard error may know a better kind than a crash."""
    if final.failure is AgentFailure.CRASHED and (turns := _line_of(_OUT_OF_TURNS, stderr)):
        return Failure(kind=AgentFailure.MAX_TURNS, text=turns)
    refused = _refusal_in(stderr) if is_silent and final.session_id is None else None
    if refused is not None:
        return refused
    is_own_word = final.failed and final.failure is None
    kind = AgentFailure.OTHER if is_own_word else AgentFailure.CRASHED
    return Failure(kind=kind, text=final.why or _last_line(stderr)[:_LONGEST_LINE])


NO_OUTPUT = "no output"

_BY_SIGNAL = frozenset({129, 130, 137, 143})
"""Exit codes by which programs and shells report death by a signal."""


def _refusal_in(stderr: str) -> Failure | None:
    """Classify the refusal of a program that printed nothing else, by its last lines."""
    for kind, shape in _REFUSALS:
        if line := _line_of(shape, stderr):
            return Failure(kind=kind, text=line)
    return None


def _last_line(output: str) -> str:
    return output.strip().rpartition("\n")[2].strip()


def _line_of(shape: re.Pattern[str], stderr: str) -> str:
    """The first of the last lines that matches; empty where none does."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    fitting = (line for line in lines[-_LAST_LINES:] if shape.search(line) is not None)
    return next(fitting, "")[:_LONGEST_LINE]


_OUT_OF_TURNS = re.compile(r"\breached max(?:imum)? (?:session )?turns\b", re.IGNORECASE)
"""The only message ``qwen`` gives in this case: its stream just ends."""

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
    *((kind, shape) for kind, shape in FAILURE_PATTERNS if kind is not AgentFailure.CONTEXT_FULL),
)
