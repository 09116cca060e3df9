"""What the loop writes into a commit of its own (S, Commit Strategy; SPEC §9.5).

A subject that names the task, what was done as far as it was said and seen, and two trailers by
which the commit is known again. Plan and agent are strangers: each of their texts stands on one
line behind words of ours, so that none can pass for a trailer.
"""

from __future__ import annotations

from collections.abc import Iterator

from ralph_ls.core.loop.inputs import IterationRead
from ralph_ls.core.words import count_of
from ralph_ls.protocol.evidence import Evidence
from ralph_ls.protocol.run_words import Mode
from ralph_ls.protocol.state import CurrentIteration, RunState

RUN_TRAILER = "Ralph-Run"
ITERATION_TRAILER = "Ralph-Iteration"

SUBJECT_LIMIT = 100
SUMMARY_LIMIT = 500
SHOWN_PATHS = 5


def commit_message(
    run: RunState, current: CurrentIteration, given: IterationRead, evidence: Evidence
) -> str:
    """The whole message; its last paragraph is the trailers."""
    subject = f"ralph: {_one_line(_what(run, current), SUBJECT_LIMIT)}"
    bullets = "\n".join(f"- {one}" for one in _bullets(run, given, evidence))
    trailers = f"{RUN_TRAILER}: {run.run}\n{ITERATION_TRAILER}: {current.started.iteration}"
    return f"{subject}\n\n{bullets}\n\n{trailers}\n"


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
