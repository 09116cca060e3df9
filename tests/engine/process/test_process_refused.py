from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from ralph_ls.core.redaction.redactor import Redactor
from ralph_ls.engine.process.running_process import Launch, start
from ralph_ls.protocol.errors import AgentUnavailable, StateUnusable
from tests.engine.process.python_agents import (
    Heard,
    launch_of,
    open_files,
)


def put_file(folder: Path, name: str, content: bytes, *, mode: int = 0o755) -> str:
    (folder / name).write_bytes(content)
    (folder / name).chmod(mode)
    return str(folder / name)


@pytest.mark.parametrize(
    ("content", "mode", "words"),
    [
        pytest.param(b"#!/bin/sh\n", 0o644, "is not executable; run: chmod \\+x", id="mode"),
        pytest.param(
            b"\x00\x01 no program", 0o755, "is not a program for this system", id="format"
        ),
        pytest.param(b"#!/no/such/shell\n", 0o755, "the interpreter in its", id="interpreter"),
    ],
)
async def test_a_file_that_is_no_program_is_refused(
    tmp_path: Path, content: bytes, mode: int, words: str
) -> None:
    program = put_file(tmp_path, "agent", content, mode=mode)
    await refused(launch_of(tmp_path, (program,)), words)


async def test_a_missing_program_is_refused(tmp_path: Path) -> None:
    await refused(launch_of(tmp_path, (str(tmp_path / "none"), "x")), "none does not exist")
    put_file(tmp_path, "file", b"")
    await refused(launch_of(tmp_path, (str(tmp_path / "file" / "x"),)), "does not exist")


async def test_a_missing_folder_is_reported_as_such(tmp_path: Path) -> None:
    launch = launch_of(tmp_path, (sys.executable,), cwd=tmp_path / "gone")
    await refused(launch, "gone: the folder does not exist")


async def test_a_prompt_too_long_for_an_argument_is_refused(tmp_path: Path) -> None:
    launch = launch_of(tmp_path, (sys.executable, "x" * 4_000_000), stdin=b"x")
    await refused(launch, 'too long; give the prompt with prompt = "stdin" or "file"')


async def test_what_no_program_can_be_given_is_refused(tmp_path: Path) -> None:
    await refused(launch_of(tmp_path, (sys.executable, "a\0b")), "embedded null byte; fix")


async def test_a_system_without_room_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(*_: object) -> tuple[int, int]:
        raise OSError(24, "Too many open files")

    # What is started once for all agents needs pipes too.
    open_files()
    monkeypatch.setattr(os, "pipe", no_room)
    await refused(launch_of(tmp_path, (sys.executable,), stdin=b""), "Too many open files")


async def refused(launch: Launch, words: str) -> None:
    before = open_files()
    with pytest.raises(AgentUnavailable, match=words):
        await start(launch, redactor=Redactor({}), on_output=Heard().on_output)
    assert open_files() == before


async def test_a_log_that_cannot_be_made_starts_no_agent(tmp_path: Path) -> None:
    launch = launch_of(
        tmp_path, ("touch", str(tmp_path / "started")), stderr_path=tmp_path / "no" / "err"
    )
    with pytest.raises(StateUnusable, match="no/err cannot be created: No such file"):
        await start(launch, redactor=Redactor({}), on_output=Heard().on_output)
    assert not (tmp_path / "started").exists()
