"""Health checks before each iteration, and notices that are reported once for an engine's life.

What is fatal is raised as a ``RalphError`` that says what to do, so that the run ends with 5 before
an agent is started (docs/rules.md#health). Repository and plan are checked where they are read. A
check costs a handful of system calls and no process, except where a loop that pushes finds itself
on another branch. Call it in threads.
"""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from ralph_ls.core.loop.inputs import Notice
from ralph_ls.core.loop.profiles import WithoutPlan, profile_of
from ralph_ls.core.loop.rules.health import DiskSpace, RunEnvironment, health_warnings, new_warnings
from ralph_ls.core.plan.specs import FOLDER
from ralph_ls.engine.agent.environment import base_agent_environment, find_program
from ralph_ls.engine.delivery.git_delivery import Remote, find_remote, require_branch_to_push
from ralph_ls.engine.git import worktree_state
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import PlanMissing
from ralph_ls.protocol.run.values import Baseline


class Notices:
    """Notices: collected as they come up, and taken with the next report."""

    def __init__(self) -> None:
        self._known: dict[str, Notice] = {}
        self._taken: set[str] = set()

    def add(self, code: str, message: str) -> None:
        """Report this, unless something with its code was reported already."""
        self._known.setdefault(code, Notice(code=code, message=message))

    def take(self) -> tuple[Notice, ...]:
        """Those that nobody has taken yet."""
        fresh = {code: one for code, one in self._known.items() if code not in self._taken}
        self._taken.update(fresh)
        return tuple(fresh.values())


def free_bytes(path: Path) -> int | None:
    """Free bytes on the disk of ``path``; None where the system does not say."""
    try:
        return shutil.disk_usage(path).free
    except OSError:
        return None


class Health:
    """What one run's engine knows of its surroundings."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._known: frozenset[tuple[str, str]] = frozenset()
        self._had_specs = False
        self._program: Path | None = None
        self._remotes: dict[str, Remote | None] = {}
        """Where each branch is pushed to that this engine has been on."""

    def check(self, baseline: Baseline, *, is_first: bool) -> tuple[Notice, ...]:
        """The warnings before the next iteration.

        ``is_first``: the run has had none yet, so that uncommitted changes are the user's.
        Raises a ``RalphError`` for what the iteration cannot do without.
        """
        workspace = self._workspace
        self._require_agent()
        self._had_specs = require_specs(workspace.root, workspace.config, had_some=self._had_specs)
        head = worktree_state.read_head(workspace.worktree.git_dir, workspace.worktree.common_dir)
        if worktree_state.under_way(workspace.worktree.git_dir) is None:
            # In the middle of a rebase HEAD is on no branch; an agent can bring it to its end.
            require_branch_to_push(workspace.root, workspace.config, head)
        remote = None if head.branch is None else self._remote_of(head.branch)
        seen = RunEnvironment(
            disks=disks_of(workspace.root, workspace.state.folder),
            branch=head.branch,
            remote=None if remote is None else remote.name,
            has_upstream=remote is not None and remote.has_upstream,
            dirty=tuple(baseline.dirty) if is_first else (),
        )
        found = health_warnings(seen)
        notices, self._known = new_warnings(found, self._known)
        return notices

    def _require_agent(self) -> None:
        """The agent's program may be gone since the start, as after an update."""
        workspace = self._workspace
        if self._program is not None and os.access(self._program, os.X_OK):
            return
        around = base_agent_environment(
            workspace.environment,
            extra=workspace.agent.env,
            only=workspace.config.env.only,
        )
        agent = workspace.agent
        self._program = find_program(agent.program or agent.argv[0], around, workspace.root)

    def _remote_of(self, branch: str) -> Remote | None:
        if not self._workspace.config.push:
            return None
        if branch not in self._remotes:
            self._remotes[branch] = find_remote(self._workspace.root, branch)
        return self._remotes[branch]


def disks_of(root: Path, state: Path) -> tuple[DiskSpace, ...]:
    """The disks that a run writes to: of the code and of its state, each once."""
    places = [("the work tree", root)]
    if _device(state) != _device(root):
        places.append(("the loop's state", state))
    return tuple(
        DiskSpace(what=what, path=str(path), free=free_bytes(path)) for what, path in places
    )


def require_specs(root: Path, config: Config, *, had_some: bool = False) -> bool:
    """Whether the folder of the specifications is there, where a profile works by them.

    Raises ``PlanMissing`` where it cannot be read, or has gone since it was seen.
    """
    if profile_of(config.profile).without_plan is not WithoutPlan.PLAN:
        return False
    try:
        with os.scandir(root / FOLDER):
            return True
    except FileNotFoundError as error:
        if not had_some:
            # A plan is enough to begin with; without one a start has refused.
            return False
        raise PlanMissing(
            f"the folder {FOLDER}/ of {root} is gone, so nothing says what to build; restore it, "
            f"for example with: git checkout -- {FOLDER}"
        ) from error
    except OSError as error:
        raise PlanMissing(
            f"the specifications in {root / FOLDER} cannot be read: {error.strerror or error}; "
            "make it a folder that you can read"
        ) from error


def _device(path: Path) -> int | None:
    try:
        return path.stat().st_dev
    except OSError:
        return None
