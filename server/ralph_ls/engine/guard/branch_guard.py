"""The guard in the branch: what an agent committed and may not change is restored by a commit.

The work tree comes first (``engine.guarding``). Here the versions in HEAD are judged by the same
rules, against what HEAD and the work tree had when the iteration began. A restoration is committed
only where the agent is known to have committed that path, and the user has not: the branch is the
user's. Where that cannot be, the user is asked, and a run is not complete while the plan in HEAD
holds what no agent may do.

Slow, for git is asked: call it in threads. It must never write into the work tree.

The plan in HEAD at the end of a run: what it may not hold for the run to be complete.

The work tree is guarded after each iteration; what is committed is what others get. So HEAD is held
against the plan as the run began, and a change that no agent may make and that the work tree does
not have keeps the run from being complete, until the user has looked at it.

Slow, for git is asked: call it in threads. It must never change anything.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ralph_ls.core.loop.inputs import Notice, RevertedChange
from ralph_ls.core.plurals import some_of
from ralph_ls.engine.delivery.restoration_commits import (
    CannotCommit,
    HeadMoved,
    RestorationCommits,
    TreeEntry,
    entries_of,
    entry_in_tree,
    read_blob,
    real_path,
    same_lines,
    write_blob,
)
from ralph_ls.engine.git.history import CommitOwner, IterationCommits
from ralph_ls.engine.git.status import journal_path
from ralph_ls.engine.git.worktree_state import read_head
from ralph_ls.engine.plan.source import GuardedPlan, PlanOffence, WatchedIteration
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.store.files import PRIVATE_FILE, read_if_there, write_atomic

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
    before: bytes | None
    """In the work tree; None where that is not known."""
    seen: WatchedIteration
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
        commit = commits.last_of_user(_name(real))
        if commit is None:
            return None
        entry = entries_of(self._root, commit, [real])[real]
        if entry is None:
            return UserVersion(data=None)
        data = read_blob(self._root, entry)
        return UserVersion(data=data, is_executable=entry.mode == "100755")

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
            paths = {_shown(one.path) for one in ours}
            whole = tuple(replace(one, commit=made) if one.path in paths else one for one in whole)
            return self._outcome(commits, whole, found, made, "")
        return self._outcome(commits, _joined(reverted, found), found, None, why)

    def _commit(
        self, start: int, head: str, found: Sequence[_Finding], whole: Sequence[RevertedChange]
    ) -> str:
        paths = {_shown(one.path) for one in found}
        return self._commits.commit(
            start,
            head,
            {one.path: one.was for one in found},
            {one.path: one.wanted for one in found},
            [one for one in whole if one.path in paths],
        )

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
        touched = [path for path in files if commits.owners(_name(path))]
        plan_path = None if plan is None else real_path(self._root, plan.path)
        is_touched = plan_path is not None and bool(commits.owners(_name(plan_path)))
        paths = [*touched, *([plan_path] if plan_path is not None and is_touched else [])]
        if not paths or commits.head is None:
            return []
        now = entries_of(self._root, commits.head, paths)
        base = entries_of(self._root, commits.base, paths)
        if plan_path is not None and is_touched:
            # What the user has committed is where the agent's changes begin.
            since = commits.last_of_user(_name(plan_path)) or commits.base
            base |= entries_of(self._root, since, [plan_path])
        found: list[_Finding | None] = [
            self._judge_file(path, base[path], now[path])
            for path in touched
            if now[path] != base[path] and CommitOwner.USER not in commits.owners(_name(path))
        ]
        if plan is not None and plan_path is not None and is_touched:
            found.append(self._judge_plan(plan, plan_path, base[plan_path], now[plan_path]))
        return [
            replace(one, why_not=_why_not(commits.owners(_name(one.path))))
            for one in found
            if one is not None
        ]

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
        reverted = RevertedChange(path=_shown(path), what=what)
        return _Finding(path=path, was=now, wanted=base, reverted=(reverted,))

    def _judge_plan(
        self, plan: KnownPlan, path: str, base: TreeEntry | None, now: TreeEntry | None
    ) -> _Finding | None:
        if now == base:
            return None
        if now is None:
            deleted = RevertedChange(path=_shown(plan.path), what=Forbidden.DELETED)
            return _Finding(path=path, was=None, wanted=base, reverted=(deleted,))
        data = read_blob(self._root, now)
        committed = None if base is None else read_blob(self._root, base)
        before = committed if plan.before is None else _with_ends_of(data, plan.before)
        if before is None:
            return None
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
        if not kinds:
            return None
        restored = _encode(judged.text)
        if base is not None and restored in (before, committed):
            wanted = base
        else:
            wanted = TreeEntry(now.mode, write_blob(self._root, restored))
        reverted, notices = ((), ()) if plan.reporter is None else plan.reporter(judged, data)
        return _Finding(path=path, was=now, wanted=wanted, reverted=reverted, notices=notices)

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
        names = {_name(path): path for path in restored}
        plan = self._workspace.source.file
        if plan is not None and _shown(plan) in restored:
            names[_name(real_path(self._root, plan))] = real_path(self._root, plan)
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
    paths = [_shown(one.path) for one in left]
    reason = left[0].why_not or why
    names = " ".join(paths[:SHOWN_PATHS])
    message = (
        f"HEAD still contains a forbidden change in {some_of(paths, SHOWN_PATHS)}; only the work "
        f"tree was restored, because {reason}. Check it, then commit the restored version with: "
        f"git commit -m 'Restore guarded files' -- {names}, or keep the other one with: git "
        f"checkout HEAD -- {names}"
    )
    return [Notice(code=NOT_COMMITTED, message=message)]


def _key(offence: PlanOffence) -> tuple[str, str]:
    return offence.what.value, "" if offence.task is None else offence.task.id


def _with_ends_of(data: bytes, text: bytes) -> bytes:
    """A text of the work tree with the line ends that git keeps it with."""
    return text if b"\r\n" in data else text.replace(b"\r\n", b"\n")


def _name(path: str) -> str:
    return journal_path(os.fsencode(path))


def _shown(path: str) -> str:
    return os.fsencode(path).decode("utf-8", errors="backslashreplace")


def _decode(data: bytes) -> str:
    return data.decode("utf-8", errors="surrogateescape")


def _encode(text: str) -> bytes:
    return text.encode("utf-8", errors="surrogateescape")


SHOWN = 5


class CommittedPlan:
    """What is known of the plan in HEAD, from the beginning of a run on."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._root = workspace.root
        self._start: tuple[str | None, str] | None = None
        """HEAD and the plan as the run began; None: not known yet, or not as they were."""

    def begin(self, text: str) -> None:
        """An iteration begins with this plan; the first one of a run is what HEAD is judged by."""
        if self._start is not None or self._workspace.source.file is None or not text.strip():
            return
        file = self._workspace.files.plan_at_start
        data = read_if_there(file)
        if data is None:
            place = self._workspace.worktree
            head = read_head(place.git_dir, place.common_dir).commit
            self._start = (head, text)
            told = self._workspace.redactor.redact(f"{head or ''}\n{text}")
            write_atomic(file, told.encode("utf-8", errors="replace"), mode=PRIVATE_FILE)
        elif b"[redacted " not in data:
            first, _, rest = data.decode("utf-8", errors="replace").partition("\n")
            self._start = (first or None, rest)

    def offence(self, text: str, finished: str) -> str:
        """What the plan in HEAD holds that no agent may do and the work tree has not, in words.

        ``text`` is the plan in the work tree, ``finished`` where finished tasks are written. A plan
        that HEAD does not have, or has as it was when the run began, holds nothing.
        """
        path, place = self._workspace.source.file, self._workspace.worktree
        if path is None or self._start is None:
            return ""
        real = real_path(self._root, path)
        head = read_head(place.git_dir, place.common_dir).commit
        now = entries_of(self._root, head, [real])[real]
        base = entries_of(self._root, self._start[0], [real])[real]
        if now is None or now == base:
            return ""
        data = read_blob(self._root, now)
        if same_lines(data, text.encode("utf-8", errors="replace")):
            return ""
        source, start, tree = self._workspace.source, _plain(self._start[1]), _plain(text)
        found = source.held(start, _replaced(data), tree, finished)
        behind: Mapping[tuple[str, str], str] = {}
        if base is not None:
            # What was not committed when the run began merely lags behind the work tree.
            behind = source.held(start, _replaced(read_blob(self._root, base)), tree, finished)
        both = [words for key, words in found.items() if key not in behind]
        if not both:
            return ""
        return (
            f"{path} in HEAD contains a forbidden change: {some_of(both, SHOWN)}; the work tree "
            f"is right, so commit it and continue: git commit -m 'Restore the plan' -- {path}; "
            "ralph run --resume"
        )


def _replaced(data: bytes) -> str:
    return _plain(data.decode("utf-8", errors="replace"))


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")
