"""What verbs print with ``--json``: a schema for each, and the generated parts of docs/json.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ralph_ls.protocol.base import WireModel
from ralph_ls.protocol.dashboard import Dashboard
from ralph_ls.protocol.json_output import (
    DoctorReport,
    IterationDetails,
    NotifyTest,
    OpenItems,
    OrderReply,
    RunMetrics,
    RunsEverywhere,
    Statistics,
)
from schemas.documents import described, named_in, table
from schemas.json_schemas import Json, definitions_of_output, output_schema


class Output(NamedTuple):
    """One JSON document of the command line."""

    command: str
    model: type[WireModel]


OUTPUTS: Mapping[str, Output] = {
    "ps": Output("ralph ps --json", RunsEverywhere),
    "inbox": Output("ralph inbox --json", OpenItems),
    "runs": Output("ralph runs --json", Statistics),
    "show-run": Output("ralph show RUN --json", RunMetrics),
    "show-iteration": Output("ralph show N --json", IterationDetails),
    "order": Output("ralph stop --json", OrderReply),
    "notify-test": Output("ralph notify test --json", NotifyTest),
    "dashboard": Output("ralph dashboard --json", Dashboard),
    "doctor": Output("ralph doctor --json", DoctorReport),
}
"""By the name of the schema's file."""


def output_files() -> dict[str, Json]:
    """The schemas, by their path in ``schemas/``."""
    return {
        f"output/{name}.schema.json": output_schema(name, one.command, one.model)
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
