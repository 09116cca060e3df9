"""A loop steered from a real Kate by its keys, with the settings of the documented page.

Kate is on a display that nobody sees. Its menus cannot be asked what they hold, so what
Kate and the server say to each other is written down between them, and the test waits for that.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.protocol.run.events import QuestionAnswered, RunEnded
from tests.e2e.conftest import need
from tests.editor.client.test_sessions import WHOLE
from tests.engine.conftest import ralph
from tests.engine.project_builder import PATIENCE, ROOT, end_run, events_of, wait_for
from tests.engine.ralph_runner import Project, Ralph, wait_until

__all__ = ["ralph"]

PAGE = ROOT / "docs" / "editors" / "kate.md"

PROGRAMS = ("kate", "Xvfb", "xdotool", "dbus-run-session")
INSTALL = "sudo apt-get install kate xvfb xdotool dbus"

BETWEEN = '''\
"""Between an editor and ralph-ls: passes all bytes on, and writes down the messages."""
import json, os, subprocess, sys, threading
from ralph_ls.editor.lsp.framing import FrameReader

server = subprocess.Popen([SERVER, *sys.argv[1:]], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
wire = os.open(WIRE, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

def copy(source, sink, side):
    frames = FrameReader()
    while data := os.read(source, 1 << 16):
        os.write(sink, data)
        for body in frames.feed(data):
            os.write(wire, json.dumps([side, json.loads(body)]).encode() + b"\\n")
    os.close(sink)

ours = (0, server.stdin.fileno(), "client"), (server.stdout.fileno(), 1, "server")
for ends in ours:
    threading.Thread(target=copy, args=ends, daemon=True).start()
server.wait()
'''

SETTINGS = """\
[General]
Show welcome view for new window=false

[Kate Plugins]
lspclientplugin=true

[lspclient]
AllowedServerCommandLines={program}
"""

MENU = 2
"""How many windows there are while a menu is open."""

Message = dict[str, Any]


class Kate:
    """One Kate on one file."""

    def __init__(self, folder: Path, display: str) -> None:
        self._folder = folder
        self._display = display
        self._n_seen = 0

    def press(self, *keys: str) -> None:
        self._xdotool("key", "--clearmodifiers", *keys)

    def wait_for(self, wanted: Callable[[str, Message], bool]) -> Message:
        """The next message that is wanted; earlier ones are passed over."""
        found: list[Message] = []

        def has_come() -> bool:
            lines = self._lines()
            for nth in range(self._n_seen, len(lines)):
                side, message = json.loads(lines[nth])
                if wanted(side, message):
                    self._n_seen = nth + 1
                    found.append(message)
                    return True
            return False

        wait_until(self._folder, has_come)
        return found[0]

    def wait_for_diagnostic(self, code: str) -> None:
        def has_it(_side: str, message: Message) -> bool:
            shown = message.get("params") or {}
            return message.get("method") == "textDocument/publishDiagnostics" and any(
                one.get("code") == code for one in shown["diagnostics"]
            )

        self.wait_for(has_it)

    def take_action(self, title: str) -> None:
        """Choose among the code actions of the first line."""
        self.press("ctrl+Home", "alt+Return")
        asked = self.wait_for(lambda _, message: message.get("method") == "textDocument/codeAction")
        offered = self.wait_for(lambda side, m: side == "server" and m.get("id") == asked["id"])
        titles = [one["title"] for one in offered["result"]]
        nth = next(nth for nth, one in enumerate(titles) if one.startswith(title))
        self._wait_for_menu()
        self.press(*["Down"] * (nth + 1), "Return")
        self.wait_for(lambda _, message: message.get("method") == "workspace/executeCommand")

    def _lines(self) -> list[str]:
        wire = self._folder / "wire.jsonl"
        text = wire.read_text(encoding="utf-8") if wire.exists() else ""
        # What is being written has no end yet.
        return text.split("\n")[:-1]

    def _wait_for_menu(self) -> None:
        """A menu is a second window; the display is asked until it is there."""
        until = time.monotonic() + PATIENCE
        while len(self._xdotool("search", "--onlyvisible", "--class", "kate").split()) < MENU:
            assert time.monotonic() < until, "no menu"

    def _xdotool(self, *words: str) -> str:
        return subprocess.run(
            ["xdotool", *words],
            env={**os.environ, "DISPLAY": self._display},
            check=True,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        ).stdout


@contextmanager
def start_kate(file: Path, home: Path) -> Iterator[Kate]:
    """Open ``file`` in a Kate that has the page's settings and nothing else."""
    for folder in (".config/kate/lspclient", "bin", "run"):
        (home / folder).mkdir(parents=True)
    (home / "run").chmod(0o700)
    block = re.search(r"^```json\n(.*?)^```$", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    assert block is not None
    (home / ".config/kate/lspclient/settings.json").write_text(block[1], encoding="utf-8")
    program, wire = home / "bin" / "ralph-ls", home / "wire.jsonl"
    server = Path(sys.executable).with_name("ralph-ls")
    between = BETWEEN.replace("SERVER", repr(str(server))).replace("WIRE", repr(str(wire)))
    program.write_text(f"#!{sys.executable}\n{between}", encoding="utf-8")
    program.chmod(0o755)
    allowed = SETTINGS.format(program=program)
    (home / ".config" / "katerc").write_text(allowed, encoding="utf-8")
    with screen() as display:
        process = subprocess.Popen(
            ["dbus-run-session", "--", "kate", "-n", str(file)],
            env={
                **os.environ,
                **{
                    f"XDG_{kind}_HOME": str(home / f".{kind.lower()}") for kind in ("CACHE", "DATA")
                },
                "XDG_CONFIG_HOME": str(home / ".config"),
                "XDG_RUNTIME_DIR": str(home / "run"),
                "PATH": os.pathsep.join([str(program.parent), os.environ["PATH"]]),
                "DISPLAY": display,
                "QT_QPA_PLATFORM": "xcb",
            },
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            kate = Kate(home, display)
            kate.wait_for(lambda _, message: message.get("method") == "textDocument/didOpen")
            yield kate
        finally:
            # Its editor and its bus are in the same session.
            os.killpg(process.pid, 9)
            process.wait(PATIENCE)


@contextmanager
def screen() -> Iterator[str]:
    """A display that nobody sees."""
    ours, theirs = os.pipe()
    server = subprocess.Popen(
        ["Xvfb", "-displayfd", str(theirs), "-screen", "0", "1000x700x24", "-nolisten", "tcp"],
        pass_fds=[theirs],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(theirs)
    try:
        with os.fdopen(ours) as number:
            yield f":{number.readline().strip()}"
    finally:
        server.terminate()
        server.wait(PATIENCE)


@pytest.fixture
def project(ralph: Ralph, tmp_path: Path) -> Iterator[Project]:
    """A repository whose agent asks, is blocked and gets stuck before it finishes."""
    made = Project(ralph, tmp_path)
    made.plan("First task", files={".ralph/config.toml": made.settings()}).agent(WHOLE)
    assert made.tell("allow", "--yes").exit_code == 0
    yield made
    end_run(made.repository)


def test_a_whole_loop_is_steered_by_code_actions_alone(project: Project, tmp_path: Path) -> None:
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    need(f"needs {', '.join(missing)}: {INSTALL}" if missing else None)
    with start_kate(project.file("@fix_plan.md"), tmp_path / "home") as kate:
        kate.take_action("Start loop")
        kate.wait_for_diagnostic("question-waiting")
        kate.take_action("Answer: SQLite")
        kate.wait_for_diagnostic("run-blocked")
        kate.take_action("Mark blocker as resolved")
        kate.wait_for_diagnostic("breaker-open")
        kate.take_action("Reset breaker")
        wait_for(project.repository, "runEnded")
    events = events_of(project.repository)
    (answered,) = [event for event in events if isinstance(event, QuestionAnswered)]
    assert (answered.answer, answered.by) == (
        "SQLite",
        "an editor",
    )  # Kate 22.12 does not say its name.
    (ended,) = [event for event in events if isinstance(event, RunEnded)]
    assert ended.reason.value == "complete"
