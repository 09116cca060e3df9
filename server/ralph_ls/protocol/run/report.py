"""What an agent says about its own iteration: the parsed status block and the promise.

A report is a claim. Evidence, what the engine itself saw, lives in ``protocol.evidence``.
"""

from __future__ import annotations

import functools
import re
from enum import StrEnum

from pydantic import Field

from ralph_ls.protocol.base import StrictWireModel, WireModel


class ReportKind(StrEnum):
    """Which of the two block formats the report came in."""

    RALPH_STATUS = "ralphStatus"
    """``---RALPH_STATUS---``."""
    CLARITY_STATUS = "clarityStatus"
    """``---CLARITY_STATUS---``."""


class ReportProblem(WireModel):
    """One thing that is not as the format wants it; the report is used all the same."""

    code: str
    """A stable kebab-case name, such as ``unknown-value``."""
    message: str
    field: str | None = None
    """The block's own upper-case key, where one is concerned."""


class Report(WireModel):
    """A parsed status block: the raw fields, and what the loop reads out of them.

    ``fields`` keeps every key of the block, upper case, with its text as the agent wrote it,
    unknown ones included. The properties give typed readings with defaults
    (``IN_PROGRESS``, false, 0); a value off the list is kept, named in ``problems`` and read as
    the default. No field is read out of another: COMPLETE with EXIT_SIGNAL false, and IN_PROGRESS
    with EXIT_SIGNAL true, stay as the agent wrote them.
    """

    kind: ReportKind
    fields: dict[str, str] = Field(default_factory=dict)
    problems: tuple[ReportProblem, ...] = ()

    @property
    def status(self) -> str:
        """One of ``STATUSES``; missing, empty or off the list reads as ``IN_PROGRESS``."""
        return word_of(self._text("STATUS"), STATUSES) or "IN_PROGRESS"

    @property
    def exit_signal(self) -> bool:
        return flag_of(self._text("EXIT_SIGNAL")) is True

    @property
    def files_modified(self) -> int:
        return number_of(self._text("FILES_MODIFIED"))

    @property
    def tasks_completed(self) -> int:
        return number_of(self._text("TASKS_COMPLETED_THIS_LOOP"))

    @property
    def tests_status(self) -> str:
        """One of ``TESTS_STATUSES``; missing, empty or off the list reads as ``NOT_RUN``."""
        return word_of(self._text("TESTS_STATUS"), TESTS_STATUSES) or "NOT_RUN"

    @property
    def work_type(self) -> str:
        """One of ``WORK_TYPES``; off the list it is what the agent wrote, in upper case."""
        written = self._text("WORK_TYPE")
        return word_of(written, WORK_TYPES) or written.upper()

    @property
    def recommendation(self) -> str:
        return self._text("RECOMMENDATION")

    @property
    def pr_ready(self) -> bool:
        return flag_of(self._text("PR_READY")) is True

    @property
    def clarification_needed(self) -> bool:
        """Whether the agent asks; a value that cannot be read asks too, so no question is lost."""
        written = self._text("CLARIFICATION_NEEDED")
        return bool(written) and flag_of(written) is not False

    @property
    def clarification_questions(self) -> str:
        return self._text("CLARIFICATION_QUESTIONS")

    @property
    def work_summary(self) -> str:
        return self._text("WORK_SUMMARY")

    def _text(self, key: str) -> str:
        return self.fields.get(key, "").strip()


BAD_VALUE = "bad-value"
"""The code of a problem: a flag or a number cannot be read."""
FLAGS = ("EXIT_SIGNAL", "PR_READY", "CLARIFICATION_NEEDED")
STATUSES = ("IN_PROGRESS", "COMPLETE", "BLOCKED", "NEEDS_CLARIFICATION")
"""STATUS of both formats."""
TESTS_STATUSES = ("PASSING", "FAILING", "NOT_RUN")
WORK_TYPES = ("IMPLEMENTATION", "TESTING", "DOCUMENTATION", "REFACTORING")


def word_of(written: str, known: tuple[str, ...]) -> str | None:
    """The known word that a value begins with, such as FAILING in ``failing - 2 of 9``; or None.

    No letter may follow it, and only pictures and marks go before it. The parts of a word may
    be separated: ``In progress``, ``not-run``.
    """
    found = _any_of(known).match(_DECORATION.sub("", written, count=1).upper())
    return None if found is None or found.lastindex is None else known[found.lastindex - 1]


@functools.cache
def _any_of(known: tuple[str, ...]) -> re.Pattern[str]:
    """One group for each known word, in their order."""
    return re.compile("|".join(f"({word.replace('_', '[ _-]')}){_WORD_END}" for word in known))


def flag_of(written: str) -> bool | None:
    """The value of a flag: ``true`` or ``false`` in any case, marks and a full stop aside.

    Anything else is None, ``yes`` and ``true, once merged`` as well: a flag can end a run, so it
    is never guessed.
    """
    match = _FLAG.fullmatch(written)
    return None if match is None else match[1].lower() == "true"


def number_of(written: str) -> int:
    """The whole number that a value begins with, at most ``LARGEST_NUMBER``; 0 where it does not.

    ``3 files`` and ``~3`` are 3, ``12/15`` is 12; ``three`` and ``-1`` are 0.
    """
    match = _NUMBER.match(written)
    if match is None:
        return 0
    digits = match[1].lstrip("0")
    return LARGEST_NUMBER if len(digits) > len(str(LARGEST_NUMBER)) else int(digits or "0")


LARGEST_NUMBER = 999_999_999

_WORD_END = r"_*+(?!\w)"
_BEFORE = r"(?:[\s*_`\"'<(\[{]|[^\w\x00-\x7f])*+"
"""What an agent may put before a value: blanks, marks, quotes, brackets, ticks and pictures."""
_AFTER = r"(?:[\s*_`\"'>)\]}!]|[^\w\x00-\x7f\u2013\u2014])*+"
_DECORATION = re.compile(_BEFORE)
_FLAG = re.compile(rf"{_BEFORE}(true|false){_WORD_END}{_AFTER}[.,;]?{_AFTER}", re.IGNORECASE)
_NUMBER = re.compile(r"[\s*_`\"'<(\[{]*+[~\u2248]?+\s*+([0-9]++)")


class Claims(WireModel):
    """Claims of an agent about one iteration: shown beside the evidence, never used as such."""

    has_status_block: bool = False
    summary: str = ""
    """WORK_SUMMARY of its status block on one line, at most 300 characters."""
    pr_ready: bool | None = None
    """PR_READY of its status block; None where it has no such field, or no readable one."""
    clarification_words: tuple[str, ...] = ()
    """Names of the clarification phrases in its final text."""
    confidence: int = 0
    """50 for a status block and 10 for each completion phrase."""


class PromiseKind(StrEnum):
    """The three promises."""

    COMPLETE = "complete"
    BLOCKED = "blocked"
    DECIDE = "decide"


class Promise(WireModel):
    """One ``<promise>…</promise>`` line; ``text`` is the reason or the question, else empty."""

    kind: PromiseKind
    text: str = ""


class JudgeVerdict(StrEnum):
    """What a judge finds of an iteration's work."""

    PASSED = "pass"
    CHANGES_REQUESTED = "changesRequested"
    CANNOT_TELL = "cannotTell"
    """It did not decide, or there is no verdict that counts: ``reason`` says why."""


class RequestedChange(WireModel):
    """One thing that a judge wants changed."""

    file: str = ""
    """Relative to the work tree; empty where it names none."""
    reason: str


class JudgeReport(StrictWireModel):
    """The verdict as a judge gives it, in its last block or by a tool."""

    token: str
    """That of its prompt: a block that was quoted from a file has another one."""
    verdict: JudgeVerdict
    reason: str = ""
    changes: tuple[RequestedChange, ...] = ()


class Usage(WireModel):
    """What the agent says it consumed in one iteration; every count may be unknown."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    turns: int | None = None
    context_tokens: int | None = None
    context_window: int | None = None
    estimated: bool | None = None
    """True: the cost was worked out from a table of prices; None: it is the agent's own word."""


class SessionSeen(WireModel):
    """The session that an agent says it worked in."""

    id: str
    cost_usd: float | None = None
    """What the whole session cost so far, with the iterations before this one."""
    usage: Usage | None = None
    """What the whole session used so far, where that is how its agent counts."""


class AgentFailure(StrEnum):
    """Why an agent failed, as its own structured output, its exit or the engine reports it."""

    NOT_LOGGED_IN = "notLoggedIn"
    """No account, or a rejected key: only the user can help."""
    LIMIT = "limit"
    """The account is at its limit, which is lifted at some time."""
    OVERLOADED = "overloaded"
    """The model's service is busy or out of order for the moment."""
    UNREACHABLE = "unreachable"
    """No connection to the model's service: refused, lost, or its address is unknown."""
    CONTEXT_FULL = "contextFull"
    """The context window had no room left."""
    MAX_TURNS = "maxTurns"
    """It reached its own limit of turns."""
    BUDGET = "budget"
    """It reached its own limit of cost."""
    REFUSED_AS_ROOT = "refusedAsRoot"
    """It does not work for root without asking."""
    WRONG_CALL = "wrongCall"
    """It does not know a flag, a model or a setting that it was given."""
    CRASHED = "crashed"
    """It ended with a failure, or in the middle of its stream."""
    NO_OUTPUT = "noOutput"
    """It ended well and printed nothing; what it changed counts."""
    KILLED = "killed"
    """Somebody else ended it with a signal."""
    IDLE = "idle"
    """It printed nothing for too long."""
    TIMED_OUT = "timedOut"
    """Its time was up."""
    OTHER = "other"
    """It says in its own words that it failed."""
