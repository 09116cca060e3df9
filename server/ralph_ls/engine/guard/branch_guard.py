"""The guard in the branch: what an agent committed and may not change is restored by a commit.

The work tree comes first (``engine.guarding``). Here the versions in HEAD are judged by the same
rules, against what HEAD and the work tree had when the iteration began. A restoration is committed
only where the agent is known to have committed that path, and the user has not: the branch is the
user's. Where that cannot be, the user is asked, and a run is not complete while the plan in HEAD
holds what no agent may do.

Slow, for git is asked: call it in threads. It must never write into the work tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ralph_ls.core.loop.inputs import Notice, RevertedChange
from ralph_ls.core.plurals import some_of
from ralph_ls.engine.delivery.restoration_commits import (
    CannotCommit,
    HeadMoved,
    RestorationCommits,
    TreeEntries,
    TreeEntry,
    entries_of,
    entry_in_tree,
    read_file_in,
    real_path,
    same_lines,
    write_blob,
)
from ralph_ls.engine.git.history import CommitOwner, IterationCommits
from ralph_ls.engine.plan.source import GuardedPlan, PlanOffence, WatchedIteration
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.store.files import printable_path

SHOWN_PATHS = 5
TRIES = 3
"""How often HEAD is looked at again because somebody else moved it."""

NOT_COMMITTED = "restoration-not-committed"

UNKNOWN = "ralph cannot know whether you or the agent committed it"
BY_USER = "you also committed the file in the meantime"
MOVED = "HEAD keeps moving"


GuardReport = tuple[tuple[RevertedChange, ...], tuple[Notice, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPlan:
    """The plan as an iteration began, and how it is judged."""

    path: str
    """Of a plan in several files: its folder."""
    before: bytes | None
    """In the work tree; None where that is not known."""
    seen: WatchedIteration
    files: tuple[str, ...] = ()
    """Of a plan in several files: those of before and after the iteration."""
    moved: Mapping[str, str] = field(default_factory=dict)
    """Where the agent moved files of such a plan, by their paths."""
    reporter: Callable[[GuardedPlan, bytes], GuardReport] | None = None
    """What is reported of offences in these bytes; None where the same was reported already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UserVersion:
    """A path as the user's last commit since the iteration began has it."""

    data: bytes | None
    """None: it was removed."""
    is_executable: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Finding:
    """One path whose version in HEAD holds what no agent may change."""

    path: str
    was: TreeEntry | None
    """In HEAD."""
    wanted: TreeEntry | None
    reverted: tuple[RevertedChange, ...] = ()
    notices: tuple[Notice, ...] = ()
    why_not: str = ""
    """Why it is not for the engine to commit; empty where it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchRestoration:
    """What became of one iteration's commits."""

    reverted: tuple[RevertedChange, ...] = ()
    """What was restored, in the work tree or here."""
    notices: tuple[Notice, ...] = ()
    undone: frozenset[str] = frozenset()
    """The commits of the agent of which nothing is left."""


class BranchGuard:
    """Judges and restores what the agents of one run commit."""

    def __init__(self, workspace: Workspace, commits: RestorationCommits) -> None:
        self._workspace = workspace
        self._root = workspace.root
        self._commits = commits
        self._made: frozenset[str] = frozenset()
        """Those that this engine has made."""

    def version_of_user(self, path: str, commits: IterationCommits) -> UserVersion | None:
        """A guarded path as the user has committed it meanwhile; None where they have not."""
        real = real_path(self._root, path)
        commit = commits.last_of_user(printable_path(real))
        if commit is None:
            return None
        entry = entries_of(self._root, commit, [real])[real]
        data = read_file_in(self._root, entry)
        is_executable = entry is not None and entry.mode == "100755"
        return UserVersion(data=data, is_executable=is_executable)

    def recall(self, start: int, commits: IterationCommits) -> tuple[RevertedChange, ...]:
        """What an engine that died had restored in the branch, and had no time to report."""
        left = commits.ours - self._made
        if left and commits.head in left:
            self._commits.follow(commits.head)
        return self._commits.recall(start, left)

    def restore(
        self,
        start: int,
        look: Callable[[], IterationCommits],
        files: Iterable[str],
        plan: KnownPlan | None,
        reverted: tuple[RevertedChange, ...],
    ) -> BranchRestoration:
        """Commit what has to be restored of ``files`` and the plan; ``look`` looks at the commits.

        ``reverted`` is what was restored in the work tree. Raises ``RalphError`` where git cannot
        be asked.
        """
        names = [*files]
        why, found, commits = "", list[_Finding](), IterationCommits()
        for _ in range(TRIES):
            commits = look()
            found = [*self._judge(commits, names, plan)]
            ours = [one for one in found if not one.why_not]
            if not ours or commits.head is None:
                break
            whole = _joined(reverted, found)
            try:
                made = self._commit(start, commits.head, ours, whole)
            except HeadMoved:
                why = MOVED
                continue
            except CannotCommit as error:
                why = str(error)
                break
            self._made |= {made}
            return self._outcome(commits, self._committed(whole, ours, made), found, made, "")
        return self._outcome(commits, _joined(reverted, found), found, None, why)

    def _committed(
        self, whole: tuple[RevertedChange, ...], ours: Sequence[_Finding], made: str
    ) -> tuple[RevertedChange, ...]:
        """The restored changes, those with the commit that are in it."""
        paths = self._reported_paths(ours)
        return tuple(replace(one, commit=made) if one.path in paths else one for one in whole)

    def _commit(
        self, start: int, head: str, found: Sequence[_Finding], whole: Sequence[RevertedChange]
    ) -> str:
        paths = self._reported_paths(found)
        return self._commits.commit(
            start,
            head,
            {one.path: one.was for one in found},
            {one.path: one.wanted for one in found},
            [one for one in whole if one.path in paths],
        )

    def _reported_paths(self, found: Sequence[_Finding]) -> set[str]:
        """The paths under which a commit of these is reported; a folder may be as a whole."""
        folders = self._workspace.source.own_folders if self._is_folder else ()
        return {*(printable_path(one.path) for one in found), *map(printable_path, folders)}

    def _outcome(
        self,
        commits: IterationCommits,
        reverted: tuple[RevertedChange, ...],
        found: Sequence[_Finding],
        made: str | None,
        why: str,
    ) -> BranchRestoration:
        notices = [*(one for each in found for one in each.notices), *_asked(found, why)]
        paths = {one.path for one in reverted}
        head = commits.head if made is None else made
        undone = self._without_effect(commits, head, paths, found)
        return BranchRestoration(reverted=reverted, notices=tuple(notices), undone=undone)

    def _judge(
        self, commits: IterationCommits, files: Sequence[str], plan: KnownPlan | None
    ) -> list[_Finding]:
        touched = [path for path in files if commits.owners(printable_path(path))]
        of_plan = [path for path in self._files_of(plan) if commits.owners(printable_path(path))]
        moves = () if plan is None else plan.moved.values()
        paths = [*touched, *of_plan, *moves]
        if not (touched or of_plan) or commits.head is None:
            return []
        now = entries_of(self._root, commits.head, paths)
        base = self._bases(commits, paths, of_plan)
        found: list[_Finding | None] = [
            self._judge_file(path, base[path], now[path])
            for path in touched
            if now[path] != base[path]
            and CommitOwner.USER not in commits.owners(printable_path(path))
        ]
        if plan is not None:
            found += self._judge_plans(plan, of_plan, base, now)
        return [
            replace(one, why_not=_why_not(commits.owners(printable_path(one.path))))
            for one in found
            if one is not None
        ]

    def _bases(
        self, commits: IterationCommits, paths: Sequence[str], of_plan: Sequence[str]
    ) -> TreeEntries:
        """Where the agent's changes begin: for the plan, at what the user has committed."""
        base = entries_of(self._root, commits.base, paths)
        for path in of_plan:
            if since := commits.last_of_user(printable_path(path)):
                base |= entries_of(self._root, since, [path])
        return base

    def _judge_plans(
        self, plan: KnownPlan, paths: Sequence[str], base: TreeEntries, now: TreeEntries
    ) -> list[_Finding | None]:
        if not self._is_folder:
            return [self._judge_plan(plan, path, base[path], now[path]) for path in paths]
        changed = [path for path in paths if now[path] != base[path]]
        return [*self._judge_folder(plan, changed, base, now)] if changed else []

    @property
    def _is_folder(self) -> bool:
        return self._workspace.source.file is None

    def _files_of(self, plan: KnownPlan | None) -> list[str]:
        """The files of the plan, as git has them."""
        if plan is None:
            return []
        if not self._is_folder:
            return [real_path(self._root, plan.path)]
        return [real_path(self._root, path) for path in plan.files]

    def _judge_file(
        self, path: str, base: TreeEntry | None, now: TreeEntry | None
    ) -> _Finding | None:
        here = entry_in_tree(self._root, path)
        hashes = [None if one is None else one.hash for one in (here, now)]
        if hashes[0] == hashes[1] and (base is None or here == now):
            # What was restored in the work tree is what HEAD has.
            return None
        what = Forbidden.CHANGED
        if base is None or now is None:
            what = Forbidden.CREATED if base is None else Forbidden.DELETED
        reverted = RevertedChange(path=printable_path(path), what=what)
        return _Finding(path=path, was=now, wanted=base, reverted=(reverted,))

    def _judge_plan(
        self, plan: KnownPlan, path: str, base: TreeEntry | None, now: TreeEntry | None
    ) -> _Finding | None:
        if now == base:
            return None
        data, committed = read_file_in(self._root, now), read_file_in(self._root, base)
        if now is None or data is None:
            return self._plan_gone(plan, path, base, now)
        before = committed if plan.before is None else _with_ends_of(data, plan.before)
        if before is None:
            return None
        if became_binary(before, data):
            return self._plan_gone(plan, path, base, now)
        judged = self._forbidden(plan, before, committed, data)
        if judged is None:
            return None
        restored = _encode(judged.text)
        if base is not None and restored in (before, committed):
            wanted = base
        else:
            wanted = TreeEntry(now.mode, write_blob(self._root, restored))
        reverted, notices = ((), ()) if plan.reporter is None else plan.reporter(judged, data)
        return _Finding(path=path, was=now, wanted=wanted, reverted=reverted, notices=notices)

    def _plan_gone(
        self, plan: KnownPlan, path: str, base: TreeEntry | None, now: TreeEntry | None
    ) -> _Finding | None:
        """The plan is not in HEAD any more, or something that cannot be read as one is."""
        if base is None:
            return None
        deleted = RevertedChange(path=printable_path(plan.path), what=Forbidden.DELETED)
        return _Finding(path=path, was=now, wanted=base, reverted=(deleted,))

    def _judge_folder(
        self, plan: KnownPlan, paths: Sequence[str], base: TreeEntries, now: TreeEntries
    ) -> list[_Finding]:
        """As ``_judge_plan``, for those files of a plan in several that commits have changed."""
        moved = {path: other for path, other in plan.moved.items() if path in paths}
        there = {**now, **{path: now[other] for path, other in moved.items()}}
        contents = {path: self._contents(path, base, there) for path in paths}
        before, committed, data = map(_encode, self._sides(plan, contents))
        judged = self._forbidden(plan, before, committed, data)
        if judged is None and not moved:
            return []
        restored = self._workspace.source.files_of(_decode(data) if judged is None else judged.text)
        found = [
            _Finding(path=other, was=now[other], wanted=base[other])
            for other in moved.values()
            if now[other] != base[other]
        ]
        wanted = {path: _encoded(restored.get(path)) for path in contents}
        found += [
            _Finding(
                path=path, was=now[path], wanted=self._wanted(path, wanted[path], was, base, now)
            )
            for path, (was, here) in contents.items()
            if wanted[path] != here or path in moved
        ]
        if found and judged is not None and plan.reporter is not None:
            reverted, notices = plan.reporter(judged, data)
            found[0] = replace(found[0], reverted=reverted, notices=notices)
        return found

    def _sides(
        self, plan: KnownPlan, contents: Mapping[str, tuple[bytes | None, bytes | None]]
    ) -> tuple[str, str, str]:
        """The joined plan as the iteration began, and as two trees have the files of contents."""
        source = self._workspace.source
        ends = {path: data for path, (_, data) in contents.items() if data is not None}
        earlier = _with_ends(source.files_of(_decode(plan.before or b"")), ends)
        was, here = (source.text_of(_overlaid(earlier, contents, side)) for side in (0, 1))
        return source.text_of(earlier), was, here

    def _contents(
        self, path: str, base: TreeEntries, now: TreeEntries
    ) -> tuple[bytes | None, bytes | None]:
        """A file in two trees; None where it is not there."""
        was, here = (read_file_in(self._root, entry) for entry in (base[path], now[path]))
        return was, here

    def _wanted(
        self,
        path: str,
        data: bytes | None,
        was: bytes | None,
        base: TreeEntries,
        now: TreeEntries,
    ) -> TreeEntry | None:
        """The entry of a file with this content: the one before the iteration, where it is."""
        if data == was:
            return base[path]
        if data is None:
            return None
        entry = now[path]
        mode = entry.mode if entry is not None and entry.is_file else "100644"
        return TreeEntry(mode, write_blob(self._root, data))

    def _forbidden(
        self, plan: KnownPlan, before: bytes, committed: bytes | None, data: bytes
    ) -> GuardedPlan | None:
        """What of a committed plan no agent may do; None where there is nothing."""
        judged = self._judged(plan, before, data)
        kinds = frozenset(map(_key, judged.offences))
        if committed is not None and not same_lines(before, committed):
            # What was not committed when the iteration began is no change of the agent's.
            behind = frozenset(map(_key, self._judged(plan, before, committed).offences))
            if kinds & behind:
                instead = self._judged(plan, committed, data)
                kinds -= behind
                if kinds <= frozenset(map(_key, instead.offences)):
                    judged = instead
        return judged if kinds else None

    def _judged(self, plan: KnownPlan, before: bytes, after: bytes) -> GuardedPlan:
        return self._workspace.source.guarded(_decode(before), _decode(after), plan.seen)

    def _without_effect(
        self,
        commits: IterationCommits,
        head: str | None,
        restored: set[str],
        found: Sequence[_Finding],
    ) -> frozenset[str]:
        """The agent's commits that touch nothing but paths of which nothing is left."""
        names = {printable_path(path): path for path in restored}
        plan = self._workspace.source.file
        if plan is not None and printable_path(plan) in restored:
            names[printable_path(real_path(self._root, plan))] = real_path(self._root, plan)
        if not names:
            return frozenset()
        paths = [*names.values()]
        now = entries_of(self._root, head, paths)
        base = entries_of(self._root, commits.base, paths)
        asked = {one.path for one in found}
        same = {
            name
            for name, path in names.items()
            if now[path] == base[path]
            or (path in asked and entry_in_tree(self._root, path) == base[path])
        }
        return frozenset(
            made.seen.hash
            for owner, made in commits.made
            if owner is not CommitOwner.USER and made.paths and made.paths <= same
        )


def _why_not(owners: frozenset[CommitOwner]) -> str:
    if CommitOwner.USER in owners:
        return BY_USER
    return UNKNOWN if CommitOwner.UNKNOWN in owners else ""


def _joined(
    reverted: tuple[RevertedChange, ...], found: Sequence[_Finding]
) -> tuple[RevertedChange, ...]:
    """What was restored in the work tree, and beside it what only HEAD had."""
    known = {one.path for one in reverted}
    more = (one for each in found for one in each.reverted if one.path not in known)
    return (*reverted, *more)


def _asked(found: Sequence[_Finding], why: str) -> list[Notice]:
    """That the branch still has the agent's version, and what the user can do."""
    left = [one for one in found if one.why_not or why]
    if not left:
        return []
    paths = [printable_path(one.path) for one in left]
    reason = left[0].why_not or why
    names = " ".join(paths[:SHOWN_PATHS])
    message = (
        f"HEAD still contains a forbidden change in {some_of(paths, SHOWN_PATHS)}; only the work "
        f"tree was restored, because {reason}. Check it, then commit the restored version with: "
        f"git commit -m 'Restore guarded files' -- {names}, or keep the other one with: git "
        f"checkout HEAD -- {names}"
    )
    return [Notice(code=NOT_COMMITTED, message=message)]


def became_binary(before: bytes, after: bytes) -> bool:
    """Whether a text was replaced by data that no start would accept as a plan."""
    return b"\0" in after and b"\0" not in before


def _key(offence: PlanOffence) -> tuple[str, str]:
    return offence.what.value, "" if offence.task is None else offence.task.id


def _with_ends_of(data: bytes, text: bytes) -> bytes:
    """A text of the work tree with the line ends that git keeps it with."""
    return text if b"\r\n" in data else text.replace(b"\r\n", b"\n")


def _decode(data: bytes) -> str:
    return data.decode("utf-8", errors="surrogateescape")


def _encode(text: str) -> bytes:
    return text.encode("utf-8", errors="surrogateescape")


def _encoded(text: str | None) -> bytes | None:
    return None if text is None else _encode(text)


def _with_ends(files: Mapping[str, str], contents: Mapping[str, bytes]) -> dict[str, str]:
    """Each text with the line ends that git keeps its file with."""
    return {
        path: _decode(_with_ends_of(contents[path], _encode(text))) if path in contents else text
        for path, text in files.items()
    }


def _overlaid(
    files: Mapping[str, str],
    contents: Mapping[str, tuple[bytes | None, bytes | None]],
    side: int,
) -> dict[str, str]:
    """The files with one side's contents instead of what they have."""
    there = {path: both[side] for path, both in contents.items()}
    kept = {path: text for path, text in files.items() if path not in there}
    return kept | {path: _decode(data) for path, data in there.items() if data is not None}
