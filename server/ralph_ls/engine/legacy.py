"""What an older loop left in the tree, told at a start with what to do (SPEC §4; B, Legacy
Migration).

Nothing of it is read, moved or removed here.
"""

from __future__ import annotations

from pathlib import Path

from ralph_ls.core.loop.inputs import Notice
from ralph_ls.core.plurals import count_of
from ralph_ls.engine.workspace import Workspace
from ralph_ls.protocol.config.config import GateRule
from ralph_ls.store.layout import StateFolder
from ralph_ls.store.project.project_state import find_project

OLD_ATTEMPTS = ".ralph-attempts"


def attempts_remark(root: Path, state: StateFolder) -> str | None:
    """What is to be said of an old file of attempts; None where there is none."""
    if not (root / OLD_ATTEMPTS).is_file():
        return None
    project = find_project(root, state)
    return (
        f"a {OLD_ATTEMPTS} file of an older loop lies in {root}, while attempts are kept at "
        f"{project.attempts} now; You can safely delete {OLD_ATTEMPTS}"
    )


def tell_legacy(workspace: Workspace) -> list[Notice]:
    """Tell of files and marks that mean nothing any more, or not yet."""
    notices = []
    remark = attempts_remark(workspace.root, workspace.state)
    if remark is not None:
        notices.append(Notice(code="legacy-attempts", message=remark))
    source, gate = workspace.source, workspace.config.gate
    if gate.rule is not GateRule.MARKER or source.file is None:
        return notices
    counts = source.counts(source.read())
    n_open = counts.required - counts.required_done
    if counts.marker and n_open > 0:
        message = (
            f"{source.path} said {gate.marker} before the run began, with "
            f"{count_of(n_open, 'required task')} open; it counts only once it was gone and came "
            "again, so remove that line"
        )
        notices.append(Notice(code="marker-at-start", message=message))
    return notices
