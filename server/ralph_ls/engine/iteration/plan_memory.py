"""Memory of the plan between iterations: its text, its steps, the names of its tasks, attempts.

The text is kept in the run's folder as well, with secrets redacted, so that an engine that takes up
an open iteration can compare the plan with it.

A task without an explicit id is called by its title. ``TaskNames`` follows rewordings, so that a
reworded task keeps its attempts (docs/rules.md#plans).

``SharedAttempts`` outlive a run where nothing in the plan marks a failed task
(docs/rules.md#attempts). They are read before each iteration, so that deleting ``attempts.txt`` or
a line of it has those tasks tried again, and clones of one project share their counts. An attempt
is written before its agent starts, so that it outlives a killed engine. A file that cannot be used
ends no run: attempts are then counted for the run alone, with a warning.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from pathlib import Path
from types import MappingProxyType

from ralph_ls.core.loop.effects import JudgeWork, PrepareIteration, ReadIteration, UndoWork
from ralph_ls.core.loop.inputs import PlanFacts
from ralph_ls.core.loop.rules import attempts
from ralph_ls.core.plan.completion import has_progress, merge_steps, steps_of
from ralph_ls.engine.plan.source import PlanSource
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.protocol.run.events import IterationEnded
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import TaskRef
from ralph_ls.store.files import PRIVATE_FILE, read_if_there, write_atomic
from ralph_ls.store.layout import StateFolder
from ralph_ls.store.project.project_state import (
    find_project,
    forget_attempts,
    merge_attempts,
    read_attempts,
    shares_attempts,
)


class PlanMemory:
    """The plan as the open iteration, or the last one, found it, and what is known of its tasks."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._source = workspace.source
        self.names = TaskNames(workspace.source)
        self.steps = PlanSteps()
        self.attempts = SharedAttempts(workspace)
        self._text: str | None = None
        self.read_at: datetime | None = None
        """When the plan was last read; what the user saves later is new."""

    @property
    def text(self) -> str:
        """The plan as it was remembered by this engine; empty where it was not."""
        return self._text or ""

    @property
    def open_text(self) -> str | None:
        """The same; None where it holds a secret."""
        return self.text if self._workspace.redactor.redact(self.text) == self.text else None

    def remember(self, text: str) -> None:
        """Keep this text, here and in the run's folder."""
        if text == self._text:
            return
        data = self._workspace.redactor.redact_bytes(text.encode("utf-8", errors="replace"))
        write_atomic(self._workspace.files.plan_before, data, mode=PRIVATE_FILE)
        self._text = text

    def recall(self, fallback: str) -> str:
        """The text that this or an earlier engine kept; ``fallback`` where there is none."""
        if self._text is None:
            data = read_if_there(self._workspace.files.plan_before)
            self._text = fallback if data is None else data.decode("utf-8", "replace")
        return self._text

    def advance(self, text: str, done: Collection[str]) -> bool | None:
        """Whether the plan has advanced to this text; see ``PlanSteps.advance``."""
        return self.steps.advance(text, done, self._source.counts(text).total)

    def facts(
        self,
        text: str,
        effect: PrepareIteration | ReadIteration | JudgeWork | UndoWork,
        run: RunState,
        renamed: Mapping[str, TaskRef],
    ) -> PlanFacts:
        """What the loop has to know of a plan with this text."""
        limit = self._workspace.config.attempts.limit
        failed = {task: run.attempts.get(task, limit) for task in effect.skip}
        return self._source.facts(
            text,
            task=self.names.only,
            set_aside=attempts.rename_tasks(failed, renamed),
            skipped=attempts.renamed_ids(effect.skipped, renamed),
        )


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
        """Whether the plan advanced to this text, with so many tasks, of which these became done.

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
            self.problem = f"attempts only count in this run: {error.message}"


def preview_attempts(root: Path, state: StateFolder, config: Config) -> dict[str, int] | None:
    """What ``SharedAttempts.read`` would give a run that begins here; nothing is written.

    Raises ``StateUnusable`` where the file cannot be read.
    """
    return read_attempts(find_project(root, state)) if shares_attempts(config) else None
