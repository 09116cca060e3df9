"""Rebase of a lane: its commits, one by one, onto the end of the branch, without a work tree.

Each commit is applied with ``git merge-tree`` and keeps its author, date and message. The plan is
merged task by task and the progress log line by line, so lanes that tick their tasks and note what
they did never conflict. Nothing is written but objects; the caller moves the branches.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ralph_ls.protocol.errors import RalphError, UsageError
from ralph_ls.store.external.git_command import run_git

REPAIR = "Ralph-Repair"
"""Trailer of the commit that a repair begins with; its value is the end of the lane before."""

MergeText = Callable[[str, str, str], str]
"""Merges a text that two sides changed: base, the branch's, the lane's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Applied:
    """A change on top of another commit, as a tree."""

    tree: str
    conflicts: tuple[str, ...] = ()
    """Files that have conflict markers in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebased:
    """The commits of a lane after the end of the branch."""

    head: str
    commits: int
    conflicts: tuple[str, ...] = ()
    """Then ``head`` is the last commit before the one that conflicts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebase:
    """Rebases commits in one repository."""

    root: Path
    merges: Mapping[str, MergeText] = field(default_factory=dict)
    """Files that are merged by their content."""

    def rebase(self, onto: str, tip: str) -> Rebased:
        """The commits of ``tip`` that ``onto`` does not have, after ``onto``.

        Merge commits and a repair become one commit together with what is around them. Raises a
        ``RalphError`` where git cannot do it.
        """
        base = self.merge_base(onto, tip)
        if base == tip:
            return Rebased(head=onto, commits=0)
        commits = self._commits(onto, tip)
        repaired = self.repaired_tip(onto, tip)
        if repaired is not None or self._commits(onto, tip, "--merges"):
            return self._squash(base, onto, tip, message_of=repaired or tip)
        if base == onto:
            return Rebased(head=tip, commits=len(commits))
        head = onto
        for number, commit in enumerate(commits):
            applied = self.apply(f"{commit}^", commit, head)
            if applied.conflicts:
                return Rebased(head=head, commits=number, conflicts=applied.conflicts)
            if applied.tree == self._tree(head):
                continue  # The branch has all of it already.
            head = self.commit(applied.tree, head, like=commit)
        return Rebased(head=head, commits=len(commits))

    def _squash(self, base: str, onto: str, tip: str, *, message_of: str) -> Rebased:
        applied = self.apply(base, tip, onto)
        if applied.conflicts:
            return Rebased(head=onto, commits=0, conflicts=applied.conflicts)
        if applied.tree == self._tree(onto):
            return Rebased(head=onto, commits=0)
        return Rebased(head=self.commit(applied.tree, onto, like=message_of), commits=1)

    def apply(self, base: str, tip: str, onto: str) -> Applied:
        """What changed from ``base`` to ``tip``, on top of ``onto``."""
        # Its parent makes ``base`` the merge base, also for git older than --merge-base.
        ours = self._git("commit-tree", self._tree(onto), "-p", base, "-m", "branch")
        theirs = self._git("commit-tree", self._tree(tip), "-p", base, "-m", "lane")
        printed = run_git(
            self.root, "merge-tree", "--write-tree", "-z", "--no-messages", ours, theirs,
            accept=(0, 1),
        )  # fmt: skip
        tree, *entries = printed.decode("utf-8", "surrogateescape").split("\0")
        conflicts = {entry.split("\t", 1)[1] for entry in entries if "\t" in entry}
        contents: dict[str, bytes] = {}
        for path, merge in self.merges.items():
            texts = [self.text_at(commit, path) for commit in (base, onto, tip)]
            was, now, changed = texts
            if changed is None or changed == was:
                merged = now
            elif now is None or now == was:
                merged = changed
            else:
                merged = merge(was or "", now, changed)
            conflicts.discard(path)
            if merged is not None:
                contents[path] = merged.encode("utf-8", "surrogateescape")
        return Applied(tree=self.with_files(tree, contents), conflicts=tuple(sorted(conflicts)))

    def repair_commit(self, onto: str, tip: str, plan: Sequence[str]) -> tuple[str, Applied]:
        """A commit on ``onto`` with all of the lane's work, with conflict markers where it has to.

        The files of ``plan`` are those of ``onto``, in which the task is open.
        """
        applied = self.apply(self.merge_base(onto, tip), tip, onto)
        files = {path: self.text_at(onto, path) for path in plan}
        contents = {
            path: text.encode("utf-8", "surrogateescape")
            for path, text in files.items()
            if text is not None
        }
        tree = self.with_files(applied.tree, contents)
        original = self.repaired_tip(onto, tip) or tip
        return self.commit(tree, onto, like=original, trailer=f"{REPAIR}: {original}"), applied

    def repaired_tip(self, onto: str, tip: str) -> str | None:
        """The end of the lane before its repair; None where it has had none."""
        form = f"--format=%(trailers:key={REPAIR},valueonly,separator=%x2C)"
        for line in run_git(self.root, "log", form, f"{onto}..{tip}").decode().splitlines():
            if line.strip():
                return line.split(",")[0].strip()
        return None

    def has_markers(self, onto: str, tip: str, paths: Sequence[str]) -> tuple[str, ...]:
        """Those of the files that have conflict markers."""
        if not paths:
            return ()
        printed = run_git(
            self.root, "diff", "--check", onto, tip, "--", *paths, accept=(0, 1, 2, 3)
        )
        found = printed.decode("utf-8", "surrogateescape").splitlines()
        marked = [line.split(":", 1)[0] for line in found if "leftover conflict marker" in line]
        return tuple(dict.fromkeys(marked))

    def changes(self, one: str, other: str, paths: Sequence[str]) -> bool:
        """Whether any of the files differs between two commits."""
        if not paths:
            return False
        return bool(run_git(self.root, "diff", "--name-only", "-z", one, other, "--", *paths))

    def text_at(self, commit: str, path: str) -> str | None:
        """A file's text at a commit; None where there is none."""
        found = run_git(self.root, "ls-tree", "-z", commit, "--", path).decode("utf-8", "replace")
        if not found.startswith("100"):
            return None
        blob = found.split()[2]
        return run_git(self.root, "cat-file", "blob", blob).decode("utf-8", "surrogateescape")

    def with_files(self, tree: str, contents: Mapping[str, bytes]) -> str:
        """The tree with these files in it."""
        if not contents:
            return tree
        with tempfile.TemporaryDirectory(prefix="ralph-index-") as folder:
            settings = {"GIT_INDEX_FILE": f"{folder}/index"}
            run_git(self.root, "read-tree", tree, settings=settings)
            lines = bytearray()
            for path, data in contents.items():
                stored = run_git(self.root, "hash-object", "-w", "--stdin", stdin=data)
                name = path.encode("utf-8", "surrogateescape")
                lines += b"%s %s\t%s\0" % (self._mode(tree, path), stored.strip(), name)
            run_git(
                self.root, "update-index", "-z", "--index-info", stdin=bytes(lines),
                settings=settings,
            )  # fmt: skip
            return run_git(self.root, "write-tree", settings=settings).decode().strip()

    def commit(self, tree: str, parent: str, *, like: str, trailer: str = "") -> str:
        """A commit with the author, date and message of another one."""
        form = "--format=%an%x00%ae%x00%ad%x00%B"
        printed = run_git(self.root, "log", "-1", "--date=raw", form, like)
        name, mail, date, message = printed.decode("utf-8", "surrogateescape").split("\0", 3)
        text = message.rstrip("\n")
        if trailer:
            text += f"\n\n{trailer}"
        settings = {
            "GIT_AUTHOR_NAME": name,
            "GIT_AUTHOR_EMAIL": mail,
            "GIT_AUTHOR_DATE": date,
        }
        data = f"{text}\n".encode("utf-8", "surrogateescape")
        return (
            run_git(
                self.root, "commit-tree", tree, "-p", parent, "-F", "-", stdin=data,
                settings=settings,
            )
            .decode()
            .strip()
        )  # fmt: skip

    def count(self, onto: str, tip: str) -> int:
        """How many commits ``tip`` has that ``onto`` does not have."""
        return len(self._commits(onto, tip))

    def merge_base(self, one: str, other: str) -> str:
        """The best common ancestor; raises ``RalphError`` where there is none."""
        found = run_git(self.root, "merge-base", one, other, accept=(0, 1)).decode().strip()
        if not found:
            raise RalphError(f"{one[:8]} and {other[:8]} have no commit in common")
        return found

    def _commits(self, onto: str, tip: str, *options: str) -> list[str]:
        printed = run_git(
            self.root, "rev-list", "--reverse", "--topo-order", *options, f"{onto}..{tip}"
        )
        return printed.decode().split()

    def _tree(self, commit: str) -> str:
        return self._git("rev-parse", "--verify", f"{commit}^{{tree}}")

    def _mode(self, tree: str, path: str) -> bytes:
        found = run_git(self.root, "ls-tree", "-z", tree, "--", path)
        return found.split(b" ", 1)[0] or b"100644"

    def _git(self, *arguments: str) -> str:
        return run_git(self.root, *arguments).decode().strip()


def require_merge_tree(root: Path) -> None:
    """Raise ``UsageError`` for a git that cannot merge without a work tree."""
    printed = run_git(root, "version").decode()
    numbers = [part for part in printed.split()[2].split(".")[:2] if part.isdigit()]
    if tuple(map(int, numbers)) < (2, 38):
        raise UsageError(
            f"--parallel needs git 2.38 or newer, and this is {printed.strip()}; update git, or "
            "run one task at a time: leave --parallel out"
        )
