"""Command line and output of the client: flags, and the records that it prints.

Prints the protocol's messages as they arrive, and a separate record for each step that the messages
do not show. One JSON object a line.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

from ralph_ls.engine.agent.acp.policy import PermissionPolicy
from ralph_ls.protocol.run.agent_tools import SOCKET, TICKET

OWN_RECORD = "client"
"""The key that only our own records have; its value is the kind of record."""

MOST_NOISE_LINES = 50
"""Limit of reported lines that are not messages."""

LONGEST_NOISE_LINE = 2_000
"""Characters."""


class RecordWriter:
    """Standard output."""

    def __init__(self, out: BinaryIO | None = None) -> None:
        self._out = sys.stdout.buffer if out is None else out
        self._n_noise = 0

    def message(self, line: bytes) -> None:
        """A message of the agent, as it came."""
        self._out.write(line)
        self._out.write(b"\n")
        self._out.flush()

    def own(self, what: str, **more: Any) -> None:
        """Print a record that is not a message of the protocol."""
        self.message(json.dumps({OWN_RECORD: what, **more}, ensure_ascii=True).encode())

    def noise(self, line: bytes) -> None:
        """Something that the agent printed and that is no message."""
        self._n_noise += 1
        text = line.decode("utf-8", errors="replace").strip()
        if text and self._n_noise <= MOST_NOISE_LINES:
            self.own("noise", text=text[:LONGEST_NOISE_LINE])


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Options of one conversation."""

    argv: tuple[str, ...]
    """The agent's own command line."""
    policy: PermissionPolicy
    session: str | None = None
    """The session to resume; None: a new one."""
    model: str | None = None
    mode: str | None = None
    """The mode to work in, by its id; None: one that asks nothing, where there is one."""
    servers: tuple[Mapping[str, Any], ...] = ()
    """Servers of MCP for the session, as the protocol has them."""
    login: str | None = None
    """The method by which to log in, where the agent wants that first."""


def read_options(arguments: Sequence[str]) -> Options:
    """Read the command line; ends the process with 2 where it is wrong."""
    parser = argparse.ArgumentParser(prog="ralph_ls.engine.agent.acp", allow_abbrev=False)
    parser.add_argument("--session")
    parser.add_argument("--model")
    parser.add_argument("--mode")
    parser.add_argument("--login")
    parser.add_argument("--tools", type=json.loads, help="a server of MCP, as JSON")
    parser.add_argument("--only", action="store_true", help="only what --allow names")
    parser.add_argument("--allow", action="append", default=[])
    parser.add_argument("--deny", action="append", default=[])
    parser.add_argument("argv", nargs="+", help="the agent's command line, behind --")
    given = parser.parse_args(arguments)
    return Options(
        argv=tuple(given.argv),
        policy=PermissionPolicy(
            allow=tuple(given.allow) if given.only else None, deny=tuple(given.deny)
        ),
        session=given.session,
        model=given.model,
        mode=given.mode,
        login=given.login,
        servers=() if given.tools is None else (_server(given.tools),),
    )


def _server(given: Mapping[str, Any]) -> Mapping[str, Any]:
    """The server with its variables, which an agent need not pass on; a token is no argument."""
    names = [name for name in (SOCKET, TICKET) if name in os.environ]
    return {**given, "env": [{"name": name, "value": os.environ[name]} for name in names]}
