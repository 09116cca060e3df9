"""Scripts: validation scripts of a work tree, and the files that a script runs with it.

The folder of validation scripts has the name of the single file with ``.d`` at its end:
``validate.sh`` and ``validate.d`` (docs/rules.md#validation).

A script is approved together with the files that it sources or passes to an interpreter, and those
that these source. They are found by reading, never by running (`core.scripts`). Only files of the
work tree are followed, in a bounded number; what is not covered is reported.
"""

from __future__ import annotations

import json
import os
import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from ralph_ls.core.scripts.globs import changeable_globs, matches_globs
from ralph_ls.core.scripts.named_files import FileUse, NamedFiles, files_named_in
from ralph_ls.protocol.config.config import Config
from ralph_ls.protocol.errors import RalphError
from ralph_ls.store.external.git_command import run_git
from ralph_ls.store.files import names_in, read_regular


def validation_folder(config: Config) -> str:
    """Folder of the scripts, relative to the root."""
    return PurePosixPath(config.paths.validate_script).with_suffix(".d").as_posix()


def validation_files(root: Path, config: Config) -> list[str]:
    """Existing validation scripts, executable or not, in the order of execution.

    Hidden files and editor backups (``~``) are skipped. Raises ``StateUnusable`` where the folder
    cannot be listed.
    """
    script, folder = config.paths.validate_script, validation_folder(config)
    found = [script] if (root / script).is_file() else []
    names = [name for name in names_in(root / folder) if (root / folder / name).is_file()]
    kept = [name for name in names if not name.startswith(".") and not name.endswith("~")]
    return [*found, *(f"{folder}/{name}" for name in kept)]


def can_run(root: Path, path: str) -> bool:
    """Whether the script exists and is executable."""
    return (root / path).is_file() and os.access(root / path, os.X_OK)


MOST_FILES = 100
"""Most files that are followed from one script."""

LARGEST_FOLLOWED = 256 << 10
"""Most bytes of a script that is scanned for the files it runs."""

PACKAGE = "package.json"

_PATTERN = re.compile(r"[*?\[]")
_SHEBANG = re.compile(rb"#!\s*(?P<program>\S+)(?:[ \t]+(?P<rest>[^\n]*))?")
_SHELL_NAME = re.compile(r"(?:ba|da|z|k|mk|a|fi)?sh")


@dataclass(frozen=True, slots=True)
class ScriptFile:
    """A file that a script runs, or a part of one."""

    name: str
    """Name for the user: the path, or the path and the part of it."""
    data: bytes
    path: str | None
    """Path, where it is the whole file."""
    is_ignored: bool = False
    """Ignored by git: not a part of the repository, and possibly confidential."""


@dataclass(slots=True)
class ScriptFiles:
    """The files that a script runs, and what could not be followed."""

    files: dict[str, ScriptFile] = field(default_factory=dict)
    not_covered: dict[str, None] = field(default_factory=dict)
    """In words, in order of discovery."""


def files_run_by(
    root: Path, path: str, data: bytes, *, limit: int, approved: Collection[str] = ()
) -> ScriptFiles:
    """Files of the tree that the script at ``path`` runs, without the script itself.

    ``approved`` are names covered by the user's approval of the script: they stay covered,
    whatever the file is now. Raises ``StateUnusable`` for an unreadable file, or one larger than
    ``limit``.
    """
    return _ScriptWalk(root, path, data, limit, approved).run()


class _ScriptWalk:
    def __init__(
        self, root: Path, path: str, data: bytes, limit: int, approved: Collection[str]
    ) -> None:
        self._root = Path(os.path.realpath(root))
        self._limit = limit
        self._approved = approved
        self._open = changeable_globs(data.decode("utf-8", errors="replace"))
        self._found = ScriptFiles()
        self._visited = {posixpath.normpath(path)}
        self._waiting = [(posixpath.normpath(path), data, FileUse.PROGRAM)]

    def run(self) -> ScriptFiles:
        while self._waiting:
            path, data, kind = self._waiting.pop(0)
            if not _is_shell(path, data, kind):
                self._report(f"what {path} imports or runs in turn")
            elif len(data) > LARGEST_FOLLOWED:
                self._report(f"what {path} runs: it is longer than {LARGEST_FOLLOWED >> 10} KB")
            else:
                self._follow(path, files_named_in(data.decode("utf-8", errors="replace")))
            self._shebang(path, data)
        return self._found

    def _report(self, words: str) -> None:
        self._found.not_covered[words] = None

    def _follow(self, path: str, named: NamedFiles) -> None:
        folders = self._folders(path, named.folders)
        wanted: dict[str, FileUse] = {}
        for reference in named.references:
            for one in reference.paths:
                for found in self._candidates(folders, one):
                    wanted.setdefault(found, reference.kind)
        self._take(wanted)
        for script in named.package_scripts:
            self._package_script(folders, script)
        for line in dict.fromkeys(named.computed):
            self._report(f"a file that line {line} of {path} runs: its name is computed")
        for program, file in named.runners.items():
            self._report(f"what {program} runs ({file}, and the project's own files)")

    def _folders(self, path: str, moves: Iterable[str]) -> list[str]:
        """Folders that a name may be relative to: the root, the script's folder, a ``cd``."""
        own = posixpath.dirname(path)
        moved = [posixpath.join(base, move) for base in ("", own) for move in moves if move]
        inside = (posixpath.normpath(one or ".") for one in ("", own, *moved))
        return [one for one in dict.fromkeys(inside) if _is_inside(one)]

    def _candidates(self, folders: Sequence[str], named: str) -> Iterator[str]:
        """Files of the tree that a name may refer to."""
        if "\0" in named or len(named) >= 4096:
            return
        if posixpath.isabs(named):
            inside = os.path.relpath(named, self._root)
            folders, named = ["."], inside.replace(os.sep, "/")
        for folder in folders:
            path = posixpath.normpath(posixpath.join(folder, named))
            if not _is_inside(path):
                continue
            if _PATTERN.search(path):
                yield from self._matches(path)
            elif (self._root / path).is_file():
                yield path

    def _matches(self, pattern: str) -> Iterator[str]:
        """The first files that a pattern of names matches."""
        try:
            matches = sorted(self._root.glob(pattern))
        except (OSError, ValueError):
            return
        for match in matches[: MOST_FILES + 1]:
            if match.is_file():
                yield match.relative_to(self._root).as_posix()

    def _take(self, wanted: dict[str, FileUse]) -> None:
        fresh = {path: kind for path, kind in wanted.items() if path not in self._visited}
        self._visited |= fresh.keys()
        ignored = self._ignored(fresh)
        for path, kind in fresh.items():
            if matches_globs(self._open, [path]):
                self._report(f"{path}: the script may change it")
            elif len(self._found.files) >= MOST_FILES:
                self._report(f"more than {MOST_FILES} files")
            else:
                self._take_one(path, kind, is_ignored=path in ignored)

    def _take_one(self, path: str, kind: FileUse, *, is_ignored: bool) -> None:
        target = Path(os.path.realpath(self._root / path))
        if not target.is_relative_to(self._root):
            # The repository can change the target of a link at any time.
            data = os.fsencode(f"a link to {target}")
            self._found.files[path] = ScriptFile(path, data, path)
            return
        data = read_regular(target, self._limit) or b""
        is_built = kind is FileUse.PROGRAM and (is_ignored or b"\0" in data[:8192])
        if is_built and path not in self._approved:
            what = "git ignores it" if is_ignored else "it is not text"
            self._report(f"{path}: {what}, so it counts as built by the project")
            return
        self._found.files[path] = ScriptFile(path, data, path, is_ignored)
        self._waiting.append((path, data, kind))

    def _ignored(self, paths: Iterable[str]) -> set[str]:
        """Those that git ignores; empty where git fails."""
        names = b"".join(os.fsencode(path) + b"\0" for path in paths)
        if not names:
            return set()
        try:
            printed = run_git(
                self._root, "check-ignore", "-z", "--stdin", accept=(0, 1, 128), stdin=names
            )
        except RalphError:
            return set()
        return {os.fsdecode(one) for one in printed.split(b"\0") if one}

    def _package_script(self, folders: Sequence[str], script: str) -> None:
        """Follow a shell script of ``package.json`` with its pre and post scripts."""
        for folder in folders:
            file = posixpath.normpath(posixpath.join(folder, PACKAGE))
            known = _scripts_in(self._root / file, self._limit)
            texts = {
                name: known[name]
                for name in (f"pre{script}", script, f"post{script}")
                if name in known
            }
            name = f"{file}: scripts.{script}"
            if not texts or name in self._visited:
                continue
            self._visited.add(name)
            data = json.dumps(texts, ensure_ascii=False, indent=2).encode()
            self._found.files[name] = ScriptFile(name, data, None)
            for text in texts.values():
                self._follow(file, files_named_in(text))

    def _shebang(self, path: str, data: bytes) -> None:
        """Follow an interpreter that is a file of the tree."""
        found = _SHEBANG.match(data)
        words = [] if found is None else os.fsdecode(found[0][2:]).split()
        for word in words[:2]:
            if not posixpath.isabs(word) and "/" in word:
                folders = self._folders(path, [])
                self._take(dict.fromkeys(self._candidates(folders, word), FileUse.PROGRAM))


def _is_shell(path: str, data: bytes, kind: FileUse) -> bool:
    """Whether a shell interprets this file."""
    found = _SHEBANG.match(data)
    if kind is FileUse.SHELL:
        return True
    if found is None:
        # Without a shebang the calling shell interprets it; others have file extensions.
        ending = posixpath.splitext(path)[1]
        return b"\0" not in data[:8192] and ending in {"", ".sh", ".bash", ".d"}
    words = [posixpath.basename(word) for word in os.fsdecode(found[0][2:]).split()]
    return any(_SHELL_NAME.fullmatch(word) for word in words[:3])


def _is_inside(path: str) -> bool:
    return path != ".." and not path.startswith("../") and not posixpath.isabs(path)


def _scripts_in(path: Path, limit: int) -> dict[str, str]:
    """Scripts of a ``package.json``; empty where it is missing or unreadable."""
    try:
        value = json.loads(read_regular(path, limit) or b"{}")
    except (RalphError, ValueError, RecursionError):
        return {}
    scripts = value.get("scripts") if isinstance(value, dict) else None
    if not isinstance(scripts, dict):
        return {}
    return {name: text for name, text in scripts.items() if isinstance(text, str)}
