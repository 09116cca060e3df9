"""Hover: a task in full, and the status summary on the first line.

The text is Markdown, and nearly all of it was written by others, so it is escaped: nothing of it
becomes a link, an image or a heading.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ralph_ls.core.plan.model import Task
from ralph_ls.core.plurals import count_of
from ralph_ls.core.views.model.document_context import (
    DocumentContext,
    DocumentPositions,
    document_positions,
    open_blocker,
    open_question,
)
from ralph_ls.core.views.model.history import NO_STATUS_BLOCK
from ralph_ls.core.views.model.tasks import (
    SKIPPED_WORDS,
    after_attempts,
    attempt_words,
    failed_attempts_words,
    is_skipped,
    set_aside,
    task_reviews,
)
from ralph_ls.core.views.model.words import SHORT_HASH, one_line, recent_words
from ralph_ls.core.views.panel.panel import panel_answers
from ralph_ls.core.views.text.receipts import receipt_words
from ralph_ls.protocol.run.values import Phase
from ralph_ls.protocol.task_words import TaskState

MAX_HOVER_CHARS = 300
"""Shown characters of an answer or a reason."""

MAX_CRITERIA = 10

STATE_WORDS = {
    TaskState.TODO: "open",
    TaskState.IN_PROGRESS: "in progress",
    TaskState.DONE: "done",
    TaskState.BLOCKED: "blocked",
    TaskState.SKIPPED: "skipped",
}

NO_RUN = "No loop has run here yet. Start one with `ralph run`."


def hover(context: DocumentContext, line: int) -> str | None:
    """Markdown for a line (from 0); None for a line without a hover. Total."""
    parts = [_status(context)] if line == 0 else []
    task = context.plan.at_line(line)
    if task is not None:
        parts.append("\n".join(_task(context, document_positions(context), task)))
    return "\n\n---\n\n".join(parts) or None


def _status(context: DocumentContext) -> str:
    if context.state is None:
        return NO_RUN
    answers = [(one.heading, one.text) for one in panel_answers(context)]
    if context.state.history:
        answers.append(("Recently", "; ".join(recent_words(context.state.history))))
    return "\n".join(f"- **{heading}**: {_plain(text)}" for heading, text in answers)


def _task(context: DocumentContext, at: DocumentPositions, task: Task) -> Iterator[str]:
    yield f"**{_plain(task.title)}**"
    yield ""
    yield f"- State: {', '.join(_state_words(context, at, task))}"
    if task.blocked_by is not None:
        yield f"- Blocked by: {_plain(task.blocked_by)}"
    yield from _review(context, task)
    waits = open_question(context)
    if waits is not None and at.task_of_halt(waits) == task:
        yield f"- Asks: {_plain(waits.text)}"
    blocks = open_blocker(context)
    if blocks is not None and at.task_of(blocks.start) == task:
        yield f"- Blocks the run: {_plain(blocks.text)}"
    if is_skipped(context, task):
        yield f"- {SKIPPED_WORDS.capitalize()}"
    yield from _attempts(context, task)
    yield from _last_recap(context, task)
    yield from _criteria(task)


def _review(context: DocumentContext, task: Task) -> Iterator[str]:
    """The review status of a story, with as much feedback as fits."""
    known = task_reviews(context)
    story = known.stories.get(task.id)
    if story is None:
        return
    if words := known.review(task):
        yield f"- Review: {_plain(words.partition(':')[0])}"
    if story.feedback:
        yield f"- Feedback: {_plain(story.feedback)}"
    if words := known.waiting(task):
        yield f"- {_plain(words[0].upper() + words[1:])}"


def _state_words(context: DocumentContext, at: DocumentPositions, task: Task) -> Iterator[str]:
    yield STATE_WORDS[task.state]
    current = None if context.state is None else context.state.current
    if (
        context.state is not None
        and current is not None
        and at.task_of(current.started.start) == task
    ):
        number = current.started.iteration
        ended = not context.live or context.phase is Phase.PARKED
        yield f"left open by iteration {number}" if ended else f"in progress in iteration {number}"
        if not ended and (attempt := attempt_words(context.state)):
            yield attempt
    if task.shown_priority is not None:
        yield task.shown_priority.value
    if task.section:
        yield _plain(task.section)
    if task.optional:
        yield "optional"


def _attempts(context: DocumentContext, task: Task) -> Iterator[str]:
    tried = context.history.attempts.get(task.id, ())
    if tried:
        known = context.history.iterations
        iterations = [*dict.fromkeys(str(known.get(start, start)) for start in tried)]
        numbers = ", ".join(iterations[-MAX_CRITERIA:])
        more = "… " if len(iterations) > MAX_CRITERIA else ""
        noun = "iteration" if len(iterations) == 1 else "iterations"
        failed = "" if context.state is None else failed_attempts_words(context.state, task.id)
        words = f"{count_of(len(tried), 'attempt')} ({noun} {more}{numbers})"
        yield f"- Tried: {words}{', ' if failed else ''}{failed}"
    if (aside := set_aside(context, task)) is not None:
        what = f"in iteration {aside.iteration}{after_attempts(aside)}: {_plain(aside.reason)}"
        yield f"- Set aside: {what}{'' if aside.marked else '; skipped for the rest of this run'}"
    done = context.history.completions.get(task.id)
    if done is not None and task.state is TaskState.DONE:
        commit = f", commit `{done.commit[:SHORT_HASH]}`" if done.commit else ", no commit"
        yield f"- Done: in iteration {done.iteration}{commit}"
    receipt = None if context.state is None else context.state.receipts.get(task.id)
    if receipt is not None and receipt.done and task.state is TaskState.DONE:
        yield f"- Took: {_plain(receipt_words(receipt))}"


def _last_recap(context: DocumentContext, task: Task) -> Iterator[str]:
    """Claims and facts, one below the other (docs/rules.md#panel)."""
    recap = context.history.recaps.get(task.id)
    if recap is None:
        return
    claims = NO_STATUS_BLOCK if recap.claims is None else _plain(recap.claims)
    yield f"- Report of iteration {recap.iteration}: {claims}"
    if recap.facts is not None:
        yield f"- Evidence of iteration {recap.iteration}: {_plain(recap.facts)}"
    if recap.verdict is not None:
        yield f"- Judge of iteration {recap.iteration}: {_plain(recap.verdict)}"
    if recap.recommendation:
        yield f"- Next: {_plain(recap.recommendation)}"


def _criteria(task: Task) -> Iterator[str]:
    if task.criteria:
        yield "- Criteria:"
        yield from (f"  - {_plain(criterion)}" for criterion in task.criteria[:MAX_CRITERIA])
    if len(task.criteria) > MAX_CRITERIA:
        yield f"  - … {len(task.criteria) - MAX_CRITERIA} more"


_MARKUP = re.compile(
    r"\\(?=[!-/:-@\[-`{-~]|$)"  # a backslash that would escape something
    r"|[*~`]"
    r"|(?<![^\W_])_|_(?![^\W_])"  # inside a word an underscore is plain text
    r"|\](?=[(\[:])|!(?=\[)"  # a link or an image, which begins with the closing bracket
    r"|<|&(?=#|\w+;)"
    r"|(?<=\w)@|(?<=[a-zA-Z]):(?=//)|(?<=\bwww)\."  # addresses that become links by themselves
)
"""What would be markup where it is: an escape that is not needed shows in plain viewers."""


def _plain(text: str) -> str:
    """Untrusted text on one line, escaped for Markdown."""
    return _MARKUP.sub(lambda match: f"\\{match[0]}", one_line(text, limit=MAX_HOVER_CHARS))
