"""Unfinished tasks: gives a task up whose iterations change files and finish nothing of the plan.

Changes alone never end a task. Where failed attempts do not count every iteration that leaves its
task open, the loop counts iterations in a row with changes in which no task, sub-task or criterion
became done and none was added. At half of the limit it warns, at the limit the task is set aside
with its agent's last message. A run without tasks, such as one for a request, opens the breaker.

The count is part of the run's state, see ``evidence.repetition.unfinished_after``.
"""

from __future__ import annotations

from ralph_ls.core.loop.evidence.repetition import unfinished_after
from ralph_ls.core.loop.inputs import IterationRead
from ralph_ls.core.loop.machine.verdict import NO_REASON, SettledIteration
from ralph_ls.core.loop.rules import attempts
from ralph_ls.core.loop.rules.quoted_text import plain_line
from ralph_ls.core.plurals import count_of
from ralph_ls.protocol.config.config import AttemptCounts, AttemptsConfig
from ralph_ls.protocol.run.report import Report
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Mode

UNFINISHED_LIMIT = 10
UNFINISHED_WARNING = "task-without-end"
QUOTED = 300
"""Characters of an agent's reason that are quoted."""


def limit_of(config: AttemptsConfig) -> int:
    """Iterations after which a task is set aside; 0 where that is off or counted elsewhere."""
    if config.counts is AttemptCounts.NOT_DONE and config.limit > 0:
        return 0
    return UNFINISHED_LIMIT if config.unfinished is None else config.unfinished


def why_set_aside(run: RunState, settlement: SettledIteration) -> str:
    """Why the iteration's task is set aside; empty where it is not."""
    if settlement.current.started.task is None or not _is_at_limit(run, settlement):
        return ""
    return _words(run, settlement)


def why_stuck(run: RunState, settlement: SettledIteration) -> str | None:
    """Why a run without tasks stops; None where it continues."""
    if settlement.current.started.task is not None or not _is_at_limit(run, settlement):
        return None
    return _words(run, settlement)


def quoted_reason(given: IterationRead) -> str:
    """What the agent itself says of a task that does not succeed, in words; empty for nothing.

    Its recommendation or summary comes first, then the failure, then the last error line of its
    output, then its last words.
    """
    report = given.report
    said = "" if report is None else report.recommendation or report.work_summary
    error = given.failure or (given.errors[-1] if given.errors else "")
    for how, text in (
        ("the agent's last words", said),
        ("last error", error),
        ("the agent's last words", given.closing_words),
    ):
        if quoted := plain_line(text, QUOTED):
            return f"{how}: {quoted}"
    return ""


def blocked_reason(report: Report) -> str:
    """The reason that a report of BLOCKED gives."""
    return plain_line(report.recommendation or report.work_summary, QUOTED) or NO_REASON


def with_reason(words: str, reason: str) -> str:
    """Why a task is set aside, with the agent's own reason where it gives one."""
    return f"{words}; {reason}" if reason else words


def unfinished_warning(run: RunState, settlement: SettledIteration) -> str | None:
    """The warning at half of the limit; None at any other time."""
    limit = limit_of(run.config.attempts)
    count = _count(run, settlement)
    if not limit or count != (limit + 1) // 2 or count == run.unfinished or count >= limit:
        return None
    task = settlement.current.started.task
    then = "the run stops" if task is None else f"{task.title or task.id!r} is set aside"
    return f"{_words(run, settlement, quoted=False)}; after {limit}, {then}"


def skipped_after(run: RunState, settlement: SettledIteration) -> tuple[str, ...]:
    """Tasks that are no longer selected in this run, without a mark in the plan.

    A plan that has no state for a task that was given up cannot exclude it.
    """
    skipped = attempts.renamed_ids(run.skipped, settlement.read.renamed)
    aside, config = settlement.set_aside, run.config.attempts
    if aside is None or not aside.unfinished or config.mark or config.limit > 0:
        return skipped
    return tuple(dict.fromkeys((*skipped, aside.task.id)))


def _is_at_limit(run: RunState, settlement: SettledIteration) -> bool:
    limit, count = limit_of(run.config.attempts), _count(run, settlement)
    return 0 < limit <= count and count > run.unfinished


def _count(run: RunState, settlement: SettledIteration) -> int:
    return run.unfinished if settlement.cut_short else unfinished_after(run, settlement.evidence)


def _words(run: RunState, settlement: SettledIteration, *, quoted: bool = True) -> str:
    several = count_of(_count(run, settlement), "iteration")
    reason = quoted_reason(settlement.read) if quoted else ""
    is_alone = settlement.current.started.task is None or settlement.current.started.mode is not (
        Mode.BUILD
    )
    what = "nothing was completed" if is_alone else "no task, sub-task or criterion was completed"
    return with_reason(f"{several} in a row with changes, but {what}", reason)
