"""Run report: one page about a run, for a reader who was not there, as Markdown or HTML.

The page is a document of neutral blocks, so that both forms have the same content, and its figures
are those of the summary, of `ralph runs` and of the receipts: nothing is computed here.

The HTML is one file without references, readable in light, dark and print. Every text is escaped,
and a policy in the page forbids whatever an escape might miss. Its only script is that of the
charts, which a browser without scripts leaves out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import tzinfo
from html import escape

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


# --------------------------------------------------------------------------------------------- HTML


STYLE = """
:root { color-scheme: light dark; --text: #1f2328; --faint: #59636e; --line: #d1d9e0;
  --back: #ffffff; --soft: #f6f8fa; --accent: #0a5fc2; }
@media (prefers-color-scheme: dark) { :root { --text: #e6edf3; --faint: #9198a1; --line: #3d444d;
  --back: #0d1117; --soft: #151b23; --accent: #79b8ff; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 72rem; padding: 2rem 1.25rem 4rem; background: var(--back);
  color: var(--text); font: 15px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0; }
header p { color: var(--faint); margin: .35rem 0 0; }
h2 { border-bottom: 1px solid var(--line); font-size: 1.15rem; margin: 2.2rem 0 .8rem;
  padding-bottom: .3rem; }
dl { display: grid; gap: .25rem 1.25rem; grid-template-columns: max-content 1fr; margin: 0; }
dt { color: var(--faint); }
dd { font-variant-numeric: tabular-nums; margin: 0; }
ul { margin: 0; padding-left: 1.2rem; }
li + li { margin-top: .35rem; }
.table { border: 1px solid var(--line); border-radius: 6px; overflow-x: auto; }
table { border-collapse: collapse; font-size: .9rem; font-variant-numeric: tabular-nums;
  width: 100%; }
th, td { padding: .4rem .7rem; text-align: left; vertical-align: top; white-space: nowrap; }
th { background: var(--soft); color: var(--faint); font-weight: 600; }
tbody tr { border-top: 1px solid var(--line); }
td.wide { min-width: 14rem; white-space: normal; }
@media print { :root { color-scheme: light; --text: #000; --faint: #444; --line: #bbb;
  --back: #fff; --soft: #f2f2f2; } body { font-size: 10pt; max-width: none; padding: 0; }
  .table { overflow: visible; } th, td { padding: .2rem .35rem; white-space: normal; }
  h2 { break-after: avoid; } tr, li { break-inside: avoid; } }
"""


_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedPage:
    """Charts in the report: what they need of its policy, style and body."""

    policy: str
    style: str
    body: str


def to_html(page: ReportPage, charts: EmbeddedPage | None = None) -> str:
    """The page as one HTML file; the charts come behind its first section, the summary."""
    title = escape(page.title)
    policy = _POLICY if charts is None else charts.policy
    first, *others = ("\n".join(_section(section)) for section in page.sections)
    return "\n".join(
        [
            "<!doctype html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">',
            f"<title>{title}</title>",
            f"<style>{STYLE}</style>",
            *([] if charts is None else [f"<style>{charts.style}</style>"]),
            "</head>",
            "<body>",
            f"<header><h1>{title}</h1><p>{escape(page.subtitle)}</p></header>",
            "<main>",
            first,
            *([] if charts is None else [charts.body]),
            *others,
            "</main>",
            "</body>",
            "</html>",
            "",
        ]
    )


def _section(section: Section) -> Iterator[str]:
    yield f"<section><h2>{escape(section.title)}</h2>"
    if section.facts:
        pairs = (f"<dt>{escape(n)}</dt><dd>{escape(value)}</dd>" for n, value in section.facts)
        yield f"<dl>{''.join(pairs)}</dl>"
    if section.points:
        yield f"<ul>{''.join(f'<li>{escape(point)}</li>' for point in section.points)}</ul>"
    if section.rows:
        yield '<div class="table"><table><thead><tr>'
        yield "".join(f'<th scope="col">{escape(name)}</th>' for name in section.headings)
        yield "</tr></thead><tbody>"
        yield from (_row(section, row) for row in section.rows)
        yield "</tbody></table></div>"
    yield "</section>"


def _row(section: Section, row: Sequence[str]) -> str:
    cells = zip(section.headings, row, strict=True)
    return f"<tr>{''.join(_cell(text, wide=name == section.wide) for name, text in cells)}</tr>"


def _cell(text: str, *, wide: bool) -> str:
    return f'<td class="wide">{escape(text)}</td>' if wide else f"<td>{escape(text)}</td>"
