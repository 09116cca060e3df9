"""What the loop writes into a commit of its own (S, Commit Strategy; SPEC §9.5).

A subject that names the task, what was done as far as it was said and seen, and trailers: run and
start, by which the commit is found again, and the iteration as people know it.
Plan and agent are strangers: each of their texts is on one line behind words of ours, so that none
can pass for a trailer.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ralph_ls.core.loop.inputs import IterationRead, Reverted
from ralph_ls.core.loop.restored import RULES
from ralph_ls.core.words import count_of
from ralph_ls.protocol.run.state import CurrentIteration, RunState
from ralph_ls.protocol.run.values import Evidence, Mode

RUN_TRAILER = "Ralph-Run"
ITERATION_TRAILER = "Ralph-Iteration"
START_TRAILER = "Ralph-Start"

SUBJECT_LIMIT = 100
SUMMARY_LIMIT = 500
SHOWN_PATHS = 5


def commit_message(
    run: RunState, current: CurrentIteration, given: IterationRead, evidence: Evidence
) -> str:
    """The whole message; its last paragraph is the trailers."""
    subject = f"ralph: {_one_line(_what(run, current), SUBJECT_LIMIT)}"
    bullets = "\n".join(f"- {one}" for one in _bullets(run, given, evidence))
    started = current.started
    trailers = (
        f"{RUN_TRAILER}: {run.run}\n{ITERATION_TRAILER}: {started.iteration}\n"
        f"{START_TRAILER}: {started.start}"
    )
    return f"{subject}\n\n{bullets}\n\n{trailers}\n"


def restoration_message(
    run: str, start: int, paths: Sequence[str], reverted: Sequence[Reverted]
) -> str:
    """The message of a commit that restores guarded files, with which rule was broken."""
    what = paths[0] if len(paths) == 1 else count_of(len(paths), "guarded file")
    # No titles: what a stranger wrote there may mean something to whoever hosts the repository.
    rules = dict.fromkeys(f"{one.path}: {RULES[one.what]}" for one in reverted)
    bullets = "\n".join(f"- {_one_line(rule, SUMMARY_LIMIT)}" for rule in rules)
    return (
        f"ralph: {_one_line(f'restore {what}', SUBJECT_LIMIT)}\n\n"
        f"The agent of this iteration committed what no iteration may change:\n\n{bullets}\n\n"
        f"{RUN_TRAILER}: {run}\n{START_TRAILER}: {start}\n"
    )


def _what(run: RunState, current: CurrentIteration) -> str:
    started = current.started
    if started.task is not None:
        return started.task.title or started.task.id
    if started.mode is Mode.PLAN:
        return "make the plan"
    if run.request is not None:
        return run.request.title
    return "look for what is left to do"


def _bullets(run: RunState, given: IterationRead, evidence: Evidence) -> Iterator[str]:
    """Details, changes and tests status, as far as they are known (S10)."""
    report = given.report
    if report is not None and (said := report.work_summary or report.recommendation):
        what = "Summary" if report.work_summary else "Next"
        yield f"{what}: {_one_line(said, SUMMARY_LIMIT)}"
    if evidence.files:
        paths = [_one_line(path, SUMMARY_LIMIT) for path in evidence.paths[:SHOWN_PATHS]]
        more = ["…"] if evidence.files > len(paths) else []
        yield f"Changed {count_of(evidence.files, 'file')}: {', '.join(paths + more)}"
    if report is not None:
        yield f"Tests: {report.tests_status.lower().replace('_', ' ')}"
    counts = given.plan.counts
    done = f"{counts.required_done} of {count_of(counts.required, 'required task')} done"
    yield f"Plan: {done}" if counts.required else f"Profile: {run.config.profile.value}"


def _one_line(text: str, limit: int) -> str:
    """A stranger's text on one line, without what a terminal would obey."""
    folded = " ".join(text.split())
    plain = "".join(sign for sign in folded if sign.isprintable())
    return plain if len(plain) <= limit else f"{plain[: limit - 1].rstrip()}…"
