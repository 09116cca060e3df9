"""The end states that a run has seen, to be found at once among ten thousand.

The run's state keeps them in order, as a tuple; whoever folds many iterations would look through
all of them at each. It must never know how an end state is told from another.
"""

from __future__ import annotations


class EndStates:
    """The end states of one run, as far as it was folded."""

    def __init__(self) -> None:
        self._known: tuple[str, ...] = ()
        self._found: set[str] = set()

    def plus(self, known: tuple[str, ...], fingerprint: str) -> tuple[str, ...]:
        """What is known with one more; the same where that is known already."""
        if known is not self._known:
            self._known, self._found = known, set(known)
        if fingerprint and fingerprint not in self._found:
            self._found.add(fingerprint)
            self._known = (*known, fingerprint)
        return self._known
