"""What a command line says: to people on either stream, to programs as JSON.

Every verb says something, so nothing may be imported here that takes time.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping

from ralph_ls.core.views.model.control_chars import escape_control_chars, escape_json


def print_error(message: str) -> None:
    """Tell an error."""
    sys.stderr.write(f"ralph: {escape_control_chars(message)}\n")


def print_text(message: str) -> None:
    """Tell a person something, plainly; what strangers wrote in it steers no terminal."""
    sys.stdout.write(f"{escape_control_chars(message)}\n")


def emit_json(value: Mapping[str, object], *, indent: int | None = 2) -> None:
    """Write one JSON document for a program; on one line without ``indent``."""
    write_json(json.dumps(value, ensure_ascii=False, indent=indent))


def write_json(text: str) -> None:
    """Write a JSON document, so that what strangers wrote in it steers no terminal."""
    sys.stdout.write(f"{escape_json(text)}\n")
