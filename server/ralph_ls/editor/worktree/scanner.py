"""Scanner: finds a work tree's newest run, whether its engine lives, and what its files hold.

A scan costs a handful of ``stat`` calls if nothing has changed: files are read only when they
differ from the last scan. All of it blocks and belongs to one thread.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ralph_ls.core.loop.inputs import HaltFiles
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.views.panel.rows import IterationRows, with_undone
from ralph_ls.editor.worktree.run_reader import JournalLost, RunInterest, RunReader
from ralph_ls.editor.worktree.snapshot import (
    ISSUE_FOLDER,
    CatchUp,
    LoopFolders,
    ScanResult,
    WatchedFolders,
    WorkspaceSnapshot,
    find_loop_paths,
    issue_signature,
    signature_of,
    watched_folders,
)
from ralph_ls.protocol.config.config import CONFIG_FILE, PathsConfig
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.events import Event, UnknownEvent
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Phase, RollbackRecord
from ralph_ls.store.layout import RUN_ID, RunFiles, StateFolder
from ralph_ls.store.project.plan_choice import TASK_MASTER_STATE
from ralph_ls.store.run.halt_files import load_halt_files
from ralph_ls.store.run.iterations import read_rollbacks
from ralph_ls.store.run.lock import LockOwner, is_held, read_owner
from ralph_ls.store.run.runs import find_run

logger = logging.getLogger(__name__)

OWNER_FILE = "ralph.json"


class WorktreeScanner:
    """One git work tree and its newest run, as read from their files."""

    def __init__(self, folders: LoopFolders) -> None:
        self.folders = folders
        self.held = False
        """An engine has the work tree, so its files have to be polled."""
        self._owner: LockOwner | None = None
        self._reader: RunReader | None = None
        self._wants: RunInterest | None = None
        self._halt = HaltFiles()
        self._rollbacks: tuple[RollbackRecord, ...] = ()
        self._paths = find_loop_paths(folders)
        self._picture: WorkspaceSnapshot | None = None
        self._seen: dict[Path, object] = {}
        self._problem = ""

    @property
    def n_reads(self) -> int:
        """How often the journal of the newest run was read."""
        return 0 if self._reader is None else self._reader.n_reads

    def scan(self, *, fresh: bool = False) -> Iterator[ScanResult]:
        """What is new since the last look, in parts where it is much; nothing where nothing is.

        ``fresh``: ask for the lock as well, also where no file has changed.
        """
        first = self._picture is None
        owner_changed = self._has_changed(self.folders.worktree.git_dir / OWNER_FILE)
        if owner_changed:
            self._owner = read_owner(self.folders.worktree.git_dir)
        # Asked before the journal is read, so that the last words of a dying engine are not missed.
        if owner_changed or first or fresh or self.held:
            self.held = is_held(self.folders.worktree.git_dir)
        self._choose_run(anew=owner_changed or first)
        any_events, events = False, list[Event | UnknownEvent]()
        for part in self._read_parts():
            if events:
                yield from self._emit(events, self._draw())
            any_events, events = True, part
        files_changed = self._check_files()
        if self._has_changed(self._state_folder().rollbacks):
            self._rollbacks = read_rollbacks(self._state_folder())
        picture = self._draw()
        changed = files_changed or any_events or picture != self._picture
        self._picture = picture
        yield from self._emit(events, picture)
        if changed:
            yield ScanResult(picture=picture, paths=self._paths)

    def _emit(
        self, events: list[Event | UnknownEvent], picture: WorkspaceSnapshot
    ) -> Iterator[ScanResult]:
        """What somebody wants of these events, and of what the agent says meanwhile."""
        if self._reader is None:
            return
        if self._wants is None:
            self._reader.skip_existing(events)
            return
        for told in self._reader.tell(events, self._wants):
            yield ScanResult(picture=picture, paths=self._paths, told=tuple(told), changed=False)

    def subscribe(self, wants: RunInterest, *, after_seq: int, run: str | None) -> CatchUp:
        """From now on deliver events and what else is wanted; gives what comes before that.

        Call it right after a scan, so that nothing is missed between the two.
        """
        self._wants = wants
        reader = self._reader
        if reader is None or not reader.state.run:
            return CatchUp(run=None, seq=0)
        known = run in {None, reader.state.run}
        seq = min(after_seq, reader.state.seq) if known else 0
        return CatchUp(
            run=reader.state.run,
            seq=seq,
            earlier=reader.earlier_parts(seq) if wants.events else iter(()),
            told=tuple(reader.want(wants)),
        )

    def unsubscribe(self) -> None:
        """Deliver nothing any more but the state."""
        self._wants = None
        if self._reader is not None:
            self._reader.want(RunInterest())

    def watched(self) -> WatchedFolders:
        """The folders to watch, and the names in them that matter."""
        root, paths = self.folders.worktree.root, self._paths
        files = [root / CONFIG_FILE, root / TASK_MASTER_STATE, paths.decide, paths.blocked]
        files += [root / name for name in paths.plan_names]
        files += [] if paths.plan is None else [paths.plan]
        watched = watched_folders(files, root)
        watched[self.folders.worktree.git_dir] = frozenset({OWNER_FILE})
        if (state := self._state_folder()).folder.is_dir():
            watched[state.folder] = frozenset({state.rollbacks.name})
        if paths.kind is PlanKind.BEADS and (root / ISSUE_FOLDER).is_dir():
            watched[root / ISSUE_FOLDER] = None
        # A run that is just beginning has its folder before it has its first event.
        for run_files in (self._coming_run(), None if self._reader is None else self._reader.files):
            if run_files is not None and run_files.folder.is_dir():
                watched[run_files.folder] = frozenset({run_files.journal.name})
        if self._reader is not None and self._wants is not None and self._wants.agent:
            watched[self._reader.files.folder] = None
        return watched

    # ------------------------------------------------------------------------------------ the run

    def _choose_run(self, *, anew: bool) -> None:
        """Read the newest run from now on; ``anew``: another one may be that by now."""
        if not anew and not self._is_coming():
            return
        found = find_run(self.folders.worktree, self.folders.state)
        if found is None:
            self._reader = None
        elif self._reader is None or found.files != self._reader.files:
            # A subscriber of events gets all of a run that begins.
            every_event = self._wants is not None and self._wants.events
            self._reader = RunReader(found.files, every_event=every_event)
            if self._wants is not None:
                self._reader.want_all(self._wants)

    def _read_parts(self) -> Iterator[list[Event | UnknownEvent]]:
        """The new events of the run, folded already."""
        if self._reader is None:
            return
        try:
            yield from self._reader.read_parts()
            return
        except JournalLost as lost:
            logger.warning("%s; reading it again from the beginning", lost)
        reader = self._reopened()
        # It was there a moment ago; should it be gone once more, the next look sees to it.
        if reader is not None:
            yield from reader.read_parts()

    def _reopened(self) -> RunReader | None:
        self._reader = None
        self._choose_run(anew=True)
        return self._reader

    def _is_coming(self) -> bool:
        """An engine has the work tree, and its run is not the one that is read."""
        known = None if self._reader is None else self._reader.state.run
        return self.held and self._owner is not None and self._owner.run != known

    def _coming_run(self) -> RunFiles | None:
        if not self._is_coming() or self._owner is None or "\0" in self._owner.state_dir:
            return None
        if not RUN_ID.fullmatch(self._owner.run):
            return None
        return StateFolder(folder=Path(self._owner.state_dir)).run(self._owner.run)

    def _rows(self, reader: RunReader) -> IterationRows:
        """The run's iterations, with those marked that were rolled back since."""
        rows = with_undone(reader.rows.rows, reader.state.run, self._rollbacks)
        return reader.rows if rows is reader.rows.rows else replace(reader.rows, rows=rows)

    def _state_folder(self) -> StateFolder:
        """The one in which the newest run is."""
        if self._reader is None:
            return self.folders.state
        return StateFolder(folder=self._reader.files.folder.parent.parent)

    def _draw(self) -> WorkspaceSnapshot:
        reader, owner = self._reader, self._owner
        if reader is None or not reader.state.run:
            return WorkspaceSnapshot(halt=self._halt)
        state = reader.state
        live = self.held and owner is not None and owner.run == state.run
        lasts = live or state.phase in {Phase.ENDED, Phase.PARKED}
        return WorkspaceSnapshot(
            state=state,
            phase=state.phase if lasts else Phase.CRASHED,
            pid=owner.pid if live and owner is not None else None,
            live=live,
            history=reader.history,
            rows=self._rows(reader),
            halt=self._halt,
            run_files=reader.files,
        )

    # ---------------------------------------------------------------------------------- the files

    def _check_files(self) -> bool:
        """Read what has changed of the loop's own files; whether anything has."""
        root = self.folders.worktree.root
        state = self._reader.state if self._reader is not None else RunState()
        changed = False
        for name in (CONFIG_FILE, TASK_MASTER_STATE, *self._paths.plan_names):
            changed = self._has_changed(root / name) or changed
        if self._differs(root, (state.run, state.end is None, state.plan)) or changed:
            self._paths = find_loop_paths(self.folders, state if state.run else None)
        paths = self._paths
        if paths.plan is not None:
            changed = self._has_changed(paths.plan) or changed
        if paths.kind is PlanKind.BEADS:
            changed = self._differs(root / ISSUE_FOLDER, issue_signature(root)) or changed
        halts = [self._has_changed(path) for path in (paths.decide, paths.blocked)]
        if any(halts):
            self._halt = self._read_halts()
        return changed or any(halts)

    def _read_halts(self) -> HaltFiles:
        root = self.folders.worktree.root
        decide = self._paths.decide.relative_to(root).as_posix()
        blocked = self._paths.blocked.relative_to(root).as_posix()
        try:
            halt = load_halt_files(root, PathsConfig(decide=decide, blocked=blocked))
        except RalphError as error:
            if self._problem != error.message:
                logger.warning("%s", error.message)
            self._problem = error.message
            return HaltFiles()
        self._problem = ""
        return halt

    def _has_changed(self, path: Path) -> bool:
        return self._differs(path, signature_of(path))

    def _differs(self, key: Path, value: object) -> bool:
        """Whether the value is another one than at the last look; at the first one it is."""
        if key in self._seen and self._seen[key] == value:
            return False
        self._seen[key] = value
        return True
