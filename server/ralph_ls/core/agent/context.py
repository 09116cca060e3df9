"""How full an agent's context window is, while it works: notices at 50, 70 and 90 %.

See docs/rules.md#usage.

An agent that retries the same thing over and over within one iteration is bounded by nothing but
its window, so a person is told while it works, and not at its end. Many agents do not tell how much
of it is used: then it is what they were told and printed, four characters to a token, and it is
said that this is an estimate. It must never know what is done about a full window.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ralph_ls.core.agent.messages import AgentMessage, EmittedUsage

CHARACTERS_A_TOKEN = 4
"""SPEC §5: characters / 4, where nothing better is known."""

DEFAULT_WINDOW = 200_000

LEVELS: tuple[tuple[int, str], ...] = (
    (50, "notice"),
    (70, "warning"),
    (90, "CRITICAL"),
)
"""Percent, and how urgent that is (docs/rules.md#usage)."""

ADVICE = {
    50: "",
    70: "; it may soon forget what it read first",
    90: "; it may go round in circles: stop it with ralph stop --now, or let it run into its end",
}


def notice_code(percent: int) -> str:
    """The stable code of the notice at so many percent."""
    return f"context-{percent}"


CODES = tuple(notice_code(percent) for percent, _ in LEVELS)


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextNotice:
    """That an agent's window is filled so far."""

    code: str
    message: str


def context_window_of(model: str | None) -> int | None:
    """The window of a model by its name, where that is known; None where it is not."""
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
    """Hears what one agent process is told, prints and says, and tells each level once."""

    def __init__(self, *, window: int | None = None, prompt_characters: int = 0) -> None:
        """``window``: what the settings, an earlier iteration or the model's name say of it."""
        self._window = window or DEFAULT_WINDOW
        self._is_guess = window is None
        self._characters = prompt_characters
        self._tokens: int | None = None
        self._left = list(LEVELS)

    def take(self, data: bytes, messages: Sequence[AgentMessage]) -> tuple[ContextNotice, ...]:
        """Take what it printed, and what that says; the levels that are passed now."""
        if not self._left:
            return ()
        passed: list[ContextNotice] = []
        for one in messages:
            if isinstance(one, EmittedUsage):
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
        # Of several that are passed at once the most urgent says everything.
        percent, name = passed[-1]
        share = 100 * tokens // self._window
        about = "about " if is_estimate else ""
        guesses = [
            *(["characters / 4"] if is_estimate else []),
            *(["window assumed"] if self._is_guess else []),
        ]
        estimate = f", estimated: {', '.join(guesses)}" if guesses else ""
        yield ContextNotice(
            code=notice_code(percent),
            message=(
                f"context {name}: {about}{share} % of the agent's window is used "
                f"({tokens} of {self._window} tokens{estimate}){ADVICE[percent]}"
            ),
        )
