"""Messages of the Agent Client Protocol, and the records of our client.

Agents are older or newer than any schema, and write ``null``, a number or an object where others
write nothing. So lines are parsed generically and each value is checked where it is used: one of
another type counts as missing.

Failures are classified by the fields of an error, never by its message. The protocol itself has one
that matters, a missing login. The adapters of ``claude`` and ``codex`` put the others into the
error's ``data``, each with its own names, and some agents put an HTTP status there.

Usage is normalised: the protocol's ``usage`` counts one turn and does not say whether input
includes cached tokens or output includes thoughts, but the total, a sum of the others, shows it.
Some agents give counts elsewhere, and the cost is that of the whole session.

Tool calls are assembled from updates: some agents begin with nothing but a title, some report a
call only when they ask for permission or when it has ended.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from ralph_ls.core.agent.decode.common.json_lines import decode
from ralph_ls.core.agent.decode.common.line_decoder import MAX_FAILURE_OUTPUT
from ralph_ls.core.agent.decode.common.tool_calls import (
    relative_path,
    summarise_arguments,
    to_one_line,
)
from ralph_ls.core.agent.failures import find_error_lines
from ralph_ls.protocol.run.messages import FileAction, TodoItem, UsageCounts
from ralph_ls.protocol.run.report import AgentFailure

AcpRecord = dict[str, Any]

OWN = "client"
"""The key of our client's records; its value is their kind."""


def read_line(line: bytes) -> AcpRecord | None:
    """Parse one line; None where it is not a record."""
    return decode(_RECORD, line) if line.strip() else None


def text_at(record: AcpRecord, *path: str) -> str:
    """The text at a path of keys; empty where there is none."""
    found = value_at(record, *path)
    return found if isinstance(found, str) else ""


def count_at(record: AcpRecord, *path: str) -> int | None:
    """The count at a path of keys; None where there is none."""
    found = value_at(record, *path)
    is_count = isinstance(found, int) and not isinstance(found, bool) and found >= 0
    return found if is_count else None


def record_at(record: AcpRecord, *path: str) -> AcpRecord:
    """The object at a path of keys; empty where there is none."""
    found = value_at(record, *path)
    return found if isinstance(found, dict) else {}


def rows_at(record: AcpRecord, *path: str) -> list[AcpRecord]:
    """The objects of the list at a path of keys."""
    found = value_at(record, *path)
    return [row for row in found if isinstance(row, dict)] if isinstance(found, list) else []


def value_at(record: AcpRecord, *path: str) -> Any:
    """The value at a path of keys."""
    found: Any = record
    for key in path:
        found = found.get(key) if isinstance(found, dict) else None
    return found


_RECORD = msgspec.json.Decoder(AcpRecord)


AUTH_REQUIRED = -32000


def failure_of_error(error: AcpRecord) -> AgentFailure | None:
    """Classify an error; None for an unknown one."""
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


def error_text(error: AcpRecord) -> str:
    """The message of an error for users."""
    message = text_at(error, "message")
    details = text_at(error, "data", "details") or text_at(error, "data", "message")
    if details and details not in message:
        return f"{message}: {details}" if message else details
    return message or "it answered with an error"


def stop_failure(reason: str) -> tuple[str, AgentFailure | None] | None:
    """Message and kind of failure for a stop reason; None for success."""
    if reason == "end_turn":
        return None
    return _STOPS.get(reason, (f"the turn ended with: {reason or 'no reason'}", None))


def _words(data: AcpRecord) -> Iterator[str]:
    yield text_at(data, "errorKind")
    info = value_at(data, "codexErrorInfo")
    if isinstance(info, str):
        yield info
    elif isinstance(info, dict):
        yield from info


def _statuses(data: AcpRecord) -> Iterator[int]:
    places = [data, record_at(data, "error"), *_records(record_at(data, "codexErrorInfo"))]
    for place in places:
        for key in ("status", "statusCode", "httpStatusCode", "code"):
            status = count_at(place, key)
            if status is not None and status in range(400, 600):
                yield status


def _records(record: AcpRecord) -> list[AcpRecord]:
    return [value for value in record.values() if isinstance(value, dict)]


_STOPS: dict[str, tuple[str, AgentFailure | None]] = {
    "max_tokens": ("reached the token limit", AgentFailure.CONTEXT_FULL),
    "max_turn_requests": ("reached the turn limit", AgentFailure.MAX_TURNS),
    "refusal": ("the model refused to continue", None),
    "cancelled": ("the turn was cancelled", None),
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
"""``errorKind`` of ``claude``'s adapter, ``codexErrorInfo`` of ``codex``'s."""

_SERVER_ERROR = 500
_STATUSES = {
    401: AgentFailure.NOT_LOGGED_IN,
    403: AgentFailure.NOT_LOGGED_IN,
    408: AgentFailure.OVERLOADED,
    413: AgentFailure.CONTEXT_FULL,
    429: AgentFailure.LIMIT,
}


class AcpUsageCounter:
    """Adds up the reported usage."""

    def __init__(self, earlier_cost_usd: float) -> None:
        """``earlier_cost_usd`` is what a resumed session had cost before."""
        self._earlier_cost = earlier_cost_usd
        self._calls: list[UsageCounts] = []
        self._turn: UsageCounts | None = None
        self._context: int | None = None
        self._window: int | None = None
        self.session_cost: float | None = None

    def take_update(self, update: AcpRecord) -> None:
        """Process a ``usage_update``: the context in use, and the cost of the session so far."""
        self._context = _or(count_at(update, "used"), self._context)
        self._window = count_at(update, "size") or self._window
        amount = value_at(update, "cost", "amount")
        if isinstance(amount, int | float) and text_at(update, "cost", "currency") == "USD":
            self.session_cost = float(amount)

    def take_call(self, usage: AcpRecord) -> bool:
        """Process the counts that some agents attach to a text; return whether there were any.

        They are valid until the answer brings the counts of the whole turn.
        """
        counts = _counts(usage)
        if counts is not None:
            self._calls.append(counts)
            self._calls = [_sum(self._calls)]
        return counts is not None

    def take_answer(self, answer: AcpRecord) -> None:
        """Process the answer to the prompt."""
        self._turn = _counts(record_at(answer, "usage"))
        if self._turn is None and not self._calls:
            update = record_at(answer, "_meta", "quota", "token_count")
            self._turn = _counts(
                {
                    "inputTokens": _or(count_at(update, "input_tokens"), update.get("inputTokens")),
                    "outputTokens": _or(
                        count_at(update, "output_tokens"), update.get("outputTokens")
                    ),
                }
            )

    def counts(self) -> UsageCounts | None:
        """The usage of this process; None where nothing is known."""
        known = self._turn or (self._calls[0] if self._calls else UsageCounts())
        found = UsageCounts(
            input_tokens=known.input_tokens,
            output_tokens=known.output_tokens,
            cached_tokens=known.cached_tokens,
            turns=known.turns,
            cost_usd=self._cost(),
            context_tokens=self._context,
            context_window=self._window,
        )
        return None if found == UsageCounts() else found

    def _cost(self) -> float | None:
        cost = self.session_cost
        if cost is None:
            return None
        # A lower cost than before means that the agent counts this process only.
        return cost - self._earlier_cost if cost >= self._earlier_cost else cost


def _counts(usage: AcpRecord) -> UsageCounts | None:
    """Normalise a ``Usage`` of the protocol: input without cached tokens, output with thoughts."""
    given, written = count_at(usage, "inputTokens"), count_at(usage, "outputTokens")
    if given is None or written is None:
        return None
    total = count_at(usage, "totalTokens")
    cached = count_at(usage, "cachedReadTokens")
    thought = count_at(usage, "thoughtTokens") or 0
    kept = count_at(usage, "cachedWriteTokens") or 0
    from_cache = (cached or 0) + kept
    if total in {given + written, given + written + thought} and cached and cached <= given:
        given -= cached
        from_cache = cached
    if thought and total == given + written + from_cache + thought:
        written += thought
    return UsageCounts(input_tokens=given, output_tokens=written, cached_tokens=cached)


def _sum(calls: list[UsageCounts]) -> UsageCounts:
    return UsageCounts(
        input_tokens=sum(one.input_tokens or 0 for one in calls),
        output_tokens=sum(one.output_tokens or 0 for one in calls),
        cached_tokens=sum(one.cached_tokens or 0 for one in calls),
        turns=sum(one.turns or 1 for one in calls),
    )


def _or(found: int | None, instead: int | None) -> int | None:
    return instead if found is None else found


DONE, FAILED = "completed", "failed"
"""Final states of a call; all others are intermediate."""


class AcpToolCall:
    """The known state of one tool call."""

    def __init__(self) -> None:
        self.is_emitted = False
        self._name = ""
        self._kind = ""
        self._title = ""
        self._arguments: AcpRecord = {}
        self._locations: list[str] = []
        self._changes: list[tuple[str, FileAction]] = []
        self._output = ""
        self._has_failed = False

    @property
    def name(self) -> str:
        return self._name or self._kind or "tool"

    @property
    def is_clear(self) -> bool:
        """Whether more is known than the start of the call."""
        return bool(self._arguments or self._locations or self._changes)

    def take(self, update: AcpRecord) -> str:
        """Apply an update; return its state, empty where it has none."""
        self._name = text_at(update, "name") or _own_name(update) or self._name
        self._kind = text_at(update, "kind") or self._kind
        self._title = text_at(update, "title") or self._title
        given = record_at(update, "rawInput")
        # The working directory says nothing about the command, and is known before it.
        self._arguments = {key: given[key] for key in given if key != "cwd"} or self._arguments
        if self._kind != "execute":
            paths = [text_at(row, "path") for row in rows_at(update, "locations")]
            self._locations = [path for path in paths if path] or self._locations
        content = rows_at(update, "content")
        diffs = [row for row in content if row.get("type") == "diff" and text_at(row, "path")]
        if diffs:
            self._changes = [(text_at(row, "path"), _action(row)) for row in diffs]
        self._take_output(update, content)
        return text_at(update, "status")

    def summary(self, folder: str) -> str:
        """What the tool is used on, in one line."""
        paths = self._locations or [path for path, _ in self._changes]
        if paths and "command" not in self._arguments:
            return to_one_line(
                ", ".join(relative_path(path, folder) for path in dict.fromkeys(paths))
            )
        return summarise_arguments(self._arguments, folder) or to_one_line(self._title)

    def has_failed(self, state: str) -> bool:
        return state == FAILED or self._has_failed

    def error_lines(self) -> tuple[str, ...]:
        """The error lines of its output, else its first line."""
        found = tuple(find_error_lines(self._output[-MAX_FAILURE_OUTPUT:]))
        lines = (line.strip() for line in self._output.splitlines())
        return found or tuple([line for line in lines if line.strip("`")][:1])

    def files(self, folder: str) -> list[tuple[str, FileAction]]:
        """The files of a successful call, relative to the work tree if they are inside."""
        action = _ACTIONS.get(self._kind)
        found = self._changes if self._kind != "read" else []
        if not found and action is not None:
            found = [(path, action) for path in self._locations]
        return [(relative_path(path, folder), action) for path, action in dict.fromkeys(found)]

    def _take_output(self, update: AcpRecord, content: list[AcpRecord]) -> None:
        texts = [text_at(row, "content", "text") for row in content]
        whole = "\n".join(text for text in texts if text) or _raw_output(update)
        if whole:
            # Agents repeat the whole output in each update.
            self._output = whole[-MAX_FAILURE_OUTPUT:]
        more = text_at(update, "_meta", "terminal_output_delta", "data")
        if more:
            self._output = (self._output + more)[-MAX_FAILURE_OUTPUT:]
        codes = (
            value_at(update, "_meta", "terminal_exit", "exit_code"),
            value_at(update, "rawOutput", "exitCode"),
            value_at(update, "rawOutput", "exit_code"),
            value_at(update, "rawOutput", "metadata", "exit"),
        )
        if any(isinstance(code, int) for code in codes):
            self._has_failed = any(isinstance(code, int) and code != 0 for code in codes)


def parse_todos(update: AcpRecord) -> tuple[TodoItem, ...]:
    """The agent's to-do list."""
    return tuple(
        TodoItem(text=text, state=_STATES.get(text_at(row, "status"), "pending"))
        for row in rows_at(update, "entries")
        if (text := text_at(row, "content"))
    )


def _own_name(update: AcpRecord) -> str:
    """The tool's own name, where an agent adds it to the fields of the protocol."""
    return text_at(update, "_meta", "claudeCode", "toolName") or text_at(
        update, "_meta", "toolName"
    )


def _action(diff: AcpRecord) -> FileAction:
    known = _ACTIONS_OF_DIFFS.get(text_at(diff, "_meta", "kind"))
    if known is not None:
        return known
    if diff.get("newText") is None:
        return FileAction.DELETED
    return FileAction.CHANGED if diff.get("oldText") else FileAction.CREATED


def _raw_output(update: AcpRecord) -> str:
    places: tuple[tuple[str, ...], ...] = (
        ("rawOutput",),
        ("rawOutput", "output"),
        ("rawOutput", "message"),
        ("rawOutput", "error"),
    )
    return next((text for place in places if (text := text_at(update, *place))), "")


_ACTIONS = {
    "read": FileAction.READ,
    "edit": FileAction.CHANGED,
    "move": FileAction.CHANGED,
    "delete": FileAction.DELETED,
}
_ACTIONS_OF_DIFFS = {
    "add": FileAction.CREATED,
    "update": FileAction.CHANGED,
    "delete": FileAction.DELETED,
}
_STATES: Mapping[str, Literal["pending", "inProgress", "done"]] = {
    "in_progress": "inProgress",
    "completed": "done",
}
