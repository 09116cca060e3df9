"""Saves: the user's edits of plan and settings, recorded for the engine (docs/rules.md#user-edits).

Each record says what the save did to the tasks, as the editor had the plan before.
"""

from __future__ import annotations

import asyncio
import logging
import os
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING

from ralph_ls.editor.documents.loop_documents import DocumentSave
from ralph_ls.editor.documents.snapshot import real_path
from ralph_ls.protocol.errors import RalphError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from ralph_ls.core.plan.model import PlanKind
    from ralph_ls.editor.registration import FeatureContext
    from ralph_ls.editor.worktree.workspaces import WorkspaceView
    from ralph_ls.store.layout import StateFolder
    from ralph_ls.store.project.plan_file import UserSave

logger = logging.getLogger(__name__)

SETTINGS = ".ralph/"
"""Where settings, prompts and scripts are."""


def register(context: FeatureContext) -> None:
    """Keep what people save from now on."""
    workspaces, documents = context.workspaces, context.documents
    # One thread: they are kept in the order in which they were made.
    keeper = ThreadPoolExecutor(1, thread_name_prefix="ralph-saves")

    waiting: set[asyncio.Task[None]] = set()

    def take(save: DocumentSave) -> None:
        task = asyncio.get_running_loop().create_task(place_and_keep(save, workspaces.now()))
        waiting.add(task)
        task.add_done_callback(waiting.discard)

    async def place_and_keep(save: DocumentSave, at: datetime) -> None:
        from ralph_ls.core.views.model.document_context import FileKind
        from ralph_ls.store.layout import StateFolder

        await workspaces.ready()
        place = workspaces.of_document(save.uri)
        view = workspaces.around(save.uri) if place is None else place[0]
        if view is None:
            return
        path = _path_in(view.root, save.uri)
        is_plan = place is not None and place[1] is FileKind.PLAN
        if not is_plan and not path.startswith(SETTINGS):
            return
        files = view.picture().run_files
        # A run may have its state elsewhere than this process would look for it.
        state = view.folders.state if files is None else StateFolder(folder=files.folder.parents[1])
        keep_it = partial(record_settings_save, state, path, save, at=at)
        if is_plan:
            keep_it = partial(record_document_save, state, path, save, at=at, kind=view.plan_kind)
        keeper.submit(_unless_inside, view, state, keep_it)

    documents.on_save(take)


def _unless_inside(view: WorkspaceView, state: StateFolder, keep_it: Callable[[], None]) -> None:
    """What an agent writes through another server is no edit of the user's."""
    from ralph_ls.store.run.ancestry import require_outside

    try:
        require_outside(view.worktree, state, "keeping a save")
    except RalphError as error:
        logger.warning("%s", error.message)
        return
    keep_it()


def _path_in(root: Path, uri: str) -> str:
    """The file in the work tree, without symbolic links."""
    return os.path.relpath(real_path(uri), root).replace(os.sep, "/")


def record_document_save(
    state: StateFolder,
    path: str,
    save: DocumentSave,
    *,
    at: datetime,
    kind: PlanKind,
) -> None:
    """Keep one save; it blocks, and a save that cannot be kept is logged."""
    from ralph_ls.store.project.plan_file import record_edit

    try:
        record_edit(state, path, save.before, save.text, at=at, kind=kind)
    except RalphError as error:
        logger.warning("%s", error.message)


def record_settings_save(
    state: StateFolder, path: str, save: DocumentSave, *, at: datetime
) -> None:
    """The same for a file that is no plan; of a short one the whole text is kept."""
    from ralph_ls.store.project.plan_file import LARGEST_TEXT, UserSave, text_hash

    saved = UserSave(
        at=at,
        path=path,
        before=text_hash(save.before),
        sha256=text_hash(save.text),
        text=save.text if len(save.text) <= LARGEST_TEXT else None,
    )
    _record(state, saved)


def _record(state: StateFolder, saved: UserSave) -> None:
    from ralph_ls.store.project.plan_file import record_save

    try:
        record_save(state, saved)
    except RalphError as error:
        logger.warning("%s", error.message)
