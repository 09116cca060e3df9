"""Project files: what kind of project a repository holds, and what a template adds to it.

Only names and a few texts are read (docs/setting-up.md); nothing is started.
"""

from __future__ import annotations

import os
from pathlib import Path

from ralph_ls.core.setup.draft import ParsedTemplate
from ralph_ls.core.setup.project_kind import (
    READ_FILES,
    TEST_FOLDERS,
    ProjectKind,
    agent_notes,
    project_kind,
    validation_script,
)
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.store.files import names_in, read_regular, resolve_inside
from ralph_ls.store.setup.documents import EXECUTABLE, FileToWrite, new_file

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
