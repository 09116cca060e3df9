"""Comments on the issues of a queue: what was done, and why one was set aside.

The caller redacts them. What an agent wrote is in a fence, so that it mentions nobody and closes
nothing. Each begins with a mark by which it is known again, so that none is written twice.
"""

from __future__ import annotations

from collections.abc import Sequence

from ralph_ls.core.notify.texts import LONGEST_TEXT, fenced
from ralph_ls.core.plan.formats.github.records import IssueRecord, RecordState
from ralph_ls.core.views.model.control_chars import escape_control_chars


def comment_mark(record: IssueRecord, *, is_merged: bool) -> str:
    """The first line of a comment, which GitHub does not show."""
    what = RecordState.CLOSED if is_merged else record.state
    return f"<!-- ralph: {what.value} {record.at.isoformat()} -->"


def comment_about(
    record: IssueRecord, evidence: Sequence[str], *, branch: str, is_merged: bool
) -> str:
    """The comment on an issue that was finished or set aside.

    ``evidence`` are the criteria as the plan has them, ``branch`` the default branch.
    """
    parts = [comment_mark(record, is_merged=is_merged)]
    if record.state is RecordState.SET_ASIDE:
        reason = escape_control_chars(record.reason)[:LONGEST_TEXT]
        parts += ["The loop set this issue aside and works on others. It reports:", fenced(reason)]
        parts.append("To have it tried again, set the label or the milestone of the queue again.")
        return "\n\n".join(parts) + "\n"
    where = f"Done in {record.commit}" if record.commit else "Done"
    parts.append(f"{where} by a loop." if not is_merged else f"{where}, which is on `{branch}`.")
    if evidence:
        lines = "\n".join(escape_control_chars(one) for one in evidence)
        parts += ["Its criteria:", fenced(lines[:LONGEST_TEXT])]
    if not is_merged:
        parts.append(
            f"It stays open until that commit is on `{branch}`. A pull request closes it with: "
            f"`Fixes #{record.number}`"
        )
    return "\n\n".join(parts) + "\n"
