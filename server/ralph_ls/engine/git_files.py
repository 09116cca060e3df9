"""Files that git reads, kept readable: what makes git wait for ever is taken out of its way.

An agent that leaves a named pipe in the place of ``.gitignore`` or of git's own configuration stops
every later git command, the loop's and the user's. Such a file is replaced by what was there when
the iteration began, before git is asked anything. Whatever else an agent does to these files is
its work, and stays.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from ralph_ls.core.loop.inputs import RevertedChange
from ralph_ls.engine.guard_keeper import Keeper
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.protocol.run.iteration_events import Forbidden
from ralph_ls.store.external.git_safety import SMALL_FILES, TREE_FILES, why_git_cannot_read
from ralph_ls.store.files import read_regular, write_atomic


class GitFiles:
    """The small files of a work tree that git reads, as an iteration found them."""

    def __init__(self, root: Path) -> None:
        names = (*TREE_FILES, *(f".git/{name}" for name in SMALL_FILES))
        self._paths = {name: root / name for name in names}
        self._known: dict[str, bytes | None] = {}

    def remember(self) -> None:
        """Take them as they are; one that git cannot read was refused before."""
        self._known = {}
        for name, path in self._paths.items():
            with contextlib.suppress(StateUnusable):
                self._known[name] = read_regular(path)

    def restore(self, keeper: Keeper) -> tuple[RevertedChange, ...]:
        """Replace those that git cannot read any more, and say so.

        Raises ``StateUnusable`` where one cannot be written.
        """
        return tuple(
            self._restore(name, why, keeper)
            for name in self._known
            if (why := why_git_cannot_read(self._paths[name])) is not None
        )

    def _restore(self, name: str, why: str, keeper: Keeper) -> RevertedChange:
        path, data = self._paths[name], self._known[name]
        try:
            keeper.move_away(path, is_copied=False)
        except OSError as error:
            raise StateUnusable(
                f"{path} {why}, and cannot be removed: {error.strerror or error}; remove it"
            ) from error
        if data is not None:
            write_atomic(path, data)
        return RevertedChange(
            path=name,
            what=Forbidden.CREATED if data is None else Forbidden.CHANGED,
            why=f"{name} {why}, which git would wait for; such a file must stay a regular one",
        )
