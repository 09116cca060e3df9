"""Lesson files: the repository's, the user's and the proposed ones, and which are accepted.

A repository's lessons are in ``.ralph/lessons/`` and are approved like its prompts, by
``ralph allow`` or by accepting one. The user's are in the config folder; the hashes of the accepted
ones are in the state root, so that a file which appears or changes there is not used by itself.
Proposals are with the state of a work tree, and no prompt has them (docs/rules.md#lessons).
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, ValidationError

from ralph_ls.core.lessons.lesson import Lesson, read_lesson, write_lesson
from ralph_ls.protocol.base import WireModel
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.protocol.lessons import LessonPlace, LessonStatus
from ralph_ls.store.files import (
    PRIVATE_FILE,
    make_private_folder,
    names_in,
    read_if_there,
    read_regular,
    resolve_inside,
    write_atomic,
)
from ralph_ls.store.layout import StateFolder, Worktree, state_root
from ralph_ls.store.project.trust import LESSONS_FOLDER, read_record

FOLDER_VARIABLE = "RALPH_LESSONS_DIR"

ACCEPTED = "lessons.json"
"""File in the state root with the user's accepted lessons."""

USER_KEY = "lesson: "
"""Prefix of the key with which an acceptance of a user's lesson is sent to a live run."""

LARGEST_LESSON = 64 << 10
"""Most bytes of a lesson file."""

MOST_LESSONS = 500
"""Most files of a folder that are read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonFolders:
    """Where lessons are for one work tree, or outside of any."""

    user: Path
    record: Path
    """File with the accepted lessons of the user."""
    worktree: Worktree | None = None
    state: StateFolder | None = None

    @property
    def repository(self) -> Path | None:
        return None if self.worktree is None else self.worktree.root / LESSONS_FOLDER

    @property
    def proposed(self) -> Path | None:
        return None if self.state is None else proposal_folder(self.state)

    def folder(self, place: LessonPlace) -> Path | None:
        """The folder of a place; None outside of a work tree."""
        match place:
            case LessonPlace.USER:
                return self.user
            case LessonPlace.REPOSITORY:
                return self.repository
            case LessonPlace.PROPOSED:
                return self.proposed


@dataclass(frozen=True, slots=True, kw_only=True)
class LessonFile:
    """One lesson with its file."""

    lesson: Lesson
    place: LessonPlace
    status: LessonStatus
    path: Path
    sha256: str


class AcceptedLessons(WireModel):
    """Content of ``lessons.json``."""

    accepted: dict[str, str] = Field(default_factory=dict)
    """Id to the hash of the file."""


class ProposalRecord(WireModel):
    """Content of ``lessons-proposals.json``: what became of a work tree's proposals."""

    rejected: tuple[str, ...] = ()
    """Ids that are not proposed again."""
    written: dict[str, str] = Field(default_factory=dict)
    """Id to the hash of the file as it was proposed, by which the user's edits are recognised."""


def user_folder(environment: Mapping[str, str]) -> Path:
    """``RALPH_LESSONS_DIR``, else ``ralph/lessons`` in the user's config folder."""
    chosen = environment.get(FOLDER_VARIABLE, "")
    if chosen:
        return Path(chosen).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_config_dir("ralph", appauthor=False)) / "lessons"


def lesson_folders(
    environment: Mapping[str, str],
    worktree: Worktree | None = None,
    state: StateFolder | None = None,
) -> LessonFolders:
    """The folders for a work tree and its state."""
    return LessonFolders(
        user=user_folder(environment),
        record=state_root(environment) / ACCEPTED,
        worktree=worktree,
        state=state,
    )


def digest_of(data: bytes) -> str:
    """The hash by which the content of a lesson file is accepted; the same as for approvals."""
    return hashlib.sha256(data).hexdigest()


def read_lessons(
    folders: LessonFolders, *places: LessonPlace
) -> tuple[list[LessonFile], list[str]]:
    """The lessons of these places or of all, and what could not be read, in words."""
    found: list[LessonFile] = []
    problems: list[str] = []
    for place in places or tuple(LessonPlace):
        folder = folders.folder(place)
        if folder is None:
            continue
        approved = _approved(folders, place)
        try:
            names = [name for name in names_in(folder, MOST_LESSONS) if name.endswith(".md")]
        except StateUnusable as error:
            problems.append(error.message)
            continue
        for name in names:
            try:
                found.append(_read(folders, place, folder / name, approved))
            except StateUnusable as error:
                problems.append(error.message)
    return found, problems


def _approved(folders: LessonFolders, place: LessonPlace) -> Mapping[str, str]:
    """Id to the accepted hash."""
    if place is LessonPlace.USER:
        return read_accepted(folders.record)
    if place is LessonPlace.REPOSITORY and folders.state is not None:
        prefix = f"{LESSONS_FOLDER}/"
        return {
            key.removeprefix(prefix).removesuffix(".md"): digest
            for key, digest in read_record(folders.state).allowed.items()
            if key.startswith(prefix)
        }
    return {}


def _read(
    folders: LessonFolders, place: LessonPlace, path: Path, approved: Mapping[str, str]
) -> LessonFile:
    if place is LessonPlace.REPOSITORY and folders.worktree is not None:
        resolve_inside(folders.worktree.root, f"{LESSONS_FOLDER}/{path.name}")
    data = read_regular(path, LARGEST_LESSON) or b""
    name = os.fsencode(path.stem).decode("utf-8", errors="backslashreplace")
    lesson, digest = read_lesson(name, data.decode("utf-8", errors="replace")), digest_of(data)
    return LessonFile(
        lesson=lesson,
        place=place,
        status=_status(lesson, place, is_accepted=approved.get(name) == digest),
        path=path,
        sha256=digest,
    )


def _status(lesson: Lesson, place: LessonPlace, *, is_accepted: bool) -> LessonStatus:
    if lesson.problems:
        return LessonStatus.INVALID
    if place is LessonPlace.PROPOSED:
        return LessonStatus.PROPOSED
    return LessonStatus.ACCEPTED if is_accepted else LessonStatus.UNAPPROVED


def read_accepted(record: Path) -> dict[str, str]:
    """The user's accepted lessons, id to hash; an unreadable file accepts none."""
    data = read_if_there(record)
    try:
        return {} if data is None else AcceptedLessons.model_validate_json(data).accepted
    except ValidationError:
        return {}


def write_accepted(record: Path, accepted: Mapping[str, str]) -> None:
    """Store the user's accepted lessons; raises ``StateUnusable``."""
    make_private_folder(record.parent)
    content = AcceptedLessons(accepted=dict(sorted(accepted.items())))
    data = content.model_dump_json(by_alias=True, indent=2).encode() + b"\n"
    write_atomic(record, data, mode=PRIVATE_FILE)


def proposal_folder(state: StateFolder) -> Path:
    """The folder of a work tree's proposals, outside of the tree."""
    return state.folder / "lessons"


def write_proposal(state: StateFolder, lesson: Lesson) -> bool:
    """Write a proposal, unless the user has edited the earlier one; returns whether it is written.

    Raises ``StateUnusable``.
    """
    path = make_private_folder(proposal_folder(state)) / f"{lesson.id}.md"
    record, data = read_proposals(state), write_lesson(lesson).encode()
    here = read_if_there(path)
    if here is not None and record.written.get(lesson.id) != digest_of(here):
        return False
    write_atomic(path, data, mode=PRIVATE_FILE)
    written = {**record.written, lesson.id: digest_of(data)}
    write_proposals(state, record.model_copy(update={"written": written}))
    return True


def read_proposals(state: StateFolder) -> ProposalRecord:
    """What became of the proposals; an unreadable file has nothing."""
    data = read_if_there(_proposal_record(state))
    try:
        return ProposalRecord() if data is None else ProposalRecord.model_validate_json(data)
    except ValidationError:
        return ProposalRecord()


def write_proposals(state: StateFolder, record: ProposalRecord) -> None:
    """Store what became of the proposals; raises ``StateUnusable``."""
    path = _proposal_record(state)
    make_private_folder(path.parent)
    write_atomic(path, record.model_dump_json(by_alias=True).encode() + b"\n", mode=PRIVATE_FILE)


def _proposal_record(state: StateFolder) -> Path:
    return state.folder / "lessons-proposals.json"
