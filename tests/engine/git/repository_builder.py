"""A real repository for the tests of what git reports."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from ralph_ls.core.loop.evidence.progress import Changes
from ralph_ls.engine.git.changes import changes_between
from ralph_ls.engine.git.history import IsUserCommit, no_user_commit
from ralph_ls.engine.git.worktree_state import (
    GitStateCache,
    Head,
    LoopFiles,
    read_head,
    take_baseline,
)
from ralph_ls.protocol.run.values import Baseline
from ralph_ls.store.layout import find_worktree

OWN = LoopFiles(paths=frozenset({"@fix_plan.md", "sub/own.txt"}), folders=(".ralph", "logs/"))


@dataclass
class Repository:
    """A real repository, changed by its user's own git."""

    root: Path
    own: LoopFiles = OWN
    cache: GitStateCache = field(default_factory=GitStateCache)
    by_content: bool = False

    def git(self, *arguments: str, **variables: str) -> str:
        done = subprocess.run(
            ["git", "-c", "protocol.file.allow=always", *arguments],
            cwd=self.root,
            env={**os.environ, **variables},
            check=True,
            capture_output=True,
        )
        return done.stdout.decode("utf-8", "surrogateescape").strip()

    def write(self, name: str, text: str = "text\n") -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def commit(self, *names: str, subject: str = "work", **variables: str) -> str:
        for name in names:
            self.write(name, f"{name} {subject}\n")
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", subject, **variables)
        return self.git("rev-parse", "HEAD")

    def look(self) -> Baseline:
        place = find_worktree(self.root)
        return take_baseline(
            place.root,
            place.git_dir,
            place.common_dir,
            own=self.own,
            cache=self.cache,
            by_content=self.by_content,
        )

    def head(self) -> Head:
        place = find_worktree(self.root)
        return read_head(place.git_dir, place.common_dir)

    def since(
        self,
        before: Baseline,
        *,
        moment: datetime | None = None,
        is_persons: IsUserCommit = no_user_commit,
        touched: Sequence[str] = (),
    ) -> Changes:
        return changes_between(
            self.root,
            before,
            self.look(),
            own=self.own,
            since=moment,
            is_persons=is_persons,
            touched=touched,
        )


def make_repository(root: Path, *options: str) -> Repository:
    root.mkdir(parents=True, exist_ok=True)
    repository = Repository(root.resolve())
    repository.git("init", "-q", *options)
    return repository
