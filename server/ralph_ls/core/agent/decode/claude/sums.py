"""What a ``claude`` stream says that it used up, and when more may be."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Protocol

from msgspec import structs

from ralph_ls.core.agent.decode.claude.records import Content, ModelUsage, ResultRecord, Tokens
from ralph_ls.core.agent.decode.told import Counts
from ralph_ls.core.agent.usage import add_known


class Counting(Protocol):
    """Counts what is used up."""

    def begin_answer(self, content: Content) -> bool:
        """Count an answer when its first block comes; False for the others, and without counts."""
        ...

    def end_turn(self, record: ResultRecord, model: str | None, /) -> None:
        """Take the exact counts in the place of the rough ones."""
        ...

    def counts(self, cost_usd: float | None) -> Counts | None:
        """All of it; None where nothing is known."""
        ...


class Meter:
    """Counts what is used up: roughly while a turn goes on, exactly once it has ended."""

    def __init__(self) -> None:
        self._ended = Counts()
        """The turns that have ended."""
        self._n_answers = self._n_new = self._n_cached = 0
        """Of the turn that goes on."""
        self._last_answer = ""
        self._context: int | None = None
        self._window: int | None = None

    def begin_answer(self, content: Content) -> bool:
        """Count an answer when its first block comes; False for the others, and without counts."""
        tokens = content.usage
        if tokens is None or content.id == self._last_answer:
            return False
        self._last_answer = content.id
        new, cached = tokens.input_tokens or 0, tokens.cache_read_input_tokens or 0
        self._context = new + cached + (tokens.cache_creation_input_tokens or 0)
        self._n_answers += 1
        self._n_new += new
        self._n_cached += cached
        return True

    def end_turn(self, record: ResultRecord, model: str | None) -> None:
        """Take the exact counts in the place of the rough ones."""
        tokens, ended = record.usage or Tokens(), self._ended
        self._ended = Counts(
            input_tokens=add_known(ended.input_tokens, tokens.input_tokens),
            output_tokens=add_known(ended.output_tokens, tokens.output_tokens),
            cached_tokens=add_known(ended.cached_tokens, tokens.cache_read_input_tokens),
            turns=add_known(ended.turns, record.num_turns),
        )
        self._n_answers = self._n_new = self._n_cached = 0
        self._window = _window_of(record.model_usage, model) or self._window

    def counts(self, cost_usd: float | None) -> Counts | None:
        """All of it; None where nothing is known."""
        ended = self._ended
        if not self._n_answers:
            known = structs.replace(
                ended,
                cost_usd=cost_usd,
                context_tokens=self._context,
                context_window=self._window,
            )
            return known if known != _UNKNOWN else None
        return Counts(
            input_tokens=(ended.input_tokens or 0) + self._n_new,
            output_tokens=ended.output_tokens,
            cached_tokens=(ended.cached_tokens or 0) + self._n_cached,
            cost_usd=cost_usd,
            turns=(ended.turns or 0) + self._n_answers,
            context_tokens=self._context,
            context_window=self._window,
        )


def moment_of(told: float | str | None) -> datetime | None:
    """A moment as the program tells it: seconds or milliseconds since 1970, or ISO text."""
    try:
        if isinstance(told, str) and not _NUMBER.fullmatch(told):
            moment = datetime.fromisoformat(told)
            return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
        number = None if told is None else float(told)
        if number is None:
            return None
        return datetime.fromtimestamp(number / 1000 if number > _MILLISECONDS else number, UTC)
    except (OverflowError, ValueError, OSError):
        return None


def _window_of(usage: Mapping[str, ModelUsage], model: str | None) -> int | None:
    """The context window of the model that the main agent used, else of the only one."""
    if model is not None and model in usage:
        return usage[model].context_window
    windows = [found.context_window for found in usage.values()]
    return windows[0] if len(windows) == 1 else None


_NUMBER = re.compile(r"\d+(?:\.\d*)?")
_MILLISECONDS = 1e11
"""A number above this is none of seconds: they would lie in the year 5138."""

_UNKNOWN = Counts()
