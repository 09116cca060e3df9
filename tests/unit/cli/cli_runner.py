"""Calling ``ralph`` in this process, as fast as a function; the engine and its agents are real."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ralph_ls.cli.main import main


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What a command line ended with, and what it said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as one JSON document."""
        return json.loads(self.out)

    @property
    def events(self) -> list[dict[str, Any]]:
        """Standard output as one JSON document a line."""
        return [json.loads(line) for line in self.out.splitlines()]


Ralph = Callable[..., Said]
"""Called with a folder and arguments."""


def caller(capsys: pytest.CaptureFixture[str]) -> Ralph:
    """A function that calls ``ralph`` in a folder and gives back what it said."""

    def call(folder: Path, *arguments: str) -> Said:
        capsys.readouterr()
        with contextlib.chdir(folder):
            code = main(list(arguments))
        out, err = capsys.readouterr()
        return Said(code=code, out=out, err=err)

    return call
