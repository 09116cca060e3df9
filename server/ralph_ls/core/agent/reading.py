"""What an agent's printed output says, all of it at once (SPEC §5).

It exists so that every caller, engine and ``ralph read`` alike, reads in the same order and from
the same text. It must never know how the output was captured nor what is made of the reading.
"""

from __future__ import annotations

from dataclasses import dataclass

from ralph_ls.core.agent.errors import find_error_lines, normalise
from ralph_ls.core.agent.phrases import find_clarification, find_completion
from ralph_ls.core.agent.promises import (
    find_promise_tags,
    find_promises,
    promise_checked_first,
)
from ralph_ls.core.agent.prose import to_prose
from ralph_ls.core.agent.status_block import choose_report, find_blocks
from ralph_ls.core.agent.text import clean, fence_spans
from ralph_ls.protocol.report import Promise, Report, ReportKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one iteration's output says; a claim in every part of it."""

    text: str
    """The final text: escape codes gone, newlines ``\\n``. For plain text, what was printed."""
    report: Report | None
    promises: tuple[Promise, ...]
    """Every one that counts, in text order; the loop checks them in R's order (R4)."""
    errors: tuple[str, ...]
    """Error lines as written, trimmed: those of the text, then those of stderr."""
    error_patterns: tuple[str, ...]
    """The errors normalised, each once, in order: what two iterations are compared by."""
    completion: tuple[str, ...]
    """Names of the distinct completion phrases outside blocks."""
    clarification: tuple[str, ...]
    confidence: int
    """+50 for a report, +10 for each completion phrase (A15)."""


def read_text(
    stdout: str,
    stderr: str = "",
    *,
    preferred: ReportKind = ReportKind.RALPH_STATUS,
    complete_word: str = "COMPLETE",
) -> Reading:
    """Read the output of an agent that prints plain text; any text gives a reading.

    ``preferred`` is the profile's own block, ``complete_word`` its ``promise.complete`` (I11).
    Report, promises and words come from stdout alone, errors from both (SPEC §5).
    """
    text = clean(stdout)
    fences = fence_spans(text)
    blocks = find_blocks(text)
    tags = find_promise_tags(text)
    report = choose_report(blocks, preferred=preferred)
    errors = find_error_lines(text) + find_error_lines(clean(stderr))
    prose = to_prose(
        text, (*fences, *(block.span for block in blocks), *(tag.span for tag in tags))
    )
    completion = find_completion(prose)
    return Reading(
        text=text,
        report=report,
        promises=find_promises(text, tags, fences, complete_word=complete_word),
        errors=errors,
        error_patterns=tuple(dict.fromkeys(map(normalise, errors))),
        completion=completion,
        clarification=find_clarification(prose),
        confidence=_CONFIDENCE_OF_REPORT * (report is not None)
        + _CONFIDENCE_OF_WORD * len(completion),
    )


def to_json(reading: Reading) -> dict[str, object]:
    """Give the reading in the shape of ``ralph read --json`` (SPEC §12).

    Of several promises the one that is checked first is shown. What only structured output can
    tell (limit, usage, session, failure) is null or false for plain text.
    """
    report, promise = reading.report, promise_checked_first(reading.promises)
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
        "limit": None,
        "usage": None,
        "sessionId": None,
        "failed": False,
    }


_CONFIDENCE_OF_REPORT = 50
_CONFIDENCE_OF_WORD = 10
