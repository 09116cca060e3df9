"""Workspaces: the work trees that a client has open, one view each, whatever names it.

All of it belongs to the event loop's thread; the threads that follow the files pass in their
results.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import datetime
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from ralph_ls.editor.lsp.conversion import path_of_uri, printable_uri
from ralph_ls.editor.scheduling import FailureLog, run_in_thread
from ralph_ls.editor.worktree.reviews import Reviews, n_unapproved
from ralph_ls.protocol.errors import WorkspaceMissing

if TYPE_CHECKING:
    from ralph_ls.core.plan.model import PlanKind
    from ralph_ls.core.views.model.document_context import FileKind
    from ralph_ls.editor.worktree.follower import WorktreeFollower
    from ralph_ls.editor.worktree.issues import KnownIssues
    from ralph_ls.editor.worktree.scanner import WorktreeScanner
    from ralph_ls.editor.worktree.snapshot import (
        LoopFolders,
        LoopPaths,
        ScanResult,
        WorkspaceSnapshot,
    )
    from ralph_ls.protocol.lsp.options import EditorOptions
    from ralph_ls.store.layout import Worktree
    from ralph_ls.store.run.runs import KnownStates

__all__ = ["WorkspaceView", "Workspaces"]

logger = logging.getLogger(__name__)

Result = TypeVar("Result")

UNKNOWN_CLIENT = "an editor"


def _nothing_to_prepare() -> None:
    """All is imported already."""


class WorkspaceView:
    """One git work tree that a client has open; owned by the event loop's thread."""

    def __init__(self, folders: LoopFolders, uri: str) -> None:
        from ralph_ls.editor.worktree.snapshot import WorkspaceSnapshot, find_loop_paths

        self.folders = folders
        self.uri = uri
        """As the client named the folder, or the root's file URI where a document opened it."""
        self.issues: KnownIssues | None = None
        """The plan that ``bd`` keeps, as far as it was read."""
        self._picture = WorkspaceSnapshot()
        self._paths = find_loop_paths(folders)
        self._follower: WorktreeFollower | None = None

    @property
    def worktree(self) -> Worktree:
        return self.folders.worktree

    @property
    def root(self) -> Path:
        """The work tree's root, without symbolic links."""
        return self.folders.worktree.root

    def picture(self) -> WorkspaceSnapshot:
        """What is known now; never blocks, and never changes once it was given."""
        return self._picture

    @property
    def paths(self) -> LoopPaths:
        """Where the loop's files are."""
        return self._paths

    @property
    def plan_path(self) -> Path | None:
        """The plan of the work tree's loop; None where there is none yet."""
        return self._paths.plan

    @property
    def plan_kind(self) -> PlanKind:
        """What that plan is written in, where its name does not say so."""
        return self._paths.kind

    @property
    def plan_tag(self) -> str:
        """The tag of Task Master that is the plan; empty: the first."""
        return self._paths.tag

    @property
    def optional_sections(self) -> tuple[str, ...]:
        """Headings whose tasks are optional, by the settings."""
        return self._paths.optional_sections

    @property
    def skip_review(self) -> bool:
        """Whether stories are finished without a review, by the settings."""
        return self._paths.skip_review

    @property
    def decide_path(self) -> Path:
        return self._paths.decide

    @property
    def blocked_path(self) -> Path:
        return self._paths.blocked

    @property
    def progress_path(self) -> Path:
        return self._paths.progress

    def kind_of(self, path: Path) -> FileKind | None:
        """Which of this work tree's loop files a path without symbolic links is."""
        from ralph_ls.editor.worktree.snapshot import kind_of

        return kind_of(path, self._paths, self.folders)

    def n_unapproved(self) -> int:
        """How many commands and files of the repository wait for the user's approval; blocks."""
        return n_unapproved(self.folders)

    async def scan(self) -> None:
        """Wait until everything was scanned again; ``picture`` then holds the result."""
        await self.do(_nothing)

    async def do(self, job: Callable[[WorktreeScanner], Result]) -> Result:
        """Have a job done by the thread that follows the files, right after a look at them."""
        if self._follower is None:
            raise WorkspaceMissing(f"{self.root} is no longer open; open its folder again")
        return await asyncio.wrap_future(self._follower.do(job))

    def follow(
        self,
        on_found: Callable[[WorkspaceView, ScanResult], None],
        on_backpressure: Callable[[WorkspaceView], Awaitable[None]],
    ) -> None:
        """Begin to follow the files; ``on_found`` is called in the running loop.

        If it was given events to send, no more is read before ``keep_pace`` returns.
        """
        from ralph_ls.editor.worktree.follower import BackpressuredSink, WorktreeFollower
        from ralph_ls.editor.worktree.scanner import WorktreeScanner

        def take(found: ScanResult) -> None:
            if self._follower is not None:
                self._picture, self._paths = found.picture, found.paths
                on_found(self, found)

        hand_over = BackpressuredSink(take, partial(on_backpressure, self))
        self._follower = WorktreeFollower(WorktreeScanner(self.folders), hand_over)
        self._follower.start()

    def close(self) -> None:
        """Follow no more."""
        if self._follower is not None:
            self._follower.stop()
            self._follower = None


class Workspaces:
    """Every work tree that the client has open, by its folders or by a document of the loop."""

    def __init__(
        self,
        *,
        environment: Mapping[str, str],
        now: Callable[[], datetime],
        prepare: Callable[[], None] = _nothing_to_prepare,
        documents: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        """``prepare`` is what has to be imported first; it runs in a thread, once.

        ``documents`` gives the URIs of those that are open by then.
        """
        self.environment = environment
        self.now = now
        """The present, in UTC."""
        self.by = UNKNOWN_CLIENT
        """The client's name, as shown to users."""
        self.options: Callable[[], EditorOptions] = _default_options
        """The client's name and options."""
        self.reviews = Reviews()
        self._prepare = prepare
        self._documents = documents
        self._opening: asyncio.Task[None] | None = None
        self._open_now = False
        self._folders: dict[str, Path] = {}
        """The client's workspace folders, by their URIs."""
        self._views: dict[Path, WorkspaceView] = {}
        self._change_listeners: list[Callable[[WorkspaceView], None]] = []
        self._found_listeners: list[Callable[[WorkspaceView, ScanResult], None]] = []
        self._close_listeners: list[Callable[[WorkspaceView], None]] = []
        self._wait: Callable[[WorkspaceView], Awaitable[None]] = _wait_for_nobody
        self._changed: dict[WorkspaceView, None] = {}
        self._failures = FailureLog("reporting a change")

    @cached_property
    def known_states(self) -> KnownStates:
        """States of runs of any work tree, which a viewer asks for every few seconds."""
        from ralph_ls.store.run.runs import KnownStates

        return KnownStates()

    # ------------------------------------------------------------------------------------ opening

    async def ready(self) -> None:
        """Wait until all work trees are open; opens them where nobody did before."""
        if self._opening is None:
            opening = self._open_all()
            self._opening = asyncio.get_running_loop().create_task(opening, name="ralph-ls open")
        # A waiting caller may be cancelled; the others keep waiting.
        await asyncio.shield(self._opening)

    async def _open_all(self) -> None:
        await run_in_thread(self._prepare, name="imports")
        self._open_now = True
        for uri in self._folders:
            self._open_folder(uri)
        for uri in self._documents():
            self.of_document(uri)

    def add_folders(self, uris: Iterable[str]) -> None:
        """The client has these folders open, too."""
        for uri in uris:
            path = path_of_uri(uri)
            if path is None:
                logger.warning(
                    "Ignored %s, which is not a folder on this machine", printable_uri(uri)
                )
                continue
            self._folders[uri] = Path(os.path.realpath(path))
            if self._open_now:
                self._open_folder(uri)

    def remove_folders(self, uris: Iterable[str]) -> None:
        """The client has closed these folders; work trees that no other one is in are let go."""
        for uri in uris:
            self._folders.pop(uri, None)
        kept: dict[Path, str] = {}
        for uri in self._folders:
            if view := self._view_of_folder(uri):
                kept.setdefault(view.root, uri)
        for root, view in [*self._views.items()]:
            if root not in kept:
                self._close(self._views.pop(root))
            elif view.uri not in self._folders:
                # Another folder of the same work tree is still open: it is named by that.
                view.uri = kept[root]
                self.notify_change(view)

    def close(self) -> None:
        """Let go of all of them."""
        for view in self._views.values():
            self._close(view)
        self._views.clear()

    # ------------------------------------------------------------------------------------ finding

    def of_document(self, uri: str) -> tuple[WorkspaceView, FileKind] | None:
        """The work tree and the kind of one of the loop's files; None for any other document.

        Opens the work tree of a document if no folder named it.
        """
        name = path_of_uri(uri)
        if name is None or not self._open_now:
            return None
        path = Path(os.path.realpath(name))
        worktree = _find_worktree(path.parent)
        if worktree is None:
            return None
        view = self._views.get(worktree.root)
        if view is None:
            view = self._make(worktree, worktree.root.as_uri())
        kind = view.kind_of(path)
        if kind is None:
            return None
        if worktree.root not in self._views:
            self._open(view)
        return view, kind

    def around(self, uri: str) -> WorkspaceView | None:
        """The open work tree that a document is in, whatever it is."""
        name = path_of_uri(uri)
        worktree = None if name is None else _find_worktree(Path(os.path.realpath(name)).parent)
        return None if worktree is None else self._views.get(worktree.root)

    def named(self, uri: str | None) -> WorkspaceView:
        """The work tree that a request means; raises ``WorkspaceMissing`` with what to do."""
        if uri is None:
            return self._only_one()
        for view in self._views.values():
            if uri == view.uri:
                return view
        path = path_of_uri(uri)
        real = None if path is None else Path(os.path.realpath(path))
        if real in self._views:
            return self._views[real]
        folder = next((known for known, place in self._folders.items() if place == real), None)
        if folder is None:
            raise WorkspaceMissing(
                f"the folder {printable_uri(uri)} is not open here; open it in the editor, or "
                "name an open folder"
            )
        opened = self._open_folder(folder)
        if opened is None:
            raise WorkspaceMissing(
                f"{self._folders[folder]} is not in a git work tree; open your repository, or "
                "create one with git init"
            )
        return opened

    def all(self) -> list[WorkspaceView]:
        """Every open work tree, in the order in which they were opened."""
        return list(self._views.values())

    # ------------------------------------------------------------------------------------ sending

    def on_change(self, listener: Callable[[WorkspaceView], None]) -> None:
        """Call ``listener`` in the loop's thread after a picture or one of the files changed.

        Also after a work tree was let go: it is in ``all`` no more. Several changes in a row may
        be reported as one.
        """
        self._change_listeners.append(listener)

    def on_found(self, listener: Callable[[WorkspaceView, ScanResult], None]) -> None:
        """Call ``listener`` with everything that was found, before the change is sent."""
        self._found_listeners.append(listener)

    def on_backpressure(self, wait: Callable[[WorkspaceView], Awaitable[None]]) -> None:
        """Have ``wait`` waited for behind each found that holds events, before more are read."""
        self._wait = wait

    def on_close(self, listener: Callable[[WorkspaceView], None]) -> None:
        """Call ``listener`` when a work tree is let go."""
        self._close_listeners.append(listener)

    def notify_change(self, view: WorkspaceView) -> None:
        """Notify the listeners soon, also of changes outside of files."""
        if not self._changed:
            asyncio.get_running_loop().call_soon(self._notify_changes)
        self._changed[view] = None

    # ------------------------------------------------------------------------------------ helpers

    def _open_folder(self, uri: str) -> WorkspaceView | None:
        view = self._view_of_folder(uri)
        if view is not None:
            return view
        worktree = _find_worktree(self._folders[uri])
        return None if worktree is None else self._open(self._make(worktree, uri))

    def _view_of_folder(self, uri: str) -> WorkspaceView | None:
        worktree = _find_worktree(self._folders[uri])
        return None if worktree is None else self._views.get(worktree.root)

    def _make(self, worktree: Worktree, uri: str) -> WorkspaceView:
        from ralph_ls.editor.worktree.snapshot import loop_folders

        plan_files = self.options().plan_files
        return WorkspaceView(loop_folders(worktree, self.environment, plan_files), uri)

    def _open(self, view: WorkspaceView) -> WorkspaceView:
        self._views[view.root] = view
        view.follow(self._take, self._apply_backpressure)
        return view

    def _close(self, view: WorkspaceView) -> None:
        view.close()
        self._failures.call_each(self._close_listeners, view)
        # Views of it remove what they show.
        self.notify_change(view)

    def _only_one(self) -> WorkspaceView:
        views = self.all()
        if not views and len(self._folders) == 1:
            return self.named(next(iter(self._folders)))
        if not views:
            raise WorkspaceMissing(
                "no git work tree is open; open the folder of your repository in the editor"
            )
        if len(views) > 1:
            known = ", ".join(view.uri for view in views)
            raise WorkspaceMissing(f"several work trees are open; name the one you mean: {known}")
        return views[0]

    async def _apply_backpressure(self, view: WorkspaceView) -> None:
        await self._wait(view)

    def _take(self, view: WorkspaceView, found: ScanResult) -> None:
        self._failures.call_each(self._found_listeners, view, found)
        if found.changed:
            self.notify_change(view)

    def _notify_changes(self) -> None:
        changed, self._changed = self._changed, {}
        for view in changed:
            self._failures.call_each(self._change_listeners, view)


def _find_worktree(folder: Path) -> Worktree | None:
    from ralph_ls.store.layout import find_worktree

    try:
        return find_worktree(folder)
    except WorkspaceMissing:
        return None


def _default_options() -> EditorOptions:
    from ralph_ls.protocol.lsp.options import EditorOptions

    return EditorOptions()


def _nothing(tree: WorktreeScanner) -> None:
    """Only the look before it was wanted."""


async def _wait_for_nobody(_view: WorkspaceView) -> None:
    """Without a client there is no backpressure."""
