"""Conversion between neutral values and LSP's: URIs, positions, links, markdown.

Functions over values; what a client can show is read once from its capabilities. URIs are read
without ever raising: pygls raises for ``http://[::1``, takes ``;`` for the beginning of parameters,
and makes paths with a NUL in them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_to_bytes

from lsprotocol import types

from ralph_ls.core.plurals import numbered_iteration

LONGEST_PATH = 4096 if os.name == "posix" else 32_767
"""Characters; longer paths name no file, and looking for one takes long."""

_FILE = re.compile(r"file:(?://([^/?#]*))?([^?#]*)", re.IGNORECASE)
_DRIVE = re.compile(r"/[A-Za-z]:")
_LOCAL = frozenset({"", "localhost"})
_LONGEST_PRINTED = 200
_UNPRINTABLE = re.compile(r"[^\x20-\x7e]")


def path_of_uri(uri: str) -> str | None:
    """The absolute path of a ``file:`` URI on this machine.

    None for whatever names no such file. The host of a UNC path is accepted on Windows alone:
    elsewhere it names another machine.

    pygls 2.1.1: ``uris.to_fs_path`` raises for ``http://[::1``, takes ``;`` for the beginning of
    parameters, and makes paths with a NUL in them. Upstream: return None for what names no local
    file.
    """
    parts = _FILE.match(uri)
    if parts is None or len(uri) > 3 * LONGEST_PATH:
        return None
    host, path = _decoded(parts[1] or ""), _decoded(parts[2])
    if host is None or path is None or not path.startswith("/") or len(path) > LONGEST_PATH:
        return None
    is_local = host.lower() in _LOCAL
    if os.name == "nt":
        path = (path[1:] if _DRIVE.match(path) else path) if is_local else f"//{host}{path}"
        return path.replace("/", "\\")
    return path if is_local else None


def printable_uri(uri: str) -> str:
    """A URI as part of a message: without control characters, and of bounded length."""
    text = _UNPRINTABLE.sub("?", uri[: _LONGEST_PRINTED + 1])
    return text if len(uri) <= _LONGEST_PRINTED else f"{text[:_LONGEST_PRINTED]}..."


def _decoded(text: str) -> str | None:
    """Without percent signs; None where that is no text, or holds a NUL."""
    try:
        decoded = unquote_to_bytes(text).decode()
    except UnicodeError:
        return None
    return None if "\0" in decoded else decoded


if TYPE_CHECKING:
    from ralph_ls.core.views.model.diagnostic import Diagnostic
    from ralph_ls.store.layout import RunFiles

SOURCE = "ralph"
"""What every diagnostic says that it comes from."""

SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "information": types.DiagnosticSeverity.Information,
    "hint": types.DiagnosticSeverity.Hint,
}

NEWEST_ATTEMPT = 2
"""An agent that failed without a result is tried once more (docs/rules.md#agent-process)."""

Encoding = types.PositionEncodingKind | str | None
"""None is UTF-16, as for a client that says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DisplayCapabilities:
    """What a client can show, as far as it changes what it is sent."""

    code_link: bool = False
    """A diagnostic's code may be a link."""
    related: bool = False
    """A diagnostic may name other places."""
    data: bool = False
    """A diagnostic's data come back with the code actions that are asked for it."""
    markdown: bool = False
    """A hover may be markdown."""
    code_actions: bool = False
    """Code actions may be more than commands."""
    lens_refresh: bool = False
    hint_refresh: bool = False
    token_refresh: bool = False
    progress: bool = False
    """Work-done progress may be begun by the server."""


def display_capabilities(client: types.ClientCapabilities) -> DisplayCapabilities:
    """Read them from what the client said at ``initialize``; what is not said is not there."""
    document, workspace, window = client.text_document, client.workspace, client.window
    publish = document.publish_diagnostics if document else None
    hover = document.hover if document else None
    actions = document.code_action if document else None
    lens = workspace.code_lens if workspace else None
    hint = workspace.inlay_hint if workspace else None
    tokens = workspace.semantic_tokens if workspace else None
    formats = (hover.content_format if hover else None) or ()
    return DisplayCapabilities(
        code_link=bool(publish and publish.code_description_support),
        related=bool(publish and publish.related_information),
        data=bool(publish and publish.data_support),
        markdown=types.MarkupKind.Markdown in formats,
        code_actions=bool(actions and actions.code_action_literal_support),
        lens_refresh=bool(lens and lens.refresh_support),
        hint_refresh=bool(hint and hint.refresh_support),
        token_refresh=bool(tokens and tokens.refresh_support),
        progress=bool(window and window.work_done_progress),
    )


# -------------------------------------------------------------------------------------- positions


def code_units(text: str, encoding: Encoding) -> int:
    """How long ``text`` is for the client."""
    if text.isascii():
        return len(text)
    match encoding:
        case types.PositionEncodingKind.Utf8:
            return len(text.encode("utf-8", "surrogatepass"))
        case types.PositionEncodingKind.Utf32:
            return len(text)
        case _:
            return len(text) + sum(character > "\uffff" for character in text)


def characters(line: str, units: int, encoding: Encoding) -> int:
    """How many characters of ``line`` are before ``units``.

    A place inside a character is the one before it; one behind the end of the line is the end.
    """
    if line.isascii() or encoding == types.PositionEncodingKind.Utf32:
        return min(units, len(line))
    passed = 0
    for index, character in enumerate(line):
        passed += code_units(character, encoding)
        if passed > units:
            return index
    return len(line)


class PositionMapper:
    """Ranges of one text in a client's code units; the text is cut into lines at most once."""

    def __init__(self, text: str, encoding: Encoding) -> None:
        self._text = text
        self._encoding = encoding
        # Most plans are plain ASCII, where a character is one unit in every encoding.
        self._plain = text.isascii()
        self._lines: list[str] | None = None

    def range(self, line: int, start: int, end: int) -> types.Range:
        """A part of one line; ``start`` and ``end`` in characters."""
        return types.Range(
            start=types.Position(line=line, character=self._units(line, start)),
            end=types.Position(line=line, character=self._units(line, end)),
        )

    def between(self, start: int, end: int) -> types.Range:
        """A part of the text; ``start`` and ``end`` in characters of the text."""
        return types.Range(start=self._position(start), end=self._position(end))

    def whole_line(self, line: int) -> types.Range:
        """A line without its ending; an empty range behind the last one."""
        text = self._line(line)
        return self.range(line, 0, len(text))

    def _position(self, offset: int) -> types.Position:
        from ralph_ls.core.plan.parse.lines import lines_of

        line, begin = 0, 0
        for number, (start, _) in enumerate(lines_of(self._text)):
            if start > offset:
                break
            line, begin = number, start
        return types.Position(line=line, character=self._units(line, offset - begin))

    def _units(self, line: int, column: int) -> int:
        return column if self._plain else code_units(self._line(line)[:column], self._encoding)

    def _line(self, line: int) -> str:
        if self._lines is None:
            from ralph_ls.core.plan.parse.lines import lines_of

            self._lines = [text for _, text in lines_of(self._text)]
        return self._lines[line] if line < len(self._lines) else ""


# ------------------------------------------------------------------------------------------- URIs


def to_uri(path: Path) -> str:
    """The URI of an absolute path."""
    return path.as_uri()


def uri_within(path: Path, root: Path, folder_uri: str) -> str:
    """The URI of a file in a work tree, written as the client wrote that of the work tree.

    A client that opened a folder through a symbolic link takes only such a URI for its own file.
    """
    folder = path_of_uri(folder_uri)
    if folder is None or not path.is_relative_to(root):
        return to_uri(path)
    relative = path.relative_to(root).as_posix()
    return f"{folder_uri.rstrip('/')}/{quote(relative)}"


_START = re.compile(r"(\d+)(?::(\d+)(?::(\d+))?)?")
"""A start, the iteration that users read for it, and its attempt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkTarget:
    """A file that a link leads to."""

    path: Path
    title: str


def find_target(link: str | None, root: Path, files: RunFiles | None) -> LinkTarget | None:
    """The file behind ``file:PATH``, ``start:N:ITERATION:ATTEMPT`` or ``engine:``; None where it
    is gone.

    Looks at the disk, so it is no work for the event loop's thread.
    """
    kind, _, rest = (link or "").partition(":")
    candidates: list[LinkTarget] = []
    if kind == "file":
        candidates = [LinkTarget(path=root / rest, title=rest)]
    elif kind == "start" and files is not None and (named := _START.fullmatch(rest)):
        start, iteration, tries = named.groups()
        which = numbered_iteration(int(iteration or start), None, int(tries or 1))
        title = f"output of {which}"
        candidates = [
            LinkTarget(path=files.output(int(start), attempt, stream), title=title)
            for attempt in range(NEWEST_ATTEMPT, 0, -1)
            for stream in ("out", "err")
        ]
    elif kind == "engine" and files is not None:
        candidates = [LinkTarget(path=files.engine_errors, title="what the engine wrote last")]
    there = [target for target in candidates if target.path.is_file()]
    said_something = [target for target in there if target.path.stat().st_size]
    return next(iter([*said_something, *there]), None)


# ------------------------------------------------------------------------------------ diagnostics


def to_diagnostic(
    one: Diagnostic,
    columns: PositionMapper,
    abilities: DisplayCapabilities,
    *,
    target: LinkTarget | None = None,
    data: Mapping[str, object] | None = None,
) -> types.Diagnostic:
    """A remark as LSP has it; ``target`` is where its link leads."""
    shown = types.Diagnostic(
        range=columns.range(one.line, one.start, one.end),
        message=one.message,
        severity=SEVERITIES[one.severity],
        code=one.code,
        source=SOURCE,
    )
    if target is not None and abilities.code_link:
        shown.code_description = types.CodeDescription(href=to_uri(target.path))
    if target is not None and abilities.related:
        shown.related_information = [
            types.DiagnosticRelatedInformation(
                location=types.Location(uri=to_uri(target.path), range=_BEGINNING),
                message=target.title,
            )
        ]
    if data is not None and abilities.data:
        shown.data = dict(data)
    return shown


_BEGINNING = types.Range(
    start=types.Position(line=0, character=0), end=types.Position(line=0, character=0)
)


# ------------------------------------------------------------------------------------------- text

_PAIRS = re.compile(r"\\([!-/:-@\[-`{-~])|\*\*|`")
_MARKUP = re.compile(r"[\\`*_\[\]<>]")


def to_plain_text(markdown: str) -> str:
    """Our own hover texts for a client that shows no markdown: marks go, escapes are undone."""
    return _PAIRS.sub(lambda found: found[1] or "", markdown)


def to_link(target: LinkTarget) -> str:
    """A file as a markdown link."""
    title = _MARKUP.sub(lambda found: f"\\{found[0]}", target.title)
    return f"[{title}](<{to_uri(target.path)}>)"
