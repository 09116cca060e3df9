"""A viewer that hangs, is killed or goes away changes nothing for the run that it shows."""

from __future__ import annotations

import fcntl
import json
import os
import select
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from ralph_ls.protocol.run.events import AgentExited, RunEnded
from tests.engine.project_builder import (
    DONE,
    PATIENCE,
    Completed,
    events_of,
    make_repository,
    start_ralph,
    write_agent,
)
from tests.engine.ralph_runner import Ralph

ALL_DONE = {"@fix_plan.md": "- [x] The only task\n"}

MEGABYTES = 5
TALKS = f"yes 'the agent talks and talks' | head -c {MEGABYTES}000000; echo"

SMALLEST_PIPE = 4096


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "repository", files=ALL_DONE)


@pytest.fixture
def talker(tmp_path: Path) -> str:
    return write_agent(tmp_path / "talker", f"{TALKS}\n{DONE}")


@contextmanager
def pipe_that_nobody_reads() -> Iterator[tuple[int, int]]:
    """Its two ends; something can be read from the first, and nothing is."""
    reading_end, writing_end = os.pipe()
    fcntl.fcntl(writing_end, fcntl.F_SETPIPE_SZ, SMALLEST_PIPE)
    try:
        yield reading_end, writing_end
    finally:
        os.close(reading_end)
        os.close(writing_end)


def check_whole(done: Completed) -> None:
    """The run came to its own end, and nothing of its output is missing in its files."""
    assert done.exit_code == 0
    (exited,) = [event for event in done.events if isinstance(event, AgentExited)]
    assert exited.stdout_bytes > MEGABYTES * 1_000_000
    (end,) = [event for event in done.events if isinstance(event, RunEnded)]
    assert end.reason.value == "complete"


@pytest.mark.slow
def test_output_that_nobody_reads_holds_up_neither_the_run_nor_its_end(
    ralph: Ralph, tmp_path: Path, talker: str
) -> None:
    # Beside each other, since each gives its reader some seconds in the end.
    with ExitStack() as stack:
        engines = []
        for name in ("--json", "--agent-prompt=stdin"):
            repository = make_repository(tmp_path / name, files=ALL_DONE)
            command = ["run", name, "--agent-command", talker]
            _, pipe = stack.enter_context(pipe_that_nobody_reads())
            engines.append(ralph.start(repository, *command, stdout=pipe))
        for engine in engines:
            done = engine.wait()
            check_whole(done)
            assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("flags", [[], ["--json"]], ids=["plain", "json"])
def test_a_reader_that_goes_away_lets_the_run_continue(
    ralph: Ralph, repository: Path, tmp_path: Path, flags: list[str]
) -> None:
    os.mkfifo(tmp_path / "go")
    agent = write_agent(tmp_path / "agent", f"read -r _ <'{tmp_path}/go'\n{TALKS}\n{DONE}")
    reading_end, writing_end = os.pipe()
    running = ralph.start(repository, "run", *flags, "--agent-command", agent, stdout=writing_end)
    os.close(writing_end)
    # As ``| head -1`` does.
    with os.fdopen(reading_end, "rb") as lines:
        first = lines.readline().decode()
    (tmp_path / "go").write_text("go\n", encoding="utf-8")
    done = running.wait()
    if flags:
        assert json.loads(first)["kind"] == "runStarted"
    else:
        assert first.startswith("▸ Run: ")
    check_whole(done)
    assert "Traceback" not in done.stderr
    assert "Broken pipe" not in done.stderr


@pytest.mark.slow
def test_a_run_without_any_output_goes_to_its_end(repository: Path, tmp_path: Path) -> None:
    agent = write_agent(tmp_path / "agent", DONE)
    closed = write_agent(tmp_path / "closed", 'exec "$@" >&- 2>&- <&-', name="closed")
    command = ["run", "--agent-command", agent]
    with start_ralph(repository, *command, before=[closed]) as running:
        done = running.wait()
    assert done.exit_code == 0
    assert done.kinds()[-1] == "runEnded"
    assert done.kinds().count("agentExited") == 1


@pytest.mark.slow
def test_watching_changes_nothing_whether_it_never_reads_or_is_killed(
    ralph: Ralph, repository: Path, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "begun")
    os.mkfifo(tmp_path / "go")
    agent = write_agent(
        tmp_path / "agent",
        f"echo >'{tmp_path}/begun'\nread -r _ <'{tmp_path}/go'\n{TALKS}\n{DONE}",
    )
    running = ralph.start(repository, "run", "--agent-command", agent)
    (tmp_path / "begun").read_text(encoding="utf-8")
    with pipe_that_nobody_reads() as (unread, pipe):
        stuck = ralph.start(repository, "watch", stdout=pipe)
        assert select.select([unread], [], [], PATIENCE)[0], "it never began to watch"
        reading_end, writing_end = os.pipe()
        killed = ralph.start(repository, "watch", "--json", stdout=writing_end)
        os.close(writing_end)
        with os.fdopen(reading_end, "rb") as lines:
            assert json.loads(lines.readline())["kind"] == "runStarted"
            killed.kill()
        n_before = len(events_of(repository))
        (tmp_path / "go").write_text("go\n", encoding="utf-8")
        done = running.wait()
        assert stuck.process.poll() is None
        stuck.kill()
    check_whole(done)
    assert [event.seq for event in done.events] == list(range(1, len(done.events) + 1))
    assert len(done.events) > n_before
    assert "Iterations:  1 / 20" in done.stdout
