"""Task ids: references and renaming, in the plan, the finished work and the specifications.

The specifications and the finished work belong to the work tree's own plan; any other plan is
separate. At an explicit id "rename" renames it everywhere. On the line of the open question, and in
the decide file, it asks for a text with nothing in it yet, and what is typed is the answer: no text
is changed. So any editor can answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from lsprotocol import types

from ralph_ls.editor.documents.project_documents import (
    ProjectContext,
    ProjectDocument,
    ProjectDocuments,
)
from ralph_ls.editor.documents.snapshot import DocumentSnapshot
from ralph_ls.editor.documents.workspace_edits import edit_capabilities
from ralph_ls.protocol.errors import NoEngine, RalphError

if TYPE_CHECKING:
    from ralph_ls.core.views.document.task_ids import KnownTaskIds, TaskIdUse
    from ralph_ls.editor.registration import FeatureContext


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskIdLocation:
    """One use of an id, and the page that it is in."""

    shown: ProjectDocument
    use: TaskIdUse

    @property
    def range(self) -> types.Range:
        use = self.use
        return self.shown.columns().range(use.line, use.start, use.end)

    @property
    def location(self) -> types.Location:
        return types.Location(uri=self.shown.uri, range=self.range)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskIdAtCursor:
    """The id at a cursor, and the ids that there are."""

    place: TaskIdLocation
    known: KnownTaskIds


def find_task_id(around: ProjectContext, position: types.Position) -> TaskIdAtCursor | None:
    """The id at a cursor; None if no id of this plan is there."""
    from ralph_ls.core.views.document.task_ids import task_id_at

    here, known = around.here, known_task_ids(around)
    use = task_id_at(here.page, known, position.line, here.column(position))
    return (
        None
        if use is None
        else TaskIdAtCursor(place=TaskIdLocation(shown=here, use=use), known=known)
    )


def known_task_ids(around: ProjectContext) -> KnownTaskIds:
    """The ids of the plan, and of what was done."""
    from ralph_ls.core.views.document.task_ids import known_task_ids

    shown = [around.plan, around.progress if _is_of_main_plan(around) else None]
    return known_task_ids(*(one.page.plan for one in shown if one is not None))


def all_task_id_uses(around: ProjectContext, asked: TaskIdAtCursor) -> Iterator[TaskIdLocation]:
    """Every place of the id: in the plan first, then in what was done, then in specifications."""
    for shown in _pages(around, asked.place.use.id):
        yield from task_id_uses_in(shown, asked)


def task_id_uses_in(shown: ProjectDocument, asked: TaskIdAtCursor) -> Iterator[TaskIdLocation]:
    """The places in one page."""
    from ralph_ls.core.views.document.task_ids import task_id_uses

    for use in task_id_uses(shown.page, asked.known):
        if use.id == asked.place.use.id:
            yield TaskIdLocation(shown=shown, use=use)


def task_id_edit(
    around: ProjectContext, position: types.Position, new_name: str, *, versioned: bool
) -> types.WorkspaceEdit | None:
    """The edit that gives a task another id; None if no id is there that could be changed.

    ``versioned``: edits may say which version of a document they are for. Raises ``RalphError``
    where the new id cannot be taken.
    """
    from ralph_ls.core.views.document.task_ids import is_written_id, rename_refusal

    asked = find_task_id(around, position)
    if asked is None or not is_written_id(asked.place.use.id):
        return None
    refusal = rename_refusal(asked.place.use.id, new_name, asked.known)
    if refusal is not None:
        raise RalphError(refusal)
    edits: dict[str, list[types.TextEdit]] = {}
    versions: dict[str, int | None] = {}
    for place in all_task_id_uses(around, asked):
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


def _pages(around: ProjectContext, task_id: str) -> Iterator[ProjectDocument]:
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


def _is_of_main_plan(around: ProjectContext) -> bool:
    return around.plan is None or around.plan.is_main


if TYPE_CHECKING:
    from ralph_ls.editor.worktree.workspaces import Workspaces


def register_references(context: FeatureContext) -> None:
    """Answer requests for the task that an id means, and for the places of an id."""
    server, workspaces, documents = context.server, context.workspaces, context.documents
    pages = ProjectDocuments(server, workspaces, documents)

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def definition(params: types.DefinitionParams) -> types.Location | None:
        def compute(around: ProjectContext) -> types.Location | None:
            return task_definition(around, params.position)

        return await pages.read_around(params.text_document.uri, compute)

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    async def references(params: types.ReferenceParams) -> list[types.Location] | None:
        def compute(around: ProjectContext) -> list[types.Location] | None:
            with_own = params.context.include_declaration
            return task_references(around, params.position, with_own=with_own)

        return await pages.read_around(params.text_document.uri, compute)

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    async def highlights(
        params: types.DocumentHighlightParams,
    ) -> list[types.DocumentHighlight] | None:
        def compute(around: ProjectContext) -> list[types.DocumentHighlight] | None:
            return task_highlights(around, params.position)

        return await pages.read_around(params.text_document.uri, compute)

    @server.feature(types.TEXT_DOCUMENT_LINKED_EDITING_RANGE)
    async def linked_ranges(
        params: types.LinkedEditingRangeParams,
    ) -> types.LinkedEditingRanges | None:
        def compute(around: ProjectContext) -> types.LinkedEditingRanges | None:
            return linked_ids(around, params.position)

        return await pages.read_around(params.text_document.uri, compute)


def linked_ids(
    around: ProjectContext, position: types.Position
) -> types.LinkedEditingRanges | None:
    """The places in this page that change along with the id at a cursor; None for no other."""
    from ralph_ls.core.views.document.task_ids import is_written_id

    asked = find_task_id(around, position)
    if asked is None or not is_written_id(asked.place.use.id):
        return None
    lines, first = around.here.page.outline.lines, asked.place.use
    written = lines[first.line][first.start : first.end]
    found = [
        place.range
        for place in task_id_uses_in(around.here, asked)
        if lines[place.use.line][place.use.start : place.use.end] == written
    ]
    return types.LinkedEditingRanges(ranges=found) if len(found) > 1 else None


def task_definition(around: ProjectContext, position: types.Position) -> types.Location | None:
    """The words of the task that the id at a cursor means, in the plan."""
    from ralph_ls.core.plan.lint.remarks import title_span

    asked = find_task_id(around, position)
    if asked is None:
        return None
    task = asked.known.tasks[asked.place.use.id]
    for shown in (around.plan, around.progress):
        if shown is not None and task in shown.page.plan.tasks:
            words = title_span(task, shown.page.text)
            where = shown.columns().range(words.line, words.start, words.end)
            return types.Location(uri=shown.uri, range=where)
    return None


def task_references(
    around: ProjectContext, position: types.Position, *, with_own: bool
) -> list[types.Location] | None:
    """Every place of the id at a cursor; with the task's own, if that is wanted."""
    asked = find_task_id(around, position)
    if asked is None:
        return None
    found = all_task_id_uses(around, asked)
    return [place.location for place in found if with_own or not place.use.is_own]


def task_highlights(
    around: ProjectContext, position: types.Position
) -> list[types.DocumentHighlight] | None:
    """The places of the id at a cursor in the page that is looked at."""
    asked = find_task_id(around, position)
    if asked is None:
        return None
    own, meant = types.DocumentHighlightKind.Write, types.DocumentHighlightKind.Read
    return [
        types.DocumentHighlight(range=place.range, kind=own if place.use.is_own else meant)
        for place in task_id_uses_in(around.here, asked)
    ]


if TYPE_CHECKING:
    from ralph_ls.editor.worktree.workspaces import Workspaces
    from ralph_ls.protocol.lsp.methods import AnswerParams

NO_QUESTION = "there is no open question on this line, and nothing else can be renamed here"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionAtLine:
    """A question that waits where somebody would rename."""

    where: types.Range
    workspace: str
    goes_on: bool
    """Whether the run has no engine, and is taken up with the answer."""
    task: str | None = None
    """Of a parallel run: the task whose lane asks."""


def register_rename(context: FeatureContext) -> None:
    """Take renames, of ids and as answers."""
    server, workspaces, documents = context.server, context.workspaces, context.documents
    pages = ProjectDocuments(server, workspaces, documents)

    async def find(uri: str, line: int) -> QuestionAtLine | None:
        await workspaces.ready()
        place = workspaces.of_document(uri)
        if place is None:
            return None
        view, kind = place

        def compute(sight: DocumentSnapshot) -> QuestionAtLine | None:
            return question_at(sight, line)

        return await documents.read(view, kind, compute, uri=uri)

    @server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
    async def prepare(params: types.PrepareRenameParams) -> types.PrepareRenamePlaceholder | None:
        def compute(around: ProjectContext) -> types.PrepareRenamePlaceholder | None:
            return id_at(around, params.position)

        # An id goes first: a new one must never be taken for an answer.
        named = await pages.read_around(params.text_document.uri, compute)
        if named is not None:
            return named
        asked = await find(params.text_document.uri, params.position.line)
        if asked is None:
            return None
        return types.PrepareRenamePlaceholder(range=asked.where, placeholder="")

    @server.feature(types.TEXT_DOCUMENT_RENAME)
    async def rename(params: types.RenameParams) -> types.WorkspaceEdit:
        versioned = edit_capabilities(server.client_capabilities).versions

        def compute(around: ProjectContext) -> types.WorkspaceEdit | None:
            return task_id_edit(around, params.position, params.new_name, versioned=versioned)

        edit = await pages.read_around(params.text_document.uri, compute)
        if edit is not None:
            return edit
        asked = await find(params.text_document.uri, params.position.line)
        if asked is None:
            raise NoEngine(NO_QUESTION)
        await _answer(workspaces, asked, params.new_name)
        return types.WorkspaceEdit(changes={})


def id_at(
    around: ProjectContext, position: types.Position
) -> types.PrepareRenamePlaceholder | None:
    """The id that a rename at a place would change."""
    from ralph_ls.core.views.document.task_ids import is_written_id

    asked = find_task_id(around, position)
    if asked is None or not is_written_id(asked.place.use.id):
        return None
    use = asked.place.use
    written = around.here.page.outline.lines[use.line][use.start : use.end]
    return types.PrepareRenamePlaceholder(range=asked.place.range, placeholder=written)


def question_at(sight: DocumentSnapshot, line: int) -> QuestionAtLine | None:
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
    # The lens that says so is above the first line, too.
    at = document_positions(seen)
    lines = {0, at.span_of_task(at.task_of_halt(waits)).line}
    if seen.file is FileKind.PLAN and line not in lines:
        return None
    return QuestionAtLine(
        where=sight.columns().whole_line(line),
        workspace=sight.workspace,
        goes_on=action.arguments.get("continue") is True,
        task=waits.task,
    )


async def _answer(workspaces: Workspaces, asked: QuestionAtLine, text: str) -> None:
    """Give the answer as the request of that name would; raises where it is not taken."""
    from ralph_ls.editor.lsp.codec import read_params
    from ralph_ls.editor.requests import control
    from ralph_ls.protocol.lsp.methods import ANSWER, METHODS

    given = {"workspace": asked.workspace, "text": text, "continue": asked.goes_on}
    given |= {} if asked.task is None else {"task": asked.task}
    params = cast("AnswerParams", read_params(METHODS[ANSWER], given))
    reply = await control.answer(workspaces, params)
    if not reply.accepted:
        raise RalphError(reply.text)
