"""Git safety: keeps git from hanging on a repository's files and from running its programs.

git opens ``.gitignore``, ``.gitattributes``, its configuration and its index without checking their
kind: a named pipe in the place of one blocks every command that reads it. The well-known places are
checked before git starts, which takes microseconds; other files are searched only where git takes
longer than two seconds.

``git clone`` copies no settings, but an archive or a shared folder may contain a whole ``.git``. A
read must not run its programs: neither a filter, which git starts to compare a touched file, nor a
transport, which it starts to fetch an object that a partial clone lacks. Once the user has started
a run there, the repository's settings are trusted: the agent's own git follows them anyway, and
without its filters a run would commit something else than git does.
"""

from __future__ import annotations

import os
import re
import stat
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from ralph_ls.protocol.errors import StateUnusable, WorkspaceMissing
from ralph_ls.store.files import LARGEST_FILE, kind_of_irregular, read_regular, size_in_words
from ralph_ls.store.layout import find_worktree

TREE_FILES = (".gitignore", ".gitattributes", ".gitmodules", ".mailmap")
"""Files that git reads in the work tree; the first two in every folder."""

SMALL_FILES = ("config", "config.worktree", "info/attributes", "info/exclude", "info/grafts")
"""Files of the git directory that users edit."""

OWN_FILES = (
    *SMALL_FILES,
    "HEAD",
    "commondir",
    "index",
    "info/sparse-checkout",
    "objects/info/alternates",
    "packed-refs",
    "shallow",
)
"""Files that git reads in its directory."""

MOST_SEARCHED = 200_000
"""Most files and folders that are searched for one that blocks git."""


def require_git_can_read(root: Path) -> None:
    """Raise ``StateUnusable`` with the well-known file that would block git, if there is one."""
    for name in _well_known(root):
        try:
            status = os.stat(name)  # noqa: PTH116 - before every git: a path object costs more
        except (OSError, ValueError):
            continue
        if stat.S_ISREG(status.st_mode) and status.st_size <= LARGEST_FILE:
            continue
        path = Path(name)
        why = why_git_cannot_read(path)
        if why is not None:
            raise StateUnusable(_describe_problem(path, why))


def find_blocking_input(root: Path) -> str | None:
    """After a timeout: the first file that may block git, with the remedy; else None.

    A bounded search of the whole work tree and of git's references.
    """
    for path in (*map(Path, _well_known(root)), *_deeper(root)):
        why = why_git_cannot_read(path)
        if why is not None:
            return _describe_problem(path, why)
    return None


def why_git_cannot_read(path: Path) -> str | None:
    """Problem of a file that git reads, in words that follow its name; None without one."""
    try:
        status = path.stat()
    except (OSError, ValueError):
        # git reports it itself, or treats it as missing.
        return None
    kind = kind_of_irregular(status.st_mode)
    if kind is not None:
        return None if stat.S_ISDIR(status.st_mode) else f"is {kind}, not a regular file"
    is_small = path.name in TREE_FILES or path.parent.name == "info"
    if is_small and status.st_size > LARGEST_FILE:
        return f"is larger than {size_in_words(LARGEST_FILE)}"
    return None


def _describe_problem(path: Path, why: str) -> str:
    return f"{path} {why}, and git cannot work with it; remove it, or replace it with a file"


def _well_known(root: Path) -> Iterator[str]:
    for folder, names in ((root, TREE_FILES), *((one, OWN_FILES) for one in _git_folders(root))):
        start = f"{folder}{os.sep}"
        yield from (start + name for name in names)


def _git_folders(root: Path) -> tuple[Path, ...]:
    """The git directory of the work tree, and the shared one if it differs."""
    if (root / ".git").is_dir():
        return (root / ".git",)
    try:
        place = find_worktree(root)
    except WorkspaceMissing:
        return ()
    return tuple(dict.fromkeys((place.git_dir, place.common_dir)))


def _deeper(root: Path) -> Iterator[Path]:
    """Files that may block git, nearest first: in all folders, then git's references."""
    left = MOST_SEARCHED
    own = _git_folders(root)
    skipped = {os.path.realpath(folder) for folder in own}
    for start in (root, *(folder / "refs" for folder in own)):
        to_list = deque([os.fspath(start)])
        while to_list and left > 0:
            for entry, is_folder in _entries(to_list.popleft()):
                left -= 1
                if is_folder:
                    to_list.extend({entry.path} - skipped)
                elif start is not root or entry.name in TREE_FILES:
                    yield Path(entry.path)


def _entries(folder: str) -> Iterator[tuple[os.DirEntry[str], bool]]:
    """What is in a folder, and whether each is a folder; nothing more where it cannot be read."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                yield entry, entry.is_dir(follow_symlinks=False)
    except OSError:
        return


Ask = Callable[..., bytes]
"""Runs git with these arguments and returns its output."""

NO_TRANSPORT: Mapping[str, str] = {"GIT_ALLOW_PROTOCOL": "none", "GIT_NO_LAZY_FETCH": "1"}
"""Variables that forbid fetching objects, whatever the settings allow."""

_LARGEST = 1 << 20
"""Most bytes of settings that are searched before git is run."""

_LOCAL = {"local", "worktree"}

_NAMES_FILTER = re.compile(rb"\[\s*(?:filter|include)", re.IGNORECASE)

_FILTERS = re.compile(r"filter\.(?P<name>.*)\.(?:clean|smudge|process|required)", re.DOTALL)

_PROGRAM = re.compile(
    r"""
      alias\..*
    | core\.(?:askpass|editor|fsmonitor|gitproxy|hookspath|pager|sshcommand|alternaterefscommand)
    | credential\..*helper
    | diff\.(?:external|.*\.(?:command|textconv))
    | filter\..*\.(?:clean|process|smudge)
    | gpg\.(?:.*\.)?program | gpg\.ssh\.defaultkeycommand
    | interactive\.difffilter
    | merge\..*\.driver | (?:merge|diff)tool\..*\.cmd
    | pager\..*
    | protocol\..*allow
    | remote\..*\.(?:uploadpack|receivepack|vcs|proxy)
    | sendemail\..*cmd | sequence\.editor | trailer\..*\.(?:cmd|command) | uploadpack\..*hook
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)

_SWITCHES = {"", "true", "false", "yes", "no", "on", "off", "0", "1", "never"}
"""Values that name no program: settings such as ``core.fsmonitor`` may be a switch."""

_trusted: set[str] = set()
_known: dict[str, tuple[object, dict[str, str]]] = {}


def trust_git_settings(root: Path) -> None:
    """Allow git to run the programs of this repository's settings, for this process."""
    _trusted.add(os.path.realpath(root))


def disabling_settings(root: Path, ask: Ask) -> Mapping[str, str]:
    """Variables that keep git from running the programs of this repository's settings.

    Empty once they are trusted. Settings of the user and of the system are not affected.
    """
    real = os.path.realpath(root)
    if real in _trusted:
        return {}
    try:
        place = find_worktree(root)
    except WorkspaceMissing:
        return NO_TRANSPORT
    if os.path.realpath(place.root) in _trusted:
        return {}
    files = (place.common_dir / "config", place.git_dir / "config.worktree")
    texts = tuple(_text_of(path) for path in files)
    known = _known.get(real)
    if known is not None and known[0] == texts:
        return known[1]
    found = dict(NO_TRANSPORT)
    if any(_NAMES_FILTER.search(text) for text in texts):
        found |= _as_variables(_off(ask))
    if not any(b"include" in text.lower() for text in texts):
        # Included files may change without these.
        _known[real] = (texts, found)
    return found


def programs_named(ask: Ask) -> tuple[tuple[str, str], ...]:
    """Each setting of the repository that names a program, with its value."""
    return tuple(
        (key, value)
        for key, value in _settings(ask)
        if _PROGRAM.fullmatch(key) and value.strip().lower() not in _SWITCHES
    )


def _off(ask: Ask) -> dict[str, str]:
    """Settings that disable every filter of the repository's settings."""
    matches = (_FILTERS.fullmatch(key) for key, _ in _settings(ask))
    names = sorted({found["name"] for found in matches if found is not None})
    return {
        f"filter.{name}.{key}": value
        for name in names
        for key, value in (("clean", ""), ("smudge", ""), ("process", ""), ("required", "false"))
    }


def _settings(ask: Ask) -> list[tuple[str, str]]:
    """Settings of the repository's files, including the files that they include."""
    fields = ask("config", "-z", "--show-scope", "--includes", "--list").split(b"\0")
    found: list[tuple[str, str]] = []
    for scope, entry in zip(fields[::2], fields[1::2], strict=False):
        if os.fsdecode(scope) in _LOCAL:
            key, _, value = os.fsdecode(entry).partition("\n")
            found.append((key, value))
    return found


def _text_of(path: Path) -> bytes:
    try:
        return read_regular(path, _LARGEST) or b""
    except StateUnusable:
        return b"[include"


def _as_variables(settings: Mapping[str, str]) -> dict[str, str]:
    """As variables after existing ones, since a name in ``-c`` cannot have an equals sign."""
    first = os.environ.get("GIT_CONFIG_COUNT", "")
    start = int(first) if first.isascii() and first.isdigit() else 0
    found = {"GIT_CONFIG_COUNT": str(start + len(settings))}
    for number, (key, value) in enumerate(settings.items(), start=start):
        found |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
    return found
