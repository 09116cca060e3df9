"""Diagnostics on the plan, the decide file and the blocked file, open or not, and on open
specifications, config files and lessons.

See docs/rules.md#language-server. They are pushed, since the run changes them more often than any
client asks, and a file's are published again only when they differ.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from lsprotocol import types

from ralph_ls.editor.documents.lesson_actions import is_lesson_file, lesson_diagnostics
from ralph_ls.editor.documents.loop_documents import DocumentEvent, LoopDocuments, is_config
from ralph_ls.editor.documents.project_documents import ProjectContext, ProjectDocuments
from ralph_ls.editor.documents.snapshot import DocumentSnapshot, UnreadableDocument, real_path
from ralph_ls.editor.lsp.conversion import (
    SOURCE,
    DisplayCapabilities,
    Encoding,
    PositionMapper,
    display_capabilities,
    find_target,
    to_diagnostic,
)
from ralph_ls.editor.scheduling import Throttle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ralph_ls.core.views.model.diagnostic import Diagnostic
    from ralph_ls.core.views.model.document_context import FileKind
    from ralph_ls.editor.lsp.language_server import RalphLanguageServer
    from ralph_ls.editor.registration import FeatureContext
    from ralph_ls.editor.worktree.workspaces import Workspaces, WorkspaceView

FOLDER = "specs"

LONGEST_REST = 0.1
"""Seconds between two looks at a file, at most, while somebody types."""


MAX_DIAGNOSTICS = 1000
"""Diagnostics of one file; nobody reads more, and some editors stall over them."""


def register(context: FeatureContext) -> None:
    """Push diagnostics from now on."""
    server, workspaces, documents = context.server, context.workspaces, context.documents
    publisher = _Publisher(server, workspaces, documents)
    workspaces.on_change(publisher.refresh_neighbours)
    documents.on_edit(publisher.take_edit)
    specs = _SpecPublisher(server, workspaces, documents)
    workspaces.on_change(specs.refresh)
    documents.on_edit(specs.take_edit)
    settings = _TextPublisher(server, documents, is_config, config_diagnostics)
    documents.on_edit(settings.take_edit)
    is_lesson = partial(is_lesson_file, workspaces.environment)
    documents.on_edit(_TextPublisher(server, documents, is_lesson, lesson_diagnostics).take_edit)


class _TextPublisher:
    """Publishes the remarks on documents that depend on nothing else, while they are open."""

    def __init__(
        self,
        server: RalphLanguageServer,
        documents: LoopDocuments,
        is_ours: Callable[[str], bool],
        remarks_of: Callable[[str, str, Encoding], list[types.Diagnostic]],
    ) -> None:
        """``remarks_of`` takes the URI and the text."""
        self._server = server
        self._documents = documents
        self._is_ours = is_ours
        self._remarks_of = remarks_of
        self._sent: dict[str, list[types.Diagnostic]] = {}
        self._pacer = Throttle(self._publish, doing="diagnostics", longest_rest=LONGEST_REST)

    def take_edit(self, uri: str, edit: DocumentEvent) -> None:
        """The client changed a document, which may be none of ours."""
        if self._is_ours(uri):
            if edit is DocumentEvent.OPENED:
                # Some clients forget a file's diagnostics when they close it.
                self._sent.pop(uri, None)
            self._pacer.ask(uri)

    async def _publish(self, uri: str) -> None:
        opened = self._documents.open_document(uri)
        encoding = self._server.workspace.position_encoding
        found = [] if opened is None else self._remarks_of(uri, opened.source, encoding)
        if self._documents.is_over or found == self._sent.get(uri, []):
            return
        self._sent[uri] = found
        self._server.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri=uri, diagnostics=found)
        )


def config_diagnostics(_: str, text: str, encoding: Encoding) -> list[types.Diagnostic]:
    """All remarks on a config file."""
    from ralph_ls.core.views.model.diagnostic import most_severe
    from ralph_ls.store.project.config_remarks import config_remarks

    columns, abilities = PositionMapper(text, encoding), DisplayCapabilities()
    remarks = most_severe(config_remarks(text), MAX_DIAGNOSTICS)
    return [to_diagnostic(remark, columns, abilities) for remark in remarks]


class _SpecPublisher:
    """Publishes the remarks on specifications and their index, while they are open."""

    def __init__(
        self, server: RalphLanguageServer, workspaces: Workspaces, documents: LoopDocuments
    ) -> None:
        self._server = server
        self._documents = documents
        self._pages = ProjectDocuments(server, workspaces, documents)
        self._open: set[str] = set()
        self._sent: dict[str, list[types.Diagnostic]] = {}
        self._pacer = Throttle(self._publish, doing="diagnostics", longest_rest=LONGEST_REST)

    def refresh(self, view: WorkspaceView) -> None:
        """The plan or a run changed, so that other tasks may be done."""
        del view
        for uri in self._open:
            self._pacer.ask(uri)

    def take_edit(self, uri: str, edit: DocumentEvent) -> None:
        """The client changed a document, which may be none of ours."""
        if f"/{FOLDER}/" not in uri:
            return
        if edit is DocumentEvent.CLOSED:
            self._open.discard(uri)
        else:
            self._open.add(uri)
        self._pacer.ask(uri)

    async def _publish(self, uri: str) -> None:
        found = []
        if uri in self._open:
            found = await self._pages.read_around(uri, spec_diagnostics) or []
        if self._documents.is_over or found == self._sent.get(uri, []):
            return
        self._sent[uri] = found
        self._server.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri=uri, diagnostics=found)
        )


def spec_diagnostics(around: ProjectContext) -> list[types.Diagnostic]:
    """All remarks on a specification or the index; from any thread."""
    columns = around.here.columns()
    return [
        types.Diagnostic(
            range=columns.between(one.start, one.end),
            message=one.message,
            severity=types.DiagnosticSeverity.Warning,
            code=one.code,
            source=SOURCE,
        )
        for one in around.spec_remarks()
    ]


class _Publisher:
    """Keeps what was published to the client of each file."""

    def __init__(
        self, server: RalphLanguageServer, workspaces: Workspaces, documents: LoopDocuments
    ) -> None:
        self._server = server
        self._workspaces = workspaces
        self._documents = documents
        self._files: dict[str, tuple[WorkspaceView, FileKind]] = {}
        self._sent: dict[str, tuple[list[types.Diagnostic], int | None]] = {}
        self._forgotten: set[str] = set()
        """Files whose diagnostics the client may have dropped."""
        self._pacer = Throttle(self._publish, doing="diagnostics", longest_rest=LONGEST_REST)

    def refresh_neighbours(self, view: WorkspaceView) -> None:
        """The run or a file of the work tree changed, or the work tree came or went."""
        if self._documents.is_over:
            return
        known = {uri for uri, (owner, _) in self._files.items() if owner is view}
        current: dict[str, FileKind] = {}
        if view in self._workspaces.all():
            current = self._documents.files_of(view, self._workspaces)
        for uri in known - current.keys():
            del self._files[uri]
            self._take_back(uri, current.keys())
        for uri, kind in current.items():
            self._files[uri] = (view, kind)
        for uri in current:
            self._pacer.ask(uri)

    def take_edit(self, uri: str, edit: DocumentEvent) -> None:
        """The client changed a document, which may be none of ours."""
        place = self._workspaces.of_document(uri)
        if place is None:
            return
        if edit is DocumentEvent.OPENED and uri in self._sent:
            # Some clients forget a file's diagnostics when they close it.
            self._forgotten.add(uri)
        if edit in {DocumentEvent.OPENED, DocumentEvent.CLOSED}:
            self.refresh_neighbours(place[0])
        else:
            self._files[uri] = place
            self._pacer.ask(uri)

    def _take_back(self, uri: str, current: Iterable[str]) -> None:
        """At once: diagnostics of the same file under another name have to come later.

        We may call a file by another name than the client until it opens it, such as ``%40`` for
        ``@``, and most clients know both as one.
        """
        self._forgotten.discard(uri)
        if self._sent.pop(uri, None):
            self._forgotten.update(name for name in current if real_path(name) == real_path(uri))
            self._server.text_document_publish_diagnostics(
                types.PublishDiagnosticsParams(uri=uri, diagnostics=[])
            )

    async def _publish(self, uri: str) -> None:
        found, version = await self._find(uri)
        if uri not in self._files:
            # It was taken back meanwhile.
            return
        sent, of_version = self._sent.get(uri, ([], version))
        # An editor moves diagnostics with every edit, until they are published again.
        is_known = found == sent and (version == of_version or not found)
        if self._documents.is_over or (is_known and uri not in self._forgotten):
            return
        self._forgotten.discard(uri)
        if found:
            self._sent[uri] = (found, version)
        else:
            self._sent.pop(uri, None)
        self._server.text_document_publish_diagnostics(
            types.PublishDiagnosticsParams(uri=uri, diagnostics=found, version=version)
        )
        await self._server.drained()

    async def _find(self, uri: str) -> tuple[list[types.Diagnostic], int | None]:
        """A file's diagnostics; none if it is gone or no longer ours."""
        place = self._files.get(uri)
        if place is None:
            return [], None
        abilities = display_capabilities(self._server.client_capabilities)

        def compute(sight: DocumentSnapshot) -> tuple[list[types.Diagnostic], int | None]:
            return diagnostics_of(sight, abilities), sight.version

        def without(found: UnreadableDocument) -> tuple[list[types.Diagnostic], int | None]:
            return [unreadable_diagnostics(found)], found.version

        view, kind = place
        looked = await self._documents.read(view, kind, compute, uri=uri, without=without)
        return ([], None) if looked is None else looked


def unreadable_diagnostics(found: UnreadableDocument) -> types.Diagnostic:
    """The diagnostics of a file that is not read."""
    from ralph_ls.core.views.model.diagnostic import DiagnosticCode

    beginning = types.Position(line=0, character=0)
    return types.Diagnostic(
        range=types.Range(start=beginning, end=beginning),
        message=found.why,
        severity=types.DiagnosticSeverity.Error,
        code=DiagnosticCode.FILE_NOT_READ,
        source=SOURCE,
    )


def diagnostics_of(
    sight: DocumentSnapshot, abilities: DisplayCapabilities
) -> list[types.Diagnostic]:
    """All remarks on one file, with links to their causes; from any thread."""
    from ralph_ls.core.views.document.answers import answer_diagnostics
    from ralph_ls.core.views.document.diagnostics import diagnostics
    from ralph_ls.core.views.document.quick_fixes import check_diagnostics, edit_conflict
    from ralph_ls.core.views.model.diagnostic import most_severe

    seen = sight.seen
    remarks = [*diagnostics(seen), *answer_diagnostics(seen), *check_diagnostics(seen)]
    if sight.conflict is not None:
        remarks.append(edit_conflict(seen))
    remarks = most_severe(remarks, MAX_DIAGNOSTICS)
    links = {remark.link for remark in remarks}
    targets = {link: find_target(link, sight.root, sight.run_files) for link in links}
    columns, state = sight.columns(), seen.state
    data = {"workspace": sight.workspace} | ({} if state is None else {"run": state.run})
    shown = []
    for remark in remarks:
        target = targets[remark.link]
        one = to_diagnostic(remark, columns, abilities, target=target, data=data)
        if remark.related and abilities.related:
            one.related_information = [
                *(one.related_information or ()),
                *_places_in(sight.uri, remark, columns),
            ]
        shown.append(one)
    return shown


def _places_in(
    uri: str, remark: Diagnostic, columns: PositionMapper
) -> Iterable[types.DiagnosticRelatedInformation]:
    """The other places that a remark is about, all in its own file."""
    for one in remark.related:
        where = columns.range(one.place.line, one.place.start, one.place.end)
        location = types.Location(uri=uri, range=where)
        yield types.DiagnosticRelatedInformation(location=location, message=one.message)
