"""Flags, log and trace of the language server, as other servers have them."""

from __future__ import annotations

import logging
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.cli import language_server
from ralph_ls.cli.language_server import (
    LogFileError,
    ServeOptionError,
    ServeOptions,
    read_options,
    start_logging,
)
from tests.editor.wire_client import ROOT, Message, Wire

SECRET = "correct-horse-battery"
PATIENCE = 60.0


@pytest.fixture
def log_config() -> Any:
    """Puts logging back as it was."""
    root = logging.getLogger()
    before = (root.handlers[:], root.level)
    yield
    for handler in root.handlers:
        if handler not in before[0]:
            handler.close()
    root.handlers[:], root.level = before


class TestOptions:
    @pytest.mark.parametrize(
        ("arguments", "options"),
        [
            ((), ServeOptions()),
            (("--stdio", "--read-only"), ServeOptions(read_only=True)),
            (("--stdio", "--clientProcessId=123"), ServeOptions(client=123)),
            (("--clientProcessId", "123"), ServeOptions(client=123)),
            (("--log-file", "/a=b.log"), ServeOptions(log_file=Path("/a=b.log"))),
            (("--log-file=a b",), ServeOptions(log_file=Path("a b"))),
            (("--log-level=DEBUG",), ServeOptions(log_level="debug")),
            (("--log-level", "warn"), ServeOptions(log_level="warning")),
        ],
    )
    def test_they_may_be_written_either_way(
        self, arguments: tuple[str, ...], options: ServeOptions
    ) -> None:
        assert read_options(arguments) == options

    @pytest.mark.parametrize(
        "arguments",
        [
            ("--log-file",),
            ("--log-file=",),
            ("--log-level",),
            ("--log-level", "loud"),
            ("--clientProcessId", "0"),
            ("--clientProcessId", "-1"),
            ("--clientProcessId", "me"),
            ("--clientProcessId", "٣"),
            ("--clientProcessId", "9" * 5000),
            ("--tcp=1",),
            ("plan.md",),
        ],
    )
    def test_others_are_refused(self, arguments: tuple[str, ...]) -> None:
        with pytest.raises(ServeOptionError):
            read_options(arguments)


@pytest.mark.usefixtures("log_config")
class TestLogFile:
    def test_only_its_owner_reads_it_and_secrets_are_not_in_it(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MY_TOKEN", SECRET)
        path = tmp_path / "ralph.log"
        path.touch(mode=0o644)
        start_logging(level="info", path=path)
        logging.getLogger("a").info("the token is %s\nERROR b: forged\x1b[31m\u202e", SECRET)
        logging.getLogger("a").debug("not wanted")
        try:
            raise ValueError(SECRET)
        except ValueError:
            logging.getLogger("a").exception("failed")
        text = path.read_text(encoding="utf-8")
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert SECRET not in text
        assert f"[{os.getpid()}] INFO a: the token is [redacted MY_TOKEN]\n" in text
        assert "\n    ERROR b: forged\\x1b[31m\\u202e\n" in text
        assert "\n    ValueError: [redacted MY_TOKEN]\n" in text
        assert "not wanted" not in text

    def test_it_is_bounded(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(language_server, "LARGEST_LOG", 2000)
        path = tmp_path / "ralph.log"
        start_logging(path=path)
        for number in range(200):
            logging.getLogger("a").info("line %d", number)
        files = sorted(tmp_path.iterdir())
        assert [file.name for file in files] == ["ralph.log", "ralph.log.1"]
        assert all(file.stat().st_size <= 2000 for file in files)
        assert all(stat.S_IMODE(file.stat().st_mode) == 0o600 for file in files)
        assert "line 199" in path.read_text(encoding="utf-8")

    def test_what_a_client_sent_does_not_fill_it(self, tmp_path: Path, log_config: Any) -> None:
        path = tmp_path / "server.log"
        start_logging(path=path)
        logging.getLogger("ralph_ls").warning("refused: %s", "x" * 1_000_000)
        text = path.read_text(encoding="utf-8")
        assert len(text) < language_server.LONGEST_RECORD + 200
        assert text.rstrip().endswith("characters)")

    def test_what_is_no_file_is_refused_at_once(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        for path in (tmp_path, tmp_path / "pipe", tmp_path / "no" / "such.log", Path("/dev/null")):
            with pytest.raises(LogFileError):
                start_logging(path=path)


def start_program(*flags: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "ralph_ls", "serve", *flags],
        env={**os.environ, "PYTHONPATH": str(ROOT / "server")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


@pytest.mark.slow
def test_it_ends_with_the_process_that_the_flag_names(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as client:
        server = start_program(
            *("--stdio", f"--clientProcessId={client.pid}"),
            *("--log-file", str(tmp_path / "log"), "--log-level", "debug"),
        )
        client.kill()
    # Its input stays open: only the flag shows it that the client is gone.
    assert server.wait(PATIENCE) == 1
    assert server.stdout is not None
    assert server.stdout.read() == b""
    server.communicate()
    assert (tmp_path / "log").is_file()


@pytest.mark.slow
def test_a_log_that_cannot_be_written_is_reported_at_once(tmp_path: Path) -> None:
    server = start_program("--log-file", str(tmp_path))
    out, errors = server.communicate(b"", timeout=PATIENCE)
    assert (server.returncode, out) == (73, b"")
    assert b"is not a file to write a log to" in errors


@pytest.mark.slow
@pytest.mark.asyncio(loop_scope="module")
class TestTrace:
    async def traced(self, wire: Wire, *notified: str) -> list[Message]:
        for method in notified:
            wire.notify(method, {"value": "text"})
        wire.aside.clear()
        await wire.result("tests/plain", {"secret": 1})
        await wire.result("tests/echo")
        told = [m["params"] for m in wire.aside if m.get("method") == "$/logTrace"]
        return [params for params in told if "tests/plain" in params["message"]]

    async def test_it_is_off_until_somebody_asks(self, patched: Wire) -> None:
        assert await self.traced(patched) == []

    async def test_messages_are_logged_without_their_params(self, patched: Wire) -> None:
        patched.notify("$/setTrace", {"value": "messages"})
        first, second = await self.traced(patched)
        assert first["message"].startswith("Received request tests/plain (")
        assert second["message"].startswith("Sent response tests/plain (")
        assert second["message"].endswith(" ms")
        assert "verbose" not in first
        patched.notify("$/setTrace", {"value": "off"})
        assert await self.traced(patched) == []

    async def test_verbose_logs_the_params(self, patched: Wire) -> None:
        patched.notify("$/setTrace", {"value": "verbose"})
        first = next(m for m in await self.traced(patched) if "tests/plain" in m["message"])
        assert first["verbose"] == '{"secret": 1}'
        patched.ask("tests/nowhere")
        told = await patched.until(
            lambda m: ": error -32601" in m.get("params", {}).get("message", "")
        )
        assert told["method"] == "$/logTrace"
        patched.notify("$/setTrace", {"value": "off"})
        assert await self.traced(patched) == []

    async def test_a_value_that_is_not_known_changes_nothing(self, patched: Wire) -> None:
        values: tuple[object, ...] = ("loud", 5, None, [], {})
        for value in values:
            patched.notify("$/setTrace", {"value": value})
        assert await self.traced(patched) == []

    async def test_initialize_may_ask_for_it(self, start: Any) -> None:
        wire: Wire = await start("patched")
        params: Message = {
            "processId": None,
            "rootUri": None,
            "capabilities": {},
            "trace": "messages",
        }
        await wire.result("initialize", params)
        wire.notify("initialized", {})
        assert await self.traced(wire) != []
