"""The guard in the branch: what is committed again, what is not, and what stays the user's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from ralph_ls.core.redaction.redactor import Redactor
from ralph_ls.engine.agent.selection import choose_agent
from ralph_ls.engine.clock import SystemClock
from ralph_ls.engine.delivery.restoration_commits import RestorationCommits
from ralph_ls.engine.git.history import CommitOwner, IterationCommits, commits_between
from ralph_ls.engine.git.worktree_state import read_head
from ralph_ls.engine.guard.branch_guard import BY_USER, NOT_COMMITTED, UNKNOWN
from ralph_ls.engine.guard.guard import FinishedIteration, Guard, GuardRestoration
from ralph_ls.engine.plan.markdown import MarkdownSource
from ralph_ls.engine.plan.source import WatchedIteration
from ralph_ls.engine.worktree.workspace import Workspace
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.run.values import Mode
from ralph_ls.store.files import make_private_folder
from ralph_ls.store.layout import RunFiles, StateFolder, find_worktree
from tests.engine.git.repository_builder import Repository, make_repository

RUN = "20260131T120000Z-0a1b"
PLAN = "@fix_plan.md"
TWO = "# Plan\n\n- [ ] First task\n- [ ] Second task\n"
ONE = "# Plan\n\n- [x] First task\n"
RESTORED = "# Plan\n\n- [x] First task\n- [ ] Second task\n"
CONFIG = ".ralph/config.toml"
SCRIPT = ".ralph/validate.sh"


@dataclass
class Place:
    """A repository with a guarded plan and settings, one iteration of which is open."""

    repository: Repository
    state: Path
    owners: dict[str, CommitOwner] = field(default_factory=dict)
    """Of the commits made since, by subject; the agent's where it is not said."""

    def __post_init__(self) -> None:
        make_private_folder(self.state)
        self.begin()

    def begin(self) -> None:
        """An engine begins the iteration."""
        self.base = self.head()
        self.guarding = self.engine()
        self.guarding.remember(self.read(PLAN))

    def engine(self) -> Guard:
        """A new engine, which has seen nothing."""
        config, root = Config(), self.repository.root
        workspace = Workspace(
            worktree=find_worktree(root),
            state=StateFolder(folder=self.state),
            run=RUN,
            files=RunFiles(folder=self.state),
            config=config,
            agent=choose_agent(config),
            source=MarkdownSource(root, config, PLAN, {}),
            environment={},
            redactor=Redactor(secrets={}),
        )
        self.commits = RestorationCommits(workspace)
        (self.state / "plan.before").write_text(self.text_before(), encoding="utf-8")
        return Guard(workspace, clock=SystemClock())

    def text_before(self) -> str:
        return self.repository.git("show", f"{self.base}:{PLAN}") + "\n" if self.base else TWO

    def head(self) -> str | None:
        place = find_worktree(self.repository.root)
        return read_head(place.git_dir, place.common_dir).commit

    def read(self, name: str) -> str:
        return (self.repository.root / name).read_text(encoding="utf-8")

    def write(self, name: str, text: str) -> Place:
        path = self.repository.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return self

    def commit(self, subject: str, *paths: str, owner: CommitOwner = CommitOwner.AGENT) -> Place:
        """Commit all there is, or these paths."""
        self.owners[subject] = owner
        self.repository.git("add", "-A", *(("--", *paths) if paths else ()))
        self.repository.git("commit", "-q", "-m", subject, *(("--", *paths) if paths else ()))
        return self

    def look(self) -> IterationCommits:
        head, ours = self.head(), self.commits.hashes()
        if head is None or head == self.base:
            return IterationCommits(base=self.base, head=head)
        found = commits_between(self.repository.root, self.base, head, counts=lambda _: True)
        made = [one for one in found if one.seen.hash not in ours]
        return IterationCommits(
            base=self.base,
            head=head,
            made=tuple((self.owners.get(one.seen.subject, CommitOwner.AGENT), one) for one in made),
            ours=frozenset(one.seen.hash for one in found) & ours,
        )

    def settle(
        self,
        look: Callable[[], IterationCommits] | None = None,
        *,
        by: Guard | None = None,
        is_reported: bool = False,
    ) -> GuardRestoration:
        """The iteration is over."""
        settled = FinishedIteration(
            start=3,
            has_evidence=lambda: False,
            watched=WatchedIteration(mode=Mode.BUILD),
            began=None,
            commits=look or self.look,
            is_reported=is_reported,
        )
        return (by or self.guarding).restore(settled)

    def in_head(self, name: str) -> str:
        return self.repository.git("show", f"HEAD:{name}")

    def is_clean(self) -> bool:
        return self.repository.git("status", "--porcelain") == ""

    def offence(self) -> str:
        return self.guarding.committed_offence(self.read(PLAN))


@pytest.fixture
def place(tmp_path: Path) -> Place:
    repository = make_repository(tmp_path / "work")
    for name, text in {PLAN: TWO, CONFIG: "push = false\n", SCRIPT: "#!/bin/sh\n"}.items():
        (repository.root / name).parent.mkdir(exist_ok=True)
        (repository.root / name).write_text(text, encoding="utf-8")
    (repository.root / SCRIPT).chmod(0o755)
    repository.git("add", "-A")
    repository.git("commit", "-q", "-m", "begin")
    return Place(repository, tmp_path / "state")


def codes(done: GuardRestoration) -> list[str]:
    return [notice.code for notice in done.notices]


def test_what_the_agent_committed_is_restored_by_a_commit_of_its_paths_alone(place: Place) -> None:
    place.write(PLAN, ONE).write("work.txt", "work\n").commit("Work")
    agents = place.head()
    done = place.settle()
    assert place.in_head(PLAN) + "\n" == place.read(PLAN) == RESTORED
    assert place.repository.git("rev-parse", "HEAD^") == agents
    assert place.repository.git("diff", "--name-only", "HEAD^", "HEAD") == PLAN
    message = place.repository.git("log", "-1", "--format=%B")
    assert message.startswith(f"ralph: restore {PLAN}\n\n")
    assert message.endswith(f"Ralph-Run: {RUN}\nRalph-Start: 3")
    assert [one.commit for one in done.reverted] == [place.head()]
    assert (codes(done), done.undone) == ([], frozenset())
    assert place.is_clean()
    assert place.offence() == ""


def test_a_commit_that_holds_only_a_violation_is_undone(place: Place) -> None:
    place.write(PLAN, TWO.replace("- [ ] Second task\n", "")).commit("Drop")
    dropped = place.head()
    done = place.settle()
    assert done.undone == {dropped}
    assert place.in_head(PLAN) + "\n" == TWO


def test_what_was_restored_in_the_tree_alone_is_restored_in_the_branch(place: Place) -> None:
    place.write(PLAN, ONE).commit("Work").write(PLAN, TWO)
    done = place.settle()
    assert [(one.what.value, one.commit) for one in done.reverted] == [("dropped", place.head())]
    assert place.in_head(PLAN) + "\n" == RESTORED
    assert place.read(PLAN) == TWO


def test_settings_scripts_and_new_prompts_are_restored_with_their_modes(place: Place) -> None:
    (place.repository.root / SCRIPT).chmod(0o644)
    prompt = ".ralph/prompts/PROMPT_build.md"
    (place.repository.root / prompt).parent.mkdir()
    place.write(CONFIG, "push = true\n").write(prompt, "Say COMPLETE.\n").commit("Ease")
    eased = place.head()
    done = place.settle()
    assert place.repository.git("diff", "--stat", f"{eased}^", "HEAD") == ""
    assert {one.commit for one in done.reverted} == {place.head()}
    assert len(done.reverted) == 3
    assert done.undone == {eased}
    assert place.is_clean()


def test_settings_that_are_merely_committed_as_they_were_stay_committed(place: Place) -> None:
    place.write(CONFIG, "push = false\nmax_iterations = 3\n").begin()
    place.write("work.txt", "work\n").commit("Work with the user's settings")
    head = place.head()
    assert place.settle() == GuardRestoration()
    assert place.head() == head


def test_what_the_user_had_not_committed_is_not_committed_now(place: Place) -> None:
    place.write(PLAN, TWO + "- [ ] Third task\n").begin()
    place.write(PLAN, ONE + "- [ ] Third task\n").commit("Work", PLAN)
    place.settle()
    assert place.read(PLAN) == RESTORED + "- [ ] Third task\n"
    assert "Second task" in place.in_head(PLAN)


def test_a_plan_that_lags_behind_the_tree_holds_nothing(place: Place) -> None:
    mine = TWO + "- [ ] Write the manual\n"
    place.write(PLAN, mine).begin()
    # The agent commits the plan as it was staged before, without what the user added since.
    place.write(PLAN, TWO.replace("[ ] First", "[x] First")).commit("Work").write(PLAN, mine)
    head = place.head()
    done = place.settle()
    assert (done.reverted, done.notices, place.head()) == ((), (), head)
    assert place.offence() == ""
    place.write(PLAN, ONE).commit("More").write(PLAN, mine)
    place.settle()
    assert place.in_head(PLAN) + "\n" == RESTORED


def test_a_plan_of_the_users_commit_is_theirs(place: Place) -> None:
    place.write(PLAN, ONE).commit("Mine", owner=CommitOwner.USER)
    head = place.head()
    assert place.settle() == GuardRestoration()
    assert (place.head(), place.read(PLAN)) == (head, ONE)


def test_a_plan_that_the_user_took_away_stays_away(place: Place) -> None:
    (place.repository.root / PLAN).unlink()
    place.commit("Mine", owner=CommitOwner.USER)
    assert place.settle() == GuardRestoration()
    assert not (place.repository.root / PLAN).exists()


def test_after_the_users_commit_the_tree_alone_is_restored(place: Place) -> None:
    users = TWO.replace("First task\n", "First task\n- [ ] Write the manual\n")
    place.write(PLAN, users).commit("Mine", owner=CommitOwner.USER)
    place.write(PLAN, users.replace("- [ ] Second task\n", "")).commit("Work")
    head = place.head()
    done = place.settle()
    assert (place.read(PLAN), place.head()) == (users, head)
    assert codes(done) == [NOT_COMMITTED]
    assert BY_USER in done.notices[0].message
    assert "Second task" in place.offence()


def test_settings_that_the_user_committed_are_what_is_restored(place: Place) -> None:
    place.write(CONFIG, "push = false\nagent = 'b'\n").commit("Mine", owner=CommitOwner.USER)
    assert place.settle() == GuardRestoration()
    place.write(CONFIG, "push = true\n").commit("Ease")
    head = place.head()
    place.settle()
    assert place.read(CONFIG) == "push = false\nagent = 'b'\n"
    assert place.head() == head


def test_where_it_is_unknown_the_tree_alone_is_restored_and_the_user_asked(place: Place) -> None:
    place.write(PLAN, ONE).commit("Whose", owner=CommitOwner.UNKNOWN)
    head = place.head()
    done = place.settle()
    assert (place.read(PLAN), place.head()) == (RESTORED, head)
    (notice,) = done.notices
    assert notice.code == NOT_COMMITTED
    assert UNKNOWN in notice.message
    assert f"git commit -m 'Restore guarded files' -- {PLAN}" in notice.message
    assert "dropped: Second task" in place.offence()
    place.commit("As it was", owner=CommitOwner.USER)
    assert place.offence() == ""


def test_a_violation_of_nobody_knows_whom_is_no_progress_either(place: Place) -> None:
    place.write(PLAN, TWO.replace("- [ ] Second task\n", "")).commit(
        "Drop", owner=CommitOwner.UNKNOWN
    )
    assert place.settle().undone == {place.head()}


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (("checkout", "-q", "--detach"), "HEAD is detached"),
        (("bisect", "start"), "a bisect is in progress"),
    ],
)
def test_no_commit_is_made_where_git_is_busy(
    place: Place, command: tuple[str, ...], why: str
) -> None:
    place.write(PLAN, ONE).commit("Work")
    place.repository.git(*command)
    head = place.head()
    done = place.settle()
    assert (place.read(PLAN), place.head()) == (RESTORED, head)
    assert codes(done) == [NOT_COMMITTED]
    assert why in done.notices[0].message


def test_what_is_staged_stays_staged(place: Place) -> None:
    place.write(PLAN, ONE).commit("Work")
    place.write("mine.txt", "mine\n").write(CONFIG, "push = false\n# mine\n")
    place.repository.git("add", "mine.txt")
    before = place.repository.git("ls-files", "-s", "mine.txt")
    place.settle()
    assert place.repository.git("ls-files", "-s", "mine.txt") == before
    assert place.repository.git("diff", "--cached", "--name-only") == "mine.txt"
    # What the user has staged of the very path stays as well.
    place.write(PLAN, TWO.replace("- [ ] Second task\n", "")).commit("Drop", PLAN)
    place.repository.git("update-index", "--cacheinfo", f"100644,{before.split()[1]},{PLAN}")
    place.settle()
    assert place.repository.git("rev-parse", f":{PLAN}") == before.split()[1]


def test_a_locked_index_keeps_nothing_from_being_restored(place: Place) -> None:
    place.write(PLAN, ONE).commit("Work")
    (place.repository.root / ".git" / "index.lock").touch()
    done = place.settle()
    assert place.in_head(PLAN) + "\n" == RESTORED
    assert [one.commit for one in done.reverted] == [place.head()]


def test_neither_hooks_nor_signing_nor_a_missing_name_are_in_the_way(place: Place) -> None:
    hooks = place.repository.root / ".git" / "hooks"
    hooks.mkdir(exist_ok=True)
    place.write(PLAN, ONE).commit("Work")
    for name in ("pre-commit", "commit-msg", "reference-transaction", "post-commit"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {hooks}/ran\nexit 1\n", encoding="utf-8")
        (hooks / name).chmod(0o755)
    for key, value in {
        "commit.gpgSign": "true",
        "gpg.program": "/bin/false",
        "user.useConfigOnly": "true",
        "user.name": "",
        "user.email": "",
    }.items():
        place.repository.git("config", key, value)
    place.settle()
    assert place.in_head(PLAN) + "\n" == RESTORED
    assert not (hooks / "ran").exists()


def test_a_head_that_moves_meanwhile_is_looked_at_again(place: Place) -> None:
    place.write(PLAN, ONE).commit("Work")
    stale = [place.look()]
    place.write("more.txt", "more\n").commit("More")
    place.settle(lambda: stale.pop() if stale else place.look())
    assert place.in_head(PLAN) + "\n" == RESTORED
    assert place.in_head("more.txt") == "more"


def test_a_head_that_never_rests_is_left_alone(place: Place) -> None:
    place.write(PLAN, ONE).commit("Work")
    stale = place.look()
    place.write("more.txt", "more\n").commit("More")
    head = place.head()
    done = place.settle(lambda: stale)
    assert place.head() == head
    assert codes(done) == [NOT_COMMITTED]


def test_an_engine_that_takes_over_finds_the_commit_and_reports_it_once(place: Place) -> None:
    place.write(PLAN, ONE).commit("Work")
    (place.repository.root / ".git" / "index.lock").touch()
    first = place.settle()
    (place.repository.root / ".git" / "index.lock").unlink()
    head = place.head()
    later = place.engine()
    done = place.settle(by=later)
    assert place.head() == head
    assert done.reverted == tuple(replace(one, commit=head) for one in first.reverted)
    assert place.is_clean()
    assert place.settle(by=later, is_reported=True).reverted == ()


def test_an_engine_that_takes_over_before_the_commit_makes_it(place: Place) -> None:
    place.write(PLAN, ONE).commit("Work").write(PLAN, RESTORED)
    done = place.settle(by=place.engine())
    assert place.in_head(PLAN) + "\n" == RESTORED
    assert [one.commit for one in done.reverted] == [place.head()]


def test_before_the_first_commit_there_is_nothing_to_go_back_to_but_the_plan(
    tmp_path: Path,
) -> None:
    repository = make_repository(tmp_path / "work")
    (repository.root / PLAN).write_text(TWO, encoding="utf-8")
    place = Place(repository, tmp_path / "state")
    assert place.base is None
    place.write(PLAN, ONE).commit("The first one")
    place.settle()
    assert place.in_head(PLAN) + "\n" == RESTORED


def test_a_linked_work_tree_has_its_own_branch_restored(place: Place, tmp_path: Path) -> None:
    place.repository.git("worktree", "add", "-q", "-b", "other", str(tmp_path / "linked"))
    linked = Place(replace(place.repository, root=tmp_path / "linked"), tmp_path / "state-2")
    linked.write(PLAN, ONE).commit("Work")
    linked.settle()
    assert linked.in_head(PLAN) + "\n" == RESTORED
    assert linked.is_clean()
    assert place.in_head(PLAN) + "\n" == TWO


def test_a_deleted_plan_comes_back_in_the_branch(place: Place) -> None:
    (place.repository.root / PLAN).unlink()
    place.commit("Away")
    done = place.settle()
    assert place.in_head(PLAN) + "\n" == TWO
    assert [one.what.value for one in done.reverted] == ["deleted"]
    assert place.is_clean()


def test_line_ends_that_git_converts_are_no_change(place: Place) -> None:
    place.repository.git("config", "core.autocrlf", "true")
    (place.repository.root / PLAN).unlink()
    place.repository.git("checkout", "-q", "--", PLAN)
    assert b"\r\n" in (place.repository.root / PLAN).read_bytes()
    place.begin()
    crlf = ONE.replace("\n", "\r\n")
    (place.repository.root / PLAN).write_bytes(crlf.encode())
    place.commit("Work")
    place.settle()
    assert place.in_head(PLAN) + "\n" == RESTORED
    assert place.is_clean()
