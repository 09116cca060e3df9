"""The decoder for a dialect."""

from __future__ import annotations

from typing import assert_never

from ralph_ls.core.agent.decode.final import Decoder
from ralph_ls.protocol.config.agent import Dialect, JsonLinesConfig
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
    """A decoder for one process of an agent that speaks ``dialect``.

    ``folder`` is the one it works in, where its stream does not say. The last two are what a
    session that it goes on in had cost and used before: ``Final.session_cost_usd`` and
    ``session_usage`` of the process before it. Each agent tells only one of them. ``mapping`` says
    what the records of ``Dialect.JSONL`` mean.
    """
    # Records are compiled on import, which who decodes nothing, or another dialect, need not wait
    # for.
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
            from ralph_ls.core.agent.decode.qwen import QwenDecoder

            return QwenDecoder(start, earlier_usage=earlier_usage)
        case Dialect.OPENCODE:
            from ralph_ls.core.agent.decode.opencode.decoder import OpencodeDecoder

            return OpencodeDecoder(start, folder=folder)
        case Dialect.CLINE:
            from ralph_ls.core.agent.decode.cline.decoder import ClineDecoder

            return ClineDecoder(start, folder=folder)
        case Dialect.COPILOT:
            from ralph_ls.core.agent.decode.copilot.decoder import CopilotDecoder

            return CopilotDecoder(start, folder=folder)
        case Dialect.JSONL:
            from ralph_ls.core.agent.decode.jsonl.decoder import JsonLinesDecoder

            return JsonLinesDecoder(start, mapping=mapping, folder=folder)
        case Dialect.ACP:
            from ralph_ls.core.agent.decode.acp.decoder import AcpDecoder

            return AcpDecoder(start, folder=folder, earlier_cost_usd=earlier_cost_usd)
        case _:
            assert_never(dialect)
