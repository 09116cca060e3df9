"""``ralph ps``: the user's live and waiting runs, in every repository. It changes nothing."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from ralph_ls.cli.flags import Json
from ralph_ls.cli.output import print_table, print_text, write_json
from ralph_ls.engine.clock import SystemClock
from ralph_ls.protocol.json_output import RunAnywhere, RunsEverywhere
from ralph_ls.store.fleet_waiting import waiting_runs
from ralph_ls.store.layout import StateFolder, Worktree, state_root
from ralph_ls.store.run import runs
from ralph_ls.store.run.lock import is_held
from ralph_ls.store.run.runs import FoundRun
from ralph_ls.store.run.state_index import every_worktree

HEADINGS = ("Where", "State", "Iter", "Task", "Plan", "Cost", "Needs you")

SHOWN_PATH = 32
"""Characters of a path; its end says more than its beginning."""


def ps_verb(as_json: Json = False) -> None:
    """List your runs that are live or wait for you, in all repositories."""
    zone = SystemClock().local().tzinfo
    found = runs.runs_anywhere(every_worktree(state_root(os.environ)), zone=zone)
    found += waiting_runs(os.environ)
    if as_json:
        shown = RunsEverywhere(runs=tuple(found))
        write_json(shown.model_dump_json(by_alias=True, exclude_none=True, indent=2))
        return
    if not found:
        print_text("No run is live, and none waits for you. Start one: ralph run")
        return
    print_table("Your runs", HEADINGS, [_cells(run) for run in found])
    for run in (one for one in found if one.needs):
        print_text(f"{_place_of(run)}: {run.next}")


def newest_runs() -> Iterator[tuple[Worktree, StateFolder, FoundRun]]:
    """The newest run of each work tree."""
    yield from runs.newest_runs(every_worktree(state_root(os.environ)))


def live_runs() -> Iterator[tuple[Worktree, StateFolder, FoundRun]]:
    """Those that an engine has now; no other journal is read."""
    places = every_worktree(state_root(os.environ))
    yield from runs.newest_runs(place for place in places if is_held(place[0].git_dir))


def short_path(path: str) -> str:
    """A path with ``~`` for the home folder."""
    with contextlib.suppress(ValueError, RuntimeError):
        return f"~/{Path(path).relative_to(Path.home())}".removesuffix("/.")
    return path


def place_words(path: str, lane: int | None, lane_of: str | None) -> str:
    """The path of a work tree; of a lane ``lane 2 of`` that of its parallel run."""
    return short_path(path) if lane_of is None else f"lane {lane} of {short_path(lane_of)}"


def _place_of(run: RunAnywhere) -> str:
    """As ``place_words``; of a fleet its task."""
    if run.fleet_task is not None:
        return f"fleet {run.fleet_task}"
    return place_words(run.workspace, run.lane, run.lane_of)


def _shortened(path: str, lane_of: str | None) -> str:
    start = "" if lane_of is None else path[: path.index(" of ") + 4]
    return f"{start}…{path[1 + len(start) - SHOWN_PATH :]}"


def _cells(run: RunAnywhere) -> tuple[str, ...]:
    from ralph_ls.core.views.model.control_chars import escape_control_chars
    from ralph_ls.core.views.text.summary import dollar_words

    path = _place_of(run)
    limit = "" if run.max_iterations is None else f"/{run.max_iterations}"
    cells = (
        path if len(path) <= SHOWN_PATH else _shortened(path, run.lane_of),
        run.phase.value,
        f"{run.iteration}{limit}",
        "-" if run.task is None else run.task.title,
        f"{run.done}/{run.required}",
        "-" if run.cost_usd is None else dollar_words(run.cost_usd, estimated=run.estimated),
        run.needs or "-",
    )
    return tuple(" ".join(escape_control_chars(cell).split()) for cell in cells)
