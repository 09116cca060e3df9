"""Parser of an agent's output: report, promises, errors, phrases, question and usage.

See docs/rules.md#signals. The engine and ``ralph read`` use the same parser, so both read the same
text in the same order. Knows neither how the output was captured nor what follows from it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ralph_ls.core.agent.decode.dialects import decoder_for
from ralph_ls.core.agent.failures import (
    find_error_lines,
    normalise_error,
    with_failure_in_plain_text,
    with_stated_failure,
)
from ralph_ls.core.agent.result import AccountLimit, AgentResult
from ralph_ls.core.agent.signals.phrases import PHRASE_FILTER, find_clarification, find_completion
from ralph_ls.core.agent.signals.promises import (
    find_promise_tags,
    find_promises,
    first_promise_by_priority,
)
from ralph_ls.core.agent.signals.prose import mask_non_prose, to_filtered_prose
from ralph_ls.core.agent.signals.question import (
    MAX_QUESTION_CHARACTERS,
    find_question,
    last_paragraph,
    shorten,
)
from ralph_ls.core.agent.signals.status_block import choose_report, find_blocks
from ralph_ls.core.agent.text import clean_text, lower, merge_spans
from ralph_ls.core.markdown_fences import fence_spans
from ralph_ls.protocol.base import to_wire_time
from ralph_ls.protocol.config.agent import JsonLinesConfig
from ralph_ls.protocol.config.agent_catalog import Dialect
from ralph_ls.protocol.run.report import (
    AgentFailure,
    Claims,
    Promise,
    PromiseKind,
    Report,
    ReportKind,
    ReportProblem,
    Usage,
    flag_of,
)

MAX_SUMMARY_CHARACTERS = 300
"""Characters of a WORK_SUMMARY among the claims of an iteration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedOutput:
    """The signals of one iteration's output; each of them is a claim."""

    text: str
    """The final text without escape codes, newlines as ``\n``. For plain text, the whole output."""
    report: Report | None
    promises: tuple[Promise, ...]
    """All that count, in text order; the loop checks them by priority.

    See docs/rules.md#promises.
    """
    errors: tuple[str, ...]
    """Error lines as written, trimmed: those of the text, then those of stderr."""
    error_patterns: tuple[str, ...]
    """The normalised errors, each once, in order; used to compare two iterations."""
    completion: tuple[str, ...]
    """Names of the distinct completion phrases outside blocks."""
    clarification: tuple[str, ...]
    confidence: int
    """+50 for a report, +10 for each completion phrase (docs/rules.md#completion-words)."""
    question: str = ""
    """A question in plain words at the end, where no promise or report asks one."""
    closing_words: str = ""
    """The last paragraph outside signals and code, at most ``MAX_CLOSING_CHARACTERS``."""
    usage: Usage | None = None
    """This field and those below are known from structured output only."""
    session_id: str | None = None
    model: str | None = None
    failed: bool = False
    why: str = ""
    """How the agent failed, in words; empty for success."""
    failure: AgentFailure | None = None
    denied_tools: tuple[str, ...] | None = None
    limit: AccountLimit | None = None

    @property
    def claims(self) -> Claims | None:
        """The claims that decide nothing; None where there are none."""
        has_block = self.report is not None
        claims = Claims(
            has_status_block=has_block,
            summary="" if self.report is None else _summary_of(self.report),
            pr_ready=None if self.report is None else flag_of(self.report.fields.get(_READY, "")),
            clarification_words=self.clarification,
            confidence=self.confidence,
        )
        return claims if has_block or claims.confidence or claims.clarification_words else None


def parse_output(
    stdout: bytes,
    stderr: str = "",
    *,
    dialect: Dialect = Dialect.TEXT,
    mapping: JsonLinesConfig | None = None,
    preferred: ReportKind = ReportKind.RALPH_STATUS,
    complete_word: str = "COMPLETE",
) -> ParsedOutput:
    """Parse the complete output of an agent of ``dialect``; never fails."""
    final = decode_output(stdout, dialect=dialect, mapping=mapping)
    return parse_result(final, stderr, preferred=preferred, complete_word=complete_word)


def decode_output(
    stdout: bytes, *, dialect: Dialect, mapping: JsonLinesConfig | None = None
) -> AgentResult:
    """Decode the complete output of an agent; ``mapping`` is that of ``Dialect.JSONL``.

    A failure in plain text is recognised where it is all output, since the exit is not known.
    """
    decoder = decoder_for(dialect, mapping=mapping)
    for start in range(0, len(stdout), _PIECE):
        decoder.feed(stdout[start : start + _PIECE])
    decoder.finish()
    final = decoder.final()
    is_text = dialect is Dialect.TEXT
    return with_failure_in_plain_text(final, has_failed=False) if is_text else final


def parse_result(
    final: AgentResult,
    stderr: str = "",
    *,
    preferred: ReportKind = ReportKind.RALPH_STATUS,
    complete_word: str = "COMPLETE",
) -> ParsedOutput:
    """Parse a decoded stream: signals from its final text, errors also from marked events.

    A report that occurs only in an earlier text of the agent is used with the problem
    ``report-not-final``; a promise there is ignored (docs/rules.md#signals). Where the agent
    failed, its earlier texts are not used.
    """
    final = with_stated_failure(final)
    reading = parse_text(final.text, stderr, preferred=preferred, complete_word=complete_word)
    report = reading.report
    if report is None and final.earlier_block and not final.failed:
        report = choose_report(find_blocks(clean_text(final.earlier_block)), preferred=preferred)
        if report is not None:
            problems = (*report.problems, _NOT_FINAL)
            report = report.model_copy(update={"problems": problems})
    errors = tuple(dict.fromkeys((*final.errors, *reading.errors)))
    question = reading.question or shorten(clean_text(final.question), MAX_QUESTION_CHARACTERS)
    return replace(
        reading,
        report=report,
        question="" if _asks_by_signal(report, reading.promises) else question,
        errors=errors,
        error_patterns=tuple(dict.fromkeys(map(normalise_error, errors))),
        confidence=_confidence(report, reading.completion),
        usage=final.usage,
        session_id=final.session_id,
        model=final.model,
        failed=final.failed,
        why=final.why,
        failure=final.failure,
        denied_tools=final.denied_tools,
        limit=final.limit,
    )


def parse_text(
    stdout: str,
    stderr: str = "",
    *,
    preferred: ReportKind = ReportKind.RALPH_STATUS,
    complete_word: str = "COMPLETE",
) -> ParsedOutput:
    """Parse the output of an agent that prints plain text; never fails.

    ``preferred`` is the profile's block format, ``complete_word`` its ``promise.complete``
    (docs/rules.md#promises). Report, promises and words are read from stdout only, errors from both
    (docs/rules.md#signals).
    """
    text = clean_text(stdout)
    lowered = lower(text)
    fences = fence_spans(text)
    blocks = find_blocks(text, lowered)
    tags = find_promise_tags(text)
    report = choose_report(blocks, preferred=preferred)
    errors = find_error_lines(text, lowered) + find_error_lines(clean_text(stderr))
    promises = find_promises(text, tags, fences, complete_word=complete_word)
    parting = (*fences, *(block.span for block in blocks))
    apart = mask_non_prose(text, lowered, parting, tags)
    holes = merge_spans((*parting, *(tag.span for tag in tags)))
    prose = to_filtered_prose(apart.text, apart.lowered, apart.holes, PHRASE_FILTER)
    completion = find_completion(prose)
    return ParsedOutput(
        text=text,
        report=report,
        promises=promises,
        errors=errors,
        error_patterns=tuple(dict.fromkeys(map(normalise_error, errors))),
        completion=completion,
        clarification=find_clarification(prose),
        confidence=_confidence(report, completion),
        question="" if _asks_by_signal(report, promises) else find_question(text, holes),
        closing_words=last_paragraph(text, holes).strip()[:MAX_CLOSING_CHARACTERS],
    )


def with_report(reading: ParsedOutput, report: Report) -> ParsedOutput:
    """The same output with a report that the agent made elsewhere than in its text."""
    return replace(reading, report=report, confidence=_confidence(report, reading.completion))


def to_json(reading: ParsedOutput) -> dict[str, object]:
    """The parsed output as ``ralph read --json`` prints it (docs/rules.md#command-line).

    Of several promises the one with the highest priority is shown. Fields known from structured
    output only (limit, usage, session, failure, denied tools) are null or false for plain text.
    """
    report, promise = reading.report, first_promise_by_priority(reading.promises)
    usage, limit = reading.usage, reading.limit
    return {
        "text": reading.text,
        "report": None if report is None else report.model_dump(mode="json", by_alias=True),
        "promise": None if promise is None else promise.model_dump(mode="json", by_alias=True),
        "errors": list(reading.errors),
        "words": {
            "completion": list(reading.completion),
            "clarification": list(reading.clarification),
        },
        "confidence": reading.confidence,
        "claims": None
        if reading.claims is None
        else reading.claims.model_dump(mode="json", by_alias=True),
        "question": reading.question or None,
        "limit": None if limit is None else _limit_to_json(limit),
        "usage": None
        if usage is None
        else usage.model_dump(mode="json", by_alias=True, exclude={"estimated"}),
        "sessionId": reading.session_id,
        "failed": reading.failed,
        "failure": reading.failure,
        "why": reading.why or None,
        "deniedTools": None if reading.denied_tools is None else list(reading.denied_tools),
    }


def _limit_to_json(limit: AccountLimit) -> dict[str, object]:
    """``resetsAt`` is an instant, ``resetsIn`` seconds, ``resetsLocally`` a time on the wall."""
    at, local = limit.resets_at, limit.resets_locally
    return {
        "resetsAt": None if at is None else to_wire_time(at),
        "resetsIn": limit.resets_in,
        "resetsLocally": None if local is None else str(local),
    }


def _asks_by_signal(report: Report | None, promises: tuple[Promise, ...]) -> bool:
    if any(promise.kind is PromiseKind.DECIDE for promise in promises):
        return True
    return report is not None and (
        report.clarification_needed or report.status == "NEEDS_CLARIFICATION"
    )


def _summary_of(report: Report) -> str:
    return shorten(clean_text(report.work_summary), MAX_SUMMARY_CHARACTERS)


def _confidence(report: Report | None, completion: tuple[str, ...]) -> int:
    return _CONFIDENCE_OF_REPORT * (report is not None) + _CONFIDENCE_OF_WORD * len(completion)


_PIECE = 1 << 20
MAX_CLOSING_CHARACTERS = 1_000
_READY = "PR_READY"
_CONFIDENCE_OF_REPORT = 50
_CONFIDENCE_OF_WORD = 10

_NOT_FINAL = ReportProblem(
    code="report-not-final",
    message="the report is in an earlier text; the agent's last one has none",
)
