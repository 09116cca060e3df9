"""What an editor and the server say to each other has golden files, as the journal has.

Between them the files of one message show every field that it may have.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from ralph_ls.protocol.lsp.methods import METHODS, ShownResult, StateResult
from ralph_ls.protocol.lsp.options import EditorOptions
from ralph_ls.protocol.lsp.panel import Panel, PlanRows
from ralph_ls.protocol.run.events import EventBase
from ralph_ls.protocol.run.messages import MESSAGE_ADAPTER, MESSAGE_TYPES, WireStruct
from ralph_ls.protocol.run.state import RunState
from schemas.docstrings import Model, fields_of, kind_of
from tests.settings import normalised
from tests.unit.protocol.test_golden import GOLDEN, NEW_FIELD, files, pretty, with_new_fields

FOLDERS = ("methods", "messages", "panel", "planRows", "initializationOptions", "shown")
PARTS = [path for folder in FOLDERS for path in sorted((GOLDEN / folder).iterdir())]
REQUESTS = [
    GOLDEN / "methods" / f"{name.removeprefix('ralph/')}.params.json"
    for name, method in METHODS.items()
    if method.is_request
]
INVALID = {
    folder: sorted((GOLDEN / "invalid" / folder).iterdir())
    for folder in ("methods", "messages", "initializationOptions")
}

ON_ITS_OWN: tuple[Model, ...] = (
    *(RunState, EventBase, Panel, PlanRows, StateResult),
    *MESSAGE_TYPES,
)
"""Models whose fields are shown in separate files, or in those of the journal."""

SHOWN_ELSEWHERE = {
    ("methods/state.result", "redundant"),
    ("panel", "journal"),
    ("panel", "start"),
}
"""Fields without a golden file here: ``redundant`` is only set on answers that a panel repeats, a
lane's ``journal`` and ``start`` only where ``ralph/lanes`` reads its run.
"""

ROOTS: dict[str, type[BaseModel]] = {
    "panel": Panel,
    "planRows": PlanRows,
    "initializationOptions": EditorOptions,
    "shown": ShownResult,
}


def adapter_of(path: Path) -> TypeAdapter[Any]:
    """What reads a golden file."""
    if path.parent.name == "messages":
        return MESSAGE_ADAPTER
    if path.parent.name == "methods":
        name, part = path.stem.rsplit(".", 1)
        return TypeAdapter(getattr(METHODS[f"ralph/{name}"], part))
    return TypeAdapter(ROOTS[path.parent.name])


def read(path: Path) -> BaseModel:
    model: BaseModel = adapter_of(path).validate_json(path.read_bytes())
    return model


def test_every_method_has_its_files_and_every_file_a_method() -> None:
    wanted = {
        f"{name.removeprefix('ralph/')}.{part}.json"
        for name, method in METHODS.items()
        for part in ("params", *(["result"] if method.is_request else []))
    }
    assert {path.name for path in (GOLDEN / "methods").iterdir()} == wanted


def test_every_message_has_its_file_and_every_file_a_message() -> None:
    kinds = {kind_of(model) for model in MESSAGE_TYPES}
    assert {path.name for path in (GOLDEN / "messages").iterdir()} == {f"{k}.json" for k in kinds}
    for kind in kinds:
        assert json.loads((GOLDEN / "messages" / f"{kind}.json").read_bytes())["kind"] == kind


@pytest.mark.parametrize("path", PARTS, ids=[f"{p.parent.name}-{p.stem}" for p in PARTS])
class TestEach:
    def test_comes_out_as_it_went_in(self, path: Path) -> None:
        written = adapter_of(path).dump_json(read(path), by_alias=True, exclude_none=True).decode()
        text = path.read_text(encoding="utf-8")
        assert normalised(written) == normalised(text)
        assert pretty(text) == text

    def test_an_unknown_field_is_ignored_where_it_is_reported(self, path: Path) -> None:
        value = json.loads(path.read_bytes())
        if path in REQUESTS:
            with pytest.raises(ValidationError) as refused:
                adapter_of(path).validate_json(json.dumps({**value, **NEW_FIELD}))
            (error,) = refused.value.errors()
            assert (error["loc"], error["type"]) == (("ofANewerEngine",), "extra_forbidden")
        else:
            newer = json.dumps(with_new_fields(value))
            assert adapter_of(path).validate_json(newer, extra="ignore") == read(path)


def shown(value: Any) -> Iterator[tuple[Model, str]]:
    """Each field with a value, anywhere in the model but in those with separate files."""
    match value:
        case BaseModel() | WireStruct():
            for name in fields_of(type(value)):
                inner = getattr(value, name)
                if inner is not None and inner not in ((), {}, ""):
                    yield type(value), name
                if not isinstance(inner, ON_ITS_OWN):
                    yield from shown(inner)
        case tuple():
            for each in value:
                if not isinstance(each, ON_ITS_OWN):
                    yield from shown(each)


def groups() -> dict[str, list[Path]]:
    """Files that show one model together."""
    found: dict[str, list[Path]] = defaultdict(list)
    for path in PARTS:
        alone = path.parent.name in {"methods", "messages"}
        found[f"{path.parent.name}/{path.stem}" if alone else path.parent.name].append(path)
    return found


@pytest.mark.parametrize("group", sorted(groups()))
def test_every_field_is_shown_somewhere(group: str) -> None:
    models = [read(path) for path in groups()[group]]
    seen: dict[Model, set[str]] = {type(model): set() for model in models}
    for model in models:
        for kind, name in shown(model):
            seen.setdefault(kind, set()).add(name)
    missing = {
        kind: {one for one in fields_of(kind) if (group, one) not in SHOWN_ELSEWHERE} - names
        for kind, names in seen.items()
    }
    assert {kind.__name__: names for kind, names in missing.items() if names} == {}


class TestInvalid:
    @files(INVALID["methods"])
    def test_bad_params_are_refused_at_the_right_place(self, path: Path) -> None:
        case = json.loads(path.read_bytes())
        params: type[BaseModel] = METHODS[case["method"]].params
        refuse(TypeAdapter(params), case)

    @files(INVALID["messages"])
    def test_what_is_no_message_is_refused_at_the_right_place(self, path: Path) -> None:
        refuse(MESSAGE_ADAPTER, json.loads(path.read_bytes()))

    @files(INVALID["initializationOptions"])
    def test_bad_options_are_refused_at_the_right_place(self, path: Path) -> None:
        refuse(TypeAdapter(EditorOptions), json.loads(path.read_bytes()))


def refuse(adapter: TypeAdapter[Any], case: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as refused:
        adapter.validate_json(json.dumps(case["value"]))
    (error,) = refused.value.errors()
    assert (list(error["loc"]), error["type"]) == (case["location"], case["error"])
