"""Markdown source: a plan file in the work tree, and how a run begins where there is none.

Without a plan the profile decides: refuse, write an empty one, or let the agent write it
(docs/rules.md#plans). The outcome of a start is determined without changing anything, so that
``--dry-run`` reports the same.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from ralph_ls.core.loop.effects import LaunchAgent, SetTaskAside
from ralph_ls.core.loop.inputs import Notice, PlanFacts
from ralph_ls.core.loop.profiles import WithoutPlan, profile_of
from ralph_ls.core.plan.diff.guard import PlanPowers, guard_plan, is_without_boxes
from ralph_ls.core.plan.diff.guard_overrides import task_excerpt
from ralph_ls.core.plan.diff.pairing import is_unfinished, logged_as_finished
from ralph_ls.core.plan.formats.plan_format import PlanFormat
from ralph_ls.core.plan.formats.registry import format_of_file
from ralph_ls.core.plan.model import ParsedPlan, Plan, PlanKind
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.plan.parse.titles import escape_surrogates
from ralph_ls.core.plan.queries import renamed_tasks
from ralph_ls.core.plan.specs import FOLDER, Spec, check_specs, fix_plan_skeleton, unplanned_specs
from ralph_ls.core.plan.verification import markdown_evidence as closing
from ralph_ls.core.plan.verification.criterion_checks import (
    TaskVerification,
)
from ralph_ls.core.prompt.template import PromptContext
from ralph_ls.engine.plan.plan_file import (
    close_in_file,
    config_for_task,
    facts_of,
    find_plan,
    how_to_write_a_task,
    read_plan_text,
    require_plan_or_task,
    require_task,
    require_text,
    reset_for_replanning,
    restore_format,
    set_task_aside,
    titles_of,
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
from ralph_ls.engine.plan.specifications import (
    SpecsSnapshot,
    changes_of,
    finished_logs,
    has_finished_tasks,
    has_specifications,
    has_text_to_plan_from,
    is_written,
    notices_of,
    read_specs,
    unplanned_notice,
)
from ralph_ls.protocol.config.config import Config, FirstMode
from ralph_ls.protocol.errors import PlanMissing, PlanUnusable
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Mode, RemovedTask, TaskRef
from ralph_ls.store.files import resolve_inside, write_atomic
from ralph_ls.store.project.config_file import LoadedSettings
from ralph_ls.store.project.detection import format_at, why_of_tool
from ralph_ls.store.project.prompt_texts import WITHOUT_BOXES, notes_of_plan

_NO_BOXES = (
    "the plan has no boxes, and beside a first one its other tasks would no longer be tasks; the "
    "boxes were written as [DONE]"
)
PLANNING_TRIES = 3
"""Iterations in which an agent may fill a plan without tasks."""
SHOWN_ENTRY = 200
"""Characters of an entry that a notice quotes."""


class MarkdownSource(PlanSource):
    """A markdown file, with the specifications beside it where the profile has some."""

    def __init__(
        self, root: Path, config: Config, path: str, environment: Mapping[str, str]
    ) -> None:
        super().__init__(root, config, path, environment)
        self._specs: SpecsSnapshot | None = None
        """The specifications at the last check."""
        self._reported_specs: set[str] = set()
        self._is_unplanned_reported = False
        """Whether it was reported since the last iteration began."""

    @classmethod
    def locate(
        cls, root: Path, settings: LoadedSettings, environment: Mapping[str, str], *, resume: bool
    ) -> LocatedPlan:
        config = settings.config
        require_plan_or_task(config)
        try:
            path = find_plan(root, profile_of(config.profile).plan_files, config.paths.plan)
            require_text(root, path)
            found = LocatedPlan(path=path, text=read_plan_text(root, path))
        except PlanUnusable:
            raise
        except PlanMissing:
            instead = _without_plan(root, settings, resume=resume)
            if instead is None:
                raise
            found = instead
        source = cls(root, config, found.path, environment)
        if config.task is not None:
            plan = source.parse(found.text).plan
            require_task(plan, config.task)
            config = config_for_task(config, plan)
            source = cls(root, config, found.path, environment)
        if not resume and not found.is_to_write:
            source._require_tasks(found.text)
        if source._is_written_by_agent and not found.text.strip() and not has_specifications(root):
            raise PlanMissing(
                f"there is no plan and no specification in {root}: describe what to build in "
                f"{FOLDER}/, such as {FOLDER}/login.md, or write tasks into {found.path}"
            )
        return found

    def begin(self, settings: LoadedSettings, found: LocatedPlan, *, resume: bool) -> list[Notice]:
        """Write an empty plan where a start does that; before planning, open what is begun.

        Raises ``PlanMissing`` for a plan that was written with nothing to plan from.
        """
        if found.is_to_write:
            target = resolve_inside(self.root, found.path)
            with contextlib.suppress(OSError):
                # Writing reports what is wrong with the folder.
                target.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(target, found.text.encode())
            if found.refusal:
                raise PlanMissing(found.refusal)
            message = (
                f"there was no plan, so {found.path} was created with its sections; the first "
                "iteration adds the tasks"
            )
            return [Notice(code="plan-written", message=message)]
        is_wanted = settings.config.mode is FirstMode.PLAN and not resume
        return self._reset() if is_wanted and found.text.strip() else []

    def started(self, order: LaunchAgent, run: RunState, before: str | None) -> None:
        del order, run, before
        self._is_unplanned_reported = False

    def read(self) -> str:
        return read_plan_text(self.root, self.path, may_be_missing=self._is_written_by_agent)

    def _parse(self, text: str) -> ParsedPlan:
        return parse_markdown(text, optional_sections=self.config.optional_sections)

    def facts(
        self,
        text: str,
        *,
        task: str | None = None,
        set_aside: Mapping[str, int] = NOBODY,
        skipped: Collection[str] = (),
    ) -> PlanFacts:
        plan = self.plan(text, task=task)
        facts = facts_of(plan, text, self.config, set_aside=set_aside, skipped=skipped)
        is_without = not facts.counts.total and not facts.counts.marker
        if not is_without or has_finished_tasks(self.root, self.config):
            return facts
        return replace(facts, without_tasks=how_to_write_a_task(self.path))

    def with_context(self, context: PromptContext, text: str) -> PromptContext:
        known = self._format
        is_boxless = not known.instructions and is_without_boxes(self.plan(text), text)
        instructions = WITHOUT_BOXES if is_boxless else ""
        notes = notes_of_plan(self.root, self.path, known, instructions=instructions)
        return replace(context, plan_hint=notes)

    @property
    def _format(self) -> PlanFormat:
        return format_at(self.root, self.path, profile_of(self.config.profile).plan_kind)

    def mode(self, text: str, facts: PlanFacts, run: RunState) -> Mode:
        """A plan without a character is no plan, so it is written where the agent writes plans.

        A plan that a start wrote without a task is filled first, where something says with what.
        """
        if self._is_written_by_agent and not text.strip():
            return Mode.PLAN
        if facts.without_tasks and not run.had_tasks and self._is_filled_by_agent(run):
            return Mode.PLAN
        return super().mode(text, facts, run)

    def logged_as_finished(
        self,
        before: str,
        after: str,
        logged: str,
        *,
        task: str | None = None,
        own: str | None = None,
    ) -> tuple[str, ...]:
        plans = self.plan(before, task=task), self.parse(after).plan
        return logged_as_finished(*plans, logged, own=own)

    def renamed(
        self, before: str, after: str, earlier: Mapping[str, TaskRef] = MappingProxyType({})
    ) -> dict[str, TaskRef]:
        if before == after:
            return dict(earlier)
        plan = self.parse(after).plan
        names = renamed_tasks(self.parse(before).plan, plan)
        known = plan.some(ids=names)
        now = {names[task.id]: TaskRef(id=task.id, title=task.title) for task in known}
        return {was: now.pop(task.id, task) for was, task in earlier.items()} | now

    def remarks(self, text: str, *, report_changes: bool) -> tuple[Notice, ...]:
        """Notices about specifications, each once in the life of this engine."""
        if not self._is_written_by_agent:
            return ()
        before, self._specs = self._specs, read_specs(self.root)
        plan = self.plan(text)
        logs = finished_logs(self.root, self.config)
        found = notices_of(check_specs(self._specs.specs, self._specs.index, plan, text, *logs))
        fresh = tuple(notice for notice in found if notice.message not in self._reported_specs)
        self._reported_specs.update(notice.message for notice in fresh)
        fresh += self._unplanned(plan, text, self._specs.specs)
        if before is None or not report_changes:
            return fresh
        return (*fresh, *changes_of(before, self._specs))

    def _unplanned(self, plan: Plan, text: str, specs: Sequence[Spec]) -> tuple[Notice, ...]:
        """Reported once an iteration while no required task is open: a run may end with that."""
        is_open = any(is_unfinished(task) and not task.optional for task in plan.tasks)
        is_due = self.config.task is None and bool(text.strip()) and not self._is_unplanned_reported
        if is_open or not is_due:
            return ()
        logs = finished_logs(self.root, self.config)
        names = unplanned_specs(specs, plan, text, *logs)
        names = tuple(name for name in names if is_written(self.root, name))
        self._is_unplanned_reported = bool(names)
        return (unplanned_notice(names),) if names else ()

    def close(self, verifications: Sequence[TaskVerification], before: str) -> WrittenPlan:
        def change(text: str, task_id: str, one: TaskVerification) -> str:
            named = replace(one, task=TaskRef(id=task_id, title=one.task.title))
            return closing.write_markdown_verification(text, named, before=before)

        return close_in_file(self, verifications, change)

    def set_aside(self, order: SetTaskAside) -> str:
        return set_task_aside(
            self.root, self.path, order.task.id, reason=order.reason, needs=order.needs
        )

    def guarded(self, before: str, after: str, iteration: WatchedIteration) -> GuardedPlan:
        kind = format_of_file(self.path, PlanKind.MARKDOWN).name
        if rewritten := restore_format(self.path, kind, before, after):
            return rewritten
        powers = self.powers(iteration)
        plans = [parse_markdown(text).plan for text in (before, after)]
        own = None if iteration.task is None or not iteration.has_evidence else iteration.task.id
        done = guard_plan(
            plans[0], before, plans[1], after, powers=powers, finished=iteration.finished, own=own
        )
        offences = tuple(
            PlanOffence(
                what=one.what,
                task=TaskRef(id=one.task.id, title=escape_surrogates(one.task.title)),
                text=one.text,
            )
            for one in done.violations
        )
        if done.lost_boxes:
            offences += (PlanOffence(what=Forbidden.CHANGED, task=None, why=_NO_BOXES),)
        removed = ""
        if iteration.task is not None and done.reworded_entry:
            removed = escape_surrogates(task_excerpt(plans[0], before, iteration.task.id))
        notices = _contradicts(iteration.task, done.reworded_entry, removed)
        return GuardedPlan(text=done.text, offences=offences, notices=notices)

    def held(
        self, start: str, committed: str, tree: str, finished: str
    ) -> Mapping[tuple[str, str], str]:
        before = parse_markdown(start).plan
        found = [
            guard_plan(
                before,
                start,
                parse_markdown(text).plan,
                text,
                powers=PlanPowers(),
                finished=finished,
            )
            for text in (committed, tree)
        ]
        accepted = {(one.what, one.task.id) for one in found[1].violations}
        return {
            (one.what.value, one.task.id): f"{one.what.value}: {escape_surrogates(one.task.title)}"
            for one in found[0].violations
            if (one.what, one.task.id) not in accepted
        }

    @property
    def _is_written_by_agent(self) -> bool:
        """Whether a missing plan is written in a separate iteration."""
        policy = profile_of(self.config.profile).without_plan
        return policy is WithoutPlan.PLAN and self.config.task is None

    def _is_filled_by_agent(self, run: RunState) -> bool:
        """Whether a plan without a task is filled first, as often as that may be tried."""
        policy = profile_of(self.config.profile).without_plan
        is_tried = policy is WithoutPlan.SKELETON and run.counted < PLANNING_TRIES
        return is_tried and has_text_to_plan_from(self.root)

    def _require_tasks(self, text: str) -> None:
        """Raise ``PlanMissing`` where no agent is needed: the plan holds nothing to do."""
        is_planned = self.config.mode is FirstMode.PLAN
        if is_planned or (self._is_written_by_agent and not text.strip()):
            return
        if why := self.facts(text).without_tasks:
            raise PlanMissing(why)

    def _reset(self) -> list[Notice]:
        reset = reset_for_replanning(self.root, self.path)
        notices: list[Notice] = []
        if reset.opened:
            message = f"reopened for planning: {titles_of(reset.opened)}"
            notices.append(Notice(code="plan-reset", message=message))
        if reset.left:
            message = (
                "still in progress in the plan, because they have no box or tag: "
                f"{titles_of(reset.left)}; reopen them yourself if nobody is working on them"
            )
            notices.append(Notice(code="plan-not-reset", message=message))
        return notices


def _contradicts(task: TaskRef | None, entry: str, removed: str) -> tuple[Notice, ...]:
    """Notice of a task that counts as finished although it was logged in other words."""
    if task is None or not entry:
        return ()
    message = (
        f"{escape_surrogates(task.title)} left the plan and counts as finished, because this "
        f"entry is new: {escape_surrogates(entry)[:SHOWN_ENTRY]}; to reopen it, write it into the "
        "plan again, or use the editor's action"
    )
    known = RemovedTask(task=task, text=removed)
    return (Notice(code="finished-in-other-words", message=message, removed=known),)


def _without_plan(root: Path, settings: LoadedSettings, *, resume: bool) -> LocatedPlan | None:
    """The plan of a start without a plan file; None: the run is refused."""
    config = settings.config
    profile = profile_of(config.profile)
    # A missing plan that was named for this run is a typing error.
    if config.task is not None or "paths.plan" in settings.overrides or not profile.plan_files:
        return None
    path = config.paths.plan or profile.plan_files[0]
    if resolve_inside(root, path).exists() or (root / path).is_symlink():
        return None
    if profile.without_plan is WithoutPlan.PLAN:
        return LocatedPlan(path=path, text="")
    # A second plan would hide the one that another tool is to write here.
    is_wanted = settings.names_profile and not resume and not why_of_tool(root)
    if profile.without_plan is WithoutPlan.SKELETON and is_wanted:
        refusal = f"there was no plan, so {path} was created with its sections; "
        refusal += how_to_write_a_task(path)
        is_filled = config.mode is FirstMode.PLAN or has_text_to_plan_from(root)
        return LocatedPlan(
            path=path,
            text=fix_plan_skeleton(),
            is_to_write=True,
            refusal="" if is_filled else refusal,
        )
    return None
