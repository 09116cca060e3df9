"""Where a command is given: the work tree around the working folder, its state, its run."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from rich.console import Console

from ralph_ls.core.loop.profiles import PROFILES
from ralph_ls.core.views.visible import tame
from ralph_ls.protocol.errors import NoEngine
from ralph_ls.store.layout import StateFolder, Worktree, find_worktree, state_folder, state_root
from ralph_ls.store.runs import FoundRun, find_run


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A work tree, as a command finds it."""

    worktree: Worktree
    state: StateFolder

    def find_run(self) -> FoundRun | None:
        """The newest run here."""
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
        """Whether a plan of a known profile lies here."""
        names = [name for profile in PROFILES.values() for name in profile.plan_files]
        return any((self.worktree.root / name).is_file() for name in names)


def here() -> Place:
    """The place of the working folder; raises ``WorkspaceMissing``."""
    worktree = find_worktree(Path.cwd())
    return Place(worktree=worktree, state=state_folder(state_root(os.environ), worktree))


def console() -> Console:
    """Where people read; made anew so that a redirected stream is seen."""
    return Console(highlight=False, soft_wrap=True)


def complain(message: str) -> None:
    """Tell an error."""
    sys.stderr.write(f"ralph: {tame(message)}\n")


def say(message: str) -> None:
    """Tell a person something, plainly; what strangers wrote in it steers no terminal."""
    sys.stdout.write(f"{tame(message)}\n")


def emit_json(value: Any) -> None:
    """Write one JSON document for a program."""
    if isinstance(value, BaseModel):
        value = value.model_dump(mode="json", by_alias=True, exclude_none=True)
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")
