"""Keys in a terminal: they steer the run, and the terminal is as it was at every end."""

from __future__ import annotations

import os
import signal
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ralph_ls.cli.show.keyboard import (
    CANCEL,
    CHARACTER,
    CLEAR,
    ENTER,
    ERASE,
    PASTE,
    Key,
    KeyParser,
)
from tests.engine.project_builder import end_run, start_ralph, wait_for, write_agent
from tests.unit.cli.shell_agents import ASKER
from tests.unit.cli.terminal import CTRL_C, Terminal, in_terminal

STALLED = "echo begun; sleep 600"


def characters(text: str) -> list[Key]:
    return [Key(CHARACTER, one) for one in text]


class TestKeyParser:
    @pytest.mark.parametrize(
        ("data", "keys"),
        [
            ("pS漢", characters("pS漢")),
            ("a\r", [*characters("a"), Key(ENTER)]),
            ("\x7f\x08\x15\x04\n", [*map(Key, (ERASE, ERASE, CLEAR, CANCEL, ENTER))]),
            ("\x1b", [Key(CANCEL)]),
            ("\x1b[A\x1bOPx\x1b[1;5C", characters("x")),
            ("\x01\x07\t", []),
            ("\x1b[200~stop\nS \x1b[A\x1b[201~q", [Key(PASTE, "stop S [A"), *characters("q")]),
        ],
    )
    def test_bytes_are_keys_however_they_arrive(self, data: str, keys: list[Key]) -> None:
        assert KeyParser().feed(data.encode()) == keys
        if data != "\x1b":
            whole = data.encode()
            parser = KeyParser()
            # No terminal cuts an arrow key after its first byte; all else may come in pieces.
            pieces = [whole[i : i + 1] for i in range(len(whole))] if b"\x1b" not in whole else []
            assert [key for piece in pieces for key in parser.feed(piece)] == (
                keys if pieces else []
            )

    def test_a_sequence_may_be_cut(self) -> None:
        parser = KeyParser()
        assert parser.feed(b"\x1b[20") == []
        assert parser.feed(b"0~one\n") == []
        assert parser.feed(b"two\x1b[201") == []
        assert parser.feed(b"~") == [Key(PASTE, "one two")]


@contextmanager
def running(
    repository: Path, tmp_path: Path, body: str = STALLED, *arguments: str
) -> Iterator[Terminal]:
    """A run in the foreground of a terminal, whose panel shows the keys."""
    agent = write_agent(tmp_path / "agents", body)
    with in_terminal(repository, "run", "--agent-command", agent, *arguments) as seen:
        seen.wait_for("? all keys")
        yield seen


@contextmanager
def watching(repository: Path, tmp_path: Path, body: str = STALLED) -> Iterator[Terminal]:
    """Somebody watches a run in the background."""
    agent = write_agent(tmp_path / "agents", body)
    with start_ralph(repository, "run", "--agent-command", agent, "--on-halt", "wait"):
        wait_for(repository, "agentStarted")
        with in_terminal(repository, "watch", "--plain") as seen:
            seen.wait_for("? all keys")
            yield seen


def is_cooked(seen: Terminal) -> bool:
    flags = termios.tcgetattr(seen.master)[3]
    return bool(flags & termios.ECHO) and bool(flags & termios.ICANON)


@pytest.mark.slow
class TestKeys:
    def test_the_run_in_this_terminal_is_stopped_in_two_steps(
        self, repository: Path, tmp_path: Path
    ) -> None:
        with running(repository, tmp_path) as seen:
            seen.wait_for("begun")
            assert not is_cooked(seen)
            seen.type("z\x1b[A\x1b[200~S\x1b[201~q")
            seen.wait_for("this terminal runs the loop")
            seen.wait_for("End the run: s after this iteration, S now?")
            seen.type("s\r")
            seen.wait_for("▸ Stopping: ralph run")
            seen.type("S")
            assert seen.wait() == 130
            assert is_cooked(seen)
        assert "▸ Ended: stopped: stopped by ralph run" in seen.text
        assert seen.raw.rindex("\x1b[?2004l") > seen.raw.rindex("\x1b[?2004h")

    def test_ctrl_c_still_stops_it_and_the_terminal_is_restored(
        self, repository: Path, tmp_path: Path
    ) -> None:
        with running(repository, tmp_path) as seen:
            seen.wait_for("begun")
            seen.type(CTRL_C)
            seen.wait_for("press Ctrl-C again to stop now")
            seen.type(CTRL_C)
            assert seen.wait() == 130
            assert is_cooked(seen)

    def test_a_signal_ends_watching_with_the_terminal_restored(
        self, repository: Path, tmp_path: Path
    ) -> None:
        with watching(repository, tmp_path) as seen:
            os.kill(seen.process.pid, signal.SIGTERM)
            seen.wait()
            assert is_cooked(seen)
        end_run(repository)

    def test_a_question_is_answered_and_the_run_continues(
        self, repository: Path, tmp_path: Path
    ) -> None:
        body = f'[ "$RALPH_START" = 1 ] || {{ {STALLED}; }}\n{ASKER}'
        with running(repository, tmp_path, body, "--on-halt", "wait") as seen:
            # The agent's output has the question before it is asked.
            seen.wait_for("Decision needed: Which database?")
            seen.type("a")
            seen.wait_for("Answer:")
            seen.type("MySQL\x15SQLitte\x7f\x7fe\r")
            seen.wait_for("begun")
            answered = wait_for(repository, "questionAnswered")
            assert getattr(answered, "answer", "") == "SQLite"
            seen.type("S")
            assert seen.wait() == 130

    def test_whoever_watches_steers_and_leaves_and_the_run_continues(
        self, repository: Path, tmp_path: Path
    ) -> None:
        with watching(repository, tmp_path) as seen:
            seen.type("a")
            seen.wait_for("no question is open")
            seen.type("nThe staging database is down\r")
            # Events are waited for on the screen: nothing is drawn that nobody reads.
            seen.wait_for("▸ Note by ralph watch")
            note = wait_for(repository, "noteAdded")
            assert getattr(note, "text", "") == "The staging database is down"
            seen.type("p")
            seen.wait_for("▸ ralph watch: pause: ")
            seen.type("t")
            seen.wait_for("0 of 2 tasks are done")
            seen.type("l")
            seen.wait_for("all of it: ralph logs --tools")
            seen.type("d")
            seen.wait_for("no iteration has ended yet")
            seen.type("?")
            seen.wait_for("q  leave; the run continues")
            seen.type("k")
            seen.wait_for("Skip 'First task' for the rest of this run? y/n")
            seen.type("n\r")
            seen.type("r")
            seen.wait_for("▸ ralph watch: reset: ")
            seen.type("ky\r")
            wait_for(repository, "commandAccepted", command_kind="skip")
            seen.type("q")
            assert seen.wait() == 0
            assert is_cooked(seen)
        assert seen.text.splitlines()[-1] == "The run continues. Watch it again: ralph watch"
        end_run(repository)
