"""Repetition: counts over earlier iterations, by which a change that looks like progress is judged.

Each count follows from the evidence of earlier iterations, so a resumed run has them too:

- ``repeats``: iterations in a row that committed nothing and changed only what had just changed.
  From the third on that is no progress; from the fifth where the agent reports that it edited one
  of the files, or one of them grew.
- ``weak_commits``: the tasks for which white space or modes alone were committed, or a commit that
  led back to an earlier state. The first one of a task is work: a formatter was run, a change was
  reverted. Later ones are no progress unless a task became done.
- ``unfinished``: iterations in a row with changes in which nothing became done and nothing was
  added, see ``machine.unfinished_tasks``.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ralph_ls.core.loop.changes import RunChanges
from ralph_ls.protocol.config.config import Committer
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Again, Evidence, Mode

REPEATS_LIMIT = 3
EDITED_REPEATS_LIMIT = 5

REPETITION_RESET: RunChanges = {"repeats": 0, "unfinished": 0}
"""The counters that a reset and a resumption set to zero, as they do with the breaker's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepetitionHistory:
    """The repetitions of earlier iterations."""

    end_states: Collection[str] = ()
    """Fingerprints of this run's earlier end states and of its start."""
    repeats: int = 0
    """Iterations in a row that only changed the same files again."""
    is_first_weak_commit: bool = True
    """No such commit was made for the task yet."""
    loop_commits: bool = False
    """The loop is going to commit the changes."""
    is_strict: bool = True
    """Repetitions are searched for at all (``progress.churn``)."""


def repetition_history(run: RunState) -> RepetitionHistory:
    """The history before the open iteration is judged."""
    return RepetitionHistory(
        end_states=run.seen,
        repeats=run.repeats,
        is_first_weak_commit=_task_of(run) not in run.weak_commits,
        loop_commits=run.config.commits is Committer.LOOP,
        is_strict=run.config.progress.churn is not False,
    )


def finishes_something(evidence: Evidence) -> bool:
    """Whether a task became done that had not been done before in this run."""
    return bool(evidence.tasks_done) and evidence.advanced is not False


def is_committed(evidence: Evidence) -> bool:
    """Whether the agent committed something beside the loop's own files."""
    counted = (one for one in evidence.commits if not one.by_person and not one.undone)
    return any(commit.files for commit in counted)


def returns_to_known_state(evidence: Evidence, known: RepetitionHistory) -> bool:
    """Whether the end state occurred before."""
    return bool(evidence.fingerprint) and evidence.fingerprint in known.end_states


def is_weak_commit(evidence: Evidence, known: RepetitionHistory) -> bool:
    """Whether the commits are white space or modes alone, or lead back to a known state.

    An agent that leaves the commits to the loop means no revert by returning to a known state.
    """
    if is_committed(evidence):
        return bool(evidence.cosmetic) or returns_to_known_state(evidence, known)
    return (
        known.loop_commits
        and bool(evidence.cosmetic)
        and not returns_to_known_state(evidence, known)
    )


def repeats_too_often(evidence: Evidence, known: RepetitionHistory) -> bool:
    """Whether the same files changed too often in a row, with nothing committed."""
    if evidence.again is None or is_committed(evidence) or known.loop_commits:
        return False
    limit = EDITED_REPEATS_LIMIT if evidence.again is Again.EDITED else REPEATS_LIMIT
    return known.repeats + 1 >= limit


def repetition_after_iteration(run: RunState, evidence: Evidence) -> RunChanges:
    """The changes of an iteration that came to its end, by its evidence."""
    known = repetition_history(run)
    weak = is_weak_commit(evidence, known)
    task = _task_of(run)
    changes: RunChanges = {}
    if weak and not finishes_something(evidence) and task not in run.weak_commits:
        changes["weak_commits"] = (*run.weak_commits, task)
    committed = is_committed(evidence) or known.loop_commits
    if finishes_something(evidence) or committed or (evidence.files and evidence.again is None):
        changes["repeats"] = 0
    elif evidence.again is not None:
        changes["repeats"] = run.repeats + 1
    return {**changes, "unfinished": unfinished_after(run, evidence)}


def unfinished_after(run: RunState, evidence: Evidence) -> int:
    """Iterations in a row with changes that finished nothing, with the open one.

    One that changed nothing is counted elsewhere, and neither planning nor confirming that nothing
    is left finishes a task.
    """
    current = run.current
    if finishes_something(evidence) or evidence.advanced:
        return 0
    if current is None or current.started.mode is Mode.PLAN or current.started.confirming:
        return run.unfinished
    if "taskSetAside" in current.told:
        return 0
    return run.unfinished + 1 if evidence.progress else run.unfinished


def _task_of(run: RunState) -> str:
    task = None if run.current is None else run.current.started.task
    return "" if task is None else task.id
