"""What is shown where a person and an agent write one plan at the same time (SPEC §8).

It must never know how the texts are merged, nor an editor.
"""

from __future__ import annotations

from ralph_ls.core.views.diagnostic import Diagnostic, Severity
from ralph_ls.core.views.seen import Seen, places

CODE = "plan-changed-on-disk"

MERGE = "Merge what was changed on the disk into this plan"
"""The remedy, in words."""


def changed_on_disk(seen: Seen) -> Diagnostic:
    """The plan was changed on the disk while the document has changes that are not saved."""
    top = places(seen).top
    return Diagnostic(
        line=top.line,
        start=top.start,
        end=top.end,
        severity=Severity.WARNING,
        code=CODE,
        message=(
            "the plan was changed on the disk, and it has changes here that are not saved; "
            "merge both before you save, so that neither is lost"
        ),
        link=None,
    )
