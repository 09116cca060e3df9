"""``ralph prune``: removes output and messages of earlier runs, after showing which.

It acts on the work tree around the working folder, with ``--all`` on every one whose state is in
the state folder, each by its own settings.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Annotated

import typer

from ralph_ls.cli.context import current_worktree
from ralph_ls.cli.flags import Json, Yes
from ralph_ls.cli.output import emit_document, print_error, print_text
from ralph_ls.cli.parameters import flag, option
from ralph_ls.core.loop.rules.health import bytes_words
from ralph_ls.core.loop.rules.retention import (
    RunToPrune,
    StoredRun,
    choose_runs,
    size_setting,
)
from ralph_ls.core.plurals import count_of
from ralph_ls.engine.clock import SystemClock
from ralph_ls.protocol.config.tables import StateConfig, to_bytes
from ralph_ls.protocol.errors import RalphError, UsageError
from ralph_ls.protocol.verb_output import Pruned, PrunedRun
from ralph_ls.store.files import names_in
from ralph_ls.store.layout import StateFolder, state_root
from ralph_ls.store.project.config_file import load_settings
from ralph_ls.store.run.lock import read_owner
from ralph_ls.store.run.pruning import PruningResult, prune_runs, stored_runs
from ralph_ls.store.run.state_index import root_of


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """The state of one work tree, and what pruning would remove of it."""

    state: StateFolder
    title: str
    limits: StateConfig
    stored: Sequence[StoredRun]
    chosen: Sequence[RunToPrune]


def prune_verb(
    everywhere: Annotated[bool, flag("--all", text="Every work tree, not only this one.")] = False,
    keep_days: Annotated[
        int | None,
        option("DAYS", "Keep output for so many days.", default="from the settings", min=0),
    ] = None,
    max_bytes: Annotated[
        str | None,
        option(
            "SIZE",
            "Keep at most so much output a work tree, such as '1 GB'.",
            default="from the settings",
        ),
    ] = None,
    dry_run: Annotated[
        bool, flag("--dry-run", text="Show what would be deleted, and delete nothing.")
    ] = False,
    yes: Yes = False,
    as_json: Json = False,
) -> None:
    """Delete the output of old runs.

    Their figures stay, and all of the last run.
    """
    if everywhere and not dry_run:
        from ralph_ls.store.run.ancestry import require_outside_all

        require_outside_all(state_root(os.environ) / "worktrees", "ralph prune --all")
    given = _given_limits(keep_days, max_bytes)
    now = SystemClock().now()
    places = list(_everywhere(given, now) if everywhere else [_here(given, now)])
    if as_json:
        done = [] if dry_run else _prune(places, now, yes=yes, can_ask=False)
        emit_document(_pruned(places, done, is_done=not dry_run))
        return
    _show(places)
    if not any(place.chosen for place in places):
        return
    if dry_run:
        print_text("Nothing was deleted: this was a dry run")
        return
    _show_done(_prune(places, now, yes=yes, can_ask=sys.stdin.isatty()))


def _prune(
    places: Sequence[_Place], now: datetime, *, yes: bool, can_ask: bool
) -> list[PruningResult]:
    """Remove what was chosen, if the user agrees."""
    if any(place.chosen for place in places) and not yes:
        if not can_ask:
            raise UsageError(
                "deleting needs a terminal to ask on, or --yes; look first: ralph prune --dry-run"
            )
        if not typer.confirm("Delete this output?", default=False):
            print_text("Nothing was deleted")
            raise typer.Exit(1)
    return [prune_runs(place.state, place.chosen, now) for place in places]


def _given_limits(keep_days: int | None, max_bytes: str | None) -> dict[str, int]:
    given = {} if keep_days is None else {"keep_days": keep_days}
    if max_bytes is None:
        return given
    try:
        size = to_bytes(max_bytes)
    except ValueError as error:
        raise UsageError(f"--max-bytes: {error}") from error
    return given | {"max_bytes": int(str(size))}


def _here(given: dict[str, int], now: datetime) -> _Place:
    here = current_worktree()
    found = here.find_run()
    # The newest run has the actual location of the state.
    state = here.state if found is None else StateFolder(folder=found.files.folder.parent.parent)
    limits = load_settings(here.worktree.root, os.environ, {}).config.state
    owner = read_owner(here.worktree.git_dir)
    kept = () if owner is None else (owner.run,)
    return _place(state, str(here.worktree.root), limits, given, now, kept)


def _everywhere(given: dict[str, int], now: datetime) -> Iterator[_Place]:
    """Every work tree that has state here; one whose settings cannot be read is left alone."""
    folder = state_root(os.environ) / "worktrees"
    for state in (StateFolder(folder=folder / name) for name in names_in(folder)):
        if not state.run_ids():
            continue
        root = root_of(state)
        limits = StateConfig()
        if root is not None and root.is_dir():
            try:
                limits = load_settings(root, os.environ, {}).config.state
            except RalphError as error:
                print_error(f"the runs of {root} are skipped: {error.message}")
                continue
        is_gone = root is not None and not root.is_dir()
        title = f"{root or state.folder}{' (gone)' if is_gone else ''}"
        yield _place(state, title, limits, given, now, keeps_last=not is_gone)


def _place(
    state: StateFolder,
    title: str,
    limits: StateConfig,
    given: dict[str, int],
    now: datetime,
    kept: Sequence[str] = (),
    *,
    keeps_last: bool = True,
) -> _Place:
    limits = limits.model_copy(update=given)
    stored = stored_runs(state, kept=kept, keeps_last=keeps_last)
    chosen = [_as_given(one, given) for one in choose_runs(stored, limits, now)]
    return _Place(state=state, title=title, limits=limits, stored=stored, chosen=chosen)


def _as_given(one: RunToPrune, given: dict[str, int]) -> RunToPrune:
    """The choice, with the flag as its reason where the flag gave the limit."""
    key = one.setting.removeprefix("[state] ").partition(" ")[0]
    if one.stored.pruned_by is not None or key not in given:
        return one
    value = given[key] if key == "keep_days" else f'"{size_setting(given[key])}"'
    return replace(one, setting=f"ralph prune --{key.replace('_', '-')} {value}")


def _show(places: Sequence[_Place]) -> None:
    for place in places:
        if place.chosen:
            _show_table(place)
    chosen = [one.stored for place in places for one in place.chosen]
    stored = [one for place in places for one in place.stored]
    total = bytes_words(sum(one.size for one in stored))
    freed = bytes_words(sum(one.removable for one in chosen))
    where = "here" if len(places) == 1 else f"in {len(places)} work trees"
    print_text(f"{count_of(len(stored), 'run')} {where}: {total}; can be freed: {freed}")
    if not chosen:
        print_text(f"Nothing to delete{_limits_words(places)}")


def _limits_words(places: Sequence[_Place]) -> str:
    """By which limits, where all places have the same."""
    limits = {(place.limits.keep_days, place.limits.max_bytes) for place in places}
    if len(limits) != 1:
        return ""
    days, size = limits.pop()
    age = f"for {count_of(days, 'day')}" if days else "at any age"
    most = f"up to {size_setting(size)} in all" if size else "at any size"
    return f": output is kept {age} and {most}, and always that of the last run"


def _show_table(place: _Place) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    zone = SystemClock().local().tzinfo
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("Run", "Ended", "Files", "Size", "Deleted by"):
        is_number = heading in {"Files", "Size"}
        table.add_column(heading, justify="right" if is_number else "left", no_wrap=True)
    for one in place.chosen:
        stored = one.stored
        ended = f"{stored.ended_at.astimezone(zone):%Y-%m-%d %H:%M}"
        cells = (stored.run, ended, str(stored.n_files), bytes_words(stored.removable), one.setting)
        table.add_row(*(Text(cell) for cell in cells))
    print_text(place.title)
    width = None if sys.stdout.isatty() else 140
    Console(width=width, highlight=False).print(table)
    print_text("")


def _show_done(done: Sequence[PruningResult]) -> None:
    runs, freed = sum(one.runs for one in done), sum(one.bytes for one in done)
    print_text(f"Deleted the output of {count_of(runs, 'run')}: {bytes_words(freed)} freed")
    for one in done:
        if one.problem is not None:
            print_text(f"Note: {one.problem}; delete it yourself, or try again: ralph prune")


def _pruned(places: Sequence[_Place], done: Sequence[PruningResult], *, is_done: bool) -> Pruned:
    return Pruned(
        done=is_done,
        bytes=sum(one.size for place in places for one in place.stored),
        freed=sum(one.bytes for one in done),
        problems=tuple(one.problem for one in done if one.problem is not None),
        runs=tuple(
            PrunedRun(
                workspace=place.title,
                run=one.stored.run,
                ended_at=one.stored.ended_at,
                files=one.stored.n_files,
                bytes=one.stored.removable,
                setting=one.setting,
            )
            for place in places
            for one in place.chosen
        ),
    )
