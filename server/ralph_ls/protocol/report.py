"""What an agent says about its own iteration: the parsed status block and the promise.

A report is a claim. Evidence, what the engine itself saw, lives in ``protocol.evidence``.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from ralph_ls.protocol.base import WireModel


class ReportKind(StrEnum):
    """Which of the two block formats the report came in."""

    RALPH_STATUS = "ralphStatus"
    """I, Key Concepts: ``---RALPH_STATUS---``."""
    CLARITY_STATUS = "clarityStatus"
    """A, Pattern 1: ``---CLARITY_STATUS---``."""


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
    unknown ones included. The properties give typed readings with the defaults of A, Component 2
    (``IN_PROGRESS``, false, 0); a value off the list is kept and named in ``problems``.
    """

    kind: ReportKind
    fields: dict[str, str] = Field(default_factory=dict)
    problems: tuple[ReportProblem, ...] = ()

    @property
    def status(self) -> str:
        """STATUS in upper case; missing or empty reads as ``IN_PROGRESS`` (A17)."""
        return self._text("STATUS").upper() or "IN_PROGRESS"

    @property
    def exit_signal(self) -> bool:
        return self._flag("EXIT_SIGNAL")

    @property
    def files_modified(self) -> int:
        return self._number("FILES_MODIFIED")

    @property
    def tasks_completed(self) -> int:
        return self._number("TASKS_COMPLETED_THIS_LOOP")

    @property
    def tests_status(self) -> str:
        """TESTS_STATUS in upper case, ``NOT_RUN`` where it is missing."""
        return self._text("TESTS_STATUS").upper() or "NOT_RUN"

    @property
    def work_type(self) -> str:
        return self._text("WORK_TYPE").upper()

    @property
    def recommendation(self) -> str:
        return self._text("RECOMMENDATION")

    @property
    def pr_ready(self) -> bool:
        return self._flag("PR_READY")

    @property
    def clarification_needed(self) -> bool:
        return self._flag("CLARIFICATION_NEEDED")

    @property
    def clarification_questions(self) -> str:
        return self._text("CLARIFICATION_QUESTIONS")

    @property
    def work_summary(self) -> str:
        return self._text("WORK_SUMMARY")

    def _text(self, key: str) -> str:
        return self.fields.get(key, "").strip()

    def _flag(self, key: str) -> bool:
        return self._text(key).lower() in {"true", "yes"}

    def _number(self, key: str) -> int:
        digits = ""
        for character in self._text(key):
            if character not in "0123456789":
                break
            digits += character
        return int(digits[:9]) if digits else 0


class PromiseKind(StrEnum):
    """The three promises of R §1."""

    COMPLETE = "complete"
    BLOCKED = "blocked"
    DECIDE = "decide"


class Promise(WireModel):
    """One ``<promise>…</promise>`` line; ``text`` is the reason or the question, else empty."""

    kind: PromiseKind
    text: str = ""


class Usage(WireModel):
    """What the agent says it consumed in one iteration; every count may be unknown."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    turns: int | None = None
    context_tokens: int | None = None
    context_window: int | None = None
