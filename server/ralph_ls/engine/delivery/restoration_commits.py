"""Restoration commits: restore guarded paths in the branch, and are recorded to be recognised.

Such a commit differs from HEAD in the given paths alone. It is made by plumbing with a temporary
index: what is staged stays staged, no hook runs, nothing is signed, and HEAD moves only where it
is still what was read. Its hash is recorded in the run's folder before HEAD moves, so an engine
that takes over can distinguish it from an agent's or the user's commit, whatever a message says.
What is to be restored is decided elsewhere.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ralph_ls.core.loop.inputs import RevertedChange
from ralph_ls.core.loop.rules.commits import restoration_message
from ralph_ls.engine.git.worktree_state import read_head, under_way
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.protocol.run.values import TaskRef
from ralph_ls.store.external.git_command import read_objects, run_git
from ralph_ls.store.files import PRIVATE_FILE, read_if_there, write_atomic
from ralph_ls.store.run.iterations import restored_commits

BY_RALPH = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "ralph"), ("EMAIL", "ralph@localhost"))
}
"""Author and committer of snapshots: there may be no name to commit with."""


def index_info(lines: Iterable[tuple[bytes, bytes, bytes]]) -> bytes:
    """What ``update-index --index-info`` reads; mode 0 takes a path out."""
    # What goes comes first: where a file was, a folder may come.
    ordered = sorted(lines, key=lambda line: line[1].strip(b"0") != b"")
    return b"".join(
        (b"0 " + value if not mode.strip(b"0") else mode + b" " + value) + b"\t" + path + b"\0"
        for path, mode, value in ordered
    )


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """One path in a tree, as git has it."""

    mode: str
    hash: str

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file: no link, folder or submodule."""
        return self.mode.startswith("100")

    @property
    def is_folder(self) -> bool:
        return self.mode == "040000"


TreeEntries = Mapping[str, TreeEntry | None]
"""By path, relative to the root; None: the tree has no such path."""


class CannotCommit(Exception):
    """Nothing is committed now; the message says why."""


class HeadMoved(Exception):
    """Somebody else was quicker: HEAD is not what was looked at any more."""


def entries_of(root: Path, commit: str | None, paths: Sequence[str]) -> dict[str, TreeEntry | None]:
    """What a commit has at these paths."""
    found: dict[str, TreeEntry | None] = dict.fromkeys(paths)
    if commit is None or not paths:
        return found
    printed = read_objects(root, "ls-tree", "-z", "--full-tree", commit, "--", *_literally(paths))
    for record in printed.split(b"\0"):
        fields, _, path = record.partition(b"\t")
        name = _text_of(path)
        if name in found:
            mode, _, value = fields.decode().split(" ")
            found[name] = TreeEntry(mode, value)
    return found


def read_blob(root: Path, entry: TreeEntry) -> bytes:
    """The content of a file in a tree."""
    return read_objects(root, "cat-file", "blob", entry.hash)


def read_file_in(root: Path, entry: TreeEntry | None) -> bytes | None:
    """The same; None where there is nothing, or a link, folder or submodule."""
    return read_blob(root, entry) if entry is not None and entry.is_file else None


def write_blob(root: Path, data: bytes) -> str:
    """Store a content as it is; its hash."""
    return (
        run_git(root, "hash-object", "-w", "--stdin", "--no-filters", stdin=data).decode().strip()
    )


def entry_in_tree(root: Path, path: str) -> TreeEntry | None:
    """What the path in the work tree would be committed as; None: nothing that could be."""
    target = root / path
    try:
        status = target.lstat()
        if stat.S_ISLNK(status.st_mode):
            link = os.fsencode(target.readlink())
            printed = run_git(root, "hash-object", "--stdin", "--no-filters", stdin=link)
            return TreeEntry("120000", printed.decode().strip())
        if not stat.S_ISREG(status.st_mode):
            return None
        printed = run_git(root, "hash-object", "--", path)
    except (OSError, RalphError):
        return None
    mode = "100755" if status.st_mode & stat.S_IXUSR else "100644"
    return TreeEntry(mode, printed.decode().strip())


def same_lines(one: bytes, other: bytes) -> bool:
    """Whether two contents differ in nothing but their line ends, which git may convert."""
    return one.replace(b"\r\n", b"\n") == other.replace(b"\r\n", b"\n")


def real_path(root: Path, path: str) -> str:
    """Where a path leads to in the work tree, as git has it."""
    real_root = os.path.realpath(root)
    real = Path(os.path.realpath(root / path))
    return real.relative_to(real_root).as_posix() if real.is_relative_to(real_root) else path


class RestorationCommits:
    """Makes and knows the restoration commits of one run."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._root = workspace.root
        self._file = workspace.files.restorations

    def hashes(self) -> frozenset[str]:
        """Every commit of the run that restores something, whether HEAD moved to it or not."""
        return frozenset(restored_commits(self._workspace.files))

    def recall(self, start: int, commits: frozenset[str]) -> tuple[RevertedChange, ...]:
        """What an engine that died had restored in this iteration, in one of these commits."""
        return tuple(
            _reverted_of(given, str(one["commit"]))
            for one in self._read()
            if one["start"] == start and one["commit"] in commits
            for given in one["reverted"]
        )

    def commit(
        self,
        start: int,
        head: str,
        was: TreeEntries,
        wanted: TreeEntries,
        reverted: Sequence[RevertedChange],
        *,
        message: str = "",
    ) -> str:
        """Commit ``wanted`` on top of ``head``; the new commit.

        ``was`` is what ``head`` has at the same paths; ``message`` replaces the one that names what
        was restored. Raises ``CannotCommit`` where no commit may
        be made now, ``HeadMoved`` where HEAD is another one meanwhile.
        """
        self._require_quiet(head)
        told = message or restoration_message(self._workspace.run, start, sorted(wanted), reverted)
        message = self._workspace.redactor.redact(told)
        made = self._make(head, was, wanted, message)
        self._record(start, made, reverted)
        subject = message.partition("\n")[0]
        try:
            run_git(self._root, "update-ref", "-m", subject, "HEAD", made, head)
        except RalphError as error:
            place = self._workspace.worktree
            if read_head(place.git_dir, place.common_dir).commit != head:
                raise HeadMoved from error
            raise CannotCommit(error.message) from error
        self.follow_in_index(was, wanted)
        return made

    def follow(self, commit: str) -> None:
        """Do to the user's index what an engine that died after this commit may not have done."""
        printed = run_git(self._root, "diff-tree", "-r", "-z", "--name-only", f"{commit}^", commit)
        paths = [_text_of(path) for path in printed.split(b"\0") if path]
        was, wanted = (entries_of(self._root, one, paths) for one in (f"{commit}^", commit))
        self.follow_in_index(was, wanted)

    def follow_in_index(self, was: TreeEntries, wanted: TreeEntries) -> None:
        """Bring the restored paths in the user's index along, where nothing of them is staged."""
        try:
            printed = run_git(self._root, "ls-files", "-s", "-z", "--", *_literally([*wanted]))
            staged = _staged_in(printed)
            paths = [path for path in wanted if self._is_staged(path, was[path], staged)]
            if paths:
                info = _index_lines(was, {path: wanted[path] for path in paths})
                run_git(self._root, *_TAKE_LINES, stdin=info)
                run_git(self._root, "update-index", "-q", "--refresh", accept=(0, 1))
        except RalphError:
            # Somebody stages something right now; the path is then shown as staged, no more.
            return

    def _is_staged(
        self, path: str, was: TreeEntry | None, staged: Mapping[str, TreeEntry | None]
    ) -> bool:
        """Whether the user's index has a path as HEAD had it."""
        if was is None or not was.is_folder:
            return staged.get(path) == was
        printed = run_git(self._root, "write-tree", "--missing-ok", f"--prefix={path}/")
        return printed.decode().strip() == was.hash

    def _require_quiet(self, head: str) -> None:
        place = self._workspace.worktree
        now = read_head(place.git_dir, place.common_dir)
        if now.commit != head:
            raise HeadMoved
        if now.branch is None:
            raise CannotCommit("HEAD is detached")
        if what := under_way(place.git_dir):
            raise CannotCommit(f"a {what} is in progress")

    def _make(self, head: str, was: TreeEntries, wanted: TreeEntries, message: str) -> str:
        # A folder for each: what an engine that was killed left locked is in nobody's way.
        with tempfile.TemporaryDirectory(dir=self._workspace.files.folder) as folder:
            index = {"GIT_INDEX_FILE": str(Path(folder, "index"))}
            run_git(self._root, "read-tree", head, settings=index)
            info = _index_lines(was, wanted)
            run_git(self._root, *_TAKE_LINES, stdin=info, settings=index)
            tree = run_git(self._root, "write-tree", "--missing-ok", settings=index)
        arguments = ("commit-tree", "--no-gpg-sign", tree.decode().strip(), "-p", head, "-F", "-")
        data = message.encode("utf-8", errors="replace")
        try:
            made = run_git(self._root, *arguments, stdin=data)
        except RalphError:
            # Git knows no name to commit with.
            made = run_git(self._root, *arguments, stdin=data, settings=BY_RALPH)
        return made.decode().strip()

    def _record(self, start: int, commit: str, reverted: Sequence[RevertedChange]) -> None:
        record = {
            "start": start,
            "commit": commit,
            "reverted": [_journal_text(one) for one in reverted],
        }
        line = json.dumps(record).encode() + b"\n"
        write_atomic(self._file, (read_if_there(self._file) or b"") + line, mode=PRIVATE_FILE)

    def _read(self) -> Iterator[dict[str, Any]]:
        for line in (read_if_there(self._file) or b"").splitlines():
            with contextlib.suppress(ValueError):
                yield json.loads(line)


def _journal_text(one: RevertedChange) -> dict[str, Any]:
    tasks = [{"id": task.id, "title": task.title} for task in one.tasks]
    return {**asdict(one), "what": one.what.value, "tasks": tasks}


def _reverted_of(given: Mapping[str, Any], commit: str) -> RevertedChange:
    tasks = tuple(TaskRef(id=task["id"], title=task["title"]) for task in given["tasks"])
    known = {**given, "what": Forbidden(given["what"]), "tasks": tasks, "commit": commit}
    return RevertedChange(**known)


def _staged_in(printed: bytes) -> dict[str, TreeEntry | None]:
    """The entries of ``git ls-files -s``; a path in conflict has none that could be compared."""
    staged: dict[str, TreeEntry | None] = {}
    for record in printed.split(b"\0"):
        fields, _, path = record.partition(b"\t")
        if path:
            mode, value, stage = fields.decode().split(" ")
            staged[_text_of(path)] = TreeEntry(mode, value) if stage == "0" else None
    return staged


_TAKE_LINES = ("update-index", "--replace", "-z", "--index-info")


def _index_lines(was: TreeEntries, wanted: TreeEntries) -> bytes:
    lines: list[tuple[bytes, bytes, bytes]] = []
    for path, entry in wanted.items():
        before = was[path]
        if entry is not None:
            lines.append((_bytes_of(path), entry.mode.encode(), entry.hash.encode()))
        elif before is not None:
            lines.append((_bytes_of(path), b"0", b"0" * len(before.hash)))
    return index_info(lines)


def _literally(paths: Sequence[str]) -> list[str]:
    return [f":(literal){path}" for path in paths]


def _bytes_of(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def _text_of(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")
