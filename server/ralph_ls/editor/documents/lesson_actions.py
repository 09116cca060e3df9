"""Lesson files in an editor: what is wrong with one, and the user's decisions as code actions.

An acceptance names the hash of the document's text, so one that is not saved is not accepted.
"""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from lsprotocol import types

from ralph_ls.editor.lsp.conversion import SOURCE, Encoding, code_units, path_of_uri
from ralph_ls.editor.scheduling import run_in_thread

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from ralph_ls.editor.worktree.workspaces import Workspaces, WorkspaceView
    from ralph_ls.protocol.lessons import LessonAction, LessonPlace
    from ralph_ls.store.lessons.lesson_files import LessonFile, LessonFolders

LESSON_KIND = "source.ralph.lesson"
"""Kind of the actions that take a lesson out of use."""

COMMAND = "decideLesson"


def is_lesson_file(environment: Mapping[str, str], uri: str) -> bool:
    """Whether a document is in a folder of lessons, by its path alone."""
    if not uri.endswith(".md"):
        return False
    from ralph_ls.store.layout import state_root
    from ralph_ls.store.lessons.lesson_files import user_folder

    name = path_of_uri(uri)
    folder = Path(os.path.realpath("" if name is None else Path(name).parent))
    worktrees = os.path.realpath(state_root(environment) / "worktrees")
    own = os.path.realpath(user_folder(environment))
    is_of_state = folder.name == "lessons" and str(folder.parent.parent) == worktrees
    return str(folder) == own or is_of_state or folder.parts[-2:] == (".ralph", "lessons")


def lesson_diagnostics(uri: str, text: str, encoding: Encoding) -> list[types.Diagnostic]:
    """Why no prompt can have a lesson: each problem at its line, else at the first one."""
    from ralph_ls.core.lessons.lesson import read_lesson
    from ralph_ls.core.views.model.diagnostic import DiagnosticCode

    lines, found = text.split("\n"), []
    for problem in read_lesson(Path(path_of_uri(uri) or "").stem, text).problems:
        numbered = re.fullmatch(r"line (\d+): (.*)", problem, re.DOTALL)
        line, message = (0, problem) if numbered is None else (int(numbered[1]) - 1, numbered[2])
        end = code_units(lines[line].removesuffix("\r"), encoding)
        found.append(
            types.Diagnostic(
                range=types.Range(
                    start=types.Position(line=line, character=0),
                    end=types.Position(line=line, character=end),
                ),
                message=message,
                severity=types.DiagnosticSeverity.Warning,
                code=DiagnosticCode.LESSON_INVALID,
                source=SOURCE,
            )
        )
    return found


async def lesson_actions(
    workspaces: Workspaces, uri: str, text: str | None, *, prefix: str
) -> list[types.CodeAction] | None:
    """What can be decided about a lesson with this text; None where the document is none."""
    name = path_of_uri(uri)
    if name is None or not is_lesson_file(workspaces.environment, uri):
        return None
    environment, views = workspaces.environment, workspaces.all()
    find = partial(_find, environment, views, Path(name))
    found = await run_in_thread(find, name="lesson")
    if found is None:
        return None
    view, file = found
    return [] if file is None else [*_actions(view, file, text, prefix)]


def _find(
    environment: Mapping[str, str], views: Iterable[WorkspaceView], name: Path
) -> tuple[WorkspaceView, LessonFile | None] | None:
    """The work tree and the lesson of a file; None where it is in no folder of lessons."""
    from ralph_ls.store.lessons.lesson_files import lesson_folders

    path = Path(os.path.realpath(name))
    for view in views:
        folders = lesson_folders(environment, view.worktree, view.folders.state)
        place = _place_of(folders, path.parent)
        if place is not None:
            return view, _read(folders, place, path)
    return None


def _place_of(folders: LessonFolders, folder: Path) -> LessonPlace | None:
    from ralph_ls.protocol.lessons import LessonPlace

    for place in LessonPlace:
        known = folders.folder(place)
        if known is not None and Path(os.path.realpath(known)) == folder:
            return place
    return None


def _read(folders: LessonFolders, place: LessonPlace, path: Path) -> LessonFile | None:
    from ralph_ls.store.lessons.lesson_files import read_lessons

    files, _ = read_lessons(folders, place)
    return next((file for file in files if Path(os.path.realpath(file.path)) == path), None)


def _actions(
    view: WorkspaceView, file: LessonFile, text: str | None, prefix: str
) -> Iterator[types.CodeAction]:
    from ralph_ls.protocol.lessons import LessonAction, LessonPlace, LessonStatus
    from ralph_ls.store.lessons.lesson_files import digest_of

    def action(title: str, what: LessonAction, kind: str, sha256: str | None) -> types.CodeAction:
        named = {"workspace": view.uri, "path": str(file.path), "action": what.value}
        if sha256 is not None:
            named["sha256"] = sha256
        return types.CodeAction(
            title=title,
            kind=kind,
            command=types.Command(title=title, command=f"{prefix}.{COMMAND}", arguments=[named]),
        )

    fix = types.CodeActionKind.QuickFix.value
    if file.status in {LessonStatus.PROPOSED, LessonStatus.UNAPPROVED}:
        shown = file.sha256 if text is None else digest_of(text.encode("utf-8", errors="replace"))
        yield action("Accept this lesson into prompts", LessonAction.ACCEPT, fix, shown)
    if file.place is LessonPlace.PROPOSED:
        yield action("Reject this lesson", LessonAction.REJECT, fix, None)
    else:
        yield action("Remove this lesson", LessonAction.REMOVE, LESSON_KIND, None)
