"""The approvals file while a run lives: what appears in it without the user's command is removed.

An agent of the same user can write that file by hand, or bring a ``ralph`` of another version that
does not refuse it. So the engine looks at it whenever something that it started has ended.
"""

from __future__ import annotations

from collections.abc import Callable

from ralph_ls.core.loop.inputs import AnnouncementDone
from ralph_ls.engine.workspace import Workspace
from ralph_ls.protocol.errors import StateUnusable

SHOWN = 10
"""Keys that are named in one warning."""


class ApprovalsGuard:
    """Removes added approvals, and reports them as warnings."""

    def __init__(
        self, workspace: Workspace, *, tell: Callable[[AnnouncementDone], None] | None
    ) -> None:
        self._workspace = workspace
        self._tell = tell
        self._found: list[AnnouncementDone] = []

    def check(self) -> None:
        """Look at the file, which may take a moment; ``report`` says what was found."""
        try:
            added = self._workspace.trust.take_out_added(self._workspace.state)
        except StateUnusable as error:
            message = f"approvals cannot be checked: {error.message}"
            self._found.append(AnnouncementDone(code="approvals-not-checked", message=message))
            return
        if added:
            names = ", ".join(added[:SHOWN]) + (", …" if len(added) > SHOWN else "")
            message = (
                f"approvals that appeared while the run went on were removed: {names}; the run was "
                "not asked, as ralph allow does it from another terminal, so the agent may have "
                "written them; look at what changed, then allow it with: ralph allow"
            )
            self._found.append(AnnouncementDone(code="approvals-removed", message=message))

    def report(self) -> None:
        """Warn of what was found; call it in the event loop's thread."""
        found, self._found = self._found, []
        for one in found:
            if self._tell is not None:
                self._tell(one)
