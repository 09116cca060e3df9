"""Plan folder: the joined text of a plan in several files.

Equal folders have equal texts: the files follow each other in the order of their paths, each below
a header that counts its characters, so that no content can be taken for a header.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple


class FolderFile(NamedTuple):
    """One file in the joined text."""

    path: str
    """Relative to the root; empty where the text is that of one file alone."""
    start: int
    """Where its text begins, in characters of the joined text."""
    line: int
    """The line of that, from 0."""
    text: str


_HEADER = re.compile(r"=== (?P<path>[^\n]+), (?P<size>[0-9]+) characters\n")


def join_files(files: Mapping[str, str]) -> str:
    """The joined text of files by their paths."""
    return "".join(
        f"=== {path}, {len(text)} characters\n{text}\n" for path, text in sorted(files.items())
    )


def split_files(text: str) -> tuple[FolderFile, ...]:
    """The files of a joined text; any other text is one file without a path. Total."""
    found = tuple(_files_in(text))
    is_whole = bool(found) and found[-1].start + len(found[-1].text) + 1 == len(text)
    return found if is_whole else (FolderFile("", 0, 0, text),) if text else ()


def _files_in(text: str) -> Iterator[FolderFile]:
    at = line = 0
    while header := _HEADER.match(text, at):
        start, end = header.end(), header.end() + int(header["size"])
        if text[end : end + 1] != "\n":
            return
        yield FolderFile(header["path"], start, line + 1, text[start:end])
        line += text.count("\n", at, end + 1)
        at = end + 1
