"""Formats of tools that write their tasks as Markdown lists: spec-kit, Kiro, OpenSpec.

Each feature or change has a folder with a ``tasks.md`` and the documents that it came from.
What their marks mean is read from the text (``core.plan.parse.dialect``).
"""

from __future__ import annotations

from ralph_ls.core.plan.formats.markdown.format import load_markdown
from ralph_ls.core.plan.formats.plan_format import PlanFormat, PlanOperations, PlanStorage
from ralph_ls.core.plan.model import PlanKind


def _load_spec_kit() -> PlanOperations:
    from ralph_ls.core.plan.formats.markdown.operations import spec_kit_operations

    return spec_kit_operations()


_WITHOUT_NUMBER = ("specs/*/tasks.md", "specs/*/*/tasks.md", "specs/*/*/*/tasks.md")

SPEC_KIT = PlanFormat(
    name=PlanKind.SPEC_KIT,
    title="spec-kit",
    source="the tasks of a spec-kit feature",
    storage=PlanStorage.MARKDOWN,
    load=_load_spec_kit,
    files=("specs/[0-9]*-*/tasks.md", *_WITHOUT_NUMBER),
    shared=_WITHOUT_NUMBER,
    shows=(".specify", "specs/[0-9]*-*/spec.md", "specs/[0-9]*-*/plan.md"),
    begin="write its tasks with /speckit.tasks",
    documents=("{folder}/spec.md", "{folder}/plan.md", ".specify/memory/constitution.md"),
    instructions="spec-kit",
)

KIRO = PlanFormat(
    name=PlanKind.KIRO,
    title="Kiro",
    source="the tasks of a Kiro spec",
    storage=PlanStorage.MARKDOWN,
    load=load_markdown,
    files=(".kiro/specs/*/tasks.md",),
    shows=(".kiro/specs",),
    begin="have Kiro write the tasks of a spec",
    documents=(
        "{folder}/requirements.md",
        "{folder}/bugfix.md",
        "{folder}/design.md",
        ".kiro/steering/*.md",
    ),
    instructions="kiro",
)

OPENSPEC = PlanFormat(
    name=PlanKind.OPENSPEC,
    title="OpenSpec",
    source="the tasks of an OpenSpec change",
    storage=PlanStorage.MARKDOWN,
    load=load_markdown,
    files=("openspec/changes/*/tasks.md",),
    not_in=("archive",),
    shows=("openspec/changes",),
    begin="propose a change with /opsx:propose",
    documents=(
        "{folder}/proposal.md",
        "{folder}/design.md",
        "{folder}/specs/*/spec.md",
        "openspec/project.md",
    ),
    instructions="openspec",
    closing="openspec archive {name}",
)
