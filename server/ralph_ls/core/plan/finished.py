"""Whether a progress log records a finished task, in whatever form somebody keeps it.

It decides whether a plan without a task is one whose tasks are all done, so it is generous: an item
of a list or an entry of a day is enough, outside code fences and comments. A log that only has its
title and its introduction records nothing. It must never know where a log is.
"""

from __future__ import annotations

import re


def records_finished(log: str) -> bool:
    """Whether anything in the log was finished; an open box was not."""
    text = _COMMENT.sub("", log)
    fence = ""
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark is not None and (not fence or mark[1].startswith(fence)):
            fence = "" if fence else mark[1]
        elif not fence and _FINISHED.match(line) is not None:
            return True
    return False


_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_FINISHED = re.compile(
    r"\s*(?:[-*+]|\d{1,9}[.)])\s+(?!\[[ ]?\])\S"
    r"|\ufeff?#{1,6}\s+\[?\d{4}-\d{2}-\d{2}(?!\d)"
)
"""An item of a list that is no open box, or the heading of a day."""
