"""Verbs about finished work: ``archive``, ``export`` and ``report``.

``archive`` moves the documents of finished work away and resets the plan; the others change
nothing.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from ralph_ls.cli.context import current_worktree
from ralph_ls.cli.flags import Json
from ralph_ls.cli.output import emit_document, print_text, write_json
from ralph_ls.cli.parameters import argument, flag, option
from ralph_ls.engine.clock import SystemClock
from ralph_ls.protocol.errors import UsageError
from ralph_ls.protocol.verb_output import Archived, ArchivedFile
from ralph_ls.store.figures import read_statistics


def archive(
    label: Annotated[
        str | None, option("NAME", "Name of the archive.", default="the branch")
    ] = None,
    include_logs: Annotated[bool, flag("--include-logs", text="Archive the logs too.")] = False,
    dry_run: Annotated[
        bool, flag("--dry-run", text="Show what would move, and move nothing.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Move finished plans and progress to archive/.

    A summary is written beside them, and the plan starts empty again.
    """
    from ralph_ls.engine.plan import document_archive
    from ralph_ls.store.project.config_file import load_settings, require_one_profile

    place = current_worktree()
    settings = load_settings(place.worktree.root, os.environ, {})
    require_one_profile(settings)
    today = SystemClock().local().date()
    order = document_archive.ArchiveOrder(today=today, label=label, include_logs=include_logs)
    if dry_run:
        found = document_archive.preview_archive(
            place.worktree, place.state, settings.config, order
        )
    else:
        config = settings.config
        found = document_archive.archive(place.worktree, place.state, config, order, os.environ)
    if as_json:
        moved = tuple(ArchivedFile(path=move.path, name=move.name) for move in found.moves)
        emit_document(
            Archived(
                done=not dry_run,
                folder=found.folder,
                moved=moved,
                written=tuple(found.written),
                notes=tuple(found.notes),
            )
        )
        return
    print_text(f"{'Would be archived' if dry_run else 'Archived'} in {found.folder}:")
    for move in found.moves:
        print_text(f"  {move.path}" + ("" if move.path.endswith(move.name) else f" as {move.name}"))
    print_text(f"  {document_archive.SUMMARY}, a summary of the work")
    if found.written:
        print_text(f"{'Would start' if dry_run else 'Starts'} empty: {', '.join(found.written)}")
    for note in found.notes:
        print_text(f"Note: {note}")
    if dry_run:
        print_text("Nothing was changed: this was a dry run")
    elif found.written:
        print_text(f"Next: write the next tasks into {found.written[0]}, then: ralph run")
    else:
        print_text("Next: ralph run")


if TYPE_CHECKING:
    from ralph_ls.core.views.report.run_report import EmbeddedPage, ReportPage


OfRun = Annotated[
    str | None,
    option(
        "RUN",
        "Only this run, by the beginning or end of its id in: ralph runs.",
        default="all runs",
    ),
]


def export(
    output: Annotated[str | None, option("csv|json", "Format.", "--format", default="csv")] = None,
    run: OfRun = None,
    as_json: Json = False,
) -> None:
    """Print every iteration of the runs here as CSV or JSON."""
    if output not in {None, "csv", "json"}:
        raise UsageError(f"unknown format {output!r}; use csv or json")
    if as_json and output == "csv":
        raise UsageError("--json is the same as --format json; leave out --format csv")
    place = current_worktree()
    found = read_statistics(place.worktree, place.state, run=run)
    if as_json or output == "json":
        write_json(found.model_dump_json(by_alias=True, exclude_none=True, indent=2))
    else:
        from ralph_ls.core.views.report.metrics_tables import to_csv

        sys.stdout.write(to_csv(found.runs))


def report(
    run: Annotated[
        str | None, argument("RUN", "Beginning or end of the run's id.", default="the last run")
    ] = None,
    form: Annotated[
        str | None, option("md|html", "Format.", "--format", default="that of FILE, else md")
    ] = None,
    output: Annotated[
        Path | None, option("FILE", "Write to this file.", default="standard output")
    ] = None,
) -> None:
    """Write a one-page report about a run.

    It shows the work, its cost and what is left. Secrets are redacted.
    """
    from ralph_ls.core.redaction.redactor import Redactor, secrets_of
    from ralph_ls.core.views.model.control_chars import escape_control_chars
    from ralph_ls.core.views.report.run_report import to_html, to_markdown
    from ralph_ls.store.files import write_atomic

    if form not in {None, "md", "html"}:
        raise UsageError(f"unknown format {form!r}; use md or html")
    is_html = form == "html" or (
        form is None and output is not None and output.suffix in {".html", ".htm"}
    )
    redactor = Redactor(secrets_of(os.environ))
    page = _report_page(run).mapped(lambda text: escape_control_chars(redactor.redact(text)))
    text = to_html(page, _charts(run)) if is_html else to_markdown(page)
    if output is None:
        sys.stdout.write(text)
        return
    write_atomic(output, text.encode(), mode=0o644)
    print_text(f"Wrote {output}")


def _charts(run: str | None) -> EmbeddedPage:
    """The dashboard of this run, or of the newest one here, as a part of the report."""
    from ralph_ls.cli.commands.runs.dashboard import read
    from ralph_ls.cli.dashboard.page import dashboard_parts
    from ralph_ls.core.views.report.run_report import STYLE, EmbeddedPage

    place = current_worktree()
    named = place.require_run().state.run if run is None else run
    figures = read([(place.worktree, place.state)], run=named)
    parts = dashboard_parts(figures, form="report", other_styles=(STYLE,))
    return EmbeddedPage(policy=parts.policy, style=parts.style, body=parts.body)


def _report_page(run: str | None) -> ReportPage:
    """The page about this run, or about the newest one here."""
    from ralph_ls.core.views.report.run_report import run_report
    from ralph_ls.core.views.text.run_end import summary_lines
    from ralph_ls.store.figures import read_runs
    from ralph_ls.store.layout import StateFolder
    from ralph_ls.store.project.plan_file import skipped_optional_titles
    from ralph_ls.store.run.journal import each_event
    from ralph_ls.store.run.runs import load_state
    from ralph_ls.store.run.summary_file import shown_summary

    place = current_worktree()
    newest = place.require_run()
    (measured,) = read_runs(place.worktree, place.state, run=run or newest.state.run)
    files = StateFolder(folder=newest.files.folder.parent.parent).run(measured.run)
    state = load_state(files)
    # What the plan has now says nothing about an earlier run.
    optional = skipped_optional_titles(state) if state.run == newest.state.run else ()
    lines = summary_lines(state, shown_summary(state.config, files), optional=optional)
    zone = SystemClock().local().tzinfo
    return run_report(state, measured, each_event(files.journal), summary=lines, zone=zone)
