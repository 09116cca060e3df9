"""Archive of documents: moves those of finished work away, by a user's order.

See docs/rules.md#archive. Plan, requirements and progress move to ``archive/<date>-<label>/`` with
a summary, and the plan is written as by ``ralph init``. Each file is moved in one step, so that it
is complete in one of two places whenever this process is killed; no file is overwritten. Refused
while an engine works.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path, PurePosixPath

from ralph_ls.core.loop.profiles import Profile, WithoutPlan, profile_of
from ralph_ls.core.plan.formats.dispatch import parse_plan
from ralph_ls.core.plan.formats.registry import format_of_file
from ralph_ls.core.plan.model import PlanKind, Task
from ralph_ls.core.views.report.metrics_tables import archive_summary
from ralph_ls.engine.git import worktree_state
from ralph_ls.protocol.config.config import Config, LogForm
from ralph_ls.protocol.errors import PlanMissing, StateUnusable, UsageError
from ralph_ls.protocol.json_output import RunMetrics
from ralph_ls.protocol.lsp.setup import SetupParams
from ralph_ls.store.figures import read_runs
from ralph_ls.store.files import (
    make_folders_below,
    names_in,
    read_regular,
    resolve_inside,
    write_atomic,
)
from ralph_ls.store.layout import StateFolder, Worktree
from ralph_ls.store.run.lock import EngineLock
from ralph_ls.store.run.runs import find_run
from ralph_ls.store.setup.documents import (
    LARGEST_FILE,
    requirements_beside,
    setup_documents,
    write_files,
)

ARCHIVE = "archive"
"""The folder of all archives, in the root of the work tree."""

SUMMARY = "summary.md"
IGNORES = ".gitignore"
LONGEST_LABEL = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveOrder:
    """The user's order."""

    today: date
    label: str | None = None
    """None: the name of the branch."""
    include_logs: bool = False
    """The folder of the logs, too; by default logs stay (docs/rules.md#logs)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveMove:
    """One file or folder that is moved."""

    path: str
    """Path relative to the root."""
    name: str
    """Name in the archive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Archive:
    """Documents that are archived, and those that replace them."""

    folder: str
    """Relative to the root; nothing is there yet."""
    moves: tuple[ArchiveMove, ...]
    written: tuple[str, ...]
    """Documents that were written again, empty."""
    notes: tuple[str, ...]
    """Further notes for the user."""


def preview_archive(
    worktree: Worktree, state: StateFolder, config: Config, order: ArchiveOrder
) -> Archive:
    """The archive that would be made; changes nothing. Raises as ``archive`` does."""
    with EngineLock(worktree.git_dir):
        return _survey(worktree, state, config, order)[0]


def archive(
    worktree: Worktree,
    state: StateFolder,
    config: Config,
    order: ArchiveOrder,
    environment: Mapping[str, str],
) -> Archive:
    """Archive the documents.

    Raises ``WorkspaceBusy`` while an engine owns the work tree, ``UsageError`` for a label that is
    invalid, ``PlanMissing`` where there is nothing to archive, and ``StateUnusable`` where a file
    cannot be moved; files that were moved before it are then moved back.
    """
    with EngineLock(worktree.git_dir):
        found, files = _survey(worktree, state, config, order)
        _move(worktree.root, found, files)
        if found.written:
            _start_fresh(worktree.root, config, found, environment, order.today)
        return found


def _survey(
    worktree: Worktree, state: StateFolder, config: Config, order: ArchiveOrder
) -> tuple[Archive, Mapping[str, bytes]]:
    """The archive that would be made, and the files that are written into it."""
    root = worktree.root
    profile = profile_of(config.profile)
    head = worktree_state.read_head(worktree.git_dir, worktree.common_dir)
    chosen = _label(order.label, head.branch)
    plan = _find_plan(root, profile, config)
    moves = _moves(root, _wanted(config, profile, plan, include_logs=order.include_logs))
    if not moves:
        names = ", ".join((*profile.plan_files, config.paths.progress))
        raise PlanMissing(
            f"there is nothing to archive in {root}; looked for {names}; set up a loop with: "
            "ralph init"
        )
    gone = {move.path for move in moves}
    runs = _runs_since(worktree, state)
    folder = _free_folder(root, f"{order.today.isoformat()}-{chosen}")
    shows_logs = _ignored_logs(root, folder, moves, config.paths.logs)
    notes = _notes(worktree, state, config, runs, include_logs=order.include_logs, plan=plan)
    if shows_logs is not None:
        notes = (*notes, f"git ignores such logs, so {folder}/{IGNORES} includes these")
    found = Archive(
        folder=folder,
        moves=moves,
        written=tuple(path for path in _fresh(config, profile, plan) if path in gone),
        notes=notes,
    )
    moved = [(move.path, move.name) for move in moves]
    tasks = _tasks(root, config, profile, plan)
    title = f"{chosen}, archived on {order.today.isoformat()}"
    summary = archive_summary(title, head.branch, tasks=tasks, runs=runs, files=moved)
    files = {SUMMARY: summary.encode("utf-8", errors="surrogateescape")}
    return found, files if shows_logs is None else {**files, IGNORES: shows_logs}


def _ignored_logs(
    root: Path, folder: str, moves: tuple[ArchiveMove, ...], logs: str
) -> bytes | None:
    """What makes git take archived logs that it would ignore; None where it ignores none.

    Who archives the logs wants them in the archive that is committed, and ``*.log`` or ``logs/`` is
    in many a ``.gitignore``.
    """
    move = next((move for move in moves if move.path == logs), None)
    if move is None:
        return None
    # Those of earlier runs, in separate folders, have the same kind of name.
    names = (*names_in(root / logs), "iteration-001.log")
    paths = [f"{folder}/{move.name}/{name}" for name in names]
    if not worktree_state.find_ignored(root, paths):
        return None
    return f"!/{move.name}/\n!/{move.name}/**\n".encode()


def _label(label: str | None, branch: str | None) -> str:
    """A name for a folder: the label, else the branch."""
    chosen = label if label is not None else branch or "plan"
    name = re.sub(r"(?:[^\w.]|\.{2,})+", "-", chosen)[:LONGEST_LABEL].strip("-._")
    if not name:
        raise UsageError(
            f"--label {chosen!r} has no letter or digit in it; give one such as --label login-form"
        )
    return name


def _find_plan(root: Path, profile: Profile, config: Config) -> str | None:
    """The file of the plan or of the request; None where it is not in the work tree."""
    if profile.plan_kind is PlanKind.REQUEST:
        request = PurePosixPath(config.issue.file or "-")
        is_ours = not request.is_absolute() and ".." not in request.parts
        return str(request) if is_ours and (root / request).is_file() else None
    names = profile.plan_files if config.paths.plan is None else (config.paths.plan,)
    return next((name for name in names if (root / name).is_file()), None)


def _wanted(
    config: Config, profile: Profile, plan: str | None, *, include_logs: bool
) -> tuple[str, ...]:
    """Candidates of an archive, existing or not."""
    wanted = [] if plan is None else [plan]
    if plan is not None and profile.plan_kind is PlanKind.STORIES:
        wanted.append(requirements_beside(plan))
    wanted.append(config.paths.progress)
    if include_logs and config.logs.form is not LogForm.JSONL:
        wanted.append(config.paths.logs)
    return tuple(dict.fromkeys(wanted))


def _moves(root: Path, wanted: tuple[str, ...]) -> tuple[ArchiveMove, ...]:
    moves: list[ArchiveMove] = []
    for path in wanted:
        source = resolve_inside(root, path)
        if source.is_symlink():
            raise StateUnusable(
                f"{source} is a symbolic link, which would be broken in an archive; replace it "
                "with the file, or move it away yourself"
            )
        if not source.exists():
            continue
        taken = {SUMMARY, *(move.name.casefold() for move in moves)}
        whole = path.replace("/", "-")
        names = itertools.chain((source.name, whole), (f"{n}-{whole}" for n in itertools.count(2)))
        name = next(one for one in names if one.casefold() not in taken)
        moves.append(ArchiveMove(path=path, name=name))
    return tuple(moves)


def _fresh(config: Config, profile: Profile, plan: str | None) -> tuple[str, ...]:
    """The documents that ``ralph init`` writes for this profile, the plan first."""
    if plan is None or profile.without_plan is WithoutPlan.PLAN:
        return ()
    if profile.plan_kind is PlanKind.STORIES:
        return plan, requirements_beside(plan), config.paths.progress
    return (plan,) if profile.plan_kind is PlanKind.MARKDOWN else ()


def _start_fresh(
    root: Path, config: Config, found: Archive, environment: Mapping[str, str], today: date
) -> None:
    """Write the new documents in the places of the archived ones."""
    profile, plan = profile_of(config.profile), found.written[0]
    try:
        documents = setup_documents(
            root,
            SetupParams(profile=profile.name),
            profile,
            plan,
            config.paths,
            environment=environment,
            today=today,
        )
        write_files(root, (one for one in documents.files if one.path in found.written))
    except StateUnusable as error:
        raise StateUnusable(
            f"everything was archived in {root / found.folder}, but the plan could not be reset: "
            f"{error.message}; then: ralph init"
        ) from error


def _runs_since(worktree: Worktree, state: StateFolder) -> list[RunMetrics]:
    """The runs that no earlier archive has."""
    archived: list[str] = []
    with suppress(StateUnusable):
        for name in names_in(worktree.root / ARCHIVE):
            with suppress(StateUnusable):
                summary = worktree.root / ARCHIVE / name / SUMMARY
                data = read_regular(summary, LARGEST_FILE) or b""
                archived.append(data.decode("utf-8", errors="replace"))
    known = "\n".join(archived)
    return [run for run in read_runs(worktree, state) if run.run not in known]


def _tasks(root: Path, config: Config, profile: Profile, plan: str | None) -> tuple[Task, ...]:
    if plan is None or profile.plan_kind is PlanKind.REQUEST:
        return ()
    data = read_regular(resolve_inside(root, plan), LARGEST_FILE) or b""
    parsed = parse_plan(
        data.decode("utf-8", errors="replace"),
        format_of_file(plan, profile.plan_kind).name,
        optional_sections=config.optional_sections,
        skip_review=config.skip_review,
    )
    return tuple(parsed.plan.tasks)


def _notes(
    worktree: Worktree,
    state: StateFolder,
    config: Config,
    runs: list[RunMetrics],
    *,
    include_logs: bool,
    plan: str | None,
) -> tuple[str, ...]:
    notes = [
        f"{path} still exists, and the next run starts with it"
        for path in (config.paths.decide, config.paths.blocked)
        if (worktree.root / path).exists()
    ]
    if plan is not None and profile_of(config.profile).without_plan is WithoutPlan.PLAN:
        notes.append(f"the first iteration of the next run writes {plan} from what is in specs/")
    found = find_run(worktree, state)
    if found is not None and found.state.end is None and runs:
        notes.append(f"run {found.state.run} has not ended; start a new one with: ralph run")
    if include_logs and config.logs.form is LogForm.JSONL:
        notes.append("logs as JSON lines are shared by all clones, so they stay where they are")
    return tuple(notes)


def _free_folder(root: Path, name: str) -> str:
    resolve_inside(root, ARCHIVE)
    number, folder = 1, f"{ARCHIVE}/{name}"
    while (root / folder).exists() or (root / folder).is_symlink():
        number += 1
        folder = f"{ARCHIVE}/{name}-{number}"
    return folder


def _move(root: Path, found: Archive, files: Mapping[str, bytes]) -> None:
    """The summary first, then one document after the other; all of them, or none."""
    target = resolve_inside(root, found.folder)
    moved: list[ArchiveMove] = []
    try:
        make_folders_below(root, target.parent)
        # It did not exist a moment ago; a file that was created since stays.
        target.mkdir()
        for name, data in files.items():
            write_atomic(target / name, data)
        # The plan last: as long as it is there, a second attempt finds all that belongs to it.
        for move in reversed(found.moves):
            (root / move.path).rename(target / move.name)
            moved.append(move)
    except (OSError, StateUnusable) as error:
        for move in reversed(moved):
            with suppress(OSError):
                (target / move.name).rename(root / move.path)
        with suppress(OSError):
            for name in files:
                (target / name).unlink(missing_ok=True)
            target.rmdir()
        why = error.message if isinstance(error, StateUnusable) else error.strerror or str(error)
        raise StateUnusable(
            f"nothing was archived to {target}: {why}; fix that, then try again"
        ) from error
