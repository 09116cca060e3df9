"""Box: one program in separate mount and process namespaces, made by bubblewrap.

It sees the system read-only, the work tree writable except for what git runs, a private home folder
(``home``), and those files of the loop that its command is given. It sees no other process, has no
terminal, and ends with the engine. All permissions are decided here. Programs that the engine
starts for the user (git, the commands of ``on_*``) are not in the box.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import ralph_ls
from ralph_ls.engine.sandbox.cleanup import (
    Links,
    TokenCopy,
    WritePlaces,
    copy_in,
    end_processes,
    links_in,
    remove_new_links,
    take_back,
)
from ralph_ls.engine.sandbox.home import BoxMount, CopiedFile, lay_out_home
from ralph_ls.engine.sandbox.home_places import KEPT_OF_RUN, SYSTEM_SECRETS, TEMPORARY, VARIABLES
from ralph_ls.engine.sandbox.repository import (
    hooks_in_tree,
    leave_repository,
    protect_repository,
    written_by_git,
)
from ralph_ls.protocol.config.agent import SandboxConfig
from ralph_ls.protocol.errors import ConfigError
from ralph_ls.protocol.run.agent_tools import SOCKET
from ralph_ls.store import iteration_socket
from ralph_ls.store.files import PRIVATE_FILE, make_private_folder, write_atomic
from ralph_ls.store.layout import StateFolder, Worktree

PRIVATE = "sandbox"
"""The folder for private files of boxes, in the state of a work tree."""

OPEN = "open.json"
"""Exists while a box is open: the links that existed before."""

IGNORE_TERM = ("/bin/sh", "-c", 'trap "" TERM; exec "$@"', "sh")
"""Makes bubblewrap ignore TERM, which would kill the agent before it can end itself."""

TAKE_TERM = ("env", "--default-signal=TERM")
"""Restores the handling of TERM for the agent."""

_ISOLATION = (
    *("--unshare-user-try", "--unshare-pid", "--unshare-ipc", "--unshare-uts"),
    *("--unshare-cgroup-try", "--die-with-parent", "--new-session", "--cap-drop", "ALL"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxFiles:
    """Files of the run that a boxed program needs at their own paths."""

    readable: tuple[Path, ...] = ()
    writable: tuple[Path, ...] = ()
    hook: Path | None = None
    """The folder of the socket that the agent's hooks ask."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxedCommand:
    """A command in a box, and what cleaning up after it needs."""

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    copies: tuple[TokenCopy, ...] = ()
    links: Links = field(default_factory=dict)
    """The links in the places of ``Box.written_outside`` when it was started."""
    settings: tuple[int, int] | None = None
    """The repository's settings when it was started, as ``_identity`` has them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Box:
    """Confinement of programs to one work tree."""

    program: str
    """Bubblewrap's."""
    config: SandboxConfig
    worktree: Worktree
    state: StateFolder
    state_root: Path
    resets_signals: bool = True
    """Whether this system's ``env`` can restore the handling of a signal."""
    own_places: tuple[str, ...] = ()
    """Files and folders of the work tree that the loop writes."""
    own_folders: tuple[str, ...] = ()
    """Those of them that it makes files in."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """The caller's environment, which names the home folder."""

    @property
    def homes(self) -> tuple[Path, ...]:
        """The user's home folders, that of ``HOME`` first: it may differ from the system's."""
        named = (self.environment.get("HOME", ""), _home_of_user())
        real = (Path(os.path.realpath(one)) for one in named if one.startswith("/"))
        return tuple(dict.fromkeys(one for one in real if one != Path("/") and one.is_dir()))

    @property
    def private(self) -> Path:
        return self.state.folder / PRIVATE

    def around(
        self,
        argv: Sequence[str],
        environment: Mapping[str, str],
        *,
        agent: str | None = None,
        files: BoxFiles | None = None,
    ) -> BoxedCommand:
        """The command in the box; ``agent`` names the agent whose own files it may use.

        Copies of its tokens are made, so call ``leave`` when the command has ended.
        """
        links = links_in(self._written_outside())
        self._remember(links)
        inner = {name: value for name, value in environment.items() if name not in VARIABLES}
        inner["TMPDIR"] = "/tmp"  # noqa: S108
        if files is not None and files.hook is not None:
            place = f"{iteration_socket.INSIDE}/{iteration_socket.NAME}"
            inner[iteration_socket.VARIABLE] = place
            if SOCKET in inner:
                inner[SOCKET] = place
        mounts: list[BoxMount] = [*_system(), *_other_homes(self.homes)]
        mounts += self._programs(argv, inner)
        copied: list[CopiedFile] = []
        for number, home in enumerate(self.homes):
            layout = lay_out_home(
                home,
                make_private_folder(self.private / str(number)),
                environment if number == 0 else {},
                agent=agent,
                shown=self._named(self.config.show),
            )
            mounts += layout.mounts
            copied += layout.copies
            inner.update(layout.variables)
        copies = copy_in(copied)
        mounts += [BoxMount.read_only(path) for path in self._named(self.config.show)]
        mounts += [BoxMount.writable(path) for path in self._named(self.config.writable)]
        mounts += self._run(files or BoxFiles())
        words = [self.program, *_ISOLATION]
        if not self.config.network:
            words.append("--unshare-net")
        for mount in mounts:
            words += (mount.option, *mount.arguments)
        words += ("--chdir", str(self.worktree.root), "--", *self._start(argv))
        started = (*IGNORE_TERM, *words) if self.resets_signals else tuple(words)
        return BoxedCommand(
            argv=started,
            environment=inner,
            copies=copies,
            links=links,
            settings=_identity(self.worktree.common_dir / "config"),
        )

    def leave(self, boxed: BoxedCommand) -> str | None:
        """Take back renewed tokens, and remove what was made to be mounted.

        What a user should know of it, in words: git outside replaces its settings by rename, which
        takes the mount over them away, so that what was in the box could write the new ones.
        """
        take_back(boxed.copies)
        removed = self._clear_up(boxed.links)
        if removed:
            shown = ", ".join(str(path) for path in removed[:3])
            return (
                "links that appeared in places where git and the loop write were removed: "
                f"{shown}{' and more' if removed[3:] else ''}"
            )
        config = self.worktree.common_dir / "config"
        if _identity(config) == boxed.settings:
            return None
        return (
            f"{config} changed from outside while the agent worked, and the agent could have "
            "changed it afterwards too; check it before you continue: git config --local --list"
        )

    def recover(self) -> None:
        """Clean up after the box of a killed engine, whose programs ended with it."""
        try:
            before = json.loads((self.private / OPEN).read_bytes())
            links = {Path(path): str(target) for path, target in before.items()}
        except (OSError, ValueError, AttributeError):
            return
        self._clear_up(links)

    def _clear_up(self, links: Links) -> list[Path]:
        end_processes(self.private)
        removed = remove_new_links(self._written_outside(), links)
        leave_repository(self.worktree)
        (self.private / OPEN).unlink(missing_ok=True)
        return removed

    def _remember(self, links: Links) -> None:
        """For the next engine, should this one be killed."""
        data = json.dumps({str(path): target for path, target in links.items()}).encode()
        write_atomic(make_private_folder(self.private) / OPEN, data, mode=PRIVATE_FILE)

    def _written_outside(self) -> WritePlaces:
        """Places in which git and the loop write later, with the user's rights."""
        root, of_git = self.worktree.root, written_by_git(self.worktree)
        paths = [*of_git.paths]
        for name in self.own_places:
            # Each folder on the way may be a link too.
            parts = Path(name).parts
            paths += [root.joinpath(*parts[:depth]) for depth in range(1, len(parts) + 1)]
        trees = (*of_git.trees, root / ".ralph", *(root / name for name in self.own_folders))
        return WritePlaces(paths=tuple(dict.fromkeys(paths)), trees=tuple(dict.fromkeys(trees)))

    def _start(self, argv: Sequence[str]) -> tuple[str, ...]:
        return (*TAKE_TERM, *argv) if self.resets_signals else tuple(argv)

    def _tree(self) -> Iterable[BoxMount]:
        yield BoxMount.writable(self.worktree.root)
        yield from protect_repository(self.worktree)
        for folder in hooks_in_tree(self.worktree):
            yield BoxMount.read_only(folder)

    def _run(self, files: BoxFiles) -> Iterable[BoxMount]:
        """Mounts the work tree, and an empty, read-only folder in place of the loop's state.

        In that are these files, and the work tree where it is a lane's, as those are there.
        """
        root = Path(os.path.realpath(self.state_root))
        is_lane = self.worktree.root.is_relative_to(root)
        if not is_lane:
            yield from self._tree()
        if root.is_dir():
            yield BoxMount.empty(root)
        if is_lane:
            yield from self._tree()
        yield from (BoxMount.read_only(path) for path in files.readable)
        yield from (BoxMount.writable(path) for path in files.writable)
        if files.hook is not None:
            yield BoxMount.read_only(files.hook, Path(iteration_socket.INSIDE))
        if root.is_dir():
            yield BoxMount("--remount-ro", (str(root),))

    def _named(self, paths: Iterable[str]) -> Iterable[Path]:
        for path in paths:
            is_in_home = path.startswith("~/") and self.homes
            full = self.homes[0] / path.removeprefix("~/") if is_in_home else Path(path)
            if full.exists():
                yield full

    def _programs(self, argv: Sequence[str], environment: Mapping[str, str]) -> Iterable[BoxMount]:
        """Mounts of programs that must run and are in a private folder of the box."""
        wanted = [sys.prefix, sys.base_prefix, str(Path(ralph_ls.__file__).parents[1])]
        wanted += [path for path in environment.get("PATH", "").split(os.pathsep) if path]
        for word in argv:
            if word.startswith("/") and Path(word).is_file():
                wanted += _package_of(Path(word))
        root = self.worktree.root
        for path in dict.fromkeys(Path(os.path.abspath(one)) for one in wanted):
            if path.exists() and not path.is_relative_to(root) and self._is_hidden(path):
                yield BoxMount.read_only(path)

    def _is_hidden(self, path: Path) -> bool:
        real = Path(os.path.realpath(path))
        if any(real.is_relative_to(home) for home in self.homes):
            return False
        if any(real == Path(one) or path == Path(one) for one in _PARENTS):
            return False
        return any(real.is_relative_to(one) for one in (*TEMPORARY, *_PARENTS))


_PARENTS = ("/home", "/root")


def _system() -> Iterable[BoxMount]:
    yield BoxMount.read_only(Path("/"))
    yield BoxMount("--dev", ("/dev",))
    yield BoxMount("--proc", ("/proc",))
    kept = [Path(path) for path in KEPT_OF_RUN if Path(path).exists()]
    resolver = Path(os.path.realpath("/etc/resolv.conf"))
    if resolver.is_file() and resolver.is_relative_to("/run"):
        kept.append(resolver)
    for name in TEMPORARY:
        folder = Path(name)
        if folder.is_dir() and not folder.is_symlink() and not folder.is_relative_to("/dev"):
            yield BoxMount.empty(folder)
    yield from (BoxMount.read_only(path) for path in kept)
    for name in SYSTEM_SECRETS:
        if Path(name).is_file():
            yield BoxMount.read_only(Path(os.devnull), Path(name))


def _other_homes(homes: Sequence[Path]) -> Iterable[BoxMount]:
    """Mounts that hide the home folders of other users."""
    for name in _PARENTS:
        folder = Path(name)
        if folder.is_dir() and not folder.is_symlink() and folder not in homes:
            yield BoxMount.empty(folder)


def _identity(path: Path) -> tuple[int, int] | None:
    """Inode and modification time of a file."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns


def _home_of_user() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:
        return ""


def _package_of(program: Path) -> list[str]:
    """A program and what a link leads to, or the packages that it belongs to."""
    real = Path(os.path.realpath(program))
    modules = [parent for parent in real.parents if parent.name == "node_modules"]
    return [str(program), str(modules[-1] if modules else real)]


def require_usable(box: Box) -> None:
    """Raise ``ConfigError`` where the work tree overlaps with hidden folders."""
    root = box.worktree.root
    if any(home.is_relative_to(root) for home in box.homes):
        raise ConfigError(
            f"sandbox: the work tree {root} contains your home folder, which a sandbox hides; use "
            "a repository below it, or start without a sandbox"
        )
    if (root / ".git").is_symlink():
        raise ConfigError(
            f"sandbox: {root / '.git'} is a link, which a program in the sandbox could replace; "
            "put the git directory in its place, or create a linked work tree with git worktree "
            "add"
        )
