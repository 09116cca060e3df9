"""Workspace snapshot: what is known of a work tree at one moment, and where the loop's files are.

One immutable value, made in a thread and handed to the event loop whole, so no reader sees half of
a change. A run in progress names its files itself; before and after one the settings do, or their
defaults if they cannot be read.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from ralph_ls.core.loop.inputs import HaltFiles
from ralph_ls.core.loop.profiles import FIXPLAN, PROFILES, Profile
from ralph_ls.core.plan.formats.registry import format_of
from ralph_ls.core.plan.model import ParsedPlan, PlanKind
from ralph_ls.core.views.model.document_context import DocumentContext, FileKind
from ralph_ls.core.views.model.history import History
from ralph_ls.core.views.panel.rows import IterationRows
from ralph_ls.core.views.text.status import needs_user
from ralph_ls.protocol.config.config import Config, PathsConfig
from ralph_ls.protocol.errors import RalphError, StateUnusable
from ralph_ls.protocol.plan import STDIN
from ralph_ls.protocol.run.events import Event, UnknownEvent
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Phase
from ralph_ls.store.files import names_in
from ralph_ls.store.layout import RunFiles, StateFolder, Worktree, state_root
from ralph_ls.store.project.config_file import load_settings
from ralph_ls.store.project.detection import is_of_tool
from ralph_ls.store.run.state_index import find_state


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceSnapshot:
    """A work tree's newest run, and what its halt files say."""

    state: RunState | None = None
    """None: no run was ever made here."""
    phase: Phase = Phase.ENDED
    """As viewers show it, with ``crashed``; it means nothing without a state."""
    pid: int | None = None
    """The engine's, while it lives."""
    live: bool = False
    """An engine owns the work tree, and works on this run."""
    history: History = field(default_factory=History)
    rows: IterationRows = field(default_factory=IterationRows)
    halt: HaltFiles = field(default_factory=HaltFiles)
    run_files: RunFiles | None = None

    @property
    def needs_person(self) -> bool:
        """Whether the run waits for the user."""
        return self.state is not None and needs_user(self.state, self.phase)

    def context_of(
        self, text: str, parsed: ParsedPlan, kind: PlanKind, file: FileKind = FileKind.PLAN
    ) -> DocumentContext:
        """What the views of a file of this work tree know: its text, and the run."""
        return DocumentContext(
            text=text,
            file=file,
            parsed=parsed,
            kind=kind,
            state=self.state,
            phase=self.phase,
            pid=self.pid if self.live else None,
            history=self.history,
            halt=self.halt,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopPaths:
    """The paths of the loop's own files in a work tree."""

    plan: Path | None
    """None where there is no plan yet."""
    decide: Path
    blocked: Path
    progress: Path
    """What was done, as ``PROGRESS.md``."""
    plan_names: tuple[str, ...] = ()
    """Where a plan is looked for, relative to the work tree."""
    kind: PlanKind = PlanKind.MARKDOWN
    """What the plan is written in, or would be where its name does not say so."""
    parent: str | None = None
    """The issue of ``bd`` whose parts alone are to be done."""
    optional_sections: tuple[str, ...] = ()
    """Headings whose tasks are optional."""
    skip_review: bool = False
    """Stories are finished without a review."""
    tag: str = ""
    """The tag of Task Master that is the plan; empty: the first."""


def default_loop_paths(root: Path) -> LoopPaths:
    """What holds before anything was read."""
    paths = PathsConfig()
    return LoopPaths(
        plan=None,
        decide=root / paths.decide,
        blocked=root / paths.blocked,
        progress=root / paths.progress,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputPiece:
    """A piece of what the agent printed."""

    start: int
    stream: str
    """``out`` or ``err``."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageLines:
    """Some of the agent's messages, each the JSON of a line of ``messages.jsonl``."""

    lines: tuple[bytes, ...]


RunUpdate = Event | UnknownEvent | OutputPiece | MessageLines


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanResult:
    """What one look at a work tree found, or a part of it where it is much."""

    picture: WorkspaceSnapshot
    paths: LoopPaths
    told: tuple[RunUpdate, ...] = ()
    """New events and output in their order, where somebody wants them."""
    changed: bool = True
    """Whether picture, paths or one of the loop's files differ from the look before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CatchUp:
    """What a late viewer gets first; what it gets later continues right behind."""

    run: str | None
    """None: no run was ever made here."""
    seq: int
    """Events of ``run`` behind this one are sent."""
    earlier: Iterator[list[Event | UnknownEvent]] = field(default_factory=lambda: iter(()))
    """Those of them that there are, in parts; each is read when it is asked for, which blocks."""
    told: tuple[RunUpdate, ...] = ()
    """What the agent that runs has said."""


logger = logging.getLogger(__name__)

FileSignature = tuple[int, int, int, int]
ISSUE_FOLDER = ".beads"
ISSUE_SUFFIXES = frozenset({".jsonl", ".json", ".db", ""})
"""Of files in it that change with an issue; the rest are logs, sockets and what a reader leaves."""

WatchedFolders = dict[Path, frozenset[str] | None]
"""Folder to the names in it that matter; None: all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopFolders:
    """A work tree, its state, and what decides where its files are."""

    worktree: Worktree
    state: StateFolder
    environment: Mapping[str, str]
    plan_files: tuple[str, ...] = ()
    """More plans, as paths or globs relative to the work tree."""


def loop_folders(
    worktree: Worktree, environment: Mapping[str, str], plan_files: tuple[str, ...] = ()
) -> LoopFolders:
    """The folders of a work tree."""
    state = find_state(state_root(environment), worktree)
    return LoopFolders(
        worktree=worktree, state=state, environment=environment, plan_files=plan_files
    )


def find_loop_paths(folders: LoopFolders, state: RunState | None = None) -> LoopPaths:
    """Where the files are, by the run in progress or by the settings. Reads the config file."""
    root = folders.worktree.root
    going = state is not None and state.end is None
    config = state.config if state is not None and going else _settings(folders)
    profile = PROFILES.get(config.profile, FIXPLAN)
    names = _names_of_plan(config, profile)
    if state is not None and state.plan:
        # What the last run worked on is shown before anything that merely could be a plan.
        names = (state.plan, *names) if going else (*names, state.plan)
    plan = next((root / name for name in names if (root / name).is_file()), None)
    if plan is None and format_of(profile.plan_kind).is_text:
        plan = _further_plan(folders)
    return LoopPaths(
        plan=plan,
        decide=root / config.paths.decide,
        blocked=root / config.paths.blocked,
        progress=root / config.paths.progress,
        plan_names=tuple(dict.fromkeys(names)),
        kind=profile.plan_kind,
        parent=config.beads.parent,
        optional_sections=config.optional_sections,
        skip_review=config.skip_review,
        tag=config.plan.tag or "",
    )


def _names_of_plan(config: Config, profile: Profile) -> tuple[str, ...]:
    """Where the settings have the plan, relative to the work tree; none where it is no file."""
    match profile.plan_kind:
        case PlanKind.REQUEST:
            file = config.issue.file
            return (file,) if file and file != STDIN else ()
        case PlanKind.BEADS:
            return ()
        case _:
            chosen = config.paths.plan
            return (chosen,) if chosen is not None else profile.plan_files


def kind_of(path: Path, paths: LoopPaths, folders: LoopFolders) -> FileKind | None:
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
    return FileKind.PLAN if further or is_of_tool(root, relative.as_posix()) else None


def signature_of(path: Path) -> FileSignature | None:
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


def watched_folders(files: Iterable[Path], root: Path) -> WatchedFolders:
    """The folders to watch for when one of these files comes, goes or changes.

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


def _settings(folders: LoopFolders) -> Config:
    try:
        return load_settings(folders.worktree.root, folders.environment, {}).config
    except RalphError as error:
        logger.warning("%s", error.message)
        return Config()


def _further_plan(folders: LoopFolders) -> Path | None:
    root = folders.worktree.root
    for pattern in folders.plan_files:
        try:
            found = sorted(path for path in root.glob(pattern) if path.is_file())
        except (NotImplementedError, ValueError):  # An absolute pattern, or none at all.
            logger.warning("%r is not a pattern for plans in a work tree", pattern)
            continue
        if found:
            return found[0]
    return None
