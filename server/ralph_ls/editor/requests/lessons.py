"""Requests about lessons: the list, and the user's decisions.

What runs is ``ralph lessons``, so that an editor and a terminal do the same. An acceptance carries
the hash of what was shown and is refused where that differs by now (docs/rules.md#lessons).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from ralph_ls.editor.lsp.errors import invalid_field
from ralph_ls.editor.requests.control import trusted_workspace
from ralph_ls.editor.scheduling import run_in_thread
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.lessons import (
    DecideLessonParams,
    Learned,
    LearnParams,
    LessonAction,
    LessonDecided,
    LessonList,
    LessonsParams,
)
from ralph_ls.protocol.lsp.methods import DECIDE_LESSON
from ralph_ls.store.run.launch import parse_refusal, run_to_end

if TYPE_CHECKING:
    from ralph_ls.editor.worktree.workspaces import Workspaces, WorkspaceView


async def lessons(workspaces: Workspaces, params: LessonsParams) -> LessonList:
    """``ralph/lessons``."""
    await workspaces.ready()
    view = workspaces.named(params.workspace)
    return LessonList.model_validate_json(await _run(workspaces, view, ["lessons", "--json"]))


async def learn(workspaces: Workspaces, params: LearnParams) -> Learned:
    """``ralph/learn``; what it proposes is in no prompt."""
    view = await trusted_workspace(workspaces, params.workspace)
    return Learned.model_validate_json(await _run(workspaces, view, ["learn", "--json"]))


async def decide_lesson(workspaces: Workspaces, params: DecideLessonParams) -> LessonDecided:
    """``ralph/decideLesson``: accepts exactly what was shown, rejects or removes."""
    view = await trusted_workspace(workspaces, params.workspace)
    order = ["lessons", params.action.value, params.path, "--json"]
    if params.action is LessonAction.ACCEPT:
        if params.sha256 is None:
            raise invalid_field(DECIDE_LESSON, "sha256", "names what was shown: ralph/lessons")
        order.append(f"--shown={params.sha256}")
        order += [f"--scope={params.scope.value}"] if params.scope is not None else []
        order += [f"--match={word}" for word in params.match]
    return LessonDecided.model_validate_json(await _run(workspaces, view, order))


async def _run(workspaces: Workspaces, view: WorkspaceView, order: list[str]) -> str:
    run_it = partial(run_to_end, order, cwd=view.root, environment=workspaces.environment)
    ran = await run_in_thread(run_it, name=order[0])
    if ran.exit_code == 0:
        return ran.out
    why = ran.error.removeprefix("ralph: ").strip()
    failed = f"ralph {' '.join(order[:2])} ended with code {ran.exit_code}"
    raise parse_refusal(ran.error) or RalphError(f"{failed}: {why}" if why else failed)
