"""Set-up documents: plan, requirements, request and supporting files by the kind of the plan.

`FileToWrite` has a file's present and future content; `write_files` writes all of them or none.
Existing content is extended, never replaced.
"""

from __future__ import annotations

import contextlib
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from ralph_ls.core.loop.profiles import SPEC, Profile
from ralph_ls.core.plan.formats.plan_format import PlanStorage
from ralph_ls.core.plan.formats.registry import format_of
from ralph_ls.core.plan.specs import FOLDER, INDEX, spec_index_skeleton
from ralph_ls.core.setup.documents import (
    PROGRESS_NOTES,
    REQUEST_FILE,
    REQUIREMENTS,
    SPEC_NAME,
    WRAPPER,
    is_text_of,
    request_text,
    spec_file_name,
    spec_skeleton,
    spec_text,
    spec_title,
    validate_example,
    with_index_entry,
)
from ralph_ls.core.setup.plans import PlanText, add_items, add_stories, new_plan, new_stories
from ralph_ls.protocol.config.config import PathsConfig
from ralph_ls.protocol.errors import IssuesMissing, StateUnusable, UsageError
from ralph_ls.protocol.lsp.setup import DraftItem, SetupFile, SetupFileAction, SetupParams
from ralph_ls.protocol.task_words import Priority
from ralph_ls.store.external import bd
from ralph_ls.store.files import (
    ChangedMeanwhile,
    make_folders_below,
    read_regular,
    resolve_inside,
    write_atomic,
)
from ralph_ls.store.project.detection import find_specs, format_at, why_of_tool
from ralph_ls.store.project.prompt_texts import built_in_texts

LARGEST_FILE = 8 << 20
"""Most bytes of a file that is changed."""

EXECUTABLE = 0o755


@dataclass(frozen=True, slots=True, kw_only=True)
class FileToWrite:
    """One file of a set-up with its present and future content."""

    path: str
    """Path relative to the root."""
    before: bytes | None
    """Present content; None for a missing file."""
    after: bytes
    mode: int | None = None
    """Mode of a new file; None for the default."""

    @property
    def action(self) -> SetupFileAction:
        if self.before is None:
            return SetupFileAction.CREATE
        return SetupFileAction.KEEP if self.before == self.after else SetupFileAction.CHANGE

    def to_wire(self) -> SetupFile:
        text = self.after.decode("utf-8", errors="replace")
        return SetupFile(path=self.path, action=self.action, text=text)


def file_to_write(root: Path, path: str, text: str) -> FileToWrite:
    """The file with this text; raises ``StateUnusable`` if it is not a regular file."""
    data = text.encode("utf-8", errors="surrogateescape")
    return FileToWrite(path=path, before=read_existing_bytes(root, path), after=data)


def new_file(root: Path, path: str, text: str, *, mode: int | None = None) -> FileToWrite:
    """The file with this text if it is missing; an existing one is kept."""
    before = read_existing_bytes(root, path)
    after = text.encode() if before is None else before
    return FileToWrite(path=path, before=before, after=after, mode=mode)


def read_existing_bytes(root: Path, path: str) -> bytes | None:
    """Content of a file of the work tree; None if it is missing."""
    return read_regular(resolve_inside(root, path), LARGEST_FILE)


def read_existing_text(root: Path, path: str) -> str | None:
    """The same as text, with invalid UTF-8 preserved."""
    data = read_existing_bytes(root, path)
    return None if data is None else data.decode("utf-8", errors="surrogateescape")


def write_files(root: Path, files: Iterable[FileToWrite]) -> None:
    """Write the new and changed files, or none of them.

    Raises ``StateUnusable`` where one cannot be written or was changed meanwhile; those written
    before it are restored.
    """
    written: list[FileToWrite] = []
    try:
        for file in files:
            if file.action is not SetupFileAction.KEEP:
                _write(root, file)
                written.append(file)
    except StateUnusable:
        for file in reversed(written):
            _restore_file(root, file)
        raise


def _write(root: Path, file: FileToWrite) -> None:
    target = resolve_inside(root, file.path)
    try:
        make_folders_below(root, Path(root / file.path).parent)
        if file.before is None and read_regular(target) is not None:
            raise ChangedMeanwhile(file.path)
        write_atomic(target, file.after, mode=file.mode, expected=file.before)
    except ChangedMeanwhile as error:
        raise StateUnusable(
            f"{target} changed in the meantime, so nothing was written; look at it, then set up "
            "again"
        ) from error
    except OSError as error:
        raise StateUnusable(
            f"{target} cannot be written: {error.strerror or error}; fix that, then try again"
        ) from error


def _restore_file(root: Path, file: FileToWrite) -> None:
    """Restore a file; the original error is the one to report."""
    target = root / file.path
    with contextlib.suppress(OSError, StateUnusable, ChangedMeanwhile):
        if file.before is not None:
            write_atomic(target, file.before, expected=file.after)
        elif read_regular(target) == file.after:
            target.unlink()


ENTRY_POINT = "ralph"
"""Wrapper script in the root (docs/rules.md#set-up)."""

_PROMPT = "PROMPT_build.md"
_RANKS = {Priority.P0: 0, Priority.P1: 1, Priority.P2: 2}


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupDocuments:
    """The documents of a profile."""

    files: tuple[FileToWrite, ...] = ()
    notes: tuple[str, ...] = ()


def setup_documents(
    root: Path,
    order: SetupParams,
    profile: Profile,
    plan_path: str,
    paths: PathsConfig,
    *,
    environment: Mapping[str, str],
    today: date,
) -> SetupDocuments:
    """The documents of this order, without the settings.

    ``plan_path`` is the present or future path of the plan; empty where it is not a file. Raises
    ``RalphError`` for items that a plan cannot take.
    """
    match format_of(profile.plan_kind).storage:
        case PlanStorage.MARKDOWN:
            return _of_markdown(root, order, profile, plan_path, paths, today=today)
        case PlanStorage.STORIES:
            return _of_stories(root, order, plan_path, paths)
        case PlanStorage.TRACKER:
            return _of_beads(root, order, environment, today=today)
        case _:
            return _of_request(root, order)


def requirements_beside(plan_path: str) -> str:
    """Path of the requirements of a plan of stories, which its prompts also name."""
    return (Path(plan_path).parent / "prd.md").as_posix()


def _of_markdown(
    root: Path,
    order: SetupParams,
    profile: Profile,
    plan_path: str,
    paths: PathsConfig,
    *,
    today: date,
) -> SetupDocuments:
    is_spec = profile is SPEC
    is_bare = not order.description.strip() and not order.items
    files, name = _specification(root, order.description, with_index=is_spec, today=today)
    notes: tuple[str, ...] = ()
    has_plan = (root / plan_path).exists()
    if is_spec and is_bare and not has_plan:
        files += _first_specification(root, today=today)
    elif is_bare and not has_plan and (why := why_of_tool(root)):
        # A second plan would hide that of the other tool.
        notes = (f"no plan was written: {why}",)
    elif has_plan and not (known := format_at(root, plan_path, profile.plan_kind)).is_markdown:
        if order.items:
            raise UsageError(
                f"{plan_path} is a plan of {known.title}, to which ralph adds no tasks; add yours "
                f"with that tool, or work on them without a plan: ralph run -p "
                f"{shlex.quote(order.items[0].title)}"
            )
    else:
        plan = _plan(root, plan_path, order, profile, spec=name)
        files.append(file_to_write(root, plan_path, plan.text))
        notes = plan.notes
    if is_spec:
        surroundings, more = _supporting_files(root, paths)
        files += surroundings
        notes += more
    return SetupDocuments(files=tuple(files), notes=notes)


def _specification(
    root: Path, description: str, *, with_index: bool, today: date
) -> tuple[list[FileToWrite], str | None]:
    """The file of the description, which every agent reads, and its path."""
    if not description.strip():
        return [], None
    spec = specification_of(root, description, today=today)
    path, name = spec.path, spec.path.removeprefix(f"{FOLDER}/")
    files = [spec]
    index = read_existing_text(root, f"{FOLDER}/{INDEX}")
    if with_index or index is not None:
        text = with_index_entry(index, name, description, today=today)
        files.append(file_to_write(root, f"{FOLDER}/{INDEX}", text))
    return files, path


def specification_of(root: Path, description: str, *, today: date) -> FileToWrite:
    """The specification with this description: one that is there, else a new one."""
    names = find_specs(root)
    for name in names:
        text = read_existing_text(root, f"{FOLDER}/{name}") or ""
        if is_text_of(text, description):
            return file_to_write(root, f"{FOLDER}/{name}", text)
    name = spec_file_name(description, names)
    return file_to_write(root, f"{FOLDER}/{name}", spec_text(description, created=today))


def _first_specification(root: Path, *, today: date) -> list[FileToWrite]:
    """The index, and a first specification where there is none (docs/rules.md#set-up)."""
    index = new_file(root, f"{FOLDER}/{INDEX}", spec_index_skeleton())
    if find_specs(root):
        return [index]
    return [new_file(root, f"{FOLDER}/{SPEC_NAME}", spec_skeleton(created=today)), index]


def _supporting_files(root: Path, paths: PathsConfig) -> tuple[list[FileToWrite], tuple[str, ...]]:
    """Wrapper, prompt and example validation script (docs/rules.md#set-up).

    The prompt includes the built-in pieces, so it changes with them; a project can add text
    between them.
    """
    example = f"{paths.validate_script}.example"
    files = [
        new_file(root, f"{paths.prompts}/{_PROMPT}", built_in_texts().templates["spec-build"]),
        new_file(root, example, validate_example(paths.validate_script)),
    ]
    if (root / ENTRY_POINT).is_dir():
        note = (
            f"{ENTRY_POINT}/ is a folder here, so no wrapper was written; start the loop with: "
            "ralph run"
        )
        return files, (note,)
    return [new_file(root, ENTRY_POINT, WRAPPER, mode=EXECUTABLE), *files], ()


def _plan(
    root: Path, path: str, order: SetupParams, profile: Profile, *, spec: str | None
) -> PlanText:
    text = read_existing_text(root, path)
    if text is None or (not text.strip() and order.items):
        return new_plan(profile.name, order.items, spec=spec)
    origin = f" ({spec})" if spec and profile is SPEC else ""
    return add_items(text, order.items, origin=origin)


def _of_stories(
    root: Path, order: SetupParams, plan_path: str, paths: PathsConfig
) -> SetupDocuments:
    """Stories, requirements and the notes of iterations (docs/rules.md#set-up)."""
    text = read_existing_text(root, plan_path)
    is_ours = text is None or Path(plan_path).parent == Path(paths.progress).parent
    if text is None or not text.strip():
        written = PlanText(
            text=new_stories(root.name, spec_title(order.description), order.items), notes=()
        )
    else:
        written = add_stories(text, order.items)
    files = [file_to_write(root, plan_path, written.text)]
    requirements = requirements_beside(plan_path)
    if order.description.strip() or is_ours:
        files.append(_requirements(root, requirements, order.description))
    if is_ours:
        files.append(new_file(root, paths.progress, PROGRESS_NOTES))
    return SetupDocuments(files=tuple(files), notes=written.notes)


def _requirements(root: Path, path: str, description: str) -> FileToWrite:
    text = read_existing_text(root, path)
    body = description.replace("\r\n", "\n").strip()
    if not body or (text is not None and is_text_of(text, description)):
        return new_file(root, path, REQUIREMENTS)
    if text is None:
        return file_to_write(root, path, f"{REQUIREMENTS}\n{body}\n")
    newline = "\r\n" if "\r\n" in text else "\n"
    gap = newline if text.endswith("\n") else newline * 2
    return file_to_write(root, path, f"{text}{gap}{body.replace(chr(10), newline)}{newline}")


def _of_beads(
    root: Path, order: SetupParams, environment: Mapping[str, str], *, today: date
) -> SetupDocuments:
    """Only the description: ``bd`` stores the issues, and is never run unasked."""
    files, _ = _specification(root, order.description, with_index=False, today=today)
    notes: list[str] = []
    try:
        bd.find_bd(root, environment)
    except IssuesMissing as error:
        notes.append(error.message)
    if not (root / bd.FOLDER).is_dir():
        notes.append(f"there is no {bd.FOLDER}/ here yet; create it with: bd init")
    if order.items:
        commands = "; ".join(_creating(item) for item in order.items)
        notes.append(f"ralph does not create the issues; create them with: {commands}")
    return SetupDocuments(files=tuple(files), notes=tuple(notes))


def _creating(item: DraftItem) -> str:
    words = ["bd", "create", item.title.strip(), "--priority", str(_RANKS[item.priority])]
    if item.detail.strip():
        words += ["--acceptance", item.detail.strip()]
    return shlex.join(words)


def _of_request(root: Path, order: SetupParams) -> SetupDocuments:
    """The request given as text; an existing file stays where it is."""
    if not order.description.strip():
        return SetupDocuments()
    if order.issue is not None or order.existing_plan is not None:
        raise UsageError(
            "there is already a request, so a description cannot be used; leave one of them out"
        )
    text = read_existing_text(root, REQUEST_FILE)
    wanted = request_text(order.description, order.items)
    if text is not None and text.strip() and text != wanted:
        raise UsageError(
            f"{REQUEST_FILE} already exists with another text; use it with --issue "
            f"{REQUEST_FILE}, or move it away"
        )
    return SetupDocuments(files=(file_to_write(root, REQUEST_FILE, wanted),))
