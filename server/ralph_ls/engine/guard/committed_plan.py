"""The plan in HEAD at the end of a run: what it may not hold for the run to be complete.

The work tree is guarded after each iteration; what is committed is what others get. So HEAD is held
against the plan as the run began, and a change that no agent may make and that the work tree does
not have keeps the run from being complete, until the user has looked at it.

Slow, for git is asked: call it in threads. It must never change anything.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from ralph_ls.core.plurals import some_of
from ralph_ls.engine.delivery.restoration_commits import (
    TreeEntry,
    entries_of,
    read_blob,
    real_path,
)
from ralph_ls.engine.git.worktree_state import read_head
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.store.files import PRIVATE_FILE, read_if_there, write_atomic

SHOWN = 5

Entries = Mapping[str, TreeEntry | None]


class CommittedPlan:
    """What is known of the plan in HEAD, from the beginning of a run on."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._root = workspace.root
        self._start: tuple[str | None, str] | None = None
        """HEAD and the plan as the run began; None: not known yet, or not as they were."""

    def begin(self, text: str) -> None:
        """An iteration begins with this plan; the first one of a run is what HEAD is judged by."""
        in_files = self._workspace.source.files_of(text)
        if self._start is not None or not in_files or not text.strip():
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

        ``text`` is the plan in the work tree, ``finished`` where finished tasks are written. A file
        that HEAD does not have, or has as it was when the run began, holds nothing.
        """
        if self._start is None:
            return ""
        source, place = self._workspace.source, self._workspace.worktree
        start, tree = (_plain(source.files_of(one)) for one in (self._start[1], text))
        head = read_head(place.git_dir, place.common_dir).commit
        paths = {path: real_path(self._root, path) for path in {**start, **tree}}
        now, base = (self._entries(one, paths) for one in (head, self._start[0]))
        changed = {
            path: data
            for path, data in self._texts(now, but=base).items()
            if data != tree.get(path)
        }
        if not changed:
            return ""
        found = source.held(
            source.text_of(start),
            source.text_of({**tree, **changed}),
            source.text_of(tree),
            finished,
        )
        earlier = self._texts({path: base[path] for path in changed})
        behind: Mapping[tuple[str, str], str] = {}
        if earlier:
            # What was not committed when the run began merely lags behind the work tree.
            behind = source.held(
                source.text_of(start),
                source.text_of({**tree, **earlier}),
                source.text_of(tree),
                finished,
            )
        both = [words for key, words in found.items() if key not in behind]
        if not both:
            return ""
        plan = self._workspace.plan_path
        return (
            f"{plan} in HEAD contains a forbidden change: {some_of(both, SHOWN)}; the work tree "
            "is right, so commit it and continue: "
            f"git commit -m 'Restore the plan' -- {shlex.quote(plan)}; ralph run --resume"
        )

    def _entries(self, commit: str | None, paths: Mapping[str, str]) -> Entries:
        found = entries_of(self._root, commit, [*paths.values()])
        return {path: found[real] for path, real in paths.items()}

    def _texts(self, entries: Entries, *, but: Entries | None = None) -> dict[str, str]:
        """The texts of what is there, except where the other entries are the same."""
        same = {} if but is None else but
        return {
            path: _without_cr(read_blob(self._root, one).decode("utf-8", errors="replace"))
            for path, one in entries.items()
            if one is not None and one.is_file and (but is None or one != same[path])
        }


def _plain(files: Mapping[str, str]) -> dict[str, str]:
    return {path: _without_cr(text) for path, text in files.items()}


def _without_cr(text: str) -> str:
    return text.replace("\r\n", "\n")
