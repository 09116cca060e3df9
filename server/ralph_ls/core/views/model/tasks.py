"""Words about one task: attempts, verification, reviews and dependencies.

Every view shows them beside the task's title with the same wording. Titles and reasons come from
plans and agents, so they are escaped. Decides nothing: all facts come from the engine and the plan.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, assert_never

from ralph_ls.core.loop.rules.attempts import COUNTED, failed_attempts
from ralph_ls.core.plan.model import PlanKind, Task
from ralph_ls.core.plurals import count_of
from ralph_ls.core.views.model.control_chars import escape_control_chars
from ralph_ls.core.views.model.words import SHORT_HASH, SHOWN_REASON, one_line
from ralph_ls.protocol.run.events import CriteriaVerified, TaskSetAside
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.task_words import TaskState

if TYPE_CHECKING:
    from ralph_ls.core.plan.formats.stories.story_file import Story
    from ralph_ls.core.views.model.document_context import DocumentContext
    from ralph_ls.core.views.model.history import TaskCompletion


def finished_words(done: TaskCompletion) -> str:
    """``done in iteration 2 · a1b2c3d``."""
    commit = "" if done.commit is None else f" · {done.commit[:SHORT_HASH]}"
    return f"done in iteration {done.iteration}{commit}"


def blocked_words(task: Task) -> str:
    """``blocked: REASON``, as the plan gives it."""
    reason = one_line(task.blocked_by or "the plan gives no reason", limit=SHOWN_REASON)
    return f"blocked: {reason}"


def attempt_count_words(context: DocumentContext, task: Task, *, in_work: bool) -> str:
    """``attempt 2 of 3`` in work, else ``2 of 3 attempts failed``; empty for one never tried.

    Where attempts are not limited: ``attempt 2`` and ``2 attempts``, counted in iterations.
    """
    n_tried = len(context.history.attempts.get(task.id, ()))
    state = RunState() if context.state is None else context.state
    if in_work:
        return attempt_words(state) or f"attempt {n_tried}"
    return failed_attempts_words(state, task.id) or (
        count_of(n_tried, "attempt") if n_tried else ""
    )


def attempt_words(state: RunState) -> str:
    """``attempt 2 of 3`` of the current iteration; empty where attempts are not counted."""
    current, limit = state.current, state.config.attempts.limit
    if current is None or current.started.task is None or limit == 0:
        return ""
    if COUNTED not in current.told:
        return ""
    return f"attempt {max(1, state.attempts.get(current.started.task.id, 0))} of {limit}"


def failed_attempts_words(state: RunState, task_id: str) -> str:
    """``2 of 3 attempts failed``; empty where none failed or attempts are not counted."""
    failed, limit = failed_attempts(state).get(task_id, 0), state.config.attempts.limit
    return f"{failed} of {count_of(limit, 'attempt')} failed" if failed and limit else ""


SKIPPED_WORDS = "skipped in this run"


def is_skipped(context: DocumentContext, task: Task) -> bool:
    """Whether the user skipped the task, in a run that has not ended."""
    state = context.state
    return state is not None and state.end is None and task.id in state.skipped


def set_aside(context: DocumentContext, task: Task) -> TaskSetAside | None:
    """The event that set a task aside; None where the user has changed the plan since."""
    event = context.history.set_aside.get(task.id)
    if event is None:
        return None
    is_blocked = task.state is TaskState.BLOCKED
    is_open = task.state in {TaskState.TODO, TaskState.IN_PROGRESS}
    holds = is_blocked if event.marked else is_blocked or is_open
    return event if holds else None


SHOWN_ASIDE = 160
"""Characters of why a task was set aside: the agent's own reason comes at the end."""


def aside_words(event: TaskSetAside, *, limit: int = SHOWN_ASIDE) -> str:
    """``set aside after 3 attempts: no progress``, or ``after 3 attempts without success; …``."""
    between = " after " if _counts_attempts(event) else f"{after_attempts(event)}: "
    return f"set aside{between}{one_line(event.reason, limit=limit)}"


def after_attempts(event: TaskSetAside) -> str:
    """`` after 3 attempts``, to be appended; empty where none were counted or the reason does."""
    if not event.attempts or _counts_attempts(event):
        return ""
    return f" after {count_of(event.attempts, 'attempt')}"


def _counts_attempts(event: TaskSetAside) -> bool:
    failed = f"{count_of(event.attempts, 'attempt')} without success"
    return event.reason.partition(";")[0] == failed


MAX_TAIL_LINES = 5


def verification_words(event: CriteriaVerified) -> str:
    """``Verified: Log in (2 commands ended with 0)``, or the failed or unrun commands."""
    from ralph_ls.core.plan.verification.criterion_checks import (
        describe_check_failures,
        describe_not_run,
        verification_of,
    )

    checks, title = verification_of(event), one_line(event.task.title, limit=SHOWN_REASON)
    if event.ok:
        return f"Verified: {title} ({count_of(len(checks.checked), 'command')} ended with 0)"
    if checks.failed:
        return escape_control_chars(f"{title}: {describe_check_failures(checks)}")
    reasons = "; ".join(text for _, text in describe_not_run(checks))
    return escape_control_chars(f"Not verified: {title}: {reasons}")


def failed_output_tail(event: CriteriaVerified) -> list[str]:
    """Last lines of the first failed command's output."""
    from ralph_ls.core.plan.verification.criterion_checks import verification_of

    failed = next(iter(verification_of(event).failed), None)
    return [] if failed is None else failed.tail.strip().splitlines()[-MAX_TAIL_LINES:]


def refuted_tasks(context: DocumentContext) -> Iterator[tuple[Task, CriteriaVerified]]:
    """Tasks that were closed, failed verification and are still open."""
    events = {task: event for task, event in context.history.verified.items() if _has_failed(event)}
    for task in context.plan.some(ids=events) if events else ():
        if task.state is not TaskState.DONE:
            yield task, events[task.id]


def _has_failed(event: CriteriaVerified) -> bool:
    from ralph_ls.core.plan.verification.criterion_checks import verification_of

    return bool(verification_of(event).failed)


OPEN_STATES = frozenset({TaskState.TODO, TaskState.IN_PROGRESS})


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskReviews:
    """Reviews and dependencies of the tasks of one plan; empty for a plan without stories."""

    stories: Mapping[str, Story] = field(default_factory=dict)
    waits: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    are_issues: bool = False
    """The tasks are issues of ``bd``, which name their dependencies themselves."""

    def review(self, task: Task) -> str:
        """``waits for its review``, ``changes requested in review 1: name the key``."""
        from ralph_ls.core.plan.formats.stories.review_cycle import AT_CAP
        from ralph_ls.core.plan.formats.stories.story_file import ReviewStatus

        story = self.stories.get(task.id)
        status = None if story is None else story.status
        if story is None or status is None:
            return ""
        nth = f" {story.n_reviews}" if story.n_reviews else ""
        feedback = one_line(story.feedback.removeprefix(AT_CAP), limit=SHOWN_REASON)
        match status:
            case ReviewStatus.NEEDS_REVIEW:
                return f"waits for its review{f', after review{nth}' if nth else ''}"
            case ReviewStatus.CHANGES_REQUESTED:
                why = f": {feedback}" if feedback else ""
                return f"changes requested{f' in review{nth}' if nth else ''}{why}"
            case ReviewStatus.APPROVED:
                at_cap = story.feedback.startswith(AT_CAP)
                how = "approved because it reached the review limit" if at_cap else "approved"
                return f"{how}{f' in review{nth}' if nth and not at_cap else ''}"
            case _:  # pragma: no cover
                assert_never(status)

    def waiting(self, task: Task) -> str:
        """``waits for US-001 (Log in)``: the open dependencies of a task."""
        if task.state not in OPEN_STATES:
            return ""
        needed = self.waits.get(task.id, ())
        shown = ", ".join(f"{one} ({self.stories[one].title})" for one in needed)
        if self.are_issues:
            # For an issue that is not blocked itself, these are its dependencies.
            shown = task.blocked_by or ""
        return f"waits for {one_line(shown, limit=SHOWN_REASON)}" if shown else ""


def task_reviews(context: DocumentContext) -> TaskReviews:
    """Reviews and dependencies of all tasks of a plan."""
    from ralph_ls.core.plan.formats.stories.story_file import ParsedStories
    from ralph_ls.core.plan.formats.stories.tasks import waits_for

    source = context.parsed.source
    if not isinstance(source, ParsedStories):
        return TaskReviews(are_issues=context.kind is PlanKind.BEADS)
    stories = source.stories
    return TaskReviews(stories=stories.by_id(), waits=waits_for(stories))
