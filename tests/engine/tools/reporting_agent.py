"""An agent that reports by tool: a program that is a client of ``ralph mcp``, from a list of calls.

``python reporting_agent.py CALLS.json``: each call is a tool's name and its arguments; what it gets
is printed as JSON lines, after its prompt was read. ``["sh", "…"]`` runs a command instead,
``["say", "…"]`` prints a line.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


class Client:
    """The smallest client of the protocol that an agent could have."""

    def __init__(self, command: list[str]) -> None:
        self._server = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._number = 0

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        self._server.stdin.write(json.dumps(message) + "\n")
        self._server.stdin.flush()
        answer: dict[str, Any] = json.loads(self._server.stdout.readline())
        return answer

    def close(self) -> int:
        assert self._server.stdin is not None
        self._server.stdin.close()
        return self._server.wait()


def main(calls: Path) -> None:
    sys.stdin.read()
    client = Client([sys.executable, "-I", "-m", "ralph_ls", "mcp"])
    client.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={})
    for name, given in json.loads(calls.read_text(encoding="utf-8")):
        if name == "sh":
            subprocess.run(["/bin/sh", "-c", given], check=True)
        elif name == "say":
            _print(given)
        else:
            answer = client.ask("tools/call", name=name, arguments=given)
            result = answer.get("result", {})
            text = "".join(part["text"] for part in result.get("content", ()))
            _print(json.dumps([name, result.get("isError"), text or answer["error"]["message"]]))
    client.close()


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
