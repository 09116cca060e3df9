"""Attempts that outlive a run: those of tasks which nothing in the plan marks (B, Stuck Detection).

They are read before each iteration, so that deleting ``attempts.txt``, or a line of it, has those
tasks tried again, and so that clones of one project know of each other's. An attempt is written
before its agent starts, so that it outlives an engine that is killed. A file that cannot be used
ends no run: attempts are counted on as the run has them, with a warning.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

from ralph_ls.core.loop.rules import attempts
from ralph_ls.engine.workspace import Workspace
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.protocol.run.events import IterationEnded
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import TaskRef
from ralph_ls.store.layout import StateFolder
from ralph_ls.store.project.project_state import (
    find_project,
    forget_attempts,
    merge_attempts,
    read_attempts,
    shares_attempts,
)


class SharedAttempts:
    """The attempts of one run's project; none where the plan itself marks its tasks."""

    def __init__(self, workspace: Workspace) -> None:
        self._project = workspace.project if shares_attempts(workspace.config) else None
        self._before: Mapping[str, int] = {}
        self._renamed: Mapping[str, str] = {}
        self._begun: tuple[str, int] | None = None
        """The task whose attempt was written and not settled since, and its count with it."""
        self.problem: str | None = None
        """The first failure to read or write, in words."""

    def read(self) -> dict[str, int] | None:
        """Failed attempts by task id; None where the run's own are all there is."""
        if self._project is None:
            return None
        try:
            return read_attempts(self._project)
        except StateUnusable as error:
            self._note(error)
            return None

    def begin(self, run: RunState) -> None:
        """Write the attempt that the open iteration is."""
        current = run.current
        task = None if current is None else current.started.task
        if current is None or task is None or attempts.COUNTED not in current.told:
            return
        count = run.attempts.get(task.id, 0)
        if count > 0:
            self._begun = (task.id, count)
            self._settle({task.id: count - 1}, {task.id: count})

    def give_back(self, after: Mapping[str, int]) -> None:
        """Take the attempt of an iteration back out of the file where the run, which ends within
        it, does not count it; ``after`` is what the run counts.
        """
        if self._begun is None:
            return
        task, count = self._begun
        self._begun = None
        if after.get(task, 0) < count:
            self._settle({task: count}, {task: count - 1})

    def remember(self, before: Mapping[str, int], renamed: Mapping[str, TaskRef]) -> None:
        """What the run counts while the iteration that ends now is open.

        ``renamed`` is what tasks are called now, by what they were called then.
        """
        self._renamed = {was: now.id for was, now in renamed.items()}
        self._before = attempts.rename_tasks(before, renamed)

    def settle(self, ended: IterationEnded) -> None:
        """Bring what the iteration's end changed into the file."""
        self._begun = None
        self._settle(self._before, ended.attempts, self._renamed)

    def forget(self, task: str) -> None:
        """Count no attempts at a task any more."""
        if self._project is None:
            return
        try:
            forget_attempts(self._project, task)
        except StateUnusable as error:
            self._note(error)

    def _settle(
        self,
        before: Mapping[str, int],
        after: Mapping[str, int],
        renamed: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        if self._project is None:
            return
        try:
            merge_attempts(self._project, before, after, renamed)
        except StateUnusable as error:
            self._note(error)

    def _note(self, error: StateUnusable) -> None:
        if self.problem is None:
            self.problem = f"attempts are kept only as long as this run: {error.message}"


def look_at_attempts(root: Path, state: StateFolder, config: Config) -> dict[str, int] | None:
    """What ``SharedAttempts.read`` would give a run that begins here; nothing is written.

    Raises ``StateUnusable`` where the file cannot be read.
    """
    return read_attempts(find_project(root, state)) if shares_attempts(config) else None
