"""Structured formats for tests, in one file and in a folder, read by ``line_operations``."""

from __future__ import annotations

from ralph_ls.core.plan.formats.plan_format import PlanFormat, PlanOperations, PlanStorage
from ralph_ls.core.plan.formats.text_operations import structured_operations
from ralph_ls.core.plan.model import PlanKind
from tests.unit.core.plan.formats import line_operations


def load() -> PlanOperations:
    return structured_operations(line_operations)


LINE_FILE = PlanFormat(
    name=PlanKind.REQUEST,
    title="Lines",
    source="lines",
    storage=PlanStorage.FILE,
    load=load,
    suffixes=(".lines",),
)
"""With the name of a format that has no files, which it replaces in tests."""

LINE_FOLDER = PlanFormat(
    name=PlanKind.REQUEST,
    title="Lines",
    source="lines",
    storage=PlanStorage.FOLDER,
    load=load,
    files=("lines",),
    members="*.lines",
)
