"""Decoder for ``qwen -o stream-json``, a variant of ``claude``'s stream.

Differences: tools have other names, input tokens include cached ones, the counts of a result are
those of the whole session including the time before a resume, there is no cost, and errors are in
``error.message``. A stream that reaches a limit of turns has no result.
"""

from __future__ import annotations

from dataclasses import replace

from ralph_ls.core.agent.decode.claude.decoder import ClaudeDecoder
from ralph_ls.core.agent.decode.claude.records import (
    ClaudeContent,
    ClaudeResultRecord,
    ClaudeTokens,
)
from ralph_ls.core.agent.result import AccountLimit, AgentResult
from ralph_ls.core.agent.usage import add_usage, subtract_known
from ralph_ls.protocol.run.messages import AgentMessage, UsageCounts
from ralph_ls.protocol.run.report import AgentFailure, Usage


class QwenDecoder:
    """Decodes the output of one ``qwen`` process."""

    def __init__(self, start: int, *, earlier_usage: Usage | None = None) -> None:
        """``earlier_usage`` is what a resumed session had used before."""
        self._earlier_usage = earlier_usage
        self._meter = QwenUsageCounter(earlier_usage)
        self._inner = ClaudeDecoder(start, meter=self._meter, tools=_TOOLS)

    def feed(self, data: bytes) -> list[AgentMessage]:
        """The messages of the lines that these bytes complete."""
        return self._inner.feed(data)

    def finish(self) -> list[AgentMessage]:
        return self._inner.finish()

    def final(self) -> AgentResult:
        found, whole = self._inner.final(), self._meter.whole
        counted = None if whole is None else whole.to_usage()
        is_limit = found.failure is AgentFailure.LIMIT
        return replace(
            found,
            errors=tuple(line for line in found.errors if line != _NO_ERROR),
            session_usage=counted or add_usage(self._earlier_usage, found.usage),
            session_cost_usd=None,
            limit=found.limit or (AccountLimit() if is_limit else None),
        )


class QwenUsageCounter:
    """Counts usage: by answers until a result, then by the difference to the session before."""

    def __init__(self, earlier: Usage | None) -> None:
        self._earlier = earlier or Usage()
        self._n_answers = self._n_new = self._n_cached = self._n_output = 0
        """Number of the main agent's answers so far."""
        self.whole: UsageCounts | None = None
        """Usage of the session; None until a result reports it."""
        self._turns: int | None = None
        self._context: int | None = None

    def begin_answer(self, content: ClaudeContent) -> bool:
        """Count an answer; False for a part of one without counts."""
        tokens = content.usage
        if tokens is None or not tokens.input_tokens:
            return False
        cached = tokens.cache_read_input_tokens or 0
        self._context = tokens.input_tokens
        self._n_answers += 1
        self._n_new += max(0, tokens.input_tokens - cached)
        self._n_cached += cached
        self._n_output += tokens.output_tokens or 0
        return True

    def end_turn(self, record: ClaudeResultRecord, _model: str | None) -> None:
        """Process the counts of the session; a failed sub-agent's are all zero."""
        if record.usage is not None and record.usage.input_tokens:
            self.whole = _normalised(record.usage)
        if record.num_turns:
            self._turns = record.num_turns

    def counts(self, cost_usd: float | None) -> UsageCounts | None:
        """Usage of this process; None where nothing is known."""
        whole, earlier = self.whole, self._earlier
        if whole is not None:
            return UsageCounts(
                input_tokens=subtract_known(whole.input_tokens, earlier.input_tokens),
                output_tokens=subtract_known(whole.output_tokens, earlier.output_tokens),
                cached_tokens=subtract_known(whole.cached_tokens, earlier.cached_tokens),
                cost_usd=cost_usd,
                turns=self._turns or self._n_answers or None,
                context_tokens=self._context,
            )
        if not self._n_answers:
            return None
        return UsageCounts(
            input_tokens=self._n_new,
            output_tokens=self._n_output,
            cached_tokens=self._n_cached,
            cost_usd=cost_usd,
            turns=self._n_answers,
            context_tokens=self._context,
        )


def _normalised(tokens: ClaudeTokens) -> UsageCounts:
    """Normalise counts: input excludes cached tokens."""
    cached = tokens.cache_read_input_tokens
    return UsageCounts(
        input_tokens=subtract_known(tokens.input_tokens, cached),
        output_tokens=tokens.output_tokens,
        cached_tokens=cached,
    )


_NO_ERROR = "Error: (none)"
"""A line that its shell adds for a command that failed."""

_TOOLS = {
    "read_file": "Read",
    "write_file": "Write",
    "edit": "Edit",
    "notebook_edit": "NotebookEdit",
    "todo_write": "TodoWrite",
}
