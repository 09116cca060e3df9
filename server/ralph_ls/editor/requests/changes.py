"""What an iteration changed, files as they were, and the way back to before it.

Looking is done here, in threads; what changes the repository is a process of its own, the same
that a terminal would start.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pydantic import ValidationError

from ralph_ls.editor.requests.control import trusted
from ralph_ls.editor.threads import in_thread
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.lsp.row_methods import ChangesResult, FileAtResult, RollbackResult
from ralph_ls.store.external.git_objects import file_at
from ralph_ls.store.run.iterations import changes_of
from ralph_ls.store.run.launch import run_to_end

if TYPE_CHECKING:
    from ralph_ls.editor.workspaces import Workspaces
    from ralph_ls.protocol.lsp.row_methods import ChangesParams, FileAtParams, RollbackParams


async def changes(workspaces: Workspaces, params: ChangesParams) -> ChangesResult:
    """``ralph/changes``."""
    await workspaces.ready()
    view = workspaces.named(params.workspace)
    look = partial(
        changes_of,
        view.worktree,
        view.folders.state,
        run=params.run,
        start=params.start,
    )
    return await in_thread(look, name="changes")


async def file_at_commit(workspaces: Workspaces, params: FileAtParams) -> FileAtResult:
    """``ralph/fileAt``."""
    await workspaces.ready()
    view = workspaces.named(params.workspace)
    look = partial(file_at, view.root, params.commit, params.path)
    return await in_thread(look, name="file")


async def rollback(workspaces: Workspaces, params: RollbackParams) -> RollbackResult:
    """``ralph/rollback``: the person was asked by the editor, which showed a dry run."""
    view = await trusted(workspaces, params.workspace)
    arguments = ["rollback", "--before", str(params.start), "--json", "--yes"]
    # In one word with its flag, so that nothing which begins with a dash is taken for another.
    arguments += [] if params.run is None else [f"--run={params.run}"]
    arguments += ["--force"] if params.force else []
    arguments += ["--dry-run"] if params.dry_run else []
    run_it = partial(run_to_end, arguments, cwd=view.root, environment=workspaces.environment)
    ran = await in_thread(run_it, name="rollback")
    await view.look()
    try:
        return RollbackResult.model_validate_json(ran.out)
    except ValidationError as error:
        said = ran.error.removeprefix("ralph: ") or f"it ended with code {ran.exit_code}"
        raise RalphError(f"rolling back failed: {said}") from error
