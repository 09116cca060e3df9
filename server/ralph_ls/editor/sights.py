"""One look at one of the loop's files: what to read is pinned down first, then read and parsed.

Pinning down belongs to the event loop's thread, reading to any: so a text that changes meanwhile
cannot be seen half old and half new. It must never know who looks, nor what is shown.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ralph_ls.editor.convert import Columns, Encoding, to_uri, uri_within
from ralph_ls.editor.uris import path_of_uri
from ralph_ls.protocol.errors import StateUnusable

if TYPE_CHECKING:
    from ralph_ls.core.plan.model import ParsedPlan, PlanKind
    from ralph_ls.core.views.model.document_context import DocumentContext, FileKind
    from ralph_ls.editor.two_writers import LastCommon, Unseen
    from ralph_ls.editor.workspaces import Picture, WorkspaceView
    from ralph_ls.store.layout import RunFiles

KEPT_PARSES = 32
"""Files whose last parse is remembered."""


class Reading(NamedTuple):
    """How the text of a plan is to be read."""

    kind: PlanKind
    optional_sections: tuple[str, ...] = ()
    skip_review: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file that is about to be read."""

    view: WorkspaceView
    kind: FileKind
    path: Path | None
    """None where the work tree has no such file."""
    uri: str
    text: str | None = None
    """The open document's."""
    version: int | None = None
    picture: Picture
    is_main: bool = True
    """False for a plan that is not the one of the work tree's loop."""
    encoding: Encoding = None
    common: LastCommon | None = None
    """What the open document and the file had in common last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """One file of a work tree as it stands, and how the client calls it."""

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
    common: LastCommon | None = None
    unseen: Unseen | None = None
    """What the file holds that the open document, which is not saved, does not."""

    def columns(self) -> Columns:
        """Ranges of this text, as the client counts."""
        return Columns(self.seen.text, self.encoding)


class NotShown(NamedTuple):
    """A file that is there and of which nothing is shown but why that is so."""

    why: str
    version: int | None = None


class Parses:
    """Plans that were parsed, by file: the same text is parsed once. From any thread.

    Of a text that was changed only the part that differs is read again, so a keystroke in a long
    plan costs next to nothing.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[Path, _Parse] = OrderedDict()

    def parse(self, path: Path, text: str, how: Reading) -> ParsedPlan:
        """The plan in ``text``; whoever asks while another parses the same file waits for it."""
        with self._lock:
            known = self._known.setdefault(path, _Parse())
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
class _Parse:
    lock: threading.Lock = field(default_factory=threading.Lock)
    text: str = ""
    how: Reading | None = None
    parsed: ParsedPlan | None = None


def _parse(text: str, how: Reading) -> ParsedPlan:
    from ralph_ls.core.plan.formats.dispatch import parse_plan

    return parse_plan(
        text, how.kind, optional_sections=how.optional_sections, skip_review=how.skip_review
    )


def _reparse(parsed: ParsedPlan, before: str, text: str, how: Reading) -> ParsedPlan:
    """Read what differs again, where the kind of plan can be read in parts."""
    from ralph_ls.core.plan.diff.text_diff import find_text_change
    from ralph_ls.core.plan.model import PlanKind
    from ralph_ls.core.plan.parse.markdown import reparse_markdown

    if how.kind is not PlanKind.MARKDOWN:
        return _parse(text, how)
    return reparse_markdown(parsed, find_text_change(before, text))


def read_sight(source: Source, parses: Parses) -> Sight | NotShown | None:
    """Read the file, parse it if it is a plan, and put the run beside it; None where there is none.

    One that cannot be read, or is beyond the limits of a plan, is not parsed at all. From any
    thread, and it may block.
    """
    text: str | NotShown | None = source.text
    if isinstance(text, str):
        text = within_limits(text, source.version)
    elif source.path is not None:
        text = _text_at(source.path)
    return text if text is None or isinstance(text, NotShown) else _sight_of(source, text, parses)


def within_limits(text: str, version: int | None = None) -> str | NotShown:
    """The text, or why nothing of it is shown."""
    from ralph_ls.core.plan.model import text_limit_error

    why = text_limit_error(text)
    return text if why is None else NotShown(f"this file is {why}, so it is not read", version)


def seen_without_file(source: Source) -> DocumentContext:
    """What there is to see of a file that is not there."""
    from ralph_ls.core.views.model.document_context import FileKind

    issues = source.view.issues if source.kind is FileKind.PLAN else None
    if issues is None:
        return _seen_of(source, "", None)
    return _seen_of(source, issues.text, issues.parsed)


def _sight_of(source: Source, text: str, parses: Parses) -> Sight:
    from ralph_ls.core.views.model.document_context import FileKind

    parsed = unseen = None
    if source.kind is FileKind.PLAN and source.path is not None:
        if source.common is not None:
            unseen = source.common.unseen(text, source.path)
        parsed = parses.parse(source.path, text, how_to_read(source))
    view, further = source.view, None
    if not source.is_main and source.path is not None:
        further = Path(os.path.relpath(os.path.realpath(source.path), view.root)).as_posix()
    return Sight(
        uri=source.uri,
        version=source.version,
        workspace=view.uri,
        root=view.root,
        further_plan=further,
        run_files=source.picture.run_files if source.is_main else None,
        encoding=source.encoding,
        seen=_seen_of(source, text, parsed),
        common=source.common,
        unseen=unseen,
    )


def _seen_of(source: Source, text: str, parsed: ParsedPlan | None) -> DocumentContext:
    from ralph_ls.core.plan.model import ParsedPlan, Plan
    from ralph_ls.core.views.model.document_context import DocumentContext

    read = ParsedPlan(plan=Plan()) if parsed is None else parsed
    kind = how_to_read(source).kind
    if not source.is_main:
        # No run is about it, so nothing of one is shown in it.
        return DocumentContext(text=text, file=source.kind, parsed=read, kind=kind)
    picture = source.picture
    return DocumentContext(
        text=text,
        file=source.kind,
        parsed=read,
        kind=kind,
        state=picture.state,
        phase=picture.phase,
        pid=picture.pid if picture.live else None,
        history=picture.history,
        halt=picture.halt,
    )


def how_to_read(source: Source) -> Reading:
    """What the plan is written in, and how the newest run reads it; before any, the settings."""
    from ralph_ls.core.plan.model import PlanKind, kind_of_file

    kind, state = source.view.plan_kind, source.picture.state
    is_request = kind is PlanKind.REQUEST and source.is_main
    if source.path is not None and not is_request:
        kind = kind_of_file(source.path.name, kind)
    if state is None:
        return Reading(kind, source.view.optional_sections, source.view.skip_review)
    return Reading(kind, state.config.optional_sections, state.config.skip_review)


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
    """The file's text; None where there is none that a person could read."""
    text = _text_at(path)
    return None if isinstance(text, NotShown) else text


def _text_at(path: Path) -> str | NotShown | None:
    from ralph_ls.store.files import read_regular

    try:
        data = read_regular(path)
    except StateUnusable as error:
        return NotShown(error.message)
    return None if data is None else within_limits(data.decode("utf-8", errors="replace"))
