"""The connected client: its name, and what it lacks, for ``ralph doctor --editor``.

What it lacks follows from what it declared at ``initialize``; nothing else depends on that.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from lsprotocol import types

from ralph_ls.editor.scheduling import run_in_thread
from ralph_ls.editor.worktree.workspaces import UNKNOWN_CLIENT, Workspaces

if TYPE_CHECKING:
    from ralph_ls.editor.lsp.language_server import RalphLanguageServer
    from ralph_ls.protocol.json_output import MissingFeature

LONGEST_NAME = 60

_CONTROL_CHARS = re.compile(r"[\x00-\x1f\x7f-\x9f]+")

Declared = types.ClientCapabilities

_LOOKS: tuple[tuple[str, str, Callable[[Declared], Any]], ...] = (
    (
        "code lenses",
        "what can be done at a line is among its code actions",
        lambda client: client.text_document and client.text_document.code_lens,
    ),
    (
        "refresh of code lenses",
        "lenses are as old as the last edit or the last time that the file was shown",
        lambda client: (
            client.workspace
            and client.workspace.code_lens
            and client.workspace.code_lens.refresh_support
        ),
    ),
    (
        "inlay hints",
        "the iteration and commit that finished a task are in its hover",
        lambda client: client.text_document and client.text_document.inlay_hint,
    ),
    (
        "semantic tokens",
        "the states of tasks have no colours",
        lambda client: client.text_document and client.text_document.semantic_tokens,
    ),
    (
        "progress begun by the server",
        "the status line does not show the iteration; the hover of the first line does",
        lambda client: client.window and client.window.work_done_progress,
    ),
    (
        "code action literals",
        "fixes that edit the text are missing; the controls are there as commands",
        lambda client: (
            client.text_document
            and client.text_document.code_action
            and client.text_document.code_action.code_action_literal_support
        ),
    ),
    (
        "rename with a check first",
        "a question is answered by its code actions or in .ralph/decide.txt",
        lambda client: (
            client.text_document
            and client.text_document.rename
            and client.text_document.rename.prepare_support
        ),
    ),
    (
        "showing a document",
        "logs, changes and the decide file are named in a message, to be opened by hand",
        lambda client: (
            client.window and client.window.show_document and client.window.show_document.support
        ),
    ),
    (
        "edits by the server",
        "ticking and blocking a task write the file, so save it first",
        lambda client: client.workspace and client.workspace.apply_edit,
    ),
)
"""What is looked for, what follows without it, and how to find it."""


def missing_features(client: Declared) -> tuple[MissingFeature, ...]:
    """All that the client did not declare, the most visible first."""
    from ralph_ls.protocol.json_output import MissingFeature

    return tuple(
        MissingFeature(feature=feature, instead=instead)
        for feature, instead, find in _LOOKS
        if not find(client)
    )


def client_name(client: types.ClientInfo | None) -> str:
    """The client's name, as shown to users."""
    return _shown("" if client is None else client.name) or UNKNOWN_CLIENT


async def announce(
    server: RalphLanguageServer, workspaces: Workspaces, client: types.ClientInfo | None
) -> None:
    """Let ``ralph doctor --editor`` know which client this server serves, and what it lacks."""
    from ralph_ls.protocol.json_output import ConnectedEditor
    from ralph_ls.store.editors import announce_editor
    from ralph_ls.store.layout import state_root
    from ralph_ls.store.run.lock import own_start_time

    editor = ConnectedEditor(
        name=client_name(client),
        version=_shown((client and client.version) or "") or None,
        pid=os.getpid(),
        started=own_start_time(),
        folders=tuple(str(view.root) for view in workspaces.all()),
        missing=missing_features(server.client_capabilities),
    )
    write = partial(announce_editor, state_root(os.environ), editor)
    await run_in_thread(write, name="announce")


def withdraw() -> None:
    """This server ends."""
    from ralph_ls.store.editors import withdraw_editor
    from ralph_ls.store.layout import state_root

    withdraw_editor(state_root(os.environ), os.getpid())


def _shown(text: str) -> str:
    return _CONTROL_CHARS.sub(" ", text).strip()[:LONGEST_NAME]
