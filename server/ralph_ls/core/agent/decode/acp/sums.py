"""What an agent that speaks the Agent Client Protocol says it used up, brought to one meaning.

The protocol's ``usage`` of an answer counts one turn, though it does not say whether its input has
in it what a cache gave, and its output what was thought: the total, which is a sum of the others,
tells. Some agents give counts in a place of their own, and the cost is that of the whole session.
"""

from __future__ import annotations

from ralph_ls.core.agent.decode.acp.records import Record, count_at, record_at, text_at, value_at
from ralph_ls.core.agent.decode.told import Counts


class Sums:
    """Adds up what is told."""

    def __init__(self, earlier_cost_usd: float) -> None:
        """``earlier_cost_usd`` is what a session that is gone on in had cost before."""
        self._earlier_cost = earlier_cost_usd
        self._calls: list[Counts] = []
        self._turn: Counts | None = None
        self._context: int | None = None
        self._window: int | None = None
        self.session_cost: float | None = None

    def take_update(self, update: Record) -> None:
        """A ``usage_update``: how full the context is, and what the session cost so far."""
        self._context = _or(count_at(update, "used"), self._context)
        self._window = count_at(update, "size") or self._window
        amount = value_at(update, "cost", "amount")
        if isinstance(amount, int | float) and text_at(update, "cost", "currency") == "USD":
            self.session_cost = float(amount)

    def take_call(self, usage: Record) -> bool:
        """The counts of one call of the model, which some give with its text; whether there were.

        They stand until the answer has counts of the whole turn.
        """
        counts = _counts(usage)
        if counts is not None:
            self._calls.append(counts)
            self._calls = [_sum(self._calls)]
        return counts is not None

    def take_answer(self, answer: Record) -> None:
        """The answer to the prompt."""
        self._turn = _counts(record_at(answer, "usage"))
        if self._turn is None and not self._calls:
            told = record_at(answer, "_meta", "quota", "token_count")
            self._turn = _counts(
                {
                    "inputTokens": _or(count_at(told, "input_tokens"), told.get("inputTokens")),
                    "outputTokens": _or(count_at(told, "output_tokens"), told.get("outputTokens")),
                }
            )

    def counts(self) -> Counts | None:
        """What this process used up; None where nothing is known."""
        known = self._turn or (self._calls[0] if self._calls else Counts())
        found = Counts(
            input_tokens=known.input_tokens,
            output_tokens=known.output_tokens,
            cached_tokens=known.cached_tokens,
            turns=known.turns,
            cost_usd=self._cost(),
            context_tokens=self._context,
            context_window=self._window,
        )
        return None if found == Counts() else found

    def _cost(self) -> float | None:
        cost = self.session_cost
        if cost is None:
            return None
        # Less than before tells that the agent counts this process alone.
        return cost - self._earlier_cost if cost >= self._earlier_cost else cost


def _counts(usage: Record) -> Counts | None:
    """One ``Usage`` of the protocol, with input that no cache gave and output with all thoughts."""
    given, written = count_at(usage, "inputTokens"), count_at(usage, "outputTokens")
    if given is None or written is None:
        return None
    total = count_at(usage, "totalTokens")
    cached = count_at(usage, "cachedReadTokens")
    thought = count_at(usage, "thoughtTokens") or 0
    kept = count_at(usage, "cachedWriteTokens") or 0
    from_cache = (cached or 0) + kept
    if total in {given + written, given + written + thought} and cached and cached <= given:
        given -= cached
        from_cache = cached
    if thought and total == given + written + from_cache + thought:
        written += thought
    return Counts(input_tokens=given, output_tokens=written, cached_tokens=cached)


def _sum(calls: list[Counts]) -> Counts:
    return Counts(
        input_tokens=sum(one.input_tokens or 0 for one in calls),
        output_tokens=sum(one.output_tokens or 0 for one in calls),
        cached_tokens=sum(one.cached_tokens or 0 for one in calls),
        turns=sum(one.turns or 1 for one in calls),
    )


def _or(found: int | None, instead: int | None) -> int | None:
    return instead if found is None else found
