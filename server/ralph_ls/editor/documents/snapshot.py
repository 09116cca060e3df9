"""Document snapshot: one file of a loop at one moment; merge base of a document and its file.

Capturing belongs to the event loop's thread, reading and parsing to any: so a text that changes
meanwhile cannot be half old and half new. An editor reloads a file that changed on the disk only
while the document has no unsaved changes; with both changed, their last common text is the base for
a merge. Nothing is written here.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ralph_ls.editor.lsp.conversion import Encoding, PositionMapper, path_of_uri, to_uri, uri_within
from ralph_ls.protocol.errors import StateUnusable

if TYPE_CHECKING:
    from ralph_ls.core.plan.diff.merge_lines import MergedPlan
    from ralph_ls.core.plan.model import PlanKind
    from ralph_ls.editor.worktree.snapshot import FileSignature

BOM = "\ufeff"

KEPT_OFFERS = 4
"""Merges that were offered and may still be taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditConflict:
    """The file was changed while the document has changes that are not saved."""

    base: str
    theirs: str
    """The file's text."""


class MergeBase:
    """Of one open document."""

    def __init__(self, opened: str, *, read: Callable[[Path], str | None]) -> None:
        """``read`` gives a file's text, None where there is none that could be shown."""
        self._read = read
        self._lock = threading.Lock()
        self._opened: str | None = opened
        """As the client opened it, until the file was looked at."""
        self._base = opened
        self._disk: str | None = None
        self._signature: FileSignature | None = None
        self._offers: OrderedDict[str, str] = OrderedDict()
        """Merged text to the file's text that is in it."""

    def changed(self, text: str) -> None:
        """The document was changed: perhaps it was reloaded, or a merge was accepted."""
        with self._lock:
            if text == self._disk:
                self._base = text
            elif text in self._offers:
                self._base = self._offers[text]

    def saved(self, text: str) -> str:
        """The document was written to the file; gives what it had in common before."""
        with self._lock:
            before, self._base, self._opened = self._base, text, None
            return before

    def conflict(self, text: str, path: Path) -> EditConflict | None:
        """What the file holds that the document does not, where both have changed; it may block."""
        with self._lock:
            self._read_file(path, text)
            disk = self._disk
            if disk is None or disk == text:
                self._base = text if disk == text else self._base
                return None
            if self._base in {text, disk}:
                return None
            return EditConflict(base=self._base, theirs=disk)

    def offer(self, text: str, conflict: EditConflict, kind: PlanKind) -> MergedPlan:
        """The document's text with what it has not seen; once that is taken, it is seen."""
        from ralph_ls.core.plan.formats.dispatch import merge_plans

        merged = merge_plans(kind, conflict.base, text, conflict.theirs)
        with self._lock:
            self._offers[merged.text] = conflict.theirs
            while len(self._offers) > KEPT_OFFERS:
                self._offers.popitem(last=False)
        return merged

    def _read_file(self, path: Path, text: str) -> None:
        """Read the file where it differs from the last look."""
        from ralph_ls.editor.worktree.snapshot import signature_of

        signature = signature_of(path)
        if signature != self._signature:
            self._signature = signature
            disk = None if signature is None else self._read(path)
            # An editor keeps the mark at a file's beginning to itself.
            self._disk = disk if disk is None or text[:1] == BOM else disk.removeprefix(BOM)
        if self._opened is not None and self._disk is not None:
            # What was not saved when it was opened is a change of the document's.
            self._base, self._opened = self._disk, None


if TYPE_CHECKING:
    from ralph_ls.core.plan.model import ParsedPlan, PlanKind
    from ralph_ls.core.views.model.document_context import DocumentContext, FileKind
    from ralph_ls.editor.worktree.snapshot import WorkspaceSnapshot
    from ralph_ls.editor.worktree.workspaces import WorkspaceView
    from ralph_ls.store.layout import RunFiles

KEPT_PARSES = 32
"""Files whose last parse is remembered."""


class PlanParseOptions(NamedTuple):
    """How the text of a plan is to be read."""

    kind: PlanKind
    optional_sections: tuple[str, ...] = ()
    skip_review: bool = False
    tag: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentSource:
    """A file that is about to be read."""

    view: WorkspaceView
    kind: FileKind
    path: Path | None
    """None where the work tree has no such file."""
    uri: str
    text: str | None = None
    """The open document's."""
    version: int | None = None
    picture: WorkspaceSnapshot
    is_main: bool = True
    """False for a plan that is not the one of the work tree's loop."""
    encoding: Encoding = None
    common: MergeBase | None = None
    """What the open document and the file had in common last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentSnapshot:
    """One file of a work tree as it is now, and how the client calls it."""

    uri: str
    version: int | None
    """The open document's; None for a file that is not open."""
    workspace: str
    """URI of the work tree, as commands name it."""
    root: Path
    further_plan: str | None
    """The plan's path in the work tree, where it is not the one of the work tree's loop."""
    run_files: RunFiles | None
    encoding: Encoding
    seen: DocumentContext
    common: MergeBase | None = None
    conflict: EditConflict | None = None
    """What the file holds that the open document, which is not saved, does not."""

    def columns(self) -> PositionMapper:
        """Ranges of this text, as the client counts."""
        return PositionMapper(self.seen.text, self.encoding)


class UnreadableDocument(NamedTuple):
    """A file that is there and of which nothing is shown but why that is so."""

    why: str
    version: int | None = None


class ParseCache:
    """Plans that were parsed, by file: the same text is parsed once. From any thread.

    Of a text that was changed only the part that differs is read again, so a keystroke in a long
    plan costs next to nothing.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[Path, _CachedParse] = OrderedDict()

    def parse(self, path: Path, text: str, how: PlanParseOptions) -> ParsedPlan:
        """The plan in ``text``; concurrent callers for the same file wait for one parse."""
        with self._lock:
            known = self._known.setdefault(path, _CachedParse())
            self._known.move_to_end(path)
            while len(self._known) > KEPT_PARSES:
                self._known.popitem(last=False)
        with known.lock:
            if known.parsed is None or known.how != how:
                known.parsed = _parse(text, how)
            elif known.text != text:
                known.parsed = _reparse(known.parsed, known.text, text, how)
            known.text, known.how = text, how
            return known.parsed


@dataclass(slots=True)
class _CachedParse:
    lock: threading.Lock = field(default_factory=threading.Lock)
    text: str = ""
    how: PlanParseOptions | None = None
    parsed: ParsedPlan | None = None


def _parse(text: str, how: PlanParseOptions) -> ParsedPlan:
    from ralph_ls.core.plan.formats.dispatch import parse_plan

    return parse_plan(
        text,
        how.kind,
        optional_sections=how.optional_sections,
        skip_review=how.skip_review,
        tag=how.tag,
    )


def _reparse(parsed: ParsedPlan, before: str, text: str, how: PlanParseOptions) -> ParsedPlan:
    """Read what differs again, where the kind of plan can be read in parts."""
    from ralph_ls.core.plan.formats.dispatch import reparse_plan

    return reparse_plan(
        parsed,
        before,
        text,
        how.kind,
        optional_sections=how.optional_sections,
        skip_review=how.skip_review,
        tag=how.tag,
    )


def read_document_snapshot(
    source: DocumentSource, parses: ParseCache
) -> DocumentSnapshot | UnreadableDocument | None:
    """Read the file, parse it if it is a plan, and put the run beside it; None where there is none.

    One that cannot be read, or is beyond the limits of a plan, is not parsed at all. From any
    thread, and it may block.
    """
    text: str | UnreadableDocument | None = source.text
    if isinstance(text, str):
        text = check_text_limits(text, source.version)
    elif source.path is not None:
        text = _text_at(source.path)
    return (
        text
        if text is None or isinstance(text, UnreadableDocument)
        else _snapshot_of(source, text, parses)
    )


def check_text_limits(text: str, version: int | None = None) -> str | UnreadableDocument:
    """The text, or why nothing of it is shown."""
    from ralph_ls.core.plan.model import text_limit_error

    why = text_limit_error(text)
    return (
        text
        if why is None
        else UnreadableDocument(f"this file is {why}, so it is not read", version)
    )


def context_without_file(source: DocumentSource) -> DocumentContext:
    """What there is to see of a file that is not there."""
    from ralph_ls.core.views.model.document_context import FileKind

    issues = source.view.issues if source.kind is FileKind.PLAN else None
    if issues is None:
        return _context_of(source, "", None)
    return _context_of(source, issues.text, issues.parsed)


def _snapshot_of(source: DocumentSource, text: str, parses: ParseCache) -> DocumentSnapshot:
    from ralph_ls.core.plan.formats.plan_format import PlanStorage
    from ralph_ls.core.plan.formats.registry import format_of
    from ralph_ls.core.views.model.document_context import FileKind

    parsed = conflict = None
    if source.kind is FileKind.PLAN and source.path is not None:
        if source.common is not None:
            conflict = source.common.conflict(text, source.path)
        parsed = parses.parse(source.path, text, plan_parse_options(source))
    view, further = source.view, None
    if not source.is_main and source.path is not None:
        further = Path(os.path.relpath(os.path.realpath(source.path), view.root)).as_posix()
        if format_of(plan_parse_options(source).kind).storage is PlanStorage.FOLDER:
            further = further.rpartition("/")[0]
    return DocumentSnapshot(
        uri=source.uri,
        version=source.version,
        workspace=view.uri,
        root=view.root,
        further_plan=further,
        run_files=source.picture.run_files if source.is_main else None,
        encoding=source.encoding,
        seen=_context_of(source, text, parsed),
        common=source.common,
        conflict=conflict,
    )


def _context_of(source: DocumentSource, text: str, parsed: ParsedPlan | None) -> DocumentContext:
    from ralph_ls.core.plan.formats.registry import format_of_text
    from ralph_ls.core.plan.model import ParsedPlan, Plan
    from ralph_ls.core.views.model.document_context import DocumentContext

    read = ParsedPlan(plan=Plan()) if parsed is None else parsed
    kind = format_of_text(plan_parse_options(source).kind, text).name
    if not source.is_main:
        # No run is about it, so nothing of one is shown in it.
        return DocumentContext(text=text, file=source.kind, parsed=read, kind=kind)
    return source.picture.context_of(text, read, kind, source.kind)


def plan_parse_options(source: DocumentSource) -> PlanParseOptions:
    """What the plan is written in, and how the newest run reads it; before any, the settings."""
    from ralph_ls.core.plan.formats.registry import format_of_file
    from ralph_ls.core.plan.model import PlanKind

    kind, state = source.view.plan_kind, source.picture.state
    is_request = kind is PlanKind.REQUEST and source.is_main
    if source.path is not None and not is_request:
        kind = format_of_file(path_in(source.view.root, source.path), kind).name
    view, tag = source.view, source.view.plan_tag
    if state is None:
        return PlanParseOptions(kind, view.optional_sections, view.skip_review, tag)
    return PlanParseOptions(kind, state.config.optional_sections, state.config.skip_review, tag)


def path_in(root: Path, path: Path) -> str:
    """The path relative to the work tree, else its name."""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name


def path_of(view: WorkspaceView, kind: FileKind) -> Path | None:
    """Where the work tree has the file, or would have it."""
    from ralph_ls.core.views.model.document_context import FileKind

    paths = {
        FileKind.PLAN: view.plan_path,
        FileKind.DECIDE: view.decide_path,
        FileKind.BLOCKED: view.blocked_path,
    }
    return paths[kind]


def uri_of(view: WorkspaceView, path: Path) -> str:
    """What the client would call the file, as far as can be known."""
    if real_path(view.uri) == str(view.root):
        return uri_within(path, view.root, view.uri)
    return to_uri(path)


def real_path(uri: str) -> str:
    """The file that a URI means, without symbolic links; the URI itself where it means none."""
    path = path_of_uri(uri)
    return uri if path is None else os.path.realpath(path)


def text_of(path: Path) -> str | None:
    """The file's text; None if there is none that is readable text."""
    text = _text_at(path)
    return None if isinstance(text, UnreadableDocument) else text


def _text_at(path: Path) -> str | UnreadableDocument | None:
    from ralph_ls.store.files import read_regular

    try:
        data = read_regular(path)
    except StateUnusable as error:
        return UnreadableDocument(error.message)
    return None if data is None else check_text_limits(data.decode("utf-8", errors="replace"))
