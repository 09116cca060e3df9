"""What an engine has to tell besides its events, each thing once for as long as it lives."""

from __future__ import annotations

from ralph_ls.core.loop.inputs import Notice


class Notices:
    """Collected as they come up, and handed on with what is told next."""

    def __init__(self) -> None:
        self._known: dict[str, Notice] = {}
        self._taken: set[str] = set()

    def add(self, code: str, message: str) -> None:
        """Tell this, unless something with its code was told already."""
        self._known.setdefault(code, Notice(code=code, message=message))

    def take(self) -> tuple[Notice, ...]:
        """Those that nobody has taken yet."""
        fresh = {code: one for code, one in self._known.items() if code not in self._taken}
        self._taken.update(fresh)
        return tuple(fresh.values())
