"""Task templates: built-in ones and the user's own, and what one adds to a project of a known kind.

The user's are in ``~/.config/ralph/templates/``. An unusable one is reported and skipped; it never
prevents a set-up. The kind of a project is read from names and a few texts (docs/setting-up.md);
nothing is started.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ralph_ls.core.setup.draft import OWN_TEMPLATE_PREFIX, ParsedTemplate, read_template
from ralph_ls.core.setup.project_kind import (
    READ_FILES,
    TEST_FOLDERS,
    ProjectKind,
    agent_notes,
    project_kind,
    validation_script,
)
from ralph_ls.core.suggestions import did_you_mean
from ralph_ls.protocol.errors import StateUnusable, UsageError
from ralph_ls.protocol.lsp.setup import TemplateChoice, TemplateSource
from ralph_ls.store.files import names_in, read_regular, resolve_inside
from ralph_ls.store.setup.documents import EXECUTABLE, FileToWrite, new_file

BUILT_IN = (
    "bug-fix",
    "feature",
    "refactoring",
    "test-coverage",
    "documentation",
    "python-service",
    "python-cli",
    "node-service",
    "react-app",
    "go-cli",
    "rust-cli",
    "docs",
)
"""Built-in templates in the order of the list."""

FOLDER_VARIABLE = "RALPH_TEMPLATES_DIR"

LARGEST_TEMPLATE = 100_000
"""Most bytes of a template."""

MOST_OWN = 200
"""Most templates of the user that are read."""

_BUILT_IN_FOLDER = Path(__file__).with_name("templates")


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTemplates:
    """All templates, and problems of the user's templates."""

    choices: tuple[TemplateChoice, ...]
    folder: Path
    """Folder of the user's templates; may be missing."""
    problems: tuple[str, ...] = ()
    extras: Mapping[str, ParsedTemplate] = field(default_factory=dict)
    """By id: the templates of a kind of project, with their notes and checks."""


def load_templates(environment: Mapping[str, str]) -> TaskTemplates:
    """The built-in templates, then the user's; never raises for their content."""
    folder = template_folder(environment)
    parsed = [_built_in(name) for name in BUILT_IN]
    problems: list[str] = []
    try:
        names = [name for name in names_in(folder) if _is_template(name)]
    except StateUnusable as error:
        names = []
        problems.append(f"the templates were left out: {error.message}")
    if len(names) > MOST_OWN:
        problems.append(
            f"only the first {MOST_OWN} of the {len(names)} templates in {folder} are read"
        )
    for name in names[:MOST_OWN]:
        read, found = _own(folder / name)
        parsed += [] if read is None else [read]
        problems += found
    usable = {read.template.id: read for read in parsed if read.template is not None}
    return TaskTemplates(
        choices=tuple(read.template for read in usable.values() if read.template is not None),
        folder=folder,
        problems=tuple(problems),
        extras={name: read for name, read in usable.items() if read.notes or read.checks},
    )


def find_template(templates: TaskTemplates, wanted: str) -> TemplateChoice:
    """The template with that id; the prefix of the user's templates may be omitted.

    Raises ``UsageError`` with the existing ids.
    """
    by_id = {choice.id: choice for choice in templates.choices}
    found = by_id.get(wanted) or by_id.get(f"{OWN_TEMPLATE_PREFIX}{wanted}")
    if found is None:
        raise UsageError(
            f"there is no template {wanted!r}{did_you_mean(wanted, by_id)}\n"
            f"Templates: {', '.join(by_id)}\n"
            f"Your own are .md files in {templates.folder}"
        )
    return found


def template_folder(environment: Mapping[str, str]) -> Path:
    """``RALPH_TEMPLATES_DIR``, else ``ralph/templates`` in the user's config folder.

    See docs/rules.md#files.
    """
    chosen = environment.get(FOLDER_VARIABLE, "")
    if chosen:
        return Path(chosen).expanduser().absolute()
    import platformdirs

    return Path(platformdirs.user_config_dir("ralph", appauthor=False)) / "templates"


def _is_template(name: str) -> bool:
    return name.lower().endswith(".md") and not name.startswith(".")


def _built_in(name: str) -> ParsedTemplate:
    text = (_BUILT_IN_FOLDER / f"{name}.md").read_text(encoding="utf-8")
    return read_template(name, text, source=TemplateSource.BUILT_IN)


def _own(path: Path) -> tuple[ParsedTemplate | None, list[str]]:
    shown = os.fsencode(path).decode("utf-8", errors="backslashreplace")
    try:
        text = (read_regular(path, LARGEST_TEMPLATE) or b"").decode("utf-8-sig")
    except StateUnusable as error:
        return None, [f"the template {error.message}"]
    except UnicodeDecodeError:
        return None, [f"the template {shown} is not UTF-8; save it as UTF-8"]
    name = shown.rpartition(os.sep)[2].rpartition(".")[0]
    read = read_template(name, text, source=TemplateSource.OWN, path=shown)
    return read, [f"the template {shown}: {problem}" for problem in read.problems]


# -------------------------------------------------------------------------- what a repository holds


LARGEST_READ = 1 << 20
"""Most bytes of a file that is read."""

AGENT_NOTES = "AGENTS.md"


def read_project(root: Path) -> ProjectKind:
    """The kind of the project at ``root``; what cannot be read is not there."""
    names = {
        *_names(root),
        *(f"{top}/{name}" for top in TEST_FOLDERS for name in _names(root / top)),
    }
    texts = {name: _text(root, name) for name in READ_FILES if name in names}
    return project_kind(names, texts)


def template_files(root: Path, template: ParsedTemplate, script: str) -> list[FileToWrite]:
    """Notes for agents and the validation script of a template, where they are missing.

    The script has the checks of the project, else those of the template.
    """
    checks = read_project(root).checks or template.checks
    files = []
    if template.notes:
        files.append(new_file(root, AGENT_NOTES, agent_notes(template.notes, checks)))
    if checks:
        text = validation_script(script, checks)
        files.append(new_file(root, script, text, mode=EXECUTABLE))
    return files


def _names(folder: Path) -> list[str]:
    try:
        return [os.fsencode(name).decode("utf-8", errors="replace") for name in names_in(folder)]
    except StateUnusable:
        return []


def _text(root: Path, name: str) -> str:
    try:
        data = read_regular(resolve_inside(root, name), LARGEST_READ)
    except StateUnusable:
        return ""
    return (data or b"").decode("utf-8", errors="replace")
