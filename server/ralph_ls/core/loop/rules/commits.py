"""Commits of the loop: their base, their message, and what is reported of git to the next agent.

The base is the tree against which the next commit compares the work tree. An iteration may end with
work in no commit: it was stopped, its validation failed, a hook refused the commit. That work goes
into the next commit, unless it was changed since. The user's changes between two iterations do not.

The message has a subject that names the task and how its agent broke off, a body of what was
reported and observed, and trailers: run, start and iteration, as information that decides nothing
(docs/rules.md#commits). Texts of plan and agent are untrusted: each follows a fixed prefix or is
indented, so that none can pass for a trailer, and none has a meaning for the host of the repository
(``quoted_text``).

Restored changes are named by the rule of the guard that they broke, for the next agent and for the
history. An unfinished operation of git (a merge, a rebase, a cherry-pick) is not committed, which
would make half a merge look like finished work; the next agent is notified, since it alone knows
whether the changes are wanted.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING

from ralph_ls.core.loop.rules.quoted_text import (
    commit_line,
    commit_lines,
    cut_to_bytes,
    plain_line,
)
from ralph_ls.core.loop.rules.receipts import receipt_at_commit, receipt_fields
from ralph_ls.core.plurals import count_of
from ralph_ls.protocol.run.events import GuardReverted
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.run.state import CurrentIteration, RunState
from ralph_ls.protocol.run.values import Baseline, Evidence, Mode

if TYPE_CHECKING:
    from ralph_ls.core.loop.inputs import IterationRead, RevertedChange


def next_commit_base(
    known: Baseline | None, owed: Mapping[str, str] | None, found: Baseline
) -> Baseline:
    """The base for an iteration that ``found`` this tree.

    ``known`` is the base of an earlier iteration with work in no commit, and ``owed`` that work by
    path; None in journals without it, whose base stays.
    """
    if known is None:
        return found
    if owed is None:
        return known
    return found.model_copy(
        update={
            "dirty": _without(found.dirty, owed, known.dirty),
            "own": _without(found.own, owed, known.own),
        }
    )


def has_uncommitted_work(
    known: Baseline | None, owed: Mapping[str, str] | None, found: Baseline
) -> bool:
    """Whether some of that work is still in the tree and in no commit.

    For the arguments see ``next_commit_base``. Where the work is not known, any difference from its
    base may be part of it.
    """
    if owed is None:
        return known is not None and known.fingerprint != found.fingerprint
    now = {**found.dirty, **found.own}
    return any(now.get(path) == value for path, value in owed.items())


def _without(
    found: Mapping[str, str], owed: Mapping[str, str], before: Mapping[str, str]
) -> dict[str, str]:
    """The dirty paths as they were before that work."""
    same = {path for path, value in found.items() if owed.get(path) == value}
    kept = {path: value for path, value in found.items() if path not in same}
    return {**kept, **{path: before[path] for path in same if path in before}}


SHOWN_RESTORED_TASKS = 5
SHOWN_WHY = 300

GUARD_RULES: Mapping[Forbidden, str] = MappingProxyType(
    {
        Forbidden.DROPPED: "open tasks may be finished, split or blocked, but not removed",
        Forbidden.SKIPPED: "only you may mark a task as skipped",
        Forbidden.CRITERIA: "acceptance criteria may not be changed or removed",
        Forbidden.REVIEW: "a story may only move as its review cycle allows",
        Forbidden.PRIORITY: "a task's priority may not be changed",
        Forbidden.DEPENDENCY: "dependencies may be added, but not removed",
        Forbidden.TYPE: "an issue's type may not be changed",
        Forbidden.VERIFY: "the commands that verify the work may not be changed",
        Forbidden.CHANGED: "no iteration may change this file",
        Forbidden.DELETED: "no iteration may delete this file",
        Forbidden.CREATED: "no iteration may create this file",
    }
)
"""Which rule each kind of change breaks."""


def broken_rule(what: Forbidden, why: str | None) -> str:
    """The rule that a change broke: that of this very change, else of its kind."""
    return " ".join(why.split())[:SHOWN_WHY] if why else GUARD_RULES[what]


def restored_lines(events: Iterable[GuardReverted]) -> tuple[str, ...]:
    """One line for each thing that was restored: the file, the tasks, and the rule."""
    return tuple(dict.fromkeys(_line(one) for one in events))


def _line(one: GuardReverted) -> str:
    titles = [" ".join(task.title.split()) for task in one.tasks[:SHOWN_RESTORED_TASKS]]
    titles += ["…"] if one.n_tasks > len(titles) > 0 else []
    whose = f" ({'; '.join(titles)})" if titles else ""
    return f"{one.path}{whose}: {broken_rule(one.what, one.why)}"


RUN_TRAILER = "Ralph-Run"
ITERATION_TRAILER = "Ralph-Iteration"
START_TRAILER = "Ralph-Start"
RECEIPT_TRAILER = "Ralph-Receipt"

SUBJECT_LIMIT = 100
QUOTE_LIMIT = 1000
"""Characters of one text of the agent in a commit's body."""
PATH_LIMIT = 200
BODY_LIMIT = 2048
"""Bytes of a commit's body, without its trailers."""
SHOWN_PATHS = 5


def commit_message(
    run: RunState,
    current: CurrentIteration,
    given: IterationRead,
    evidence: Evidence,
    *,
    set_aside: str = "",
) -> str:
    """The whole message; its last paragraph is the trailers.

    ``set_aside`` is why the iteration's task is set aside; empty where it is not.
    """
    marks = [mark for mark in (_broken_off(current, given), "gave up" if set_aside else "") if mark]
    ending = f" ({', '.join(marks)})" if marks else ""
    subject = f"ralph: {commit_line(_what(run, current), SUBJECT_LIMIT)}{ending}"
    lines: list[str] = []
    for what, text in _bullets(run, current, given, evidence, set_aside):
        first, *others = commit_lines(f"{what}: {text}", QUOTE_LIMIT)
        lines += [f"- {first}", *(f"  {line}" for line in others)]
    body = "\n".join(cut_to_bytes(lines, BODY_LIMIT))
    started = current.started
    trailers = (
        f"{RUN_TRAILER}: {run.run}\n{ITERATION_TRAILER}: {started.iteration}\n"
        f"{START_TRAILER}: {started.start}"
    )
    if run.config.commit_receipt:
        trailers += _receipt_trailer(run, current, given, evidence)
    return f"{subject}\n\n{body}\n\n{trailers}\n"


def progress_message(run: str, start: int, path: str) -> str:
    """The message of a commit that adds hashes to the log of finished tasks."""
    return (
        f"ralph: record the commits in {commit_line(path, SUBJECT_LIMIT)}\n\nAdds the commits of "
        f"the tasks that were finished last.\n\n{RUN_TRAILER}: {run}\n{START_TRAILER}: {start}\n"
    )


def restoration_message(
    run: str, start: int, paths: Sequence[str], reverted: Sequence[RevertedChange]
) -> str:
    """The message of a commit that restores guarded files, with the rule that was broken."""
    what = paths[0] if len(paths) == 1 else count_of(len(paths), "guarded file")
    # No titles: untrusted text could have a meaning for the host of the repository.
    rules = dict.fromkeys(f"{one.path}: {GUARD_RULES[one.what]}" for one in reverted)
    bullets = "\n".join(f"- {plain_line(rule, PATH_LIMIT + SHOWN_WHY)}" for rule in rules)
    return (
        f"ralph: restore {plain_line(what, SUBJECT_LIMIT)}\n\nThe agent committed changes that no "
        f"iteration may make:\n\n{bullets}\n\n{RUN_TRAILER}: {run}\n{START_TRAILER}: {start}\n"
    )


def _what(run: RunState, current: CurrentIteration) -> str:
    started = current.started
    if started.task is not None:
        return started.task.title or started.task.id
    if started.mode is Mode.PLAN:
        return "make the plan"
    if run.request is not None:
        return run.request.title
    return "look for remaining work"


def _receipt_trailer(
    run: RunState, current: CurrentIteration, given: IterationRead, evidence: Evidence
) -> str:
    """The receipt of the task that the iteration finishes; empty where it finishes none."""
    receipt = receipt_at_commit(run, current, evidence, given.usage)
    return "" if receipt is None else f"\n{RECEIPT_TRAILER}: {receipt_fields(receipt)}"


def _broken_off(current: CurrentIteration, given: IterationRead) -> str:
    """How the agent failed to come to its end, in two words; empty where it did come to it."""
    ended = current.exit
    if ended is None:
        return "interrupted"
    if ended.timed_out:
        return "timed out"
    if ended.idle:
        return "went silent"
    if ended.overspent:
        return "over its limit"
    return "agent failed" if given.failure_kind is not None else ""


def _bullets(
    run: RunState,
    current: CurrentIteration,
    given: IterationRead,
    evidence: Evidence,
    set_aside: str,
) -> Iterator[tuple[str, str]]:
    """What was reported, changed and tested, as far as it is known (docs/rules.md#commits).

    What the agent claims is named as its claim.
    """
    report = given.report
    yield from _words_of_agent(current, given, set_aside)
    if evidence.files:
        paths = [plain_line(path, PATH_LIMIT) for path in evidence.paths[:SHOWN_PATHS]]
        more = ["…"] if evidence.files > len(paths) else []
        yield f"Changed {count_of(evidence.files, 'file')}", ", ".join(paths + more)
    if report is not None and "TESTS_STATUS" in report.fields:
        yield "Tests", f"reported as {report.tests_status.lower().replace('_', ' ')}"
    counts = given.plan.counts
    if counts.required:
        yield "Plan", f"{count_of(counts.open_required, 'required task')} open"
    else:
        yield "Profile", run.config.profile.value
    if report is not None and report.recommendation:
        yield "Next", report.recommendation


def _words_of_agent(
    current: CurrentIteration, given: IterationRead, set_aside: str
) -> Iterator[tuple[str, str]]:
    """What the agent says that it did, and why it did not finish."""
    summary = "" if given.report is None else given.report.work_summary
    if summary:
        yield "Reported", summary
    elif given.closing_words:
        yield "Agent's last words", given.closing_words
    if set_aside:
        yield "Gave up", set_aside
    elif given.failure and _broken_off(current, given):
        yield "Ended", given.failure


UNFINISHED_GIT = "git-unfinished"
"""The code of the warning about an unfinished operation of git."""

_ABORTS = {"bisect": "git bisect reset"}


def unfinished_git_words(what: str) -> str:
    """The operation that was left, and how to end it."""
    abort = _ABORTS.get(what, f"git {what} --abort")
    return (
        f"an agent left a {what} unfinished; nothing is committed until it is finished or aborted "
        f"({abort})"
    )


def unfinished_git_of_last_start(run: RunState, start: int) -> str:
    """The operation that the start before this one left, in words; empty where it left none."""
    found = [
        one.message for one in run.warnings if (one.code, one.start) == (UNFINISHED_GIT, start - 1)
    ]
    return found[-1] if found else ""
