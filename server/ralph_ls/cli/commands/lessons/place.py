"""Where lessons are looked for, and how one is shown."""

from __future__ import annotations

import os
from collections.abc import Iterator

from ralph_ls.cli.context import current_worktree
from ralph_ls.core.lessons.effect import effect_words
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import WorkspaceMissing
from ralph_ls.protocol.lessons import LessonScope, LessonStatus, LessonView
from ralph_ls.store.lessons.lesson_files import LessonFolders, lesson_folders


def lessons_here() -> LessonFolders:
    """The folders of the working folder's repository, or the user's alone outside of any."""
    try:
        place = current_worktree()
    except WorkspaceMissing:
        return lesson_folders(os.environ)
    return lesson_folders(os.environ, place.worktree, place.state)


def settings_here(folders: LessonFolders) -> Config:
    """The settings here; outside of a repository the defaults."""
    from ralph_ls.store.project.config_file import load_settings

    if folders.worktree is None:
        return Config()
    return load_settings(folders.worktree.root, os.environ, {}).config


def scope_words(lesson: LessonView) -> str:
    """``language: python, go``; and for which tasks."""
    scope = lesson.scope.value
    words = f"{scope}: {', '.join(lesson.match)}" if lesson.match else scope
    if lesson.scope is LessonScope.REPOSITORY:
        words = "this repository"
    if lesson.files:
        words += f", with files {', '.join(lesson.files)}"
    return words + (f", tasks about {', '.join(lesson.tasks)}" if lesson.tasks else "")


def lines_of_lesson(lesson: LessonView) -> Iterator[str]:
    """A lesson in a list."""
    yield f"  {lesson.id}  {lesson.title or '(no title)'}"
    about = [scope_words(lesson)]
    if lesson.status is LessonStatus.UNAPPROVED:
        about.insert(0, "not accepted in this form, so no prompt has it")
    elif lesson.status is LessonStatus.ACCEPTED and not lesson.fits:
        about.append("does not fit here")
    if lesson.source:
        about.append(f"from {lesson.source}")
    yield f"      {' · '.join(about)}"
    for problem in lesson.problems:
        yield f"      cannot be used: {problem}"
    if lesson.effect is not None:
        yield f"      {effect_words(lesson.effect)}"
    if lesson.stale is not None:
        yield f"      stale: {lesson.stale}; remove it with: ralph lessons remove {lesson.id}"
