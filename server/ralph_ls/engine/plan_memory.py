"""What is remembered of the plan between two looks at it: its text, and when that was read.

The text is kept in the run's folder as well, without secrets, so that an engine that takes up an
open iteration can tell what became of it. This module must never know what a text means.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime

from ralph_ls.core.plan.completion import has_progress, merge_steps, steps_of
from ralph_ls.engine.workspace import Workspace
from ralph_ls.store.files import PRIVATE_FILE, read_if_there, write_atomic


class PlanMemory:
    """The plan as the open iteration, or the last one, found it."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._text: str | None = None
        self.read_at: datetime | None = None
        """When the plan was last read; what people save later is new."""

    @property
    def text(self) -> str:
        """The plan as it was remembered by this engine; empty where it was not."""
        return self._text or ""

    @property
    def open_text(self) -> str | None:
        """The same, unless it holds what may not be written elsewhere."""
        return self.text if self._workspace.redactor.redact(self.text) == self.text else None

    def remember(self, text: str) -> None:
        """Keep this text, here and in the run's folder."""
        if text == self._text:
            return
        data = self._workspace.redactor.redact_bytes(text.encode("utf-8", errors="replace"))
        write_atomic(self._workspace.files.plan_before, data, mode=PRIVATE_FILE)
        self._text = text

    def recall(self, fallback: str) -> str:
        """What was kept, by another engine too; ``fallback`` where nobody did."""
        if self._text is None:
            data = read_if_there(self._workspace.files.plan_before)
            self._text = fallback if data is None else data.decode("utf-8", "replace")
        return self._text


class PlanSteps:
    """The steps of the plan that have been seen in this run, and which of them were ever done."""

    def __init__(self) -> None:
        self._text: str | None = None
        self._steps: dict[str, bool] = {}
        self._n_tasks = 0
        self._finished: set[str] = set()

    def begin(self, text: str, n_tasks: int) -> None:
        """The plan at the start of an engine; what comes later is held against it."""
        if self._text is None:
            self._text, self._steps, self._n_tasks = text, steps_of(text), n_tasks

    def advance(self, text: str, done: Collection[str], n_tasks: int) -> bool | None:
        """Whether the plan went on to this text, with so many tasks, of which these became done.

        True: a step became done or was added. False: nothing but tasks became done that had been
        done before. None: neither.
        """
        self.begin(text, n_tasks)
        is_longer, self._n_tasks = n_tasks > self._n_tasks, max(n_tasks, self._n_tasks)
        before, now = self._steps, self._steps
        if text != self._text:
            now = steps_of(text)
            self._text, self._steps = text, merge_steps(before, now)
        is_new = not self._finished.issuperset(done)
        self._finished.update(done)
        if done:
            return None if is_new else False
        return True if is_longer or has_progress(before, now) else None
