"""Facts of a project that lessons are matched with: its files, languages and dependencies.

Only names and a few manifests of the root are read; nothing is started but git.
"""

from __future__ import annotations

import contextlib
from pathlib import Path

from ralph_ls.core.lessons.matching import MANIFESTS, ProjectFacts, project_facts
from ralph_ls.protocol.errors import RalphError, StateUnusable
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.files import read_regular, resolve_inside

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
