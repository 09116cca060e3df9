"""Project documents: plan, specifications and finished work, as open in the client or on disk.

Each text is scanned once, however many features ask. Open texts are captured in the event loop's
thread before anything is read, so that a text that changes meanwhile is never half old and half
new. Does not know what a feature shows.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from urllib.parse import unquote
from weakref import WeakKeyDictionary

from ralph_ls.editor.documents.loop_documents import SMALL_TEXT, LoopDocuments
from ralph_ls.editor.documents.snapshot import (
    DocumentSnapshot,
    UnreadableDocument,
    check_text_limits,
    real_path,
    text_of,
    uri_of,
)
from ralph_ls.editor.lsp.conversion import Encoding, PositionMapper, characters
from ralph_ls.editor.scheduling import run_in_thread

if TYPE_CHECKING:
    from lsprotocol import types

    from ralph_ls.core.plan.model import Plan
    from ralph_ls.core.plan.parse.front_matter import FrontMatterProblem
    from ralph_ls.core.views.document.page import Page, PageKind
    from ralph_ls.editor.lsp.language_server import RalphLanguageServer
    from ralph_ls.editor.worktree.workspaces import Workspaces, WorkspaceView

CACHED_DOCUMENTS = 32
"""Texts that are remembered as they were looked over last."""

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectDocument:
    """One page, and how the client calls it."""

    page: Page
    uri: str
    version: int | None
    """The open document's; None for a file that is not open."""
    encoding: Encoding
    is_main: bool = True
    """False for a plan that is not the one of the work tree's loop."""

    def columns(self) -> PositionMapper:
        """Ranges of this text, as the client counts."""
        return PositionMapper(self.page.text, self.encoding)

    def column(self, position: types.Position) -> int:
        """A client's place in a line, in characters of the line."""
        lines = self.page.outline.lines
        if position.line >= len(lines):
            return 0
        return characters(lines[position.line], position.character, self.encoding)


class _Open(NamedTuple):
    uri: str
    text: str
    version: int | None


class _Place(NamedTuple):
    view: WorkspaceView
    kind: PageKind
    name: str
    path: Path
    """Without symbolic links."""


class ProjectContext:
    """A page with those around it, as they were when it was requested; it may block."""

    def __init__(
        self,
        here: ProjectDocument,
        plan: ProjectDocument | None,
        view: WorkspaceView,
        opened: Mapping[str, _Open],
        known: _KnownPages,
    ) -> None:
        self.here = here
        self.plan = plan
        """The plan whose tasks the page speaks of; the page itself, where it is one."""
        self.root = view.root
        self._view = view
        self._opened = opened
        self._known = known
        self._progress = _progress_of(view)

    @cached_property
    def progress(self) -> ProjectDocument | None:
        """What was done; None where nothing of that is written."""
        from ralph_ls.core.views.document.page import PageKind

        if self.here.page.kind is PageKind.PROGRESS:
            return self.here
        return self.read(PageKind.PROGRESS, self._progress, has_tasks=True)

    def spec_names(self) -> tuple[str, ...]:
        """Names within ``specs/`` of every specification, those that are not saved yet too."""
        from ralph_ls.core.plan.specs import FOLDER
        from ralph_ls.core.views.document.page import PageKind, page_kind
        from ralph_ls.store.project.detection import find_specs

        found = set(find_specs(self.root))
        for real in self._opened:
            name = _name_in(self.root, Path(real))
            if name is not None and page_kind(name, self._progress) is PageKind.SPEC:
                found.add(name.removeprefix(f"{FOLDER}/"))
        return tuple(sorted(found))

    def spec_remarks(self) -> tuple[FrontMatterProblem, ...]:
        """Remarks on the specification or the index that the page is; empty for any other."""
        from ralph_ls.core.plan.specs import FOLDER, INDEX, check_specs, read_index, read_spec
        from ralph_ls.core.views.document.page import PageKind

        here = self.here.page
        if here.kind not in {PageKind.SPEC, PageKind.INDEX} or self.plan is None:
            return ()
        pages = [self.read(PageKind.SPEC, f"{FOLDER}/{name}") for name in self.spec_names()]
        specs = [read_spec(one.page.spec_name, one.page.text) for one in pages if one is not None]
        index = self.read(PageKind.INDEX, f"{FOLDER}/{INDEX}")
        entries = None if index is None else read_index(index.page.text)
        log = "" if self.progress is None else self.progress.page.text
        plan = self.plan.page
        return check_specs(specs, entries, plan.plan, plan.text, log).get(here.spec_name, ())

    def read(self, kind: PageKind, name: str, *, has_tasks: bool = False) -> ProjectDocument | None:
        """Another page of the work tree; without its tasks, unless they are asked for."""
        from ralph_ls.core.plan.model import Plan
        from ralph_ls.core.views.document.page import read_page

        path = self.root / name
        opened = self._opened.get(os.path.realpath(path))
        text = text_of(path) if opened is None else check_text_limits(opened.text)
        if text is None or isinstance(text, UnreadableDocument):
            return None
        if has_tasks:
            page = self._known.page(kind, name, path, text, None)
        else:
            page = read_page(kind, name, text, Plan())
        return ProjectDocument(
            page=page,
            uri=uri_of(self._view, path) if opened is None else opened.uri,
            version=None if opened is None else opened.version,
            encoding=self.here.encoding,
        )

    def find_file(self, name: str) -> str | None:
        """The URI of a file of the work tree; None where there is none in it, links followed."""
        path = self.root / name
        try:
            real = Path(os.path.realpath(path))
            is_there = real.is_relative_to(self.root) and real.is_file()
        except (OSError, ValueError):
            return None
        if not is_there:
            return None
        opened = self._opened.get(str(real))
        return uri_of(self._view, path) if opened is None else opened.uri


class ProjectDocuments:
    """The pages of all work trees that a client has open."""

    def __init__(
        self, server: RalphLanguageServer, workspaces: Workspaces, documents: LoopDocuments
    ) -> None:
        self._server = server
        self._workspaces = workspaces
        self._documents = documents
        self._known = _KNOWN.setdefault(documents, _KnownPages())

    async def read(self, uri: str, compute: Callable[[ProjectDocument], Result]) -> Result | None:
        """What ``compute`` makes of a page; None for any other document.

        It may run in a thread, so it must not touch anything of the event loop's.
        """
        place = await self._find(uri)
        if place is None:
            return None
        if place.kind == "plan":
            return await self._read_plan(place.view, uri, compute)
        opened = self._pin_down().get(str(place.path))

        def work() -> Result | None:
            shown = self._show(place, opened)
            return None if shown is None else compute(shown)

        if opened is not None and len(opened.text) <= SMALL_TEXT:
            return work()
        return await run_in_thread(work, name="page")

    async def read_around(
        self, uri: str, compute: Callable[[ProjectContext], Result]
    ) -> Result | None:
        """The same with the pages around it; ``compute`` always runs in a thread."""
        place = await self._find(uri)
        if place is None:
            return None
        is_plan = place.kind == "plan"
        plan = await self._read_plan(place.view, uri if is_plan else None, _same)
        opened = self._pin_down()

        def work() -> Result | None:
            here = plan if is_plan else self._show(place, opened.get(str(place.path)))
            if here is None:
                return None
            return compute(ProjectContext(here, plan, place.view, opened, self._known))

        return await run_in_thread(work, name="pages")

    async def read_plans(self, compute: Callable[[ProjectDocument], Result]) -> list[Result]:
        """What ``compute`` makes of the plan of each work tree that has one."""
        await self._workspaces.ready()
        found = [await self._read_plan(view, None, compute) for view in self._workspaces.all()]
        return [one for one in found if one is not None]

    async def _find(self, uri: str) -> _Place | None:
        """Which page of which work tree a document is."""
        from ralph_ls.core.views.document.page import PageKind, page_kind
        from ralph_ls.core.views.model.document_context import FileKind

        await self._workspaces.ready()
        known, path = self._workspaces.of_document(uri), Path(real_path(uri))
        if known is not None:
            view, kind = known
            plan = _Place(view, PageKind.PLAN, _name_in(view.root, path) or path.name, path)
            return plan if kind is FileKind.PLAN else None
        views = sorted(self._workspaces.all(), key=lambda view: len(view.root.parts), reverse=True)
        for view in views:
            name = _name_in(view.root, path)
            if name is not None:
                # It belongs to the innermost work tree alone.
                found = page_kind(name, _progress_of(view))
                return None if found is None else _Place(view, found, name, path)
        return None

    async def _read_plan(
        self, view: WorkspaceView, uri: str | None, compute: Callable[[ProjectDocument], Result]
    ) -> Result | None:
        from ralph_ls.core.views.model.document_context import FileKind

        def work(sight: DocumentSnapshot) -> Result:
            return compute(self._show_plan(sight))

        return await self._documents.read(view, FileKind.PLAN, work, uri=uri)

    def _show_plan(self, sight: DocumentSnapshot) -> ProjectDocument:
        from ralph_ls.core.plan.formats.registry import format_of
        from ralph_ls.core.views.document.page import PageKind

        path = Path(real_path(sight.uri))
        name = _name_in(sight.root, path) or path.name
        seen = sight.seen
        page = self._known.page(
            PageKind.PLAN,
            name,
            path,
            seen.text,
            seen.plan,
            is_markdown=format_of(seen.kind).is_markdown,
        )
        return ProjectDocument(
            page=page,
            uri=sight.uri,
            version=sight.version,
            encoding=sight.encoding,
            is_main=sight.further_plan is None,
        )

    def _show(self, place: _Place, opened: _Open | None) -> ProjectDocument | None:
        text = text_of(place.path) if opened is None else check_text_limits(opened.text)
        if text is None or isinstance(text, UnreadableDocument):
            return None
        return ProjectDocument(
            page=self._known.page(place.kind, place.name, place.path, text, None),
            uri=uri_of(place.view, place.path) if opened is None else opened.uri,
            version=None if opened is None else opened.version,
            encoding=self._server.workspace.position_encoding,
        )

    def _pin_down(self) -> dict[str, _Open]:
        """What is open, by its path without symbolic links."""
        opened: dict[str, _Open] = {}
        documents = self._server.workspace.text_documents
        for uri in self._documents.open_uris():
            document = documents[unquote(uri)]
            opened[real_path(uri)] = _Open(uri, document.source, document.version)
        return opened


class _KnownPages:
    """Pages as they were looked over last, by file. From any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[Path, _KnownPage] = OrderedDict()

    def page(
        self,
        kind: PageKind,
        name: str,
        path: Path,
        text: str,
        plan: Plan | None,
        *,
        is_markdown: bool = True,
    ) -> Page:
        """The page of this text; ``plan`` is what was read from it, where somebody did."""
        from ralph_ls.core.plan.parse.markdown import parse_markdown
        from ralph_ls.core.views.document.page import read_page

        with self._lock:
            known = self._known.setdefault(path, _KnownPage())
            self._known.move_to_end(path)
            while len(self._known) > CACHED_DOCUMENTS:
                self._known.popitem(last=False)
        with known.lock:
            page = known.page
            is_same = page is not None and (page.kind, page.text) == (kind, text)
            if page is None or not is_same or known.plan is not plan:
                tasks = parse_markdown(text).plan if plan is None else plan
                page = read_page(kind, name, text, tasks, is_markdown=is_markdown)
                known.page, known.plan = page, plan
            return page


@dataclass(slots=True)
class _KnownPage:
    lock: threading.Lock = field(default_factory=threading.Lock)
    page: Page | None = None
    plan: Plan | None = None


_KNOWN: WeakKeyDictionary[LoopDocuments, _KnownPages] = WeakKeyDictionary()
"""One for all features that look at the same documents."""


def _progress_of(view: WorkspaceView) -> str:
    return view.progress_path.relative_to(view.root).as_posix()


def _same(shown: ProjectDocument) -> ProjectDocument:
    return shown


def _name_in(root: Path, path: Path) -> str | None:
    """The path within the work tree; None if it is elsewhere."""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else None
