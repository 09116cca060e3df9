"""What the tasks of a run are called while people and agents reword them (SPEC §8).

A task without an explicit id is called by its title. So that a reworded one keeps its attempts, and
the one task of a run stays the one, it is told apart here from one that is gone and another that
is new. It must never know what hangs on a task.
"""

from __future__ import annotations

from collections.abc import Mapping

from ralph_ls.engine.sources.source import PlanSource
from ralph_ls.protocol.run.values import TaskRef


class TaskNames:
    """The names that changed since an iteration was last read."""

    def __init__(self, source: PlanSource) -> None:
        self._source = source
        self._only = source.config.task
        """What the one task that is to be done was called then."""
        self.renamed: Mapping[str, TaskRef] = {}
        """What tasks are called now, by the id that they had."""

    @property
    def only(self) -> str | None:
        """What the one task that is to be done is called now; None where all are."""
        named = None if self._only is None else self.renamed.get(self._only)
        return self._only if named is None else named.id

    def follow(self, before: str, text: str) -> None:
        """The plan became ``text``."""
        self.renamed = self._source.renamed(before, text, self.renamed)

    def settle(self) -> Mapping[str, TaskRef]:
        """Give what changed, for good: from now on the tasks have their new names."""
        renamed = self.renamed
        self._only, self.renamed = self.only, {}
        return renamed
