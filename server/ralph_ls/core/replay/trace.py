"""Traces: parsing the lines of a hand-made trace, and simulating a policy on them.

See docs/rules.md#command-line. A trace describes a run that this program has not made, for ``ralph
simulate``: one JSON object an iteration, written by hand or by another tool. Any line gives facts
or none, and problems; nothing raises. A field that cannot be used is left out and reported.

========== =========================================================================================
field      content
========== =========================================================================================
report     The status block: its upper-case keys with texts, numbers or booleans; or its text; or
           what ``ralph read --json`` prints as ``report``.
evidence   Observed changes: ``commits``, ``files``, ``tasks``, each a number or a list. If given,
           only it counts; without it the report's numbers do: FILES_MODIFIED or
           TASKS_COMPLETED_THIS_LOOP above 0 is read as changed files and a commit.
errors     Error lines, as a list or a text.
finalText  The agent's last text: promises, words and errors in it count as in a run, and so does a
           status block where there is no ``report``. An empty text means no output.
promise    ``{"kind": "complete|blocked|decide", "text": "…"}``, or a text such as
           ``DECIDE:red or blue?``; or a list of these.
plan       The plan after the iteration: ``{"total", "open", "blocked", "marker"}``. Without it
           nothing is known of the plan, so that it refuses and confirms nothing.
task       The id of the iteration's task. Attempts are counted only with it.
limit      True where the agent was at its usage limit, or ``{"resetsAt": …}``; the time itself is
           not used, since simulated time is independent of it.
deniedTools The tools that were not permitted: their names, or their number.
exitCode   The agent's exit code; 0 where it is not given.
timedOut   True where the iteration ran out of time.
validated  Whether the validation script succeeded.
========== =========================================================================================

The rules are those of a run, since ``ReplayDriver`` feeds the reducer. Facts that a trace lacks are
assumed as follows:

- *Time*: every iteration takes a minute.
- *The plan*, where a line lacks it, has zero counts and one open, unknown task: so it refuses
  nothing, needs no confirmation, and counts no attempts.
- *A task* that the policy has set aside is not worked on again. Where the trace does so, the
  iteration has an unknown task.
- *The user* is absent, so a run that waits for the user ends.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from ralph_ls.core.agent.failures import normalise_error
from ralph_ls.core.agent.output_parser import ParsedOutput, parse_text
from ralph_ls.core.agent.result import AccountLimit
from ralph_ls.core.loop.evidence.progress import Changes
from ralph_ls.core.loop.inputs import (
    AgentFinished,
    IterationRead,
    PlanFacts,
    Prepared,
    ValidationFinished,
)
from ralph_ls.core.replay.driver import (
    UNKNOWN_TASK,
    ReplayDriver,
    SimulatedIteration,
    SimulatedTurn,
)
from ralph_ls.core.replay.trace_fields import (
    FIELD_NAMES,
    MAX_SHOWN_NAME,
    NOTHING,
    Problems,
    TextReader,
    TraceEvidence,
    TraceFields,
    TraceProblem,
    bounded_int,
    clean_text,
    errors_of,
    kind_of,
    names_of,
    problem_of,
    promises_of,
    read_fields,
    report_of,
    task_of,
)
from ralph_ls.protocol.config.config import Config, OnHalt
from ralph_ls.protocol.run.report import Promise, Report, ReportKind
from ralph_ls.protocol.run.values import Baseline, CommitSeen, PlanCountsView, TaskRef


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceLine:
    """The facts of one iteration, as inputs of the loop."""

    report: Report | None = None
    promises: tuple[Promise, ...] = ()
    completion_words: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    error_patterns: tuple[str, ...] = ()
    without_output: bool = False
    changes: Changes = Changes()
    tasks_done: tuple[str, ...] = ()
    counts: PlanCountsView | None = None
    """The plan after the iteration; None: unknown."""
    task: TaskRef | None = None
    """None: unknown."""
    limited: bool = False
    denied_tools: tuple[str, ...] | None = None
    exit_code: int = 0
    timed_out: bool = False
    validated: bool | None = None
    """None: there was no validation."""


ParsedTraceLine = tuple[TraceLine | None, tuple[TraceProblem, ...]]
"""A line, or None where the text describes no iteration; and its problems."""


def parse_trace_line(
    text: str,
    *,
    preferred: ReportKind = ReportKind.RALPH_STATUS,
    complete_word: str = "COMPLETE",
) -> ParsedTraceLine:
    """Parse one line of a trace; any text gives a line or none, and problems.

    ``preferred`` is the profile's block format, ``complete_word`` its ``promise.complete``.
    """
    try:
        value = json.loads(text, strict=False)
    except (ValueError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        return None, (problem_of("not-json", f"not valid JSON, so ignored: {why}"),)
    return read_trace_value(value, preferred=preferred, complete_word=complete_word)


def read_trace_value(
    value: object,
    *,
    preferred: ReportKind = ReportKind.RALPH_STATUS,
    complete_word: str = "COMPLETE",
) -> ParsedTraceLine:
    """Parse one JSON value as a line of a trace; see ``parse_trace_line``."""
    if not isinstance(value, dict):
        message = f"an iteration must be a JSON object, but this is {kind_of(value)}; ignored"
        return None, (problem_of("no-object", message),)
    found: Problems = []
    fields = read_fields(value, found)

    def read(text: str) -> ParsedOutput:
        return parse_text(text, preferred=preferred, complete_word=complete_word)

    line = _line_of(fields, read, complete_word, found)
    problems = _in_order(found, value)
    problems += fields.unknown()
    if not any(value.get(name) is not None for name in FIELD_NAMES):
        names = ", ".join(FIELD_NAMES)
        message = f"this has no field of an iteration; known are {names}"
        problems.append(problem_of("nothing-told", message))
    return line, tuple(problems)


def _in_order(problems: Problems, value: Mapping[Any, object]) -> Problems:
    """The problems in the order in which their fields are written."""
    names: list[str] = []
    for name, given in value.items():
        inner = given if isinstance(given, dict) and name in {"evidence", "plan"} else ()
        if name in FIELD_NAMES:
            names += [name, *(f"{name}.{clean_text(str(key))[:MAX_SHOWN_NAME]}" for key in inner)]
    places = {name: place for place, name in reversed([*enumerate(names)])}
    # The fields of a report are in its own order already.
    return sorted(problems, key=lambda one: places.get(one.field, places.get("report", 0)))


def _line_of(
    fields: TraceFields, read: TextReader, complete_word: str, found: Problems
) -> TraceLine:
    final = None if fields.final_text is None else read(fields.final_text)
    report = None if fields.report is None else report_of(fields.report, read, found)
    errors = () if fields.errors is None else errors_of(fields.errors, found)
    promises = (
        () if fields.promise is None else promises_of(fields.promise, read, complete_word, found)
    )
    if final is not None:
        report = report or final.report
        errors, promises = (*errors, *final.errors), (*promises, *final.promises)
    errors = tuple(dict.fromkeys(errors))
    task = None if fields.task is None else task_of(fields.task, found)
    evidence = fields.evidence or _claimed(report)
    is_silent = final is not None and not final.text.strip()
    denied = fields.denied_tools
    return TraceLine(
        report=report,
        promises=tuple(dict.fromkeys(promises)),
        completion_words=() if final is None else final.completion,
        errors=errors,
        error_patterns=tuple(dict.fromkeys(map(normalise_error, errors))),
        without_output=is_silent and report is None and not promises,
        changes=_changes_of(evidence),
        tasks_done=_tasks_of(evidence, task),
        counts=None if fields.plan is None else fields.plan.counts,
        task=task,
        limited=fields.limit is not None and fields.limit is not False,
        denied_tools=None if denied is None else names_of(*denied, lambda _number: "a tool"),
        exit_code=bounded_int(fields.exit_code or 0),
        timed_out=bool(fields.timed_out),
        validated=fields.validated,
    )


def _claimed(report: Report | None) -> TraceEvidence:
    """The numbers of a report taken as evidence: changed files, and a commit of them."""
    if report is None or not (report.files_modified or report.tasks_completed):
        return TraceEvidence()
    claims = {
        "commits": 1,
        "files": max(1, report.files_modified),
        "tasks": report.tasks_completed,
    }
    return TraceEvidence.model_validate(claims)


def _changes_of(evidence: TraceEvidence) -> Changes:
    n_commits, hashes = evidence.commits or NOTHING
    n_files, paths = evidence.files or NOTHING
    # A trace names the agent's commits; one that changed nothing but the plan is not listed.
    return Changes(
        commits=tuple(
            CommitSeen(hash=name, subject="", files=max(1, n_files))
            for name in names_of(n_commits, hashes, lambda number: f"{number:040x}")
        ),
        files=n_files,
        paths=paths,
    )


def _tasks_of(evidence: TraceEvidence, task: TaskRef | None) -> tuple[str, ...]:
    """Ids of finished tasks; where they are only counted, the first is the iteration's task."""
    n_tasks, ids = evidence.tasks or NOTHING
    own = (task.id,) if task is not None and not ids else ids
    return names_of(n_tasks, own, lambda number: f"task-{number}")


ITERATION_TIME = timedelta(minutes=1)
"""Simulated duration of each iteration."""

EMPTY_LINE = TraceLine()
"""What is known before the first line, and of an iteration that did not happen."""


def simulate_lines(lines: Iterable[TraceLine], config: Config) -> Iterator[SimulatedIteration]:
    """Simulate a trace and yield the result of each line under ``config``, up to the run's end.

    Reads lines only as needed and keeps none. An end that is found before the next iteration, in
    the plan or in a budget, belongs to the iteration before it.
    """
    alone = config.model_copy(update={"on_halt": OnHalt.EXIT, "task": None})
    driver, before = ReplayDriver(), EMPTY_LINE
    driver.start(alone)
    for number, line in enumerate(lines, start=1):
        iteration = driver.last_iteration()
        if not driver.begin(_prepared(driver, before, line)):
            break
        if iteration is not None:
            yield iteration
        driver.advance(ITERATION_TIME * number)
        driver.play(_turn(driver, line))
        if driver.is_over:
            break
        before = line
    else:
        if before is not EMPTY_LINE:
            driver.begin(_prepared(driver, before, EMPTY_LINE))
    if (last := driver.last_iteration()) is not None:
        yield last


def _prepared(driver: ReplayDriver, before: TraceLine, line: TraceLine) -> Prepared:
    """The plan as the last iteration left it, and the task of this one."""
    plan = _plan(driver, before.counts, line.task)
    return Prepared(baseline=Baseline(), plan=plan)


def _plan(driver: ReplayDriver, counts: PlanCountsView | None, task: TaskRef | None) -> PlanFacts:
    set_aside = driver.set_aside
    if task is not None:
        next_task = UNKNOWN_TASK if task.id in set_aside else task
        return PlanFacts(counts=counts or PlanCountsView(), next_task=next_task)
    if counts is None or not counts.total:
        return PlanFacts(counts=counts or PlanCountsView(), next_task=UNKNOWN_TASK)
    # Whether tasks set aside by this policy are among the trace's blocked ones is unknown.
    n_held = max(counts.blocked_required, len(set_aside))
    is_work = counts.open_required > n_held
    return PlanFacts(counts=counts, next_task=UNKNOWN_TASK if is_work else None)


def _turn(driver: ReplayDriver, line: TraceLine) -> SimulatedTurn:
    validation = None
    if line.validated is not None:
        validation = ValidationFinished(
            ok=line.validated,
            exit_code=0 if line.validated else 1,
            timed_out=False,
            seconds=0.0,
            tail="",
        )
    return SimulatedTurn(
        finished=AgentFinished(exit_code=line.exit_code, timed_out=line.timed_out),
        read=IterationRead(
            report=line.report,
            promises=line.promises,
            completion_words=line.completion_words,
            errors=line.errors,
            error_patterns=line.error_patterns,
            without_output=line.without_output,
            # A trace reports a limit only if the agent did not recover from it.
            failed=line.limited,
            denied_tools=line.denied_tools,
            limit=AccountLimit() if line.limited else None,
            changes=line.changes,
            tasks_done=line.tasks_done,
            plan=_plan(driver, line.counts, None),
            must_validate=validation is not None,
        ),
        validation=validation,
    )
