"""Project state: what all clones of a project share, ``<state>/projects/<12 hex>/``
(docs/rules.md#files).

A project is identified by the address of its remote without credentials, so that clones with
different tokens share it; where there is no remote by its path. Its folder has ``attempts.txt``,
``metadata.json`` with the project's identity, and the JSON-lines ``logs/``. Earlier versions
included the credentials: such a folder is used until a run moves it to its new name.

``attempts.txt`` counts the failed attempts at each task for every clone and run
(docs/rules.md#attempts), one ``id:count`` a line. Users may edit it: removing a line, or the file,
resets those tasks. As several engines may write it, a run only applies its own changes.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from urllib.parse import urlsplit, urlunsplit

from ralph_ls.protocol.config.config import Config, LogForm
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.files import (
    PRIVATE_FILE,
    make_private_folder,
    read_if_there,
    read_regular,
    write_atomic,
)
from ralph_ls.store.layout import StateFolder

ATTEMPTS = "attempts.txt"
ATTEMPTS_LOCK = ".attempts.lock"

KEPT_PATHS = 20
"""Remembered clones, the newest last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectState:
    """The folder of one project."""

    folder: Path

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    @property
    def attempts(self) -> Path:
        """``id:count``, a line for each task with failed attempts."""
        return self.folder / ATTEMPTS

    @property
    def metadata(self) -> Path:
        return self.folder / "metadata.json"


def keeps_project_state(config: Config) -> bool:
    """Whether a run with these settings uses the project state."""
    return config.logs.form is LogForm.JSONL or shares_attempts(config)


def shares_attempts(config: Config) -> bool:
    """Whether attempts are kept beyond a run, as the plan does not record them."""
    return config.attempts.limit > 0 and not config.attempts.mark


def find_project(root: Path, state: StateFolder) -> ProjectState:
    """The project of the work tree at ``root``; runs git, writes nothing."""
    project, earlier = _project_of(root, state)
    return earlier if earlier is not None and not project.folder.exists() else project


def open_project(root: Path, state: StateFolder, redact: Callable[[str], str]) -> ProjectState:
    """The same, created if missing, with its ``metadata.json``; raises ``StateUnusable``."""
    project, earlier = _project_of(root, state)
    if earlier is not None:
        _adopt(project, earlier)
    make_private_folder(project.folder)
    remote = remote_of(root)
    known = _known_paths(project)
    path = redact(os.fspath(root))
    paths = [*(one for one in known if one != path), path][-KEPT_PATHS:]
    metadata = {
        "remoteUrl": None if remote is None else redact(without_credentials(remote)),
        "paths": paths,
    }
    data = json.dumps(metadata, ensure_ascii=False, indent=2).encode("utf-8", "replace") + b"\n"
    if read_if_there(project.metadata) != data:
        write_atomic(project.metadata, data, mode=PRIVATE_FILE)
    return project


def _project_of(root: Path, state: StateFolder) -> tuple[ProjectState, ProjectState | None]:
    """The project, and the one that an earlier version named by the credentials, if it is there."""
    projects, remote = state.folder.parent.parent / "projects", remote_of(root)
    known = os.fspath(root) if remote is None else without_credentials(remote)
    earlier = ProjectState(folder=projects / _name_of(remote or known))
    is_other = earlier.folder.name != _name_of(known) and earlier.folder.is_dir()
    return ProjectState(folder=projects / _name_of(known)), earlier if is_other else None


def _name_of(known: str) -> str:
    return hashlib.sha256(known.encode("utf-8", "surrogateescape")).hexdigest()[:12]


def _adopt(project: ProjectState, earlier: ProjectState) -> None:
    """Move the folder of an earlier version; where another clone has done so, add it to that."""
    try:
        if not project.folder.exists():
            earlier.folder.rename(project.folder)
            return
        counted = read_attempts(earlier)
        if counted:
            _change(project, lambda known: known.update(_most(known, counted)))
        for log in earlier.logs.glob("*.log"):
            make_private_folder(project.logs)
            target = project.logs / log.name
            if not target.exists():
                log.rename(target)
        # What is left are logs of the same second, which stay where they are.
        earlier.attempts.unlink(missing_ok=True)
        earlier.metadata.unlink(missing_ok=True)
        (earlier.folder / ATTEMPTS_LOCK).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            earlier.logs.rmdir()
        with contextlib.suppress(OSError):
            earlier.folder.rmdir()
    except OSError as error:
        raise StateUnusable(
            f"{earlier.folder} cannot be moved to {project.folder}: {error.strerror or error}; "
            "move it yourself, or fix the permissions"
        ) from error


def _most(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    """The larger of two counts of each task."""
    return {task: max(one.get(task, 0), other.get(task, 0)) for task in (*one, *other)}


def remote_of(root: Path) -> str | None:
    """``remote.origin.url`` as it is set; None where there is none."""
    printed = run_git(root, "config", "--get", "remote.origin.url", accept=(0, 1))
    return printed.decode("utf-8", "surrogateescape").strip() or None


def without_credentials(url: str) -> str:
    """Address of a remote without user name, password or token.

    The user name of ``ssh`` (``git@…``) is kept as a part of the address.
    """
    if "://" not in url:
        return url
    try:
        parts = urlsplit(url)
    except ValueError:
        return _USER_INFO.sub("://", url)
    user, at, host = parts.netloc.rpartition("@")
    if parts.scheme.endswith("ssh"):
        return urlunsplit(parts._replace(netloc=user.partition(":")[0] + at + host))
    return urlunsplit((parts.scheme, host, parts.path, "", ""))


_USER_INFO = re.compile(r"://[^/]*@")


def _known_paths(project: ProjectState) -> list[str]:
    try:
        found = json.loads(read_if_there(project.metadata) or b"")
    except ValueError:
        return []
    paths = found.get("paths") if isinstance(found, dict) else None
    return [path for path in paths if isinstance(path, str)] if isinstance(paths, list) else []


LARGEST_FILE = 1 << 20
"""Most bytes of the file."""

LOCK_PATIENCE = 5.0
"""Seconds to wait for the lock; writers hold it for an instant."""


def read_attempts(project: ProjectState) -> dict[str, int]:
    """Failed attempts by task id; invalid lines are skipped.

    Raises ``StateUnusable`` where the file cannot be read.
    """
    data = read_regular(project.attempts, LARGEST_FILE) or b""
    lines = (_LINE.fullmatch(line.strip()) for line in data.decode("utf-8", "replace").split("\n"))
    found = {line["task"]: int(line["count"]) for line in lines if line is not None}
    return {task: count for task, count in found.items() if count > 0}


def merge_attempts(
    project: ProjectState,
    before: Mapping[str, int],
    after: Mapping[str, int],
    renamed: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Apply the change from ``before`` to ``after`` to the file; raises ``StateUnusable``.

    Changes of other processes are kept: a task that was reset is counted from zero. ``renamed``
    maps ids in the file to new ones; ``before`` and ``after`` use the new ones.
    """
    changed = {task for task in (*before, *after) if before.get(task, 0) != after.get(task, 0)}
    if not changed and not renamed:
        return

    def settle(attempts: dict[str, int]) -> None:
        _rename(attempts, renamed)
        for task in changed:
            more = after.get(task, 0) - before.get(task, 0)
            count = attempts.get(task, 0) + more if task in after else 0
            if count > 0:
                attempts[task] = count
            else:
                attempts.pop(task, None)

    _change(project, settle)


def _rename(attempts: dict[str, int], renamed: Mapping[str, str]) -> None:
    """Count a task under its new id; of two counts the higher one stays."""
    for was, now in renamed.items():
        if was in attempts:
            attempts[now] = max(attempts.pop(was), attempts.get(now, 0))


def forget_attempts(project: ProjectState, task: str) -> bool:
    """Remove a task's line; whether there was one. Raises ``StateUnusable``."""
    if task not in read_attempts(project):
        return False
    _change(project, lambda attempts: attempts.pop(task, None))
    return True


def forget_project_attempts(root: Path, state: StateFolder, task: str) -> bool:
    """The same for the project of the work tree at ``root``, without an engine."""
    if not any((state.folder.parent.parent / "projects").glob(f"*/{ATTEMPTS}")):
        # Most users have no such file, so git need not be run to find the project.
        return False
    project, earlier = _project_of(root, state)
    if earlier is not None:
        _adopt(project, earlier)
    return forget_attempts(project, task)


_LINE = re.compile(r"(?P<task>[^\x00-\x1f\x7f]*[^\x00-\x20\x7f]) *: *(?P<count>\d{1,6})")


def _change(project: ProjectState, change: Callable[[dict[str, int]], object]) -> None:
    from filelock import FileLock, Timeout

    make_private_folder(project.folder)
    lock = FileLock(project.folder / ATTEMPTS_LOCK, timeout=LOCK_PATIENCE, mode=PRIVATE_FILE)
    try:
        with lock:
            attempts = read_attempts(project)
            change(attempts)
            lines = (f"{task}:{count}\n" for task, count in attempts.items())
            written = "".join(line for line in lines if _LINE.fullmatch(line.rstrip("\n")))
            write_atomic(project.attempts, written.encode("utf-8", "replace"), mode=PRIVATE_FILE)
    except Timeout as error:
        raise StateUnusable(
            f"another process has been writing {project.attempts} for too long; end it, or remove "
            f"{lock.lock_file}"
        ) from error
    except OSError as error:
        raise StateUnusable(
            f"{project.attempts} cannot be written: {error.strerror or error}; free some space or "
            "fix the permissions, then try again"
        ) from error
