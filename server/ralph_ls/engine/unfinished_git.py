"""Operations of git that an agent was in the middle of when it ended.

One that was under way before the run's agents began anything is the user's.
"""

from __future__ import annotations

from ralph_ls.core.loop.inputs import Notice
from ralph_ls.core.loop.rules.commits import UNFINISHED_GIT, unfinished_git_words
from ralph_ls.engine.git import under_way
from ralph_ls.engine.workspace import Workspace


class UnfinishedGit:
    """What the agents of one run have left in the middle."""

    def __init__(self, workspace: Workspace) -> None:
        self._git_dir = workspace.worktree.git_dir
        self._users: str | None = None
        self._left: str | None = None

    def begin(self) -> None:
        """An agent is about to start: what is under way and no agent's is the user's."""
        now = under_way(self._git_dir)
        self._users = None if now == self._left else now

    def tell(self) -> tuple[Notice, ...]:
        """What an agent has left, after its end."""
        now = under_way(self._git_dir)
        self._left = None if now == self._users else now
        if self._left is None:
            return ()
        return (Notice(code=UNFINISHED_GIT, message=unfinished_git_words(self._left)),)
