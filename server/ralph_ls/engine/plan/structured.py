"""Structured sources: a plan that is neither Markdown nor stories, in one file or in a folder.

See docs/rules.md#plans. The format's text operations say how the tasks are written; everything else
is the same for all of them. A text that cannot be read is fatal whenever it is read: treated as an
empty plan, it would complete the run.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from ralph_ls.core.loop.effects import SetTaskAside
from ralph_ls.core.loop.inputs import Notice, PlanFacts
from ralph_ls.core.loop.profiles import profile_of
from ralph_ls.core.plan.diff.guard import PlanPowers
from ralph_ls.core.plan.formats.dispatch import operations_of, parse_plan
from ralph_ls.core.plan.formats.gsd.operations import open_but_executed
from ralph_ls.core.plan.formats.plan_folder import join_files, split_files
from ralph_ls.core.plan.formats.plan_format import PLAN_MISSING, PlanFormat, TextOperations
from ralph_ls.core.plan.formats.registry import format_of_file
from ralph_ls.core.plan.formats.text_operations import (
    TextViolation,
    guard_text,
    unfinished_needs,
    write_verification,
)
from ralph_ls.core.plan.model import ParsedPlan
from ralph_ls.core.plan.parse.titles import escape_surrogates
from ralph_ls.core.plan.verification.criterion_checks import (
    TaskVerification,
)
from ralph_ls.core.prompt.template import PromptContext
from ralph_ls.engine.plan.plan_file import (
    facts_of,
    find_plan,
    require_plan_or_task,
    require_task,
    require_text,
    restore_format,
)
from ralph_ls.engine.plan.source import (
    NOBODY,
    GuardedPlan,
    LocatedPlan,
    PlanOffence,
    PlanSource,
    WatchedIteration,
    WrittenPlan,
)
from ralph_ls.protocol.config.config import Config, FirstMode
from ralph_ls.protocol.errors import PlanMissing, PlanUnusable, RalphError
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.run.values import TaskRef
from ralph_ls.protocol.task_words import TaskState
from ralph_ls.store.project.config_file import LoadedSettings
from ralph_ls.store.project.detection import executed_tasks
from ralph_ls.store.project.plan_file import edit_plan, read_plan, shown_text
from ralph_ls.store.project.plan_folder import edit_folder, folder_files, read_folder
from ralph_ls.store.project.prompt_texts import notes_of_plan


class StructuredSource(PlanSource):
    """A plan whose text has a structure; how it is stored is for the two below."""

    def __init__(
        self, root: Path, config: Config, path: str, environment: Mapping[str, str]
    ) -> None:
        super().__init__(root, config, path, environment)
        self.format: PlanFormat = format_of_file(path, profile_of(config.profile).plan_kind)
        text = operations_of(self.format.name).text
        assert text is not None  # noqa: S101 - every format of this storage has them
        self.operations: TextOperations = text

    @classmethod
    def locate(
        cls, root: Path, settings: LoadedSettings, environment: Mapping[str, str], *, resume: bool
    ) -> LocatedPlan:
        del resume
        config = settings.config
        require_plan_or_task(config)
        source = cls(root, config, cls._find(root, config), environment)
        found = LocatedPlan(path=source.path, text=source.read())
        plan = source.parse(found.text).plan
        if config.task is not None:
            require_task(plan, config.task)
        if not plan.tasks and config.mode is not FirstMode.PLAN:
            raise PlanMissing(
                f"{found.path} has no tasks; add some with {source.format.title}, "
                "or have an agent write them with: ralph replan"
            )
        return found

    @classmethod
    @abstractmethod
    def _find(cls, root: Path, config: Config) -> str:
        """The path of the plan; raises ``PlanMissing`` where there is none."""

    @abstractmethod
    def _text(self) -> str:
        """The text as it is now; raises ``PlanMissing`` and ``PlanUnusable``."""

    @abstractmethod
    def _edit(self, change: Callable[[str], str], instead: str) -> str:
        """Change the text in place, and return it; raises as ``edit_plan``."""

    def read(self) -> str:
        text = self._text()
        broken = self.operations.why_broken(text)
        for problem in self.parse(text).problems if not broken else ():
            if problem.code == PLAN_MISSING:
                broken = f"line {problem.line}: {problem.message}"
        if broken:
            raise PlanUnusable(f"{self.root / self.path}, {broken}; fix it, then run again")
        return text

    def _parse(self, text: str) -> ParsedPlan:
        return parse_plan(text, self.format.name, tag=self.config.plan.tag or "")

    def facts(
        self,
        text: str,
        *,
        task: str | None = None,
        set_aside: Mapping[str, int] = NOBODY,
        skipped: Collection[str] = (),
    ) -> PlanFacts:
        needs = unfinished_needs(self.operations, self.parse(text).plan, text)
        plan = self.plan(text, task=task)
        return facts_of(plan, text, self.config, set_aside=set_aside, skipped=skipped, needs=needs)

    def with_context(self, context: PromptContext, text: str) -> PromptContext:
        del text
        return replace(context, plan_hint=notes_of_plan(self.root, self.path, self.format))

    def close(self, verifications: Sequence[TaskVerification], before: str) -> WrittenPlan:
        del before
        written: list[TaskVerification] = []
        notices: list[Notice] = []
        for one in verifications:
            change = partial(_verified, self.operations, one)
            try:
                self._edit(change, "write into it what was verified")
            except RalphError as error:
                message = f"what was verified of the task {one.task.id} is not in the plan: "
                notices.append(Notice(code="verify-not-written", message=message + error.message))
                written.append(one)
            else:
                written.append(replace(one, reopened=bool(one.failed)))
        return WrittenPlan(text=self.read(), verifications=tuple(written), notices=tuple(notices))

    def set_aside(self, order: SetTaskAside) -> str:
        """Mark the task as blocked; a format without that state gets a note."""
        task_id = order.task.id

        def marked(text: str) -> str:
            if self.operations.parse_text(text).plan.find(task_id) is None:
                return text
            try:
                return self.operations.with_state(text, task_id, TaskState.BLOCKED, order.reason)
            except RalphError:
                return self.operations.with_note(text, task_id, f"Set aside: {order.reason}")

        return self._edit(marked, f"mark the task {task_id} as blocked")

    def guarded(self, before: str, after: str, iteration: WatchedIteration) -> GuardedPlan:
        if rewritten := restore_format(self.path, self.format.name, before, after):
            return rewritten
        powers = self.powers(iteration)
        done = guard_text(self.operations, before, after, powers, iteration.today)
        if done.broken:
            message = escape_surrogates(
                f"the agent broke {self.path}, which was restored: {done.broken}"
            )
            return GuardedPlan(
                text=done.text,
                offences=(PlanOffence(what=Forbidden.CHANGED, task=None, why=message),),
                notices=(Notice(code="plan-broken", message=message),),
            )
        offences = tuple(_offence(one) for one in done.violations)
        return GuardedPlan(text=done.text, offences=offences)

    def held(
        self, start: str, committed: str, tree: str, finished: str
    ) -> Mapping[tuple[str, str], str]:
        del finished
        found = [
            guard_text(self.operations, start, text, PlanPowers()) for text in (committed, tree)
        ]
        accepted = {(one.what, one.task.id) for one in found[1].violations}
        return {
            (one.what.value, one.task.id): f"{one.what.value}: {escape_surrogates(one.task.title)}"
            for one in found[0].violations
            if (one.what, one.task.id) not in accepted
        }


class FileSource(StructuredSource):
    """One file."""

    _reported = ""

    @classmethod
    def _find(cls, root: Path, config: Config) -> str:
        path = find_plan(root, profile_of(config.profile).plan_files, config.paths.plan)
        require_text(root, path)
        return path

    def _text(self) -> str:
        return read_plan(self.root, self.path).decode("utf-8", errors="replace")

    def remarks(self, text: str, *, report_changes: bool) -> tuple[Notice, ...]:
        """The open plans of GSD that were executed by its files, once for the same plans."""
        del report_changes
        executed = executed_tasks(self.root / self.path, self.format)
        found = open_but_executed(self.parse(text).plan, executed) if executed else None
        if found is None or found.message == self._reported:
            return ()
        self._reported = found.message
        return (Notice(code=found.code, message=found.message),)

    def _edit(self, change: Callable[[str], str], instead: str) -> str:
        _, edited = edit_plan(self.root, self.path, change, instead)
        return shown_text(edited)


class FolderSource(StructuredSource):
    """Several files of one folder, whose joined text is the plan."""

    @classmethod
    def _find(cls, root: Path, config: Config) -> str:
        path = config.paths.plan or ""
        if not path or not (root / path).is_dir():
            raise PlanMissing(
                f"there is no plan {root / path}; name the folder of yours with --plan"
            )
        return path

    @property
    def file(self) -> str | None:
        return None

    @property
    def own_files(self) -> tuple[str, ...]:
        return folder_files(self.root, self.path, self.format.members)

    @property
    def own_folders(self) -> tuple[str, ...]:
        return (self.path,)

    def _text(self) -> str:
        return read_folder(self.root, self.path, self.format.members)

    def _edit(self, change: Callable[[str], str], instead: str) -> str:
        return edit_folder(self.root, self.path, self.format.members, change, instead)[1]

    def files_of(self, text: str) -> Mapping[str, str]:
        return {one.path: one.text for one in split_files(text)}

    def text_of(self, files: Mapping[str, str]) -> str:
        return join_files(files)

    def guarded(self, before: str, after: str, iteration: WatchedIteration) -> GuardedPlan:
        """As always, each offence with its file; the guard writes them."""
        done = super().guarded(before, after, iteration)
        if not done.offences:
            return done
        tasks, files = self.parse(before).plan.by_id(), split_files(before)
        paths = {
            one.task.id: file.path
            for one in done.offences
            for file in files
            if one.task is not None
            and file.start <= tasks[one.task.id].start < file.start + len(file.text)
        }
        offences = tuple(
            one if one.task is None else replace(one, path=paths[one.task.id])
            for one in done.offences
        )
        return replace(done, offences=offences)


def _verified(operations: TextOperations, one: TaskVerification, text: str) -> str:
    return write_verification(operations, text, one)


def _offence(one: TextViolation) -> PlanOffence:
    task = TaskRef(id=one.task.id, title=escape_surrogates(one.task.title))
    return PlanOffence(what=one.what, task=task, text=one.text)
