"""Plan file: reading and editing a plan where it is stored, and recording the user's edits.

User edits go to an append-only file beside the inbox, accessible to the owner only: an editor adds
a line for each save, and the engine reads them when it compares the plan before and after an
iteration (docs/rules.md#user-edits). Only the newest are kept; a lost one makes the user's edit
look like the agent's.

An edit is atomic and in place. Where another process writes meanwhile, the edit is applied again to
the new content. Plans of ``bd`` are read with ``bd``. Everything here blocks.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from ralph_ls.core.loop.profiles import profile_of
from ralph_ls.core.plan.formats.plan_folder import split_files
from ralph_ls.core.plan.formats.plan_format import PlanStorage
from ralph_ls.core.plan.formats.registry import format_of, format_of_file, format_of_text
from ralph_ls.core.plan.model import (
    PlanKind,
    Task,
    text_limit_error,
)
from ralph_ls.core.plan.parse.titles import escape_surrogates
from ralph_ls.core.suggestions import did_you_mean
from ralph_ls.protocol.base import to_wire_time
from ralph_ls.protocol.config.config import Config, OptionalTasks
from ralph_ls.protocol.errors import (
    PlanMissing,
    RalphError,
    StateUnusable,
    UsageError,
)
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.task_words import TaskState
from ralph_ls.store.files import (
    PRIVATE_FILE,
    ChangedMeanwhile,
    make_private_folder,
    read_regular,
    resolve_inside,
    write_all,
    write_atomic,
)
from ralph_ls.store.layout import StateFolder
from ralph_ls.store.project.plan_folder import edit_folder, read_folder, read_plan_file

LARGEST_TEXT = 16_384
"""Most characters of a stored text."""

LARGEST = 262_144
"""Bytes of the file above which only the newer half is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserSave:
    """One save by the user."""

    at: datetime
    path: str
    """Path in the work tree, with symbolic links resolved."""
    before: str
    """``text_hash`` of the last content that editor and file had in common."""
    sha256: str
    """``text_hash`` of the saved content."""
    ticked: tuple[str, ...] = ()
    """Ids of the tasks that the save completed."""
    decided: tuple[tuple[str, str], ...] = ()
    """Changes that an agent may not make: kind (``Forbidden``) and task id."""
    text: str | None = None
    """Saved content, unless it is a plan or too long."""


def text_hash(text: str) -> str:
    """SHA-256 of a text as UTF-8, without a byte order mark."""
    return hashlib.sha256(text.removeprefix("\ufeff").encode("utf-8", "replace")).hexdigest()


def record_save(state: StateFolder, saved: UserSave) -> None:
    """Record one save; raises ``StateUnusable`` where that fails."""
    make_private_folder(state.folder)
    values = {
        "at": to_wire_time(saved.at),
        "path": saved.path,
        "before": saved.before,
        "sha256": saved.sha256,
        "ticked": list(saved.ticked),
        "decided": [list(one) for one in saved.decided],
        "text": saved.text,
    }
    line = json.dumps(values, ensure_ascii=False).encode("utf-8", "replace") + b"\n"
    try:
        descriptor = os.open(state.saves, os.O_WRONLY | os.O_CREAT | os.O_APPEND, PRIVATE_FILE)
        try:
            write_all(descriptor, line)
            size = os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)
    except OSError as error:
        raise StateUnusable(
            f"{state.saves} cannot be written: {error.strerror or error}; free some space or fix "
            "the permissions, then save again"
        ) from error
    if size > LARGEST:
        _keep_newer(state)


def read_saves(state: StateFolder, path: str, *, since: datetime) -> Sequence[UserSave]:
    """The saves of one file from a time on, oldest first; unreadable ones are skipped."""
    try:
        data = read_regular(state.saves, 4 * LARGEST) or b""
    except StateUnusable:
        return ()
    found = (_parse_save(line) for line in data.splitlines())
    return [saved for saved in found if saved and saved.path == path and saved.at >= since]


def _keep_newer(state: StateFolder) -> None:
    data = read_regular(state.saves, 4 * LARGEST) or b""
    newer = data[-LARGEST // 2 :]
    write_atomic(state.saves, newer[newer.find(b"\n") + 1 :], mode=PRIVATE_FILE)


def _parse_save(line: bytes) -> UserSave | None:
    try:
        values = json.loads(line)
        at = datetime.fromisoformat(values["at"])
        if at.tzinfo is None:
            return None
        return UserSave(
            at=at,
            path=str(values["path"]),
            before=str(values["before"]),
            sha256=str(values["sha256"]),
            ticked=tuple(map(str, values["ticked"])),
            decided=tuple((str(what), str(task)) for what, task in values.get("decided", ())),
            text=values.get("text"),
        )
    except (ValueError, KeyError, TypeError):
        return None


MERGES = 20
"""How often an edit is retried after concurrent writes."""


def read_plan(root: Path, path: str) -> bytes:
    """The plan's bytes; raises ``PlanMissing`` where it is gone, else as ``read_plan_file``."""
    data = read_plan_file(root / path)
    if data is None:
        raise PlanMissing(
            f"the plan {root / path} cannot be read: {os.strerror(errno.ENOENT)}; restore it, for "
            "example with: git checkout -- " + path
        )
    return data


def shown_text(text: str) -> str:
    """A text of ``edit_plan`` as it is read elsewhere: what is no UTF-8 is replaced."""
    return text.encode("utf-8", errors="surrogateescape").decode("utf-8", errors="replace")


def edit_plan(root: Path, path: str, change: Callable[[str], str], instead: str) -> tuple[str, str]:
    """Change the plan; returns it before and after.

    In all of these texts invalid UTF-8 is surrogate escapes, which are written as the same bytes.
    ``instead`` is the remedy where another process keeps writing the plan. Raises ``PlanMissing``,
    ``StateUnusable``, and any error of ``change``.
    """
    target = resolve_inside(root, path)
    for _ in range(MERGES):
        data = read_plan(root, path)
        text = data.decode("utf-8", errors="surrogateescape")
        edited = change(text)
        if edited == text:
            return text, text
        try:
            write_atomic(target, edited.encode("utf-8", errors="surrogateescape"), expected=data)
        except ChangedMeanwhile:
            continue
        return text, edited
    raise StateUnusable(
        f"another program keeps writing the plan {target}; stop it, then {instead}, or continue "
        "with: ralph run --resume"
    )


def edit_as_user(
    root: Path,
    state: StateFolder,
    path: str,
    change: Callable[[str], str],
    *,
    at: datetime,
    kind: PlanKind = PlanKind.MARKDOWN,
) -> bool:
    """Change the plan for the user and record that; returns whether it changed.

    ``change`` gets the text of ``edit_plan``. Raises like it.
    """
    changed = _edited_files(root, path, change, kind)
    for name, before, after in changed:
        # The engine looks for the resolved path.
        real = os.path.relpath(os.path.realpath(root / name), os.path.realpath(root))
        record_edit(state, real.replace(os.sep, "/"), before, after, at=at, kind=kind)
    return bool(changed)


def _edited_files(
    root: Path, path: str, change: Callable[[str], str], kind: PlanKind
) -> list[tuple[str, str, str]]:
    """The files that an edit changed, each with its text before and after."""
    known = format_of(kind)
    if known.storage is PlanStorage.FOLDER:
        texts = edit_folder(root, path, known.members, change, "try again")
        old, new = ({one.path: one.text for one in split_files(text)} for text in texts)
        return [
            (name, old.get(name, ""), text) for name, text in new.items() if text != old.get(name)
        ]
    before, after = edit_plan(root, path, change, "try again")
    return [] if before == after else [(path, shown_text(before), shown_text(after))]


def record_edit(
    state: StateFolder,
    path: str,
    before: str,
    after: str,
    *,
    at: datetime,
    kind: PlanKind = PlanKind.MARKDOWN,
) -> None:
    """Record the user's edit of the plan; raises ``StateUnusable`` where that fails.

    ``kind`` is the format of the plan, where its name does not show it.
    """
    from ralph_ls.core.plan.formats.dispatch import edit_effects

    ticked: tuple[str, ...] = ()
    decided: tuple[tuple[str, str], ...] = ()
    if text_limit_error(before) is None and text_limit_error(after) is None:
        ticked, decided = edit_effects(format_of_file(path, kind).name, before, after)
    saved = UserSave(
        at=at,
        path=path,
        before=text_hash(before),
        sha256=text_hash(after),
        ticked=ticked,
        decided=decided,
    )
    record_save(state, saved)


if TYPE_CHECKING:
    from ralph_ls.core.plan.formats.beads.snapshot import BeadsSnapshot


BD = "bd"
"""Name of a plan that ``bd`` stores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanLocation:
    """Location and format of a work tree's plan."""

    path: str
    """Path relative to the root, or the name of a plan that is not a file."""
    kind: PlanKind = PlanKind.MARKDOWN
    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment in which ``bd`` is searched for."""
    parent: str | None = None
    """The issue whose children are the plan."""
    tag: str = ""
    """The tag of Task Master; empty: the first."""

    @property
    def is_file(self) -> bool:
        """Whether the plan is a file."""
        return format_of(self.kind).is_file


def find_plan_location(path: str, config: Config, environment: Mapping[str, str]) -> PlanLocation:
    """Location of the plan at ``path`` by these settings."""
    kind = profile_of(config.profile).plan_kind
    if format_of(kind).is_text:
        kind = format_of_file(path, kind).name
    parent = config.beads.parent
    tag = config.plan.tag or ""
    return PlanLocation(path=path, kind=kind, environment=environment, parent=parent, tag=tag)


def skipped_optional_titles(state: RunState) -> tuple[str, ...]:
    """Titles of the open optional tasks, in a run that does not work on them."""
    from ralph_ls.core.plan.formats.dispatch import parse_plan

    config = state.config
    if not state.counts.open_optional or config.optional is OptionalTasks.DO or config.task:
        return ()
    place = find_plan_location(state.plan, config, {})
    if not place.is_file:
        return ()
    try:
        text = read_plan(Path(state.workspace), state.plan).decode("utf-8", errors="replace")
    except RalphError:
        return ()
    if not format_of_text(place.kind, text).is_markdown:
        return ()
    plan = parse_plan(text, place.kind, optional_sections=config.optional_sections).plan
    tasks = plan.some(states={TaskState.TODO, TaskState.IN_PROGRESS})
    return tuple(escape_surrogates(task.title) for task in tasks if task.optional)


def find_task(root: Path, place: PlanLocation, task: str, *, text: str | None = None) -> Task:
    """The task in the plan; raises ``UsageError`` with the remedy where there is none.

    ``text`` is the plan's, if it is known; otherwise it is read, which raises ``PlanMissing``.
    """
    from ralph_ls.core.plan.formats.dispatch import parse_plan

    known = text_of_plan(root, place) if text is None else text
    plan = parse_plan(known, place.kind, tag=place.tag).plan
    found = plan.find(task)
    if found is None:
        ids = (one.id for one in plan.tasks)
        meant = did_you_mean(task, ids, otherwise="see the ids in: ralph plan")
        raise UsageError(f"{place.path} has no task {task!r}{meant}")
    return found


def text_of_plan(root: Path, place: PlanLocation) -> str:
    """Present text of the plan; raises ``PlanMissing``."""
    if place.kind is PlanKind.BEADS:
        from ralph_ls.core.plan.formats.beads.snapshot import snapshot_to_text

        return snapshot_to_text(issues_of(root, place))
    known = format_of(place.kind)
    if known.storage is PlanStorage.FOLDER and not (root / place.path).is_file():
        return read_folder(root, place.path, known.members)
    return read_plan(root, place.path).decode("utf-8", errors="replace")


def issues_of(root: Path, place: PlanLocation) -> BeadsSnapshot:
    """The issues of ``bd``; raises ``IssuesMissing``."""
    from ralph_ls.store.external.bd import find_bd, read_snapshot

    return read_snapshot(find_bd(root, place.environment), parent=place.parent)
