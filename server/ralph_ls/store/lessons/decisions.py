"""Decisions about lessons: accept, reject, remove, import and export.

Accepting moves a proposal to where its scope belongs and stores the hash of what was shown. A live
run has to accept it as well before it is stored, since it reads acceptances at its start alone; so
an iteration, which may not give that command, gets no lesson into a prompt.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import Field, ValidationError

from ralph_ls.core.lessons.lesson import MAX_ID, Lesson, lesson_id_of, read_lesson, write_lesson
from ralph_ls.core.suggestions import did_you_mean
from ralph_ls.protocol.base import StrictWireModel
from ralph_ls.protocol.errors import NotAllowed, StateUnusable, UsageError, WorkspaceBusy
from ralph_ls.protocol.lessons import LessonPlace, LessonScope, LessonStatus
from ralph_ls.store.files import (
    PRIVATE_FILE,
    make_folders_below,
    make_private_folder,
    read_regular,
    resolve_inside,
    write_atomic,
)
from ralph_ls.store.lessons.lesson_files import (
    LARGEST_LESSON,
    MOST_LESSONS,
    USER_KEY,
    LessonFile,
    LessonFolders,
    digest_of,
    proposal_folder,
    read_accepted,
    read_lessons,
    read_proposals,
    write_accepted,
    write_proposals,
)
from ralph_ls.store.project.trust import LESSONS_FOLDER, read_record, write_record
from ralph_ls.store.run.lock import is_held

AskRuns = Callable[[Mapping[str, str]], tuple[str, ...]]
"""Sends acceptances (key to digest) to every live run that they concern; returns notes."""

LARGEST_EXPORT = 16 << 20
"""Most bytes of a file that is imported."""


EXPORT_VERSION = 1
"""Version of the format of exports."""


class ExportedLesson(StrictWireModel):
    """One lesson of an export."""

    id: str
    text: str = Field(max_length=LARGEST_LESSON)
    """The whole file, with its front matter."""


class LessonExport(StrictWireModel):
    """A file that ``ralph lessons export`` writes for a team."""

    version: int = Field(default=EXPORT_VERSION, ge=EXPORT_VERSION, le=EXPORT_VERSION)
    lessons: tuple[ExportedLesson, ...] = Field(default=(), max_length=MOST_LESSONS)


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonDecision:
    """What was done with a lesson."""

    lesson: Lesson
    path: Path
    """Where it is now, or was."""
    notes: tuple[str, ...] = ()


def find_lesson(folders: LessonFolders, name: str, *places: LessonPlace) -> LessonFile:
    """The lesson with this id, or the path of its file; proposals first.

    Raises ``UsageError`` where there is none.
    """
    files, _ = read_lessons(folders, *places)
    order = [LessonPlace.PROPOSED, LessonPlace.REPOSITORY, LessonPlace.USER]
    wanted = Path(name).absolute() if "/" in name else None
    fitting = [
        file
        for file in files
        if file.lesson.id == name.removesuffix(".md")
        or (wanted is not None and file.path.resolve() == wanted.resolve())
    ]
    if not fitting:
        ids = [file.lesson.id for file in files]
        meant = did_you_mean(name, ids, otherwise="list them: ralph lessons")
        raise UsageError(f"there is no lesson {name!r} here{meant}")
    return min(fitting, key=lambda file: order.index(file.place))


def accept_lesson(
    folders: LessonFolders,
    file: LessonFile,
    *,
    today: str,
    ask_runs: AskRuns,
    scope: LessonScope | None = None,
    match: tuple[str, ...] = (),
    shown: str | None = None,
) -> LessonDecision:
    """Accept a lesson as it is, or with another scope; ``shown`` is the hash of what was shown.

    Raises ``NotAllowed`` where the file changed since, and ``UsageError`` for an invalid lesson.
    """
    if shown is not None and shown != file.sha256:
        raise NotAllowed(
            f"the lesson {file.lesson.id} changed since it was shown, so it was not accepted; look "
            f"at it again: ralph lessons show {file.lesson.id}"
        )
    lesson, place = with_scope(file, scope, match).lesson, file.place
    if lesson.problems:
        step = f"edit {file.path}" if scope is None else "give another --scope or --match"
        raise UsageError(
            f"the lesson {lesson.id} cannot be accepted: {'; '.join(lesson.problems)}; {step}"
        )
    if place is LessonPlace.PROPOSED:
        is_here = lesson.scope is LessonScope.REPOSITORY
        place = LessonPlace.REPOSITORY if is_here else LessonPlace.USER
        lesson = replace(lesson, date=today)
        lesson = replace(lesson, id=_free_id(folders, place, lesson))
    is_moved = place is not file.place or lesson != file.lesson
    data = write_lesson(lesson).encode() if is_moved else _content(file)
    if place is LessonPlace.REPOSITORY:
        path, notes = _accept_in_repository(folders, lesson.id, data, ask_runs)
    else:
        path, notes = _accept_for_user(folders, lesson, data, ask_runs)
    if file.place is LessonPlace.PROPOSED:
        file.path.unlink(missing_ok=True)
    return LessonDecision(lesson=lesson, path=path, notes=notes)


def with_scope(file: LessonFile, scope: LessonScope | None, match: tuple[str, ...]) -> LessonFile:
    """The file with its lesson for another scope; None: as it is."""
    if scope is None:
        return file
    changed = replace(file.lesson, scope=scope, match=match, problems=())
    return replace(file, lesson=read_lesson(file.lesson.id, write_lesson(changed)))


def _free_id(folders: LessonFolders, place: LessonPlace, lesson: Lesson) -> str:
    """The id, with a number where another lesson of the place has it: that one is kept."""
    files, _ = read_lessons(folders, place)
    taken = {file.lesson.id for file in files if _body(file.lesson) != _body(lesson)}
    free = (f"{lesson.id[:MAX_ID]}-{number}" for number in itertools.count(2))
    return lesson.id if lesson.id not in taken else next(one for one in free if one not in taken)


def _content(file: LessonFile) -> bytes:
    data = read_regular(file.path, LARGEST_LESSON) or b""
    if digest_of(data) != file.sha256:
        raise NotAllowed(f"{file.path} changed just now, so it was not accepted; look at it again")
    return data


def _accept_in_repository(
    folders: LessonFolders, lesson_id: str, data: bytes, ask_runs: AskRuns
) -> tuple[Path, tuple[str, ...]]:
    worktree, state = folders.worktree, folders.state
    if worktree is None or state is None:
        raise UsageError("a lesson of a repository can only be accepted inside that repository")
    key = f"{LESSONS_FOLDER}/{lesson_id}.md"
    notes = ask_runs({key: digest_of(data)})
    path = resolve_inside(worktree.root, key)
    try:
        make_folders_below(worktree.root, path.parent)
    except OSError as error:
        raise StateUnusable(
            f"{path.parent} cannot be created: {error.strerror or error}; remove what is there"
        ) from error
    write_atomic(path, data)
    record = read_record(state)
    allowed = {**record.allowed, key: digest_of(data)}
    write_record(state, record.model_copy(update={"root": str(worktree.root), "allowed": allowed}))
    return path, notes


def _accept_for_user(
    folders: LessonFolders, lesson: Lesson, data: bytes, ask_runs: AskRuns
) -> tuple[Path, tuple[str, ...]]:
    if lesson.scope is LessonScope.REPOSITORY:
        raise UsageError(
            f"the lesson {lesson.id} has the scope repository, and the user's lessons are for all "
            "projects; give it another: --scope everywhere"
        )
    notes = ask_runs({f"{USER_KEY}{lesson.id}": digest_of(data)})
    path = make_private_folder(folders.user) / f"{lesson.id}.md"
    write_atomic(path, data, mode=PRIVATE_FILE)
    write_accepted(folders.record, {**read_accepted(folders.record), lesson.id: digest_of(data)})
    return path, notes


def reject_lesson(folders: LessonFolders, file: LessonFile) -> LessonDecision:
    """Reject a proposal, so that it is not proposed again; raises ``UsageError`` for another."""
    state = folders.state
    if file.place is not LessonPlace.PROPOSED or state is None:
        raise UsageError(
            f"the lesson {file.lesson.id} is not a proposal; take it out of use with: "
            f"ralph lessons remove {file.lesson.id}"
        )
    record = read_proposals(state)
    rejected = tuple(dict.fromkeys((*record.rejected, file.lesson.id)))
    write_proposals(state, record.model_copy(update={"rejected": rejected}))
    file.path.unlink(missing_ok=True)
    return LessonDecision(lesson=file.lesson, path=file.path)


def remove_lesson(folders: LessonFolders, file: LessonFile) -> LessonDecision:
    """Remove a lesson's file and its acceptance.

    Raises ``WorkspaceBusy`` for a repository's lesson during a run, whose guard would restore it.
    """
    worktree, state, lesson_id = folders.worktree, folders.state, file.lesson.id
    if file.place is LessonPlace.REPOSITORY and worktree is not None and state is not None:
        if is_held(worktree.git_dir):
            raise WorkspaceBusy(
                f"a run is active in {worktree.root}, and it would restore {file.path}; wait for "
                "it, or stop it: ralph stop"
            )
        record = read_record(state)
        kept = {k: v for k, v in record.allowed.items() if k != f"{LESSONS_FOLDER}/{lesson_id}.md"}
        write_record(state, record.model_copy(update={"allowed": kept}))
    elif file.place is LessonPlace.USER:
        accepted = read_accepted(folders.record)
        accepted.pop(lesson_id, None)
        write_accepted(folders.record, accepted)
    file.path.unlink(missing_ok=True)
    return LessonDecision(lesson=file.lesson, path=file.path)


# ----------------------------------------------------------------------------------- for a team


def export_lessons(files: Iterable[LessonFile], hits: Mapping[str, int]) -> str:
    """The accepted lessons as one JSON document; ``hits`` is how many prompts had each."""
    exported = [
        ExportedLesson(
            id=file.lesson.id,
            text=write_lesson(
                replace(file.lesson, hits=max(file.lesson.hits, hits.get(file.lesson.id, 0)))
            ),
        )
        for file in files
        if file.status is LessonStatus.ACCEPTED
    ]
    return LessonExport(lessons=tuple(exported)).model_dump_json(by_alias=True, indent=2) + "\n"


def import_lessons(folders: LessonFolders, path: Path) -> tuple[list[LessonDecision], list[str]]:
    """Write the lessons of an export as proposals; the second value names what was left out.

    Raises ``UsageError`` where the file is none, or outside of a repository.
    """
    state = folders.state
    if state is None:
        raise UsageError(
            "lessons are imported as proposals of a repository; change into one of yours"
        )
    known = {(file.lesson.id, _body(file.lesson)) for file in read_lessons(folders)[0]}
    imported, left_out = [], []
    for exported in _read_export(path).lessons:
        lesson = read_lesson(exported.id, exported.text)
        if lesson.problems:
            left_out.append(f"{exported.id[:80]}: {'; '.join(lesson.problems)}")
        elif (lesson.id, _body(lesson)) in known:
            left_out.append(f"{lesson.id}: it is here already")
        else:
            target = make_private_folder(proposal_folder(state)) / f"{lesson.id}.md"
            write_atomic(target, write_lesson(lesson).encode(), mode=PRIVATE_FILE)
            imported.append(LessonDecision(lesson=lesson, path=target))
    return imported, left_out


def _body(lesson: Lesson) -> tuple[str, str]:
    return lesson.title, lesson.text


def _read_export(path: Path) -> LessonExport:
    try:
        data = read_regular(path, LARGEST_EXPORT)
    except StateUnusable as error:
        raise UsageError(error.message) from error
    if data is None:
        raise UsageError(f"there is no file {path}; write one with: ralph lessons export")
    if path.suffix == ".md":
        # One lesson alone, as somebody sent it.
        text = data.decode("utf-8", errors="replace")
        one = ExportedLesson(id=lesson_id_of(path.stem), text=text[:LARGEST_LESSON])
        return LessonExport(lessons=(one,))
    try:
        return LessonExport.model_validate(json.loads(data))
    except (ValueError, RecursionError, ValidationError) as error:
        raise UsageError(
            f"{path} is not an export of lessons; write one with: ralph lessons export"
        ) from error
