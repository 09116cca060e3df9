"""Renaming: of a task's id wherever it is written, and as a way to answer in any editor.

Right at an explicit id "rename" is what its name says: of the task, and of all that names it. On
the line of the open question, and anywhere in the decide file, it asks for a text with nothing in
it yet, and what is typed is the answer, by which no text is ever changed. It must never know how an
answer reaches the run, nor where ids stand.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from lsprotocol import types

from ralph_ls.editor import task_ids
from ralph_ls.editor.documents import Documents
from ralph_ls.editor.pages import Around, Pages
from ralph_ls.editor.sights import Sight
from ralph_ls.editor.workspace_edits import edit_abilities
from ralph_ls.protocol.errors import NoEngine, RalphError

if TYPE_CHECKING:
    from collections.abc import Callable

    from ralph_ls.editor.mended import MendedServer
    from ralph_ls.editor.workspaces import Workspaces
    from ralph_ls.protocol.lsp.methods import AnswerParams
    from ralph_ls.protocol.lsp.options import EditorOptions

NO_QUESTION = "no question waits for an answer on this line, and nothing else can be renamed here"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question that waits where somebody would rename."""

    where: types.Range
    workspace: str
    goes_on: bool
    """Whether the run has no engine, and is taken up with the answer."""


def register(
    server: MendedServer,
    workspaces: Workspaces,
    documents: Documents,
    options: Callable[[], EditorOptions],  # noqa: ARG001 -- every feature is registered alike
) -> None:
    """Take renames, of ids and as answers."""
    pages = Pages(server, workspaces, documents)

    async def find(uri: str, line: int) -> Asked | None:
        await workspaces.ready()
        place = workspaces.of_document(uri)
        if place is None:
            return None
        view, kind = place

        def compute(sight: Sight) -> Asked | None:
            return asked_at(sight, line)

        return await documents.look(view, kind, compute, uri=uri)

    @server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
    async def prepare(params: types.PrepareRenameParams) -> types.PrepareRenamePlaceholder | None:
        def compute(around: Around) -> types.PrepareRenamePlaceholder | None:
            return id_at(around, params.position)

        # An id goes first: a new one must never be taken for an answer.
        named = await pages.look_around(params.text_document.uri, compute)
        if named is not None:
            return named
        asked = await find(params.text_document.uri, params.position.line)
        if asked is None:
            return None
        return types.PrepareRenamePlaceholder(range=asked.where, placeholder="")

    @server.feature(types.TEXT_DOCUMENT_RENAME)
    async def rename(params: types.RenameParams) -> types.WorkspaceEdit:
        versioned = edit_abilities(server.client_capabilities).versions

        def compute(around: Around) -> types.WorkspaceEdit | None:
            return task_ids.rename(around, params.position, params.new_name, versioned=versioned)

        edit = await pages.look_around(params.text_document.uri, compute)
        if edit is not None:
            return edit
        asked = await find(params.text_document.uri, params.position.line)
        if asked is None:
            raise NoEngine(NO_QUESTION)
        await _answer(workspaces, asked, params.new_name)
        return types.WorkspaceEdit(changes={})


def id_at(around: Around, position: types.Position) -> types.PrepareRenamePlaceholder | None:
    """The id that a rename at a place would change."""
    from ralph_ls.core.views.document.task_ids import is_written_id

    asked = task_ids.find(around, position)
    if asked is None or not is_written_id(asked.place.use.id):
        return None
    use = asked.place.use
    written = around.here.page.outline.lines[use.line][use.start : use.end]
    return types.PrepareRenamePlaceholder(range=asked.place.range, placeholder=written)


def asked_at(sight: Sight, line: int) -> Asked | None:
    """The question that a rename in this line (from 0) would answer; from any thread."""
    from ralph_ls.core.views.model.actions import answer_action
    from ralph_ls.core.views.model.document_context import (
        FileKind,
        document_positions,
        open_question,
    )

    seen = sight.seen
    waits, action = open_question(seen), answer_action(seen)
    if waits is None or action is None or seen.file is FileKind.BLOCKED:
        return None
    # The lens that says so stands above the first line, too.
    lines = {0, document_positions(seen).of_start(waits.start).line}
    if seen.file is FileKind.PLAN and line not in lines:
        return None
    return Asked(
        where=sight.columns().whole_line(line),
        workspace=sight.workspace,
        goes_on=action.arguments.get("continue") is True,
    )


async def _answer(workspaces: Workspaces, asked: Asked, text: str) -> None:
    """Give the answer as the request of that name would; raises where it is not taken."""
    from ralph_ls.editor.codec import read_params
    from ralph_ls.editor.requests import control
    from ralph_ls.protocol.lsp.methods import ANSWER, METHODS

    given = {"workspace": asked.workspace, "text": text, "continue": asked.goes_on}
    params = cast("AnswerParams", read_params(METHODS[ANSWER], given))
    reply = await control.answer(workspaces, params)
    if not reply.accepted:
        raise RalphError(reply.text)
