"""What is beside a markdown plan and decides whether an agent is started on one without a task.

Finished tasks may all be in the progress log or its archive; what is to be built may be in
specifications or in a document of requirements. Nothing here ever writes one of them.
"""

from __future__ import annotations

from pathlib import Path

from ralph_ls.core.plan.completion import records_finished
from ralph_ls.core.plan.edit.progress_log import archive_path
from ralph_ls.engine.specifications import has_specifications
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.store.files import read_regular, resolve_inside
from ralph_ls.store.setup.documents import LARGEST_FILE

REQUIREMENTS = ("PRD.md", "prd.md")
"""Documents in the root that say what is to be built."""


def has_finished_tasks(root: Path, config: Config) -> bool:
    """Whether the progress log, or its archive, records a finished task."""
    return any(records_finished(log) for log in finished_logs(root, config))


def finished_logs(root: Path, config: Config) -> tuple[str, str]:
    """The progress log and its archive."""
    log = config.paths.progress
    return _text(root, log), _text(root, archive_path(log))


def has_text_to_plan_from(root: Path) -> bool:
    """Whether something says what is to be built: a specification or the requirements."""
    return has_specifications(root) or any(_text(root, name).strip() for name in REQUIREMENTS)


def _text(root: Path, path: str) -> str:
    """The file's text; empty where there is none that could be read."""
    try:
        data = read_regular(resolve_inside(root, path), LARGEST_FILE)
    except StateUnusable:
        return ""
    return "" if data is None else data.decode("utf-8", errors="replace")
