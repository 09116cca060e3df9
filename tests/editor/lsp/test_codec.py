"""Bytes to messages and back, without any server."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams

from ralph_ls.editor.lsp.codec import make_converter, read_params, write_notification, write_result
from ralph_ls.editor.lsp.errors import ERROR_CODES, code_of, invalid_params, to_response_error
from ralph_ls.editor.lsp.framing import FrameReader
from ralph_ls.editor.lsp.handlers import read_arguments
from ralph_ls.protocol import errors as our_errors
from ralph_ls.protocol.lsp.methods import (
    METHODS,
    NOTE,
    OUTPUT,
    START,
    NoteParams,
    OutputParams,
    ReplyResult,
    StartParams,
)
from tests.editor.wire_client import bodies

CONVERTER = make_converter()


class TestOurMessages:
    @given(st.text(), st.integers(0))
    def test_a_notification_reads_as_it_was_written(self, text: str, skipped: int) -> None:
        params = OutputParams(
            workspace="w", run="r", start=1, stream="out", text=text, skipped=skipped
        )
        [body] = bodies(FrameReader(), write_notification(OUTPUT, params))
        message = json.loads(body)
        assert message.pop("params") == params.model_dump(by_alias=True)
        assert message == {"jsonrpc": "2.0", "method": OUTPUT}

    @pytest.mark.parametrize("message_id", [0, 7, 'a"b', "é"])
    def test_a_result_names_its_request(self, message_id: int | str) -> None:
        result = ReplyResult(accepted=True, code="accepted", text="é")
        [body] = bodies(FrameReader(), write_result(message_id, result))
        assert json.loads(body) == {
            "jsonrpc": "2.0",
            "id": message_id,
            "result": {"accepted": True, "code": "accepted", "text": "é"},
        }

    @pytest.mark.parametrize("text", ["", " \n\t", "x" * 100_001, None])
    def test_a_note_without_words_or_end_is_refused(self, text: str | None) -> None:
        with pytest.raises(JsonRpcInvalidParams, match="ralph/note: text: ") as refused:
            read_params(METHODS[NOTE], {"text": text})
        assert [each["field"] for each in refused.value.data["problems"]] == ["text"]  # type: ignore[index]

    def test_a_note_of_any_size_below_is_taken(self) -> None:
        assert read_params(METHODS[NOTE], {"text": "x" * 100_000}) == NoteParams(text="x" * 100_000)

    @pytest.mark.parametrize("name", sorted(METHODS))
    def test_unknown_fields_are_refused_where_something_is_asked(self, name: str) -> None:
        method = METHODS[name]
        if method.is_request:
            with pytest.raises(JsonRpcInvalidParams, match="later"):
                read_params(method, {"later": 1})
        else:
            assert method.params.model_config["extra"] == "ignore"


class TestConverter:
    def test_our_models_may_be_inside_of_lsp_ones(self) -> None:
        reply = ReplyResult(accepted=False, code="busy", text="no")
        lens = types.CodeLens(
            range=types.Range(start=types.Position(0, 0), end=types.Position(0, 1)),
            command=types.Command(title="t", command="c", arguments=[reply]),
        )
        assert CONVERTER.unstructure(lens)["command"]["arguments"] == [
            {"accepted": False, "code": "busy", "text": "no"}
        ]

    @pytest.mark.parametrize("value", [[], {}, None, 1.5, True])
    @pytest.mark.parametrize(
        ("model", "field"),
        [
            (types.WorkDoneProgressCancelParams, "token"),
            (types.CancelParams, "id"),
        ],
    )
    def test_a_token_is_an_integer_or_a_string(
        self, model: type[Any], field: str, value: object
    ) -> None:
        with pytest.raises(BaseExceptionGroup):
            CONVERTER.structure({field: value}, model)

    @pytest.mark.parametrize("value", [7, "seven", None])
    def test_a_request_may_have_a_token(self, value: object) -> None:
        params = {"query": "", "workDoneToken": value}
        read = CONVERTER.structure(params, types.WorkspaceSymbolParams)
        assert read.work_done_token == value

    def test_lsp_errors_name_their_fields_as_on_the_wire(self) -> None:
        message: dict[str, Any] = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "textDocument/codeAction",
            "params": {
                "textDocument": {"uri": "file:///a"},
                "range": {"start": {"line": 0, "character": 0}, "end": {"line": "x"}},
                "context": {"diagnostics": [{"message": "m"}]},
            },
        }
        with pytest.raises(Exception, match="CodeActionRequest") as raised:
            CONVERTER.structure(message, types.CodeActionRequest)
        told = invalid_params(raised.value, "textDocument/codeAction")
        assert {each.field for each in told.problems} == {
            "range.end.line",
            "range.end.character",
            "context.diagnostics[0].range",
        }


class TestArguments:
    @staticmethod
    def read(handler: Any, *values: object) -> tuple[Any, ...]:
        return read_arguments(handler, values, CONVERTER, command="c")

    def test_each_gets_the_type_of_its_parameter(self) -> None:
        def handler(params: StartParams, position: types.Position, free, *rest: int) -> None:  # type: ignore[no-untyped-def]
            """Only its signature matters."""

        start = {"task": "t"}
        values = (start, {"line": 1, "character": 2}, {"a": 1}, 3, 4)
        assert self.read(handler, *values) == (
            StartParams(task="t"),
            types.Position(1, 2),
            {"a": 1},
            3,
            4,
        )

    def test_one_that_does_not_fit_is_named_to_its_depth(self) -> None:
        def handler(position: types.Position) -> None:
            """Only its signature matters."""

        with pytest.raises(JsonRpcInvalidParams, match=r"c: position\.character: is missing"):
            self.read(handler, {"line": 1})


class TestErrors:
    def test_every_error_of_the_patched_one_has_its_own_code(self) -> None:
        family = {
            each
            for each in vars(our_errors).values()
            if isinstance(each, type) and issubclass(each, our_errors.RalphError)
        }
        assert set(ERROR_CODES) == family
        assert len(set(ERROR_CODES.values())) == len(family)

    def test_a_newer_error_has_the_code_of_its_parent(self) -> None:
        class Newer(our_errors.NoEngine):
            pass

        assert code_of(Newer("x")) == "no-engine"

    def test_what_nobody_expected_is_reported_without_its_message(self) -> None:
        told = to_response_error(KeyError("secret"), START)
        assert told.message == "ralph/start failed (KeyError); the server's log says where"
