"""Writing into an index by plumbing, and a committer for commits that no person makes."""

from __future__ import annotations

from collections.abc import Iterable

BY_RALPH = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "ralph"), ("EMAIL", "ralph@localhost"))
}
"""Who makes a snapshot: no person does, and there may be no name to commit with."""


def index_info(lines: Iterable[tuple[bytes, bytes, bytes]]) -> bytes:
    """What ``update-index --index-info`` reads; mode 0 takes a path out."""
    # What goes comes first: where a file was, a folder may come.
    ordered = sorted(lines, key=lambda line: line[1].strip(b"0") != b"")
    return b"".join(
        (b"0 " + value if not mode.strip(b"0") else mode + b" " + value) + b"\t" + path + b"\0"
        for path, mode, value in ordered
    )
