"""What an agent used, where it writes that into a file of its own instead of its stream.

Only the bytes are known here; who asks for such a file, and where it lies, never.
"""

from __future__ import annotations

from dataclasses import replace

from ralph_ls.core.agent.decode.final import Final
from ralph_ls.protocol.config.agent import Dialect, JsonLinesConfig
from ralph_ls.protocol.run.report import Usage

USAGE_FILE = "{usage_file}"
"""Stands in an agent's command line for the path of the file."""

DIALECTS = frozenset({Dialect.COPILOT, Dialect.JSONL})
"""The dialects whose agents may write such a file."""

LONGEST = 1 << 20
"""Bytes; a longer file is none of counts."""


def add_usage_file(
    final: Final,
    data: bytes,
    dialect: Dialect,
    *,
    mapping: JsonLinesConfig | None = None,
    earlier: Usage | None = None,
) -> Final:
    """What a process came to, with what its file says over what its stream does.

    ``earlier`` is what a session that it went on in had used before, ``mapping`` that of
    ``Dialect.JSONL``. A broken file, and one of another dialect, says nothing.
    """
    if dialect is Dialect.COPILOT:
        from ralph_ls.core.agent.decode.copilot import decoder as copilot

        both = copilot.usage_in_file(data, earlier)
        if both is None:
            return final
        own, whole = both
        return replace(final, usage=_over(own, final.usage), session_usage=whole)
    if dialect is Dialect.JSONL:
        from ralph_ls.core.agent.decode.jsonl import decoder as jsonl

        own_usage = jsonl.usage_in_file(data, mapping)
        if own_usage is not None:
            return replace(final, usage=_over(own_usage, final.usage))
    return final


def _over(told: Usage, streamed: Usage | None) -> Usage:
    """The file's counts, and of the stream's those that the file does not have."""
    if streamed is None:
        return told
    known = {name: value for name, value in told if value is not None}
    return streamed.model_copy(update=known)
