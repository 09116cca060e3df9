"""What one run may execute: read from the approvals when its engine starts, and not again.

A file that an agent can write must not decide what the loop executes next. What the user approves
meanwhile reaches a live run as a command alone, which an iteration cannot give; an approval that
appears in the file without one is taken out.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping

from ralph_ls.store import trust
from ralph_ls.store.layout import StateFolder
from ralph_ls.store.trust import Claim


class RunTrust:
    """The approvals that hold for one run."""

    def __init__(self, allowed: Mapping[str, str]) -> None:
        self._allowed = dict(allowed)
        self._lock = threading.Lock()

    def missing(self, claims: Iterable[Claim]) -> tuple[Claim, ...]:
        """The claims that are not approved as they are now."""
        return tuple(claim for claim in claims if self._allowed.get(claim.key) != claim.digest)

    @property
    def keys(self) -> frozenset[str]:
        """What was approved, in whatever form."""
        return frozenset(self._allowed)

    def require(self, claims: Iterable[Claim]) -> None:
        """Raise ``NotAllowed`` naming every claim that is not approved as it is now."""
        trust.require_none(self.missing(claims))

    def is_approved(self, key: str, digest: str) -> bool:
        """Whether this very content is approved under its key."""
        return self._allowed.get(key) == digest

    def accept(self, approved: Mapping[str, str]) -> None:
        """Take over what the user has approved since; it is stored by whoever asked."""
        with self._lock:
            self._allowed |= approved

    def take_out_added(self, state: StateFolder) -> tuple[str, ...]:
        """Take out of the file what was not approved when the run began, nor accepted since.

        The keys of that; one that was approved in another form gets that form back.
        Raises ``StateUnusable`` where the file cannot be written.
        """
        with self._lock:
            record = trust.read_record(state)
            added = [
                key for key, digest in record.allowed.items() if self._allowed.get(key) != digest
            ]
            if not added:
                return ()
            known = [key for key in record.allowed if key in self._allowed]
            kept = {key: self._allowed[key] for key in known}
            trust.write_record(state, record.model_copy(update={"allowed": kept}))
            return tuple(sorted(added))


def read_run_trust(state: StateFolder, claims: Iterable[Claim]) -> RunTrust:
    """The approvals as they are now; raises ``NotAllowed`` where a claim lacks one."""
    found = RunTrust(trust.read_record(state).allowed)
    found.require(claims)
    return found
