"""Lessons of a run: those that were accepted when it began, and which of them a prompt has.

They are read once, at the start; what is accepted later reaches a live run only as a command from
outside of its iterations. An acceptance of the user's that appears in the file without one may be
the agent's: it is removed and reported, as an approval is.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import UTC, datetime

from ralph_ls.core.lessons.lesson import Lesson
from ralph_ls.core.lessons.matching import ProjectFacts, choose_lessons, fits_project
from ralph_ls.core.loop.inputs import AnnouncementDone, Notice
from ralph_ls.core.plurals import count_of, some_of
from ralph_ls.core.prompt.template import PromptContext, PromptLesson
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.errors import RalphError, StateUnusable
from ralph_ls.protocol.lessons import LessonPlace, LessonStatus
from ralph_ls.protocol.run.events import CommandAccepted
from ralph_ls.protocol.run.values import LessonRef, TaskRef
from ralph_ls.store.lessons.lesson_files import (
    USER_KEY,
    LessonFile,
    LessonFolders,
    lesson_folders,
    read_accepted,
    read_lessons,
    write_accepted,
)
from ralph_ls.store.lessons.listing import read_project_facts
from ralph_ls.store.project.trust import LESSONS_FOLDER, is_lesson
from ralph_ls.store.run.journal import each_event
from ralph_ls.store.run.runs import FoundRun, newest_runs
from ralph_ls.store.run.state_index import every_worktree

SHOWN = 5
"""Names in a message."""


class RunLessons:
    """Accepted lessons of one run that fit its project."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._folders = lesson_folders(workspace.environment, workspace.worktree, workspace.state)
        self._lock = threading.Lock()
        self._known: dict[str, LessonFile] | None = None
        """By the key of its acceptance; None: not read yet."""
        self._accepted: dict[str, str] = {}
        """The user's acceptances at the start and since, id to hash."""
        self._facts = ProjectFacts()
        self._texts: dict[str, Lesson] = {}
        """The chosen lessons of the next prompt, by id."""

    def begin(self) -> tuple[Notice, ...]:
        """Read what is accepted now, once; returns warnings about the rest. Blocks."""
        with self._lock:
            if self._known is not None:
                return ()
            self._accepted = read_accepted(self._folders.record)
            if not self._workspace.config.lessons.max_tokens:
                self._known = {}
                return ()
            files, problems = read_lessons(self._folders, LessonPlace.REPOSITORY, LessonPlace.USER)
            doubt = _doubt(self._folders, self._workspace.run) if self._accepted else ""
            self._known = {
                _key(file): file
                for file in files
                if file.status is LessonStatus.ACCEPTED
                and not (doubt and file.place is LessonPlace.USER)
            }
            if self._known:
                self._facts = read_project_facts(self._workspace.root)
        notices = [Notice(code="lessons-unreadable", message=one) for one in problems]
        notices += [Notice(code="lessons-in-doubt", message=doubt)] if doubt else []
        return (*_unused(files), *notices)

    def choose(self, task: TaskRef | None) -> tuple[LessonRef, ...]:
        """The lessons of the prompt for this task. Blocks."""
        config = self._workspace.config.lessons
        if self._known is None or not config.max_tokens:
            return ()
        self._add_accepted()
        fitting = {
            file.lesson.id: file
            for file in self._known.values()
            if fits_project(file.lesson, self._facts)
        }
        chosen = choose_lessons(
            [file.lesson for file in fitting.values()],
            None if task is None else task.title,
            max_tokens=config.max_tokens,
        )
        self._texts = {lesson.id: lesson for lesson in chosen.taken}
        return tuple(
            LessonRef(id=lesson.id, sha256=fitting[lesson.id].sha256) for lesson in chosen.taken
        )

    def with_lessons(self, context: PromptContext) -> PromptContext:
        """The context with the lessons that were chosen last."""
        return with_lessons(context, self._texts.values())

    def _add_accepted(self) -> None:
        """Take up lessons that the user accepted since the start, by a command to this run."""
        known, trust = self._known or {}, self._workspace.trust
        keys = [key for key in trust.keys if is_lesson(key) or key.startswith(USER_KEY)]
        if all(key in known and trust.is_approved(key, known[key].sha256) for key in keys):
            return
        with contextlib.suppress(StateUnusable):
            files, _ = read_lessons(self._folders, LessonPlace.REPOSITORY, LessonPlace.USER)
            new = {
                _key(file): file
                for file in files
                if not file.lesson.problems and trust.is_approved(_key(file), file.sha256)
            }
            if new and not known:
                self._facts = read_project_facts(self._workspace.root)
            self._known = {**known, **new}

    def remove_added(self) -> tuple[AnnouncementDone, ...]:
        """Remove the user's acceptances that appeared without a command. Blocks."""
        with self._lock:
            if self._known is None:
                return ()
            found, trust = read_accepted(self._folders.record), self._workspace.trust
            for lesson, digest in found.items():
                if trust.is_approved(f"{USER_KEY}{lesson}", digest):
                    self._accepted[lesson] = digest
            kept, added = _without_added(found, self._accepted)
            if not added:
                return ()
            try:
                write_accepted(self._folders.record, kept)
            except RalphError as error:
                message = f"acceptances of lessons cannot be checked: {error.message}"
                return (_warning("lessons-not-checked", message),)
        message = (
            f"acceptances of lessons that appeared during the run were removed: "
            f"{some_of(added, SHOWN)}; the agent may have written them, because ralph lessons "
            "accept asks the run from another terminal; look at them with: ralph lessons"
        )
        return (_warning("lessons-removed", message),)


def _doubt(folders: LessonFolders, run: str) -> str:
    """Why the user's acceptances may not be the user's, in words; empty where nothing says so.

    The engine of another run removes what its agent wrote into the file, but only when that agent
    has ended. The user's own acceptance is also a command to that run.
    """
    try:
        changed = datetime.fromtimestamp(folders.record.stat().st_ctime, UTC)
    except OSError:
        return ""
    for worktree, _, found in newest_runs(every_worktree(folders.record.parent)):
        current = found.state.current
        if not found.live or found.state.run == run or current is None:
            continue
        if current.started.at <= changed and not _was_asked(found, current.started.at):
            return (
                f"{folders.record} changed while an agent was at work in {worktree.root}, and may "
                "be its doing, so this run uses no lesson of yours; look at them with: ralph "
                "lessons"
            )
    return ""


def _was_asked(found: FoundRun, since: datetime) -> bool:
    """Whether the run has accepted an approval of the user's since then."""
    events = each_event(found.files.journal, kinds={"commandAccepted"})
    return any(
        isinstance(event, CommandAccepted) and event.command_kind == "allow" and event.at >= since
        for event in events
    )


def preview_lessons(
    folders: LessonFolders, context: PromptContext, *, max_tokens: int
) -> PromptContext:
    """The context with the lessons that a run which began now would choose. Blocks."""
    if not max_tokens or folders.worktree is None:
        return context
    files, _ = read_lessons(folders, LessonPlace.REPOSITORY, LessonPlace.USER)
    accepted = [file.lesson for file in files if file.status is LessonStatus.ACCEPTED]
    if not accepted:
        return context
    facts = read_project_facts(folders.worktree.root)
    fitting = {lesson.id: lesson for lesson in accepted if fits_project(lesson, facts)}
    chosen = choose_lessons(fitting.values(), context.task, max_tokens=max_tokens)
    return with_lessons(context, chosen.taken)


def with_lessons(context: PromptContext, lessons: Collection[Lesson]) -> PromptContext:
    """The context with these lessons."""
    if not lessons:
        return context
    shown = tuple(PromptLesson(id=one.id, title=one.title, text=one.text) for one in lessons)
    return replace(context, lessons=shown)


def _key(file: LessonFile) -> str:
    """The key of its acceptance."""
    is_repository = file.place is LessonPlace.REPOSITORY
    return f"{LESSONS_FOLDER}/{file.lesson.id}.md" if is_repository else _user_key(file)


def _user_key(file: LessonFile) -> str:
    return f"{USER_KEY}{file.lesson.id}"


def _without_added(
    found: Mapping[str, str], accepted: Mapping[str, str]
) -> tuple[dict[str, str], list[str]]:
    """The acceptances as the user gave them, and the ids of the others."""
    added = [lesson for lesson, digest in found.items() if accepted.get(lesson) != digest]
    kept = {lesson: accepted[lesson] for lesson in found if lesson in accepted}
    return kept, sorted(added)


def _unused(files: Collection[LessonFile]) -> tuple[Notice, ...]:
    """What is not used, in one warning for each reason."""
    waiting = sorted(file.lesson.id for file in files if file.status is LessonStatus.UNAPPROVED)
    invalid = sorted(file.lesson.id for file in files if file.status is LessonStatus.INVALID)
    found = []
    if waiting:
        message = (
            f"{count_of(len(waiting), 'lesson')} you have not accepted in the present form, so no "
            f"prompt has it: {some_of(waiting, SHOWN)}; review with: ralph lessons"
        )
        found.append(Notice(code="lessons-unapproved", message=message))
    if invalid:
        message = (
            f"{count_of(len(invalid), 'lesson')} cannot be read: {some_of(invalid, SHOWN)}; "
            "see why with: ralph lessons"
        )
        found.append(Notice(code="lessons-invalid", message=message))
    return tuple(found)


def _warning(code: str, message: str) -> AnnouncementDone:
    return AnnouncementDone(code=code, message=message)
