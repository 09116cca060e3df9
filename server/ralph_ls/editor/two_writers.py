"""What a document and its file had in common last, so that two who write it lose nothing.

An editor reloads a file that was changed on the disk only while the document has no changes of its
own. With both changed, what they have in common is the base for a merge. It belongs to one open
document; looks come from any thread. It must never know what is shown of it, and it never writes.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ralph_ls.core.plan.diff.merge_lines import MergedPlan
    from ralph_ls.core.plan.model import PlanKind
    from ralph_ls.editor.loop_files import Signature

BOM = "\ufeff"

KEPT_OFFERS = 4
"""Merges that were offered and may still be taken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unseen:
    """The file was changed while the document has changes that are not saved."""

    base: str
    theirs: str
    """The file's text."""


class LastCommon:
    """Of one open document."""

    def __init__(self, opened: str, *, read: Callable[[Path], str | None]) -> None:
        """``read`` gives a file's text, None where there is none that could be shown."""
        self._read = read
        self._lock = threading.Lock()
        self._opened: str | None = opened
        """As the client opened it, until the file was looked at."""
        self._base = opened
        self._disk: str | None = None
        self._signature: Signature | None = None
        self._offers: OrderedDict[str, str] = OrderedDict()
        """Merged text to the file's text that is in it."""

    def changed(self, text: str) -> None:
        """The document was changed: perhaps it was loaded anew, or a merge was taken."""
        with self._lock:
            if text == self._disk:
                self._base = text
            elif text in self._offers:
                self._base = self._offers[text]

    def saved(self, text: str) -> str:
        """The document was written to the file; gives what it had in common before."""
        with self._lock:
            before, self._base, self._opened = self._base, text, None
            return before

    def unseen(self, text: str, path: Path) -> Unseen | None:
        """What the file holds that the document does not, where both have changed; it may block."""
        with self._lock:
            self._look(path, text)
            disk = self._disk
            if disk is None or disk == text:
                self._base = text if disk == text else self._base
                return None
            if self._base in {text, disk}:
                return None
            return Unseen(base=self._base, theirs=disk)

    def offer(self, text: str, unseen: Unseen, kind: PlanKind) -> MergedPlan:
        """The document's text with what it has not seen; once that is taken, it is seen."""
        from ralph_ls.core.plan.formats.dispatch import merge_plans

        merged = merge_plans(kind, unseen.base, text, unseen.theirs)
        with self._lock:
            self._offers[merged.text] = unseen.theirs
            while len(self._offers) > KEPT_OFFERS:
                self._offers.popitem(last=False)
        return merged

    def _look(self, path: Path, text: str) -> None:
        """Read the file where it differs from the last look."""
        from ralph_ls.editor.loop_files import signature_of

        signature = signature_of(path)
        if signature != self._signature:
            self._signature = signature
            disk = None if signature is None else self._read(path)
            # An editor keeps the mark at a file's beginning to itself.
            self._disk = disk if disk is None or text[:1] == BOM else disk.removeprefix(BOM)
        if self._opened is not None and self._disk is not None:
            # What was not saved when it was opened is a change of the document's.
            self._base, self._opened = self._disk, None
