"""Answer status: whether the answer in a decide file has been taken, and from whom.

Saving an answer below the heading answers the question, in any editor (docs/rules.md#questions).
As the question's own diagnostics disappear with the answer, these views are the only feedback.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ralph_ls.core.loop.decide_file import parse_decide
from ralph_ls.core.views.document.lenses import Lens
from ralph_ls.core.views.model.actions import run_actions
from ralph_ls.core.views.model.control_chars import escape_control_chars
from ralph_ls.core.views.model.diagnostic import Diagnostic, Severity
from ralph_ls.core.views.model.document_context import DocumentContext, FileKind, document_positions
from ralph_ls.core.views.model.words import one_line
from ralph_ls.protocol.lsp.panel import Verb
from ralph_ls.protocol.run.state import Question

MAX_ANSWER_CHARS = 120
"""Shown characters of an answer."""


class AnswerCode(StrEnum):
    """Codes of the diagnostics of an answer."""

    TAKEN = "question-answered"
    PENDING = "answer-pending"
    """It is written, and the run has not taken it yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _AnswerStatus:
    code: AnswerCode
    title: str
    """Title of the lens."""
    message: str
    resumes: bool = False
    """Whether resuming the run would use the answer."""


def answer_diagnostics(context: DocumentContext) -> tuple[Diagnostic, ...]:
    """The diagnostic of the answer in a decide file, if there is one. Total."""
    status, span = _answer_status(context), document_positions(context).top
    if status is None:
        return ()
    shown = Diagnostic(
        line=span.line,
        start=span.start,
        end=span.end,
        severity=Severity.INFORMATION,
        code=str(status.code),
        message=escape_control_chars(status.message),
    )
    return (shown,)


def answer_lenses(context: DocumentContext) -> tuple[Lens, ...]:
    """The same as a lens, with one to resume the run where no engine runs. Total."""
    status = _answer_status(context)
    if status is None:
        return ()
    found = [Lens(line=0, title=status.title, command=Verb.NONE)]
    if status.resumes:
        title = "Continue the run with this answer"
        found.extend(
            Lens(line=0, title=title, command=action.verb, arguments=action.arguments)
            for action in run_actions(context)
            if action.verb is Verb.RESUME
        )
    return tuple(found)


def _answer_status(context: DocumentContext) -> _AnswerStatus | None:
    if context.file is not FileKind.DECIDE:
        return None
    _, written = parse_decide(context.text)
    asked = None if context.state is None else context.state.question
    if asked is not None and asked.answer is not None:
        return _taken(context, asked, asked.answer)
    return None if written is None else _pending(context, written)


def _taken(context: DocumentContext, asked: Question, answer: str) -> _AnswerStatus:
    who = one_line(asked.answered_by or "somebody", limit=MAX_ANSWER_CHARS)
    in_file = context.state is not None and asked.answered_by == context.state.config.paths.decide
    how = f"answered in {who}" if in_file else f"answered by {who}"
    when = (
        "the agent gets it in the next iteration"
        if context.live
        else "the agent gets it when the run continues"
    )
    message = f"{how}: {one_line(answer, limit=MAX_ANSWER_CHARS)}; {when}"
    return _AnswerStatus(
        code=AnswerCode.TAKEN, title=how, message=message, resumes=not context.live
    )


def _pending(context: DocumentContext, written: str) -> _AnswerStatus:
    saved = context.halt is not None and context.halt.answer == written
    if not saved:
        title, message = "save to answer", "save this file to send the answer"
    elif context.live:
        title, message = "answer saved", "answer saved; the loop picks it up in a moment"
    else:
        title, message = "answer saved", "answer saved; the agent gets it when a run continues"
    resumes = saved and not context.live
    return _AnswerStatus(code=AnswerCode.PENDING, title=title, message=message, resumes=resumes)
