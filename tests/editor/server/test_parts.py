"""The parts of the server that need no server: frames, settings, files, and the thread's looks."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types
from watchdog.observers.api import BaseObserver

from ralph_ls.core.views.model.document_context import FileKind
from ralph_ls.editor.connected import client_name
from ralph_ls.editor.scheduling import run_in_thread
from ralph_ls.editor.server import ClientSettings
from ralph_ls.editor.worktree import follower as follow
from ralph_ls.editor.worktree.follower import FileWatch, WorktreeFollower
from ralph_ls.editor.worktree.run_reader import (
    FRAME_LIMIT,
    LineCutter,
    TextDecoder,
    message_frames,
    whole_messages,
)
from ralph_ls.editor.worktree.scanner import WorktreeScanner
from ralph_ls.editor.worktree.snapshot import (
    LoopFolders,
    ScanResult,
    find_loop_paths,
    kind_of,
    loop_folders,
    watched_folders,
)
from ralph_ls.store.files import write_atomic
from ralph_ls.store.layout import find_worktree
from tests.editor.scripted_run import ScriptedRun, made_run, message
from tests.engine.project_builder import PATIENCE, make_repository


class TestFrames:
    @given(st.text(), st.lists(st.integers(0, 30)), st.integers(0, 40))
    def test_text_is_the_same_however_its_bytes_are_cut(
        self, text: str, cuts: list[int], start: int
    ) -> None:
        data = text.encode("utf-8", "replace")
        decoder, shown, at = TextDecoder(), "", 0
        for cut in cuts:
            shown += "".join(decoder.feed(data[at : at + cut]))
            at += cut
        shown += "".join([*decoder.feed(data[at:]), *decoder.end()])
        assert shown == data.decode()
        within = "".join(TextDecoder(within=True).feed(data[start:]))
        assert text.encode("utf-8", "replace").decode().endswith(within)

    def test_what_is_no_utf8_is_replaced_and_pieces_have_a_bound(self) -> None:
        decoder = TextDecoder()
        assert decoder.feed(b"a\xffb\xe6") == ["a\ufffdb"]
        assert decoder.end() == ["\ufffd"]
        assert [len(piece) for piece in decoder.feed(b"x" * (FRAME_LIMIT + 1))] == [FRAME_LIMIT, 1]
        assert decoder.feed(b"") == []

    @given(st.lists(st.binary()), st.booleans())
    def test_lines_are_the_same_however_they_are_cut(
        self, parts: list[bytes], within: bool
    ) -> None:
        cutter = LineCutter(within=within)
        lines = [line for part in parts for line in cutter.feed(part)]
        whole = b"".join(parts).split(b"\n")[:-1]
        assert lines == (whole[1:] if within else whole)

    def test_a_line_that_is_too_long_is_passed_over(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("ralph_ls.editor.worktree.run_reader.LONGEST_MESSAGE", 5)
        cutter = LineCutter()
        assert cutter.feed(b"ab\nabcdef") == [b"ab"]
        assert cutter.feed(b"ghi") == []
        assert cutter.feed(b"jkl\nmn\n") == [b"mn"]

    def test_only_messages_of_a_known_kind_are_passed_on(self) -> None:
        good = [message("a"), message("b", start=2)]
        assert whole_messages(good) == good
        bad = [b"{", b'{"kind":"new","start":1}', b'{"kind":"text"}', b'"\xff"', b"1],[2"]
        assert whole_messages([good[0], *bad, good[1]]) == good
        assert whole_messages([*good, good[0] + b"," + good[1]]) == good
        assert whole_messages(good, start=2) == good[1:]
        earlier = b'{"iteration":2,"offset":0,"kind":"text","text":"b"}'
        assert whole_messages([earlier], start=2) == whole_messages([earlier]) == [earlier]

    def test_frames_of_messages_have_a_bound(self) -> None:
        large, small = b"x" * FRAME_LIMIT, b"y"
        frames = message_frames([small, small, large, small])
        assert frames == [(small, small), (large,), (small,)]
        assert message_frames([]) == []


class TestSettings:
    def test_no_settings_are_the_default(self) -> None:
        settings = ClientSettings()
        nothing: list[object] = [None, [], "x", {}]
        for told in nothing:
            settings.begin(told)
            assert settings.options().progress
            assert not settings.has_prefix

    def test_what_makes_no_sense_is_left_out_alone(self, caplog: pytest.LogCaptureFixture) -> None:
        settings = ClientSettings()
        settings.begin({"readOnly": "perhaps", "lens": {"tasks": "some"}, "progress": False})
        options = settings.options()
        assert (options.read_only, options.lens.enabled, options.progress) == (False, True, False)
        assert caplog.text.count("Ignored the option") == 2

    def test_a_change_keeps_the_prefix_and_all_that_it_does_not_name(self) -> None:
        settings = ClientSettings()
        settings.begin({"commandPrefix": "mine", "progress": False})
        assert settings.has_prefix
        assert not settings.change({"other": {}})
        assert not settings.change(None)
        assert not settings.change({"ralph": {"commandPrefix": "other"}})
        assert settings.change({"ralph": {"readOnly": True}})
        options = settings.options()
        assert (options.command_prefix, options.progress, options.read_only) == (
            "mine",
            False,
            True,
        )

    @pytest.mark.parametrize(
        ("name", "shown"),
        [
            (None, "an editor"),
            ("", "an editor"),
            ("\n\x1b", "an editor"),
            ("Neo\nvim", "Neo vim"),
            ("x" * 300, "x" * 60),
        ],
    )
    def test_who_asks_has_a_name_that_can_be_shown(self, name: str | None, shown: str) -> None:
        assert client_name(None if name is None else types.ClientInfo(name=name)) == shown


class TestThreads:
    async def test_what_it_raises_comes_back(self) -> None:
        def fail() -> None:
            raise KeyError("x")

        with pytest.raises(KeyError):
            await run_in_thread(fail, name="failing")
        assert await run_in_thread(threading.get_ident, name="asking") != threading.get_ident()


@pytest.fixture
def folders(tmp_path: Path, state_dir: Path) -> LoopFolders:
    root = make_repository(tmp_path / "repository")
    return loop_folders(find_worktree(root), {"RALPH_STATE_DIR": str(state_dir)})


class TestFiles:
    def test_each_kind_is_known_by_its_path(self, folders: LoopFolders) -> None:
        root = folders.worktree.root
        paths = find_loop_paths(folders)
        assert paths.plan == root / "@fix_plan.md"
        assert "Future" in paths.optional_sections
        found = {name: kind_of(root / name, paths, folders) for name in KINDS}
        assert found == KINDS
        assert kind_of(root.parent / "@fix_plan.md", paths, folders) is None

    def test_a_plan_behind_a_link_is_the_plan(self, folders: LoopFolders, tmp_path: Path) -> None:
        plan = folders.worktree.root / "@fix_plan.md"
        plan.rename(tmp_path / "elsewhere.md")
        plan.symlink_to(tmp_path / "elsewhere.md")
        paths = find_loop_paths(folders)
        # The names differ, so it is the link that is asked for.
        assert kind_of(plan, paths, folders) is FileKind.PLAN

    def test_each_folder_on_the_way_watches_for_the_next(self, tmp_path: Path) -> None:
        (tmp_path / "a").mkdir()
        files = [tmp_path / "plan.md", tmp_path / "a/b/decide.txt"]
        assert watched_folders(files, tmp_path) == {
            tmp_path: frozenset({"plan.md", "a"}),
            tmp_path / "a": frozenset({"b"}),
        }


KINDS = {
    "@fix_plan.md": FileKind.PLAN,
    "fix_plan.md": FileKind.PLAN,
    ".ralph/decide.txt": FileKind.DECIDE,
    ".ralph/blocked.txt": FileKind.BLOCKED,
    "decide.txt": None,
    "README.md": None,
}


class Following:
    """A follower, and what it has found so far."""

    def __init__(self, folders: LoopFolders) -> None:
        self.found: queue.Queue[ScanResult] = queue.Queue()
        self.tree = Counted(folders)
        self.follower = WorktreeFollower(self.tree, self._take)
        self.follower.start()

    def until(self, wanted: Callable[[ScanResult], bool]) -> ScanResult:
        while True:
            found = self.found.get(timeout=PATIENCE)
            if wanted(found):
                return found

    def until_seq(self, seq: int) -> ScanResult:
        return self.until(lambda found: _seq_of(found) == seq)

    def _take(self, found: ScanResult, taken: Callable[[], None]) -> None:
        self.found.put(found)
        taken()


class Counted(WorktreeScanner):
    """Counts how often it was looked at."""

    n_looks = 0
    fails = False

    def scan(self, *, fresh: bool = False) -> Iterator[ScanResult]:
        self.n_looks += 1
        if self.fails:
            raise RuntimeError("a disk went away")
        return super().scan(fresh=fresh)


def _seq_of(found: ScanResult) -> int:
    return 0 if found.picture.state is None else found.picture.state.seq


@pytest.fixture
def following(folders: LoopFolders) -> Iterator[Following]:
    made = Following(folders)
    yield made
    made.follower.stop()
    made.follower._thread.join(PATIENCE)
    assert not made.follower._thread.is_alive()


@pytest.fixture
def run(folders: LoopFolders) -> Iterator[ScriptedRun]:
    with made_run(folders.worktree.root) as made:
        yield made


class TestFollower:
    pytestmark = pytest.mark.slow

    def test_fifty_appends_are_at_most_a_hundred_reads(
        self, run: ScriptedRun, following: Following
    ) -> None:
        following.until_seq(2)
        for _ in range(50):
            run.notes(1)
            following.until_seq(run.seq)
        assert following.tree.n_reads <= 100
        n_reads = following.tree.n_reads
        for _ in range(3):
            following.follower.do(lambda tree: None).result(PATIENCE)
        assert following.tree.n_reads == n_reads

    def test_a_write_of_our_own_is_one_reading_of_the_plan(
        self, folders: LoopFolders, following: Following
    ) -> None:
        plan = folders.worktree.root / "@fix_plan.md"
        following.until(lambda found: found.changed)
        text = plan.read_text(encoding="utf-8")
        for number in range(5):
            # A file beside it, its mode and a rename: the system reports each of them.
            write_atomic(plan, f"{text}- [ ] Further task {number}\n".encode())
            following.until(lambda found: found.changed)
            for _ in range(3):
                following.follower.do(lambda tree: None).result(PATIENCE)
        assert following.found.empty()

    def test_nothing_is_done_while_nothing_happens(
        self, folders: LoopFolders, following: Following, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        with made_run(folders.worktree.root) as run:
            run.end()
            following.until(lambda found: found.picture.live)
        following.until(lambda found: not found.picture.live)
        waits: queue.Queue[float | None] = queue.Queue()
        wait = following.follower._wake.wait

        def noted(timeout: float | None = None) -> bool:
            waits.put(timeout)
            return wait(timeout)

        monkeypatch.setattr(following.follower._wake, "wait", noted)
        following.follower.do(lambda tree: None).result(PATIENCE)
        assert waits.get(timeout=PATIENCE) is None

    def test_a_dead_engine_is_seen_without_a_notification(
        self, folders: LoopFolders, following: Following
    ) -> None:
        with made_run(folders.worktree.root):
            following.until(lambda found: found.picture.live)
        # Its lock went without a trace in any file.
        gone = following.until(lambda found: not found.picture.live)
        assert (gone.picture.phase.value, gone.picture.pid) == ("crashed", None)
        assert gone.picture.needs_person

    def test_a_look_that_fails_is_logged_once_and_the_next_one_succeeds(
        self, run: ScriptedRun, following: Following, caplog: pytest.LogCaptureFixture
    ) -> None:
        following.until_seq(2)
        following.tree.fails = True
        for _ in range(3):
            following.follower.do(lambda tree: None).result(PATIENCE)
        assert caplog.text.count("failed: RuntimeError: a disk went away") == 1
        following.tree.fails = False
        run.notes(1)
        following.until_seq(3)

    def test_a_job_that_fails_raises_for_its_asker(self, following: Following) -> None:
        def fail(tree: WorktreeScanner) -> None:
            raise KeyError("x")

        with pytest.raises(KeyError):
            following.follower.do(fail).result(PATIENCE)

    @pytest.mark.parametrize("refused", ["schedule", "start"])
    def test_it_follows_where_the_system_reports_nothing(
        self,
        folders: LoopFolders,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
        refused: str,
    ) -> None:
        def refuse(*args: Any, **kwargs: Any) -> None:
            raise OSError(28, "inotify watch limit reached")

        monkeypatch.setattr(BaseObserver, refused, refuse)
        following = Following(folders)
        with made_run(folders.worktree.root) as run:
            following.until_seq(2)
            run.notes(1)
            following.until_seq(3)
        following.follower.stop()
        following.follower._thread.join(PATIENCE)
        assert caplog.text.count("inotify watch limit reached") == 1

    def test_halt_files_are_seen_in_folders_that_come_and_go(
        self, folders: LoopFolders, following: Following
    ) -> None:
        folder = folders.worktree.root / ".ralph"
        for number in range(3):
            folder.mkdir()
            (folder / "blocked.txt").write_text(f"no paint {number}\n", encoding="utf-8")
            following.until(lambda found: found.picture.halt.blocked == f"no paint {number}")  # noqa: B023
            (folder / "blocked.txt").unlink()
            following.until(lambda found: found.picture.halt.blocked is None)
            folder.rmdir()

    def test_a_halt_file_that_leads_out_of_the_tree_is_logged_and_not_read(
        self, folders: LoopFolders, following: Following, caplog: pytest.LogCaptureFixture
    ) -> None:
        (folders.worktree.root / ".ralph").mkdir()
        (folders.worktree.root / ".ralph/decide.txt").symlink_to("/etc/passwd")
        look = following.follower.do(lambda tree: None)
        look.result(PATIENCE)
        assert "leads out of the work tree" in caplog.text


class TestWatch:
    def test_only_names_that_matter_call(self, tmp_path: Path) -> None:
        called = threading.Event()
        watch = FileWatch(called.set)
        assert watch.set({tmp_path: frozenset({"a"})})
        assert not watch.set({tmp_path: frozenset({"a"})})
        (tmp_path / "b").write_text("x", encoding="utf-8")
        (tmp_path / "a").write_text("x", encoding="utf-8")
        assert called.wait(PATIENCE)
        watch.close()

    def test_a_watched_folder_that_goes_calls_whatever_its_name_is(self, tmp_path: Path) -> None:
        called, folder = threading.Event(), tmp_path / "a"
        folder.mkdir()
        watch = FileWatch(called.set)
        assert watch.set({folder: frozenset({"b"})})
        folder.rmdir()
        assert called.wait(PATIENCE)
        watch.close()

    def test_a_folder_that_is_gone_is_not_watched(self, tmp_path: Path) -> None:
        watch = FileWatch(lambda: None)
        assert not watch.set({tmp_path / "none": None})
        assert watch.works
        watch.close()
        FileWatch(lambda: None).close()

    def test_the_thread_ends_when_nobody_takes_what_it_finds(
        self, folders: LoopFolders, caplog: pytest.LogCaptureFixture
    ) -> None:
        def refuse(found: ScanResult, taken: Callable[[], None]) -> None:
            raise RuntimeError("the loop is closed")

        with caplog.at_level(logging.DEBUG, logger=follow.__name__):
            follower = WorktreeFollower(WorktreeScanner(folders), refuse)
            follower.start()
            follower._thread.join(PATIENCE)
        assert not follower._thread.is_alive()
        assert follower.do(lambda tree: None).cancelled()
