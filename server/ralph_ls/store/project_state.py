"""What all clones of a project share: ``<state>/projects/<12 hex>/`` (B; SPEC §4).

A project is known by the address of its remote, a repository without one by its own path. Here lie
``attempts.txt``, ``metadata.json``, which says whose they are, and B's ``logs/``.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from ralph_ls.protocol.config import Config, LogForm
from ralph_ls.store.files import (
    PRIVATE_FILE,
    make_private_folder,
    read_if_there,
    write_atomic,
)
from ralph_ls.store.git_command import run_git
from ralph_ls.store.layout import StateFolder

ATTEMPTS = "attempts.txt"

KEPT_PATHS = 20
"""Clones that are remembered, the newest last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectState:
    """The folder of one project."""

    folder: Path

    @property
    def logs(self) -> Path:
        return self.folder / "logs"

    @property
    def attempts(self) -> Path:
        """``id:count``, a line for each task that was tried in vain."""
        return self.folder / ATTEMPTS

    @property
    def metadata(self) -> Path:
        return self.folder / "metadata.json"


def keeps_project_state(config: Config) -> bool:
    """Whether a run with these settings has anything to keep here."""
    return config.log_form is LogForm.JSONL or shares_attempts(config)


def shares_attempts(config: Config) -> bool:
    """Whether attempts are kept beyond a run: nothing in the plan tells of them."""
    return config.attempts.limit > 0 and not config.attempts.mark


def find_project(root: Path, state: StateFolder) -> ProjectState:
    """The project that the work tree at ``root`` is a clone of; asks git, writes nothing."""
    known = remote_of(root) or os.fspath(root)
    name = hashlib.sha256(known.encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return ProjectState(folder=state.folder.parent.parent / "projects" / name)


def open_project(root: Path, state: StateFolder, redact: Callable[[str], str]) -> ProjectState:
    """The same, made where it is missing, with its ``metadata.json``; raises ``StateUnusable``."""
    project = find_project(root, state)
    make_private_folder(project.folder)
    remote = remote_of(root)
    known = _known_paths(project)
    path = redact(os.fspath(root))
    paths = [*(one for one in known if one != path), path][-KEPT_PATHS:]
    told = {
        "remoteUrl": None if remote is None else redact(without_credentials(remote)),
        "paths": paths,
    }
    data = json.dumps(told, ensure_ascii=False, indent=2).encode("utf-8", "replace") + b"\n"
    if read_if_there(project.metadata) != data:
        write_atomic(project.metadata, data, mode=PRIVATE_FILE)
    return project


def remote_of(root: Path) -> str | None:
    """``remote.origin.url`` as it is set; None where there is none."""
    printed = run_git(root, "config", "--get", "remote.origin.url", accept=(0, 1))
    return printed.decode("utf-8", "surrogateescape").strip() or None


def without_credentials(url: str) -> str:
    """An address of a remote with nobody's name, password or token in it.

    The name that ``ssh`` logs in with (``git@…``) is no secret, and part of the address.
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
