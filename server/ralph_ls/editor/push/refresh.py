"""Refresh tracker: what a client has of each document, and when it is to ask again.

A client asks when it shows a document and when its text was changed. When the run changes the
answer, the client is asked to refresh, if it can, once for each difference and for all documents
together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from ralph_ls.editor.documents.loop_documents import DocumentEvent, LoopDocuments
from ralph_ls.editor.scheduling import Throttle

if TYPE_CHECKING:
    from ralph_ls.editor.worktree.workspaces import Workspaces, WorkspaceView

SHORTEST_REST = 0.25
"""Seconds between two requests to the client to ask again."""

ANSWER_PATIENCE = 10.0
"""Seconds after which a client that does not answer such a request is asked again."""

Item = TypeVar("Item")


class RefreshTracker(Generic[Item]):
    """Knows what the client has of each document that it shows."""

    def __init__(
        self,
        workspaces: Workspaces,
        documents: LoopDocuments,
        *,
        make: Callable[[str], Awaitable[Sequence[Item] | None]],
        refresh: Callable[[], Awaitable[object]],
        can_refresh: Callable[[], bool],
        what: str,
    ) -> None:
        """``make`` computes all of a document, None where it is none of ours.

        ``refresh`` asks the client to ask again, and ends when it has answered.
        """
        self._workspaces = workspaces
        self._documents = documents
        self._make = make
        self._notify_client = refresh
        self._can_refresh = can_refresh
        self._kept: dict[str, Sequence[Item]] = {}
        self._listeners: list[Callable[[], None]] = []
        self._scans = Throttle(self._recompute, doing=what, longest_rest=SHORTEST_REST)
        self._refresh = Throttle(
            self._ask_for_refresh,
            doing=f"asking for {what} again",
            shortest_rest=SHORTEST_REST,
            longest_rest=SHORTEST_REST,
        )
        workspaces.on_change(self.handle_change)
        documents.on_edit(self._take_edit)

    def on_scan(self, listener: Callable[[], None]) -> None:
        """Call ``listener`` whenever something was computed."""
        self._listeners.append(listener)

    def uris(self) -> list[str]:
        """The documents of which the client has something, or would have."""
        return list(self._kept)

    async def answer(self, uri: str) -> Sequence[Item] | None:
        """All of one document, which the client has from now on."""
        await self._workspaces.ready()
        found = await self._make(uri)
        if found is None:
            self._kept.pop(uri, None)
        elif self._documents.is_open(uri):
            self._kept[uri] = found
            self._mark_answered()
        return found

    def handle_change(self, view: WorkspaceView) -> None:
        """The run or a file of a work tree changed, or time passed."""
        for uri in [] if self._documents.is_over else self.uris():
            place = self._workspaces.of_document(uri)
            if place is None or place[0] is view:
                self._scans.ask(uri)

    def _take_edit(self, uri: str, edit: DocumentEvent) -> None:
        """A client asks by itself about a text that it changed."""
        if edit is DocumentEvent.CLOSED:
            self._kept.pop(uri, None)

    async def _recompute(self, uri: str) -> None:
        if uri not in self._kept:
            return
        found = await self._make(uri) or []
        if self._documents.is_over:
            return
        if found != self._kept.get(uri, found):
            # Remembered as kept, so that one difference is reported once.
            self._kept[uri] = found
            if self._can_refresh():
                self._refresh.ask("all")
        self._mark_answered()

    async def _ask_for_refresh(self, _key: str) -> None:
        async with asyncio.timeout(ANSWER_PATIENCE):
            await self._notify_client()

    def _mark_answered(self) -> None:
        for listener in self._listeners:
            listener()
