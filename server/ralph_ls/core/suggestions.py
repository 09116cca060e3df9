"""Suggestions: "did you mean" for a name that does not exist."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

LIKE_ENOUGH = 0.6
"""From 0 to 1, as ``difflib`` compares; below it a suggestion is a riddle."""


def closest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like this one, if any is like it; case does not matter."""
    by_folded = {one.casefold(): one for one in known}
    folded = name.casefold()
    swapped = [one for key, one in by_folded.items() if sorted(key) == sorted(folded)]
    if swapped:
        # `stauts` is `status`, although `stats` shares longer stretches with it.
        return swapped[0]
    found = get_close_matches(folded, by_folded, n=1, cutoff=LIKE_ENOUGH)
    if found:
        return by_folded[found[0]]
    # Half a name, such as `iterations` for `--max-iterations`.
    inside = [one for key, one in by_folded.items() if len(folded) > 2 and folded in key]
    return inside[0] if len(inside) == 1 else None


def did_you_mean(name: str, known: Iterable[str], *, otherwise: str = "") -> str:
    """The end of a message: ``; did you mean X?``, or what helps where no name is like it."""
    meant = closest(name, known)
    if meant is not None:
        return f"; did you mean {meant}?"
    return f"; {otherwise}" if otherwise else ""


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """``unknown profile 'x'; did you mean Y?``, or the list of those that there are."""
    names = list(dict.fromkeys(map(str, known)))
    listed = f"there is: {', '.join(names)}"
    return f"unknown {what} {name!r}{did_you_mean(name, names, otherwise=listed)}"
