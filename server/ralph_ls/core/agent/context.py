"""Context window monitor: notices at 50, 70 and 90 % of a window while the agent works.

See docs/rules.md#usage.

An agent that retries within one iteration is limited only by its window, so the user is warned
during the iteration rather than after it. Many agents do not report how full the window is; then it
is estimated from prompt and output at four characters a token, and the notice marks it as an
estimate. Does not decide what follows from a full window.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ralph_ls.protocol.run.messages import AgentMessage, UsageMessage

CHARACTERS_A_TOKEN = 4
"""An estimate, used where the agent reports no count."""

DEFAULT_WINDOW = 200_000

LEVELS: tuple[tuple[int, str], ...] = (
    (50, "notice"),
    (70, "warning"),
    (90, "CRITICAL"),
)
"""Percent of the window and severity of the notice (docs/rules.md#usage)."""

ADVICE = {
    50: "",
    70: "; the agent may soon forget what it read first",
    90: "; the agent may start to loop; stop it with ralph stop --now, or let it reach its limit",
}


def notice_code(percent: int) -> str:
    """The stable code of the notice at this percentage."""
    return f"context-{percent}"


CODES = tuple(notice_code(percent) for percent, _ in LEVELS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextNotice:
    """Notice that a context window has reached a level."""

    code: str
    message: str


def context_window_of(model: str | None) -> int | None:
    """The context window of a model by its name; None for an unknown model."""
    for shape, tokens in _WINDOWS:
        if model is not None and shape.search(model) is not None:
            return tokens
    return None


_WINDOWS: tuple[tuple[re.Pattern[str], int], ...] = tuple(
    (re.compile(shape, re.IGNORECASE), tokens)
    for shape, tokens in (
        (r"\[1m\]", 1_000_000),
        (r"^gemini-[23]", 1_048_576),
        (r"^gpt-4\.1", 1_047_576),
        (r"^gpt-5", 400_000),
        (r"^o[34]\b", 200_000),
        (r"^qwen3-coder", 262_144),
        (r"^(?:claude-|sonnet|opus|haiku)", 200_000),
    )
)


class ContextMonitor:
    """Watches the prompt, output and messages of one agent process and reports each level once."""

    def __init__(self, *, window: int | None = None, prompt_characters: int = 0) -> None:
        """``window`` is the size according to settings, history or the model's name."""
        self._window = window or DEFAULT_WINDOW
        self._is_guess = window is None
        self._characters = prompt_characters
        self._tokens: int | None = None
        self._left = list(LEVELS)

    def take(self, data: bytes, messages: Sequence[AgentMessage]) -> tuple[ContextNotice, ...]:
        """Process a chunk of output and its messages; return new notices."""
        if not self._left:
            return ()
        passed: list[ContextNotice] = []
        for one in messages:
            if isinstance(one, UsageMessage):
                self._take_counts(one.usage.context_tokens, one.usage.context_window)
                passed.extend(self._passed())
        if self._tokens is None:
            self._characters += len(data.decode("utf-8", errors="ignore"))
            passed.extend(self._passed())
        return tuple(passed)

    def _take_counts(self, tokens: int | None, window: int | None) -> None:
        if window:
            self._window, self._is_guess = window, False
        self._tokens = self._tokens if tokens is None else tokens

    def _passed(self) -> Iterator[ContextNotice]:
        is_estimate = self._tokens is None
        tokens = self._characters // CHARACTERS_A_TOKEN if self._tokens is None else self._tokens
        passed = [level for level in self._left if 100 * tokens >= level[0] * self._window]
        if not passed:
            return
        self._left = self._left[len(passed) :]
        # If several levels are reached at once, the most urgent one is enough.
        percent, name = passed[-1]
        share = 100 * tokens // self._window
        about = "about " if is_estimate else ""
        guesses = [
            *(["characters / 4"] if is_estimate else []),
            *(["window size assumed"] if self._is_guess else []),
        ]
        estimate = f", estimated: {', '.join(guesses)}" if guesses else ""
        yield ContextNotice(
            code=notice_code(percent),
            message=(
                f"context {name}: {about}{share} % of the agent's window is used "
                f"({tokens} of {self._window} tokens{estimate}){ADVICE[percent]}"
            ),
        )
