"""URIs of files: what a client sends, read without ever raising.

pygls raises for ``http://[::1``, takes ``;`` for the beginning of parameters, and makes paths with
a NUL in them. It must never know a document.
"""

from __future__ import annotations

import os
import re
from urllib.parse import unquote_to_bytes

LONGEST_PATH = 4096 if os.name == "posix" else 32_767
"""Characters; longer paths name no file, and looking for one takes long."""

_FILE = re.compile(r"file:(?://([^/?#]*))?([^?#]*)", re.IGNORECASE)
_DRIVE = re.compile(r"/[A-Za-z]:")
_LOCAL = frozenset({"", "localhost"})
_SHOWN = 200
_UNSHOWABLE = re.compile(r"[^\x20-\x7e]")


def path_of_uri(uri: str) -> str | None:
    """The absolute path of a ``file:`` URI on this machine; None for whatever names no such file.

    The host of a UNC path is taken on Windows alone: elsewhere it names another machine.
    """
    parts = _FILE.match(uri)
    if parts is None or len(uri) > 3 * LONGEST_PATH:
        return None
    host, path = _decoded(parts[1] or ""), _decoded(parts[2])
    if host is None or path is None or not path.startswith("/") or len(path) > LONGEST_PATH:
        return None
    is_local = host.lower() in _LOCAL
    if os.name == "nt":
        path = (path[1:] if _DRIVE.match(path) else path) if is_local else f"//{host}{path}"
        return path.replace("/", "\\")
    return path if is_local else None


def shown_uri(uri: str) -> str:
    """A URI as part of a message: without control characters, and of bounded length."""
    text = _UNSHOWABLE.sub("?", uri[: _SHOWN + 1])
    return text if len(uri) <= _SHOWN else f"{text[:_SHOWN]}..."


def _decoded(text: str) -> str | None:
    """Without percent signs; None where that is no text, or holds a NUL."""
    try:
        decoded = unquote_to_bytes(text).decode()
    except UnicodeError:
        return None
    return None if "\0" in decoded else decoded
