"""Home folder of a box: a private folder with mounts of the visible parts of the real one.

Hidden files do not exist there, readable ones are mounted read-only, and files that a program
creates stay in the private folder, which all boxes of a work tree share. So creating a file in the
home folder, or renaming one over another, works for the program and changes nothing for the user.
The private folder is written by the agent: nothing in it is followed or trusted.
"""

from __future__ import annotations

import fnmatch
import os
import shutil
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from ralph_ls.engine.sandbox.home_places import SECRETS, TOOL_FOLDERS
from ralph_ls.protocol.config.agent_catalog import CATALOG
from ralph_ls.protocol.config.agent_facts import AgentHome
from ralph_ls.store.files import make_private_folder

CLAUDE_CONFIG = ".claude.json"


class PlaceTreatment(Enum):
    """Treatment of a place in a box."""

    HIDDEN = "hidden"
    OWN = "own"
    SHARED = "shared"
    COPY = "copy"
    TOKEN = "token"  # noqa: S105


@dataclass(frozen=True, slots=True)
class BoxMount:
    """One step of laying out a box: an option of ``bwrap`` and its arguments."""

    option: str
    arguments: tuple[str, ...]

    @classmethod
    def read_only(cls, source: Path, target: Path | None = None) -> BoxMount:
        return cls("--ro-bind", (str(source), str(target or source)))

    @classmethod
    def writable(cls, source: Path, target: Path | None = None) -> BoxMount:
        return cls("--bind", (str(source), str(target or source)))

    @classmethod
    def empty(cls, target: Path) -> BoxMount:
        return cls("--tmpfs", (str(target),))


@dataclass(frozen=True, slots=True)
class CopiedFile:
    """A file of which a box has a copy."""

    source: Path
    copy: Path
    is_token: bool
    """A change in the copy is taken back, where it is a renewed token."""


@dataclass(slots=True)
class HomeLayout:
    """Mounts, copies and variables of a home folder."""

    mounts: list[BoxMount] = field(default_factory=list)
    copies: list[CopiedFile] = field(default_factory=list)
    variables: dict[str, str] = field(default_factory=dict)


PlaceRules = dict[Path, PlaceTreatment]


def agent_of(program: str) -> str:
    """The agent whose folder a program uses; the program's own name if it is not known."""
    name = Path(program).name
    for agent in CATALOG.values():
        if name == agent.program or (agent.acp is not None and name == agent.acp.argv[0]):
            return agent.name
    return name


def lay_out_home(
    home: Path,
    private: Path,
    environment: Mapping[str, str],
    *,
    agent: str | None,
    hidden: Iterable[Path] = (),
    shown: Iterable[Path] = (),
) -> HomeLayout:
    """Mounts and copies for ``home``; ``private`` is where the box's own files are.

    ``agent`` names whose folder it may use; those of all others are hidden. ``hidden`` is hidden
    besides, ``shown`` is not hidden although a table says so.
    """
    layout = HomeLayout()
    rules, patterns = _rules(home, environment, agent)
    rules[home / CLAUDE_CONFIG] = PlaceTreatment.HIDDEN
    if agent == "claude" and "CLAUDE_CONFIG_DIR" not in environment:
        _move_in(home, private, layout)
    for path in hidden:
        rules[path] = PlaceTreatment.HIDDEN
    visible = {Path(os.path.realpath(path)) for path in shown}
    for path, treatment in list(rules.items()):
        if treatment is PlaceTreatment.HIDDEN:
            if path in visible or Path(os.path.realpath(path)) in visible:
                del rules[path]
            elif path.is_symlink():
                rules[Path(os.path.realpath(path))] = PlaceTreatment.HIDDEN
    _Layers(rules, patterns, layout).lay(home, _folder_in(private, "home"))
    for number, folder in enumerate(_outside(home, rules)):
        _Layers(rules, patterns, layout).lay(folder, _folder_in(private, f"beside-{number}"))
    return layout


def _move_in(home: Path, private: Path, layout: HomeLayout) -> None:
    """Give claude a copy of its ``.claude.json`` in its own folder, by its variable.

    The file names servers to start, and is rewritten by rename in the home folder itself.
    """
    config = home / CLAUDE_CONFIG
    if config.is_file():
        layout.variables["CLAUDE_CONFIG_DIR"] = str(home / ".claude")
        copy = private / "home" / ".claude" / CLAUDE_CONFIG
        layout.copies.append(CopiedFile(config, copy, is_token=False))


def _rules(
    home: Path, environment: Mapping[str, str], agent: str | None
) -> tuple[PlaceRules, dict[Path, list[str]]]:
    rules: PlaceRules = {}
    patterns: dict[Path, list[str]] = {}
    place = _Places(home, environment)
    for secret in SECRETS:
        # Both where it is by itself and where the user has moved it.
        rules[home / secret.path] = rules[place.of(secret.path)] = PlaceTreatment.HIDDEN
    for tool, names in TOOL_FOLDERS.items():
        for folder in {home / tool, place.of(tool)}:
            _add_own(folder, names, rules, patterns)
    for known in CATALOG.values():
        for row in known.folders:
            folder = place.of(row.folder, moved_by=row.moved_by)
            if known.name != agent:
                rules[home / row.folder] = rules[folder] = PlaceTreatment.HIDDEN
                continue
            _add_row(folder, row, rules, patterns)
    return rules, patterns


def _add_row(
    folder: Path, row: AgentHome, rules: PlaceRules, patterns: dict[Path, list[str]]
) -> None:
    _add_own(folder, row.own, rules, patterns)
    for treatment, names in (
        (PlaceTreatment.SHARED, row.sessions),
        (PlaceTreatment.TOKEN, row.tokens),
        (PlaceTreatment.COPY, row.copies),
    ):
        for name in names:
            rules[folder / name] = treatment


def _add_own(
    folder: Path, names: Iterable[str], rules: PlaceRules, patterns: dict[Path, list[str]]
) -> None:
    for name in names:
        path = folder / name
        if "*" in name:
            patterns.setdefault(path.parent, []).append(path.name)
        else:
            rules[path] = PlaceTreatment.OWN


class _Places:
    """Paths of places, for a user who has moved their parent folders."""

    _MOVED = (
        (".config/", "XDG_CONFIG_HOME"),
        (".local/share/", "XDG_DATA_HOME"),
        (".local/state/", "XDG_STATE_HOME"),
        (".cache/", "XDG_CACHE_HOME"),
    )

    def __init__(self, home: Path, environment: Mapping[str, str]) -> None:
        self._home = home
        self._environment = environment

    def of(self, relative: str, *, moved_by: str = "") -> Path:
        named = self._environment.get(moved_by, "") if moved_by else ""
        if named.startswith("/"):
            return Path(named)
        for beginning, variable in self._MOVED:
            base = self._environment.get(variable, "")
            if relative.startswith(beginning) and base.startswith("/"):
                return Path(base) / relative.removeprefix(beginning)
        return self._home / relative


def _outside(home: Path, rules: PlaceRules) -> Iterator[Path]:
    """Folders outside of the home folder that rules are about, none within another."""
    found: list[Path] = []
    for path in sorted({path.parent for path in rules if not path.is_relative_to(home)}):
        if path.is_dir() and not any(path.is_relative_to(other) for other in found):
            found.append(path)
    yield from found


class _Layers:
    """Lays out a folder that rules are about, and those within it."""

    def __init__(
        self, rules: PlaceRules, patterns: Mapping[Path, list[str]], layout: HomeLayout
    ) -> None:
        self._rules = rules
        self._patterns = patterns
        self._layout = layout
        self._layered = {
            parent for path in (*rules, *(one / "_" for one in patterns)) for parent in path.parents
        }

    def lay(self, folder: Path, private: Path) -> None:
        """Mount ``private`` at ``folder``, and into it what of the folder may be seen."""
        self._layout.mounts.append(BoxMount.writable(private, folder))
        self._fill(folder, private)

    def _fill(self, folder: Path, private: Path) -> None:
        _clean(private)
        for entry in _entries(folder):
            path = folder / entry.name
            match self._treatment(path):
                case PlaceTreatment.HIDDEN | PlaceTreatment.OWN:
                    continue
                case PlaceTreatment.SHARED:
                    self._layout.mounts.append(BoxMount.writable(path))
                case PlaceTreatment.COPY | PlaceTreatment.TOKEN as treatment:
                    is_token = treatment is PlaceTreatment.TOKEN
                    self._layout.copies.append(CopiedFile(path, private / entry.name, is_token))
                case None:
                    self._show(entry, path, private)
        self._make_shared(folder)

    def _show(self, entry: os.DirEntry[str], path: Path, private: Path) -> None:
        if path in self._layered and path.is_dir():
            # Also through a link: what is behind it is laid out like a folder.
            self._fill(path, _folder_in(private, entry.name))
        elif entry.is_symlink():
            _link(private / entry.name, str(path.readlink()))
        elif entry.is_dir() or entry.is_file():
            # Sockets and pipes are left out: processes outside listen to them.
            self._layout.mounts.append(BoxMount.read_only(path))

    def _make_shared(self, folder: Path) -> None:
        """A folder of sessions that is not there yet is made, so that it is kept."""
        for path, treatment in self._rules.items():
            if treatment is PlaceTreatment.SHARED and path.parent == folder and not path.exists():
                make_private_folder(path)
                self._layout.mounts.append(BoxMount.writable(path))

    def _treatment(self, path: Path) -> PlaceTreatment | None:
        known = self._rules.get(path)
        if known is not None:
            return known
        if any(fnmatch.fnmatchcase(path.name, one) for one in self._patterns.get(path.parent, ())):
            return PlaceTreatment.OWN
        return None


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as found:
            return sorted(found, key=lambda entry: entry.name)
    except OSError:
        return []


def _folder_in(parent: Path, name: str) -> Path:
    """A real folder in a private one, whatever a program has left under its name."""
    path = parent / name
    try:
        is_folder = stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        is_folder = False
    if not is_folder:
        path.unlink(missing_ok=True)
        make_private_folder(path)
    return path


def _clean(private: Path) -> None:
    """Remove links and what is empty: each was made to mount something there, or might mislead."""
    for entry in _entries(private):
        path = private / entry.name
        if entry.is_symlink() or not (
            entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False)
        ):
            path.unlink(missing_ok=True)
        elif entry.is_file(follow_symlinks=False):
            if entry.stat(follow_symlinks=False).st_size == 0:
                path.unlink(missing_ok=True)
        elif not _entries(path):
            shutil.rmtree(path, ignore_errors=True)


def _link(path: Path, target: str) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    path.symlink_to(target)
