"""The TypeScript of the editor says what the models say, and its settings are theirs."""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ralph_ls.protocol.lsp.methods import METHODS
from ralph_ls.protocol.lsp.options import EditorOptions, LensOptions, TaskLenses
from ralph_ls.protocol.lsp.panel import Verb
from ralph_ls.protocol.run.events import EVENT_TYPES

ROOT = Path(__file__).resolve().parents[3]


def nothing_said(_word: Any) -> Mapping[str, str]:
    return {}


def said_of_options(word: Any) -> Mapping[str, str]:
    return {
        LensOptions: {"tasks": "Which."},
        EditorOptions: {"plan_files": "More plans."},
        TaskLenses: {"all": "Every one."},
    }.get(word, {})


@pytest.fixture(scope="module")
def typescript() -> ModuleType:
    spec = importlib.util.spec_from_file_location("typescript", ROOT / "schemas" / "typescript.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def module(typescript: ModuleType) -> str:
    text: str = typescript.protocol_module(nothing_said)
    return text


def body_of(name: str, module: str) -> str:
    found = re.search(rf"^export interface {name} {{\n(.*?)^}}", module, re.MULTILINE | re.DOTALL)
    assert found, f"no {name}"
    return found[1]


class TestTypes:
    def test_every_method_is_in_a_table_with_its_types(self, module: str) -> None:
        for method in METHODS.values():
            result = f"; result: {method.result.__name__}" if method.result else ""
            row = f'"{method.name}": {{ params: {method.params.__name__}{result} }};'
            table = "Requests" if method.is_request else "Notifications"
            assert row in body_of(table, module)

    def test_every_event_has_a_type_with_a_distinct_kind(self, module: str) -> None:
        for event in EVENT_TYPES:
            kind = event.model_fields["kind"].default
            assert f'readonly kind: "{kind}";' in body_of(event.__name__, module)
        assert "readonly event: Event | UnknownEvent;" in body_of("EventParams", module)

    def test_a_reported_field_without_a_value_is_left_out_and_every_other_is_there(
        self, module: str
    ) -> None:
        panel = body_of("Panel", module)
        assert "readonly card?: Card;" in panel
        assert "readonly facts: readonly Fact[];" in panel
        assert "readonly of?: number;" in body_of("Meter", module)

    def test_an_asked_field_with_a_default_may_be_left_out(self, module: str) -> None:
        start = body_of("StartParams", module)
        assert "readonly resume?: boolean;" in start
        assert "readonly text: string;" in body_of("AnswerParams", module)

    def test_the_values_of_a_word_can_be_listed(self, module: str) -> None:
        listed = re.search(
            r"^export const VERBS = (\[.*?\]) as const;", module, re.DOTALL | re.MULTILINE
        )
        assert listed
        assert re.findall(r'"(\w+)"', listed[1]) == [str(verb) for verb in Verb]
        assert "export type Verb = (typeof VERBS)[number];" in module


class TestSettings:
    def test_they_come_from_the_models(self, typescript: ModuleType) -> None:
        empty: dict[str, Any] = {name: {} for name in typescript.SETTINGS}
        blocks = [
            {"title": "Others", "properties": {"other": {}}},
            {"title": "Editor", "properties": empty},
        ]
        manifest = {"contributes": {"configuration": blocks}}
        filled = json.loads(typescript.fill_manifest(json.dumps(manifest), said_of_options))
        configuration = filled["contributes"]["configuration"]
        of_the_loop, other, ours = (block["properties"] for block in configuration)
        assert "ralphLoop.run.maxIterations" in of_the_loop
        assert other == {"other": {}}
        assert ours["ralphLoop.lens.enabled"] == {
            "scope": "resource",
            "type": "boolean",
            "default": True,
            "description": "Show code lenses in the loop's files.",
        }
        assert ours["ralphLoop.inlayHints.enabled"]["default"] is True
        assert ours["ralphLoop.lens.tasks"]["enum"] == ["current", "touched", "all"]
        assert ours["ralphLoop.lens.tasks"]["enumDescriptions"] == ["", "", "Every one."]
        assert ours["ralphLoop.plan.files"]["default"] == []

    def test_one_without_a_place_is_named(self, typescript: ModuleType) -> None:
        manifest = json.dumps({"contributes": {"configuration": {"properties": {}}}})
        with pytest.raises(ValueError, match=r"lacks the setting ralphLoop\.lens\.enabled"):
            typescript.fill_manifest(manifest, nothing_said)

    def test_where_there_is_no_client_nothing_is_made(
        self, typescript: ModuleType, tmp_path: Path
    ) -> None:
        assert typescript.typescript_files(tmp_path, nothing_said) == {}
