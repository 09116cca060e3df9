"""One registration for each agent, plan format and verb: a second list would be forgotten."""

from __future__ import annotations

import ast
import functools
import inspect
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from ralph_ls.cli.verbs import VERBS
from ralph_ls.core.agent.decode.dialects import decoder_for, record_texts_of
from ralph_ls.core.agent.usage import METERING_BY_DIALECT
from ralph_ls.core.plan.formats.dispatch import check_plan, parse_plan
from ralph_ls.core.plan.formats.registry import FORMATS
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.protocol.config.agent_catalog import ACP_VARIANTS, CATALOG, Adapter
from ralph_ls.store.project.prompt_texts import WITHOUT_BOXES, format_texts
from tests.e2e.recipes import RECIPES

ROOT = Path(__file__).resolve().parents[3]
SERVER = ROOT / "server" / "ralph_ls"

CATALOG_MODULE = "protocol/config/agent_catalog.py"
DIALECTS_MODULE = "core/agent/decode/dialects.py"

NAMING_AN_AGENT = {
    CATALOG_MODULE: set(CATALOG),
    # Profiles and settings have a default agent.
    "core/loop/profiles.py": {"claude", "cline"},
    "protocol/config/config.py": {"claude"},
    # Its settings are a file beside its folder, not in it.
    "engine/sandbox/home.py": {"claude"},
    # A field of the records of its program.
    "core/agent/decode/acp/decoder.py": {"codex"},
}

NAMING_A_DIALECT = {
    CATALOG_MODULE: {name.upper() for name in CATALOG},
    DIALECTS_MODULE: {name.upper() for name in CATALOG},
    # Programs of containers give it its prompt as an argument.
    "engine/agent/environment.py": {"CLAUDE"},
}


@functools.cache
def sources() -> dict[str, str]:
    return {
        path.relative_to(SERVER).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(SERVER.rglob("*.py"))
    }


def strings_in(text: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


class TestAgents:
    def test_only_the_catalog_names_agents(self) -> None:
        names = {*CATALOG, *ACP_VARIANTS}
        quoted = re.compile(rf'"({"|".join(names)})"')
        found = {
            module: set(strings_in(text)) & names
            for module, text in sources().items()
            if quoted.search(text)
        }
        # Program names such as "codex-acp" are part of the catalog's entries.
        found[CATALOG_MODULE] -= ACP_VARIANTS.keys()
        assert {module: named for module, named in found.items() if named} == NAMING_AN_AGENT

    def test_only_the_table_of_decoders_names_their_dialects(self) -> None:
        member = re.compile(rf"\bDialect\.({'|'.join(name.upper() for name in CATALOG)})\b")
        found = {module: set(member.findall(text)) for module, text in sources().items()}
        assert {module: named for module, named in found.items() if named} == NAMING_A_DIALECT

    def test_the_extension_does_not_list_them(self) -> None:
        written = [
            path
            for path in (ROOT / "client-vscode" / "src").rglob("*.ts")
            if path.parent.name != "generated"
        ]
        assert written
        assert [path for path in written if "qwen" in path.read_text(encoding="utf-8")] == []

    def test_settings_know_each_by_its_name(self) -> None:
        assert {*Adapter} == {*CATALOG, "acp", "command"}

    @pytest.mark.parametrize("name", CATALOG)
    def test_each_has_a_decoder_and_metering(self, name: str) -> None:
        dialect = CATALOG[name].dialect
        assert decoder_for(dialect).final().text == ""
        texts = record_texts_of(dialect)
        assert texts is not None
        assert list(texts({})) == []
        assert METERING_BY_DIALECT[dialect] == CATALOG[name].metering

    @pytest.mark.parametrize("name", CATALOG)
    def test_each_states_where_its_stop_hook_is_or_why_there_is_none(self, name: str) -> None:
        assert (CATALOG[name].hook is None) == bool(CATALOG[name].without_hook)

    @pytest.mark.parametrize("name", CATALOG)
    def test_each_is_in_the_documents(self, name: str) -> None:
        pages = {
            page: (ROOT / "docs" / page).read_text(encoding="utf-8")
            for page in ("agents.md", "agents/acp.md", "agents/hooks.md", "sandbox.md")
        }
        assert pages["agents.md"].count(f"\n| `{name}` | ") == 3
        assert f"`{name}`" in pages["agents/hooks.md"]
        assert re.search(rf"\n\| {name}\b", pages["sandbox.md"])
        if CATALOG[name].acp is not None:
            assert f"\n| `{name}-acp` | " in pages["agents/acp.md"]

    def test_each_is_run_by_the_tests_of_real_agents(self) -> None:
        assert {*RECIPES} == {*CATALOG}

    @pytest.mark.parametrize("name", CATALOG)
    def test_each_has_recordings(self, name: str) -> None:
        assert list((ROOT / "tests" / "data" / CATALOG[name].dialect).glob("*.jsonl"))


class TestPlanFormats:
    @pytest.mark.parametrize("kind", PlanKind)
    def test_each_can_be_read_and_checked(self, kind: PlanKind) -> None:
        assert check_plan(parse_plan("", kind), "", kind) == ()

    def test_the_registry_has_them_all(self) -> None:
        assert {*FORMATS} == {*PlanKind}
        texts = format_texts()
        names = {one.instructions for one in FORMATS.values()} - {""}
        assert names | {WITHOUT_BOXES} == {*texts}

    def test_no_module_lists_them(self) -> None:
        members = {f"PlanKind.{kind.name}" for kind in PlanKind}
        found = {
            module for module, text in sources().items() if all(name in text for name in members)
        }
        assert found == set()


class TestVerbs:
    @pytest.mark.parametrize("name", VERBS)
    def test_each_has_a_function_with_a_summary(self, name: str) -> None:
        verb = VERBS[name]
        function = getattr(import_module(f"ralph_ls.cli.commands.{verb.module}"), verb.function)
        assert (inspect.getdoc(function) or "").strip()

    def test_no_function_has_two_names(self) -> None:
        functions = [(verb.module, verb.function) for verb in VERBS.values()]
        assert len(set(functions)) == len(functions)

    def test_no_other_module_registers_one(self) -> None:
        registering = re.compile(r"\.command\(|\.add_typer\(|add_parser\(")
        found = [module for module, text in sources().items() if registering.search(text)]
        assert [module for module in found if module.startswith("cli/")] == ["cli/command_line.py"]


def test_a_public_class_name_means_one_thing_in_the_whole_server() -> None:
    defined: dict[str, list[str]] = {}
    for path in sorted(SERVER.rglob("*.py")):
        if not path.is_relative_to(SERVER / "engine" / "demo" / "files"):
            for node in ast.parse(path.read_bytes()).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    defined.setdefault(node.name, []).append(path.relative_to(SERVER).as_posix())
    assert {name: files for name, files in defined.items() if len(files) > 1} == {}
