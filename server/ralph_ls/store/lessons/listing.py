"""List of lessons: each with its place, status, effect, and whether it is proposed for removal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

from ralph_ls.core.lessons.effect import effects_of, why_stale
from ralph_ls.core.lessons.matching import ProjectFacts, fits_project
from ralph_ls.protocol.lessons import LessonEffect, LessonPlace, LessonStatus, LessonView
from ralph_ls.store.lessons.lesson_files import LessonFile, LessonFolders, read_lessons
from ralph_ls.store.lessons.project import read_project_facts
from ralph_ls.store.lessons.run_history import iterations_everywhere, iterations_here


def list_lessons(
    folders: LessonFolders, *, today: date, stale_days: int
) -> tuple[list[LessonView], list[str]]:
    """All lessons that can be seen from here, proposals first, and what could not be read.

    Reads figures of all runs where there are lessons; blocks.
    """
    files, problems = read_lessons(folders)
    order = [LessonPlace.PROPOSED, LessonPlace.REPOSITORY, LessonPlace.USER]
    files.sort(key=lambda file: (order.index(file.place), file.lesson.id))
    facts = None if folders.worktree is None else read_project_facts(folders.worktree.root)
    effects = _effects(folders, files)
    views = []
    for file in files:
        effect = effects.get((file.place, file.lesson.id))
        why = None
        if file.status is LessonStatus.ACCEPTED:
            why = why_stale(file.lesson, effect, today=today, stale_days=stale_days)
        views.append(view_of(file, facts, effect, why))
    return views, problems


def view_of(
    file: LessonFile,
    facts: ProjectFacts | None,
    effect: LessonEffect | None = None,
    stale: str | None = None,
) -> LessonView:
    """One lesson; ``facts`` is None outside of a project."""
    lesson = file.lesson
    return LessonView(
        id=lesson.id,
        title=lesson.title,
        text=lesson.text,
        scope=lesson.scope,
        match=lesson.match,
        files=lesson.files,
        tasks=lesson.tasks,
        source=lesson.source,
        date=lesson.date,
        hits=lesson.hits,
        place=file.place,
        status=file.status,
        path=str(file.path),
        sha256=file.sha256,
        fits=facts is None or fits_project(lesson, facts),
        problems=lesson.problems,
        effect=effect,
        stale=stale,
    )


def _effects(
    folders: LessonFolders, files: Sequence[LessonFile]
) -> Mapping[tuple[LessonPlace, str], LessonEffect]:
    """A repository's lessons are judged by its runs alone: another may have one of that name."""
    found: dict[tuple[LessonPlace, str], LessonEffect] = {}
    of_repository = [one.lesson for one in files if one.place is LessonPlace.REPOSITORY]
    if of_repository and folders.worktree is not None and folders.state is not None:
        here = list(iterations_here(folders.worktree, folders.state))
        effects = effects_of(of_repository, [here])
        found |= {(LessonPlace.REPOSITORY, lesson): one for lesson, one in effects.items()}
    of_user = [one.lesson for one in files if one.place is LessonPlace.USER]
    if of_user:
        effects = effects_of(of_user, iterations_everywhere(folders.record.parent))
        found |= {(LessonPlace.USER, lesson): one for lesson, one in effects.items()}
    return found
