from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.store.files import (
    LARGEST_FILE,
    ChangedMeanwhile,
    IrregularFile,
    content_hash,
    files_below,
    make_folders_below,
    make_private_folder,
    open_regular,
    open_to_append,
    read_at_most,
    read_if_there,
    read_regular,
    resolve_inside,
    write_all,
    write_atomic,
)
from ralph_ls.store.files import names_in as list_names
from tests.unit.store.store_builders import start_python


def mode_of(path: Path) -> int:
    return path.stat().st_mode & 0o7777


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


class TestWriteAtomic:
    def test_a_new_file_has_the_content_and_the_mode_asked_for(self, tmp_path: Path) -> None:
        write_atomic(tmp_path / "private", b"secret", mode=0o600)
        write_atomic(tmp_path / "public", b"open", sync=True)
        assert (tmp_path / "private").read_bytes() == b"secret"
        assert mode_of(tmp_path / "private") == 0o600
        assert mode_of(tmp_path / "public") == 0o644

    @pytest.mark.parametrize("mode", [0o400, 0o640, 0o755])
    def test_an_existing_file_keeps_its_own_mode(self, tmp_path: Path, mode: int) -> None:
        path = tmp_path / "validate.sh"
        path.write_bytes(b"old")
        path.chmod(mode)
        write_atomic(path, b"new", mode=0o600)
        assert path.read_bytes() == b"new"
        assert mode_of(path) == mode

    def test_a_symbolic_link_stays_one_and_its_target_gets_the_content(
        self, tmp_path: Path
    ) -> None:
        (tmp_path / "elsewhere").mkdir()
        target = tmp_path / "elsewhere" / "plan.md"
        target.write_bytes(b"old")
        link = tmp_path / "plan.md"
        link.symlink_to(target)
        write_atomic(link, b"new")
        assert link.is_symlink()
        assert target.read_bytes() == b"new"
        assert names_in(tmp_path / "elsewhere") == ["plan.md"]

    def test_a_link_to_nothing_yet_makes_its_target(self, tmp_path: Path) -> None:
        link = tmp_path / "plan.md"
        link.symlink_to("later.md")
        write_atomic(link, b"new")
        assert link.is_symlink()
        assert (tmp_path / "later.md").read_bytes() == b"new"

    def test_the_content_that_was_expected_is_replaced(self, tmp_path: Path) -> None:
        path = tmp_path / "plan.md"
        path.write_bytes(b"as read")
        write_atomic(path, b"new", expected=b"as read")
        assert path.read_bytes() == b"new"

    @pytest.mark.parametrize("present", [b"a person's edit", None], ids=["edited", "removed"])
    def test_what_somebody_else_did_meanwhile_stays(
        self, tmp_path: Path, present: bytes | None
    ) -> None:
        path = tmp_path / "plan.md"
        if present is not None:
            path.write_bytes(present)
        with pytest.raises(ChangedMeanwhile, match=r"plan\.md"):
            write_atomic(path, b"new", expected=b"as read")
        assert read_if_there(path) == present
        assert names_in(tmp_path) == ([] if present is None else ["plan.md"])

    @pytest.mark.slow
    def test_a_full_disk_leaves_the_old_content_and_no_temporary_file(self, tmp_path: Path) -> None:
        path = tmp_path / "state.json"
        path.write_bytes(b"old")
        code = """if True:
            import resource, signal, sys
            from pathlib import Path
            from ralph_ls.protocol.errors import StateUnusable
            from ralph_ls.store.files import write_atomic

            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
            try:
                write_atomic(Path(sys.argv[1]), b"x" * 5000)
            except StateUnusable as error:
                print(error.message)
        """
        with start_python(code, path) as child:
            told, _ = child.communicate()
        assert told.startswith(f"{path} cannot be written: File too large; ")
        assert path.read_bytes() == b"old"
        assert names_in(tmp_path) == ["state.json"]

    @pytest.mark.parametrize("target", ["missing/state.json", "file/state.json", "folder"])
    def test_a_place_that_cannot_be_written_is_named_with_the_reason(
        self, tmp_path: Path, target: str
    ) -> None:
        (tmp_path / "file").write_bytes(b"")
        (tmp_path / "folder" / "inside").mkdir(parents=True)
        with pytest.raises(StateUnusable, match=rf"{target} cannot be written: \w.*; free some"):
            write_atomic(tmp_path / target, b"new")
        assert names_in(tmp_path) == ["file", "folder"]


def test_every_byte_is_written_where_the_system_takes_only_some_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really_write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: really_write(fd, bytes(data[:3])))
    descriptor = os.open(tmp_path / "log", os.O_WRONLY | os.O_CREAT)
    write_all(descriptor, b"0123456789")
    os.close(descriptor)
    assert (tmp_path / "log").read_bytes() == b"0123456789"


def test_a_file_that_is_not_there_reads_as_none(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"here")
    assert read_if_there(tmp_path / "file") == b"here"
    assert read_if_there(tmp_path / "none") is None
    assert read_if_there(tmp_path / "file" / "below") is None


class TestReadRegular:
    def test_a_plain_file_or_none(self, tmp_path: Path) -> None:
        (tmp_path / "validate.sh").write_bytes(b"#!/bin/sh\n")
        (tmp_path / "link").symlink_to("validate.sh")
        assert read_regular(tmp_path / "validate.sh", 10) == b"#!/bin/sh\n"
        assert read_regular(tmp_path / "link", 10) == b"#!/bin/sh\n"
        assert read_regular(tmp_path / "none", 10) is None
        assert read_regular(tmp_path / "validate.sh" / "below", 10) is None

    def test_a_pipe_is_not_waited_for(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "config.toml")
        with pytest.raises(
            StateUnusable, match=r"config\.toml is a named pipe, not a regular file; remove it"
        ):
            read_regular(tmp_path / "config.toml", 10)

    def test_a_device_is_not_read_for_ever(self, tmp_path: Path) -> None:
        (tmp_path / "config.toml").symlink_to("/dev/zero")
        with pytest.raises(StateUnusable, match="not a regular file"):
            read_regular(tmp_path / "config.toml", 10)

    def test_one_that_is_too_large_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "config.toml").write_bytes(b"x" * 11)
        with pytest.raises(StateUnusable, match="is larger than 10 bytes; make it smaller"):
            read_regular(tmp_path / "config.toml", 10)

    def test_a_folder_in_its_place_is_reported(self, tmp_path: Path) -> None:
        with pytest.raises(StateUnusable, match="not a regular file"):
            read_regular(tmp_path, 10)

    def test_a_socket_is_not_connected_to(self, tmp_path: Path) -> None:
        path = tmp_path / "s"
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(os.fspath(path))
            with pytest.raises(StateUnusable, match="is a socket, not a regular file"):
                read_regular(path)

    def test_one_that_becomes_a_pipe_while_it_is_opened_is_not_waited_for(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "plan.md"
        path.write_bytes(b"here")
        really_open = os.open

        def swap_and_open(named: Path, flags: int) -> int:
            named.unlink()
            os.mkfifo(named)
            return really_open(named, flags)

        monkeypatch.setattr(os, "open", swap_and_open)
        n_open = len(os.listdir("/proc/self/fd"))
        with pytest.raises(StateUnusable, match="is a named pipe, not a regular file"):
            read_regular(path)
        assert len(os.listdir("/proc/self/fd")) == n_open

    def test_what_a_file_of_the_system_holds_is_read_although_it_has_no_size(self) -> None:
        assert (read_regular(Path("/proc/self/status")) or b"").startswith(b"Name:")

    def test_a_path_that_no_file_can_have_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(StateUnusable, match="cannot be read: embedded null byte"):
            read_regular(tmp_path / "a\0b")

    def test_the_limit_is_reported_in_megabytes(self, tmp_path: Path) -> None:
        with (tmp_path / "plan.md").open("wb") as file:
            file.truncate(LARGEST_FILE + 1)
        with pytest.raises(StateUnusable, match="is larger than 16 MB; make it smaller"):
            read_regular(tmp_path / "plan.md")
        with (tmp_path / "plan.md").open("wb") as file:
            file.truncate(LARGEST_FILE)
        assert read_regular(tmp_path / "plan.md") == bytes(LARGEST_FILE)

    def test_one_that_cannot_be_opened_is_reported_with_the_reason(self, tmp_path: Path) -> None:
        (tmp_path / "config.toml").symlink_to("config.toml")
        with pytest.raises(StateUnusable, match="cannot be read: Too many levels of symbolic"):
            read_regular(tmp_path / "config.toml", 10)

    def test_what_lets_a_reader_wait_is_refused(self) -> None:
        """As a file of ``/proc`` that holds nothing yet, which is a regular one by its mode."""
        read_end, write_end = os.pipe()
        os.set_blocking(read_end, False)
        with os.fdopen(read_end, "rb") as file, pytest.raises(IrregularFile, match="would wait"):
            read_at_most(file)
        os.close(write_end)


class TestOwnFiles:
    def test_a_pipe_in_the_place_of_one_is_not_waited_for(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "snapshot.json")
        with pytest.raises(OSError, match="is a named pipe, not a regular file"):
            read_if_there(tmp_path / "snapshot.json")

    def test_one_that_grows_while_it_is_read_is_read_to_its_end(self, tmp_path: Path) -> None:
        path = tmp_path / "log"
        path.write_bytes(b"a" * 10)
        with open_regular(path) as file:
            size = os.fstat(file.fileno())
            with path.open("ab") as more:
                more.write(b"b" * (3 << 20))
            assert size.st_size == 10
            assert len(read_at_most(file)) == 10 + (3 << 20)
            file.seek(0)
            assert read_at_most(file, 11) == b"a" * 10 + b"b"


class TestAppending:
    def test_what_is_there_stays(self, tmp_path: Path) -> None:
        for part in (b"one\n", b"two\n"):
            descriptor = open_to_append(tmp_path / "log", mode=0o640)
            write_all(descriptor, part)
            os.close(descriptor)
        assert (tmp_path / "log").read_bytes() == b"one\ntwo\n"

    @pytest.mark.parametrize("has_reader", [False, True], ids=["no-reader", "with-a-reader"])
    def test_a_pipe_is_neither_waited_for_nor_written_to(
        self, tmp_path: Path, has_reader: bool
    ) -> None:
        path = tmp_path / "log"
        os.mkfifo(path)
        reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK) if has_reader else None
        with pytest.raises(OSError, match=r"No such device|named pipe"):
            open_to_append(path, mode=0o644)
        if reader is not None:
            os.close(reader)

    def test_a_link_is_not_followed(self, tmp_path: Path) -> None:
        (tmp_path / "log").symlink_to("elsewhere")
        with pytest.raises(OSError, match="Too many levels"):
            open_to_append(tmp_path / "log", mode=0o644)


class TestFolders:
    def test_names_are_sorted_and_a_missing_folder_has_none(self, tmp_path: Path) -> None:
        for name in "cab":
            (tmp_path / name).touch()
        assert list_names(tmp_path) == ["a", "b", "c"]
        assert list_names(tmp_path / "none") == list_names(tmp_path / "a") == []

    def test_more_than_the_limit_are_refused_and_not_listed(self, tmp_path: Path) -> None:
        for name in "abc":
            (tmp_path / name).touch()
        assert len(list_names(tmp_path, 3)) == len(files_below(tmp_path, 3)) == 3
        for listing in (list_names, files_below):
            with pytest.raises(StateUnusable, match="contains more than 2 files; remove some"):
                listing(tmp_path, 2)

    def test_one_that_leads_to_itself_is_reported(self, tmp_path: Path) -> None:
        (tmp_path / "loop").symlink_to("loop")
        with pytest.raises(StateUnusable, match="cannot be read: Too many levels"):
            list_names(tmp_path / "loop")

    def test_files_below_are_found_without_following_links(self, tmp_path: Path) -> None:
        (tmp_path / "a" / "b").mkdir(parents=True)
        (tmp_path / "a" / "b" / "file").touch()
        (tmp_path / "a" / "up").symlink_to(tmp_path)
        assert files_below(tmp_path) == [tmp_path / "a" / "b" / "file", tmp_path / "a" / "up"]
        assert files_below(tmp_path / "none") == []


def test_writing_over_a_pipe_waits_for_nobody(tmp_path: Path) -> None:
    path = tmp_path / "plan.md"
    os.mkfifo(path)
    with pytest.raises(StateUnusable, match="is a named pipe, not a regular file"):
        write_atomic(path, b"new", expected=b"old")
    write_atomic(path, b"new")
    assert path.read_bytes() == b"new"


def test_the_hash_of_a_content_is_short_and_its_own() -> None:
    hashes = {content_hash(data) for data in (b"", b"a", b"b")}
    assert len(hashes) == 3
    assert all(len(text) == 16 and int(text, 16) >= 0 for text in hashes)


class TestPrivateFolder:
    def test_what_is_missing_is_made_for_the_owner_alone(self, tmp_path: Path) -> None:
        tmp_path.chmod(0o755)
        folder = tmp_path / "state" / "ralph" / "worktrees"
        assert make_private_folder(folder) == folder
        assert mode_of(folder) == mode_of(tmp_path / "state") == 0o700
        assert mode_of(tmp_path) == 0o755

    def test_one_that_is_there_stays_as_it_is(self, tmp_path: Path) -> None:
        tmp_path.chmod(0o750)
        make_private_folder(tmp_path)
        assert mode_of(tmp_path) == 0o750

    @pytest.mark.parametrize("below", ["", "runs"], ids=["in its place", "above it"])
    def test_a_file_in_the_way_is_reported_with_what_to_do(
        self, tmp_path: Path, below: str
    ) -> None:
        (tmp_path / "state").write_bytes(b"")
        with pytest.raises(StateUnusable, match=r"cannot be created: .*; set RALPH_STATE_DIR"):
            make_private_folder(tmp_path / "state" / below)


class TestFoldersBelow:
    def test_what_is_missing_below_the_root_is_made(self, tmp_path: Path) -> None:
        make_folders_below(tmp_path, tmp_path / "a" / "b", mode=0o700)
        assert mode_of(tmp_path / "a") == mode_of(tmp_path / "a" / "b") == 0o700
        make_folders_below(tmp_path, tmp_path / "a" / "b")
        make_folders_below(tmp_path, tmp_path)
        assert names_in(tmp_path) == ["a"]

    def test_a_root_that_was_removed_stays_removed(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            make_folders_below(tmp_path / "gone", tmp_path / "gone" / "a" / "b")
        assert names_in(tmp_path) == []


class TestResolveInside:
    @pytest.mark.parametrize("relative", ["plan.md", ".ralph/decide.txt", "docs/../plan.md"])
    def test_a_path_in_the_tree_is_given_as_it_is(self, tmp_path: Path, relative: str) -> None:
        assert resolve_inside(tmp_path, relative) == tmp_path / relative

    def test_a_link_within_the_tree_may_be_followed(self, tmp_path: Path) -> None:
        (tmp_path / "docs").mkdir()
        (tmp_path / "link").symlink_to("docs")
        assert resolve_inside(tmp_path, "link/plan.md") == tmp_path / "link" / "plan.md"

    def test_a_root_reached_through_a_link_is_the_tree_too(self, tmp_path: Path) -> None:
        (tmp_path / "real").mkdir()
        (tmp_path / "alias").symlink_to("real")
        # The root of the file system ends with a separator.
        assert resolve_inside(Path("/"), str(tmp_path / "x")) == tmp_path / "x"
        assert resolve_inside(tmp_path / "alias", "x") == tmp_path / "alias" / "x"

    @pytest.mark.parametrize("where", ["there", "not there yet", "a folder", "beside"])
    def test_a_link_that_leads_out_of_the_tree_is_refused(self, tmp_path: Path, where: str) -> None:
        root = tmp_path / "tree"
        root.mkdir()
        (tmp_path / "tree-beside").mkdir()
        (tmp_path / "there").write_bytes(b"")
        relative = "logs"
        match where:
            case "a folder":
                (root / ".ralph").symlink_to(tmp_path)
                relative = ".ralph/logs"
            case "beside":
                # Its name begins like the tree's, and is another folder all the same.
                (root / "logs").symlink_to(tmp_path / "tree-beside")
            case _:
                (root / "logs").symlink_to(tmp_path / where)
        with pytest.raises(StateUnusable, match=f"{relative} leads out of the work tree to "):
            resolve_inside(root, relative)
