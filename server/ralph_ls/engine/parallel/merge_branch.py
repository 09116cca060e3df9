"""Merge branch: the branch that a parallel run merges into, and the plan at its end.

It moves only forward, and only from the commit that was expected: with a compare-and-swap of its
ref, or with ``git merge --ff-only`` in the user's work tree where it is checked out there.
"""

from __future__ import annotations

import contextlib
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ralph_ls.core.loop.lanes import OpenTask
from ralph_ls.core.loop.parallel.schedule import open_tasks
from ralph_ls.core.loop.profiles import profile_of
from ralph_ls.core.plan.formats.dispatch import merge_plans, waiting_tasks
from ralph_ls.core.plan.formats.plan_format import PlanStorage
from ralph_ls.core.plan.formats.registry import format_of_plan
from ralph_ls.engine.git.status import dirty_paths
from ralph_ls.engine.parallel.lane_worktree import branch_commit, require_no_branch_tree
from ralph_ls.engine.parallel.rebase import MergeText, Rebase, require_merge_tree
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.config.config import Config, OptionalTasks
from ralph_ls.protocol.errors import RalphError, UncommittedChanges, UsageError
from ralph_ls.protocol.run.values import PlanCountsView
from ralph_ls.store.external.git_command import run_git

MERGED = frozenset({PlanStorage.MARKDOWN, PlanStorage.STORIES, PlanStorage.FILE})
"""How a plan is stored that is merged task by task; git merges one in several files itself."""

SHARED = frozenset({PlanStorage.TRACKER, PlanStorage.MIRROR, PlanStorage.REQUEST})
"""How tasks are stored that are in no commit, so that lanes cannot have a copy each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchPlan:
    """The plan at a commit."""

    tasks: tuple[OpenTask, ...]
    counts: PlanCountsView


class BranchMoved(RalphError):
    """The branch is no longer at the commit that was expected."""


class MergeBranch:
    """The branch of one parallel run."""

    def __init__(self, workspace: Workspace, name: str) -> None:
        self.name = name
        self._workspace = workspace
        self._root = workspace.root
        self._format = format_of_plan(
            workspace.plan_path, profile_of(workspace.config.profile).plan_kind
        )

    @property
    def is_direct(self) -> bool:
        """Whether the branch is the one that the user has checked out."""
        return self._workspace.config.lane.direct

    def begin(self, base: str) -> None:
        """Make the branch, unless it is there.

        Raises ``UsageError`` where it cannot be merged into, and a ``RalphError`` where git fails.
        """
        if self.is_direct:
            return
        require_no_branch_tree(self._root, self.name)
        if branch_commit(self._root, self.name) is None:
            run_git(self._root, "branch", "--no-track", self.name, base)

    def head(self) -> str:
        """Commit at the end of the branch; raises ``RalphError`` where it is gone."""
        found = branch_commit(self._root, self.name)
        if found is None:
            raise RalphError(
                f"the branch {self.name} is gone; restore it, or start a new run: ralph run"
            )
        return found

    def remove_if_unused(self, base: str) -> None:
        """Remove the branch of the run where nothing was merged into it."""
        is_own = not self.is_direct and self._workspace.config.lane.onto is None
        if is_own and branch_commit(self._root, self.name) == base:
            with contextlib.suppress(RalphError):
                run_git(self._root, "branch", "--quiet", "--delete", "--force", self.name)

    def advance(self, onto: str, head: str, message: str) -> None:
        """Move the branch from ``onto`` to ``head``.

        Raises ``BranchMoved`` where it is elsewhere, and a ``RalphError`` where files of the user
        are in the way.
        """
        if self.head() == head:
            return
        if self.is_direct:
            run_git(self._root, "merge", "--ff-only", "--quiet", head)
            return
        ref = f"refs/heads/{self.name}"
        try:
            run_git(self._root, "update-ref", "-m", message, ref, head, onto)
        except RalphError as error:
            if self.head() == onto:
                raise
            raise BranchMoved(error.message) from error

    def rebase(self) -> Rebase:
        """How commits are rebased here: plan and progress log by their content."""
        merges: dict[str, MergeText] = {}
        progress = self._workspace.progress_files
        for path in progress:
            merges[path] = self._join_lines
        if self._format.storage in MERGED and self._workspace.source.file is not None:
            merges[self._workspace.source.file] = self._merge_plan
        return Rebase(root=self._root, merges=merges)

    def plan_at(self, commit: str) -> BranchPlan:
        """The plan at a commit; raises ``PlanMissing`` where it has none."""
        source, config = self._workspace.source, self._workspace.config
        text = self.text_at(commit)
        parsed = source.parse(text)
        waiting = waiting_tasks(parsed, text, self._format.name) or {}
        needs = {task: [one.id for one in targets] for task, targets in waiting.items()}
        tasks = open_tasks(
            tuple(parsed.plan.tasks),
            text,
            needs,
            takes_optional=config.optional is OptionalTasks.DO,
        )
        return BranchPlan(tasks=tasks, counts=source.counts(text))

    def plan_files(self, commit: str) -> tuple[str, ...]:
        """The files of the plan at a commit."""
        source = self._workspace.source
        files = [path for path in source.own_files if self._has(commit, path)]
        for folder in source.own_folders:
            listed = run_git(
                self._root, "ls-tree", "-r", "-z", "--name-only", commit, "--", f"{folder}/"
            )
            files += [one for one in listed.decode("utf-8", "surrogateescape").split("\0") if one]
        return tuple(dict.fromkeys(files))

    def text_at(self, commit: str) -> str:
        """The text of the plan at a commit."""
        rebase = Rebase(root=self._root)
        source = self._workspace.source
        if source.file is not None:
            return rebase.text_at(commit, source.file) or ""
        texts = {path: rebase.text_at(commit, path) for path in self.plan_files(commit)}
        return source.text_of({path: text for path, text in texts.items() if text is not None})

    def _has(self, commit: str, path: str) -> bool:
        return bool(run_git(self._root, "ls-tree", "-z", commit, "--", path))

    def _merge_plan(self, base: str, ours: str, theirs: str) -> str:
        return merge_plans(self._format.name, base, ours, theirs).text

    def _join_lines(self, base: str, ours: str, theirs: str) -> str:
        """Both sides' lines of a log."""
        if ours.startswith(base) and theirs.startswith(base):
            return ours + theirs[len(base) :]
        with tempfile.TemporaryDirectory(prefix="ralph-merge-") as folder:
            paths = []
            for name, text in (("ours", ours), ("base", base), ("theirs", theirs)):
                path = Path(folder) / name
                path.write_text(text, encoding="utf-8", errors="surrogateescape", newline="")
                paths.append(str(path))
            merged = run_git(self._root, "merge-file", "-p", "--union", "--quiet", *paths)
        return merged.decode("utf-8", "surrogateescape")


def require_parallel(workspace: Workspace, head: str | None) -> None:
    """Raise what keeps a run in this work tree from working on tasks side by side.

    Lanes are checkouts of HEAD, so what the loop reads has to be in it.
    """
    config, root = workspace.config, workspace.root
    known = format_of_plan(workspace.plan_path, profile_of(config.profile).plan_kind)
    if known.storage in SHARED or workspace.source.request is not None:
        raise UsageError(
            f"--parallel works on a plan in files, and the tasks of this run are {known.source}; "
            "leave --parallel out"
        )
    if config.task is not None:
        raise UsageError("--task names one task, so there is nothing to do beside it")
    if head is None:
        raise UsageError(
            "--parallel needs a first commit to start from: "
            "git add -A && git commit -m 'First commit', then try again"
        )
    if config.lane.direct and config.lane.onto is not None:
        raise UsageError("--direct and --onto do not go together; leave one of them out")
    require_merge_tree(root)
    _require_committed(workspace, head)


def _require_committed(workspace: Workspace, head: str) -> None:
    """Raise ``UncommittedChanges`` for what lanes would not have, or have otherwise."""
    root = workspace.root
    paths = [*workspace.source.own_files, *workspace.source.own_folders]
    paths += sorted(_settings_files(workspace.config, workspace))
    there = [path for path in dict.fromkeys(paths) if (root / path).exists()]
    if not there:
        return
    entries = [
        one.name
        for one in dirty_paths(root)
        if any(one.name == path or one.name.startswith(f"{path}/") for path in there)
    ]
    tracked = run_git(root, "ls-tree", "-r", "-z", "--name-only", head, "--", *there)
    known = tracked.decode("utf-8", "surrogateescape").split("\0")
    plan = workspace.source.file
    if plan is not None and plan not in known and plan not in entries:
        raise UsageError(
            f"git ignores {plan}, so lanes would not have it; commit it, or leave --parallel out"
        )
    if entries:
        names = " ".join(entries[:3])
        raise UncommittedChanges(
            f"lanes start from the last commit, and these files of the loop differ from it: "
            f"{', '.join(entries[:3])}; commit them: git add {names} && git commit -m 'Plan'"
        )


def _settings_files(config: Config, workspace: Workspace) -> set[str]:
    from ralph_ls.protocol.config.config import CONFIG_FILE

    return {CONFIG_FILE, config.paths.prompts, *workspace.guarded_files}
