"""Where the loop's own files lie in a work tree, and which folders tell of their changes.

A run that goes on says itself where its files are; before and after one the settings do. Settings
that cannot be read are somebody else's to mend: until then the defaults hold.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ralph_ls.core.loop.profiles import FIXPLAN, PROFILES
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.views.model.document_context import FileKind
from ralph_ls.editor.picture import Paths
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import RalphError, StateUnusable
from ralph_ls.protocol.plan import STDIN
from ralph_ls.protocol.run.state import RunState
from ralph_ls.store.files import names_in
from ralph_ls.store.layout import StateFolder, Worktree, state_folder, state_root
from ralph_ls.store.project.config_file import load_settings

logger = logging.getLogger(__name__)

Signature = tuple[int, int, int, int]
ISSUE_FOLDER = ".beads"
ISSUE_SUFFIXES = frozenset({".jsonl", ".json", ".db", ""})
"""Of files in it that change with an issue; the rest are logs, sockets and what a reader leaves."""

Watched = dict[Path, frozenset[str] | None]
"""Folder to the names in it that matter; None: all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Folders:
    """A work tree, its state, and what decides where its files are."""

    worktree: Worktree
    state: StateFolder
    environment: Mapping[str, str]
    plan_files: tuple[str, ...] = ()
    """More plans, as paths or globs relative to the work tree."""


def folders_of(
    worktree: Worktree, environment: Mapping[str, str], plan_files: tuple[str, ...] = ()
) -> Folders:
    """The folders of a work tree."""
    state = state_folder(state_root(environment), worktree)
    return Folders(worktree=worktree, state=state, environment=environment, plan_files=plan_files)


def find_paths(folders: Folders, state: RunState | None = None) -> Paths:
    """Where the files are, by the run that goes on or by the settings. Reads the config file."""
    root = folders.worktree.root
    going = state is not None and state.end is None
    config = state.config if state is not None and going else _settings(folders)
    profile = PROFILES.get(config.profile, FIXPLAN)
    chosen = config.paths.plan
    names = (chosen,) if chosen is not None else profile.plan_files
    if profile.plan_kind is PlanKind.REQUEST:
        file = config.issue.file
        names = (file,) if file and file != STDIN else ()
    elif profile.plan_kind is PlanKind.BEADS:
        names = ()
    if state is not None and state.plan:
        # What the last run worked on is shown before anything that merely could be a plan.
        names = (state.plan, *names) if going else (*names, state.plan)
    plan = next((root / name for name in names if (root / name).is_file()), None)
    if plan is None and profile.plan_kind in {PlanKind.MARKDOWN, PlanKind.STORIES}:
        plan = _further_plan(folders)
    return Paths(
        plan=plan,
        decide=root / config.paths.decide,
        blocked=root / config.paths.blocked,
        progress=root / config.paths.progress,
        plan_names=tuple(dict.fromkeys(names)),
        kind=profile.plan_kind,
        parent=config.beads.parent,
        optional_sections=config.optional_sections,
        skip_review=config.skip_review,
    )


def kind_of(path: Path, paths: Paths, folders: Folders) -> FileKind | None:
    """Which of the loop's files ``path`` is; it has no symbolic links in it."""
    real = os.path.realpath
    wanted = {
        FileKind.PLAN: paths.plan,
        FileKind.DECIDE: paths.decide,
        FileKind.BLOCKED: paths.blocked,
    }
    for kind, known in wanted.items():
        if known is not None and path.name == known.name and str(path) == real(known):
            return kind
    root = folders.worktree.root
    if not path.is_relative_to(root):
        return None
    relative = PurePosixPath(path.relative_to(root).as_posix())
    if relative.as_posix() in paths.plan_names:
        return FileKind.PLAN
    further = any(pattern and relative.match(pattern) for pattern in folders.plan_files)
    return FileKind.PLAN if further else None


def signature_of(path: Path) -> Signature | None:
    """What differs when a file is another one, or holds something else; None: there is none."""
    try:
        stat = path.stat()
    except (OSError, ValueError):
        return None
    return (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)


def issue_signature(root: Path) -> tuple[object, ...]:
    """What differs when ``bd`` has changed an issue; empty where it keeps none here."""
    try:
        names = names_in(root / ISSUE_FOLDER)
    except StateUnusable:
        return ()
    wanted = (root / ISSUE_FOLDER / name for name in names)
    return tuple(
        (path.name, signature_of(path)) for path in wanted if path.suffix in ISSUE_SUFFIXES
    )


def watched_folders(files: Iterable[Path], root: Path) -> Watched:
    """The folders that tell when one of these files comes, goes or changes.

    A file's own folder may be made later, or be removed and made again: so each folder between it
    and the root is watched for the next one.
    """
    names: dict[Path, set[str]] = {}
    for file in files:
        path = file
        while path != root and path.is_relative_to(root):
            if path.parent.is_dir():
                names.setdefault(path.parent, set()).add(path.name)
            path = path.parent
    return {folder: frozenset(found) for folder, found in names.items()}


def _settings(folders: Folders) -> Config:
    try:
        return load_settings(folders.worktree.root, folders.environment, {}).config
    except RalphError as error:
        logger.warning("%s", error.message)
        return Config()


def _further_plan(folders: Folders) -> Path | None:
    root = folders.worktree.root
    for pattern in folders.plan_files:
        try:
            found = sorted(path for path in root.glob(pattern) if path.is_file())
        except (NotImplementedError, ValueError):  # An absolute pattern, or none at all.
            logger.warning("%r is no pattern for plans in a work tree", pattern)
            continue
        if found:
            return found[0]
    return None
