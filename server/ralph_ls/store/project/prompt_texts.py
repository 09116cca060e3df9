"""Prompt texts: built-in prompts, templates that replace them, and the documents beside a plan.

A repository's templates take precedence over the user's, since they are specific to the project;
they are used only after ``ralph allow``. `core.prompt` builds prompts from these texts. The
documents that a format puts into a prompt are files of the repository, so only regular ones inside
of it are read, up to a limit.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from ralph_ls.core import prompt
from ralph_ls.core.plan.formats.plan_format import PlanFormat
from ralph_ls.core.plan.formats.registry import plan_name, project_of
from ralph_ls.core.prompt.documents import PlanDocument, plan_notes
from ralph_ls.core.prompt.template import PromptTexts, mode_word
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.run.values import Mode
from ralph_ls.store.files import read_regular, resolve_inside
from ralph_ls.store.project.detection import expand

FOLDER_VARIABLE = "RALPH_PROMPTS_DIR"

LARGEST_PROMPT = 16 << 20
"""Most bytes of a prompt."""

_FOLDER = Path(prompt.__path__[0]) / "wording"


class PromptSource(StrEnum):
    """Origin of a template."""

    BUILT_IN = "built-in"
    REPOSITORY = "repository"
    USER = "user"


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundTemplate:
    """Template of an iteration."""

    source: PromptSource
    path: str | None = None
    """Relative to the root for the repository's, absolute for the user's; None: built in."""
    data: bytes | None = None
    """Content of the file; None: built in."""
    shadowed: tuple[str, ...] = ()
    """Templates of lower precedence."""

    @property
    def text(self) -> str | None:
        """Text of the template; None: built in."""
        return None if self.data is None else self.data.decode("utf-8", errors="replace")


@functools.cache
def built_in_texts() -> PromptTexts:
    """All built-in templates and pieces; cached."""
    return PromptTexts(templates=_read(_FOLDER / "templates"), pieces=_read(_FOLDER / "pieces"))


@functools.cache
def format_texts() -> Mapping[str, str]:
    """What an agent reads of each plan format that another tool has, by name; cached."""
    return _read(_FOLDER / "formats")


def find_template(
    root: Path, config: Config, mode: Mode, environment: Mapping[str, str]
) -> FoundTemplate:
    """Template for iterations of a mode: the repository's, the user's, or the built-in one.

    Raises ``StateUnusable`` where one cannot be read.
    """
    names = _names(config, mode)
    folder = prompt_folder(environment)
    places = [
        *((PromptSource.REPOSITORY, f"{config.paths.prompts}/{name}") for name in names),
        *((PromptSource.USER, os.fspath(folder / name)) for name in names),
    ]
    found = [
        (source, path, data)
        for source, path in places
        if (data := read_regular(root / path, LARGEST_PROMPT)) is not None
    ]
    if not found:
        return FoundTemplate(source=PromptSource.BUILT_IN)
    source, path, data = found[0]
    return FoundTemplate(
        source=source,
        path=path,
        data=data,
        shadowed=tuple(other for _, other, _ in found[1:]),
    )


def prompt_folder(environment: Mapping[str, str]) -> Path:
    """``RALPH_PROMPTS_DIR``, else ``ralph/prompts`` in the user's config folder."""
    chosen = environment.get(FOLDER_VARIABLE, "")
    if chosen:
        return Path(chosen).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_config_dir("ralph", appauthor=False)) / "prompts"


def _names(config: Config, mode: Mode) -> list[str]:
    """File names for a mode: ``stories`` also has ``implement`` for ``build``."""
    words = dict.fromkeys((mode_word(config.profile, mode), mode.value))
    return [f"PROMPT_{word}.md" for word in words]


def _read(folder: Path) -> dict[str, str]:
    return {path.stem: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.md"))}


# ------------------------------------------------------------------------------ documents of a plan


MOST_DOCUMENTS = 20
LARGEST_FILE = 1 << 20
"""Most bytes of a document."""


WITHOUT_BOXES = "without-boxes"
"""The instructions for a Markdown plan whose tasks have no boxes."""


def notes_of_plan(root: Path, path: str, known: PlanFormat, *, instructions: str = "") -> str:
    """The part of a prompt about a plan's format and its documents.

    ``instructions`` are those of the format, unless they are named.
    """
    values = {
        "PLAN": path,
        "FOLDER": path.rpartition("/")[0],
        "NAME": plan_name(path, known),
    }
    documents = tuple(itertools.islice(_documents(root, path, known), MOST_DOCUMENTS))
    return plan_notes(format_texts().get(instructions or known.instructions, ""), values, documents)


def _documents(root: Path, path: str, known: PlanFormat) -> Iterator[PlanDocument]:
    own, project = path.rpartition("/")[0], project_of(path, known)
    for pattern in known.documents:
        of_plan = pattern.startswith("{folder}/") or not project
        wanted, folder = (pattern, own) if of_plan else (f"{{folder}}/{pattern}", project)
        for found in expand(root, wanted, folder=folder):
            try:
                data = read_regular(resolve_inside(root, found), LARGEST_FILE)
            except RalphError:
                continue
            if data:
                yield PlanDocument(path=found, text=data.decode("utf-8", errors="replace"))
