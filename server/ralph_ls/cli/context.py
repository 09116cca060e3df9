"""Where a command is given: the work tree around the working folder, its state, its run."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ralph_ls.protocol.config import Config
from ralph_ls.protocol.errors import NoEngine, PlanMissing, RalphError
from ralph_ls.store.layout import StateFolder, Worktree, find_worktree, state_folder, state_root

if TYPE_CHECKING:
    from ralph_ls.store.runs import FoundRun


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A work tree, as a command finds it."""

    worktree: Worktree
    state: StateFolder

    def find_run(self) -> FoundRun | None:
        """The newest run here."""
        from ralph_ls.store.runs import find_run

        return find_run(self.worktree, self.state)

    def require_run(self) -> FoundRun:
        """The newest run here; raises ``NoEngine`` where there never was one."""
        found = self.find_run()
        if found is None:
            raise NoEngine(
                f"there was never a run in {self.worktree.root}; start one with: ralph run"
            )
        return found

    def has_plan(self) -> bool:
        """Whether the plan lies here that ``ralph run`` would take, and could work on."""
        from ralph_ls.core.loop.profiles import hindrances

        config = self._settings()
        return self._find_plan(config) is not None and not hindrances(config)

    def require_plan(self) -> str:
        """The plan that a living run works on, else the one that ``ralph run`` would take.

        It is relative to the work tree. Raises ``PlanMissing`` where there is none.
        """
        found = self.find_run()
        if found is not None and found.live:
            return found.state.plan
        plan = self._find_plan(self._settings())
        if plan is None:
            raise PlanMissing(
                f"there is no plan in {self.worktree.root}; make one with ralph init, "
                "or name yours in .ralph/config.toml"
            )
        return plan

    def _find_plan(self, config: Config) -> str | None:
        from ralph_ls.core.loop.profiles import profile_of

        chosen = config.paths.plan
        names = profile_of(config.profile).plan_files if chosen is None else (chosen,)
        return next((name for name in names if (self.worktree.root / name).is_file()), None)

    def _settings(self) -> Config:
        from ralph_ls.store.config_file import load_settings

        try:
            return load_settings(self.worktree.root, os.environ, {}).config
        except RalphError:
            # What is wrong with the settings is for ``run`` to say, by file and line.
            return Config()


def here() -> Place:
    """The place of the working folder; raises ``WorkspaceMissing``."""
    worktree = find_worktree(Path.cwd())
    return Place(worktree=worktree, state=state_folder(state_root(os.environ), worktree))
