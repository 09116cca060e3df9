from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ralph_ls.protocol.errors import StateUnusable
from ralph_ls.store.run.inbox import (
    MAX_COMMAND_BYTES,
    _age_of,
    collect_commands,
    post_command,
    remove_command,
)
from tests.unit.store.store_builders import COMMANDS, answer, ask_note, pause, resume


def lay(inbox: Path, name: str, content: bytes) -> Path:
    inbox.mkdir(exist_ok=True)
    (inbox / name).write_bytes(content)
    return inbox / name


def set_time(path: Path, seconds: int) -> None:
    os.utime(path, (seconds, seconds))


class TestPost:
    def test_a_command_is_in_a_private_file_under_its_id(self, tmp_path: Path) -> None:
        path = post_command(tmp_path / "state" / "inbox", COMMANDS[0])
        assert path == tmp_path / "state" / "inbox" / f"{COMMANDS[0].id}.json"
        assert path.stat().st_mode & 0o777 == 0o600
        assert path.parent.stat().st_mode & 0o777 == 0o700
        assert [entry.name for entry in path.parent.iterdir()] == [path.name]

    def test_it_comes_out_as_it_went_in(self, tmp_path: Path) -> None:
        for command in COMMANDS:
            post_command(tmp_path, command)
        found = {posted.id: posted.command for posted in collect_commands(tmp_path)}
        assert found == {command.id: command for command in COMMANDS}

    def test_twice_under_one_id_is_one_file_with_the_last_of_them(self, tmp_path: Path) -> None:
        post_command(tmp_path, answer("answer-0001", "Postgres"))
        post_command(tmp_path, answer("answer-0001", "SQLite, then"))
        (posted,) = collect_commands(tmp_path)
        assert posted.command == answer("answer-0001", "SQLite, then")

    def test_an_inbox_that_cannot_be_made_is_reported(self, tmp_path: Path) -> None:
        lay(tmp_path, "state", b"")
        with pytest.raises(StateUnusable, match="cannot be created"):
            post_command(tmp_path / "state" / "inbox", COMMANDS[0])


class TestCollect:
    def test_an_inbox_that_nobody_made_is_empty(self, tmp_path: Path) -> None:
        assert collect_commands(tmp_path / "inbox") == []

    def test_the_oldest_comes_first_whatever_its_name(self, tmp_path: Path) -> None:
        for age, name in enumerate(["zzzzzzzz", "mmmmmmmm", "aaaaaaaa"]):
            set_time(post_command(tmp_path, pause(name)), 1000 + age)
        assert [posted.id for posted in collect_commands(tmp_path)] == [
            "zzzzzzzz",
            "mmmmmmmm",
            "aaaaaaaa",
        ]

    def test_within_one_tick_of_the_file_system_the_time_of_asking_decides(
        self, tmp_path: Path
    ) -> None:
        for command in (pause("zzzzzzzz", seconds=1), resume("aaaaaaaa", seconds=2)):
            set_time(post_command(tmp_path, command), 1000)
        assert [posted.id for posted in collect_commands(tmp_path)] == ["zzzzzzzz", "aaaaaaaa"]

    def test_what_was_removed_is_gone_and_can_be_removed_again(self, tmp_path: Path) -> None:
        for command in COMMANDS:
            post_command(tmp_path, command)
        first, *others = collect_commands(tmp_path)
        remove_command(first)
        remove_command(first)
        assert collect_commands(tmp_path) == others

    @pytest.mark.parametrize(
        ("content", "problem"),
        [
            pytest.param(b"", "command: Invalid JSON: EOF", id="empty"),
            pytest.param(b'{"kind":"stop"', "command: Invalid JSON: EOF", id="cut short"),
            pytest.param(b"\xff\xfe", "command: Invalid JSON", id="no text"),
            pytest.param(b"[]", "command: Input should be an object", id="a list"),
            pytest.param(b'{"kind":"fly"}', "command: Input tag 'fly' found", id="unknown kind"),
            pytest.param(b"{}", "command: Unable to extract tag", id="no kind"),
            pytest.param(b'{"kind":"pause"}', "pause.id: Field required", id="fields missing"),
        ],
    )
    def test_what_is_no_command_is_named_with_the_reason(
        self, tmp_path: Path, content: bytes, problem: str
    ) -> None:
        path = lay(tmp_path, "by-hand-0001.json", content)
        (posted,) = collect_commands(tmp_path)
        assert (posted.path, posted.id, posted.command) == (path, "by-hand-0001", None)
        assert posted.problem.startswith(problem)

    def test_an_unknown_field_is_refused_and_named(self, tmp_path: Path) -> None:
        asked = json.loads(pause("pause-0001").model_dump_json(by_alias=True))
        lay(tmp_path, "pause-0001.json", json.dumps({**asked, "nwo": True}).encode())
        (posted,) = collect_commands(tmp_path)
        assert posted.command is None
        assert posted.problem == "pause.nwo: Extra inputs are not permitted"

    def test_of_many_problems_the_first_three_are_reported(self, tmp_path: Path) -> None:
        lay(tmp_path, "stop.json", b'{"kind":"stop","id":"!","now":"perhaps","a":1,"b":2}')
        (posted,) = collect_commands(tmp_path)
        assert posted.problem.count("; ") == 2

    def test_one_that_is_too_large_is_refused_unread(self, tmp_path: Path) -> None:
        lay(tmp_path, "note-00001.json", b" " * (MAX_COMMAND_BYTES + 1))
        (posted,) = collect_commands(tmp_path)
        assert posted.command is None
        assert posted.problem == "the file is larger than 1000000 bytes"

    def test_the_longest_text_that_is_allowed_fits(self, tmp_path: Path) -> None:
        longest = ask_note("note-00001", "界" * 100_000)
        post_command(tmp_path, longest)
        (posted,) = collect_commands(tmp_path)
        assert posted.command == longest

    def test_files_of_others_and_half_written_ones_are_let_be(self, tmp_path: Path) -> None:
        for name in (".pause-0001.json.0a1b.tmp", ".hidden.json", "README", "pause.json.bak"):
            lay(tmp_path, name, b"{}")
        assert collect_commands(tmp_path) == []

    def test_what_is_no_plain_file_is_not_even_opened(self, tmp_path: Path) -> None:
        # A pipe that nobody writes to would hold up the engine for ever.
        os.mkfifo(tmp_path / "pipe-00001.json")
        (tmp_path / "folder-0001.json").mkdir()
        lay(tmp_path, "elsewhere", b"{}")
        (tmp_path / "link-00001.json").symlink_to("elsewhere")
        assert collect_commands(tmp_path) == []

    def test_one_that_vanished_before_it_was_inspected_counts_as_oldest(
        self, tmp_path: Path
    ) -> None:
        path = post_command(tmp_path, COMMANDS[0])
        with os.scandir(tmp_path) as entries:
            (entry,) = entries
        path.unlink()
        assert _age_of(entry) == 0

    def test_one_that_vanished_while_it_was_read_is_reported_as_such(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = post_command(tmp_path, COMMANDS[0])

        def vanish(self: Path) -> bytes:
            self.unlink()
            raise FileNotFoundError(2, "No such file or directory")

        monkeypatch.setattr(Path, "read_bytes", vanish)
        (posted,) = collect_commands(tmp_path)
        assert (posted.path, posted.command) == (path, None)
        assert posted.problem == "the file cannot be read: No such file or directory"
