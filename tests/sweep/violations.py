"""What a failing case has found."""

from __future__ import annotations

from enum import Enum


class Kind(Enum):
    """The categories that a sweep is judged by."""

    LOSS = "loss"
    """Work, a task, a commit or a byte of the user is gone."""
    DEAF = "deaf"
    """Something does not end or answer in time."""
    LEFT_OVER = "left-over"
    """A process, lock or file remains that nobody will remove."""
    RAN = "ran before allow"
    """Code of a repository ran that nobody allowed."""
    WRONG = "wrong"
    """Anything else that contradicts an invariant."""


class Violation(AssertionError):
    """An invariant does not hold."""

    def __init__(self, kind: Kind, text: str) -> None:
        super().__init__(text)
        self.kind = kind


def require(holds: object, kind: Kind, text: str) -> None:
    """Raise a ``Violation`` unless something holds."""
    if not holds:
        raise Violation(kind, text)
