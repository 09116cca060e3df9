"""Plan source: the interface between the engine and a plan, wherever its tasks are stored.

See docs/rules.md#plans. A plan is identified by its text: the content of a file, or everything that
a tracker reports in a canonical form. Equal texts mean that nothing has changed. So the rest of the
engine compares, stores and shows texts, and does not know their origin.

Every method may read files or start programs: call it in a thread. Progress is judged elsewhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from ralph_ls.core.loop.effects import LaunchAgent, NoteSetAside, SetTaskAside
from ralph_ls.core.loop.inputs import Notice, PlanFacts
from ralph_ls.core.plan.completion import has_completion_marker
from ralph_ls.core.plan.diff.guard import PlanPowers
from ralph_ls.core.plan.model import ParsedPlan, Plan
from ralph_ls.core.plan.queries import count_tasks, newly_done
from ralph_ls.core.plan.verification.criterion_checks import (
    TaskClosing,
    TaskVerification,
    checks_of,
    runnable_commands,
)
from ralph_ls.core.plan.verification.markdown_evidence import markdown_closings
from ralph_ls.core.prompt.template import PromptContext
from ralph_ls.protocol.config.config import Config, FirstMode
from ralph_ls.protocol.plan import RequestView
from ralph_ls.protocol.run.iteration_events import Forbidden, IterationEnded
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Mode, PlanCountsView, ReviewSeen, TaskRef
from ralph_ls.store.external.programs import programs_on_path
from ralph_ls.store.project.config_file import LoadedSettings

NOBODY: Mapping[str, int] = MappingProxyType({})
"""No task is set aside."""

KEPT_READINGS = 4
"""Number of parsed texts that are cached: an iteration needs each more than once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocatedPlan:
    """The plan of a run that is about to begin."""

    path: str
    """Relative to the root; where the plan is no file, what it is called."""
    text: str
    """Empty where the first iteration writes it."""
    is_to_write: bool = False
    """The text is not there yet: a start writes it."""
    first_read: object = field(default=None, repr=False)
    """What its source has read elsewhere for it, so that a start reads it once."""
    refusal: str = ""
    """Why no agent is started on a newly written plan; empty where one is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchedIteration:
    """Facts of an iteration that the guard decides by."""

    mode: Mode
    task: TaskRef | None = None
    """The one that it was given."""
    halts: bool = False
    """The agent ended it with a promise of BLOCKED or DECIDE."""
    completes: bool = False
    """The agent promised COMPLETE."""
    decided: frozenset[tuple[str, str]] = frozenset()
    """The user's changes to the plan meanwhile, by kind (``Forbidden``) and id of the task."""
    finished: str = ""
    """New text in the document of finished tasks (PROGRESS.md)."""
    has_evidence: bool = False
    """Files other than plan and PROGRESS.md were changed."""
    today: str = ""
    """The day, such as ``2026-01-31``, in local time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOffence:
    """One change of the agent to the plan that was reverted."""

    what: Forbidden
    task: TaskRef | None
    """None where it is about the whole plan."""
    text: str = ""
    """The agent's text; empty where it left nothing."""
    why: str = ""
    """The rule that it broke, where its kind alone does not say so."""
    path: str = ""
    """The file that it is in, where the plan is in several."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GuardedPlan:
    """A plan in which nothing forbidden is left."""

    text: str
    offences: tuple[PlanOffence, ...] = ()
    notices: tuple[Notice, ...] = ()
    """Why it was forbidden, where the kind alone does not say so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FinishedWork:
    """Work that an iteration finished."""

    tasks: tuple[str, ...] = ()
    """Ids of the tasks that are done now, and were not."""
    moved: tuple[str, ...] = ()
    """Ids of the tasks whose review advanced, which is progress too."""
    reviews: tuple[ReviewSeen, ...] = ()
    """The reviews that were given."""
    notices: tuple[Notice, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedPlan:
    """A plan after a task in it was claimed."""

    text: str
    refused: str = ""
    """Why the task cannot be claimed; empty where it was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WrittenPlan:
    """A plan with the results of the verification of closed tasks."""

    text: str
    verifications: tuple[TaskVerification, ...] = ()
    """The same, with those ``reopened`` whose task is open again in the plan."""
    notices: tuple[Notice, ...] = ()


class PlanSource(ABC):
    """The plan of one run."""

    def __init__(
        self, root: Path, config: Config, path: str, environment: Mapping[str, str]
    ) -> None:
        self.root = root
        self.config = config
        self.path = path
        """As ``LocatedPlan.path``."""
        self.environment = environment
        self.redact: Callable[[str], str] = str
        """Replaces secrets in what is written elsewhere."""
        self._readings: dict[str, ParsedPlan] = {}

    @property
    def on_path(self) -> Container[str]:
        """The names of programs on PATH, by which commands are recognised."""
        return programs_on_path(self.environment.get("PATH", ""))

    @classmethod
    @abstractmethod
    def locate(
        cls, root: Path, settings: LoadedSettings, environment: Mapping[str, str], *, resume: bool
    ) -> LocatedPlan:
        """The plan that a start works on; writes nothing.

        Raises ``PlanMissing`` where there is no plan and a start would not make one, and
        ``UsageError`` where the task that was asked for is not in it.
        """

    @classmethod
    def kept(cls, folder: Path) -> LocatedPlan | None:
        """The plan as the run in this folder of the state keeps it; None where a run keeps none.

        Raises ``PlanMissing`` where it should, and it is gone.
        """
        del folder
        return None

    def keep(self, folder: Path) -> None:
        """Keep the plan with the files of its run, where a run works on nothing else to its end.

        Raises ``StateUnusable`` where that cannot be written.
        """
        del folder

    def begin(self, settings: LoadedSettings, found: LocatedPlan, *, resume: bool) -> list[Notice]:
        """Change the plan as a start does, and return notices. Requires the lock.

        Raises ``StateUnusable`` where it cannot be written.
        """
        del settings, found, resume
        return []

    @property
    def file(self) -> str | None:
        """The file that is the plan, relative to the root; None where no file is."""
        return self.path

    def files_of(self, text: str) -> Mapping[str, str]:
        """The files of a plan with this text, by path; none where it is not in files."""
        return {} if self.file is None else {self.file: text}

    def text_of(self, files: Mapping[str, str]) -> str:
        """The text of a plan with these files."""
        return next(iter(files.values()), "")

    @property
    def own_folders(self) -> tuple[str, ...]:
        """Folders of the tree in which the plan is kept, relative to the root."""
        return ()

    @property
    def own_files(self) -> tuple[str, ...]:
        """Files of the plan in the work tree; a change of one is not evidence."""
        return () if self.file is None else (self.file,)

    @property
    def request(self) -> RequestView | None:
        """The request, where the plan is one."""
        return None

    def request_in(self, text: str) -> RequestView | None:
        """The request in the text of a plan that no run began with."""
        del text
        return None

    def with_context(self, context: PromptContext, text: str) -> PromptContext:
        """The context of the prompt with facts of the plan beside the task."""
        del text
        return context

    @property
    def excluded(self) -> tuple[str, ...]:
        """Patterns of what a run writes beside its plan, which git must not see."""
        return ()

    def mode_word(self, mode: Mode) -> str:
        """Name of a mode in files for users (docs/rules.md#names)."""
        return mode.value

    def started(self, order: LaunchAgent, run: RunState, before: str | None) -> None:
        """An iteration begins; ``before`` is the plan, None for one with secrets in it.

        Raises ``StateUnusable`` where what it has to write cannot be written.
        """
        del order, run, before

    def refresh(self) -> tuple[Notice, ...] | None:
        """Read again what is stored elsewhere, before an iteration; the plan may differ afterwards.

        None where a plan is only what is read anyway. Raises ``PlanMissing``.
        """
        return None

    def iteration_ended(self, ended: IterationEnded, done: Collection[str]) -> None:
        """An iteration is closed that finished these tasks."""
        del ended, done

    def deliver(self) -> None:  # noqa: B027 - most have nothing to deliver
        """Deliver at the end of a run what is due elsewhere; what fails is left to the next run."""

    def settled(self) -> None:  # noqa: B027 - most have nothing to clean up
        """No agent works any more: an iteration is settled, or the run is over."""

    @abstractmethod
    def read(self) -> str:
        """The plan's text; raises ``PlanMissing`` where it is gone or cannot be read."""

    def parse(self, text: str) -> ParsedPlan:
        """The whole plan; a text that was parsed before is not parsed again."""
        known = self._readings.get(text)
        if known is None:
            known = self._readings[text] = self._parse(text)
            while len(self._readings) > KEPT_READINGS:
                del self._readings[next(iter(self._readings))]
        return known

    @abstractmethod
    def _parse(self, text: str) -> ParsedPlan: ...

    def plan(self, text: str, *, task: str | None = None) -> Plan:
        """The plan as this run sees it: with a task that alone is to be done, it is all there is,
        and required.

        ``task`` is what the one of the settings is called now, if it is called otherwise.
        """
        plan = self.parse(text).plan
        if self.config.task is None:
            return plan
        alone = plan.some(ids={task or self.config.task})
        return Plan(tasks=tuple(one._replace(optional=False) for one in alone))

    def counts(self, text: str, *, task: str | None = None) -> PlanCountsView:
        """The plan in numbers; ``task`` as for ``plan``."""
        return counts_view(self.plan(text, task=task), text, self.config)

    @abstractmethod
    def facts(
        self,
        text: str,
        *,
        task: str | None = None,
        set_aside: Mapping[str, int] = NOBODY,
        skipped: Collection[str] = (),
    ) -> PlanFacts:
        """The facts that the loop decides by.

        ``set_aside`` are the ids of tasks that were set aside, with their attempts; ``skipped``
        those that the user took out of this run.
        """

    def mode(self, text: str, facts: PlanFacts, run: RunState) -> Mode:
        """The mode of the next iteration.

        The wish to plan first is fulfilled by the first iteration that counts.
        """
        del text, facts
        config = self.config
        wanted = config.mode is FirstMode.PLAN and run.counted == 0 and config.task is None
        return Mode.PLAN if wanted else Mode.BUILD

    def must_claim(self, text: str, task: TaskRef) -> bool:
        """Whether others may take the task too, so that it has to be claimed first."""
        del text, task
        return False

    def claim(self, text: str, task: TaskRef) -> ClaimedPlan:
        """Claim a task of this text, so that no other process takes it."""
        del task
        return ClaimedPlan(text=text)

    def look_up(self, task_id: str) -> None:
        """Read what the prompt has of a task that is not claimed, for a preview."""
        del task_id

    def reviewed(self, before: str, after: str, tasks: Collection[str]) -> tuple[str, ...]:
        """Those of these tasks, which were set aside, that planning has done something about.

        Where the plan itself says what is set aside, planning takes the mark away.
        """
        del before, after, tasks
        return ()

    def finished(
        self, before: str, after: str, *, task: str | None = None, now: str | None = None
    ) -> FinishedWork:
        """Work that was finished between two texts.

        ``task`` is the earlier id of the only task that the run does, ``now`` its current one.
        """
        return FinishedWork(
            tasks=newly_done(self.plan(before, task=task), self.plan(after, task=now))
        )

    def titles(self, before: str, after: str, tasks: Collection[str]) -> dict[str, str]:
        """The titles of these tasks, by id: from the later text, else from the earlier one."""
        now, was = self.parse(after).plan, self.parse(before).plan
        found = {task_id: now.find(task_id) or was.find(task_id) for task_id in tasks}
        return {task_id: task.title for task_id, task in found.items() if task is not None}

    def logged_as_finished(
        self,
        before: str,
        after: str,
        logged: str,
        *,
        task: str | None = None,
        own: str | None = None,
    ) -> tuple[str, ...]:
        """Ids of open tasks that moved from the plan into the document of finished tasks.

        ``logged`` is the new text there; ``task`` as for ``finished``. ``own`` is the
        iteration's task, where there is evidence.
        """
        del before, after, logged, task, own
        return ()

    def renamed(
        self, before: str, after: str, earlier: Mapping[str, TaskRef] = MappingProxyType({})
    ) -> dict[str, TaskRef]:
        """The current tasks whose id has changed, by their earlier id.

        ``earlier`` is the same for previous changes, which are followed further.
        """
        del before, after
        return dict(earlier)

    def remarks(self, text: str, *, report_changes: bool) -> tuple[Notice, ...]:
        """Notices of inconsistencies in the plan and its documents, each once.

        With ``report_changes`` also of an iteration's changes that the user should check.
        """
        del text, report_changes
        return ()

    def closings(self, before: str, after: str, done: Collection[str]) -> tuple[TaskClosing, ...]:
        """Commands to run for tasks that an iteration closed.

        ``done`` are the tasks that it finished, or advanced in review.
        """
        del before
        return markdown_closings(self.parse(after).plan, done, on_path=self.on_path)

    def commands(self, text: str) -> tuple[str, ...]:
        """The commands that the plan names and that could be run without a shell, each once."""
        criteria = [one for task in self.parse(text).plan.tasks for one in task.criteria]
        return runnable_commands(checks_of(criteria, on_path=self.on_path))

    def powers(self, iteration: WatchedIteration) -> PlanPowers:
        """What the agent may change in the plan beside finishing tasks."""
        # ``--mode plan`` and ``ralph replan`` order a new plan.
        is_ordered = self.config.mode is FirstMode.PLAN
        is_free = iteration.mode is Mode.PLAN and (is_ordered or self.config.guard.planning_is_free)
        return PlanPowers(may_drop=is_free, may_change_criteria=is_free, decided=iteration.decided)

    def close(self, verifications: Sequence[TaskVerification], before: str) -> WrittenPlan:
        """Write verification results of closed tasks into the plan, as an edit of the engine.

        A task that was refuted is open again, in the plan's own form. ``before`` is the plan from
        before they were closed.
        """
        del before
        return WrittenPlan(text=self.read(), verifications=tuple(verifications))

    @abstractmethod
    def set_aside(self, order: SetTaskAside) -> str:
        """Mark a task, in the plan's own form, as one that was given up; the text as it is then.

        The edit is neither the agent's work nor the user's change. Raises a ``RalphError`` where it
        cannot be written.
        """

    def left_undone(
        self, before: str, after: str, iteration: WatchedIteration
    ) -> tuple[Notice, ...]:
        """Notices of work that the iteration was for and did not do; nothing is reverted."""
        del before, after, iteration
        return ()

    def note_set_aside(self, order: NoteSetAside) -> None:
        """Say in the plan that a task was set aside, where it has a form for that without a mark.

        Raises a ``RalphError`` where it cannot be written.
        """
        del order

    def hurry(self, seconds: float) -> None:  # noqa: B027 - files need no limit
        """Limit all calls, running and later ones, to this many seconds from now."""

    def stop(self) -> None:  # noqa: B027 - a file has nothing to stop
        """Cancel running calls: the run is over, and their results are not needed.

        Safe in any thread; calls that are waiting fail.
        """

    def held(
        self, start: str, committed: str, tree: str, finished: str
    ) -> Mapping[tuple[str, str], str]:
        """Descriptions of forbidden changes in the committed plan, by kind and task.

        ``start`` is the plan when the run began; changes that ``tree``, the plan in the work tree,
        has too were accepted. ``finished`` is the document of finished tasks. A plan that merely
        lags behind the work tree has none.
        """
        del start, committed, tree, finished
        return {}

    @abstractmethod
    def guarded(self, before: str, after: str, iteration: WatchedIteration) -> GuardedPlan:
        """Revert forbidden changes of the iteration in the later text; total and idempotent.

        Bytes that are not UTF-8 are lone surrogates, before and after. Where the plan is not in
        files, changes are reverted at once, and the text is the plan after that.
        """


def counts_view(plan: Plan, text: str, config: Config) -> PlanCountsView:
    """The plan in numbers; a blocked task is not done, so it is open too."""
    counts = count_tasks(plan)
    return PlanCountsView(
        total=counts.total,
        done=counts.done,
        open_required=counts.open_required + counts.blocked_required,
        blocked_required=counts.blocked_required,
        open_optional=counts.open_optional,
        required=counts.required,
        required_done=counts.done_required,
        marker=has_completion_marker(text, config.gate.marker),
    )
