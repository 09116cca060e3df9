"""Metrics tables: cells for terminals, CSV rows, lines of totals, and the summary of an archive.

Titles and ids come from plans: they are escaped for terminals, Markdown and spreadsheets. Where a
table or an archive is written is not known here.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, tzinfo

from ralph_ls.core.plan.model import Task
from ralph_ls.core.plurals import count_of
from ralph_ls.core.views.model.control_chars import escape_control_chars
from ralph_ls.core.views.model.words import failure_counts, outcome_words
from ralph_ls.core.views.report.sums import context_share, tokens_used, total_of
from ralph_ls.core.views.text.summary import format_duration
from ralph_ls.protocol.base import to_wire_time
from ralph_ls.protocol.json_output import IterationMetrics, ReviewMetrics, RunMetrics, TotalMetrics
from ralph_ls.protocol.run.state import TaskReceipt
from ralph_ls.protocol.task_words import TaskState

RUN_HEADINGS = ("Run", "Started", "End", "Iter", "Clean", "Done", "Time", "Cost")
ITERATION_HEADINGS = (
    "#",
    "Mode",
    "Outcome",
    "Task",
    "Done",
    "Files",
    "Tokens",
    "Context",
    "Cost",
    "Time",
    "Commit",
)
RECEIPT_HEADINGS = (
    "Task",
    "#",
    "Iter",
    "Attempts",
    "Retries",
    "Time",
    "Agent",
    "Tokens",
    "Cost",
    "Validations",
    "Commit",
)
MODE_HEADINGS = ("Mode", "Iter", "Time", "Avg", "Tokens", "Cost", "Of time", "Of cost")
CONFIRMED_WORD = "confirmed"
"""Outcome of a confirming iteration that came to its end: neither progress nor none."""
UNKNOWN = "-"
"""Shown for values that no agent has reported."""

CSV_COLUMNS = (
    "run",
    "iteration",
    "mode",
    "task_id",
    "task",
    "outcome",
    "clean",
    "started_at",
    "ended_at",
    "duration_seconds",
    "commit_hash",
    "commits",
    "files",
    "tasks_done",
    "input_tokens",
    "output_tokens",
    "cached_tokens",
    "cost_usd",
    "turns",
    "context_tokens",
    "context_window",
    "run_end",
    "failure",
    "cost_estimated",
    "has_progress",
    "is_stuck",
    "errors",
    "has_status_block",
    "completion_words",
    "clarification_words",
    "claimed_confidence",
    "claimed_summary",
    "claimed_pr_ready",
)
"""Columns of the CSV, in snake_case (docs/rules.md#names).

From ``has_status_block`` on they hold what the agent claims.
"""


def run_cells(run: RunMetrics, zone: tzinfo | None) -> tuple[str, ...]:
    """One run, below ``RUN_HEADINGS``."""
    costs = [one.cost_usd for one in run.iterations if one.cost_usd is not None]
    started = run.started_at
    return (
        run.run,
        UNKNOWN if started is None else f"{started.astimezone(zone):%m-%d %H:%M}",
        run.end,
        str(sum(one.counted for one in run.iterations)),
        str(sum(one.clean for one in run.iterations)),
        str(sum(one.tasks_done for one in run.iterations)),
        format_duration(run.seconds),
        _dollars(
            sum(costs) if costs else None, estimated=any(one.estimated for one in run.iterations)
        ),
    )


def iteration_cells(one: IterationMetrics) -> tuple[str, ...]:
    """One iteration, below ``ITERATION_HEADINGS``."""
    tokens = tokens_used(one)
    return (
        str(one.iteration),
        one.mode,
        _outcome(one),
        "" if one.task is None else " ".join(escape_control_chars(one.task.title).split()),
        str(one.tasks_done),
        str(one.files),
        UNKNOWN if tokens is None else str(tokens),
        _percent(context_share(one)),
        _dollars(one.cost_usd, estimated=one.estimated),
        format_duration(one.seconds),
        (one.commit or "")[:7],
    )


def _outcome(one: IterationMetrics) -> str:
    """``progress``, ``no progress, crashed``, ``cannot reach the API``."""
    if one.confirmed:
        return CONFIRMED_WORD
    return outcome_words(one.outcome, one.failure).removesuffix(", not counted")


def receipt_cells(receipt: TaskReceipt) -> tuple[str, ...]:
    """What one task took, below ``RECEIPT_HEADINGS``."""
    title = " ".join(escape_control_chars(receipt.task.title).split())
    commit = (receipt.commit or "")[:7]
    number = "" if receipt.iteration is None else str(receipt.iteration)
    if receipt.within is not None and not receipt.iterations:
        # Its iteration is in the receipt of the task with which it was finished.
        return (title, number, *("",) * (len(RECEIPT_HEADINGS) - 3), commit)
    failed = f" ({receipt.failed_validations} failed)" if receipt.failed_validations else ""
    return (
        title,
        number,
        str(receipt.iterations),
        str(receipt.attempts),
        str(receipt.retries),
        format_duration(receipt.seconds),
        format_duration(receipt.agent_seconds),
        UNKNOWN if receipt.tokens is None else str(receipt.tokens),
        _dollars(receipt.cost_usd, estimated=receipt.estimated),
        f"{receipt.validations}{failed}",
        commit,
    )


def mode_rows(total: TotalMetrics) -> list[tuple[str, ...]]:
    """The modes below ``MODE_HEADINGS``; none where there was only one, which the totals show."""
    if len(total.modes) < 2:
        return []
    seconds = sum(mode.seconds for mode in total.modes)
    return [
        (
            mode.mode,
            str(mode.iterations),
            format_duration(mode.seconds),
            _duration(mode.seconds / mode.iterations if mode.iterations else None),
            UNKNOWN if mode.tokens is None else str(mode.tokens),
            _dollars(mode.cost_usd, estimated=mode.estimated),
            _percent(mode.seconds / seconds if seconds else None),
            _percent(_share_of(mode.cost_usd, total.cost_usd)),
        )
        for mode in total.modes
    ]


def _review_lines(reviews: ReviewMetrics | None) -> Iterator[tuple[str, str]]:
    """What reviews found, and what they cost: whether the review cycle is worth it."""
    if reviews is None:
        return
    if reviews.findings_per_review is not None:
        cap = f" ({reviews.approved_at_cap} at the cap)" if reviews.approved_at_cap else ""
        found = (
            f"{count_of(reviews.findings, 'finding')} in {count_of(reviews.reviews, 'review')}, "
            f"{reviews.findings_per_review:.1f} a review"
        )
        yield (
            "Reviews",
            f"{found}; {reviews.with_findings} had findings, {reviews.approved} approved{cap}",
        )
    cost = ""
    if reviews.cost_usd is not None:
        dollars = _dollars(reviews.cost_usd, estimated=reviews.estimated)
        cost = f", {dollars} ({_percent(reviews.share_of_cost)} of it)"
    time = f"{format_duration(reviews.seconds)} ({_percent(reviews.share_of_time)} of the time)"
    yield "Review cost", f"{time}{cost}, fixes included"


def _share_of(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole


def total_lines(total: TotalMetrics) -> tuple[tuple[str, str], ...]:
    """The totals as pairs of name and value."""
    counts = ((total.answers, "answer"), (total.resets, "reset"), (total.edits, "edit"))
    hands = ", ".join(count_of(number, noun) for number, noun in counts)
    ends = ", ".join(f"{end} {n}" for end, n in total.ends.items())
    rate = total.human_intervention_rate
    work = (
        count_of(total.tasks_done, "task") + " done",
        count_of(total.commits, "commit"),
        _files_words(total),
    )
    failures = failure_counts(total.failures)
    usual, most = _percent(total.average_context), _percent(total.largest_context)
    context = f"{usual} of the window on average, {most} at most"
    return (
        ("Runs", f"{total.runs} ({ends})" if ends else str(total.runs)),
        ("Complete", f"{_percent(total.run_success_rate)} of finished runs"),
        ("Iterations", f"{total.iterations}, {_percent(total.iteration_success_rate)} clean"),
        ("Interventions", f"{UNKNOWN if rate is None else f'{rate:.2f}'} an iteration ({hands})"),
        ("Work", ", ".join(work)),
        ("Time", format_duration(total.seconds)),
        ("Avg/task", _duration(total.average_task_seconds)),
        ("Avg/iter", _duration(total.average_iteration_seconds)),
        ("Tokens", UNKNOWN if total.tokens is None else str(total.tokens)),
        ("Cost", _dollars(total.cost_usd, estimated=total.estimated)),
        ("Context", UNKNOWN if total.largest_context is None else context),
        *([("Failures", failures)] if failures else []),
        *_review_lines(total.reviews),
    )


def _files_words(total: TotalMetrics) -> str:
    """``3 files changed``: different files, as the summary of a run counts them."""
    at_least = "at least " if total.more_files else ""
    once = ", each counted once a run" if total.runs > 1 else ""
    return f"{at_least}{count_of(total.files, 'file')} changed{once}"


def to_csv(runs: Iterable[RunMetrics]) -> str:
    """The iterations of all runs as CSV (RFC 4180 with LF): a header, and a row for each that
    counted.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for run in runs:
        writer.writerows(_csv_row(run, one) for one in run.iterations if one.counted)
    return text.getvalue()


def _csv_row(run: RunMetrics, one: IterationMetrics) -> Sequence[object]:
    """Unknown values are empty."""
    return (
        one.run,
        one.iteration,
        one.mode,
        "" if one.task is None else _cell(one.task.id),
        "" if one.task is None else _cell(one.task.title),
        CONFIRMED_WORD if one.confirmed else one.outcome.value,
        _flag(one.clean),
        "" if one.started_at is None else to_wire_time(one.started_at.astimezone(UTC)),
        to_wire_time(one.ended_at),
        one.seconds,
        one.commit,
        one.commits,
        one.files,
        one.tasks_done,
        one.input_tokens,
        one.output_tokens,
        one.cached_tokens,
        one.cost_usd,
        one.turns,
        one.context_tokens,
        one.context_window,
        run.end,
        None if one.failure is None else one.failure.value,
        _flag(one.estimated),
        _flag(one.has_progress),
        _flag(one.is_stuck),
        len(one.errors),
        *_claims(one),
    )


def _claims(one: IterationMetrics) -> Sequence[object]:
    """Empty where no claims are recorded."""
    words, claims = " ".join(one.completion_words), one.claims
    if claims is None:
        return ("", words, "", "", "", "")
    return (
        _flag(claims.has_status_block),
        words,
        " ".join(claims.clarification_words),
        claims.confidence,
        _cell(claims.summary),
        "" if claims.pr_ready is None else _flag(claims.pr_ready),
    )


def _flag(value: bool) -> str:  # noqa: FBT001
    return "true" if value else "false"


def _cell(text: str) -> str:
    """Text from a plan as a cell that no spreadsheet takes for a formula."""
    shown = escape_control_chars(text)
    return f"'{shown}" if shown.lstrip()[:1] in _FORMULA else shown


_FORMULA = frozenset("=+-@")


def _percent(share: float | None) -> str:
    return UNKNOWN if share is None else f"{100 * share:.0f} %"


def _dollars(cost: float | None, *, estimated: bool) -> str:
    return UNKNOWN if cost is None else f"{'≈' if estimated else ''}${cost:.2f}"


def _duration(seconds: float | None) -> str:
    return UNKNOWN if seconds is None else format_duration(seconds)


_MARKS = {
    TaskState.DONE: "[x]",
    TaskState.SKIPPED: "[-]",
    TaskState.BLOCKED: "[!]",
    TaskState.IN_PROGRESS: "[~]",
    TaskState.TODO: "[ ]",
}


def archive_summary(
    title: str,
    branch: str | None,
    *,
    tasks: Iterable[Task],
    runs: Sequence[RunMetrics],
    files: Sequence[tuple[str, str]],
) -> str:
    """The text of ``summary.md``; ``files`` are pairs of original path and name in the archive."""
    lines = [f"# {plain_text(title)}", ""]
    if branch is not None:
        lines += [f"The branch was {plain_text(branch)}.", ""]
    listed = list(tasks)
    if listed:
        done = sum(task.state is TaskState.DONE for task in listed)
        lines += ["## Tasks", "", f"{done} of {len(listed)} done.", ""]
        lines += [
            f"{'  ' * task.depth}- {_MARKS[task.state]} {plain_text(task.title)}" for task in listed
        ]
        lines.append("")
    lines += ["## Runs", ""]
    if runs:
        lines += [f"- {name}: {value}" for name, value in total_lines(total_of(runs))]
        for run in runs:
            lines += ["", f"### {run.run}: {run.end}", ""]
            lines += markdown_table(ITERATION_HEADINGS, map(iteration_cells, run.iterations))
    else:
        lines.append("No runs.")
    lines += ["", "## Files", ""]
    lines += [f"- {plain_text(name)}: was {plain_text(path)}" for path, name in files]
    return "\n".join([*lines, ""])


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table, with its cells escaped."""
    return [
        f"| {' | '.join(headings)} |",
        f"|{'---|' * len(headings)}",
        *(f"| {' | '.join(map(plain_text, row))} |" for row in rows),
    ]


def plain_text(text: str) -> str:
    """Text on one line, escaped for Markdown."""
    return _MARKUP.sub(r"\\\g<0>", " ".join(escape_control_chars(text).split()))


_MARKUP = re.compile(r"[\\|<>\[\]`*]|(?<!\w)_|_(?!\w)")
