"""Releases on real remotes: tags and published branches, also after a rebase."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

import pytest

from ralph_ls.engine.fleet.planning import plan_fleet
from ralph_ls.engine.fleet.status import status_of
from ralph_ls.engine.fleet.upkeep import check_releases, releasing_ref
from ralph_ls.protocol.fleet import FleetRelease
from ralph_ls.store.project.fleet_file import load_fleet
from tests.engine.project_builder import git
from tests.fleet.fleet_project import FleetProject
from tests.fleet.merging import Merging


class Released(Merging):
    """A merged task, and what its remote may have of it."""

    merged: str

    def look(self, release: FleetRelease, tags: str = "v*") -> str | None:
        repository = self.place.repository(self.run, "api")
        settings = repository.settings.model_copy(
            update={"release": release, "release_tags": tags, "branch": "main"}
        )
        return releasing_ref(replace(repository, settings=settings), self.merged)

    def rebased(self) -> str:
        """The merged commit on top of somebody else's, as ``ralph fleet publish`` makes it."""
        git(self.tree, "checkout", "-q", "--detach", "main")
        (self.tree / "other.txt").write_text("other\n")
        git(self.tree, "add", "-A")
        git(self.tree, "commit", "-qm", "Other")
        git(self.tree, "cherry-pick", self.merged)
        return git(self.tree, "rev-parse", "HEAD").strip()


@pytest.fixture
def released(project: FleetProject) -> Iterator[Released]:
    made = Released(project)
    made.merged = made.merge()["merged"]
    yield made
    made.ledger.engine.dispose()


def test_a_tag_of_the_pattern_releases_what_it_contains(released: Released) -> None:
    remote = released.remote
    git(remote, "tag", "v0.9", "main")
    git(remote, "tag", "nightly", "ralph/fleet")
    git(remote, "tag", "v-of-a-file", "ralph/fleet:A.txt")
    assert released.look(FleetRelease.TAG) is None

    git(remote, "tag", "-a", "-m", "one", "v1.0", "ralph/fleet")

    assert released.look(FleetRelease.TAG) == "v1.0"
    assert released.look(FleetRelease.TAG, tags="release/*") is None


def test_the_published_branch_releases_what_it_contains_also_after_a_rebase(
    released: Released,
) -> None:
    assert released.look(FleetRelease.PUBLISHED) is None
    after = released.rebased()
    assert after != released.merged

    git(released.remote, "update-ref", "refs/heads/main", f"{after}^")
    assert released.look(FleetRelease.PUBLISHED) is None
    git(released.remote, "update-ref", "refs/heads/main", after)

    assert released.look(FleetRelease.PUBLISHED) == "main"
    git(released.remote, "tag", "v1.0", after)
    assert released.look(FleetRelease.TAG) == "v1.0"


def test_what_an_agent_tagged_in_its_clone_releases_nothing(released: Released) -> None:
    git(released.mirror.root, "tag", "v1.0", released.merged)
    git(released.mirror.root, "update-ref", "refs/fleet/tags/v2.0", released.merged)

    assert released.look(FleetRelease.TAG) is None


def test_a_dependant_waits_and_the_status_says_for_what(project: FleetProject) -> None:
    made = Released(project, settings='release = "tag"')
    project.repository("web", ["Task C\n  - Depends on: api#Task A"], remote=False)
    plan_fleet(load_fleet(project.file), made.ledger, os.environ)
    made.merge()
    made.ledger.release(made.run)

    before = {one.title: one for one in status_of(made.ledger, "sqlite://").tasks}
    assert before["Task C"].waits_for == (made.task,)
    assert before["Task A"].unreleased == "no tag v* of the remote has its commits yet"
    # Older workers do not know releases, so they are kept off such a run.
    assert made.ledger.run_row(made.run)["protocol"] == 2
    assert check_releases(made.place, made.run) == []
    git(made.remote, "tag", "v1.0", "ralph/fleet")
    assert check_releases(made.place, made.run) == []
    made.ledger.release(made.run)

    after = {one.title: one for one in status_of(made.ledger, "sqlite://").tasks}
    assert (after["Task A"].released, after["Task C"].state.value) == ("v1.0", "ready")
    assert made.ledger.awaited(made.run) == []
    made.ledger.engine.dispose()


def test_a_remote_that_is_gone_is_reported_and_releases_nothing(project: FleetProject) -> None:
    made = Released(project, settings='release = "published"')
    project.repository("web", ["Task C\n  - Depends on: api#Task A"], remote=False)
    plan_fleet(load_fleet(project.file), made.ledger, os.environ)
    made.merge()
    made.remote.rename(made.remote.with_name("gone"))

    (problem,) = check_releases(made.place, made.run)

    assert problem.startswith(f"whether {made.task} is released is unknown: ")
    made.ledger.engine.dispose()
