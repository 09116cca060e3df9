"""What the user committed while the agent worked is identified, with the files that it changed."""

from __future__ import annotations

from ralph_ls.core.loop.evidence.progress import Changes
from tests.engine.git.repository_builder import Repository, make_repository

PERSONS = {"GIT_COMMITTER_DATE": "2000000000 +0000"}


def is_persons(made_at: int) -> bool:
    return made_at == 2000000000


def told(changes: Changes) -> list[tuple[str, bool]]:
    return [
        (f"{commit.repository}:{commit.subject}", commit.by_person) for commit in changes.commits
    ]


def test_files_of_a_users_commits_alone_do_not_count(repository: Repository) -> None:
    repository.commit("shared", "moved", subject="before")
    before = repository.look()
    repository.commit("a", "shared", subject="agent")
    repository.commit("p", "shared", subject="person", **PERSONS)
    changes = repository.since(before, is_persons=is_persons)
    assert told(changes) == [(":agent", False), (":person", True)]
    assert (changes.paths, changes.files) == (("a", "shared"), 2)
    assert repository.since(before).paths == ("a", "p", "shared")


def test_what_was_or_is_uncommitted_stays_the_agents(repository: Repository) -> None:
    repository.commit("before", "after", "both", "committed", subject="before")
    repository.write("before", "uncommitted\n")
    repository.write("committed", "uncommitted\n")
    before = repository.look()
    repository.write("before", "and more\n")
    repository.commit("p", "after", subject="person", **PERSONS)
    repository.write("after", "changed again\n")
    changes = repository.since(before, is_persons=is_persons)
    assert told(changes) == [(":person", True)]
    # What was there before and was only committed is no change of anybody's.
    assert changes.paths == ("after", "before")


def test_what_the_agent_says_that_it_wrote_is_its_own(repository: Repository) -> None:
    before = repository.look()
    repository.commit("said", "p", subject="person", **PERSONS)
    assert repository.since(before, is_persons=is_persons, touched=["said"]).paths == ("said",)


def test_more_commits_than_are_listed_hide_whose_files_they_are(repository: Repository) -> None:
    before = repository.look()
    for number in range(200):
        repository.git("commit", "-q", "--allow-empty", "-m", str(number), **PERSONS)
    repository.commit("p", subject="person", **PERSONS)
    assert repository.since(before, is_persons=is_persons).paths == ("p",)


def test_a_users_commit_in_a_nested_repository_changes_nothing(repository: Repository) -> None:
    nested = make_repository(repository.root / "lib")
    nested.commit("n", subject="first")
    other = make_repository(repository.root / "other")
    other.commit("o", subject="first")
    before = repository.look()
    nested.commit("n2", subject="person", **PERSONS)
    other.commit("o2", subject="person", **PERSONS)
    other.commit("o3", subject="agent")
    changes = repository.since(before, is_persons=is_persons)
    assert told(changes) == [("lib:person", True), ("other:person", True), ("other:agent", False)]
    assert changes.paths == ("other",)


def test_a_nested_repository_that_is_dirty_stays_the_agents(repository: Repository) -> None:
    nested = make_repository(repository.root / "lib")
    nested.commit("n", subject="first")
    before = repository.look()
    nested.commit("n2", subject="person", **PERSONS)
    nested.write("left", "by the agent\n")
    changes = repository.since(before, is_persons=is_persons)
    assert (told(changes), changes.paths) == ([("lib:person", True)], ("lib",))


def test_a_submodule_that_the_user_moves_on_changes_nothing(repository: Repository) -> None:
    source = make_repository(repository.root.parent / "source")
    source.commit("s", subject="first")
    repository.git("submodule", "add", "-q", str(source.root), "lib")
    repository.commit(subject="with a submodule")
    before = repository.look()
    nested = Repository(repository.root / "lib")
    nested.commit("n", subject="inside", **PERSONS)
    repository.commit(subject="moved on", **PERSONS)
    changes = repository.since(before, is_persons=is_persons)
    assert told(changes) == [(":moved on", True), ("lib:inside", True)]
    assert changes.files == 0
