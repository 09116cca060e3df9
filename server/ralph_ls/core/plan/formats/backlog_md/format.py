"""Backlog.md format: a folder with one document a task."""

from __future__ import annotations

from ralph_ls.core.plan.formats.plan_format import PlanFormat, PlanOperations, PlanStorage
from ralph_ls.core.plan.model import PlanKind


def _load() -> PlanOperations:
    from ralph_ls.core.plan.formats.backlog_md import operations
    from ralph_ls.core.plan.formats.text_operations import structured_operations

    return structured_operations(operations)


BACKLOG = PlanFormat(
    name=PlanKind.BACKLOG,
    title="Backlog.md",
    source="the tasks of Backlog.md",
    storage=PlanStorage.FOLDER,
    load=_load,
    files=("backlog/tasks", ".backlog/tasks"),
    members="*.md",
    put_away=("completed", "archive/tasks"),
    signs=("backlog/config.yml", ".backlog/config.yml", "backlog.config.yml"),
    shows=("backlog/config.yml", ".backlog/config.yml", "backlog.config.yml"),
    begin="write a task with: backlog task create TITLE",
    instructions="backlog",
)
