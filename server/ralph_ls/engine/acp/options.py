"""What the client is told on its command line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from ralph_ls.engine.acp.policy import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How to speak with one agent."""

    argv: tuple[str, ...]
    """The agent's own command line."""
    policy: Policy
    session: str | None = None
    """The session to go on in; None: a fresh one."""
    model: str | None = None
    mode: str | None = None
    """The mode to work in, by its id; None: one that asks nothing, where there is one."""
    login: str | None = None
    """The method by which to log in, where the agent wants that first."""


def read_options(arguments: Sequence[str]) -> Options:
    """Read the command line; ends the process with 2 where it is wrong."""
    parser = argparse.ArgumentParser(prog="ralph_ls.engine.acp", allow_abbrev=False)
    parser.add_argument("--session")
    parser.add_argument("--model")
    parser.add_argument("--mode")
    parser.add_argument("--login")
    parser.add_argument("--only", action="store_true", help="nothing but what --allow names")
    parser.add_argument("--allow", action="append", default=[])
    parser.add_argument("--deny", action="append", default=[])
    parser.add_argument("argv", nargs="+", help="the agent's command line, behind --")
    given = parser.parse_args(arguments)
    return Options(
        argv=tuple(given.argv),
        policy=Policy(allow=tuple(given.allow) if given.only else None, deny=tuple(given.deny)),
        session=given.session,
        model=given.model,
        mode=given.mode,
        login=given.login,
    )
