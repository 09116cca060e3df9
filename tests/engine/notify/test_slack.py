"""The Slack way of docs/requests.md, with its program, against a fake of both ends of Slack."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlencode

import pytest

from tests.fakes.notify_servers import Received, http_server

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[3] / "docs" / "requests.md"
SECRET = "8f742231b10e8888abcd99yyyzzz85a5"


def program() -> str:
    found = re.search(
        r"<!-- slack program -->\n+```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL
    )
    assert found is not None
    return found[1]


@contextmanager
def running(folder: Path, ralph: str, slack: Received) -> Iterator[str]:
    """The page's program, with a ``ralph`` that is this script; gives its address."""
    script = folder / "slack_requests.py"
    script.write_text(program(), encoding="utf-8")
    tool = folder / "bin/ralph"
    tool.parent.mkdir()
    tool.write_text(f"#!/bin/sh\n{ralph}\n", encoding="utf-8")
    tool.chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{tool.parent}{os.pathsep}{os.environ['PATH']}",
        "SLACK_SIGNING_SECRET": SECRET,
        "SLACK_USERS": "U1,U2",
        "RALPH_REPOSITORY": str(folder),
        "SLACK_RESPONSES": f"http://127.0.0.1:{slack.port}/",
        "PORT": "0",
    }
    process = subprocess.Popen(
        [sys.executable, "-I", str(script)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        assert process.stdout is not None
        port = process.stdout.readline().rpartition(" ")[2].strip()
        yield f"http://127.0.0.1:{port}/"
    finally:
        process.kill()
        process.communicate()


def slash(
    address: str,
    text: str,
    slack: Received,
    *,
    user: str = "U1",
    secret: str = SECRET,
    age: float = 0.0,
) -> tuple[int, str]:
    """Type ``/ralph TEXT`` in Slack: what the program is sent, and what it replies."""
    back = f"http://127.0.0.1:{slack.port}/commands/T1"
    form = {"command": "/ralph", "text": text, "user_id": user, "response_url": back}
    body = urlencode(form).encode()
    sent = str(int(time.time() - age))
    mine = hmac.new(secret.encode(), b"v0:" + sent.encode() + b":" + body, hashlib.sha256)
    request = urllib.request.Request(address, data=body)
    request.add_header("X-Slack-Request-Timestamp", sent)
    request.add_header("X-Slack-Signature", f"v0={mine.hexdigest()}")
    try:
        with urllib.request.urlopen(request, timeout=60) as reply:
            return reply.status, reply.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.fixture
def slack() -> Iterator[Received]:
    with http_server() as received:
        yield received


def test_a_slash_command_starts_a_run_on_its_text(tmp_path: Path, slack: Received) -> None:
    script = 'pwd >>told; echo "$@" >>told; cat >>told; echo "run 1a2b started"'
    with running(tmp_path, script, slack) as address:
        reply = slash(address, "Fix $(touch harm) 'the' &lt;login", slack)
        assert reply == (200, "starting a run")
        assert slack.wait_for(1) == [("/commands/T1", '{"text": "run 1a2b started"}')]
    told = (tmp_path / "told").read_text(encoding="utf-8").splitlines()
    assert told == [str(tmp_path), "run --issue - --detach", "Fix $(touch harm) 'the' <login"]
    assert not (tmp_path / "harm").exists()


def test_nobody_else_starts_one(tmp_path: Path, slack: Received) -> None:
    with running(tmp_path, ": >told", slack) as address:
        replies = [
            slash(address, "x", slack, secret="another"),
            slash(address, "x", slack, age=3600),
            slash(address, "x", slack, user="U3"),
            slash(address, " ", slack),
        ]
    assert replies == [
        (401, "this is not signed by Slack"),
        (401, "this is not signed by Slack"),
        (200, "you may not start a run here"),
        (200, "write what to do: /ralph Fix the login"),
    ]
    assert not (tmp_path / "told").exists()


def test_a_refusal_reaches_the_channel(tmp_path: Path, slack: Received) -> None:
    with running(tmp_path, "echo 'ralph: a run is under way' >&2; exit 75", slack) as address:
        assert slash(address, "x", slack)[0] == 200
        assert slack.wait_for(1)[0][1] == '{"text": "ralph: a run is under way"}'
