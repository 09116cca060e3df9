"""Open documents: positions and changes as an editor counts them.

pygls cuts texts wherever Python sees a line end, so at a form feed or at U+2028 too. An editor does
not, so from there on every change would go to the wrong place. pygls also rebuilds the whole text
line by line at each key.
"""

from __future__ import annotations

import logging
import re
from itertools import pairwise
from urllib.parse import unquote

from lsprotocol import types
from pygls.workspace import TextDocument, Workspace

from ralph_ls.editor.lsp.conversion import characters, path_of_uri, printable_uri

logger = logging.getLogger(__name__)

_LINE_END = re.compile(r"\r\n|\r|\n")


class TolerantWorkspace(Workspace):
    """Workspace that takes documents whatever their URI is.

    pygls 2.1.1: ``Workspace`` raises for a URI that cannot be parsed, and for a change of a
    document that is not open. Upstream: keep such a document without a path, and log the change.
    """

    @classmethod
    def of(cls, workspace: Workspace) -> TolerantWorkspace:
        """An empty one with the same folders and encoding."""
        return cls(
            None,
            workspace_folders=list(workspace.folders.values()),
            position_encoding=workspace.position_encoding,
        )

    def update_text_document(
        self,
        text_doc: types.VersionedTextDocumentIdentifier,
        change: types.TextDocumentContentChangeEvent,
    ) -> None:
        if unquote(text_doc.uri) in self._text_documents:
            super().update_text_document(text_doc, change)
        else:
            logger.warning("A change of %s, which is not open", printable_uri(text_doc.uri))

    def _create_text_document(
        self,
        doc_uri: str,
        source: str | None = None,
        version: int | None = None,
        language_id: str | None = None,
    ) -> TextDocument:
        named = doc_uri if path_of_uri(doc_uri) is not None else ""
        document = OpenDocument(
            named,
            source=source,
            version=version,
            language_id=language_id,
            position_codec=self.position_codec,
        )
        document.uri = doc_uri
        return document


class OpenDocument(TextDocument):
    """Text document with the lines of LSP.

    pygls 2.1.1: ``TextDocument`` splits lines wherever ``str.splitlines`` does, so at a form feed
    or at U+2028 too, and rebuilds the text line by line at each change. Upstream: split at CR LF,
    LF and CR alone, and splice.
    """

    @classmethod
    def of(cls, document: TextDocument) -> OpenDocument:
        """The same document, from now on changed our way."""
        return cls(
            document.uri,
            source=document.source,
            version=document.version,
            language_id=document.language_id,
            position_codec=document.position_codec,
        )

    @property
    def lines(self) -> tuple[str, ...]:
        """Each line with its ending; a text that ends with one has no empty line behind it."""
        text, starts = self.source, [0]
        starts.extend(ending.end() for ending in _LINE_END.finditer(text))
        if starts[-1] < len(text):
            starts.append(len(text))
        return tuple(text[start:end] for start, end in pairwise(starts))

    def apply_change(self, change: types.TextDocumentContentChangeEvent) -> None:
        """Take one change, of a part or of the whole."""
        if isinstance(change, types.TextDocumentContentChangePartial):
            text = self.source
            start = self._offset(text, change.range.start)
            end = self._offset(text, change.range.end)
            # Joined in one step: a long text is copied as seldom as can be.
            self._source = "".join((text[:start], change.text, text[max(start, end) :]))
        else:
            self._source = change.text

    def _offset(self, text: str, position: types.Position) -> int:
        """The index of ``position`` in the text; one behind the end of anything is that end."""
        start = _line_start(text, position.line)
        ending = _LINE_END.search(text, start)
        line = text[start : len(text) if ending is None else ending.start()]
        return start + characters(line, position.character, self.position_codec.encoding)


def _line_start(text: str, line: int) -> int:
    """Where a line (from 0) begins; the text is searched, not cut up, since this is a keystroke."""
    start = _after_line_feeds(text, line)
    if text.find("\r", 0, start) < 0:
        return start
    start = 0
    for ending, _ in zip(_LINE_END.finditer(text), range(line), strict=False):
        start, line = ending.end(), line - 1
    return len(text) if line else start


def _after_line_feeds(text: str, n_lines: int) -> int:
    start = 0
    for _ in range(n_lines):
        start = text.find("\n", start) + 1
        if start == 0:
            return len(text)
    return start
