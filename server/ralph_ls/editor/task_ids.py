"""Every place of a task's id, in the plan, in what was done and in the specifications.

The specifications and what was done speak of the work tree's own plan; another plan stands alone.
It must never know a request.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lsprotocol import types

from ralph_ls.editor.pages import Around, Shown
from ralph_ls.protocol.errors import RalphError

if TYPE_CHECKING:
    from ralph_ls.core.views.document.task_ids import KnownTaskIds, TaskIdUse


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One use of an id, and the page that it stands in."""

    shown: Shown
    use: TaskIdUse

    @property
    def range(self) -> types.Range:
        use = self.use
        return self.shown.columns().range(use.line, use.start, use.end)

    @property
    def location(self) -> types.Location:
        return types.Location(uri=self.shown.uri, range=self.range)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The id at a cursor, and the ids that there are."""

    place: Place
    known: KnownTaskIds


def find(around: Around, position: types.Position) -> Asked | None:
    """The id that a cursor stands at; None where none of this plan stands."""
    from ralph_ls.core.views.document.task_ids import task_id_at

    here, known = around.here, known_around(around)
    use = task_id_at(here.page, known, position.line, here.column(position))
    return None if use is None else Asked(place=Place(shown=here, use=use), known=known)


def known_around(around: Around) -> KnownTaskIds:
    """The ids of the plan, and of what was done."""
    from ralph_ls.core.views.document.task_ids import known_task_ids

    shown = [around.plan, around.progress if _is_of_main_plan(around) else None]
    return known_task_ids(*(one.page.plan for one in shown if one is not None))


def everywhere(around: Around, asked: Asked) -> Iterator[Place]:
    """Every place of the id: in the plan first, then in what was done, then in specifications."""
    for shown in _pages(around, asked.place.use.id):
        yield from in_page(shown, asked)


def in_page(shown: Shown, asked: Asked) -> Iterator[Place]:
    """The places in one page."""
    from ralph_ls.core.views.document.task_ids import task_id_uses

    for use in task_id_uses(shown.page, asked.known):
        if use.id == asked.place.use.id:
            yield Place(shown=shown, use=use)


def rename(
    around: Around, position: types.Position, new_name: str, *, versioned: bool
) -> types.WorkspaceEdit | None:
    """The edit that gives a task another id; None where no id that could be changed stands.

    ``versioned``: edits may say which version of a document they are for. Raises ``RalphError``
    where the new id cannot be taken.
    """
    from ralph_ls.core.views.document.task_ids import is_written_id, rename_refusal

    asked = find(around, position)
    if asked is None or not is_written_id(asked.place.use.id):
        return None
    refusal = rename_refusal(asked.place.use.id, new_name, asked.known)
    if refusal is not None:
        raise RalphError(refusal)
    edits: dict[str, list[types.TextEdit]] = {}
    versions: dict[str, int | None] = {}
    for place in everywhere(around, asked):
        edit = types.TextEdit(range=place.range, new_text=new_name)
        edits.setdefault(place.shown.uri, []).append(edit)
        versions[place.shown.uri] = place.shown.version
    if not versioned:
        return types.WorkspaceEdit(changes=edits)
    changes = [
        types.TextDocumentEdit(
            text_document=types.OptionalVersionedTextDocumentIdentifier(
                uri=uri, version=versions[uri]
            ),
            edits=[*of_one],
        )
        for uri, of_one in edits.items()
    ]
    return types.WorkspaceEdit(document_changes=changes)


def _pages(around: Around, task_id: str) -> Iterator[Shown]:
    from ralph_ls.core.plan.specs import FOLDER
    from ralph_ls.core.views.document.page import PageKind

    if around.plan is not None:
        yield around.plan
    if not _is_of_main_plan(around):
        return
    progress = around.progress
    if progress is not None:
        yield progress
    for name in around.spec_names():
        path = f"{FOLDER}/{name}"
        spec = around.here if path == around.here.page.name else around.read(PageKind.SPEC, path)
        # Most of them do not name the task at all.
        if spec is not None and task_id.casefold() in spec.page.text.casefold():
            yield spec


def _is_of_main_plan(around: Around) -> bool:
    return around.plan is None or around.plan.is_main
