"""Merge of a lane: its commits are rebased on the branch, validated there, and become its end."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from pathlib import Path

from ralph_ls.core.loop.effects import Validate
from ralph_ls.core.loop.lanes import (
    AdvanceBranch,
    LaneAdvanced,
    LaneDeferred,
    LaneInput,
    LaneRebased,
    LaneRefused,
    OpenLane,
    RebaseLane,
)
from ralph_ls.engine.delivery.git_commands import ProcessLauncher
from ralph_ls.engine.git.status import dirty_paths
from ralph_ls.engine.iteration.validation import ScriptValidation
from ralph_ls.engine.parallel.lane_worktree import (
    LaneTree,
    changed_files,
    has_worktree,
    move_lane,
)
from ralph_ls.engine.parallel.merge_branch import BranchMoved, MergeBranch
from ralph_ls.engine.process.running_process import RunningProcess
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.state import LaneView
from ralph_ls.protocol.run.values import MergeProblem

SHOWN_PATHS = 50


@dataclass(slots=True)
class MergeProcesses:
    """The scripts that merges and lanes have started."""

    started: list[RunningProcess] = field(default_factory=list)
    is_stopping: bool = False

    def stop(self) -> None:
        """End them, and start no more."""
        self.is_stopping = True
        for process in self.started:
            process.stop()


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneMerger:
    """Merges the lanes of one parallel run into its branch.

    Its methods change work trees and branches, so only one of them may run at a time.
    """

    workspace: Workspace
    branch: MergeBranch
    processes: MergeProcesses

    async def rebase(self, effect: RebaseLane, view: LaneView, lane: LaneTree) -> LaneInput:
        """Rebase the lane on the end of the branch, and validate the result."""
        branch, task = self.branch, effect.task
        try:
            onto = await asyncio.to_thread(branch.head)
            found = await asyncio.to_thread(rebase_lane, branch, lane, onto, view)
            if isinstance(found, LaneRefused):
                return found
            message = await asyncio.to_thread(self._why_unfinished, view, lane, found.head)
            if message is not None:
                problem = MergeProblem.UNCOMMITTED
                return LaneRefused(task=task, problem=problem, message=message)
            changes = branch.rebase().changes
            if await asyncio.to_thread(changes, onto, found.head, effect.in_repair):
                return LaneDeferred(task=task)
            tip = lane.head()
            if found.head == tip:
                return found
            await asyncio.to_thread(move_lane, lane, found.head)
            refused = await self._validate(view, lane, onto, found.head)
            if refused is not None:
                await asyncio.to_thread(move_lane, lane, tip)
            return refused or found
        except RalphError as error:
            return LaneRefused(task=task, problem=MergeProblem.BRANCH, message=error.message)

    async def advance(self, effect: AdvanceBranch, view: LaneView) -> LaneInput | None:
        """Move the branch to the rebased commits; None where it has moved since."""
        branch, message = self.branch, f"ralph: merge {view.task.id}"
        try:
            await asyncio.to_thread(branch.advance, effect.onto, effect.head, message)
            plan = await asyncio.to_thread(branch.plan_at, effect.head)
            kept = await asyncio.to_thread(self._why_kept, view)
        except BranchMoved:
            return None
        except RalphError as error:
            return LaneRefused(task=effect.task, problem=MergeProblem.BRANCH, message=error.message)
        return LaneAdvanced(
            task=effect.task,
            head=effect.head,
            commits=effect.commits,
            counts=plan.counts,
            kept=kept,
        )

    async def _validate(
        self, view: LaneView, lane: LaneTree, onto: str, head: str
    ) -> LaneRefused | None:
        """Why the rebased commits are not valid; None where they are."""
        place = replace(self.workspace, worktree=lane.worktree, state=lane.state)
        if place.sandbox.box is not None:
            box = replace(place.sandbox.box, worktree=lane.worktree, state=lane.state)
            place = replace(place, sandbox=replace(place.sandbox, box=box))
        message = await validate_merged(place, onto, head, self.processes)
        if message is None:
            return None
        return LaneRefused(task=view.task.id, problem=MergeProblem.VALIDATION, message=message)

    def _why_unfinished(self, view: LaneView, lane: LaneTree, head: str) -> str | None:
        """Why the task is still open in the rebased plan; None where it is done."""
        if all(one.task.id != view.task.id for one in self.branch.plan_at(head).tasks):
            return None
        changed = [entry.name for entry in dirty_paths(lane.root)]
        named = f": {', '.join(changed[:3])}" if changed else ""
        return (
            f"the task is open in the plan that its branch has, as its agent left work "
            f"uncommitted{named}; commit it in {lane.root}, then: ralph resume (with commits = "
            '"loop" the loop commits what agents leave)'
        )

    def _why_kept(self, view: LaneView) -> str | None:
        path = Path(view.worktree)
        if not has_worktree(path):
            return None
        changed = changed_files(path, self.workspace.own_files)
        if not changed:
            return None
        return f"uncommitted changes in {path}: {', '.join(changed[:3])}"


async def validate_merged(
    place: Workspace, onto: str, head: str, processes: MergeProcesses
) -> str | None:
    """Why ``head``, which is checked out in a work tree, is not valid; None where it is."""
    launcher = ProcessLauncher(
        workspace=place,
        on_output=lambda _data: None,
        on_start=processes.started.append,
        is_stopping=lambda: processes.is_stopping,
    )
    validation = ScriptValidation(launcher)
    is_due, _ = await asyncio.to_thread(validation.look, ())
    if not is_due:
        return None
    number = len(processes.started) + 1
    done = await validation.run(Validate(start=number, iteration=number))
    if done.ok:
        return None
    how = "took too long" if done.timed_out else f"ended with {done.exit_code}"
    return (
        f"validation of the merged result failed: {done.script} {how}, on {head[:8]} after "
        f"{onto[:8]}\n{done.tail}"
    ).rstrip()


def rebase_lane(
    branch: MergeBranch, lane: LaneTree, onto: str, view: LaneView
) -> LaneRebased | LaneRefused:
    """The lane's commits after ``onto``, as objects; no work tree and no branch changes."""
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
    commits = done.commits
    if not commits and view.onto is not None and view.head == done.head:
        # The branch was moved by an engine that died before its journal had it.
        commits = rebase.count(view.onto, done.head)
    return LaneRebased(task=task, onto=onto, head=done.head, commits=commits)


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
        f"{again} The same lines were changed in: {', '.join(conflicts)}. These files have "
        "conflict markers: the first side is what others have finished, the second side is yours. "
        "Keep what both are for, remove the markers, and finish the task again."
    )
