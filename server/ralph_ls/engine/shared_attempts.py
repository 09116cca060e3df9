"""Attempts that outlive a run: those of tasks which nothing in the plan marks (B, Stuck Detection).

They are read before each iteration, so that a person who deletes ``attempts.txt``, or a line of
it, has those tasks tried anew, and so that clones of one project know of each other's. A file that
cannot be used ends no run: attempts are counted on as the run has them, and that is told.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ralph_ls.core.loop import attempts
from ralph_ls.engine.workspace import Workspace
from ralph_ls.protocol.config import Config
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.protocol.events import IterationEnded
from ralph_ls.protocol.run_words import TaskRef
from ralph_ls.store.attempts_file import forget_attempts, read_attempts, settle_attempts
from ralph_ls.store.layout import StateFolder
from ralph_ls.store.project_state import find_project, shares_attempts


class SharedAttempts:
    """The attempts of one run's project; none where the plan itself marks its tasks."""

    def __init__(self, workspace: Workspace) -> None:
        self._project = workspace.project if shares_attempts(workspace.config) else None
        self._before: Mapping[str, int] = {}
        self._renamed: Mapping[str, str] = {}
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

    def remember(self, before: Mapping[str, int], renamed: Mapping[str, TaskRef]) -> None:
        """What the run counted when the iteration that ends now began.

        ``renamed`` is what tasks are called now, by what they were called then.
        """
        self._renamed = {was: now.id for was, now in renamed.items()}
        self._before = attempts.rename(before, renamed)

    def settle(self, ended: IterationEnded) -> None:
        """Bring what the iteration changed into the file."""
        if self._project is None:
            return
        try:
            settle_attempts(self._project, self._before, ended.attempts, self._renamed)
        except StateUnusable as error:
            self._note(error)

    def forget(self, task: str) -> None:
        """Count no attempts at a task any more."""
        if self._project is None:
            return
        try:
            forget_attempts(self._project, task)
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
