"""The remark on a plan that two write."""

from __future__ import annotations

from ralph_ls.core.views.diagnostic import Severity
from ralph_ls.core.views.seen import Seen
from ralph_ls.core.views.two_writers import CODE, changed_on_disk


def test_it_stands_at_the_top_and_says_what_to_do() -> None:
    remark = changed_on_disk(Seen(text="# Plan\n\n- [ ] a\n"))
    assert (remark.line, remark.start, remark.end) == (0, 0, 6)
    assert (remark.severity, remark.code) == (Severity.WARNING, CODE)
    assert "merge both before you save" in remark.message
