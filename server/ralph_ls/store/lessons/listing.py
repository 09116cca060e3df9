"""List of lessons: each with its place, status and effect, judged by the history of all runs.

Records are read from the journals of the newest runs of one work tree; figures of all work trees
show whether a lesson helped, and whether it is proposed for removal.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path

from ralph_ls.core.lessons.effect import effects_of, why_stale
from ralph_ls.core.lessons.history import KINDS, RunRecord, read_record
from ralph_ls.core.lessons.matching import MANIFESTS, ProjectFacts, fits_project, project_facts
from ralph_ls.protocol.errors import RalphError, StateUnusable
from ralph_ls.protocol.json_output import IterationMetrics
from ralph_ls.protocol.lessons import LessonEffect, LessonPlace, LessonStatus, LessonView
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.figures import read_runs
from ralph_ls.store.files import read_regular, resolve_inside
from ralph_ls.store.layout import StateFolder, Worktree
from ralph_ls.store.lessons.lesson_files import LessonFile, LessonFolders, read_lessons
from ralph_ls.store.run.journal import each_event
from ralph_ls.store.run.runs import find_run
from ralph_ls.store.run.state_index import every_worktree


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


# ------------------------------------------------------------------------------------------ history


MOST_RUNS = 50
"""Newest runs that are read where the caller names no number."""


def read_records(
    worktree: Worktree, state: StateFolder, *, most: int = MOST_RUNS
) -> tuple[RunRecord, ...]:
    """The newest runs of a work tree and of the lanes in it, oldest first; blocks."""
    found = find_run(worktree, state)
    if found is not None:
        state = StateFolder(folder=found.files.folder.parent.parent)
    records = (
        read_record(each_event(state.run(run).journal, kinds=KINDS))
        for run in state.run_ids()[-most:]
    )
    return tuple(record for record in records if record is not None)


def iterations_everywhere(root: Path) -> list[list[IterationMetrics]]:
    """The figures of all iterations of each work tree with state below ``root``; blocks."""
    return [list(iterations_here(*place)) for place in every_worktree(root)]


def iterations_here(worktree: Worktree, state: StateFolder) -> Iterator[IterationMetrics]:
    """The figures of all iterations of one work tree; blocks. What cannot be read is left out."""
    with contextlib.suppress(RalphError, OSError):
        yield from (one for run in read_runs(worktree, state) for one in run.iterations)


def hits_of(projects: Iterable[Iterable[IterationMetrics]]) -> dict[str, int]:
    """How many iterations had each lesson, by id."""
    return Counter(
        lesson for iterations in projects for one in iterations for lesson in one.lessons
    )


# Facts of the project that lessons are matched with: its files, languages and dependencies.
#
# Only names and a few manifests of the root are read; nothing is started but git.


LARGEST_MANIFEST = 1 << 20
"""Most bytes of a manifest that is read."""

MOST_FILES = 50_000
"""Most paths that are looked at: languages and globs are known by then."""


def read_project_facts(root: Path) -> ProjectFacts:
    """The facts of a work tree; what cannot be read is not there. Blocks."""
    files: list[str] = []
    with contextlib.suppress(RalphError):
        printed = run_git(
            root, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate"
        )
        names = printed.split(b"\0")[:MOST_FILES]
        files = [name.decode("utf-8", errors="replace") for name in names if name]
    texts = {name: _text(root, name) for name in MANIFESTS}
    return project_facts(files, {name: text for name, text in texts.items() if text})


def _text(root: Path, name: str) -> str:
    try:
        data = read_regular(resolve_inside(root, name), LARGEST_MANIFEST)
    except StateUnusable:
        return ""
    return (data or b"").decode("utf-8", errors="replace")
