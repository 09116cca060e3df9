"""Layout: paths of the work tree, its git directory and its state outside of the tree.

See docs/rules.md#run.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from ralph_ls.protocol.errors import StateUnusable, WorkspaceMissing
from ralph_ls.store.files import read_regular

RUN_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{4}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Worktree:
    """A git work tree: its real root, its own git directory, and the one shared by linked trees."""

    root: Path
    git_dir: Path
    common_dir: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFiles:
    """The files of one run under ``worktrees/<hash>/runs/<run>/``."""

    folder: Path

    @property
    def journal(self) -> Path:
        return self.folder / "journal.jsonl"

    @property
    def messages(self) -> Path:
        return self.folder / "messages.jsonl"

    @property
    def settings(self) -> Path:
        """The effective settings in full, as the newest engine of the run began with them."""
        return self.folder / "settings.json"

    @property
    def snapshot(self) -> Path:
        return self.folder / "state.json"

    @property
    def view_snapshot(self) -> Path:
        """Snapshot of the run for viewers, some iterations old."""
        return self.folder / "view.json"

    @property
    def figures(self) -> Path:
        """The metrics of a run that is over, so that its journal is not read again for them."""
        return self.folder / "figures.json"

    @property
    def digest(self) -> Path:
        """Digest of the figures, for lists and dashboards."""
        return self.folder / "digest.json"

    @property
    def engine_errors(self) -> Path:
        return self.folder / "engine.err"

    @property
    def work_branch(self) -> Path:
        """The record of the branch that the run made to work on; most runs have none."""
        return self.folder / "branch.json"

    @property
    def plan_before(self) -> Path:
        """The plan at the start of the newest iteration."""
        return self.folder / "plan.before"

    @property
    def plan_at_start(self) -> Path:
        """HEAD at the start of the run on the first line, then the plan at that time."""
        return self.folder / "plan.start"

    @property
    def restorations(self) -> Path:
        """The engine's commits that restore forbidden changes, one a line."""
        return self.folder / "restorations.jsonl"

    def prompt(self, start: int) -> Path:
        """Prompt of an iteration."""
        return self.folder / f"iteration-{start:03d}.prompt.md"

    def changes(self, start: int) -> Path:
        """Changes of an iteration as a patch, once an editor has asked for them."""
        return self.folder / f"iteration-{start:03d}.diff"

    @property
    def scratch(self) -> Path:
        """Folder for the agent outside the tree, kept as long as the run's files."""
        return self.folder / "scratch"

    def usage(self, start: int, attempt: int) -> Path:
        """Usage file of an agent that reports its usage in a separate file."""
        return self.output(start, attempt, "usage")

    def output(self, start: int, attempt: int, stream: str) -> Path:
        """The agent's redacted bytes; ``stream`` is ``out`` or ``err``."""
        again = "" if attempt == 1 else f"-{attempt}"
        return self.folder / f"iteration-{start:03d}{again}.{stream}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StateFolder:
    """``<state>/worktrees/<hash>/``: the inbox and the runs of one work tree."""

    folder: Path

    @property
    def inbox(self) -> Path:
        return self.folder / "inbox"

    @property
    def saves(self) -> Path:
        """The user's saves of the plan, which the engine reads."""
        return self.folder / "saves.jsonl"

    def review(self, subject: str) -> Path:
        """What an editor shows before an ``approval`` or a ``rollback``."""
        return self.folder / f"{subject}.txt"

    @property
    def rollbacks(self) -> Path:
        """What was rolled back on the user's order, one a line."""
        return self.folder / "rollbacks.jsonl"

    @property
    def runs(self) -> Path:
        return self.folder / "runs"

    def run(self, run: str) -> RunFiles:
        """Files of the run with this id; raises ValueError for an invalid id."""
        if not RUN_ID.fullmatch(run):
            raise ValueError(f"{run!r} is not a run id")
        return RunFiles(folder=self.runs / run)

    def run_ids(self) -> list[str]:
        """Every run's id, oldest first."""
        try:
            names = os.listdir(self.runs)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(name for name in names if RUN_ID.fullmatch(name))


def find_worktree(start: Path) -> Worktree:
    """The git work tree that contains ``start``; raises ``WorkspaceMissing``."""
    real = Path(os.path.realpath(start))
    for folder in (real, *real.parents):
        try:
            git_dir = _git_dir_of(folder)
        except (OSError, ValueError):
            # A name that no file can have, or that is too long.
            continue
        if git_dir is not None:
            return Worktree(root=folder, git_dir=git_dir, common_dir=_common_dir_of(git_dir))
    bare = next((one for one in (real, *real.parents) if _is_bare(one)), None)
    if bare is not None:
        raise WorkspaceMissing(
            f"{bare} is a bare git repository, without files to work on; clone it: "
            f"git clone {shlex.quote(str(bare))}"
        )
    raise WorkspaceMissing(
        f"{real} is not in a git work tree; change into your repository, or create one with "
        "git init"
    )


def _is_bare(folder: Path) -> bool:
    """Whether a folder has the files of a git directory, as ``git init --bare`` makes them."""
    return (folder / "HEAD").is_file() and all(
        (folder / one).is_dir() for one in ("objects", "refs")
    )


def state_root(environment: Mapping[str, str]) -> Path:
    """``RALPH_STATE_DIR``, else the user's state folder (docs/rules.md#files)."""
    chosen = environment.get("RALPH_STATE_DIR", "")
    if chosen:
        return Path(chosen).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_state_dir("ralph", appauthor=False))


def state_folder(root: Path, worktree: Worktree) -> StateFolder:
    """The state of one work tree under the state root."""
    name = hashlib.sha256(os.fsencode(worktree.root)).hexdigest()[:12]
    return StateFolder(folder=root / "worktrees" / name)


def new_run_id(now: datetime) -> str:
    """``YYYYMMDDTHHMMSSZ-xxxx``, sorted by time."""
    import secrets

    return f"{now.astimezone(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(2)}"


_LARGEST_POINTER = 1 << 16
"""Bytes of a git file with one path."""


def _git_dir_of(folder: Path) -> Path | None:
    dot_git = folder / ".git"
    if dot_git.is_dir():
        return dot_git if (dot_git / "HEAD").exists() else None
    try:
        data = read_regular(dot_git, _LARGEST_POINTER)
    except StateUnusable:
        return None
    first_line = os.fsdecode(data or b"").split("\n")[0]
    if not first_line.startswith("gitdir:"):
        return None
    git_dir = (folder / first_line.removeprefix("gitdir:").strip()).resolve()
    return git_dir if git_dir.is_dir() else None


def _common_dir_of(git_dir: Path) -> Path:
    try:
        data = read_regular(git_dir / "commondir", _LARGEST_POINTER)
    except StateUnusable:
        return git_dir
    return git_dir if data is None else (git_dir / os.fsdecode(data).strip()).resolve()
