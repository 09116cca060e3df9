"""Every model has its golden file and every file its model; it comes out as it went in."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from ralph_ls.core.loop.fold import fold
from ralph_ls.protocol.run.commands import COMMAND_ADAPTER, COMMAND_TYPES
from ralph_ls.protocol.run.events import (
    EVENT_KINDS,
    EVENT_TYPES,
    UnknownEvent,
    dump_event,
    parse_event,
)
from ralph_ls.protocol.run.state import RunState
from tests.settings import normalised

GOLDEN = Path(__file__).resolve().parents[2] / "golden"
EVENTS = sorted((GOLDEN / "events").iterdir())
COMMANDS = sorted((GOLDEN / "commands").iterdir())
INVALID_EVENTS = sorted((GOLDEN / "invalid" / "events").iterdir())
INVALID_COMMANDS = sorted((GOLDEN / "invalid" / "commands").iterdir())

NEW_FIELD = {"ofANewerEngine": {"deep": [1, 2]}}


def files(paths: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("path", paths, ids=[path.stem for path in paths])


def pretty(line: bytes | str) -> str:
    return json.dumps(json.loads(line), indent=2, ensure_ascii=False) + "\n"


def to_json(command: BaseModel) -> str:
    return command.model_dump_json(by_alias=True)


def test_every_event_has_a_golden_file_and_every_file_an_event() -> None:
    assert {path.name for path in EVENTS} == {f"{kind}.json" for kind in EVENT_KINDS}
    assert len(EVENT_TYPES) == len(EVENT_KINDS)


def test_every_command_has_a_golden_file_and_every_file_a_command() -> None:
    kinds = {str(model.model_fields["kind"].default) for model in COMMAND_TYPES}
    assert {path.name for path in COMMANDS} == {f"{kind}.json" for kind in kinds}
    assert len(kinds) == len(COMMAND_TYPES)


@files(EVENTS)
class TestEvent:
    def test_comes_out_as_it_went_in(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        event = parse_event(text)
        assert not isinstance(event, UnknownEvent)
        assert event.kind == path.stem
        assert normalised(dump_event(event)) == normalised(text)
        assert pretty(text) == text

    def test_has_every_field_filled(self, path: Path) -> None:
        event = parse_event(path.read_text(encoding="utf-8"))
        assert empty_fields(event) == []

    def test_is_one_line_in_the_journal(self, path: Path) -> None:
        assert b"\n" not in dump_event(parse_event(path.read_text(encoding="utf-8")))

    def test_a_field_of_a_newer_engine_is_passed_over_at_any_depth(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        assert parse_event(json.dumps(with_new_fields(json.loads(text)))) == parse_event(text)

    def test_a_kind_of_a_newer_engine_keeps_its_place(self, path: Path) -> None:
        told = json.loads(path.read_text(encoding="utf-8"))
        event = parse_event(json.dumps({**told, "kind": "teaBrewed"}))
        assert isinstance(event, UnknownEvent)
        assert (event.kind, event.seq, event.run) == ("teaBrewed", told["seq"], told["run"])

    def test_leaves_a_state_that_comes_out_as_it_went_in(self, path: Path) -> None:
        started = parse_event((GOLDEN / "events" / "iterationStarted.json").read_bytes())
        state = fold([started, parse_event(path.read_bytes())])
        text = state.model_dump_json(by_alias=True, exclude_none=True)
        assert RunState.model_validate_json(text) == state


def empty_fields(model: BaseModel, at: str = "") -> list[str]:
    """Fields without a value, anywhere in the model; an example must show them all."""
    empty: list[str] = []
    for name in type(model).model_fields:
        # Settings have separate tests; an example shows those of one run.
        if name in {"agents", "models", "sandbox", "overrides"}:
            continue
        value = getattr(model, name)
        for number, item in enumerate(value if isinstance(value, tuple) else [value]):
            if isinstance(item, BaseModel):
                empty += empty_fields(item, f"{at}{name}[{number}].")
        if value is None or value in ((), {}, ""):
            empty.append(at + name)
    return empty


def with_new_fields(value: Any) -> Any:
    """Every object in ``value`` with one field more, but for those whose keys are free."""
    free = {
        "env",
        "agents",
        "overrides",
        "dirty",
        "own",
        "nestedHeads",
        "fields",
        "errorStreaks",
        "left",
        "ends",
    }
    free |= {"arguments", "attempts", "failures", "prices", "receipts", "seconds", "tag", "titles"}
    match value:
        case dict():
            changed = {
                key: item if key in free and key != "env" else with_new_fields(item)
                for key, item in value.items()
            }
            return {**changed, **NEW_FIELD}
        case list():
            return [with_new_fields(item) for item in value]
        case _:
            return value


@files(COMMANDS)
class TestCommand:
    def test_comes_out_as_it_went_in(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        command = COMMAND_ADAPTER.validate_json(text)
        assert command.kind == path.stem
        assert pretty(to_json(command)) == text
        assert empty_fields(command) == []

    def test_a_field_that_is_not_known_is_refused(self, path: Path) -> None:
        asked = json.loads(path.read_text(encoding="utf-8"))
        with pytest.raises(ValidationError) as refused:
            COMMAND_ADAPTER.validate_json(json.dumps({**asked, **NEW_FIELD}))
        (error,) = refused.value.errors()
        assert (error["loc"], error["type"]) == ((path.stem, "ofANewerEngine"), "extra_forbidden")


class TestInvalid:
    @files(INVALID_COMMANDS)
    def test_a_bad_command_is_refused_at_the_right_place(self, path: Path) -> None:
        case = json.loads(path.read_text(encoding="utf-8"))
        with pytest.raises(ValidationError) as refused:
            COMMAND_ADAPTER.validate_json(json.dumps(case["value"]))
        (error,) = refused.value.errors()
        assert (list(error["loc"]), error["type"]) == (case["location"], case["error"])

    @files(INVALID_EVENTS)
    def test_what_is_no_event_is_refused_at_the_right_place(self, path: Path) -> None:
        case = json.loads(path.read_text(encoding="utf-8"))
        with pytest.raises(ValidationError) as refused:
            parse_event(json.dumps(case["value"]))
        (error,) = refused.value.errors()
        assert (list(error["loc"]), error["type"]) == (case["location"], case["error"])

    def test_a_known_kind_in_a_shape_of_another_time_keeps_its_place(self) -> None:
        told = json.loads((GOLDEN / "events" / "runEnded.json").read_bytes())
        event = parse_event(json.dumps({**told, "reason": "bored", "exitCode": "none"}))
        assert type(event) is UnknownEvent
        assert (event.kind, event.seq) == ("runEnded", told["seq"])

    def test_an_unknown_event_says_no_more_than_its_place(self) -> None:
        told = json.loads((GOLDEN / "events" / "noteAdded.json").read_bytes())
        event = parse_event(json.dumps({**told, "kind": "teaBrewed"}))
        assert set(json.loads(dump_event(event))) == {"v", "seq", "at", "run", "kind"}


def test_events_and_commands_cannot_be_changed() -> None:
    event: Any = parse_event((GOLDEN / "events" / "noteAdded.json").read_bytes())
    with pytest.raises(ValidationError, match="frozen"):
        event.seq = 7
