"""Beads source: the issues of ``bd`` as a run's plan (docs/rules.md#beads).

Reading the issues takes several calls of a slow program, so a result is reused for a moment. Issues
that others have claimed are not taken. An issue that its agent closed without evidence is opened
again: nothing else would hold a build iteration to criteria that it may not change.

``bd`` is never given a shell line: each text of a plan is one argument.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ralph_ls.core.loop.effects import NoteSetAside, SetTaskAside
from ralph_ls.core.loop.inputs import HeldTask, Notice, PlanFacts
from ralph_ls.core.plan.formats.beads.bd_output import keeps_close_reasons
from ralph_ls.core.plan.formats.beads.commands import (
    BeadsCommand,
    block_command,
    note_stuck,
    reopen_command,
    replan_commands,
)
from ralph_ls.core.plan.formats.beads.evidence import (
    closings,
    describe_close_reason,
    newly_closed,
    verification_commands,
)
from ralph_ls.core.plan.formats.beads.guard import find_beads_violations, revert_commands
from ralph_ls.core.plan.formats.beads.issues import BeadsIssue, BeadsOddity, IssueStatus
from ralph_ls.core.plan.formats.beads.queue import (
    HoldReason,
    IssueQueue,
    describe_unready,
    read_queue,
)
from ralph_ls.core.plan.formats.beads.snapshot import (
    BeadsSnapshot,
    changed_by_planning,
    claimed_by_others,
    claiming_actor,
    parts_of,
    plan_of_snapshot,
    snapshot_from_text,
    snapshot_to_text,
)
from ralph_ls.core.plan.model import ParsedPlan, Task
from ralph_ls.core.plan.queries import traits_of
from ralph_ls.core.plan.verification.criterion_checks import (
    TaskClosing,
    TaskVerification,
    runnable_commands,
)
from ralph_ls.core.plurals import count_of
from ralph_ls.core.prompt.template import PromptContext
from ralph_ls.engine.plan.beads_guard import (
    SHOWN,
    emit_not_reverted,
    emit_not_written,
    how_to_close,
    judge_close_reason,
    name_of,
    offences_of,
    try_each,
    unproven,
)
from ralph_ls.engine.plan.plan_file import (
    SHOWN_TASKS,
    require_plan_or_task,
    require_task,
)
from ralph_ls.engine.plan.source import (
    NOBODY,
    ClaimedPlan,
    FinishedWork,
    GuardedPlan,
    LocatedPlan,
    PlanOffence,
    PlanSource,
    WatchedIteration,
    WrittenPlan,
    counts_view,
)
from ralph_ls.protocol.config.config import Config, FirstMode
from ralph_ls.protocol.errors import IssuesMissing, IssuesRefused, PlanMissing
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Mode, PlanCountsView, TaskRef
from ralph_ls.protocol.task_words import TaskState
from ralph_ls.store.external.bd import FOLDER, Bd, claim_issue, find_bd, read_snapshot, version_of
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.project.config_file import LoadedSettings
from ralph_ls.store.project.detection import find_specs

CALLED = "bd"
"""Name of this plan, which is not a file."""

KEPT_SNAPSHOTS = 4
"""As ``source.KEPT_READINGS``."""


class BeadsSource(PlanSource):
    """The issues that ``bd`` keeps for this work tree."""

    def __init__(
        self, root: Path, config: Config, path: str, environment: Mapping[str, str]
    ) -> None:
        super().__init__(root, config, path, environment)
        self._found: Bd | None = None
        self._last: BeadsSnapshot | None = None
        """The newest that is known."""
        self._just_read: str | None = None
        """Text that was read a moment ago, for the next call."""
        self._snapshots: dict[str, BeadsSnapshot] = {}
        self._own_names: set[str] | None = None
        """Names under which this run claims issues; None: not known yet."""
        self._refused: dict[str, str] = {}
        """Issues that could not be claimed since an iteration began, and why."""
        self._is_planning = False
        """The iteration that is being closed is a plan iteration."""
        self._pending: list[Notice] = []
        self._reported: set[BeadsOddity] = set()

    @classmethod
    def locate(
        cls, root: Path, settings: LoadedSettings, environment: Mapping[str, str], *, resume: bool
    ) -> LocatedPlan:
        """Ask ``bd`` for everything; raises ``PlanMissing`` without issues or an answer."""
        del resume
        config = settings.config
        require_plan_or_task(config)
        source = cls(root, config, CALLED, environment)
        text = source.read()
        parent = config.beads.parent
        if parent is not None and parent not in source._snapshot(text).by_id():
            raise PlanMissing(
                f"bd has no issue {parent} in {root}; list the issues with bd list, and set "
                "beads.parent to one of them"
            )
        if config.task is not None:
            require_task(source.parse(text).plan, config.task)
        return LocatedPlan(path=CALLED, text=text)

    def begin(self, settings: LoadedSettings, found: LocatedPlan, *, resume: bool) -> list[Notice]:
        """Before the plan is made again, open tasks in progress (docs/rules.md#plan-mode)."""
        self._just_read, self._last = found.text, self._snapshot(found.text)
        self._names()
        if settings.config.mode is not FirstMode.PLAN or resume:
            return []
        taken = self._taken(self._last)
        begun = [
            issue
            for issue in self._last.in_scope()
            if issue.status == IssueStatus.IN_PROGRESS and issue.id not in taken
        ]
        if not begun:
            return []
        problems = try_each(self._bd, replan_commands(begun))
        self._just_read = None
        n_more = len(begun) - SHOWN
        shown = [name_of(issue) for issue in begun[:SHOWN]]
        shown += [f"and {count_of(n_more, 'more issue')}"] if n_more > 0 else []
        message = f"reopened for planning: {'; '.join(shown)}"
        return [Notice(code="plan-reset", message=message), *emit_not_written(problems)]

    @property
    def file(self) -> str | None:
        return None

    @property
    def own_folders(self) -> tuple[str, ...]:
        return (FOLDER,)

    def read(self) -> str:
        text, self._just_read = self._just_read, None
        return self._read() if text is None else text

    def _parse(self, text: str) -> ParsedPlan:
        return plan_of_snapshot(self._snapshot(text))

    def counts(self, text: str, *, task: str | None = None) -> PlanCountsView:
        return counts_view(self.plan(text, task=task), "", self.config)

    def facts(
        self,
        text: str,
        *,
        task: str | None = None,
        set_aside: Mapping[str, int] = NOBODY,
        skipped: Collection[str] = (),
    ) -> PlanFacts:
        queue = self._queue(self._snapshot(text), set_aside, skipped)
        chosen = queue.next_task
        labels = () if chosen is None else self._snapshot(text).by_id()[chosen.id].tags
        unfinished = [
            one
            for one in self.plan(text, task=task).tasks
            if one.state not in {TaskState.DONE, TaskState.SKIPPED}
        ]
        held = queue.held[:SHOWN_TASKS]
        return PlanFacts(
            counts=self.counts(text, task=task),
            next_task=None if chosen is None else _reference(chosen),
            next_traits=None if chosen is None else traits_of(chosen, labels=labels),
            open_tasks=tuple(_reference(one) for one in unfinished[:SHOWN_TASKS]),
            held=tuple(
                HeldTask(
                    task=_reference(one.task),
                    why=one.why,
                    is_waiting=one.reason in {HoldReason.WAITING, HoldReason.PARTS},
                )
                for one in held
            ),
            is_stuck=queue.is_stuck,
            left="" if chosen is not None else describe_unready(queue),
        )

    def mode(self, text: str, facts: PlanFacts, run: RunState) -> Mode:
        """Planning comes first where the user asks for it, or where there are only specifications.

        Without issues only the specifications define work; where planning found nothing in them,
        there is none.
        """
        del facts
        config = self.config
        if config.task is not None:
            return Mode.BUILD
        wanted = config.mode is FirstMode.PLAN and run.counted == 0
        has_none = not self._snapshot(text).issues and not run.has_planned
        return Mode.PLAN if wanted or (has_none and find_specs(self.root)) else Mode.BUILD

    def with_context(self, context: PromptContext, text: str) -> PromptContext:
        del text
        return replace(context, plan_hint=self._how_to_close())

    def _how_to_close(self) -> str:
        """Hint for the agent about this ``bd``; empty where it keeps close reasons."""
        version = version_of(self._bd)
        is_old = version is not None and not keeps_close_reasons(version)
        return how_to_close(version) if version is not None and is_old else ""

    def must_claim(self, text: str, task: TaskRef) -> bool:
        issue = self._snapshot(text).by_id().get(task.id)
        return issue is not None and issue.status != IssueStatus.IN_PROGRESS

    def claim(self, text: str, task: TaskRef) -> ClaimedPlan:
        snapshot = self._snapshot(text)
        issue = snapshot.by_id()[task.id]
        try:
            taken = claim_issue(self._bd, issue)
        except (IssuesRefused, IssuesMissing) as error:
            # The next read shows who has it; otherwise this issue is skipped.
            self._refused[task.id] = str(error)
            return ClaimedPlan(text=text, refused=str(error))
        self._refused.clear()
        if taken.assignee:
            self._names().add(taken.assignee)
        issues = tuple(taken if one.id == taken.id else one for one in snapshot.issues)
        ready = snapshot.ready and tuple(one for one in snapshot.ready if one != taken.id)
        return ClaimedPlan(text=self._keep(replace(snapshot, issues=issues, ready=ready)))

    def finished(
        self, before: str, after: str, *, task: str | None = None, now: str | None = None
    ) -> FinishedWork:
        """Closed issues; one without a valid reason is closed, and is no evidence.

        See docs/rules.md#evidence.
        """
        del task, now
        snapshot = self._snapshot(after)
        closed = self._closed(self._snapshot(before), snapshot)
        notices, self._pending = self._pending, []
        if self._is_planning:
            return FinishedWork(notices=tuple(notices))
        containers = parts_of(snapshot.issues)
        done, without = [], []
        for issue in closed:
            closing = judge_close_reason(issue, self.on_path, verifies=self.config.verify)
            if issue.id in containers or not closing.is_empty:
                done.append(issue.id)
            if issue.id not in containers and not closing.is_verified:
                without.append(f"{name_of(issue)} {describe_close_reason(closing)}")
        if without:
            notices.append(unproven("; ".join(without)))
        return FinishedWork(tasks=tuple(done), notices=tuple(notices))

    def reviewed(self, before: str, after: str, tasks: Collection[str]) -> tuple[str, ...]:
        return changed_by_planning(self._snapshot(before), self._snapshot(after), tasks)

    def remarks(self, text: str, *, report_changes: bool) -> tuple[Notice, ...]:
        """Notices of answers of ``bd`` that could not be parsed."""
        del report_changes
        found = self._snapshot(text).oddities
        fresh = [one for one in dict.fromkeys(found) if one not in self._reported]
        self._reported.update(fresh)
        return tuple(Notice(code=one.code, message=one.message) for one in fresh)

    def set_aside(self, order: SetTaskAside) -> str:
        """Mark an issue as blocked, where the settings choose that instead of a note."""
        issue = self._issue(order.task.id)
        if issue is not None:
            self._try([block_command(issue, order.reason, order.needs)])
        return self._read()

    def note_set_aside(self, order: NoteSetAside) -> None:
        """The note on a set-aside issue, in fixed words (docs/rules.md#attempts)."""
        issue = self._issue(order.task.id)
        if issue is not None and not issue.is_closed:
            noted = note_stuck(
                issue, order.attempts, order.at, reason=order.agent_reason, quote=order.quote
            )
            self._try([noted])

    def closings(self, before: str, after: str, done: Collection[str]) -> tuple[TaskClosing, ...]:
        closed = self._closed(self._snapshot(before), self._snapshot(after))
        done_now = (issue for issue in closed if issue.id in done)
        return closings(done_now, on_path=self.on_path)

    def commands(self, text: str) -> tuple[str, ...]:
        open_ones = (one for one in self._snapshot(text).in_scope() if not one.is_closed)
        found = closings(open_ones, on_path=self.on_path)
        return runnable_commands(check for one in found for check in one.checks)

    def close(self, verifications: Sequence[TaskVerification], before: str) -> WrittenPlan:
        """Write verification results into ``bd``: a close reason, or the issue is opened again."""
        del before
        results: list[TaskVerification] = []
        problems: list[str] = []
        for one in verifications:
            issue = self._issue(one.task.id)
            refused = [] if issue is None else try_each(self._bd, verification_commands(issue, one))
            problems += refused
            results.append(replace(one, reopened=bool(one.failed) and not refused))
        notices = emit_not_written(problems)
        return WrittenPlan(text=self._read(), verifications=tuple(results), notices=notices)

    def hurry(self, seconds: float) -> None:
        if self._found is not None:
            self._found.supervisor.end_in(seconds)

    def stop(self) -> None:
        if self._found is not None:
            self._found.supervisor.end()

    def guarded(self, before: str, after: str, iteration: WatchedIteration) -> GuardedPlan:
        """Revert forbidden changes of a build iteration at once; report what cannot be reverted."""
        self._is_planning = iteration.mode is Mode.PLAN
        is_ordered = self.config.mode is FirstMode.PLAN
        text = after
        offences: tuple[PlanOffence, ...] = ()
        if not self._is_planning or not (is_ordered or self.config.guard.planning_is_free):
            text, offences = self._revert(before, after, iteration)
        if not self._is_planning and iteration.task is not None:
            text = self._open_unproven(before, text, iteration.task.id)
        self._just_read = text
        return GuardedPlan(text=text, offences=offences)

    @property
    def _bd(self) -> Bd:
        if self._found is None:
            self._found = find_bd(self.root, self.environment)
        return self._found

    def _read(self, whole: Iterable[str] = ()) -> str:
        parent = self.config.beads.parent
        found = read_snapshot(self._bd, parent=parent, before=self._last, whole=whole)
        return self._keep(found)

    def _try(self, commands: Iterable[BeadsCommand]) -> None:
        """Run these commands of ``bd``; what it refuses is reported."""
        self._pending += emit_not_written(try_each(self._bd, commands))

    def _keep(self, snapshot: BeadsSnapshot) -> str:
        text = snapshot_to_text(snapshot)
        self._last = self._snapshots[text] = snapshot
        self._forget()
        return text

    def _snapshot(self, text: str) -> BeadsSnapshot:
        known = self._snapshots.get(text)
        if known is None:
            known = self._snapshots[text] = snapshot_from_text(text)
            self._forget()
        return known

    def _forget(self) -> None:
        while len(self._snapshots) > KEPT_SNAPSHOTS:
            del self._snapshots[next(iter(self._snapshots))]

    def _issue(self, issue_id: str) -> BeadsIssue | None:
        return None if self._last is None else self._last.by_id().get(issue_id)

    def _queue(
        self, snapshot: BeadsSnapshot, set_aside: Mapping[str, int], skipped: Collection[str]
    ) -> IssueQueue:
        return read_queue(
            snapshot,
            set_aside=set_aside,
            skipped=skipped,
            taken=self._taken(snapshot) | self._refused,
            only=self.config.task,
        )

    def _taken(self, snapshot: BeadsSnapshot) -> dict[str, str]:
        return claimed_by_others(snapshot, self._names())

    def _names(self) -> set[str]:
        if self._own_names is None:
            printed = run_git(self.root, "config", "user.name", accept=(0, 1))
            git_name = printed.decode("utf-8", "replace").strip()
            agent = self.config.agents.get(self.config.agent)
            around = dict(self.environment)
            names = [claiming_actor(around, git_name)]
            names += [] if agent is None else [claiming_actor(around | agent.env, git_name)]
            self._own_names = {name for name in names if name}
        return self._own_names

    def _closed(self, before: BeadsSnapshot, after: BeadsSnapshot) -> list[BeadsIssue]:
        inside = {issue.id for issue in after.in_scope()}
        only = self.config.task
        return [
            issue
            for issue in newly_closed(before, after)
            if issue.id in inside and only in {None, issue.id}
        ]

    def _revert(
        self, before: str, after: str, iteration: WatchedIteration
    ) -> tuple[str, tuple[PlanOffence, ...]]:
        was, now = self._snapshot(before), self._snapshot(after)
        found = find_beads_violations(was, now, decided=iteration.decided)
        if not found:
            return after, ()
        # Lists omit fields, so nothing is restored because of one alone.
        after = self._read(whole=dict.fromkeys(one.issue.id for one in found))
        now = self._snapshot(after)
        found = find_beads_violations(was, now, decided=iteration.decided)
        if not found:
            return after, ()
        problems = try_each(self._bd, revert_commands(was, now, found))
        text = self._read()
        left = find_beads_violations(was, self._snapshot(text), decided=iteration.decided)
        if left:
            self._pending.append(emit_not_reverted(left, problems))
        return text, offences_of(found, left)

    def _open_unproven(self, before: str, after: str, task: str) -> str:
        """Open the iteration's own issue again where its reason does not say how it was verified.

        An attempt whose criteria were not all verified has failed (docs/rules.md#attempts), and a
        failed one is not over. Issues that others may have closed are left alone.
        """
        now = self._snapshot(after)
        containers = parts_of(now.issues)
        closed = self._closed(self._snapshot(before), now)
        for issue in closed:
            closing = judge_close_reason(issue, self.on_path, verifies=self.config.verify)
            if issue.id != task or issue.id in containers or closing.is_verified:
                continue
            defect = describe_close_reason(closing)
            if (how := self._how_to_close()) and not issue.close_reason:
                defect = f"{defect} ({how})"
            problems = try_each(self._bd, [reopen_command(issue, f"Opened again: it {defect}.")])
            then = f"and stays closed: {problems[0]}" if problems else "and is open again"
            self._pending.append(unproven(f"{name_of(issue)} {defect}, {then}"))
            return self._read()
        return after


def _reference(task: Task) -> TaskRef:
    return TaskRef(id=task.id, title=task.title)
