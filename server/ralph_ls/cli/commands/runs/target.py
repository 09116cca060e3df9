"""Target: the run and the iteration that the arguments of a verb name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from ralph_ls.cli.context import CommandWorktree, current_worktree
from ralph_ls.cli.parameters import argument
from ralph_ls.protocol.errors import UsageError
from ralph_ls.store.layout import RunFiles, StateFolder
from ralph_ls.store.run.runs import full_run_id

LONGEST_NUMBER = 5
"""Digits of an iteration's number at most; more are the beginning of a run's id."""

First = Annotated[
    str | None,
    argument(
        "[RUN]",
        "Run, by the beginning or end of its id; or N, an iteration of the last run.",
        default="the last run",
    ),
]
Second = Annotated[str | None, argument("[N]", "Iteration of the run.", default="all of them")]
Newest = Annotated[
    str | None, argument("[N]", "Iteration of the run.", default="the newest with a session")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A run of this work tree, and one of its iterations."""

    place: CommandWorktree
    files: RunFiles
    iteration: int | None
    is_live: bool
    """Whether an engine has this run now."""


def find_target(first: str | None, second: str | None) -> Target:
    """The run and iteration that ``[RUN] [N]`` names; raises ``UsageError`` and ``NoEngine``."""
    place = current_worktree()
    newest = place.require_run()
    # The newest run has the actual location of the state.
    state = StateFolder(folder=newest.files.folder.parent.parent)
    run, number = first, second
    if first is not None and second is None and _is_iteration(first, state):
        run, number = None, first
    name = newest.state.run if run is None else full_run_id(place.worktree, state, run)
    return Target(
        place=place,
        files=state.run(name),
        iteration=None if number is None else _iteration(number),
        is_live=newest.live and name == newest.state.run,
    )


def _is_iteration(word: str, state: StateFolder) -> bool:
    """Whether the word is a number, and not the last four characters of a run's id."""
    is_number = word.isdecimal() and len(word) <= LONGEST_NUMBER
    return is_number and not any(run.endswith(f"-{word}") for run in state.run_ids())


def _iteration(word: str) -> int:
    if not word.isdecimal() or int(word) < 1:
        raise UsageError(f"N: {word!r} is not an iteration; write a number, such as 3")
    return int(word)
