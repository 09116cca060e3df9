"""What is remembered of the plan between two looks at it: its text, and when that was read.

The text is kept in the run's folder as well, without secrets, so that an engine that takes up an
open iteration can tell what became of it. This module must never know what a text means.
"""

from __future__ import annotations

from datetime import datetime

from ralph_ls.engine.workspace import Workspace
from ralph_ls.store.files import PRIVATE_FILE, read_if_there, write_atomic


class PlanMemory:
    """The plan as the open iteration, or the last one, found it."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._text: str | None = None
        self.read_at: datetime | None = None
        """When the plan was last read; what people save later is new."""

    @property
    def text(self) -> str:
        """The plan as it was remembered by this engine; empty where it was not."""
        return self._text or ""

    @property
    def open_text(self) -> str | None:
        """The same, unless it holds what may not be written elsewhere."""
        return self.text if self._workspace.redactor.redact(self.text) == self.text else None

    def remember(self, text: str) -> None:
        """Keep this text, here and in the run's folder."""
        if text == self._text:
            return
        data = self._workspace.redactor.redact_bytes(text.encode("utf-8", errors="replace"))
        write_atomic(self._workspace.files.plan_before, data, mode=PRIVATE_FILE)
        self._text = text

    def recall(self, fallback: str) -> str:
        """What was kept, by another engine too; ``fallback`` where nobody did."""
        if self._text is None:
            data = read_if_there(self._workspace.files.plan_before)
            self._text = fallback if data is None else data.decode("utf-8", "replace")
        return self._text
