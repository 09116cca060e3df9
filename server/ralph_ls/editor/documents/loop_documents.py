"""Loop documents: the texts of a loop's files, as the client has them open, else from the disk.

Features get a ``DocumentSnapshot`` here: a file's text, parsed if it is a plan, beside the newest
run. A text is parsed once, however many features ask, and a big one never in the event loop's
thread. Does not know what a feature shows.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar
from urllib.parse import unquote
from weakref import WeakKeyDictionary

from lsprotocol import types

from ralph_ls.editor.documents.snapshot import (
    DocumentSnapshot,
    DocumentSource,
    MergeBase,
    ParseCache,
    UnreadableDocument,
    context_without_file,
    path_in,
    path_of,
    read_document_snapshot,
    real_path,
    text_of,
    uri_of,
)
from ralph_ls.editor.lsp.conversion import path_of_uri
from ralph_ls.editor.lsp.workspace import OpenDocument
from ralph_ls.editor.scheduling import FailureLog
from ralph_ls.protocol.errors import RalphError

if TYPE_CHECKING:
    from ralph_ls.core.views.model.document_context import DocumentContext, FileKind
    from ralph_ls.editor.lsp.language_server import RalphLanguageServer
    from ralph_ls.editor.worktree.workspaces import WorkspaceView

SMALL_TEXT = 16_384
"""Characters up to which a text is looked at in the event loop's thread: a thread costs more."""

Result = TypeVar("Result")


class DocumentEvent(Enum):
    """What a client did to a document."""

    OPENED = auto()
    CHANGED = auto()
    SAVED = auto()
    CLOSED = auto()


class DocumentSave(NamedTuple):
    """The user saved a document."""

    uri: str
    before: str
    """What document and file had in common before that."""
    text: str


class DocumentFinder(Protocol):
    """Resolves which file of which work tree a document is."""

    def of_document(self, uri: str) -> tuple[WorkspaceView, FileKind] | None: ...


class LoopDocuments:
    """All texts that a client has open, and the loop's files beside them.

    It belongs to the event loop's thread; only ``seen`` may be called from others.
    """

    def __init__(self, server: RalphLanguageServer) -> None:
        self._server = server
        self._listeners: list[Callable[[str, DocumentEvent], None]] = []
        self._save_listeners: list[Callable[[DocumentSave], None]] = []
        self._failures = FailureLog("reporting an edit")
        self._readers = ThreadPoolExecutor(2, thread_name_prefix="ralph-documents")
        self._parses = ParseCache()
        self._names: dict[str, str] = {}
        """By unquoted URI: how the client quotes it, such as ``@`` where we would say ``%40``."""
        self._common: dict[str, MergeBase] = {}
        """By unquoted URI: what each open document and its file had in common last."""
        self._scans: WeakKeyDictionary[WorkspaceView, asyncio.Future[None]] = WeakKeyDictionary()
        self._listen()

    def on_edit(self, listener: Callable[[str, DocumentEvent], None]) -> None:
        """Call ``listener`` with the URI of each document that is opened, changed or closed."""
        self._listeners.append(listener)

    def on_save(self, listener: Callable[[DocumentSave], None]) -> None:
        """Call ``listener`` with each document that the user saves, before the edit is reported."""
        self._save_listeners.append(listener)

    def seen(self, view: WorkspaceView, kind: FileKind) -> DocumentContext:
        """The file as it is now, empty if there is none; it may block."""
        source = self._source(view, kind, None)
        sight = read_document_snapshot(source, self._parses)
        return sight.seen if isinstance(sight, DocumentSnapshot) else context_without_file(source)

    async def read(
        self,
        view: WorkspaceView,
        kind: FileKind,
        compute: Callable[[DocumentSnapshot], Result],
        *,
        uri: str | None = None,
        without: Callable[[UnreadableDocument], Result] | None = None,
    ) -> Result | None:
        """What ``compute`` makes of the file, or of the document ``uri``; None where there is none.

        Of one that is not read, such as one beyond the limits, what ``without`` makes. Both may
        run in a thread, so they must not touch anything of the event loop's.
        """
        await self._read_first(view)
        source = self._source(view, kind, uri)

        def work() -> Result | None:
            sight = read_document_snapshot(source, self._parses)
            if isinstance(sight, UnreadableDocument):
                return None if without is None else without(sight)
            return None if sight is None else compute(sight)

        if source.text is not None and len(source.text) <= SMALL_TEXT:
            return work()
        return await asyncio.get_running_loop().run_in_executor(self._readers, work)

    @property
    def is_over(self) -> bool:
        """Whether the client has said ``shutdown``: from then on nothing more is sent to it."""
        return self._server.protocol.exit_code == 0

    def open_uris(self) -> list[str]:
        """Every open document, as the client calls it."""
        return [document.uri for document in self._server.workspace.text_documents.values()]

    def open_document(self, uri: str) -> OpenDocument | None:
        """The document as the client has it; None where it is not open."""
        return self._ours(uri) if self.is_open(uri) else None

    def is_open(self, uri: str) -> bool:
        """Whether the client has the document open now."""
        return unquote(uri) in self._server.workspace.text_documents

    def text_beside(self, view: WorkspaceView, path: Path) -> tuple[str, int | None, str | None]:
        """A further file of a work tree as the client has it: how it calls it, version and text.

        The version is None where it is not open, the text where there is no such file.
        """
        document = self._find_open(None, path)
        if document is not None:
            return document.uri, document.version, document.source
        return self._name_of(view, path), None, text_of(path)

    def files_of(self, view: WorkspaceView, finder: DocumentFinder) -> dict[str, FileKind]:
        """The files of a work tree by URI: the open documents, and those that are not open."""
        from ralph_ls.core.views.model.document_context import FileKind

        found: dict[str, FileKind] = {}
        for uri in self.open_uris():
            place = finder.of_document(uri)
            if place is not None and place[0] is view:
                found[uri] = place[1]
        taken = {real_path(uri) for uri in found}
        for kind in FileKind:
            path = path_of(view, kind)
            if path is not None and os.path.realpath(path) not in taken:
                found[self._name_of(view, path)] = kind
        return found

    def _name_of(self, view: WorkspaceView, path: Path) -> str:
        """As the client last called it, so that it never knows the file by two names."""
        name = uri_of(view, path)
        return self._names.get(unquote(name), name)

    async def _read_first(self, view: WorkspaceView) -> None:
        """Nothing is shown of a work tree before its files were looked at."""
        if view not in self._scans:
            self._scans[view] = asyncio.ensure_future(view.scan())
        # It was let go meanwhile: then what is known of it will do.
        with contextlib.suppress(RalphError):
            await asyncio.shield(self._scans[view])

    def _source(self, view: WorkspaceView, kind: FileKind, uri: str | None) -> DocumentSource:
        """What is to be read, pinned down."""
        main = path_of(view, kind)
        path = main if uri is None else Path(path_of_uri(uri) or "")
        document = self._find_open(uri, path)
        name = "" if path is None else uri or self._name_of(view, path)
        return DocumentSource(
            view=view,
            kind=kind,
            path=path,
            uri=name if document is None else document.uri,
            text=None if document is None else document.source,
            version=None if document is None else document.version,
            picture=view.picture(),
            is_main=_is_main(view.root, path, main),
            encoding=self._server.workspace.position_encoding,
            common=None if document is None else self._common.get(unquote(document.uri)),
        )

    def _find_open(self, uri: str | None, path: Path | None) -> OpenDocument | None:
        if uri is not None and self.is_open(uri):
            return self._ours(uri)
        if path is None:
            return None
        real = os.path.realpath(path)
        opened = (known for known in self.open_uris() if real_path(known) == real)
        return next((self._ours(known) for known in opened if self.is_open(known)), None)

    def _ours(self, uri: str) -> OpenDocument:
        """The open document, from now on changed our way."""
        documents = self._server.workspace.text_documents
        document = documents[unquote(uri)]
        if not isinstance(document, OpenDocument):
            document = documents[unquote(uri)] = OpenDocument.of(document)
        return document

    def _listen(self) -> None:
        """Take part in what a client does to documents; pygls has changed them by then."""

        @self._server.feature(types.TEXT_DOCUMENT_DID_OPEN)
        def opened(params: types.DidOpenTextDocumentParams) -> None:
            uri = params.text_document.uri
            self._names[unquote(uri)] = uri
            self._common[unquote(uri)] = MergeBase(self._ours(uri).source, read=text_of)
            self._notify(params.text_document.uri, DocumentEvent.OPENED)

        @self._server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
        def changed(params: types.DidChangeTextDocumentParams) -> None:
            uri = params.text_document.uri
            if unquote(uri) in self._common:
                self._common[unquote(uri)].changed(self._ours(uri).source)
            self._notify(uri, DocumentEvent.CHANGED)

        @self._server.feature(types.TEXT_DOCUMENT_DID_SAVE)
        def saved(params: types.DidSaveTextDocumentParams) -> None:
            uri = params.text_document.uri
            if unquote(uri) in self._common:
                text = self._ours(uri).source
                self._notify_save(DocumentSave(uri, self._common[unquote(uri)].saved(text), text))
            self._notify(uri, DocumentEvent.SAVED)

        @self._server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
        def closed(params: types.DidCloseTextDocumentParams) -> None:
            self._common.pop(unquote(params.text_document.uri), None)
            self._notify(params.text_document.uri, DocumentEvent.CLOSED)

    def _notify(self, uri: str, edit: DocumentEvent) -> None:
        self._failures.call_each(self._listeners, uri, edit)

    def _notify_save(self, save: DocumentSave) -> None:
        self._failures.call_each(self._save_listeners, save)


def is_config(uri: str) -> bool:
    """Whether a document is the config file of a work tree, by its name."""
    return unquote(uri).endswith("/.ralph/config.toml")


def _is_main(root: Path, path: Path | None, main: Path | None) -> bool:
    """Whether a file is the plan of the loop; a tool's plan is none before a run works on it."""
    from ralph_ls.store.project.detection import is_of_tool

    if path is None or path == main:
        return True
    real = os.path.realpath(path)
    if main is not None:
        return real == os.path.realpath(main)
    return not is_of_tool(root, path_in(root, Path(real)))
