"""Small pieces of text that several views share: counts, times, claims and facts.

A claim and a fact are put in the same words and the same order, so that they can be read side by
side. It must never know where they are shown.
"""

from __future__ import annotations

from ralph_ls.core.views.visible import tame
from ralph_ls.protocol.evidence import Evidence
from ralph_ls.protocol.report import Report

SHORT_HASH = 7
"""How many digits of a commit are shown."""


def several(count: int, noun: str) -> str:
    """``1 file``, ``2 files``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def one_line(text: str, *, limit: int) -> str:
    """A stranger's text on one line of at most ``limit`` characters, harmless to show."""
    folded = tame(" ".join(text.split()))
    return folded if len(folded) <= limit else f"{folded[: limit - 1].rstrip()}…"


def minutes(seconds: float) -> str:
    """``under 1 min``, ``6 min``, ``2 h 5 min``: a text that changes once a minute at most."""
    whole = int(max(0.0, seconds) // 60)
    hours, left = divmod(whole, 60)
    if hours:
        return f"{hours} h {left} min"
    return f"{left} min" if left else "under 1 min"


def claims_of(report: Report) -> str:
    """What a report says was done: the fields that it has, and no others."""
    parts = [report.status]
    if "FILES_MODIFIED" in report.fields:
        parts.append(several(report.files_modified, "file"))
    if "TASKS_COMPLETED_THIS_LOOP" in report.fields:
        parts.append(several(report.tasks_completed, "task"))
    if "TESTS_STATUS" in report.fields:
        parts.append(f"tests {report.tests_status.lower().replace('_', ' ')}")
    return tame(", ".join(parts))


def facts_of(evidence: Evidence) -> str:
    """What the engine saw: always all three counts, then why that was no progress."""
    seen = ", ".join(
        (
            several(len(evidence.commits), "commit"),
            several(evidence.files, "file"),
            several(len(evidence.tasks_done), "task"),
        )
    )
    return tame(seen if evidence.progress else f"{seen}, no progress: {evidence.why}")
