"""Evidence from git: what a work tree is at one moment.

Facts, against which an agent's report is held (docs/rules.md#evidence). It looks and never changes
anything but ``info/exclude``. It must never judge: whether a change is progress is the core's to
say.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ralph_ls.engine.git.history import hash_algorithm
from ralph_ls.engine.git.status import (
    DELETED,
    GITLINK,
    HEX,
    UNREADABLE,
    dirty_paths,
    disk_value,
    journal_path,
    tree_value,
)
from ralph_ls.protocol.errors import RalphError, StateUnusable, WorkspaceMissing
from ralph_ls.protocol.run.values import Baseline
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.files import ChangedMeanwhile, read_regular, write_atomic
from ralph_ls.store.layout import Worktree, find_worktree

NESTED_DEPTH = 3
"""How deep repositories inside repositories are looked into."""

_UNDER_WAY = {
    "MERGE_HEAD": "merge",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "BISECT_LOG": "bisect",
    # Between two of several commits.
    "sequencer": "cherry-pick",
}

_HASH = re.compile(rb"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_BRANCHES = b"refs/heads/"
_PER_WORKTREE = (b"refs/bisect/", b"refs/worktree/", b"refs/rewritten/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """Where HEAD points."""

    commit: str | None
    """None before the first commit."""
    branch: str | None
    """None on a detached HEAD."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopFiles:
    """The loop's own files, relative to the root, whose changes are no evidence.

    See docs/rules.md#evidence.
    """

    paths: frozenset[str] = frozenset()
    folders: tuple[str, ...] = ()

    def covers(self, path: str) -> bool:
        """Whether a ``/``-separated path is one of them, or inside one of the folders."""
        folders = tuple(f"{folder.rstrip('/')}/" for folder in self.folders)
        return path in self.paths or f"{path}/".startswith(folders)

    def inside(self, folder: str) -> LoopFiles:
        """Those in ``folder``, relative to it."""
        start = f"{folder}/"
        return LoopFiles(
            paths=frozenset(_moved(self.paths, start)), folders=tuple(_moved(self.folders, start))
        )


@dataclass(slots=True)
class GitStateCache:
    """What need not be asked twice: a commit's content never changes. One for each run."""

    trees: dict[tuple[Path, str, LoopFiles], bytes] = field(default_factory=dict)
    contents: dict[tuple[Path, str, LoopFiles], int] = field(default_factory=dict)


def read_head(git_dir: Path, common_dir: Path) -> Head:
    """The commit and branch of HEAD, read from files; git is asked only where they are unusual.

    Raises ``RalphError`` where even git cannot resolve it.
    """
    head = _read_small(git_dir / "HEAD")
    if (git_dir / "HEAD").is_symlink():
        return _ask_head(git_dir)
    if _HASH.fullmatch(head):
        return Head(commit=head.decode(), branch=None)
    ref = head.removeprefix(b"ref:").strip()
    if not head.startswith(b"ref:") or not ref.startswith(b"refs/") or ref.endswith(b"/.invalid"):
        return _ask_head(git_dir)
    holder = git_dir if ref.startswith(_PER_WORKTREE) else common_dir
    loose = _read_small(holder / os.fsdecode(ref))
    if loose and not _HASH.fullmatch(loose):
        return _ask_head(git_dir)
    commit = loose or _packed(common_dir, ref)
    return Head(commit=commit.decode() or None, branch=journal_path(ref.removeprefix(_BRANCHES)))


def take_baseline(
    root: Path,
    git_dir: Path,
    common_dir: Path,
    *,
    own: LoopFiles,
    cache: GitStateCache | None = None,
    by_content: bool = False,
) -> Baseline:
    """The work tree as it is now; one git process, and one more where ``cache`` has no such commit.

    ``by_content``: the fingerprint is that of the content alone, whether it is committed or not. To
    commit is then no new state, as it must be where the loop itself commits after it has looked.
    Blocks, for as long as ``git status`` and the hashing of the dirty files take.
    Raises ``RalphError`` with git's words.
    """
    head = read_head(git_dir, common_dir)
    seen = _look(root, own, algorithm=hash_algorithm(head.commit), depth=NESTED_DEPTH)
    known = cache if cache is not None else GitStateCache()
    if by_content:
        fingerprint = _content_digest(_tree_content(root, head.commit, own, known), seen)
    else:
        fingerprint = _digest(_tree_digest(root, head.commit, own, known), seen.dirty)
    return Baseline(
        head=head.commit,
        branch=head.branch,
        dirty=seen.dirty,
        own=seen.own,
        fingerprint=fingerprint,
        nested_heads=seen.nested_heads,
    )


def read_nested_repository(path: Path, own: LoopFiles, *, depth: int) -> tuple[str, dict[str, str]]:
    """The value of a nested repository, and its head and those inside it, by ``/path``."""
    place = repository_at(path)
    if place is None:
        return DELETED, {}
    try:
        head = read_head(place.git_dir, place.common_dir).commit
        dirty: dict[str, str] = {}
        inner: dict[str, str] = {}
        if depth > 0:
            seen = _look(place.root, own, algorithm=hash_algorithm(head), depth=depth - 1)
            dirty, inner = seen.dirty, seen.nested_heads
    except RalphError:
        return f"{GITLINK} {UNREADABLE}", {}
    tree = (head or "").encode()
    content = _digest(tree, dirty) if dirty or head is None else head[:HEX]
    heads = {"": head or ""} | {f"/{name}": commit for name, commit in inner.items()}
    return f"{GITLINK} {content}", heads


def repository_at(path: Path) -> Worktree | None:
    """The repository whose work tree begins just there."""
    try:
        place = find_worktree(path)
    except WorkspaceMissing:
        return None
    return place if place.root == path.resolve() else None


def exclude(root: Path, common_dir: Path, patterns: Sequence[str]) -> tuple[str, ...]:
    """Add to ``info/exclude`` the patterns which nothing ignores yet; gives those added.

    Patterns are rooted, ``/file`` or ``/folder/``. What the file holds is kept to the byte. Raises
    ``StateUnusable`` where it cannot be written.
    """
    file = common_dir / "info" / "exclude"
    while True:
        content = read_regular(file)
        added = _patterns_to_add(root, content or b"", patterns)
        if not added:
            return ()
        try:
            file.parent.mkdir(exist_ok=True)
            write_atomic(file, _with_patterns(content or b"", added), expected=content)
        except ChangedMeanwhile:
            continue
        except OSError as error:
            raise StateUnusable(
                f"the folder {file.parent} cannot be created: {error.strerror}; ralph must be "
                "able to write to the git directory"
            ) from error
        return added


def _patterns_to_add(root: Path, content: bytes, patterns: Sequence[str]) -> tuple[str, ...]:
    """Those that are not in the file, and whose paths nothing else ignores."""
    lines = {journal_path(line.strip()) for line in content.split(b"\n")}
    missing = [pattern for pattern in dict.fromkeys(patterns) if pattern not in lines]
    ignored = find_ignored(root, [pattern.removeprefix("/") for pattern in missing])
    return tuple(name for name in missing if name.removeprefix("/") not in ignored)


def _with_patterns(content: bytes, added: Sequence[str]) -> bytes:
    end = b"\n" if content and not content.endswith(b"\n") else b""
    return content + end + "".join(f"{pattern}\n" for pattern in added).encode()


def find_ignored(root: Path, paths: Sequence[str]) -> frozenset[str]:
    """Those of the paths that git ignores; a folder is written with a slash at its end."""
    if not paths:
        return frozenset()
    # 128: git does not look at paths behind a symbolic link or in a submodule.
    names = "\0".join(paths).encode("utf-8", "surrogateescape")
    printed = run_git(root, "check-ignore", "-z", "--stdin", accept=(0, 1, 128), stdin=names)
    return frozenset(journal_path(path) for path in printed.split(b"\0") if path)


def find_tracked(root: Path, paths: Sequence[str]) -> tuple[str, ...]:
    """The tracked files among the paths and below them, sorted."""
    if not paths:
        return ()
    literally = [f":(literal){path}" for path in paths]
    printed = run_git(root, "ls-files", "-z", "--", *literally)
    return tuple(sorted({journal_path(path) for path in printed.split(b"\0") if path}))


def under_way(git_dir: Path) -> str | None:
    """What of git's longer operations was begun and not ended, such as ``merge``; None: nothing."""
    return next((what for name, what in _UNDER_WAY.items() if (git_dir / name).exists()), None)


def is_traced(root: Path) -> bool:
    """Whether somebody's settings have git write down all that it does."""
    return bool(run_git(root, "config", "--get", "trace2.eventTarget", accept=(0, 1)).strip())


_LARGEST_REFS = 64 << 20
"""Bytes of git's packed refs, of which a repository may have hundreds of thousands."""


def _read_small(path: Path) -> bytes:
    return (read_regular(path) or b"").strip()


def _packed(common_dir: Path, ref: bytes) -> bytes:
    packed = read_regular(common_dir / "packed-refs", _LARGEST_REFS) or b""
    found = re.search(rb"^([0-9a-f]{40,64}) %s$" % re.escape(ref), packed, re.MULTILINE)
    return found.group(1) if found else b""


def _ask_head(git_dir: Path) -> Head:
    """Reftables, symbolic refs to symbolic refs, and what is not invented yet."""
    commit, ref = (
        run_git(git_dir, *question, "HEAD", accept=(0, 1), git_dir=git_dir).strip()
        for question in (("rev-parse", "--verify", "-q"), ("symbolic-ref", "-q"))
    )
    branch = journal_path(ref.removeprefix(_BRANCHES))
    return Head(commit=commit.decode() or None, branch=branch or None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _DirtyTree:
    """The values of the dirty paths."""

    dirty: dict[str, str]
    own: dict[str, str]
    """Those of the loop's own files, which are in none of the others."""
    committed: dict[str, str]
    """What HEAD has in place of each of ``dirty``."""
    nested_heads: dict[str, str]
    """The heads of the repositories among ``dirty``."""


def _look(root: Path, own: LoopFiles, *, algorithm: str, depth: int) -> _DirtyTree:
    dirty: dict[str, str] = {}
    of_loop: dict[str, str] = {}
    committed: dict[str, str] = {}
    nested_heads: dict[str, str] = {}
    for entry in dirty_paths(root):
        if own.covers(entry.name):
            if not entry.is_repository:
                of_loop[entry.name] = disk_value(entry.path, algorithm=algorithm)
            continue
        heads: dict[str, str] = {}
        if entry.is_repository:
            value, heads = read_nested_repository(entry.path, own.inside(entry.name), depth=depth)
        else:
            value = disk_value(entry.path, algorithm=algorithm)
        if value != entry.committed:
            dirty[entry.name] = value
            committed[entry.name] = entry.committed
            nested_heads |= {f"{entry.name}{path}": head for path, head in heads.items()}
    return _DirtyTree(
        dirty=dict(sorted(dirty.items())),
        own=dict(sorted(of_loop.items())),
        committed=committed,
        nested_heads=dict(sorted(nested_heads.items())),
    )


def _tree_content(root: Path, commit: str | None, own: LoopFiles, cache: GitStateCache) -> int:
    """The sum over the files of a commit, out of which single files can be taken again."""
    if commit is None:
        return 0
    key = (root, commit, own)
    known = cache.contents.get(key)
    if known is None:
        known = 0
        for entry in run_git(root, "ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0"):
            described, _, path = entry.partition(b"\t")
            name = journal_path(path)
            if path and not own.covers(name):
                mode, _, full_hash = described.split(b" ", 2)
                known += _content_of(name, tree_value(mode, full_hash))
        cache.contents = {key: known}
    return known


def _content_digest(tree: int, seen: _DirtyTree) -> str:
    for path, value in seen.dirty.items():
        tree += _content_of(path, value) - _content_of(path, seen.committed[path])
    return f"{tree % (1 << 4 * HEX):0{HEX}x}"


def _content_of(path: str, value: str) -> int:
    """The part of one file; what is not there has none."""
    if value == DELETED:
        return 0
    data = f"{path}\0{value}".encode()
    return int.from_bytes(hashlib.blake2b(data, digest_size=HEX // 2).digest())


def _tree_digest(root: Path, commit: str | None, own: LoopFiles, cache: GitStateCache) -> bytes:
    if commit is None:
        return b""
    key = (root, commit, own)
    digest = cache.trees.get(key)
    if digest is None:
        listed = run_git(root, "ls-tree", "-r", "-z", "--full-tree", commit).split(b"\0")
        counted = [
            entry for entry in listed if not own.covers(journal_path(entry.partition(b"\t")[2]))
        ]
        digest = hashlib.blake2b(b"\0".join(counted), digest_size=16).digest()
        cache.trees = {key: digest}
    return digest


def _digest(tree: bytes, dirty: Mapping[str, str]) -> str:
    digest = hashlib.blake2b(tree, digest_size=HEX // 2)
    for path in sorted(dirty):
        digest.update(f"\0{path}\0{dirty[path]}".encode())
    return digest.hexdigest()


def _moved(paths: Iterable[str], start: str) -> Iterator[str]:
    return (path.removeprefix(start) for path in paths if path.startswith(start))
