"""The full screen in a real terminal, which is as it was at every end."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from ralph_ls.cli.commands.runs.everywhere import live_runs
from tests.engine.project_builder import end_run, start_ralph, wait_for, write_agent
from tests.unit.cli.terminal import CTRL_C, Terminal, in_terminal
from tests.unit.cli.test_keys import STALLED, is_cooked, running
from tests.unit.store.external.test_supervisor import wait_until

pytestmark = pytest.mark.slow

ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"


def is_restored(seen: Terminal) -> bool:
    """Whether the screen before is back, with its cursor, and typing is echoed."""
    raw = seen.raw
    left = raw.count(ENTER) == raw.count(LEAVE)
    return left and raw.rindex("\x1b[?25h") > raw.rindex("\x1b[?25l") and is_cooked(seen)


@contextmanager
def on_full_screen(repository: Path, tmp_path: Path) -> Iterator[Terminal]:
    """Somebody watches a run in the background on the full screen."""
    agent = write_agent(tmp_path / "agents", STALLED)
    with start_ralph(repository, "run", "--agent-command", agent, "--on-halt", "wait"):
        wait_for(repository, "agentStarted")
        with in_terminal(repository, "watch") as seen:
            seen.wait_for("First task")
            yield seen
        end_run(repository)


@pytest.mark.parametrize("key", ["q", CTRL_C])
def test_leaving_restores_the_terminal_and_the_run_continues(
    key: str, repository: Path, tmp_path: Path
) -> None:
    with on_full_screen(repository, tmp_path) as seen:
        seen.type(key)
        assert seen.wait() == 0
        assert is_restored(seen)
        assert seen.text.splitlines()[-1] == "The run continues. Watch it again: ralph watch"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_restores_the_terminal(number: int, repository: Path, tmp_path: Path) -> None:
    with on_full_screen(repository, tmp_path) as seen:
        os.kill(seen.process.pid, number)
        assert seen.wait() == -number
        assert is_restored(seen)


def test_orders_of_the_full_screen_reach_the_run(repository: Path, tmp_path: Path) -> None:
    with on_full_screen(repository, tmp_path) as seen:
        assert [one[0].root for one in live_runs()] == [repository]
        seen.type("n")
        seen.wait_for("Note:")
        seen.type("The database is down\r")
        wait_for(repository, "noteAdded", text="The database is down")
        seen.type("k")
        seen.wait_for("Skip 'First task' for the rest of this run?")
        seen.type("y\r")
        wait_for(repository, "commandAccepted", command_kind="skip")
        seen.type("p")
        wait_for(repository, "commandAccepted", command_kind="pause")
        seen.type("s")
        wait_for(repository, "commandAccepted", command_kind="stop")
        seen.type("q")
        assert seen.wait() == 0
        assert is_restored(seen)
    assert list(live_runs()) == []


def test_f_changes_to_the_plain_form_and_back(repository: Path, tmp_path: Path) -> None:
    with on_full_screen(repository, tmp_path) as seen:
        seen.type("f")
        seen.wait_for("f full screen")
        assert seen.raw.count(LEAVE) == 1
        seen.type("f")
        while seen.raw.count(ENTER) < 2:
            seen.wait_for_more()
        seen.type("q")
        assert seen.wait() == 0
        assert is_restored(seen)


def test_the_run_of_this_terminal_is_stopped_from_its_full_screen(
    repository: Path, tmp_path: Path
) -> None:
    with running(repository, tmp_path) as seen:
        seen.type("f")
        seen.wait_for("First task")
        seen.type(CTRL_C)
        seen.wait_for("Stopping after")
        seen.type(CTRL_C)
        assert seen.wait() == 130
        assert is_restored(seen)
    assert "▸ Ended: stopped: stopped by Ctrl-C" in seen.text


def test_ctrl_z_suspends_the_run_with_its_full_screen_until_both_continue(
    repository: Path, tmp_path: Path
) -> None:
    with running(repository, tmp_path) as seen:
        seen.type("f")
        while seen.raw.count(ENTER) < 1:
            seen.wait_for_more()
        run = psutil.Process(seen.process.pid)
        both = [run, *(one for one in run.children() if "--in-run" in one.cmdline())]
        seen.type("\x1a")
        wait_until(lambda: {one.status() for one in both} == {psutil.STATUS_STOPPED})
        while seen.raw.count(LEAVE) < 1:
            seen.wait_for_more()
        assert is_restored(seen)
        for one in both:
            one.resume()
        while seen.raw.count(ENTER) < 2:
            seen.wait_for_more()
        before = seen.text.count("f full screen")
        seen.type("f")
        # The full screen discards what is typed while it ends.
        while seen.text.count("f full screen") == before:
            seen.wait_for_more()
        seen.type("S")
        assert seen.wait() == 130
        assert is_restored(seen)


def test_a_killed_full_screen_leaves_the_terminal_to_the_run(
    repository: Path, tmp_path: Path
) -> None:
    with running(repository, tmp_path) as seen:
        seen.type("f")
        # The plain form names the task as well.
        while seen.raw.count(ENTER) < 1:
            seen.wait_for_more()
        for child in psutil.Process(seen.process.pid).children():
            if "--in-run" in child.cmdline():
                child.kill()
        # The cursor moves when the plain form draws again.
        while seen.raw.count(LEAVE) < 1:
            seen.wait_for_more()
        seen.wait_for("f full screen")
        seen.type("S")
        assert seen.wait() == 130
        assert is_restored(seen)
