"""The plan in HEAD at the end of a run: what it may not hold for the run to be complete.

The work tree is guarded after each iteration; what is committed is what others get. So HEAD is held
against the plan as the run began, and a change that no agent may make and that the work tree does
not have keeps the run from being complete, until the user has looked at it.

Slow, for git is asked: call it in threads. It must never change anything.
"""

from __future__ import annotations

from collections.abc import Mapping

from ralph_ls.core.plurals import some_of
from ralph_ls.engine.git import read_head
from ralph_ls.engine.restoration_commits import entries_of, read_blob, real_path, same_lines
from ralph_ls.engine.workspace import Workspace
from ralph_ls.store.files import PRIVATE_FILE, read_if_there, write_atomic

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
            f"{path} in HEAD holds what no agent may do: {some_of(both, SHOWN)}; the work "
            "tree has it right, so commit that and go on: "
            f"git commit -m 'Restore the plan' -- {path}; ralph run --resume"
        )


def _replaced(data: bytes) -> str:
    return _plain(data.decode("utf-8", errors="replace"))


def _plain(text: str) -> str:
    return text.replace("\r\n", "\n")
