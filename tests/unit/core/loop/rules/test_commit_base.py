"""What the loop's next commit is held against, where work of an earlier iteration is in none."""

from __future__ import annotations

from ralph_ls.core.loop.rules.commits import has_uncommitted_work, next_commit_base
from ralph_ls.protocol.run.values import Baseline

KNOWN = Baseline(
    head="1", dirty={"notes": "n1", "draft": "d1"}, own={"plan": "p1"}, fingerprint="1"
)
FOUND = Baseline(
    head="1",
    dirty={"notes": "n1", "draft": "d2", "code": "c1", "users": "u1", "touched": "t2"},
    own={"plan": "p2", "log": "l1"},
    fingerprint="2",
)
OWED = {"draft": "d2", "code": "c1", "touched": "t1", "plan": "p2", "log": "l1"}


def test_without_work_that_is_owed_it_is_the_tree_as_it_was_found() -> None:
    assert next_commit_base(None, None, FOUND) == FOUND
    assert next_commit_base(None, OWED, FOUND) == FOUND
    assert next_commit_base(KNOWN, {}, FOUND) == FOUND


def test_work_that_is_owed_counts_as_changed_and_what_others_wrote_does_not() -> None:
    base = next_commit_base(KNOWN, OWED, FOUND)
    assert base.dirty == {"notes": "n1", "draft": "d1", "users": "u1", "touched": "t2"}
    assert base.own == {"plan": "p1"}
    assert base.head == FOUND.head


def test_a_journal_that_did_not_keep_it_goes_by_the_earlier_base() -> None:
    assert next_commit_base(KNOWN, None, FOUND) == KNOWN


def test_work_is_owed_for_as_long_as_it_is_in_the_tree_as_it_was() -> None:
    assert has_uncommitted_work(KNOWN, {"code": "c1"}, FOUND)
    assert has_uncommitted_work(KNOWN, {"plan": "p2"}, FOUND)
    assert not has_uncommitted_work(KNOWN, {"touched": "t1", "gone": "g"}, FOUND)


def test_where_nobody_knows_which_work_it_is_whatever_changed_may_be_owed() -> None:
    assert has_uncommitted_work(KNOWN, None, FOUND)
    assert not has_uncommitted_work(FOUND, None, FOUND)
    assert not has_uncommitted_work(None, None, FOUND)
