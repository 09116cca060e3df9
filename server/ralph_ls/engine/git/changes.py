"""Evidence from git: what happened to a work tree between two looks at it (docs/rules.md#evidence).

It looks and never changes anything. It must never judge: whether a change is progress is the core's
to say. Whose a commit is, the caller knows; here it is only asked for.

What kind of change an iteration made: the same files again, output, white space alone.

Facts for ``core.loop.evidence``, found with as little as possible: names first, then what is
remembered of the files, and only then the bytes, for which git is asked at most once. What cannot
be found out is no repetition. Whether a change is progress is the core's to say.
"""

from __future__ import annotations

import contextlib
import stat
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from ralph_ls.core.loop.evidence import churn
from ralph_ls.core.loop.evidence.progress import Changes
from ralph_ls.engine.git.history import (
    COMMITS_LIMIT,
    CommitPaths,
    IsUserCommit,
    commits_between,
    differing_paths,
    hash_algorithm,
    is_ancestor,
    no_user_commit,
)
from ralph_ls.engine.git.status import GITLINK, HEX, blob_value, disk_value
from ralph_ls.engine.git.worktree_state import (
    NESTED_DEPTH,
    LoopFiles,
    read_head,
    read_nested_repository,
    repository_at,
)
from ralph_ls.protocol.errors import RalphError, StateUnusable
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Baseline
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.files import read_regular


def changes_between(
    root: Path,
    before: Baseline,
    after: Baseline,
    *,
    own: LoopFiles,
    since: datetime | None = None,
    is_persons: IsUserCommit = no_user_commit,
    touched: Sequence[str] = (),
) -> Changes:
    """The changes of the work tree between two baselines; ``after`` is how it is now.

    Commits are those that ``after`` reaches and ``before`` does not, the newest 200, oldest first;
    also in nested repositories. Where HEAD went to another branch or history, commits from before
    ``since`` were there already and do not count. A file counts when its content differs: to commit
    what was dirty before is a commit and changes no file. One that differs by the user's commits
    alone does not count, unless it is among ``touched``: files that the agent reports as written.
    Subjects are not redacted.
    """
    differing = differing_paths(root, before.head, after.head)
    commits: list[CommitPaths] = []
    if after.head is not None and after.head != before.head:
        if since is not None and before.branch == after.branch:
            since = None if is_ancestor(root, before.head, after.head) else since
        commits = commits_between(
            root,
            before.head,
            after.head,
            counts=lambda path: not own.covers(path),
            since=since,
            is_persons=is_persons,
        )
    nested = _nested_commits(root, before, after, differing, own, is_persons=is_persons)
    changed = set(_changed(root, before, after, differing, own))
    changed -= _by_users(changed, commits, nested, before, after) - set(touched)
    return Changes(
        commits=tuple(made.seen for made in [*commits, *nested]),
        files=len(changed),
        paths=tuple(sorted(changed)),
        fingerprint=after.fingerprint,
        own_files=_own_files(before, after, differing, own),
    )


def _own_files(
    before: Baseline,
    after: Baseline,
    differing: Mapping[str, tuple[str, str]],
    own: LoopFiles,
) -> int:
    """How many of the loop's own files a diff of the two baselines shows."""
    saved = {
        path
        for path in before.own.keys() | after.own.keys()
        if before.own.get(path) != after.own.get(path)
    }
    return len(saved | {path for path in differing if own.covers(path)})


def _by_users(
    changed: set[str],
    commits: Sequence[CommitPaths],
    nested: Sequence[CommitPaths],
    before: Baseline,
    after: Baseline,
) -> set[str]:
    """The paths that differ by the user's commits alone, as far as that can be determined.

    They were clean before and are clean now. What the agent wrote in between, and the user
    committed, looks the same as what the user wrote.
    """
    if len(commits) >= COMMITS_LIMIT:
        return set()
    persons = {path for made in commits if made.seen.by_person for path in made.paths}
    agents = {path for made in commits if not made.seen.by_person for path in made.paths}
    inside: dict[str, bool] = {}
    for made in nested:
        repository = made.seen.repository
        inside[repository] = inside.get(repository, True) and made.seen.by_person
    for repository, is_persons in inside.items():
        was, now = before.dirty.get(repository, ""), after.dirty.get(repository, "")
        heads = (before.nested_heads.get(repository, ""), after.nested_heads.get(repository, ""))
        is_clean = all(
            value in {"", f"{GITLINK} {head[:HEX]}"}
            for value, head in zip((was, now), heads, strict=True)
        )
        (persons if is_persons and is_clean else agents).add(repository)
    dirty = (before.dirty.keys() | after.dirty.keys()) - inside.keys()
    return {path for path in changed & persons if path not in agents and path not in dirty}


def _changed(
    root: Path,
    before: Baseline,
    after: Baseline,
    differing: Mapping[str, tuple[str, str]],
    own: LoopFiles,
) -> Iterator[str]:
    """The paths whose content is not what it was, whether that is committed or not."""
    for path in differing.keys() | before.dirty.keys() | after.dirty.keys():
        if own.covers(path):
            continue
        was, value, committed = before.dirty.get(path), after.dirty.get(path), differing.get(path)
        match was, value, committed:
            case None, None, _:
                differs = True
            case None, _, None:
                differs = True
            case None, _, (committed_before, _):
                differs = value != committed_before
            case _, None, _:
                # Clean now: committed as it was, restored, or changed and committed.
                now = None if committed is None else committed[1]
                on_disk = _value_on_disk(root / path, str(was), after, own.inside(path))
                differs = was not in (now, on_disk)
            case _:
                differs = was != value
        if differs:
            yield path


def _value_on_disk(path: Path, was: str, after: Baseline, own: LoopFiles) -> str:
    if was.startswith(GITLINK):
        return read_nested_repository(path, own, depth=NESTED_DEPTH)[0]
    return disk_value(path, algorithm=hash_algorithm(after.head))


def _nested_commits(
    root: Path,
    before: Baseline,
    after: Baseline,
    differing: Mapping[str, tuple[str, str]],
    own: LoopFiles,
    *,
    is_persons: IsUserCommit,
) -> list[CommitPaths]:
    """The commits that appeared in repositories inside this one."""
    links = {
        path
        for path, values in differing.items()
        if any(value.startswith(GITLINK) for value in values)
    }
    commits: list[CommitPaths] = []
    for path in sorted(links | before.nested_heads.keys() | after.nested_heads.keys()):
        place = repository_at(root / path)
        if place is None or own.covers(path):
            continue
        # A repository that was broken meanwhile changes the tree around it, no more.
        with contextlib.suppress(RalphError):
            old = before.nested_heads.get(path) or _linked(root, before.head, path)
            new = after.nested_heads.get(path)
            if new is None:
                new = read_head(place.git_dir, place.common_dir).commit
            commits += _commits_inside(place.root, path, old, new, own=own, is_persons=is_persons)
    return commits


def _commits_inside(
    folder: Path,
    path: str,
    old: str | None,
    new: str | None,
    *,
    own: LoopFiles,
    is_persons: IsUserCommit,
) -> Sequence[CommitPaths]:
    """The commits that the repository at a path of the tree got."""
    if not new or new == old:
        return ()
    inside = own.inside(path)
    return commits_between(
        folder,
        old,
        new,
        counts=lambda name: not inside.covers(name),
        is_persons=is_persons,
        repository=path,
    )


def _linked(root: Path, commit: str | None, path: str) -> str | None:
    """The commit of the submodule at ``path`` that the commit names."""
    if commit is None:
        return None
    literally = f":(literal){path}"
    printed = run_git(root, "ls-tree", "-z", "--full-tree", commit, "--", literally)
    entry = printed.partition(b"\t")[0]
    mode, _, rest = entry.partition(b" ")
    return rest.rpartition(b" ")[2].decode() if mode == GITLINK.encode() else None


FILES_LIMIT = 50
"""Changed files whose content is compared; more are no repetition."""

FILE_BYTES = 4 << 20
"""Size of a file that is compared."""

REMEMBERED = 5
"""Iterations whose changed files are remembered."""


@dataclass(slots=True)
class ChangeMemory:
    """What is remembered of the files that earlier iterations changed."""

    changed: deque[tuple[int, frozenset[str]]] = field(
        default_factory=lambda: deque(maxlen=REMEMBERED)
    )
    """The paths that each iteration changed, oldest first."""
    sizes: dict[str, int] = field(default_factory=dict)
    """Bytes of the files that were changed last."""

    def before(self, iteration: int, run: RunState) -> list[frozenset[str]]:
        """What the iterations before changed, the last one at the end."""
        known = [paths for number, paths in self.changed if number != iteration]
        told = run.evidence
        if not known and told is not None and told.files == len(told.paths):
            # Another engine has seen it.
            known = [frozenset(told.paths)] if run.evidence_start != iteration else []
        return known

    def remember(self, iteration: int, root: Path, paths: Collection[str]) -> None:
        """Remember what this iteration changed; one that changed nothing leaves what was."""
        if not paths:
            return
        if self.changed and self.changed[-1][0] == iteration:
            self.changed.pop()
        self.changed.append((iteration, frozenset(paths)))
        found = {path: _size(root / path) for path in list(paths)[:FILES_LIMIT]}
        self.sizes = {path: size for path, size in found.items() if size is not None}


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeContext:
    """What is known of the iteration beside its changes."""

    iteration: int
    before: Baseline
    edited: Collection[str]
    """Files that the agent says it wrote."""
    finished: bool
    """A task became done, so nothing else is asked for."""
    is_committed: bool
    """The agent committed something, or the loop is going to."""


def with_kinds(
    root: Path, found: Changes, run: RunState, memory: ChangeMemory, known: ChangeContext
) -> Changes:
    """The same changes, and of what kind they are; remembers them for the next iteration."""
    earlier, sizes = memory.before(known.iteration, run), dict(memory.sizes)
    memory.remember(known.iteration, root, found.paths)
    if known.finished or not found.paths:
        return found
    is_again = bool(earlier) and churn.are_repeated(
        found.paths, earlier, is_committed=known.is_committed
    )
    may_be_cosmetic = known.is_committed and not known.before.dirty.keys() & set(found.paths)
    is_needed = may_be_cosmetic or not all(map(churn.looks_like_output, found.paths))
    is_read = is_needed and (is_again or may_be_cosmetic) and len(found.paths) <= FILES_LIMIT
    files = (
        _read_files(root, found.paths, sizes, known)
        if is_read
        else [churn.ChangedFile(path=path) for path in found.paths]
    )
    return replace(
        found,
        again=churn.kind_of_repetition(files) if is_again else None,
        cosmetic=True if may_be_cosmetic and churn.is_cosmetic(files) else None,
    )


def _read_files(
    root: Path, paths: Sequence[str], sizes: Mapping[str, int], known: ChangeContext
) -> list[churn.ChangedFile]:
    """Both versions of the changed files, as far as they can be had."""
    before, told = known.before, set(known.edited)
    now = {path: _read(root / path) for path in paths}
    asked = [path for path, data in now.items() if data is not None and path not in before.dirty]
    was = _committed(root, before.head, asked)
    files: list[churn.ChangedFile] = []
    for path, data in now.items():
        size = sizes.get(path)
        has_grown = size is not None and data is not None and len(data) > size
        if path in before.dirty and size is not None and data is not None:
            # What was there before is in no commit; that it still exists can be determined.
            value = blob_value(data[:size], algorithm=hash_algorithm(before.head))
            if before.dirty[path].endswith(value):
                was[path] = data[:size]
        file = churn.ChangedFile(
            path=path, was=was.get(path), now=data, is_edited=has_grown or path in told
        )
        files.append(file)
    return files


def _committed(root: Path, head: str | None, paths: Collection[str]) -> dict[str, bytes]:
    """What the files hold in a commit; those that are not in it are missing."""
    names = [path for path in paths if "\n" not in path]
    if head is None or not names:
        return {}
    asked = "".join(f"{head}:{path}\n" for path in names).encode("utf-8", "surrogateescape")
    try:
        printed = run_git(root, "cat-file", "--batch", stdin=asked)
    except RalphError:
        return {}
    found: dict[str, bytes] = {}
    position = 0
    for path in names:
        end = printed.find(b"\n", position)
        described = printed[position:end].rsplit(b" ", 2)
        position = end + 1
        if end < 0 or len(described) != 3 or not described[2].isdigit():
            continue
        size = int(described[2])
        if described[1] == b"blob":
            found[path] = printed[position : position + size]
        position += size + 1
    return found


def _read(path: Path) -> bytes | None:
    try:
        return None if path.is_symlink() else read_regular(path, FILE_BYTES)
    except StateUnusable:
        return None


def _size(path: Path) -> int | None:
    """Bytes of a regular file; None where there is none."""
    try:
        status = path.lstat()
    except OSError:
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None
