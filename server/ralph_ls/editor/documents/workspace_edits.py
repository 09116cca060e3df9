"""Workspace edits: the smallest line edits between two texts, as a client takes them.

Lines that an edit does not touch keep their folds, marks and cursor. Edits carry versions and,
where the client can, a preview; the client applies them to its own text, saved or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lsprotocol import types

from ralph_ls.editor.lsp.conversion import Encoding, code_units


def line_edits(before: str, after: str, encoding: Encoding) -> list[types.TextEdit]:
    """Edits that replace whole lines; an end that has no line ending is reached within its line."""
    from ralph_ls.core.plan.diff.text_diff import changed_stretches, lines_with_endings

    old, new = lines_with_endings(before), lines_with_endings(after)

    def position(line: int) -> types.Position:
        if line < len(old) or not old or old[-1].endswith(("\n", "\r")):
            return types.Position(line=line, character=0)
        return types.Position(line=line - 1, character=code_units(old[-1], encoding))

    return [
        types.TextEdit(
            range=types.Range(start=position(begin), end=position(end)),
            new_text="".join(new[from_:to]),
        )
        for begin, end, from_, to in changed_stretches(old, new)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class EditCapabilities:
    """What a client can take, as far as it changes what it is sent."""

    versions: bool = False
    """An edit may say which version of a document it is for."""
    previews: bool = False
    """An edit may ask to be looked at before it is made."""
    new_files: bool = False
    """An edit may make a file."""
    disabled: bool = False
    """An action that cannot be taken may say why."""
    resolves: bool = False
    """An action may come without its edit, which is asked for when the action is chosen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EditTarget:
    """A document or file that is edited."""

    uri: str
    version: int | None = None
    """The open document's; None for a file that is not open."""
    is_new: bool = False


def edit_capabilities(client: types.ClientCapabilities) -> EditCapabilities:
    """Read them from what the client said at ``initialize``; what is not said is not there."""
    edit = client.workspace.workspace_edit if client.workspace else None
    actions = client.text_document.code_action if client.text_document else None
    versions = bool(edit and edit.document_changes)
    operations = (edit.resource_operations if edit else None) or ()
    return EditCapabilities(
        versions=versions,
        previews=versions and bool(edit and edit.change_annotation_support),
        new_files=versions and types.ResourceOperationKind.Create in operations,
        disabled=bool(actions and actions.disabled_support),
        resolves=_resolves_edits(actions),
    )


def _resolves_edits(actions: types.CodeActionClientCapabilities | None) -> bool:
    """Whether the client asks for the edit of an action that came without it."""
    if actions is None or actions.resolve_support is None:
        return False
    return bool(actions.data_support) and "edit" in actions.resolve_support.properties


def workspace_edit(
    changes: Sequence[tuple[EditTarget, Sequence[types.TextEdit]]],
    abilities: EditCapabilities,
    *,
    ask: str = "",
) -> types.WorkspaceEdit:
    """Put edits together; with versions, a document that was changed meanwhile is left alone.

    ``ask`` names what the user is to confirm first, where the client can show that.
    """
    if not abilities.versions:
        return types.WorkspaceEdit(changes={target.uri: list(edits) for target, edits in changes})
    is_shown = bool(ask) and abilities.previews
    steps: list[
        types.TextDocumentEdit | types.CreateFile | types.RenameFile | types.DeleteFile
    ] = []
    for target, edits in changes:
        if target.is_new:
            options = types.CreateFileOptions(ignore_if_exists=True)
            steps.append(types.CreateFile(uri=target.uri, options=options))
        document = types.OptionalVersionedTextDocumentIdentifier(
            uri=target.uri, version=target.version
        )
        marked = [
            types.AnnotatedTextEdit(annotation_id=_ASKED, range=one.range, new_text=one.new_text)
            if is_shown
            else one
            for one in edits
        ]
        steps.append(types.TextDocumentEdit(text_document=document, edits=marked))
    asked = {_ASKED: types.ChangeAnnotation(label=ask, needs_confirmation=True)}
    return types.WorkspaceEdit(
        document_changes=steps, change_annotations=asked if is_shown else None
    )


_ASKED = "ralph"
