"""``ralph watch``: follows a run in any terminal, on the full screen or in plain form."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ralph_ls.cli.commands.status import show_status
from ralph_ls.cli.context import CommandWorktree, current_worktree
from ralph_ls.cli.flags import Json
from ralph_ls.cli.output import print_text
from ralph_ls.cli.parameters import flag
from ralph_ls.cli.show.live import RunViewer, can_show_screen, choose_renderer, reading_keys
from ralph_ls.cli.show.renderers import header_of
from ralph_ls.core.views.text.receipts import receipt_lines
from ralph_ls.core.views.text.run_end import next_step, summary_lines
from ralph_ls.protocol.run.state import RunState
from ralph_ls.store.project.github_records import lines_to_close
from ralph_ls.store.project.plan_file import skipped_optional_titles
from ralph_ls.store.run.journal import offset_behind
from ralph_ls.store.run.lock import is_held, read_owner
from ralph_ls.store.run.run_view import state_before
from ralph_ls.store.run.runs import FoundRun
from ralph_ls.store.run.summary_file import shown_summary

if TYPE_CHECKING:
    from ralph_ls.cli.screen.app import OtherRun
    from ralph_ls.cli.show.key_actions import KeyActions


def watch(
    as_json: Json = False,
    plain: Annotated[
        bool, flag("--plain", text="Print lines instead of the full screen; for screen readers.")
    ] = False,
    in_run: Annotated[int | None, typer.Option(hidden=True)] = None,
) -> None:
    """Follow the current run live until it ends.

    On a terminal, on the full screen; press ? for the keys, f for the plain form. Ctrl-C stops
    watching; the run continues. After kill -9, type reset.
    """
    place = current_worktree()
    found = place.require_run()
    form = _Form.PLAIN if as_json or plain or not can_show_screen() else _Form.SCREEN
    while form is not _Form.NONE:
        if form is _Form.SCREEN:
            form = _watch_on_screen(place, in_run=in_run)
        else:
            form = _watch_plainly(place, found, as_json=as_json)


class _Form(StrEnum):
    """How the run is shown next."""

    SCREEN = "screen"
    PLAIN = "plain"
    NONE = "none"


def _watch_on_screen(place: CommandWorktree, *, in_run: int | None) -> _Form:
    from ralph_ls.cli.screen.open_screen import ScreenEnd, show_screen

    root = place.worktree.root
    find_others = partial(other_runs, root, only_lanes=in_run is not None)
    end = show_screen(place, find_others=find_others, in_run=in_run)
    if in_run is not None:
        return _Form.NONE
    if end in {ScreenEnd.PLAIN, ScreenEnd.FAILED}:
        return _Form.PLAIN
    if place.require_run().live:
        print_text("The run continues. Watch it again: ralph watch")
    else:
        _show_current_status(place)
    return _Form.NONE


def other_runs(root: Path, *, only_lanes: bool = False) -> list[OtherRun]:
    """The live runs of the user; with ``only_lanes`` those of the lanes of the run in ``root``."""
    from ralph_ls.cli.commands.runs.everywhere import live_runs
    from ralph_ls.cli.screen.app import OtherRun
    from ralph_ls.core.views.text.status import needs_user
    from ralph_ls.store.run.runs import lane_origin

    others = []
    for worktree, state, found in live_runs():
        lane = lane_origin(worktree, state)
        is_own = lane is not None and lane.root == root
        if only_lanes and not is_own:
            continue
        title = ""
        if lane is not None:
            title = f"lane {lane.number}" + ("" if is_own else f" of {lane.root.name}")
        others.append(
            OtherRun(
                place=CommandWorktree(worktree=worktree, state=state),
                needs_user=needs_user(found.state, found.phase),
                title=title,
                is_lane=lane is not None,
            )
        )
    return sorted(others, key=lambda one: one.title)


def _watch_plainly(place: CommandWorktree, found: FoundRun, *, as_json: bool) -> _Form:
    known = None if as_json else _before_this_iteration(found)
    if known is not None:
        for line in header_of(known):
            print_text(f"▸ {line}")
    left, changed = threading.Event(), threading.Event()

    def to_screen() -> None:
        changed.set()
        left.set()

    with _keys(place, left.set, as_json=as_json) as keys:
        if keys is not None and can_show_screen():
            keys.full_screen = to_screen
        viewer = RunViewer(
            found.files,
            choose_renderer(as_json=as_json, state=known, keys=keys),
            is_live=lambda: _has_engine(place, found.state.run),
            after_seq=0 if known is None else known.seq,
            offset=0 if known is None else offset_behind(found.files.journal, known.seq),
            output=not as_json,
        )
        viewer.wait(left)
    if changed.is_set():
        return _Form.SCREEN
    if left.is_set():
        print_text("The run continues. Watch it again: ralph watch")
    elif not as_json:
        _show_current_status(place)
    return _Form.NONE


def _keys(
    place: CommandWorktree, leave: Callable[[], None], *, as_json: bool
) -> AbstractContextManager[KeyActions | None]:
    return nullcontext() if as_json else reading_keys(place, "ralph watch", leave=leave)


def _has_engine(place: CommandWorktree, run: str) -> bool:
    """Whether an engine has this very run, and not a later one."""
    owner = read_owner(place.worktree.git_dir)
    return owner is not None and owner.run == run and is_held(place.worktree.git_dir)


def _before_this_iteration(found: FoundRun) -> RunState:
    """What a late viewer need not be shown event by event: all before the open iteration."""
    current = found.state.current
    return state_before(found.files, found.state.seq if current is None else current.started.seq)


def _show_current_status(place: CommandWorktree) -> None:
    found = place.require_run()
    if found.state.end is None:
        show_status(found)
        return
    where = shown_summary(found.state.config, found.files)
    lines = summary_lines(found.state, where, optional=skipped_optional_titles(found.state))
    lines += (*receipt_lines(found.state), *lines_to_close(found.state, os.environ))
    print_text("\n" + "\n".join(lines))
    if (step := next_step(found.state)) is not None:
        print_text(f"Next:        {step}")
