"""The generated files are up to date, and the schemas say what the models do."""

from __future__ import annotations

import importlib.util
import json
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from pydantic import BaseModel

from ralph_ls.protocol.config.config import Config, ProfileName
from ralph_ls.protocol.config.renamed import RENAMED
from ralph_ls.protocol.lsp.methods import METHODS
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.version import SCHEMA_VERSION
from tests.unit.protocol.json_schema import problems
from tests.unit.protocol.test_golden import (
    COMMANDS,
    EVENTS,
    GOLDEN,
    INVALID_COMMANDS,
    INVALID_EVENTS,
    NEW_FIELD,
    files,
    with_new_fields,
)
from tests.unit.protocol.test_golden_methods import INVALID

ROOT = Path(__file__).resolve().parents[3]

PAGES = (
    *("protocol.md", "protocol/events.md", "protocol/commands.md", "protocol/methods.md"),
    *("protocol/messages.md", "protocol/panel.md"),
    *("loop-states.md", "profiles.md", "configuration.md", "plans.md"),
    *("commands.md", "json.md", "adr/index.md"),
    *(f"profiles/{name.value}.md" for name in ProfileName),
)
"""Those with generated parts."""


def schema(name: str) -> dict[str, Any]:
    folder = ROOT / ("server/ralph_ls/protocol/config" if name == "config" else "schemas")
    text = (folder / f"{name}.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def found(value: Any, name: str) -> list[str]:
    loaded = schema(name)
    return problems(value, loaded, loaded)


@pytest.fixture(scope="module")
def generator() -> ModuleType:
    """The script as a module, to write and check in another place than this project."""
    spec = importlib.util.spec_from_file_location("generate", ROOT / "schemas" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """All that the generator writes, and the golden files and histories that it reads."""
    server = ("server/ralph_ls/protocol/config", "server/ralph_ls/cli/shells")
    for part in ("schemas", *server, "tests/golden", "tests/histories"):
        shutil.copytree(ROOT / part, tmp_path / part)
    shutil.copytree(ROOT / "docs" / "adr", tmp_path / "docs" / "adr")
    (tmp_path / "docs" / "profiles").mkdir(parents=True)
    (tmp_path / "docs" / "protocol").mkdir()
    for page in PAGES:
        shutil.copy(ROOT / "docs" / page, tmp_path / "docs" / page)
    generated = Path("client-vscode", "src", "generated")
    shutil.copytree(ROOT / generated, tmp_path / generated)
    shutil.copy(ROOT / "client-vscode" / "package.json", tmp_path / "client-vscode")
    return tmp_path


class TestGenerator:
    @pytest.mark.slow
    def test_what_is_committed_is_up_to_date(
        self, generator: ModuleType, capsys: pytest.CaptureFixture[str]
    ) -> None:
        # As a script it is run by `make check`.
        assert generator.main(["--check"]) == 0
        assert capsys.readouterr() == ("", "")

    @pytest.mark.slow
    def test_each_stale_file_is_named_with_what_mends_it(
        self, generator: ModuleType, copy: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (copy / "schemas" / "VERSION").write_text("0\n", encoding="utf-8")
        (copy / "schemas" / "state.schema.json").unlink()
        golden = copy / "tests" / "golden" / "events" / "noteAdded.json"
        golden.write_text(golden.read_text(encoding="utf-8").replace("winter", "summer"))
        by_hand = [copy / "docs" / page for page in ("loop-states.md", "profiles.md")]
        whole = [page.read_text(encoding="utf-8") for page in by_hand]
        for page, text in zip(by_hand, whole, strict=True):
            before, mark, after = text.rpartition("\n<!-- end of generated: ")
            page.write_text(f"{before}by hand\n{mark}{after}", encoding="utf-8")
        assert generator.check(copy) == 1
        assert capsys.readouterr().err.splitlines() == [
            "schemas/state.schema.json is stale; run: make generate",
            "schemas/VERSION is stale; run: make generate",
            "docs/protocol/events.md is stale; run: make generate",
            "docs/loop-states.md is stale; run: make generate",
            "docs/profiles.md is stale; run: make generate",
        ]
        assert not (copy / "schemas" / "state.schema.json").exists()
        assert generator.write(copy) == 0
        assert capsys.readouterr().out.count("wrote ") == 5
        assert generator.check(copy) == 0
        assert "in summer time" in (copy / "docs" / "protocol" / "events.md").read_text(
            encoding="utf-8"
        )
        assert [page.read_text(encoding="utf-8") for page in by_hand] == whole

    @pytest.mark.slow
    def test_a_page_without_its_markers_is_reported_and_stays(
        self, generator: ModuleType, copy: Path
    ) -> None:
        (copy / "docs" / "protocol.md").write_text("# Protocol\n", encoding="utf-8")
        with pytest.raises(ValueError, match=r"protocol\.md lacks <!-- generated: version -->"):
            generator.write(copy)
        assert (copy / "docs" / "protocol.md").read_text(encoding="utf-8") == "# Protocol\n"

    def test_asked_for_nothing_it_says_what_it_can(
        self, generator: ModuleType, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert generator.main([]) == 0
        shown = capsys.readouterr().out
        assert "--write" in shown
        assert "--check" in shown


class TestHeads:
    @pytest.mark.parametrize(
        "name", ["events", "commands", "config", "state", "messages", "methods"]
    )
    def test_each_says_what_it_is_and_where_it_comes_from(self, name: str) -> None:
        loaded = schema(name)
        ids = [] if name == "config" else ["$id"]
        assert list(loaded)[: 4 + len(ids)] == ["$schema", *ids, "$comment", "title", "description"]
        assert loaded["$comment"] == "generated by schemas/generate.py; run: make generate"
        silent = [key for key, part in loaded["$defs"].items() if not part.get("description")]
        assert silent == []

    @pytest.mark.parametrize("name", ["events", "commands", "state", "messages", "methods"])
    def test_each_has_an_id_with_the_version(self, name: str) -> None:
        assert schema(name)["$id"] == f"urn:ralph:protocol:{SCHEMA_VERSION}:{name}"

    def test_what_commands_of_lsp_show_has_a_schema(self) -> None:
        shown = json.loads((GOLDEN / "shown" / "changes.json").read_bytes())
        assert fits(shown, "ShownResult") == []

    def test_the_version_is_that_of_the_events(self) -> None:
        assert (ROOT / "schemas" / "VERSION").read_text(encoding="utf-8") == f"{SCHEMA_VERSION}\n"


class TestEvents:
    @files(EVENTS)
    def test_a_golden_event_fits(self, path: Path) -> None:
        assert found(json.loads(path.read_bytes()), "events") == []

    @files(EVENTS)
    def test_a_field_of_a_newer_engine_fits(self, path: Path) -> None:
        assert found(with_new_fields(json.loads(path.read_bytes())), "events") == []

    @files(INVALID_EVENTS)
    def test_what_is_no_event_does_not_fit(self, path: Path) -> None:
        assert found(json.loads(path.read_bytes())["value"], "events") != []


class TestCommands:
    @files(COMMANDS)
    def test_a_golden_command_fits_and_with_one_field_more_does_not(self, path: Path) -> None:
        command = json.loads(path.read_bytes())
        assert found(command, "commands") == []
        assert found({**command, **NEW_FIELD}, "commands") != []

    @files(INVALID_COMMANDS)
    def test_a_bad_command_does_not_fit(self, path: Path) -> None:
        assert found(json.loads(path.read_bytes())["value"], "commands") != []


def fits(value: Any, name: str) -> list[str]:
    """What is wrong with one of the models of methods.schema.json."""
    loaded = schema("methods")
    return problems(value, loaded["$defs"][name], loaded)


class TestMethods:
    def test_the_table_is_the_one_that_the_server_knows(self) -> None:
        told = {
            name: (row["direction"], row["params"]["$ref"], row.get("result", {}).get("$ref"))
            for name, row in schema("methods")["methods"].items()
        }
        assert told == {
            name: (
                method.direction.value,
                f"#/$defs/{method.params.__name__}",
                None if method.result is None else f"#/$defs/{method.result.__name__}",
            )
            for name, method in METHODS.items()
        }

    @pytest.mark.exhaustive
    @files(sorted((GOLDEN / "methods").iterdir()))
    def test_a_golden_file_fits(self, path: Path) -> None:
        name, part = path.stem.rsplit(".", 1)
        method, value = METHODS[f"ralph/{name}"], json.loads(path.read_bytes())
        model: type[BaseModel] = getattr(method, part)
        assert fits(value, model.__name__) == []
        if part == "params":
            message = {"jsonrpc": "2.0", "id": 1, "method": method.name, "params": value}
            assert found(message, "methods") == []
            other = {**message, "method": "ralph/sing"}
            assert found(other, "methods") == ["$: fits 0 choices"]

    @pytest.mark.exhaustive
    @files(sorted((GOLDEN / "methods").iterdir()))
    def test_only_what_is_asked_forbids_more(self, path: Path) -> None:
        name, part = path.stem.rsplit(".", 1)
        method = METHODS[f"ralph/{name}"]
        model: type[BaseModel] = getattr(method, part)
        newer = with_new_fields(json.loads(path.read_bytes()))
        asked = part == "params" and method.is_request
        assert (fits(newer, model.__name__) != []) is asked

    @files(INVALID["methods"])
    def test_bad_params_do_not_fit(self, path: Path) -> None:
        case = json.loads(path.read_bytes())
        params: type[BaseModel] = METHODS[case["method"]].params
        assert fits(case["value"], params.__name__) != []

    def test_params_may_be_left_out_where_none_are_needed(self) -> None:
        assert found({"method": "ralph/state"}, "methods") == []
        assert found({"method": "ralph/answer"}, "methods") != []

    @files(sorted((GOLDEN / "initializationOptions").iterdir()))
    def test_options_fit_and_may_hold_more(self, path: Path) -> None:
        told = json.loads(path.read_bytes())
        assert schema("methods")["initializationOptions"] == {"$ref": "#/$defs/EditorOptions"}
        assert fits(told, "EditorOptions") == fits(with_new_fields(told), "EditorOptions") == []

    @files(INVALID["initializationOptions"])
    def test_bad_options_do_not_fit(self, path: Path) -> None:
        assert fits(json.loads(path.read_bytes())["value"], "EditorOptions") != []

    @files(sorted((GOLDEN / "panel").iterdir()))
    def test_a_panel_fits(self, path: Path) -> None:
        assert fits(json.loads(path.read_bytes()), "Panel") == []


class TestMessages:
    @files(sorted((GOLDEN / "messages").iterdir()))
    def test_a_golden_message_fits_and_may_hold_more(self, path: Path) -> None:
        message = json.loads(path.read_bytes())
        assert found(message, "messages") == found(with_new_fields(message), "messages") == []

    @files(INVALID["messages"])
    def test_what_is_no_message_does_not_fit(self, path: Path) -> None:
        assert found(json.loads(path.read_bytes())["value"], "messages") != []


class TestConfig:
    def test_the_defaults_fit(self) -> None:
        settings = Config().model_dump(mode="json", by_alias=False, exclude_none=True)
        assert found(settings, "config") == []

    def test_every_setting_can_be_written(self) -> None:
        old = {key.partition(".")[0] for key in RENAMED}
        assert schema("config")["properties"].keys() == {*Config.model_fields, *old}

    @pytest.mark.parametrize("timeout", [0, 90, 1.5, "30m", "1h30m"])
    def test_a_duration_is_a_number_or_a_text(self, timeout: object) -> None:
        assert found({"timeouts": {"idle": timeout}, "max_duration": timeout}, "config") == []

    @pytest.mark.parametrize(
        "settings",
        [
            {"maxIterations": 3},
            {"max_iterations": 0},
            {"max_iterations": None},
            {"timeouts": {"idle": "soon"}},
            {"timeouts": {"idle": -1}},
            {"profile": "mine"},
            {"breaker": {"noProgressOpen": 3}},
            {"agents": {"mine": {"argv": "run me"}}},
        ],
    )
    def test_what_would_be_refused_does_not_fit(self, settings: dict[str, Any]) -> None:
        assert found(settings, "config") != []


def test_an_empty_state_fits() -> None:
    state = json.loads(RunState().model_dump_json(by_alias=True))
    assert found(state, "state") == []
    assert found({**state, **NEW_FIELD}, "state") == []
