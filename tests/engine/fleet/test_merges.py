"""Mirrors and merges on real remotes, and what a crash between two steps leaves."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph_ls.engine.fleet.mirror import Mirror, RefMoved, lane_name, ref_word
from ralph_ls.engine.fleet.upkeep import forget_run, remove_leftovers
from ralph_ls.engine.parallel.lane_worktree import make_lane
from ralph_ls.engine.run.lease import write_lease
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.fleet import FleetRunState
from tests.engine.project_builder import git
from tests.fleet.fleet_project import FleetProject
from tests.fleet.merging import Merging


@pytest.fixture
def merging(project: FleetProject) -> Iterator[Merging]:
    made = Merging(project)
    yield made
    made.ledger.engine.dispose()


class TestMerge:
    def test_a_task_is_merged_and_its_refs_are_deleted(self, merging: Merging) -> None:
        after = merging.merge()

        assert after["state"] == "merged"
        assert merging.branch() == ["Task A"]
        assert "[x] Task A" in git(merging.remote, "show", "ralph/fleet:@fix_plan.md")
        assert git(merging.remote, "for-each-ref", "refs/ralph") == ""
        # Its turn is over, so another worker with the same order does nothing.
        assert merging.merge() == after

    def test_a_branch_that_moved_before_the_crash_is_not_moved_again(
        self, merging: Merging
    ) -> None:
        # The worker pushed, and died before it could say so.
        merging.ledger.begin_merge(merging.run, merging.task, merging.epoch, merging.head)
        git(merging.remote, "update-ref", "refs/heads/ralph/fleet", merging.head)

        after = merging.merge()

        assert (after["state"], after["merged"]) == ("merged", merging.head)
        assert merging.branch() == ["Task A"]

    def test_a_crash_before_the_push_merges_it_the_next_time(self, merging: Merging) -> None:
        merging.ledger.begin_merge(merging.run, merging.task, merging.epoch, "e" * 40)

        assert merging.merge()["state"] == "merged"
        assert merging.branch() == ["Task A"]

    def test_commits_of_others_on_the_branch_stay_below(self, merging: Merging) -> None:
        git(merging.tree, "checkout", "-q", "--detach", "main")
        (merging.tree / "other.txt").write_text("other\n")
        git(merging.tree, "add", "-A")
        git(merging.tree, "commit", "-qm", "Other")
        git(merging.tree, "push", "-q", ".", "HEAD:refs/heads/ralph/fleet")

        assert merging.merge()["state"] == "merged"
        assert merging.branch() == ["Other", "Task A"]

    def test_a_ref_of_another_epoch_is_never_merged(self, merging: Merging) -> None:
        # A worker that lost the task pushes to its own ref, however late.
        zombie = merging.commit("zombie.txt", "zombie\n")
        git(merging.remote, "update-ref", merging.ref.rpartition("/")[0] + "/7", zombie)

        merging.merge()

        assert "zombie.txt" not in git(merging.remote, "ls-tree", "--name-only", "ralph/fleet")

    def test_work_that_is_gone_from_the_remote_parks_the_task(self, merging: Merging) -> None:
        git(merging.remote, "update-ref", "-d", merging.ref)
        git(merging.remote, "worktree", "remove", "--force", str(merging.tree))
        git(merging.remote, "reflog", "expire", "--expire=now", "--all")
        git(merging.remote, "prune", "--expire=now")

        after = merging.merge()

        assert after["state"] == "parked"
        assert "no longer is at" in after["message"]


def test_a_conflict_sends_the_task_back_with_a_note(project: FleetProject) -> None:
    merging = Merging(project, name="x.txt", text="mine\n")
    git(merging.tree, "checkout", "-q", "--detach", "main")
    (merging.tree / "x.txt").write_text("theirs\n")
    git(merging.tree, "commit", "-qam", "Theirs")
    git(merging.tree, "push", "-q", ".", "HEAD:refs/heads/ralph/fleet")

    after = merging.merge()

    assert after["state"] == "waiting"
    assert "x.txt was changed by another task, too" in after["note"]
    assert merging.branch() == ["Theirs"]
    merging.ledger.engine.dispose()


def test_a_secret_is_not_merged(project: FleetProject) -> None:
    merging = Merging(project, text="ghp_0123456789abcdefghijABCDEFGHIJ012345\n")

    after = merging.merge()

    assert after["state"] == "parked"
    assert "A.txt" in after["message"]
    assert git(merging.remote, "branch", "--list", "ralph/fleet") == ""
    merging.ledger.engine.dispose()


def test_what_killed_attempts_left_is_removed_once_the_task_is_merged(merging: Merging) -> None:
    row = merging.ledger.task(merging.run, merging.task)
    assert row is not None
    name = f"{lane_name('api', row['id'])}-{merging.epoch}"
    path = merging.place.folder / "lanes" / merging.run / name
    make_lane(merging.mirror.root, path, f"ralph/{merging.run}/{name}", "refs/fleet/heads/main")
    (path / "half.txt").write_text("half\n")
    lease = merging.place.hold(merging.run, merging.task, merging.epoch)
    write_lease(lease.file, 0)

    remove_leftovers(merging.place)
    forget_run(merging.place, merging.run)
    assert path.is_dir()
    assert git(merging.remote, "for-each-ref", merging.ref) != ""
    merging.merge()
    remove_leftovers(merging.place)

    assert not path.exists()
    assert not lease.file.exists()
    # A worker that was thought dead pushes once more, or the one that merged was killed.
    git(merging.remote, "update-ref", merging.ref, "main")
    other = f"refs/ralph/{merging.run}/api--other/1"
    git(merging.remote, "update-ref", other, "main")
    forget_run(merging.place, merging.run)
    left = git(merging.remote, "for-each-ref", "--format=%(refname)", "refs/ralph")
    assert left.split() == [other]
    merging.ledger.set_run_state(merging.run, FleetRunState.ENDED)
    forget_run(merging.place, merging.run)
    assert git(merging.remote, "for-each-ref", "refs/ralph") == ""


class TestMirror:
    def test_a_push_that_is_no_step_forward_is_refused(self, merging: Merging) -> None:
        git(merging.tree, "checkout", "-q", "--detach", "main")
        git(merging.tree, "commit", "-q", "--allow-empty", "-m", "Elsewhere")
        git(merging.tree, "push", "-q", ".", "HEAD:refs/heads/ralph/fleet")
        merging.mirror.fetch_task(merging.ref.rpartition("/")[0])

        with pytest.raises(RefMoved):
            merging.mirror.push(merging.head, "refs/heads/ralph/fleet")

    def test_the_branch_that_work_starts_from_is_that_of_head(
        self, merging: Merging, tmp_path: Path
    ) -> None:
        assert merging.mirror.default_branch() == "main"
        empty = tmp_path / "empty"
        git(tmp_path, "init", "-q", str(empty))
        mirror = Mirror.at(tmp_path, str(empty), {})
        mirror.prepare()

        with pytest.raises(RalphError, match="no current branch") as raised:
            mirror.default_branch()
        assert "fleet.toml" in raised.value.message

    @pytest.mark.parametrize(("one", "other"), [("T/1", "T-1"), ("Ü", "Ö"), ("a.b", "a-b")])
    def test_different_tasks_have_different_refs(self, one: str, other: str) -> None:
        assert ref_word(one) != ref_word(other)
        git(Path.cwd(), "check-ref-format", f"refs/ralph/{ref_word(one)}")
