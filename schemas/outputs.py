"""What verbs print with ``--json``: a schema for each, and the generated parts of docs/json.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ralph_ls.protocol.base import WireModel
from ralph_ls.protocol.dashboard import Dashboard
from ralph_ls.protocol.fleet import FleetStatus
from ralph_ls.protocol.json_output import (
    ConnectedEditors,
    DoctorReport,
    IterationDetails,
    NotifyTest,
    OpenItems,
    OrderReply,
    RunMetrics,
    RunsEverywhere,
    Statistics,
)
from ralph_ls.protocol.lessons import Learned, LessonDecided, LessonList
from ralph_ls.protocol.lsp.row_methods import RollbackResult
from ralph_ls.protocol.lsp.setup import PlansResult, ProposePlanResult
from ralph_ls.protocol.verb_output import (
    Approvals,
    Archived,
    DemoProject,
    DetachedRun,
    HookSetup,
    ImportedSetup,
    PlanTasks,
    PromptOutput,
    Pruned,
    PullRequests,
    ReadOutput,
    RunPreview,
    SettingExplained,
    SettingsOutput,
    SettingValue,
    SetupDone,
    SimulatedLine,
    StatusOutput,
)
from schemas.documents import described, named_in, table
from schemas.json_schemas import Json, definitions_of_output, output_schema


class Output(NamedTuple):
    """One JSON document of the command line."""

    command: str
    model: type[WireModel]
    has_null: bool = False
    """A field without a value may be null; else it is left out."""


OUTPUTS: Mapping[str, Output] = {
    "status": Output("ralph status --json", StatusOutput, has_null=True),
    "ps": Output("ralph ps --json", RunsEverywhere),
    "inbox": Output("ralph inbox --json", OpenItems),
    "runs": Output("ralph runs --json", Statistics),
    "show-run": Output("ralph show RUN --json", RunMetrics),
    "show-iteration": Output("ralph show N --json", IterationDetails),
    "order": Output("ralph stop --json", OrderReply),
    "fleet-status": Output("ralph fleet status --json", FleetStatus),
    "notify-test": Output("ralph notify test --json", NotifyTest),
    "learn": Output("ralph learn --json", Learned),
    "lessons": Output("ralph lessons --json", LessonList),
    "lessons-decided": Output("ralph lessons accept --json", LessonDecided),
    "dashboard": Output("ralph dashboard --json", Dashboard),
    "doctor": Output("ralph doctor --json", DoctorReport),
    "doctor-editor": Output("ralph doctor --editor --json", ConnectedEditors),
    "run-detach": Output("ralph run --detach --json", DetachedRun, has_null=True),
    "run-dry-run": Output("ralph run --dry-run --json", RunPreview, has_null=True),
    "rollback": Output("ralph rollback --json", RollbackResult),
    "plan": Output("ralph plan --json", PlanTasks, has_null=True),
    "plan-all": Output("ralph plan --all --json", PlansResult, has_null=True),
    "propose": Output("ralph propose --json", ProposePlanResult),
    "prompt": Output("ralph prompt --json", PromptOutput, has_null=True),
    "archive": Output("ralph archive --json", Archived, has_null=True),
    "init": Output("ralph init --json", SetupDone, has_null=True),
    "init-hooks": Output("ralph init --hooks --json", HookSetup, has_null=True),
    "init-from-existing": Output("ralph init --from-existing --json", ImportedSetup, has_null=True),
    "allow": Output("ralph allow --json", Approvals, has_null=True),
    "config-show": Output("ralph config show --json", SettingsOutput, has_null=True),
    "config-get": Output("ralph config get KEY --json", SettingValue, has_null=True),
    "config-explain": Output("ralph config explain KEY --json", SettingExplained, has_null=True),
    "pr": Output("ralph pr --json", PullRequests),
    "prune": Output("ralph prune --json", Pruned, has_null=True),
    "read": Output("ralph read --json", ReadOutput, has_null=True),
    "simulate": Output("ralph simulate --json", SimulatedLine, has_null=True),
    "demo": Output("ralph demo --no-run --json", DemoProject, has_null=True),
}
"""By the name of the schema's file."""


def output_files() -> dict[str, Json]:
    """The schemas, by their path in ``schemas/``."""
    return {
        f"output/{name}.schema.json": output_schema(
            name, one.command, one.model, has_null=one.has_null
        )
        for name, one in OUTPUTS.items()
    }


def output_parts() -> dict[str, str]:
    """The generated parts of docs/json.md."""
    definitions = definitions_of_output([one.model for one in OUTPUTS.values()])
    rows = [
        f"| `{one.command}` | [`{one.model.__name__}`](#{one.model.__name__.lower()}) | "
        f"`schemas/output/{name}.schema.json` |"
        for name, one in OUTPUTS.items()
    ]
    head = ["| command | prints | schema |", "|---|---|---|", *rows]
    return {"outputs": "\n".join(head), "output models": "\n".join(_sections(definitions))}


def _sections(definitions: Mapping[str, Json]) -> list[str]:
    """The documents, and below them whatever they are made of."""
    lines: list[str] = []
    names = [one.model.__name__ for one in OUTPUTS.values()]
    for name in names:
        definition = definitions[name]
        names += [other for other in named_in(definition) if other not in names]
        lines += [f"### {name}", "", *described(definition), "", *table(definition, frozenset())]
    return lines
