"""Decoder for the JSON lines of any program, driven by a mapping from its fields to ours.

A line that is not JSON is text of the agent, as from a program that prints plain text; a record of
a kind that the mapping does not name is ignored. A mapped field whose value has another type counts
as missing. Knows no particular program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import msgspec
from msgspec import structs

from ralph_ls.core.agent.decode.common.json_lines import decode
from ralph_ls.core.agent.decode.common.line_decoder import (
    LineDecoder,
    is_question_tool,
    limit_open_calls,
    question_text,
)
from ralph_ls.core.agent.decode.common.tool_calls import (
    first_line,
    relative_path,
    summarise_arguments,
    texts_in,
    to_one_line,
)
from ralph_ls.core.agent.result import AgentResult, find_account_limit
from ralph_ls.core.agent.usage import add_known
from ralph_ls.protocol.config.agent import Counting, JsonLinesConfig
from ralph_ls.protocol.run.messages import FileAction, ToolState, UsageCounts
from ralph_ls.protocol.run.report import AgentFailure, Usage

JsonRecord = Mapping[str, Any]

Paths = tuple[tuple[str, ...], ...]


class MappedFields:
    """Looks up mapped fields in the records of one program."""

    def __init__(self, mapping: JsonLinesConfig) -> None:
        self._kind = (tuple(mapping.kind.split(".")),)
        self._meanings = {
            kind: meaning for meaning, kinds in mapping.kinds.model_dump().items() for kind in kinds
        }
        self._paths: dict[str, Paths] = {
            name: tuple(tuple(path.split(".")) for path in paths)
            for name, paths in mapping.fields.model_dump().items()
        }
        self._input_has_cached = mapping.input_has_cached

    def meaning_of(self, record: JsonRecord) -> str | None:
        """The mapped kind of a record; None for any other."""
        kind = _find(record, self._kind)
        return self._meanings.get(kind) if isinstance(kind, str) else None

    def value(self, record: JsonRecord, name: str) -> Any:
        """The value at a place; None where there is none."""
        return _find(record, self._paths[name])

    def text(self, record: JsonRecord, name: str) -> str:
        """The first text at the places; empty where there is none."""
        for path in self._paths[name]:
            value = _find(record, (path,))
            if isinstance(value, str):
                return value
        return ""

    def name_of_call(self, record: JsonRecord) -> str:
        """The id that joins a call and its result; numbers are accepted."""
        value = self.value(record, "call")
        return str(value) if isinstance(value, str | int) else ""

    def summary(self, record: JsonRecord, folder: str) -> str:
        """What a tool is used on, in one line."""
        value = self.value(record, "summary")
        if isinstance(value, dict):
            return summarise_arguments(value, folder)
        if isinstance(value, list):
            return to_one_line(", ".join(one for one in value if isinstance(one, str)))
        return "" if value is None else to_one_line(str(value))

    def has_failed(self, record: JsonRecord) -> bool:
        """Whether a record reports a failure."""
        ok = self.value(record, "ok")
        return (ok is not None and not ok) or bool(self.value(record, "failed"))

    def counts(self, record: JsonRecord) -> UsageCounts:
        """The usage that a record reports, normalised."""
        whole, cached = self._number(record, "input_tokens"), self._number(record, "cached_tokens")
        if self._input_has_cached and whole is not None:
            whole = max(0, whole - (cached or 0))
        cost = self.value(record, "cost_usd")
        is_cost = isinstance(cost, int | float) and not isinstance(cost, bool)
        return UsageCounts(
            input_tokens=whole,
            output_tokens=self._number(record, "output_tokens"),
            cached_tokens=cached,
            cost_usd=float(cost) if is_cost and cost >= 0 else None,
            turns=self._number(record, "turns"),
        )

    def _number(self, record: JsonRecord, name: str) -> int | None:
        value = self.value(record, name)
        is_count = isinstance(value, int) and not isinstance(value, bool)
        return value if is_count and value >= 0 else None


def add_counts(one: UsageCounts, other: UsageCounts) -> UsageCounts:
    """Add two counts; what is unknown in both stays unknown."""
    return UsageCounts(
        **{
            name: add_known(getattr(one, name), getattr(other, name))
            for name in ("input_tokens", "output_tokens", "cached_tokens", "cost_usd", "turns")
        }
    )


def override_known(counts: UsageCounts, earlier: UsageCounts) -> UsageCounts:
    """The later counts, completed by the earlier ones where they are unknown."""
    known = {name: value for name, value in structs.asdict(counts).items() if value is not None}
    return structs.replace(earlier, **known)


def _find(record: JsonRecord, paths: Paths) -> Any:
    for path in paths:
        value: Any = record
        for name in path:
            value = _inside(value, name)
        if value is not None:
            return value
    return None


def _inside(value: Any, name: str) -> Any:
    if isinstance(value, dict):
        return value.get(name)
    is_place = isinstance(value, list) and name.isdecimal() and len(name) < _LONGEST_PLACE
    return value[int(name)] if is_place and int(name) < len(value) else None


_LONGEST_PLACE = 10
"""Digits of an index in a place."""


NO_END = "the output ended without a result"


class JsonLinesDecoder(LineDecoder):
    """Decodes the output of one process of a program that prints JSON lines."""

    def __init__(
        self, start: int, *, mapping: JsonLinesConfig | None = None, folder: str = ""
    ) -> None:
        """``folder`` is the working directory, to which paths are relative."""
        super().__init__(start, folder=folder)
        self._mapping = mapping or JsonLinesConfig()
        self._fields = MappedFields(self._mapping)
        self._pieces: list[str] = []
        self._calls: dict[str, _Call] = {}
        self._n_calls = 0
        self._counts = UsageCounts()
        self._has_ended = not self._mapping.kinds.result
        """Whether the end was reached; always true where the mapping has no record for it."""
        self._result = ""
        self._why = ""
        """How the agent would have failed if the stream ended here."""
        self._take_by_meaning = {
            "text": self._take_text,
            "tool_call": self._begin_call,
            "tool_result": self._end_call,
            "usage": self._take_usage,
            "error": self._take_error,
            "result": self._take_result,
            "session": self._take_session,
        }

    def final(self) -> AgentResult:
        why = self._why or ("" if self._has_ended else NO_END)
        limit = find_account_limit(why) if why else None
        failure = AgentFailure.CRASHED if why == NO_END else None
        result = self._result_of(
            None if self._counts == UsageCounts() else self._counts,
            text=None if why else self._result or None,
            why=why or None,
            failure=failure if limit is None else AgentFailure.LIMIT,
            limit=limit,
        )
        return replace(result, denied_tools=None)

    def _end(self) -> None:
        self._end_pieces()

    def _take_line(self, line: bytes) -> None:
        record = decode(_RECORD, line)
        if record is not None:
            self._take(record)
        elif line.strip() and not line.lstrip().startswith(b'{"'):
            self._end_pieces()
            self._emit_text(line.decode("utf-8", errors="replace").rstrip("\r\n"))

    def _take(self, record: JsonRecord) -> None:
        meaning = self._fields.meaning_of(record)
        if meaning == "text_part":
            self._pieces.append(self._fields.text(record, "text"))
        elif meaning is not None:
            self._end_pieces()
            self._take_by_meaning[meaning](record)

    def _take_text(self, record: JsonRecord) -> None:
        text = self._fields.text(record, "text")
        if text:
            self._emit_text(text)

    def _end_pieces(self) -> None:
        text = "".join(self._pieces)
        self._pieces.clear()
        if text:
            self._emit_text(text)

    def _emit_text(self, text: str) -> None:
        self._continue_text()
        self._final_text.add(text)
        self._emitter.text(text)

    def _continue_text(self) -> None:
        """Where there is no end record, work after an error means that the agent recovered."""
        if not self._mapping.kinds.result:
            self._why = ""

    def _begin_call(self, record: JsonRecord) -> None:
        fields = self._fields
        self._continue_text()
        self._final_text.tool_called()
        self._n_calls += 1
        call_id = fields.name_of_call(record) or f"call-{self._n_calls}"
        name, given = fields.text(record, "tool"), fields.value(record, "summary")
        summary = fields.summary(record, self._folder)
        self._question = ""
        if is_question_tool(name):
            self._question = question_text(given) if isinstance(given, dict) else summary
        self._calls[call_id] = _Call(name=name, summary=summary, file=fields.text(record, "file"))
        limit_open_calls(self._calls)
        self._emitter.tool(call_id, name, summary, ToolState.STARTED)

    def _end_call(self, record: JsonRecord) -> None:
        fields = self._fields
        self._continue_text()
        call_id = fields.name_of_call(record) or next(iter(self._calls), "")
        call = self._calls.pop(call_id, None)
        if call is None:
            return
        if fields.has_failed(record):
            self._errors.add(filter(None, [first_line(fields.text(record, "message"))]))
            self._emitter.tool(call_id, call.name, call.summary, ToolState.FAILED)
            return
        self._emitter.tool(call_id, call.name, call.summary, ToolState.DONE)
        path = call.file or fields.text(record, "file")
        if path:
            self._emitter.file(relative_path(path, self._folder), FileAction.CHANGED)

    def _take_usage(self, record: JsonRecord) -> None:
        counts = self._fields.counts(record)
        if self._mapping.counting is Counting.RECORD:
            self._counts = add_counts(self._counts, counts)
        else:
            self._counts = override_known(counts, self._counts)
        self._emit_usage()

    def _take_error(self, record: JsonRecord) -> None:
        message = self._fields.text(record, "message").strip() or "it reports an error"
        self._why = first_line(message)
        self._errors.add([self._why])
        self._emitter.text(message)

    def _take_result(self, record: JsonRecord) -> None:
        fields = self._fields
        self._has_ended = True
        self._take_session(record)
        self._result = fields.text(record, "text")
        if fields.has_failed(record):
            reported = first_line(fields.text(record, "message")) or self._why
            self._why = reported or first_line(self._result) or "it reports a failure"
            self._errors.add([self._why])
        else:
            self._why = ""
        self._counts = override_known(fields.counts(record), self._counts)
        self._emit_usage()

    def _take_session(self, record: JsonRecord) -> None:
        self._session_id = self._fields.text(record, "session_id") or self._session_id
        self._model = self._fields.text(record, "model") or self._model

    def _emit_usage(self) -> None:
        if self._counts != UsageCounts():
            self._emitter.usage(self._counts)


class _Call(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A tool call without a result."""

    name: str
    summary: str
    file: str


def usage_in_file(data: bytes, mapping: JsonLinesConfig | None = None) -> Usage | None:
    """The usage in a file that contains one object; None where it contains none."""
    record = decode(_RECORD, data)
    counts = (
        UsageCounts()
        if record is None
        else MappedFields(mapping or JsonLinesConfig()).counts(record)
    )
    return None if counts == UsageCounts() else counts.to_usage()


_RECORD = msgspec.json.Decoder(dict[str, Any])


def texts_in_record(record: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """All texts of a record, whose fields have no known meaning here."""
    yield from texts_in("a record", record)
