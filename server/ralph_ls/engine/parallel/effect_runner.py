"""Effect runner of a parallel run: opens lanes, follows their runs, rebases and merges.

What changes a work tree or a branch runs one at a time, in threads; runs are started side by side.
Every effect can be performed again after an engine that died in the middle of it.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ralph_ls.core.loop.effects import Effect, TakeApprovals
from ralph_ls.core.loop.inputs import Input
from ralph_ls.core.loop.lanes import (
    AdvanceBranch,
    BranchPlanRead,
    CloseLane,
    LaneEffect,
    LaneEngineGone,
    LaneFailed,
    LaneInput,
    LaneLimits,
    LaneOpened,
    LaneRefused,
    LaneRunFinished,
    OpenLane,
    ReadBranchPlan,
    RebaseLane,
    SteerLane,
    branch_of_run,
    lane_of,
)
from ralph_ls.engine.clock import Clock
from ralph_ls.engine.parallel import lane_setup
from ralph_ls.engine.parallel.lane_follower import RUNNING, FollowedRun, LaneFollower
from ralph_ls.engine.parallel.lane_merge import LaneMerger, MergeProcesses, repair_note
from ralph_ls.engine.parallel.lane_setup import (
    has_unseen_end,
    lane_overrides,
    limits_left,
    passed_overrides,
)
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
from ralph_ls.engine.parallel.merge_branch import MergeBranch
from ralph_ls.engine.run.effect_runner import EffectRunner
from ralph_ls.engine.worktree.keeper import TreeKeeper
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.state import LaneView, RunState
from ralph_ls.protocol.run.values import MergeProblem
from ralph_ls.store.files import make_private_folder
from ralph_ls.store.layout import find_worktree, new_run_id, state_root
from ralph_ls.store.project import trust
from ralph_ls.store.run import steering
from ralph_ls.store.run.inbox import queue_note
from ralph_ls.store.run.journal import Journal
from ralph_ls.store.run.runs import find_run
from ralph_ls.store.run.state_index import find_state

LANE_VARIABLE = "RALPH_LANE"
"""The lane's number in the environment of everything that runs in it, such as for a port."""


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
        self._overrides = passed_overrides(overrides)
        self._approved = trust.read_record(workspace.state).allowed
        self._starter = LaneStarter(workspace.files.folder / "lanes.err")
        self._trees = asyncio.Lock()
        """Held while work trees and branches change."""
        self._orders: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)
        """Held while a lane gets an order, so that it gets them in their order."""
        self._follower = LaneFollower(deliver, self._run_is_over)
        self._processes = MergeProcesses()
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
        self._follower.look()

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
            # Where an end at once is wanted no git runs any more, and the branch stays.
            with suppress(RalphError):
                await asyncio.to_thread(self._branch.remove_if_unused, base or "")

    async def close(self) -> None:
        """Leave nothing behind but the lanes' runs."""
        self._processes.stop()
        self._follower.close()
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
        self._start("starting lanes", asyncio.to_thread(self._starter.prepare))
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
                    limits=limits_left(live.state.config, view, live.state.run),
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
        reported = (view.phase, view.phase_reason, view.until, view.question)
        self._follower.follow(
            effect.task, lane, opened.run, reported=reported if is_known else RUNNING
        )

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
                self._place, lane, environment=self._environment(view), keep=self._processes.started
            )

    def _environment(self, view: LaneView) -> dict[str, str]:
        return {**self._place.environment, LANE_VARIABLE: str(view.lane)}

    def _begin(self, lane: LaneTree, view: LaneView, effect: OpenLane) -> LaneOpened:
        """Start a run, or continue the lane's last one."""
        found = find_run(lane.worktree, lane.state)
        if found is not None and has_unseen_end(found.state, view):
            return self._opened(lane, effect.task, found.state.run, view, LaneLimits())
        resumed = found.state if found is not None else None
        if resumed is not None and not effect.resume and resumed.end is not None:
            resumed = None
        run = new_run_id(self._time.now()) if resumed is None else resumed.run
        order = LaneOrder(
            folder=lane.root,
            files=lane.state.run(run) if resumed is None or found is None else found.files,
            run=run,
            overrides=lane_overrides(
                self._overrides, self._place, view, effect.limits, resumed=resumed
            ),
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

    # Ends of lanes' runs, and merges

    def _run_is_over(self, task: str, followed: FollowedRun) -> None:
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

    def _merger(self, run: RunState) -> LaneMerger:
        return LaneMerger(
            workspace=self._place, branch=self._branch_of(run), processes=self._processes
        )

    async def _rebase(self, effect: RebaseLane, run: RunState) -> LaneInput:
        view = _view(run, effect.task)
        async with self._trees:
            try:
                lane = self._lane_of(view)
            except RalphError as error:
                return LaneRefused(
                    task=effect.task, problem=MergeProblem.BRANCH, message=error.message
                )
            return await self._merger(run).rebase(effect, view, lane)

    async def _advance(self, effect: AdvanceBranch, run: RunState) -> LaneInput:
        async with self._trees:
            advanced = await self._merger(run).advance(effect, _view(run, effect.task))
        return advanced or await self._rebase(RebaseLane(task=effect.task), run)

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

    # Closing

    async def _close_lane(self, task: str, run: RunState) -> None:
        view = _view(run, task)
        self._follower.forget(task)
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


def _view(run: RunState, task: str) -> LaneView:
    found = lane_of(run, task)
    if found is None:
        raise AssertionError(f"no lane has the task {task}")
    return found


def _read_plan(branch: MergeBranch, base: str) -> BranchPlanRead:
    branch.begin(base)
    plan = branch.plan_at(branch.head())
    return BranchPlanRead(tasks=plan.tasks, counts=plan.counts)
