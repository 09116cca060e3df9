"""Asking which plan is meant, where several lie there and there is somebody to ask (SPEC §3)."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

import typer

from ralph_ls.cli.context import here
from ralph_ls.cli.output import say
from ralph_ls.protocol.errors import RalphError
from ralph_ls.store.project.config_file import load_settings


def ask_profile(overrides: Mapping[str, Any]) -> str | None:
    """The profile that a person chooses; None where nothing is to be asked, or nobody there.

    What is wrong with the settings is said by the start, which reads them again.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    try:
        detected = load_settings(here().worktree.root, os.environ, overrides).detected
    except RalphError:
        return None
    if len(detected) < 2:
        return None
    say("Several plans lie here:")
    for one in detected:
        say(f"  {one.profile.value:8} {one.sign}")
    names = [one.profile.value for one in detected]

    def checked(typed: str) -> str:
        if typed.strip() not in names:
            raise typer.BadParameter(f"it must be one of {', '.join(names)}")
        return typed.strip()

    return str(typer.prompt("Which one is meant?", value_proc=checked))
