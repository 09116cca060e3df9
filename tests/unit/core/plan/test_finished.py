"""Whether a progress log records a finished task."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.completion import records_finished


@pytest.mark.parametrize(
    "log",
    [
        "# Progress Log\n\n### 2026-02-04\n\n- [x] Write the letter\n  - Commit: abc\n",
        "- Refactored the login\n",
        "* done\n",
        "1. Write the letter\n",
        "## 2026-02-04\n\nWrote the letter.\n",
        "\ufeff# [2026-02-04] Letters\n",
        "```\nmake\n```\n- [X] done\n",
    ],
)
def test_an_item_or_the_heading_of_a_day_does(log: str) -> None:
    assert records_finished(log)


@pytest.mark.parametrize(
    "log",
    [
        "",
        "# Progress\n\nNotes of each iteration, for later ones.\n",
        "# Progress Log\n\n## Completed Tasks\n",
        "- [ ] still open\n",
        "<!--\n- [x] an example\n-->\n",
        "<!-- - [x] an example that never ends\n",
        "```\n- [x] an example\n```\n",
        "~~~~\n- [x] an example\n~~~\n- [x] still in it\n",
    ],
)
def test_a_beginning_does_not(log: str) -> None:
    assert not records_finished(log)
