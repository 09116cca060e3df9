"""Decoders by dialect, and usage files: counts that an agent writes to a file.

Works on bytes; the engine finds and reads the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, assert_never

from ralph_ls.core.agent.result import AgentResult, Decoder
from ralph_ls.protocol.config.agent import JsonLinesConfig
from ralph_ls.protocol.config.agent_catalog import CATALOG, Dialect
from ralph_ls.protocol.run.report import Usage


def decoder_for(
    dialect: Dialect,
    start: int = 1,
    *,
    folder: str = "",
    earlier_cost_usd: float = 0.0,
    earlier_usage: Usage | None = None,
    mapping: JsonLinesConfig | None = None,
) -> Decoder:
    """Create the decoder for one process of an agent that speaks ``dialect``.

    ``folder`` is the agent's working directory, for streams that do not name it.
    ``earlier_cost_usd`` and ``earlier_usage`` are what a resumed session had cost and used before:
    ``session_cost_usd`` and ``session_usage`` of the previous result. Each agent reports only one
    of them. ``mapping`` describes the records of ``Dialect.JSONL``.
    """
    # Importing a decoder compiles its records, so only the one that is used is imported.
    match dialect:
        case Dialect.TEXT:
            from ralph_ls.core.agent.decode.plain import PlainDecoder

            return PlainDecoder(start)
        case Dialect.CLAUDE:
            from ralph_ls.core.agent.decode.claude.decoder import ClaudeDecoder

            return ClaudeDecoder(start, earlier_cost_usd=earlier_cost_usd)
        case Dialect.CODEX:
            from ralph_ls.core.agent.decode.codex.decoder import CodexDecoder

            return CodexDecoder(start, folder=folder, earlier_usage=earlier_usage)
        case Dialect.GEMINI:
            from ralph_ls.core.agent.decode.gemini.decoder import GeminiDecoder

            return GeminiDecoder(start, folder=folder)
        case Dialect.QWEN:
            from ralph_ls.core.agent.decode.claude.qwen import QwenDecoder

            return QwenDecoder(start, earlier_usage=earlier_usage)
        case Dialect.OPENCODE:
            from ralph_ls.core.agent.decode.opencode import OpencodeDecoder

            return OpencodeDecoder(start, folder=folder)
        case Dialect.CLINE:
            from ralph_ls.core.agent.decode.cline.decoder import ClineDecoder

            return ClineDecoder(start, folder=folder)
        case Dialect.COPILOT:
            from ralph_ls.core.agent.decode.copilot.decoder import CopilotDecoder

            return CopilotDecoder(start, folder=folder)
        case Dialect.JSONL:
            from ralph_ls.core.agent.decode.jsonl import JsonLinesDecoder

            return JsonLinesDecoder(start, mapping=mapping, folder=folder)
        case Dialect.ACP:
            from ralph_ls.core.agent.decode.acp.decoder import AcpDecoder

            return AcpDecoder(start, folder=folder, earlier_cost_usd=earlier_cost_usd)
        case _:
            assert_never(dialect)


RecordTexts = Callable[[dict[str, Any]], Iterator[tuple[str, str]]]
"""The texts of one record, each with the place where it is, to follow "in"."""


def record_texts_of(dialect: Dialect) -> RecordTexts | None:
    """The function that finds the texts in records of a dialect; None where there are no records.

    None of these texts counts as a signal; see docs/rules.md#signals.
    """
    match dialect:
        case Dialect.TEXT:
            return None
        case Dialect.CLAUDE | Dialect.QWEN:
            from ralph_ls.core.agent.decode.claude.decoder import texts_in_record
        case Dialect.CODEX:
            from ralph_ls.core.agent.decode.codex.decoder import texts_in_record
        case Dialect.GEMINI:
            from ralph_ls.core.agent.decode.gemini.decoder import texts_in_record
        case Dialect.OPENCODE:
            from ralph_ls.core.agent.decode.opencode import texts_in_record
        case Dialect.CLINE:
            from ralph_ls.core.agent.decode.cline.decoder import texts_in_record
        case Dialect.COPILOT:
            from ralph_ls.core.agent.decode.copilot.decoder import texts_in_record
        case Dialect.JSONL:
            from ralph_ls.core.agent.decode.jsonl import texts_in_record
        case Dialect.ACP:
            from ralph_ls.core.agent.decode.acp.decoder import texts_in_record
        case _:
            assert_never(dialect)
    return texts_in_record


USAGE_FILE_PLACEHOLDER = "{usage_file}"
"""Placeholder in an agent's command line for the path of its usage file."""

DIALECTS_WITH_USAGE_FILE = frozenset(
    {
        Dialect.JSONL,
        *(one.dialect for one in CATALOG.values() if USAGE_FILE_PLACEHOLDER in one.stream),
    }
)
"""Dialects whose agents can write a usage file."""

MAX_USAGE_FILE_BYTES = 1 << 20
"""A longer file is not a usage file."""


def apply_usage_file(
    final: AgentResult,
    data: bytes,
    dialect: Dialect,
    *,
    mapping: JsonLinesConfig | None = None,
    earlier: Usage | None = None,
) -> AgentResult:
    """Update a result with the counts of a usage file, which take precedence over the stream's.

    ``earlier`` is what a resumed session had used before, ``mapping`` that of ``Dialect.JSONL``. A
    broken file, and one of another dialect, changes nothing.
    """
    if dialect is Dialect.COPILOT:
        from ralph_ls.core.agent.decode.copilot import decoder as copilot

        both = copilot.usage_in_file(data, earlier)
        if both is None:
            return final
        own, whole = both
        return replace(final, usage=_override_usage(own, final.usage), session_usage=whole)
    if dialect is Dialect.JSONL:
        from ralph_ls.core.agent.decode import jsonl

        own_usage = jsonl.usage_in_file(data, mapping)
        if own_usage is not None:
            return replace(final, usage=_override_usage(own_usage, final.usage))
    return final


def _override_usage(recorded: Usage, streamed: Usage | None) -> Usage:
    """The counts of the file, and of the stream those that the file lacks."""
    if streamed is None:
        return recorded
    known = {name: value for name, value in recorded if value is not None}
    return streamed.model_copy(update=known)
