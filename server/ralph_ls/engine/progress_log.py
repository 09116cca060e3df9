"""Old entries of the progress log go to a file beside it when a run starts (S, Future 3).

Only where a person has set ``progress.keep_days``, and only in files that git shows no change of:
what somebody is at work on is nobody else's to move. The archive is written first, so that an entry
is never lost; one that then stands in both is not added again.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path

from ralph_ls.core.loop.inputs import Notice
from ralph_ls.core.plan.edit.progress_log import add_to_archive, archive_path, split_old_entries
from ralph_ls.core.plurals import count_of
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.files import ChangedMeanwhile, read_regular, resolve_inside, write_atomic
from ralph_ls.store.setup.documents import LARGEST_FILE


def archive_progress(
    root: Path, config: Config, today: date
) -> tuple[list[Notice], tuple[str, ...]]:
    """Move the old entries; what is told of it, and the files that were written.

    Never raises for what lies there: a log that cannot be tidied up ends no run.
    """
    keep_days, log = config.progress.keep_days, config.paths.progress
    if keep_days is None:
        return [], ()
    archive = archive_path(log)
    try:
        before = _read(root, log)
        parted = split_old_entries(before or "", today=today, keep_days=keep_days)
        if before is None or not parted.old:
            return [], ()
        if changed := _changed(root, (log, archive)):
            why = f"{' and '.join(changed)} {'has' if len(changed) == 1 else 'have'} changes"
            return [_told(f"{why} that are not committed; commit them")], ()
        older = _read(root, archive)
        _write(root, archive, older, add_to_archive(older or "", parted.old))
        _write(root, log, before, parted.kept)
    except StateUnusable as error:
        return [_told(error.message)], ()
    except ChangedMeanwhile as error:
        return [_told(f"{error} was changed meanwhile")], ()
    number = len(parted.old)
    entries = "1 entry" if number == 1 else f"{number} entries"
    old = count_of(keep_days, "day")
    message = f"moved {entries} of {log}, older than {old}, to {archive}"
    return [Notice(code="progress-archived", message=message)], (log, archive)


def _told(why: str) -> Notice:
    message = f"old entries of the progress log stay where they are: {why}"
    return Notice(code="progress-not-archived", message=message)


def _changed(root: Path, paths: tuple[str, ...]) -> list[str]:
    """Those that git shows a change of, or does not know yet."""
    literally = [f":(literal){path}" for path in paths]
    look = ("status", "--porcelain", "--untracked-files=all", "--ignore-submodules=dirty")
    return [
        path
        for path, literal in zip(paths, literally, strict=True)
        if run_git(root, *look, "--", literal)
    ]


def _read(root: Path, path: str) -> str | None:
    data = read_regular(resolve_inside(root, path), LARGEST_FILE)
    return None if data is None else data.decode("utf-8", errors="surrogateescape")


def _write(root: Path, path: str, before: str | None, after: str) -> None:
    if before == after:
        return
    expected = None if before is None else before.encode("utf-8", errors="surrogateescape")
    data = after.encode("utf-8", errors="surrogateescape")
    write_atomic(root / path, data, expected=expected)
