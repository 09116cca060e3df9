"""Output of the command line: text for users on either stream, JSON for programs.

Every verb needs it, so it imports nothing slow.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

from ralph_ls.core.views.model.control_chars import escape_control_chars, escape_json


def print_error(message: str) -> None:
    """Print an error."""
    sys.stderr.write(f"ralph: {escape_control_chars(message)}\n")


def print_text(message: str) -> None:
    """Print text for the user, with control characters escaped."""
    sys.stdout.write(f"{escape_control_chars(message)}\n")


def emit_json(value: Mapping[str, object], *, indent: int | None = 2) -> None:
    """Write one JSON document for a program; on one line without ``indent``."""
    write_json(json.dumps(value, ensure_ascii=False, indent=indent))


def write_json(text: str) -> None:
    """Write a JSON document, so that what strangers wrote in it steers no terminal."""
    sys.stdout.write(f"{escape_json(text)}\n")
