"""The records of ``cline --json``, as far as we read them.

Each line is one JSON object with a ``ts`` and a ``type``; most of what happens stands one level
below, in the ``event`` of an ``agent_event``. Only the fields that are used are named: what is not
is skipped without being built. It must never know what the records mean for a loop.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ralph_ls.core.agent.decode.records import NOTHING, Words, decode, type_of, words_of


class Record(msgspec.Struct, rename="camel", gc=False):
    """What all records have in common: the names of their fields."""


class Counts(Record):
    """Counts of a run; those of the input hold what a cache gave."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    total_cost: float | None = None


class HappenedRecord(Record):
    """One thing that an agent, or one below it, said or did; ``type`` says which."""

    type: str = ""
    content_type: str = ""
    text: str | None = None
    accumulated: str | None = None
    """All of a text whose pieces still come."""
    tool_name: str = ""
    tool_call_id: str = ""
    input: msgspec.Raw = NOTHING
    output: msgspec.Raw = NOTHING
    error: msgspec.Raw = NOTHING
    """Of a tool: its text; of an ``error``: an object with a message."""
    error_class: str = ""
    recoverable: bool = True
    message: str = ""
    notice_type: str = ""
    input_tokens: int | None = None
    total_input_tokens: int | None = None
    total_output_tokens: int | None = None
    total_cache_read_tokens: int | None = None
    total_cost: float | None = None


class AgentRecord(Record):
    """The record around it."""

    event: HappenedRecord


class HookRecord(Record):
    """An agent begins or ends; the only place where one below another is told apart."""

    hook_event_name: str = ""
    agent_id: str = ""
    parent_agent_id: str | None = None


class Model(Record):
    """The model that a run used."""

    id: str | None = None


class RunStart(Record):
    """The beginning, where the program is told to say more."""

    session_id: str | None = None
    model_id: str | None = None


class RunResult(Record):
    """The end of a run, well or not."""

    finish_reason: str = ""
    iterations: int | None = None
    usage: Counts | None = None
    aggregate_usage: Counts | None = None
    """With that of agents below it."""
    text: str | None = None
    model: Model | None = None


class RunAborted(Record):
    """Somebody broke the run off; it may come behind a result which says that all is well."""

    message: str = ""


class Trouble(Record):
    """The program itself fails."""

    message: str = ""


Anything = AgentRecord | HookRecord | RunStart | RunResult | RunAborted | Trouble


def read_line(line: bytes) -> Anything | Words | None:
    """Read one line; None for a record that says nothing to us, or that cannot be read."""
    kind = type_of(line)
    if kind is None:
        return words_of(line)
    decoder = _DECODERS.get(kind)
    return None if decoder is None else decode(decoder, line)


class Result(Record):
    """What one part of a call came to."""

    query: str | None = None
    result: str | None = None
    error: str | None = None
    success: bool | None = None


def results_in(output: msgspec.Raw) -> list[Result]:
    """What a call came to: most tools do several things in one call."""
    found = decode(_RESULTS, output)
    if isinstance(found, Result):
        return [found]
    return found or []


def message_in(error: msgspec.Raw) -> str:
    """The text of an error, in whichever of its shapes; empty where there is none."""
    found = decode(_ERROR, error)
    if isinstance(found, Trouble):
        return found.message
    return found or ""


_DECODERS: dict[bytes, msgspec.json.Decoder[Any]] = {
    b"agent_event": msgspec.json.Decoder(AgentRecord),
    b"hook_event": msgspec.json.Decoder(HookRecord),
    b"run_start": msgspec.json.Decoder(RunStart),
    b"run_result": msgspec.json.Decoder(RunResult),
    b"run_aborted": msgspec.json.Decoder(RunAborted),
    b"error": msgspec.json.Decoder(Trouble),
}
_RESULTS = msgspec.json.Decoder(Result | list[Result] | None)
_ERROR = msgspec.json.Decoder(Trouble | str | None)
