"""Where a command is given: the work tree around the working folder, its state, its run."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ralph_ls.protocol.config import Config
from ralph_ls.protocol.errors import NoEngine, RalphError
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
        from ralph_ls.core.loop.profiles import hindrances, profile_of
        from ralph_ls.store.config_file import load_settings

        try:
            config = load_settings(self.worktree.root, os.environ, {}).config
        except RalphError:
            # What is wrong with the settings is for ``run`` to say, by file and line.
            config = Config()
        chosen = config.paths.plan
        names = profile_of(config.profile).plan_files if chosen is None else (chosen,)
        is_there = any((self.worktree.root / name).is_file() for name in names)
        return is_there and not hindrances(config)


def here() -> Place:
    """The place of the working folder; raises ``WorkspaceMissing``."""
    worktree = find_worktree(Path.cwd())
    return Place(worktree=worktree, state=state_folder(state_root(os.environ), worktree))
