"""Effect runner of a parallel run: opens lanes, follows their runs, rebases and merges.

What changes a work tree or a branch runs one at a time, in threads; runs are started side by side.
Every effect can be performed again after an engine that died in the middle of it.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ralph_ls.core.loop.effects import Effect, TakeApprovals, Validate
from ralph_ls.core.loop.fold import fold
from ralph_ls.core.loop.inputs import Input
from ralph_ls.core.loop.lane_effects import (
    AdvanceBranch,
    CloseLane,
    LaneEffect,
    LaneLimits,
    OpenLane,
    ReadBranchPlan,
    RebaseLane,
    SteerLane,
)
from ralph_ls.core.loop.lane_inputs import (
    BranchPlanRead,
    LaneAdvanced,
    LaneDeferred,
    LaneEngineGone,
    LaneFailed,
    LaneInput,
    LaneObserved,
    LaneOpened,
    LaneRebased,
    LaneRefused,
    LaneRunFinished,
)
from ralph_ls.core.loop.rules.budget import tokens_of
from ralph_ls.core.loop.rules.lanes import branch_of_run, lane_of
from ralph_ls.engine.clock import Clock
from ralph_ls.engine.delivery.git_commands import ProcessLauncher
from ralph_ls.engine.iteration.validation import ScriptValidation
from ralph_ls.engine.parallel import lane_setup
from ralph_ls.engine.parallel.lane_starter import LaneOrder, LaneStarter
from ralph_ls.engine.parallel.lane_worktree import (
    LaneTree,
    changed_files,
    copy_files,
    has_worktree,
    make_lane,
    move_lane,
    remove_lane,
)
from ralph_ls.engine.parallel.merge_branch import BranchMoved, MergeBranch
from ralph_ls.engine.process.running_process import RunningProcess
from ralph_ls.engine.run.effect_runner import EffectRunner
from ralph_ls.engine.run.inbox import Wakeup
from ralph_ls.engine.worktree.keeper import TreeKeeper
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.config.config import Config, OnHalt
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.state import LaneView, RunState
from ralph_ls.protocol.run.values import EndReason, MergeProblem, Phase
from ralph_ls.store.files import make_private_folder
from ralph_ls.store.layout import find_worktree, new_run_id, state_root
from ralph_ls.store.project import trust
from ralph_ls.store.run import steering
from ralph_ls.store.run.follow import JournalTail
from ralph_ls.store.run.inbox import queue_note
from ralph_ls.store.run.journal import Journal
from ralph_ls.store.run.lock import is_held
from ralph_ls.store.run.runs import find_run
from ralph_ls.store.run.state_index import find_state

LANE_VARIABLE = "RALPH_LANE"
"""The lane's number in the environment of everything that runs in it, such as for a port."""

WAITS_SHOWN = frozenset({"limit", "retry", "unreachable"})
"""Reasons of a wait that a parallel run has to know of."""

SHOWN_PATHS = 50

_NOT_PASSED = frozenset(
    {
        "parallel",
        "mode",
        "task",
        "work_branch",
        "push",
        "on_halt",
        "max_iterations",
        "max_tokens",
        "max_cost_usd",
        "max_duration",
    }
)
"""Overrides of a parallel run that its lanes get otherwise."""


RUNNING = (Phase.RUNNING, None, None, None)
"""What is reported of the phase of a run that works."""


_NOT_NOTIFIED = ("complete", "limit", "breaker", "usage_limit", "cost")
"""Events of which a lane's run notifies nobody: the parallel run has the same ones."""


@dataclass(slots=True)
class FollowedRun:
    """A lane's run that is followed."""

    lane: LaneTree
    run: str
    tail: JournalTail
    wakeup: Wakeup | None = None
    state: RunState = field(default_factory=RunState)
    told: tuple[Any, ...] = RUNNING
    """What was last reported of its phase."""
    is_over: bool = False

    def stop_watching(self) -> None:
        """Look no more by itself whether its files change."""
        if self.wakeup is not None:
            self.wakeup.close()
            self.wakeup = None


class LaneEffectRunner(EffectRunner):
    """Effect runner of one parallel run."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        clock: Clock,
        journal: Journal,
        deliver: Callable[[Input | LaneInput], None],
        keeper: TreeKeeper | None = None,
        overrides: Mapping[str, Any],
    ) -> None:
        super().__init__(workspace, clock=clock, journal=journal, deliver=deliver, keeper=keeper)
        self._place = workspace
        self._time = clock
        self._tell = deliver
        self._overrides = {
            key: value
            for key, value in overrides.items()
            if key not in _NOT_PASSED and not key.startswith("lane.")
        }
        self._approved = trust.read_record(workspace.state).allowed
        self._starter = LaneStarter(workspace.files.folder / "lanes.err")
        self._trees = asyncio.Lock()
        """Held while work trees and branches change."""
        self._orders: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """Held while a lane gets an order, so that it gets them in their order."""
        self._followed: dict[str, FollowedRun] = {}
        self._processes: list[RunningProcess] = []
        self._is_stopping = False
        self._branch: MergeBranch | None = None

    def perform(self, effect: Effect | LaneEffect, run: RunState) -> None:
        """Begin an effect; what comes of it is delivered as an input."""
        match effect:
            case ReadBranchPlan():
                self._start("reading the plan", self._reply(self._read_plan(run)))
            case OpenLane():
                self._start("opening a lane", self._open(effect, run))
            case RebaseLane():
                self._start("rebasing", self._reply(self._rebase(effect, run)))
            case AdvanceBranch():
                self._start("merging", self._reply(self._advance(effect, run)))
            case CloseLane(task=task):
                self._start("closing a lane", self._close_lane(task, run))
            case SteerLane():
                self._start("steering", self._steer(effect, run))
            case _:
                super().perform(effect, run)

    def look_at_clock(self) -> None:
        """Look at the lanes as well, for systems without events of files."""
        super().look_at_clock()
        for task in list(self._followed):
            self._look_at_lane(task)

    def write_first(self, effects: Iterable[Effect | LaneEffect]) -> str | None:
        """As for any run; lanes that are opened from now on have new approvals, too."""
        effects = tuple(effects)
        for effect in effects:
            if isinstance(effect, TakeApprovals):
                self._approved |= {one.key: one.sha256 for one in effect.approvals}
        return super().write_first(effects)

    async def finish(self, run: RunState) -> None:
        """Let what still runs come to its end, and remove what is no longer needed."""
        await super().finish(run)
        if self._branch is not None:
            base = run.lanes[0].base if run.lanes else None
            await asyncio.to_thread(self._branch.remove_if_unused, base or "")

    async def close(self) -> None:
        """Leave nothing behind but the lanes' runs."""
        self._is_stopping = True
        for process in self._processes:
            process.stop()
        for followed in self._followed.values():
            followed.stop_watching()
        self._followed.clear()
        await super().close()
        await asyncio.to_thread(self._starter.close)

    async def _reply(self, work: Awaitable[LaneInput]) -> None:
        self._tell(await work)

    def _branch_of(self, run: RunState) -> MergeBranch:
        if self._branch is None:
            self._branch = MergeBranch(self._place, branch_of_run(run))
        return self._branch

    async def _read_plan(self, run: RunState) -> LaneInput:
        branch = self._branch_of(run)
        self._start("preparing", asyncio.to_thread(self._starter.prepare))
        async with self._trees:
            return await asyncio.to_thread(_read_plan, branch, self._head())

    def _head(self) -> str:
        from ralph_ls.engine.git.worktree_state import read_head

        place = self._place.worktree
        return read_head(place.git_dir, place.common_dir).commit or ""

    def _lane_of(self, view: LaneView) -> LaneTree:
        worktree = find_worktree(Path(view.worktree))
        state = find_state(state_root(self._place.environment), worktree)
        return LaneTree(worktree=worktree, state=state, branch=view.branch)

    # Opening

    async def _open(self, effect: OpenLane, run: RunState) -> None:
        view = _view(run, effect.task)
        try:
            async with self._trees:
                lane = await asyncio.to_thread(self._prepare_lane, view, effect, run)
            live = await asyncio.to_thread(find_run, lane.worktree, lane.state)
            if live is not None and live.live:
                opened = LaneOpened(
                    task=effect.task,
                    run=live.state.run,
                    base=view.base or lane.head(),
                    limits=_limits_left(live.state.config, view, live.state.run),
                    is_new=False,
                )
            else:
                await self._set_up(lane, view)
                opened = await asyncio.to_thread(self._begin, lane, view, effect)
        except RalphError as error:
            empty = await asyncio.to_thread(self._is_empty, view)
            self._tell(LaneFailed(task=effect.task, message=error.message, is_empty=empty))
            return
        # What becomes of the run is of interest once it is known that there is one.
        self._tell(opened)
        is_known = not opened.is_new and opened.run == view.run and view.end is None
        told = (view.phase, view.phase_reason, view.until, view.question)
        self._follow(effect.task, lane, opened.run, told=told if is_known else RUNNING)

    def _prepare_lane(self, view: LaneView, effect: OpenLane, run: RunState) -> LaneTree:
        """The lane's work tree, with its work where the next run begins."""
        branch, root = self._branch_of(run), self._place.root
        make_lane(root, Path(view.worktree), view.branch, branch.head())
        lane = self._lane_of(view)
        copy_files(root, lane.root, self._place.config.lane.files)
        make_private_folder(lane.state.folder)
        trust.write_record(
            lane.state, trust.TrustRecord(root=str(lane.root), allowed=self._approved)
        )
        if effect.repair is not None:
            self._prepare_repair(lane, view, effect, branch)
        return lane

    def _prepare_repair(
        self, lane: LaneTree, view: LaneView, effect: OpenLane, branch: MergeBranch
    ) -> None:
        """Put the lane's work on the end of the branch, for the run that repairs it."""
        rebase, onto, tip = branch.rebase(), branch.head(), lane.head()
        if rebase.repaired_tip(onto, tip) is None or rebase.merge_base(onto, tip) != onto:
            plan = branch.plan_files(onto)
            commit, applied = rebase.repair_commit(onto, tip, plan)
            move_lane(lane, commit)
            words = repair_note(view, effect, applied.conflicts, branch.name)
            queue_note(lane.state, words, by="ralph run --parallel")

    async def _set_up(self, lane: LaneTree, view: LaneView) -> None:
        """Run ``lane.setup`` in a lane that has not been set up."""
        if view.run is None and self._place.config.lane.setup:
            await lane_setup.set_up(
                self._place, lane, environment=self._environment(view), keep=self._processes
            )

    def _environment(self, view: LaneView) -> dict[str, str]:
        return {**self._place.environment, LANE_VARIABLE: str(view.lane)}

    def _begin(self, lane: LaneTree, view: LaneView, effect: OpenLane) -> LaneOpened:
        """Start a run, or continue the lane's last one."""
        found = find_run(lane.worktree, lane.state)
        if found is not None and _has_unseen_end(found.state, view):
            return self._opened(lane, effect.task, found.state.run, view, LaneLimits())
        resumed = found.state if found is not None else None
        if resumed is not None and not effect.resume and resumed.end is not None:
            resumed = None
        run = new_run_id(self._time.now()) if resumed is None else resumed.run
        order = LaneOrder(
            folder=lane.root,
            files=lane.state.run(run) if resumed is None or found is None else found.files,
            run=run,
            overrides=self._lane_overrides(view, effect.limits, resumed),
            environment=self._environment(view),
            resume=resumed is not None,
        )
        self._starter.start(order)
        return self._opened(lane, effect.task, run, view, effect.limits)

    @staticmethod
    def _opened(
        lane: LaneTree, task: str, run: str, view: LaneView, limits: LaneLimits
    ) -> LaneOpened:
        return LaneOpened(task=task, run=run, base=view.base or lane.head(), limits=limits)

    def _lane_overrides(
        self, view: LaneView, limits: LaneLimits, resumed: RunState | None
    ) -> dict[str, Any]:
        """The settings of a lane's run: those of this run, for one task and a part of its limits.

        The limits of a run that is resumed are for all of it, so what was counted of it is added.
        """
        iterations, tokens, cost = _counted_of(view, "" if resumed is None else resumed.run)
        seconds = 0.0 if resumed is None else resumed.active_seconds
        return {
            **self._overrides,
            "profile": self._place.config.profile.value,
            "paths.plan": self._place.plan_path,
            "parallel": 1,
            "task": view.task.id,
            "work_branch": "",
            "push": False,
            "on_halt": OnHalt.WAIT.value,
            "on_pr_ready": (),
            **{f"notify.events.{name}": () for name in _NOT_NOTIFIED},
            "max_iterations": None if limits.iterations is None else limits.iterations + iterations,
            "max_tokens": None if limits.tokens is None else limits.tokens + tokens,
            "max_cost_usd": None if limits.cost_usd is None else limits.cost_usd + cost,
            "max_duration": None if limits.seconds is None else limits.seconds + seconds,
        }

    # Following

    def _follow(self, task: str, lane: LaneTree, run: str, *, told: tuple[Any, ...]) -> None:
        known = self._followed.pop(task, None)
        if known is not None:
            known.stop_watching()
        files = lane.state.run(run)
        followed = FollowedRun(lane=lane, run=run, tail=JournalTail(files.journal), told=told)
        self._followed[task] = followed
        followed.wakeup = Wakeup([files.folder], lambda: self._look_at_lane(task))
        self._look_at_lane(task)

    def _look_at_lane(self, task: str) -> None:
        followed = self._followed.get(task)
        if followed is None or followed.is_over:
            return
        is_alive = is_held(followed.lane.worktree.git_dir)
        events = followed.tail.read()
        followed.state = state = fold(events, followed.state)
        if state.end is not None and followed.tail.ended:
            if not is_alive:
                self._run_is_over(task, followed)
        elif not is_alive and not events:
            followed.is_over = True
            self._tell(LaneEngineGone(task=task))
        elif (now := _phase_of(state)) != followed.told:
            followed.told = now
            phase, reason, until, question = now
            self._tell(
                LaneObserved(task=task, phase=phase, reason=reason, until=until, question=question)
            )

    def _run_is_over(self, task: str, followed: FollowedRun) -> None:
        followed.is_over = True
        followed.stop_watching()
        self._start("reading a lane", self._reply(self._read_end(task, followed)))

    async def _read_end(self, task: str, followed: FollowedRun) -> LaneInput:
        state, end = followed.state, followed.state.end
        if end is None:  # It is called for a run that has ended.
            return LaneEngineGone(task=task)
        empty = await asyncio.to_thread(self._is_tree_empty, followed.lane, None)
        return LaneRunFinished(
            task=task,
            run=followed.run,
            reason=end.reason,
            message=end.message,
            by=end.by,
            iterations=state.counted,
            usage=state.usage,
            seconds=round(state.active_seconds, 3),
            is_empty=empty,
        )

    def _is_empty(self, view: LaneView) -> bool:
        path = Path(view.worktree)
        return not has_worktree(path) or self._is_tree_empty(self._lane_of(view), view.base)

    def _is_tree_empty(self, lane: LaneTree, base: str | None) -> bool:
        """Whether the lane has neither a commit nor a change that is nowhere else."""
        branch = self._branch
        try:
            if changed_files(lane.root, self._place.own_files):
                return False
            onto = base or (branch.head() if branch is not None else lane.head())
            rebase_base = branch.rebase().merge_base(onto, lane.head()) if branch else onto
            return rebase_base == lane.head()
        except RalphError:
            return False

    # Merging

    async def _rebase(self, effect: RebaseLane, run: RunState) -> LaneInput:
        task = effect.task
        view, branch = _view(run, task), self._branch_of(run)
        try:
            async with self._trees:
                lane = self._lane_of(view)
                onto = await asyncio.to_thread(branch.head)
                found = await asyncio.to_thread(_rebase, branch, lane, onto, view)
                if isinstance(found, LaneRefused):
                    return found
                changes = branch.rebase().changes
                if await asyncio.to_thread(changes, onto, found.head, effect.in_repair):
                    return LaneDeferred(task=task)
                if found.head == lane.head():
                    return found
                tip = lane.head()
                await asyncio.to_thread(move_lane, lane, found.head)
                refused = await self._validate(view, lane, onto, found.head)
                if refused is not None:
                    await asyncio.to_thread(move_lane, lane, tip)
                return refused or found
        except RalphError as error:
            return LaneRefused(task=task, problem=MergeProblem.BRANCH, message=error.message)

    async def _validate(
        self, view: LaneView, lane: LaneTree, onto: str, head: str
    ) -> LaneRefused | None:
        """Why the rebased commits are not valid; None where they are."""
        place = replace(self._place, worktree=lane.worktree, state=lane.state)
        if place.sandbox.box is not None:
            box = replace(place.sandbox.box, worktree=lane.worktree, state=lane.state)
            place = replace(place, sandbox=replace(place.sandbox, box=box))
        message = await validate_merged(
            place, onto, head, keep=self._processes, is_stopping=lambda: self._is_stopping
        )
        if message is None:
            return None
        return LaneRefused(task=view.task.id, problem=MergeProblem.VALIDATION, message=message)

    async def _advance(self, effect: AdvanceBranch, run: RunState) -> LaneInput:
        view, branch = _view(run, effect.task), self._branch_of(run)
        message = f"ralph: merge {view.task.id}"
        try:
            async with self._trees:
                await asyncio.to_thread(branch.advance, effect.onto, effect.head, message)
                plan = await asyncio.to_thread(branch.plan_at, effect.head)
                kept = await asyncio.to_thread(self._why_kept, view)
        except BranchMoved:
            return await self._rebase(RebaseLane(task=effect.task), run)
        except RalphError as error:
            return LaneRefused(task=effect.task, problem=MergeProblem.BRANCH, message=error.message)
        return LaneAdvanced(
            task=effect.task,
            head=effect.head,
            commits=effect.commits,
            counts=plan.counts,
            kept=kept,
        )

    def _why_kept(self, view: LaneView) -> str | None:
        path = Path(view.worktree)
        if not has_worktree(path):
            return None
        changed = changed_files(path, self._place.own_files)
        if not changed:
            return None
        return f"uncommitted changes in {path}: {', '.join(changed[:3])}"

    async def _close_lane(self, task: str, run: RunState) -> None:
        view = _view(run, task)
        followed = self._followed.pop(task, None)
        if followed is not None:
            followed.stop_watching()
        if view.kept is not None:
            return
        async with self._trees:
            with suppress(RalphError):
                await asyncio.to_thread(self._remove, view)

    def _remove(self, view: LaneView) -> None:
        path = Path(view.worktree)
        if has_worktree(path):
            if changed_files(path, self._place.own_files):
                return
            lane_setup.keep_runs(self._lane_of(view), self._place.state)
        remove_lane(self._place.root, path, view.branch)

    # Steering

    async def _steer(self, effect: SteerLane, run: RunState) -> None:
        view = _view(run, effect.task)
        async with self._orders[effect.task]:
            with suppress(RalphError):
                # A run that has ended meanwhile needs no order any more.
                await asyncio.to_thread(self._order, effect, view)

    def _order(self, effect: SteerLane, view: LaneView) -> None:
        lane = self._lane_of(view)
        context = steering.CommandContext(
            worktree=lane.worktree, state=lane.state, by=effect.by, now=self._time.now()
        )
        match effect.verb:
            case "stop" | "stopNow":
                steering.stop(context, now=effect.verb == "stopNow")
            case "pause":
                steering.pause(context)
            case "resume":
                steering.resume(context)
            case "answer":
                steering.answer(context, effect.text, untrusted=effect.untrusted)
            case "note":
                steering.note(context, effect.text)
            case _:
                approved = {one.key: one.sha256 for one in effect.approvals}
                steering.allow(context, approved)


async def validate_merged(
    place: Workspace,
    onto: str,
    head: str,
    *,
    keep: list[RunningProcess],
    is_stopping: Callable[[], bool],
) -> str | None:
    """Why ``head``, which is checked out in a work tree, is not valid; None where it is.

    ``keep`` gets each process that is started, so that it can be stopped.
    """
    launcher = ProcessLauncher(
        workspace=place,
        on_output=lambda _data: None,
        on_start=keep.append,
        is_stopping=is_stopping,
    )
    validation = ScriptValidation(launcher)
    is_due, _ = await asyncio.to_thread(validation.look, ())
    if not is_due:
        return None
    number = len(keep) + 1
    done = await validation.run(Validate(start=number, iteration=number))
    if done.ok:
        return None
    how = "took too long" if done.timed_out else f"ended with {done.exit_code}"
    return (
        f"validation of the merged result failed: {done.script} {how}, on {head[:8]} after "
        f"{onto[:8]}\n{done.tail}"
    ).rstrip()


def _view(run: RunState, task: str) -> LaneView:
    found = lane_of(run, task)
    if found is None:
        raise AssertionError(f"no lane has the task {task}")
    return found


def _has_unseen_end(run: RunState, view: LaneView) -> bool:
    """Whether a run ended while no engine of the parallel run lived to record it."""
    if run.end is None:
        return False
    is_done_since = run.end.reason is EndReason.COMPLETE and view.end is not EndReason.COMPLETE
    return run.run != view.run or view.end is None or is_done_since


def _counted_of(view: LaneView, run: str) -> tuple[int, int, float]:
    """The iterations, tokens and cost of a run that are already counted as used."""
    if run != view.run:
        return 0, 0, 0.0
    now, before = view.usage, view.earlier_usage
    cost = (now.cost_usd or 0.0 if now else 0.0) - (before.cost_usd or 0.0 if before else 0.0)
    tokens = (tokens_of(now) or 0) - (tokens_of(before) or 0)
    return view.iterations - view.earlier_iterations, tokens, cost


def _limits_left(config: Config, view: LaneView, run: str) -> LaneLimits:
    """What a run that is alive may use beyond what is already counted of it."""
    iterations, tokens, cost = _counted_of(view, run)
    return LaneLimits(
        iterations=None if config.max_iterations is None else config.max_iterations - iterations,
        tokens=None if config.max_tokens is None else config.max_tokens - tokens,
        cost_usd=None if config.max_cost_usd is None else config.max_cost_usd - cost,
    )


def _read_plan(branch: MergeBranch, base: str) -> BranchPlanRead:
    branch.begin(base)
    plan = branch.plan_at(branch.head())
    return BranchPlanRead(tasks=plan.tasks, counts=plan.counts)


def _rebase(
    branch: MergeBranch, lane: LaneTree, onto: str, view: LaneView
) -> LaneRebased | LaneRefused:
    rebase, tip, task = branch.rebase(), lane.head(), view.task.id
    marked = rebase.has_markers(onto, tip, view.paths)
    if marked:
        message = f"conflict markers are left in {', '.join(marked)}; resolve them in {lane.root}"
        return LaneRefused(
            task=task, problem=MergeProblem.UNRESOLVED, message=message, paths=marked
        )
    done = rebase.rebase(onto, tip)
    if done.conflicts:
        named = ", ".join(done.conflicts[:3])
        message = (
            f"{named} was changed by another lane, too; in {lane.root}: git rebase {branch.name}, "
            "then: ralph resume"
        )
        return LaneRefused(
            task=task,
            problem=MergeProblem.CONFLICT,
            message=message,
            paths=done.conflicts[:SHOWN_PATHS],
        )
    return LaneRebased(task=task, onto=onto, head=done.head, commits=done.commits)


def _phase_of(state: RunState) -> tuple[Phase, str | None, Any, str | None]:
    """What a parallel run has to know of the phase of a lane's run."""
    if state.phase is Phase.WAITING and state.phase_reason in WAITS_SHOWN:
        return state.phase, state.phase_reason, state.until, None
    if state.phase in {Phase.PARKED, Phase.PAUSED}:
        question = state.question
        asked = question.question if question is not None and question.answer is None else None
        return state.phase, state.phase_reason, None, asked
    return RUNNING


def repair_note(view: LaneView, effect: OpenLane, conflicts: tuple[str, ...], branch: str) -> str:
    """What the agent of a repair has to know."""
    return repair_words(view.task.title, effect.message, conflicts, branch)


def repair_words(title: str, message: str, conflicts: tuple[str, ...], branch: str) -> str:
    """The note for an agent whose work on a task was not merged, for what ``message`` says."""
    again = (
        f"Your work on “{title}” is here again, on top of what others have finished "
        f"since ({branch})."
    )
    if not conflicts:
        return f"{again} It was not merged: {message}\nFix that and finish the task again."
    return (
        f"{again} The same lines were changed in: {', '.join(conflicts)}. These files "
        "have conflict markers: the first side is what others have finished, the second side is "
        "yours. Keep what both are for, remove the markers, and finish the task again."
    )
