"""``ralph archive``: put the documents of work that is done away, and begin anew."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from ralph_ls.cli.context import here
from ralph_ls.cli.flags import Json
from ralph_ls.cli.output import emit_json, say
from ralph_ls.engine.clock import SystemClock
from ralph_ls.engine.plan import document_archive
from ralph_ls.store.project.config_file import load_settings, require_one_profile


def archive(
    label: Annotated[
        str | None, typer.Option(metavar="L", help="What it is called; the branch where not given.")
    ] = None,
    include_logs: Annotated[
        bool, typer.Option("--include-logs", help="Put the folder of the logs away, too.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be moved.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Move plan, requirements and progress to archive/, with a summary; the plan begins anew."""
    place = here()
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
        emit_json(
            {
                "done": not dry_run,
                "folder": found.folder,
                "moved": [{"path": move.path, "name": move.name} for move in found.moves],
                "written": list(found.written),
                "notes": list(found.notes),
            }
        )
        return
    say(f"{'Would be archived' if dry_run else 'Archived'} in {found.folder}:")
    for move in found.moves:
        say(f"  {move.path}" + ("" if move.path.endswith(move.name) else f" as {move.name}"))
    say(f"  {document_archive.SUMMARY}, which says what was done")
    if found.written:
        say(f"{'Would begin' if dry_run else 'Begins'} anew: {', '.join(found.written)}")
    for note in found.notes:
        say(f"Note: {note}")
    if dry_run:
        say("Nothing was changed: this was a dry run")
    elif found.written:
        say(f"Next: write what comes next into {found.written[0]}, then: ralph run")
    else:
        say("Next: ralph run")
