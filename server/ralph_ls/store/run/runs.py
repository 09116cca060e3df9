"""Runs: finding the runs of a work tree, and reading their state.

A snapshot caches the fold of a journal up to an offset, and is only used with exactly the journal,
offset and fold version that it was made of (docs/rules.md#journal). The journal is synced before
its snapshot, so a snapshot beyond its journal is from a lost tail and is ignored. Deleting
snapshots loses nothing: ``state.json`` is the fold of the state at the last boundary.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from pydantic import BaseModel, ValidationError

from ralph_ls import __version__
from ralph_ls.core.suggestions import did_you_mean
from ralph_ls.protocol.base import WireModel
from ralph_ls.protocol.errors import RalphError, StateUnusable, UsageError
from ralph_ls.protocol.run.state import CurrentIteration, IterationFacts, RunState
from ralph_ls.protocol.run.values import Phase
from ralph_ls.protocol.version import SCHEMA_VERSION
from ralph_ls.store.files import PRIVATE_FILE, open_regular_unbuffered, read_if_there, write_atomic
from ralph_ls.store.layout import RUN_ID, RunFiles, StateFolder, Worktree, find_worktree
from ralph_ls.store.run.follow import Tail
from ralph_ls.store.run.journal import PART, JournalReader, each_event
from ralph_ls.store.run.lock import LockOwner, is_held, read_owner
from ralph_ls.store.run.state_index import belongs_to, find_state, root_of

if TYPE_CHECKING:
    from datetime import datetime, tzinfo

    from ralph_ls.protocol.json_output import LaneTable, RunAnywhere

FOLD_VERSION = 1
"""Increase it when the same journal folds to another state, history or rows than before."""

WINDOW = 4096
"""Bytes before a snapshot's offset whose digest identifies the journal: the last lines, with their
times and numbers."""


class JournalSnapshot(WireModel):
    """Mark of a snapshot; subclasses add the folded values."""

    folded: ClassVar[tuple[type, ...]]
    """Models and dataclasses of what is folded."""

    made_by: str
    """Version of the fold."""
    offset: int
    """Folded bytes of the journal."""
    digest: str
    """Digest of the last of those bytes and of the number of the last event in them."""


Snapshot = TypeVar("Snapshot", bound=JournalSnapshot)


@cache
def fold_version(kind: type[JournalSnapshot]) -> str:
    """Version of a fold: this package's version and the names of all folded fields.

    The names ensure that no snapshot lacks a field that was added without a new version.
    """
    names = [name for folded in kind.folded for name in _field_names(folded)]
    digest = hashlib.blake2b(" ".join(names).encode(), digest_size=6).hexdigest()
    return f"{__version__} {SCHEMA_VERSION}.{FOLD_VERSION} {digest}"


def _field_names(folded: type[Any]) -> Iterable[str]:
    if issubclass(folded, BaseModel):
        return folded.model_fields
    return [one.name for one in fields(folded)]


def snapshot_mark(
    kind: type[JournalSnapshot], journal: Path, *, offset: int, seq: int
) -> dict[str, Any]:
    """Mark of a snapshot of the journal's first ``offset`` bytes.

    ``seq`` is the number of the last event in them. Raises ``StateUnusable`` where the journal is
    shorter or unreadable.
    """
    try:
        digest = _digest(journal, offset, seq)
    except OSError as error:
        raise StateUnusable(f"the journal {journal} cannot be read: {error}") from error
    return {"made_by": fold_version(kind), "offset": offset, "digest": digest}


def save_snapshot(path: Path, snapshot: JournalSnapshot) -> None:
    """Write a snapshot atomically, for its owner only; raises ``StateUnusable``."""
    data = snapshot.model_dump_json(by_alias=True, exclude_none=True)
    write_atomic(path, data.encode(), mode=PRIVATE_FILE)


def load_snapshot(
    path: Path, journal: Path, kind: type[Snapshot], seq_of: Callable[[Snapshot], int]
) -> Snapshot | None:
    """The snapshot, if this version made it from this journal; else None.

    ``seq_of`` returns the number of its last folded event.
    """
    try:
        data = read_if_there(path)
        if data is None:
            return None
        found = kind.model_validate_json(data)
        if found.made_by != fold_version(kind):
            return None
        digest = _digest(journal, found.offset, seq_of(found))
    except (OSError, ValidationError):
        # The journal contains everything that it could have contained.
        return None
    return found if found.digest == digest else None


def _digest(journal: Path, offset: int, seq: int) -> str:
    """Raises OSError where the journal is shorter, or no line ends there."""
    if offset < 0:
        raise OSError(f"{journal} has no byte {offset}")
    n_bytes = min(WINDOW, offset)
    with open_regular_unbuffered(journal) as file:
        file.seek(offset - n_bytes)
        data = file.read(n_bytes)
    if len(data) < n_bytes or not data.endswith(b"\n"):
        raise OSError(f"{journal} does not end a line at byte {offset}")
    return hashlib.blake2b(data + str(seq).encode(), digest_size=16).hexdigest()


class StateSnapshot(JournalSnapshot):
    """Content of ``state.json``."""

    folded: ClassVar[tuple[type, ...]] = (RunState, CurrentIteration, IterationFacts)

    state: RunState


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundRun:
    """The newest run of a work tree, from its files."""

    files: RunFiles
    state: RunState
    owner: LockOwner | None
    live: bool
    """Whether an engine holds the work tree now."""

    @property
    def phase(self) -> Phase:
        """Phase as viewers show it: without an engine only ``parked`` and ``ended`` are kept."""
        if self.live or self.state.phase in {Phase.ENDED, Phase.PARKED}:
            return self.state.phase
        return Phase.CRASHED


def save_state(files: RunFiles, state: RunState, *, offset: int) -> None:
    """Write the fold of the journal's first ``offset`` bytes for later viewers.

    Raises ``StateUnusable``.
    """
    at = snapshot_mark(StateSnapshot, files.journal, offset=offset, seq=state.seq)
    save_snapshot(files.snapshot, StateSnapshot(**at, state=state))


def load_state(files: RunFiles) -> RunState:
    """State of the run: the snapshot and the events after it."""
    known = load_snapshot(
        files.snapshot, files.journal, StateSnapshot, lambda found: found.state.seq
    )
    if known is None:
        events = each_event(files.journal)
    else:
        tail, reader = Tail(files.journal, offset=known.offset), JournalReader()
        if not (data := tail.read(PART)):
            return known.state
        parts = chain((data,), iter(partial(tail.read, PART), b""))
        events = (event for data in parts for event in reader.feed(data))
    # A run that has ended has no events after its snapshot, and this takes long to import.
    from ralph_ls.core.loop.fold import fold

    return fold(events, None if known is None else known.state)


class KnownStates:
    """Cache of run states by their journals, for callers that ask again and again.

    A journal that has not changed is not read. Snapshots do not replace it: those of another
    version are not used, and folding a long journal takes seconds.
    """

    def __init__(self) -> None:
        self._known: dict[Path, tuple[tuple[int, int], RunState]] = {}

    def load(self, files: RunFiles) -> RunState:
        """The same as `load_state`."""
        try:
            status = files.journal.stat()
        except OSError:
            return load_state(files)
        mark = (status.st_size, status.st_mtime_ns)
        known = self._known.get(files.journal)
        if known is None or known[0] != mark:
            known = (mark, load_state(files))
            if len(self._known) >= MAX_KNOWN_STATES:
                self._known.clear()
            self._known[files.journal] = known
        return known[1]


MAX_KNOWN_STATES = 500


def find_run(
    worktree: Worktree, state: StateFolder, *, load: Callable[[RunFiles], RunState] = load_state
) -> FoundRun | None:
    """The newest run of the work tree; None where there never was one.

    The owner's file in the git directory has its location, which may differ from this process's
    state folder; without it the newest run in ``state`` is taken. A run whose engine was killed
    before its first event does not count.
    """
    owner = read_owner(worktree.git_dir)
    if owner is not None and not _is_credible(owner, worktree, state):
        owner = None
    candidates = [state.run(run) for run in reversed(state.run_ids())]
    if owner is not None and RUN_ID.fullmatch(owner.run):
        candidates.insert(0, StateFolder(folder=Path(owner.state_dir)).run(owner.run))
    held = is_held(worktree.git_dir)
    for files in candidates:
        run = load(files)
        if run.run:
            live = held and owner is not None and owner.run == run.run
            return FoundRun(files=files, state=run, owner=owner, live=live)
    return None


def _is_credible(owner: LockOwner, worktree: Worktree, state: StateFolder) -> bool:
    """Whether the location of the state in the owner's file is trusted.

    A git directory from an archive could name a journal beside it, whose commands a resumed run
    would take for the user's.
    """
    if "\0" in owner.state_dir:
        return False
    folder = Path(owner.state_dir)
    real = Path(os.path.realpath(folder))
    brought = (worktree.root, worktree.git_dir.resolve(), worktree.common_dir)
    inside = any(real.is_relative_to(place) for place in brought)
    if folder == state.folder:
        return True
    # A copied repository names the folder of the original.
    return folder.is_absolute() and not inside and belongs_to(StateFolder(folder=folder), worktree)


def newest_runs(
    places: Iterable[tuple[Worktree, StateFolder]],
    *,
    load: Callable[[RunFiles], RunState] = load_state,
) -> Iterator[tuple[Worktree, StateFolder, FoundRun]]:
    """The newest run of each work tree; what cannot be read is left to the verbs for one."""
    for worktree, state in places:
        with contextlib.suppress(RalphError, OSError):
            found = find_run(worktree, state, load=load)
            if found is not None:
                yield worktree, state, found


def runs_anywhere(
    places: Iterable[tuple[Worktree, StateFolder]],
    *,
    zone: tzinfo | None,
    load: Callable[[RunFiles], RunState] = load_state,
) -> list[RunAnywhere]:
    """The newest runs that are live or wait for the user: live ones first, then the newest."""
    from ralph_ls.core.views.text.status import run_anywhere

    found = [
        _with_origin(
            run_anywhere(
                one.state,
                one.phase,
                workspace=str(worktree.root),
                pid=one.owner.pid if one.owner is not None and one.live else None,
                zone=zone,
            ),
            lane_origin(worktree, state),
            fleet_task_of(worktree),
        )
        for worktree, state, one in newest_runs(places, load=load)
    ]
    parents = {run.workspace: run for run in found if run.lane_of is None}
    # What a lane needs is among the needs of its parallel run, so it is listed once.
    needy = {path for path, run in parents.items() if run.needs}
    found = [
        run.model_copy(update={"needs": None}) if run.lane_of in needy else run for run in found
    ]
    waiting = [run for run in found if run.live or run.needs]

    def place(run: RunAnywhere) -> tuple[bool, float, int]:
        """Lanes are behind their parallel run."""
        first = parents.get(run.lane_of or run.workspace, run)
        return not first.live, -_moment(first.started_at), run.lane or 0

    return sorted(waiting, key=place)


def _with_origin(
    run: RunAnywhere, origin: LaneOrigin | None, fleet_task: str | None
) -> RunAnywhere:
    if fleet_task is not None:
        return run.model_copy(update={"fleet_task": fleet_task})
    if origin is None:
        return run
    return run.model_copy(update={"lane": origin.number, "lane_of": str(origin.root)})


def fleet_task_of(worktree: Worktree) -> str | None:
    """The task that a lane of a fleet is for, by its place below the state folder.

    ``fleet/lanes/RUN/REPOSITORY--TASK-EPOCH``; None for any other work tree.
    """
    lanes = worktree.root.parent.parent
    repository, separator, task = worktree.root.name.rpartition("-")[0].partition("--")
    is_fleets = (lanes.parent.name, lanes.name) == ("fleet", "lanes")
    return f"{repository}#{task}" if is_fleets and separator else None


def lane_place(path: str, root: Path) -> tuple[Worktree, StateFolder]:
    """Work tree and state of a lane; raises ``WorkspaceMissing`` where the lane is removed."""
    worktree = find_worktree(Path(path))
    return worktree, find_state(root, worktree)


def with_journals(table: LaneTable, found: FoundRun, root: Path) -> LaneTable:
    """The lanes with the place of their newest runs: with the parallel run once they are merged."""
    kept = StateFolder(folder=found.files.folder.parent.parent)
    rows = []
    for row in table.rows:
        files = None if row.run is None else _files_of_lane(row.worktree, row.run, kept, root)
        start = None if files is None else load_state(files).start
        place = (
            {} if not start or files is None else {"journal": str(files.journal), "start": start}
        )
        rows.append(row.model_copy(update=place))
    return table.model_copy(update={"rows": tuple(rows)})


def _files_of_lane(path: str, run: str, kept: StateFolder, root: Path) -> RunFiles | None:
    if kept.run(run).journal.exists():
        return kept.run(run)
    with contextlib.suppress(RalphError, OSError):
        return lane_place(path, root)[1].run(run)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneOrigin:
    """The parallel run that a work tree is a lane of."""

    number: int
    root: Path
    """Work tree of that run."""


def lane_origin(worktree: Worktree, state: StateFolder) -> LaneOrigin | None:
    """Where a lane comes from, by its place below the state of its parallel run; None for any other
    work tree.
    """
    run, lanes = worktree.root.parent, worktree.root.parent.parent
    parent = StateFolder(folder=lanes.parent)
    is_below = lanes.name == "lanes" and parent.folder.parent == state.folder.parent.resolve()
    home = root_of(parent) if is_below else None
    if home is None:
        return None
    known = load_state(parent.run(run.name)).lanes
    numbers = (one.lane for one in known if Path(one.worktree).name == worktree.root.name)
    number = next(numbers, None)
    return None if number is None else LaneOrigin(number=number, root=home)


def _moment(at: datetime | None) -> float:
    return 0.0 if at is None else at.timestamp()


def size_of(path: Path) -> int:
    """Bytes of a file; 0 if it is missing."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def full_run_id(worktree: Worktree, state: StateFolder, name: str) -> str:
    """The id of the run that its beginning or its end names, such as ``1a2b``.

    Raises ``UsageError`` where there is no such run, or several.
    """
    known = state.run_ids()
    if name in known:
        return name
    found = [one for one in known if name and (one.startswith(name) or one.endswith(name))]
    if len(found) == 1:
        return found[0]
    if found:
        shown = ", ".join(found[-SHOWN_RUNS:])
        raise UsageError(f"{name!r} names {len(found)} runs; write more of one of: {shown}")
    meant = did_you_mean(name, known, otherwise="see all: ralph runs")
    raise UsageError(f"there is no run {name} in {worktree.root}{meant}")


SHOWN_RUNS = 5
"""How many of the runs that a short name fits are listed, the newest."""


MAX_TEXT_BYTES = 1 << 16
"""Bytes of the newest messages that are searched for an agent's last words."""


def read_texts(files: RunFiles, start: int) -> list[str]:
    """What the agent of a start said last, in order, as its messages have it."""
    try:
        with open_regular_unbuffered(files.messages) as file:
            file.seek(max(0, files.messages.stat().st_size - MAX_TEXT_BYTES))
            lines = (file.read(MAX_TEXT_BYTES) or b"").splitlines()
    except (OSError, StateUnusable):
        return []
    return [text for line in lines if (text := _text_of(line, start)) is not None]


def _text_of(line: bytes, start: int) -> str | None:
    try:
        message = json.loads(line)
    except ValueError:
        # The first line may be cut.
        return None
    is_text = isinstance(message, dict) and message.get("kind") == "text"
    return str(message.get("text", "")) if is_text and message.get("start") == start else None
