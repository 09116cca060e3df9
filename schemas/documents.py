"""Pages with generated parts, and those of the protocol: tables of schemas, golden examples."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from ralph_ls.protocol.lsp.methods import METHODS, Direction, Method, ShownResult
from ralph_ls.protocol.lsp.options import EditorOptions
from ralph_ls.protocol.lsp.panel import Panel, PlanRows
from ralph_ls.protocol.run.commands import COMMAND_TYPES, CommandBase
from ralph_ls.protocol.run.events import EVENT_TYPES, EventBase
from ralph_ls.protocol.run.messages import MESSAGE_TYPES, MessageBase
from ralph_ls.protocol.version import SCHEMA_VERSION
from schemas.docstrings import Model, fields_of, kind_of, plain
from schemas.json_schemas import (
    Json,
    commands_schema,
    events_schema,
    messages_schema,
    methods_schema,
)

LONG_EXAMPLE = 60
"""Lines from which on an example is folded, or shortened."""

LONG_PART = 25
"""Lines of a part that a shortened example leaves out."""


def fill_page(name: str, page: str, parts: Mapping[str, str]) -> str:
    """The page with each part between its markers; raises ValueError where a marker is missing."""
    for part, text in parts.items():
        start, end = f"<!-- generated: {part} -->", f"<!-- end of generated: {part} -->"
        before, found_start, rest = page.partition(start)
        _, found_end, after = rest.partition(end)
        if not found_start or not found_end:
            raise ValueError(f"docs/{name} lacks {start} … {end}; restore them")
        page = f"{before}{start}\n\n{text.strip()}\n\n{end}{after}"
    return page


def protocol_pages(root: Path) -> dict[str, dict[str, str]]:
    """The generated parts of docs/protocol.md and of the pages below it, by page and name."""
    golden = root / "tests" / "golden"
    methods = methods_schema()["$defs"]
    options = {EditorOptions.__name__: golden / "initializationOptions" / "ourClient.json"}
    panels = {
        Panel.__name__: golden / "panel" / "asks.json",
        PlanRows.__name__: golden / "planRows" / "asks.json",
    }
    return {
        "protocol.md": {"version": f"The schema version is **{SCHEMA_VERSION}**."},
        "protocol/events.md": {
            "events": _catalogue(EVENT_TYPES, EventBase, events_schema(), golden / "events")
        },
        "protocol/commands.md": {
            "commands": _catalogue(
                COMMAND_TYPES, CommandBase, commands_schema(), golden / "commands"
            )
        },
        "protocol/methods.md": {
            "options": _models(options, methods),
            "methods": _methods(methods, golden / "methods"),
            "shown": _models({ShownResult.__name__: golden / "shown" / "changes.json"}, methods),
        },
        "protocol/messages.md": {
            "messages": _catalogue(
                MESSAGE_TYPES, MessageBase, messages_schema(), golden / "messages"
            )
        },
        "protocol/panel.md": {"panel": _models(panels, methods)},
    }


def _catalogue(models: Sequence[Model], base: Model, schema: Json, golden: Path) -> str:
    """Models that ``kind`` distinguishes: what all of them share is left to the page."""
    shared = {*fields_of(base).values(), "kind"}
    kinds = {kind_of(model): model for model in models}
    rows = [
        f"| [`{kind}`](#{kind.lower()}) | {_first_paragraph(model)} |"
        for kind, model in kinds.items()
    ]
    sections: list[str] = []
    for kind, model in kinds.items():
        definition = schema["$defs"][model.__name__]
        sections += [f"## {kind}", "", definition["description"], ""]
        sections += [
            *table(definition, shared),
            *_example(_read_json(golden / f"{kind}.json")),
            "",
        ]
    return "\n".join(["| kind | what it says |", "|---|---|", *rows, "", *sections])


def _methods(definitions: Mapping[str, Json], golden: Path) -> str:
    """Every method with its params, its result and an example of each."""
    rows = [
        f"| [`{method.name}`](#{_anchor(method.name)}) | {_kind(method)} | "
        f"{_first_paragraph(method.params)} |"
        for method in METHODS.values()
    ]
    sections: list[str] = []
    told: set[str] = set()
    for method in METHODS.values():
        asked = definitions[method.params.__name__]
        file = method.name.partition("/")[2]
        sections += [f"### {method.name}", "", f"{_kind(method).capitalize()}."]
        sections += [asked["description"], "", *table(asked, frozenset())]
        sections += [*_short_example(golden / f"{file}.params.json"), ""]
        if method.result is not None:
            result = method.result.__name__
            sections += [f"Result, `{result}`: {definitions[result]['description']}", ""]
            # Most orders have the same one.
            sections += [] if result in told else table(definitions[result], frozenset())
            sections += [*_short_example(golden / f"{file}.result.json"), ""]
            told.add(result)
    return "\n".join(["| method | | what it says |", "|---|---|---|", *rows, "", *sections])


def _kind(method: Method) -> str:
    match method.direction, method.is_request:
        case Direction.TO_SERVER, True:
            return "request to the server"
        case Direction.TO_SERVER, False:
            return "notification to the server"
        case Direction.TO_CLIENT, True:
            return "request to the client"
        case _:
            return "notification to the client"


def _models(examples: Mapping[str, Path], definitions: Mapping[str, Json]) -> str:
    """The models with an example of each, and below them whatever they are made of."""
    lines: list[str] = []
    told = list(examples)
    for name in told:
        definition = definitions[name]
        told += [other for other in named_in(definition) if other not in told]
        lines += [f"### {name}", "", *described(definition), ""]
        lines += table(definition, frozenset())
        if name in examples:
            lines += [*_folded(_example(_read_json(examples[name]))), ""]
    return "\n".join(lines)


def described(definition: Json) -> list[str]:
    """What a model is for; of an enum, every value, with what it means where that is said."""
    first, *said = str(definition["description"]).split("\n`")
    meanings = dict(f"`{line}".split(": ", 1) for line in said)
    values = [f"`{value}`" for value in definition.get("enum", ())]
    listed = [
        f"- {value}: {meanings[value]}" if value in meanings else f"- {value}" for value in values
    ]
    return [first, *(["", *listed] if listed else [])]


def named_in(definition: Json) -> list[str]:
    """The definitions that one refers to, in their order."""
    found = re.findall(r"#/\$defs/(\w+)", json.dumps(definition))
    return list(dict.fromkeys(found))


def table(definition: Json, shared: Collection[str]) -> list[str]:
    """A row for each field that is not shared by all models of a page."""
    required = definition.get("required", [])
    rows = [
        f"| `{key}`{'' if key in required else '?'} | {_type_of(value)} | "
        f"{'Deprecated. ' if value.get('deprecated') else ''}"
        f"{_in_a_cell(value.get('description', ''))} |"
        for key, value in definition.get("properties", {}).items()
        if key not in shared
    ]
    return ["| field | type | |", "|---|---|---|", *rows, ""] if rows else []


def _example(value: Any) -> list[str]:
    return ["```json", *_lines(value), "```"]


def _short_example(path: Path) -> list[str]:
    """The file, without what a long one holds that is shown elsewhere."""
    value = _read_json(path)
    if len(_lines(value)) <= LONG_EXAMPLE:
        return _example(value)
    name = path.relative_to(path.parents[3]).as_posix()
    return [*_example(_shorten(value)), "", f"Shortened; the whole is in `{name}`."]


def _shorten(value: Any) -> Any:
    """Whatever is long inside is left out, the innermost first."""
    if not isinstance(value, dict):
        return value
    inner = {key: _shorten(each) for key, each in value.items()}
    return {
        key: each if len(_lines(each)) <= LONG_PART else _left_out(each)
        for key, each in inner.items()
    }


def _left_out(value: Any) -> Any:
    return {"…": "…"} if isinstance(value, dict) else ["…"]


def _folded(lines: list[str]) -> list[str]:
    """For readers who open it."""
    if len(lines) <= LONG_EXAMPLE:
        return lines
    return ["<details>", "<summary>An example</summary>", "", *lines, "", "</details>"]


def _lines(value: Any) -> list[str]:
    return json.dumps(value, indent=2, ensure_ascii=False).splitlines()


def _read_json(path: Path) -> Any:
    """What a golden file holds."""
    return json.loads(path.read_bytes())


def _anchor(heading: str) -> str:
    """As GitHub makes it."""
    return re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-")


def _type_of(value: Json) -> str:
    match value:
        case {"$ref": reference}:
            return f"`{str(reference).rpartition('/')[2]}`"
        case {"const": constant}:
            return f"`{json.dumps(constant)}`"
        case {"enum": values}:
            return " or ".join(f"`{json.dumps(choice)}`" for choice in values)
        case {"oneOf": choices, "discriminator": _}:
            return _union({str(choice["$ref"]).rpartition("/")[2] for choice in choices})
        case {"anyOf": choices}:
            return " or ".join(_type_of(choice) for choice in choices)
        case {"type": "array", "items": items}:
            return f"list of {_type_of(items)}"
        case {"type": "object", "additionalProperties": dict(values)}:
            return f"object of {_type_of(values)}"
        case {"type": "string", "format": "date-time"}:
            return "time"
        case {"type": str(name)}:
            return name
        case _:
            return "anything"


def _union(names: set[str]) -> str:
    """The name of one of our unions by its members."""
    unions = {"Event": EVENT_TYPES, "Message": MESSAGE_TYPES}
    return next(
        f"`{union}`"
        for union, members in unions.items()
        if {member.__name__ for member in members} == names
    )


def _first_paragraph(model: Model) -> str:
    return _in_a_cell(plain(model.__doc__ or "").partition("\n\n")[0])


def _in_a_cell(text: str) -> str:
    return text.replace("\n\n", " ").replace("|", "\\|")
