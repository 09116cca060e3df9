"""Run report: one page about a run, for a reader who was not there.

The page is a document of neutral blocks, so that Markdown and HTML have the same content, and its
figures are those of the summary, of `ralph runs` and of the receipts: nothing is computed here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo

from ralph_ls.core.loop.rules.retention import pruned_words
from ralph_ls.core.views.model.tasks import after_attempts
from ralph_ls.core.views.model.words import SHORT_HASH, split_text
from ralph_ls.core.views.report.metrics_tables import (
    ITERATION_HEADINGS,
    MODE_HEADINGS,
    RECEIPT_HEADINGS,
    iteration_cells,
    markdown_table,
    mode_rows,
    plain_text,
    receipt_cells,
    total_lines,
)
from ralph_ls.core.views.report.sums import total_of
from ralph_ls.core.views.text.receipts import receipt_words
from ralph_ls.core.views.text.summary import run_lines
from ralph_ls.protocol.json_output import RunMetrics
from ralph_ls.protocol.run.events import (
    Committed,
    EventBase,
    EvidenceGathered,
    GuardReverted,
    RalphStatusUpdate,
    TaskSetAside,
    Warned,
)
from ralph_ls.protocol.run.state import RunState

MAX_CLAIM_CHARS = 600
"""Characters of what an agent says that it did in one iteration."""

COMMIT_HEADINGS = ("Commit", "#", "By", "Files", "Subject")


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One section of a page: any of its parts may be empty."""

    title: str
    facts: tuple[tuple[str, str], ...] = ()
    points: tuple[str, ...] = ()
    headings: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    wide: str = ""
    """The heading of the column whose texts may be long."""

    @property
    def is_empty(self) -> bool:
        return not (self.facts or self.points or self.rows)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPage:
    """A page about a run, before it is written in a format."""

    title: str
    subtitle: str
    sections: tuple[Section, ...] = ()

    def mapped(self, change: Callable[[str], str]) -> ReportPage:
        """The page with every text of it changed."""
        return ReportPage(
            title=change(self.title),
            subtitle=change(self.subtitle),
            sections=tuple(
                replace(
                    one,
                    facts=tuple((change(name), change(value)) for name, value in one.facts),
                    points=tuple(map(change, one.points)),
                    rows=tuple(tuple(map(change, row)) for row in one.rows),
                )
                for one in self.sections
            ),
        )


def run_report(
    state: RunState,
    run: RunMetrics,
    events: Iterable[EventBase],
    *,
    summary: Sequence[str],
    zone: tzinfo | None = None,
) -> ReportPage:
    """The page about a run; ``summary`` are the lines that the run's end prints."""
    found = _Found()
    for event in events:
        found.enter(event)
    total = total_of([run])
    pruned = None if run.pruned is None else pruned_words(run.run, run.pruned)
    sections = (
        Section(title="Summary", facts=tuple(_summary_facts(summary, pruned))),
        Section(title="What was done", points=tuple(_done(state, run, found))),
        Section(
            title="Cost of each finished task",
            headings=RECEIPT_HEADINGS,
            rows=tuple(map(receipt_cells, run.receipts)),
            wide="Task",
        ),
        Section(title="Set aside", points=tuple(_set_aside(found))),
        Section(
            title="Iterations",
            headings=ITERATION_HEADINGS,
            rows=tuple(map(iteration_cells, run.iterations)),
            wide="Task",
        ),
        Section(title="Modes", headings=MODE_HEADINGS, rows=tuple(mode_rows(total))),
        Section(title="Figures", facts=total_lines(total)[2:]),
        Section(
            title="Commits",
            headings=COMMIT_HEADINGS,
            rows=tuple(found.commits.values()),
            wide="Subject",
        ),
        Section(title="Warnings", points=tuple(_warnings(found))),
        Section(title="Settings", points=tuple(run_lines(state))),
    )
    return ReportPage(
        title=f"Ralph run {run.run}: {run.end}",
        subtitle=_subtitle(state, run, zone),
        sections=tuple(one for one in sections if not one.is_empty),
    )


def to_markdown(page: ReportPage) -> str:
    """The page as Markdown, with every text of it escaped."""
    lines = [f"# {plain_text(page.title)}", "", plain_text(page.subtitle), ""]
    for section in page.sections:
        lines += [f"## {section.title}", ""]
        lines += [f"- **{plain_text(name)}**: {plain_text(value)}" for name, value in section.facts]
        lines += [f"- {plain_text(point)}" for point in section.points]
        if section.rows:
            lines += markdown_table(section.headings, section.rows)
        lines.append("")
    return "\n".join(lines)


@dataclass(slots=True)
class _Found:
    """What the metrics do not have, while the journal is read."""

    claims: dict[int, str] = field(default_factory=dict)
    """What the agent says that it did, by start."""
    set_aside: dict[str, TaskSetAside] = field(default_factory=dict)
    warnings: dict[str, list[int]] = field(default_factory=dict)
    """Message to the iterations that had it; 0 is none."""
    commits: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Rows below ``COMMIT_HEADINGS``, by hash."""

    def enter(self, event: EventBase) -> None:
        match event:
            case RalphStatusUpdate(report=report):
                self.claims[event.start] = report.work_summary
            case TaskSetAside(task=task):
                self.set_aside[task.id] = event
            case Warned(message=message):
                self.warnings.setdefault(message, []).append(event.iteration or 0)
            case EvidenceGathered(evidence=evidence):
                for task_id in evidence.tasks_done:
                    self.set_aside.pop(task_id, None)
                for one in evidence.commits:
                    by = "user" if one.by_person else "agent"
                    self._commit(one.hash, event.iteration, by, one.files, one.subject)
            case Committed():
                self._commit(event.commit, event.iteration, "loop", event.files, event.subject)
            case GuardReverted(commit=str(commit)):
                self._commit(commit, event.iteration, "loop", None, f"restore {event.path}")
            case _:
                pass

    def _commit(
        self, commit: str, iteration: int, by: str, files: int | None, subject: str
    ) -> None:
        n_files = "" if files is None else str(files)
        row = (commit[:SHORT_HASH], str(iteration), by, n_files, subject)
        self.commits.setdefault(commit, row)


def _subtitle(state: RunState, run: RunMetrics, zone: tzinfo | None) -> str:
    """The project, and when the run was; never a path of the machine."""
    name = state.workspace.replace("\\", "/").rstrip("/").rpartition("/")[2]
    times = [
        f"{word} {at.astimezone(zone):%Y-%m-%d %H:%M %Z}".rstrip()
        for word, at in (("started", run.started_at), ("ended", run.ended_at))
        if at is not None
    ]
    return ", ".join([name, *times])


def _summary_facts(summary: Sequence[str], pruned: str | None) -> Iterator[tuple[str, str]]:
    """The lines of a summary that have a name; sections of the page have the rest."""
    for line in summary:
        name, colon, value = line.partition(":")
        if colon and value.strip() and not line.startswith(" "):
            yield name, value.strip()
    if pruned is not None:
        yield "Output", pruned


def _done(state: RunState, run: RunMetrics, found: _Found) -> Iterator[str]:
    """Each finished task with what its agent says that it did, then why the run ended."""
    for receipt in run.receipts:
        commit = f", commit {receipt.commit[:SHORT_HASH]}" if receipt.commit else ""
        along = "" if receipt.within is None else f", {receipt_words(receipt)}"
        claim = found.claims.get(receipt.start or 0, "")
        words = f". The agent reports: {_cut(claim)}" if claim else ""
        yield f"{receipt.task.title}: iteration {receipt.iteration}{commit}{along}{words}"
    if state.end is not None:
        yield f"The run ended: {state.end.message}"


def _set_aside(found: _Found) -> Iterator[str]:
    for event in found.set_aside.values():
        where = f"iteration {event.iteration}{after_attempts(event)}"
        yield f"{event.task.title} ({where}): {_cut(event.reason)}"


def _warnings(found: _Found) -> Iterator[str]:
    for message, iterations in found.warnings.items():
        numbers = ", ".join(str(one) for one in dict.fromkeys(iterations) if one)
        yield f"{_cut(message)}{f' (iteration {numbers})' if numbers else ''}"


def _cut(text: str) -> str:
    first, rest = split_text(" ".join(text.split()), MAX_CLAIM_CHARS)
    return f"{first} …" if rest else first
