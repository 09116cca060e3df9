"""The base of the loop's next commit: what the work tree's changes are held against.

An iteration may end with work in no commit: it was stopped, its validation failed, a hook refused
the commit. That work goes into the next commit, as long as nobody has changed it since. What the
user wrote between two iterations does not.
"""

from __future__ import annotations

from collections.abc import Mapping

from ralph_ls.protocol.run.values import Baseline


def base_of(known: Baseline | None, owed: Mapping[str, str] | None, found: Baseline) -> Baseline:
    """The base for an iteration that ``found`` the tree so.

    ``known`` is the base of an earlier iteration with work in no commit, and ``owed`` that work by
    path; None in journals that did not keep it, whose base holds for whatever comes after.
    """
    if known is None:
        return found
    if owed is None:
        return known
    return found.model_copy(
        update={
            "dirty": _without(found.dirty, owed, known.dirty),
            "own": _without(found.own, owed, known.own),
        }
    )


def is_owed(known: Baseline | None, owed: Mapping[str, str] | None, found: Baseline) -> bool:
    """Whether some of that work is still in the tree and in no commit; for the arguments see
    ``base_of``. Where nobody knows which work it is, whatever differs from its base may be.
    """
    if owed is None:
        return known is not None and known.fingerprint != found.fingerprint
    now = {**found.dirty, **found.own}
    return any(now.get(path) == value for path, value in owed.items())


def _without(
    found: Mapping[str, str], owed: Mapping[str, str], before: Mapping[str, str]
) -> dict[str, str]:
    """The dirty paths as they were before that work."""
    same = {path for path, value in found.items() if owed.get(path) == value}
    kept = {path: value for path, value in found.items() if path not in same}
    return {**kept, **{path: before[path] for path in same if path in before}}
