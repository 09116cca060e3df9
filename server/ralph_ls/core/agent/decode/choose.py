"""The decoder for a dialect."""

from __future__ import annotations

from typing import assert_never

from ralph_ls.core.agent.decode.final import Decoder
from ralph_ls.core.agent.decode.plain import PlainDecoder
from ralph_ls.protocol.config import Dialect


def decoder_for(dialect: Dialect, iteration: int = 1) -> Decoder:
    """A decoder for one process of an agent that speaks ``dialect``."""
    match dialect:
        case Dialect.TEXT:
            return PlainDecoder(iteration)
        case Dialect.CLAUDE:
            # Its records are compiled on import, which a viewer of plain text need not wait for.
            from ralph_ls.core.agent.decode.claude import ClaudeDecoder

            return ClaudeDecoder(iteration)
        case _:
            assert_never(dialect)
