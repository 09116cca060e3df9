"""JSON lines of any program, decoded as they come by a mapping from its fields to ours.

A line that is no JSON is the agent's own words, as if it printed plain text; a record of a kind
that the mapping does not name says nothing. Which program it is must never be known here.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ralph_ls.core.agent.decode.claude.tools import path_in
from ralph_ls.core.agent.decode.codex.limits import limit_in
from ralph_ls.core.agent.decode.final import Final
from ralph_ls.core.agent.decode.frame import LineDecoder
from ralph_ls.core.agent.decode.jsonl.fields import Fields, JsonRecord, add_counts, known_over
from ralph_ls.core.agent.decode.one_line import first_line
from ralph_ls.core.agent.decode.records import decode
from ralph_ls.core.agent.decode.said import forget_oldest, is_asking, question_in
from ralph_ls.core.agent.decode.told import Counts, usage_of
from ralph_ls.protocol.config.agent import Counting, JsonLinesConfig
from ralph_ls.protocol.run.messages import FileAction, ToolState
from ralph_ls.protocol.run.report import AgentFailure, Usage

NO_END = "its output ended without a result"


class JsonLinesDecoder(LineDecoder):
    """Reads one process of a program that prints JSON lines."""

    def __init__(
        self, start: int, *, mapping: JsonLinesConfig | None = None, folder: str = ""
    ) -> None:
        """``folder`` is the one it works in, from which paths are told."""
        super().__init__(start, folder=folder)
        self._mapping = mapping or JsonLinesConfig()
        self._fields = Fields(self._mapping)
        self._pieces: list[str] = []
        self._calls: dict[str, _Call] = {}
        self._n_calls = 0
        self._counts = Counts()
        self._has_ended = not self._mapping.kinds.result
        """Whether the end has come; where there is no such record, it needs none."""
        self._result = ""
        self._why = ""
        """How it fails, were this the end."""
        self._take_by_meaning = {
            "text": self._take_text,
            "tool_call": self._begin_call,
            "tool_result": self._end_call,
            "usage": self._take_usage,
            "error": self._take_error,
            "result": self._take_result,
            "session": self._take_session,
        }

    def final(self) -> Final:
        why = self._why or ("" if self._has_ended else NO_END)
        limit = limit_in(why) if why else None
        failure = AgentFailure.CRASHED if why == NO_END else None
        return Final(
            text=self._said.text if why else self._result or self._said.text,
            earlier=self._said.earlier,
            asked=self._asked,
            errors=self._errors.lines,
            usage=None if self._counts == Counts() else usage_of(self._counts),
            session_id=self._session_id,
            model=self._model,
            failed=bool(why),
            why=why,
            failure=failure if limit is None else AgentFailure.LIMIT,
            limit=limit,
        )

    def _end(self) -> None:
        self._end_pieces()

    def _take_line(self, line: bytes) -> None:
        record = decode(_RECORD, line)
        if record is not None:
            self._take(record)
        elif line.strip() and not line.lstrip().startswith(b'{"'):
            self._end_pieces()
            self._say(line.decode("utf-8", errors="replace").rstrip("\r\n"))

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
            self._say(text)

    def _end_pieces(self) -> None:
        text = "".join(self._pieces)
        self._pieces.clear()
        if text:
            self._say(text)

    def _say(self, text: str) -> None:
        self._go_on()
        self._said.add(text)
        self._tell.text(text)

    def _go_on(self) -> None:
        """Where there is no end, what it does after an error shows that it got over that."""
        if not self._mapping.kinds.result:
            self._why = ""

    def _begin_call(self, record: JsonRecord) -> None:
        fields = self._fields
        self._go_on()
        self._said.tool_called()
        self._n_calls += 1
        call_id = fields.name_of_call(record) or f"call-{self._n_calls}"
        name, given = fields.text(record, "tool"), fields.value(record, "summary")
        summary = fields.summary(record, self._folder)
        self._asked = ""
        if is_asking(name):
            self._asked = question_in(given) if isinstance(given, dict) else summary
        self._calls[call_id] = _Call(name=name, summary=summary, file=fields.text(record, "file"))
        forget_oldest(self._calls)
        self._tell.tool(call_id, name, summary, ToolState.STARTED)

    def _end_call(self, record: JsonRecord) -> None:
        fields = self._fields
        self._go_on()
        call_id = fields.name_of_call(record) or next(iter(self._calls), "")
        call = self._calls.pop(call_id, None)
        if call is None:
            return
        if fields.has_failed(record):
            self._errors.add(filter(None, [first_line(fields.text(record, "message"))]))
            self._tell.tool(call_id, call.name, call.summary, ToolState.FAILED)
            return
        self._tell.tool(call_id, call.name, call.summary, ToolState.DONE)
        path = call.file or fields.text(record, "file")
        if path:
            self._tell.file(path_in(path, self._folder), FileAction.CHANGED)

    def _take_usage(self, record: JsonRecord) -> None:
        counts = self._fields.counts(record)
        if self._mapping.counting is Counting.RECORD:
            self._counts = add_counts(self._counts, counts)
        else:
            self._counts = known_over(counts, self._counts)
        self._tell_usage()

    def _take_error(self, record: JsonRecord) -> None:
        message = self._fields.text(record, "message").strip() or "it tells an error"
        self._why = first_line(message)
        self._errors.add([self._why])
        self._tell.text(message)

    def _take_result(self, record: JsonRecord) -> None:
        fields = self._fields
        self._has_ended = True
        self._take_session(record)
        self._result = fields.text(record, "text")
        if fields.has_failed(record):
            told = first_line(fields.text(record, "message")) or self._why
            self._why = told or first_line(self._result) or "it says that it failed"
            self._errors.add([self._why])
        else:
            self._why = ""
        self._counts = known_over(fields.counts(record), self._counts)
        self._tell_usage()

    def _take_session(self, record: JsonRecord) -> None:
        self._session_id = self._fields.text(record, "session_id") or self._session_id
        self._model = self._fields.text(record, "model") or self._model

    def _tell_usage(self) -> None:
        if self._counts != Counts():
            self._tell.usage(self._counts)


class _Call(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A tool call that has not come back."""

    name: str
    summary: str
    file: str


def usage_in_file(data: bytes, mapping: JsonLinesConfig | None = None) -> Usage | None:
    """What a file says was used that holds one object; None where it says nothing."""
    record = decode(_RECORD, data)
    counts = Counts() if record is None else Fields(mapping or JsonLinesConfig()).counts(record)
    return None if counts == Counts() else usage_of(counts)


_RECORD = msgspec.json.Decoder(dict[str, Any])
