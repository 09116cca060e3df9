"""Old entries of a progress log: which they are, and where they go.

See docs/rules.md#specifications.
"""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_ls.core.plan.edit.progress_log import (
    ARCHIVE_TITLE,
    add_to_archive,
    archive_path,
    split_old_entries,
)

TODAY = date(2026, 2, 10)
HEAD = "# Progress Log\n\n## Completed Tasks\n\n"
NEW = "### 2026-02-09\n- [x] New\n\n"
EDGE = "### 2026-02-05\n- [x] Of the last day that stays\n\n"
OLD = "### 2026-02-04\n- [x] Old\n  - Commit: abc1234\n\n#### Notes\n\nMore\n\n"
OLDER = "### 2026-02-03\n- [x] Older\n"


@pytest.mark.parametrize(
    ("log", "kept", "old"),
    [
        pytest.param("", "", (), id="empty"),
        pytest.param(HEAD + NEW, HEAD + NEW, (), id="nothing-old"),
        pytest.param(
            HEAD + NEW + EDGE + OLD + OLDER, HEAD + NEW + EDGE, (OLD, OLDER), id="seeds-form"
        ),
        pytest.param(
            HEAD + OLD + "## Notes\n\nKept\n",
            HEAD + "## Notes\n\nKept\n",
            (OLD,),
            id="a-part-after",
        ),
        pytest.param(
            OLDER + "## Codebase Patterns\n#### 2020-01-01\n- deep\n",
            "## Codebase Patterns\n",
            (OLDER, "#### 2020-01-01\n- deep\n"),
            id="deeper-than-its-part",
        ),
        pytest.param(
            "## [2026-01-01 14:00] - US-001\nDone\n---\n## 2026-02-10 - US-002\nNow\n",
            "## 2026-02-10 - US-002\nNow\n",
            ("## [2026-01-01 14:00] - US-001\nDone\n---\n",),
            id="of-stories",
        ),
        pytest.param(
            "## 2026-01-01\n```\n## 2026-02-10\n~~~\n````x\n`````\n## 2026-02-10\nNow\n",
            "## 2026-02-10\nNow\n",
            ("## 2026-01-01\n```\n## 2026-02-10\n~~~\n````x\n`````\n",),
            id="in-a-fence",
        ),
        pytest.param(
            "## 2026-01-01\r\n- a\r\n## 2026-02-10\r\n",
            "## 2026-02-10\r\n",
            ("## 2026-01-01\r\n- a\r\n",),
            id="crlf",
        ),
        pytest.param("\ufeff## 2026-01-01\n- a", "", ("\ufeff## 2026-01-01\n- a",), id="bom"),
        pytest.param("## 2026-02-30\n- a\n", "## 2026-02-30\n- a\n", (), id="no-day"),
        pytest.param("## 2026-02-011\n- a\n", "## 2026-02-011\n- a\n", (), id="a-number"),
        pytest.param("## 2027-01-01\n- a\n", "## 2027-01-01\n- a\n", (), id="to-come"),
        pytest.param("2026-01-01\n- a\n", "2026-01-01\n- a\n", (), id="no-heading"),
    ],
)
def test_only_old_entries_are_taken_out(log: str, kept: str, old: tuple[str, ...]) -> None:
    assert split_old_entries(log, today=TODAY, keep_days=5) == (kept, old)


def test_more_days_than_there_are_keep_everything() -> None:
    assert split_old_entries(HEAD + OLD, today=TODAY, keep_days=10**12).old == ()


class TestTheArchive:
    def test_begins_with_a_title(self) -> None:
        assert add_to_archive("", (OLD, OLDER)) == f"{ARCHIVE_TITLE}\n\n{OLD}{OLDER}"
        crlf = "## 2026-01-01\r\n- a"
        assert add_to_archive("", (crlf,)) == f"{ARCHIVE_TITLE}\r\n\r\n{crlf}\r\n"

    def test_has_the_newer_entries_first(self) -> None:
        once = add_to_archive("", (OLDER,))
        assert add_to_archive(once, (OLD,)) == f"{ARCHIVE_TITLE}\n\n{OLD}{OLDER}"

    def test_keeps_what_the_user_wrote_into_it(self) -> None:
        mine = "# Mine\n\nWords"
        assert add_to_archive(mine, (OLDER,)) == f"{mine}\n{OLDER}"
        assert add_to_archive(OLDER, (OLD,)) == OLD + OLDER

    def test_gets_no_entry_twice(self) -> None:
        once = add_to_archive("", (OLD, OLDER))
        assert add_to_archive(once, (OLD, OLDER)) == once
        half = "### 2026-02-04\n"
        assert add_to_archive(once, (half, OLDER)) == f"{ARCHIVE_TITLE}\n\n{half}{OLD}{OLDER}"


@pytest.mark.parametrize(
    ("log", "archive"),
    [
        ("PROGRESS.md", "PROGRESS-archive.md"),
        ("ralph/progress.txt", "ralph/progress-archive.txt"),
        ("notes.d/PROGRESS", "notes.d/PROGRESS-archive"),
        (".progress", ".progress-archive"),
    ],
)
def test_is_beside_its_log(log: str, archive: str) -> None:
    assert archive_path(log) == archive


_LINES = st.sampled_from(
    ["## 2026-01-01", "### 2026-02-09", "# x", "```", "~~~~", "- [x] a", "", "\r", "\u2028"]
)


@given(st.lists(_LINES), st.sampled_from(["\n", "\r\n", ""]))
def test_no_byte_is_lost_and_none_is_old_twice(lines: list[str], ending: str) -> None:
    log = "\n".join(lines) + ending
    kept, old = split_old_entries(log, today=TODAY, keep_days=5)
    assert sorted(kept + "".join(old)) == sorted(log)
    assert (
        split_old_entries(kept, today=TODAY, keep_days=5).old == () or "```" in log or "~~~~" in log
    )
    archive = add_to_archive("", old)
    assert all(entry in archive for entry in old)
    assert add_to_archive(archive, old) == archive
