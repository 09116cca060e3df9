"""Where a command is given: the work tree around the working folder, its state, its run."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import NoEngine, PlanMissing, RalphError, UsageError, WorkspaceMissing
from ralph_ls.store.layout import StateFolder, Worktree, find_worktree, state_root
from ralph_ls.store.run.state_index import find_state

if TYPE_CHECKING:
    from ralph_ls.store.project.plan_file import PlanLocation
    from ralph_ls.store.run.runs import FoundRun


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandWorktree:
    """A work tree, as a command finds it."""

    worktree: Worktree
    state: StateFolder

    def find_run(self) -> FoundRun | None:
        """The newest run here."""
        from ralph_ls.store.run.runs import find_run

        found = find_run(self.worktree, self.state)
        if found is not None:
            _warn_of_version(found)
        return found

    def require_run(self) -> FoundRun:
        """The newest run here; raises ``NoEngine`` where there never was one."""
        found = self.find_run()
        if found is None:
            raise NoEngine(f"no run in {self.worktree.root} yet; start one: ralph run")
        return found

    def has_plan(self) -> bool:
        """Whether there is a plan here that ``ralph run`` would take, and could work on."""
        from ralph_ls.core.loop.profiles import profile_of
        from ralph_ls.core.plan.formats.github.format import MIRROR
        from ralph_ls.core.plan.model import PlanKind

        config = self._settings()
        kind = profile_of(config.profile).plan_kind
        if kind is PlanKind.REQUEST:
            return bool(config.issue.file or config.issue.github or config.issue.text)
        if kind is PlanKind.BEADS:
            return (self.worktree.root / ".beads").is_dir()
        if config.paths.plan == MIRROR:
            return True
        return _find_plan(self.worktree.root, config) is not None

    def require_plan(self, command: str = "ralph run --plan") -> PlanLocation:
        """The plan that a living run works on, else the one that ``ralph run`` would take.

        ``command`` names one of several in the message. Raises ``PlanMissing`` where there is none.
        """
        from ralph_ls.core.loop.profiles import profile_of
        from ralph_ls.core.plan.formats.github.format import MIRROR
        from ralph_ls.core.plan.model import PlanKind
        from ralph_ls.store.project.plan_file import BD, find_plan_location

        found = self.find_run()
        is_live = found is not None and found.live
        config = found.state.config if found is not None and is_live else self._settings()
        if profile_of(config.profile).plan_kind is PlanKind.REQUEST:
            raise PlanMissing(
                "the profile issue works on a request, which has no tasks; "
                "see its prompt: ralph prompt"
            )
        if found is not None and is_live:
            return find_plan_location(found.state.plan, config, os.environ)
        if profile_of(config.profile).plan_kind is PlanKind.BEADS:
            return find_plan_location(BD, config, os.environ)
        plan = _find_plan(self.worktree.root, config)
        if plan is None and config.paths.plan == MIRROR:
            raise PlanMissing(
                "the issues on GitHub were not read yet; read them: ralph plan github, or work on "
                "them: ralph run"
            )
        if plan is None:
            _require_choice(self.worktree.root, command)
            from ralph_ls.store.project.detection import how_to_begin

            root, names = self.worktree.root, ", ".join(_plan_names(config))
            advice = "create one: ralph init, or set paths.plan in .ralph/config.toml"
            raise PlanMissing(f"no plan in {root}; looked for {names}{how_to_begin(root, advice)}")
        return find_plan_location(plan, config, os.environ)

    def _settings(self) -> Config:
        return _settings_of(self.worktree.root)


def plan_outside(folder: Path, reason: WorkspaceMissing) -> PlanLocation:
    """The plan in a folder that is in no work tree; only viewers that write nothing may read it.

    Raises ``reason``, with the files that may be a plan, where there is none, and ``PlanMissing``
    where there are several.
    """
    from ralph_ls.core.loop.profiles import profile_of
    from ralph_ls.core.plan.formats.registry import format_of
    from ralph_ls.store.project.detection import name_likely_plans
    from ralph_ls.store.project.plan_file import find_plan_location

    config = _settings_of(folder)
    is_text = format_of(profile_of(config.profile).plan_kind).is_text
    plan = _find_plan(folder, config) if is_text else None
    if plan is None:
        _require_choice(folder, "ralph plan")
        raise WorkspaceMissing(f"{reason.message}{name_likely_plans(folder)}")
    return find_plan_location(plan, config, os.environ)


def _require_choice(root: Path, command: str) -> None:
    """Raise ``PlanMissing`` where several plans are here and none was chosen."""
    from ralph_ls.store.project.config_file import load_settings
    from ralph_ls.store.project.plan_choice import several_plans

    try:
        plans = load_settings(root, os.environ, {}).plans
    except RalphError:
        return
    if len(plans) > 1:
        raise PlanMissing(several_plans(plans, command))


def _find_plan(root: Path, config: Config) -> str | None:
    names = _plan_names(config)
    files = [root / name for name in names]
    found = [name for name, file in zip(names, files, strict=True) if file.is_file()]
    # What is there and no file: reading it says what it is.
    found += [name for name, file in zip(names, files, strict=True) if file.exists()]
    return found[0] if found else None


def _settings_of(root: Path) -> Config:
    from ralph_ls.store.project.config_file import load_settings

    try:
        return load_settings(root, os.environ, {}).config
    except RalphError:
        # What is wrong with the settings is for ``run`` to say, by file and line.
        return Config()


def _plan_names(config: Config) -> tuple[str, ...]:
    """The possible paths of the plan, relative to the root."""
    from ralph_ls.core.loop.profiles import profile_of

    chosen = config.paths.plan
    return profile_of(config.profile).plan_files if chosen is None else (chosen,)


def current_worktree() -> CommandWorktree:
    """The place of the working folder; raises ``WorkspaceMissing``."""
    return worktree_at(Path.cwd())


def worktree_at(folder: Path) -> CommandWorktree:
    """The place of a folder; raises ``WorkspaceMissing``."""
    worktree = find_worktree(folder)
    return CommandWorktree(worktree=worktree, state=find_state(state_root(os.environ), worktree))


def plan_from_here(named: str | None) -> str | None:
    """A plan that the user named, relative to the root where it is a path in the working folder.

    Raises ``UsageError`` for an empty name, such as that of a variable that is not set.
    """
    if named is not None and not named.strip():
        raise UsageError("--plan is empty; name a plan, or leave the option out")
    path = Path(os.path.normpath(Path(named or "").absolute()))
    try:
        root = current_worktree().worktree.root
    except RalphError:
        return named
    is_here = bool(named) and path.exists() and path.is_relative_to(root) and path != root
    return path.relative_to(root).as_posix() if is_here else named


@functools.cache
def _complain_once(message: str) -> None:
    from ralph_ls.cli.output import print_error

    print_error(message)


def _warn_of_version(found: FoundRun) -> None:
    """Say that not all of a run can be shown, where another version of this program wrote it."""
    from ralph_ls.store.run.journal import why_unreadable

    if (why := why_unreadable(found.files.journal)) is not None:
        _complain_once(f"{why}, so part of the run is not shown; use the version that wrote it")
