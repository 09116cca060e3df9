from __future__ import annotations

from pathlib import Path

import pytest

from ralph_ls.core.loop.fold import fold
from ralph_ls.protocol.run.events import Event
from ralph_ls.protocol.run.state import RunState
from ralph_ls.protocol.run.values import Phase
from ralph_ls.store.layout import RunFiles, StateFolder, Worktree
from ralph_ls.store.run import runs
from ralph_ls.store.run.lock import EngineLock, LockOwner
from ralph_ls.store.run.runs import (
    KnownStates,
    find_run,
    fleet_task_of,
    load_state,
    read_texts,
    save_state,
)
from tests.unit.core.views.run_states import phase, run_started
from tests.unit.store.store_builders import ended, notes, to_lines

OLD, NEW = "20260131T120000Z-0a1b", "20260131T130000Z-0000"
START = run_started()


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    return StateFolder(folder=tmp_path / "state")


@pytest.fixture
def worktree(tmp_path: Path) -> Worktree:
    git_dir = tmp_path / "tree" / ".git"
    git_dir.mkdir(parents=True)
    return Worktree(root=git_dir.parent, git_dir=git_dir, common_dir=git_dir)


def write(state: StateFolder, run: str, *events: Event) -> RunFiles:
    files = state.run(run)
    files.folder.mkdir(parents=True, exist_ok=True)
    files.journal.write_bytes(to_lines(events))
    return files


def claim(worktree: Worktree, run: str, state_dir: object) -> LockOwner:
    owner = LockOwner(pid=4711, process_start_time=1.0, run=run, state_dir=str(state_dir))
    EngineLock(worktree.git_dir).claim(owner)
    return owner


def parked(seq: int) -> Event:
    return phase(Phase.PARKED, "stuck").model_copy(update={"seq": seq})


class TestState:
    EVENTS = (START, *notes(2, 9))

    def test_without_a_snapshot_the_journal_says_all(self, state: StateFolder) -> None:
        files = write(state, OLD, *self.EVENTS)
        assert load_state(files) == fold(self.EVENTS)

    def test_without_a_journal_there_is_nothing(self, state: StateFolder) -> None:
        assert load_state(state.run(OLD)) == RunState()

    @pytest.mark.parametrize("known", [1, 5, 9])
    def test_a_snapshot_and_what_came_after_it_say_the_same(
        self, state: StateFolder, known: int
    ) -> None:
        files = write(state, OLD, *self.EVENTS)
        offset = len(to_lines(self.EVENTS[:known]))
        save_state(files, fold(self.EVENTS[:known]), offset=offset)
        assert files.snapshot.stat().st_mode & 0o777 == 0o600
        assert load_state(files) == fold(self.EVENTS)
        # It is really used: what it says that the journal does not is still there.
        told = files.snapshot.read_text("utf-8").replace('"branch":"main"', '"branch":"kept"')
        files.snapshot.write_text(told, encoding="utf-8")
        assert load_state(files).branch == "kept"

    def test_half_a_line_after_the_snapshot_is_not_read_yet(self, state: StateFolder) -> None:
        files = write(state, OLD, *self.EVENTS[:5])
        save_state(files, fold(self.EVENTS[:5]), offset=files.journal.stat().st_size)
        with files.journal.open("ab") as journal:
            journal.write(to_lines(self.EVENTS[5:6])[:-10])
        assert load_state(files) == fold(self.EVENTS[:5])

    @pytest.mark.parametrize(
        "spoil",
        [
            pytest.param(lambda text: "", id="empty"),
            pytest.param(lambda text: text[:-20], id="cut"),
            pytest.param(lambda text: "[]", id="other"),
            pytest.param(lambda text: text.replace('"offset":', '"offset":9'), id="too-far"),
            pytest.param(lambda text: text.replace('"seq":5', '"seq":4', 1), id="other-place"),
            pytest.param(lambda text: text.replace('"madeBy":"', '"madeBy":"9'), id="newer-fold"),
            pytest.param(lambda text: text.replace('"digest":"', '"digest":"0'), id="other-lines"),
            pytest.param(lambda text: text.replace('"madeBy":', '"by":'), id="older-version"),
        ],
    )
    def test_a_snapshot_that_does_not_fit_loses_nothing(
        self, state: StateFolder, spoil: object
    ) -> None:
        assert callable(spoil)
        files = write(state, OLD, *self.EVENTS)
        save_state(files, fold(self.EVENTS[:5]), offset=len(to_lines(self.EVENTS[:5])))
        files.snapshot.write_text(spoil(files.snapshot.read_text("utf-8")), encoding="utf-8")
        assert load_state(files) == fold(self.EVENTS)

    def test_a_journal_that_is_as_it_was_is_not_read_again(self, state: StateFolder) -> None:
        known = KnownStates()
        files = write(state, OLD, *self.EVENTS[:5])
        first = known.load(files)
        assert first == fold(self.EVENTS[:5])
        assert known.load(files) is first
        with files.journal.open("ab") as journal:
            journal.write(to_lines(self.EVENTS[5:]))
        assert known.load(files) == fold(self.EVENTS)
        files.journal.unlink()
        assert known.load(files) == RunState()

    def test_only_so_many_states_are_held(
        self, state: StateFolder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(runs, "MAX_KNOWN_STATES", 1)
        known = KnownStates()
        old, new = write(state, OLD, *self.EVENTS), write(state, NEW, START)
        first = known.load(old)
        assert known.load(new) == fold([START])
        assert known.load(old) == first
        assert known.load(old) is not first

    def test_a_snapshot_whose_journal_is_gone_is_nothing(self, state: StateFolder) -> None:
        files = write(state, OLD, *self.EVENTS)
        save_state(files, fold(self.EVENTS), offset=files.journal.stat().st_size)
        files.journal.unlink()
        assert load_state(files) == RunState()


class TestFinding:
    def test_where_there_was_never_a_run_there_is_none(
        self, worktree: Worktree, state: StateFolder
    ) -> None:
        assert find_run(worktree, state) is None
        state.run(OLD).folder.mkdir(parents=True)
        assert find_run(worktree, state) is None

    def test_without_an_owner_it_is_the_newest(
        self, worktree: Worktree, state: StateFolder
    ) -> None:
        write(state, NEW, START)
        write(state, OLD, START)
        found = find_run(worktree, state)
        assert found is not None
        assert found.files == state.run(NEW)
        assert (found.owner, found.live) == (None, False)

    def test_the_owners_run_is_taken_also_where_its_state_is_elsewhere(
        self, worktree: Worktree, state: StateFolder, tmp_path: Path
    ) -> None:
        elsewhere = StateFolder(folder=tmp_path / "elsewhere")
        write(state, NEW, START)
        files = write(elsewhere, OLD, START)
        owner = claim(worktree, OLD, elsewhere.folder)
        found = find_run(worktree, state)
        assert found is not None
        assert (found.files, found.owner) == (files, owner)

    @pytest.mark.parametrize(
        ("run", "folder"),
        [
            pytest.param(OLD, "{tmp}/gone", id="gone"),
            pytest.param("../../etc", "{tmp}/elsewhere", id="no-run-id"),
            pytest.param(OLD, "{tmp}/tree/state", id="in-the-tree"),
            pytest.param(OLD, "{tmp}/tree/.git/state", id="in-git"),
            pytest.param(OLD, "{tmp}/elsewhere/../tree/state", id="in-the-tree-by-a-detour"),
            pytest.param(OLD, "{tmp}/link", id="in-the-tree-by-a-link"),
            pytest.param(OLD, "elsewhere", id="relative"),
            pytest.param(OLD, "{tmp}\0", id="no-path"),
        ],
    )
    def test_an_owner_that_cannot_be_believed_is_passed_over(
        self,
        worktree: Worktree,
        state: StateFolder,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        run: str,
        folder: str,
    ) -> None:
        monkeypatch.chdir(tmp_path)
        for place in ("elsewhere", "tree/state", "tree/.git/state"):
            write(StateFolder(folder=tmp_path / place), OLD, START)
        (tmp_path / "link").symlink_to(tmp_path / "tree/state")
        write(state, NEW, START)
        claim(worktree, run, folder.replace("{tmp}", str(tmp_path)))
        found = find_run(worktree, state)
        assert found is not None
        assert found.files == state.run(NEW)

    def test_a_state_in_the_tree_is_believed_where_this_user_put_it_there(
        self, worktree: Worktree
    ) -> None:
        state = StateFolder(folder=worktree.root / "state")
        files = write(state, OLD, START)
        claim(worktree, OLD, state.folder)
        found = find_run(worktree, state)
        assert found is not None
        assert (found.files, found.owner is not None) == (files, True)

    @pytest.mark.parametrize(
        ("events", "live", "shown"),
        [
            pytest.param((START,), True, Phase.STARTING, id="live"),
            pytest.param((START,), False, Phase.CRASHED, id="crashed"),
            pytest.param((START, parked(2)), True, Phase.PARKED, id="parked"),
            pytest.param((START, parked(2)), False, Phase.PARKED, id="parked-without-engine"),
            pytest.param((START, ended(2)), False, Phase.ENDED, id="ended"),
            pytest.param((START, ended(2)), True, Phase.ENDED, id="ending"),
        ],
    )
    def test_the_phase_is_the_one_that_viewers_show(
        self,
        worktree: Worktree,
        state: StateFolder,
        events: tuple[Event, ...],
        live: bool,
        shown: Phase,
    ) -> None:
        write(state, OLD, *events)
        claim(worktree, OLD, state.folder)
        lock = EngineLock(worktree.git_dir)
        if live:
            lock.acquire()
        found = find_run(worktree, state)
        lock.release()
        assert found is not None
        assert (found.live, found.phase) == (live, shown)


class TestLastWords:
    def test_are_the_texts_of_that_start_alone(self, tmp_path: Path) -> None:
        files = RunFiles(folder=tmp_path)
        assert read_texts(files, 2) == []
        lines = [
            'cut off"}',
            '{"start":1,"kind":"text","text":"earlier"}',
            '{"start":2,"kind":"tool","name":"sh"}',
            '{"start":2,"kind":"text","text":"one"}',
            '["no", "message"]',
            '{"start":2,"kind":"text","text":"two"}',
        ]
        files.messages.write_text("\n".join(lines), encoding="utf-8")
        assert read_texts(files, 2) == ["one", "two"]


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("fleet/lanes/20261128T160707Z-fc2e/api--4c629749-1", "api#4c629749"),
        ("fleet/lanes/20261128T160707Z-fc2e/my-api--US-001-12", "my-api#US-001"),
        ("worktrees/0a1b/lanes/20261128T160707Z-fc2e/t001-1", None),
        ("fleet/lanes/20261128T160707Z-fc2e/notes", None),
        ("src/api--x-1", None),
    ],
)
def test_a_lane_of_a_fleet_is_known_by_its_place(
    tmp_path: Path, path: str, expected: str | None
) -> None:
    root = tmp_path / path
    worktree = Worktree(root=root, git_dir=root / ".git", common_dir=root / ".git")
    assert fleet_task_of(worktree) == expected
