"""Task templates: built-in ones, and the user's own in ``~/.config/ralph/templates/``.

An unusable template is reported and skipped; it never prevents a set-up.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from ralph_ls.core.setup.draft import OWN_TEMPLATE_PREFIX, ParsedTemplate, read_template
from ralph_ls.core.suggestions import did_you_mean
from ralph_ls.protocol.errors import StateUnusable, UsageError
from ralph_ls.protocol.lsp.setup import TemplateChoice, TemplateSource
from ralph_ls.store.files import names_in, read_regular

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
