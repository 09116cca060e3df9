"""Files that a shell script runs, as far as its text names them.

Sourced files and arguments of interpreters run with the script, so approving the script means
approving them too. Names that only a running shell can compute are reported, and so are programs
that run the project's code, such as test runners. Does not check which of the files exist.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from ralph_ls.core.scripts.shell import (
    COMPUTED,
    ShellCommand,
    ShellPart,
    ShellWord,
    literal_text,
    shell_commands,
)

MOST_ALTERNATIVES = 64
"""Values that are tried for one word."""

DEEPEST = 4
"""Levels of scripts within words of scripts, as in ``bash -c``."""


class FileUse(StrEnum):
    """How a file is run."""

    SHELL = "shell"
    """Read by a shell, so that files it names are run as well."""
    PROGRAM = "program"
    """Run directly, or by another interpreter."""


@dataclass(frozen=True, slots=True)
class FileReference:
    """A word that names a file which is run."""

    paths: tuple[str, ...]
    """Possible paths, relative or absolute, including shell patterns."""
    kind: FileUse
    line: int


@dataclass(slots=True)
class NamedFiles:
    """The files of a tree that a script runs."""

    references: list[FileReference] = field(default_factory=list)
    package_scripts: list[str] = field(default_factory=list)
    """Scripts of ``package.json``."""
    folders: list[str] = field(default_factory=list)
    """Targets of ``cd``, to which names may be relative."""
    runners: dict[str, str] = field(default_factory=dict)
    """Programs that run the project's code, with the file that says what they run."""
    computed: list[int] = field(default_factory=list)
    """Lines that run a file whose name only a running shell can compute."""


def files_named_in(text: str) -> NamedFiles:
    """Find the files that a shell script names."""
    found = _Reading()
    found.read(text, 0)
    return found.named


_SHELLS = re.compile(r"(?:ba|da|z|k|mk|a|fi)?sh|busybox")
_INTERPRETERS = re.compile(
    r"python[\d.]*|pypy[\d.]*|node|nodejs|deno|bun|ruby|perl|php|lua[\d.]*|Rscript|tsx|ts-node|"
    r"osascript|pwsh|powershell|tclsh|expect|julia|elixir|awk|gawk|jq|psql"
)
_TAKES_VALUE = re.compile(r"[-+]\w*[oO]|--rcfile|--init-file")
_SOURCE = {"source", "."}
_LOADS = {"-f", "--file", "--require", "--import", "--loader"}
"""Flags of interpreters that name another file to run."""
_CODE = {"-c", "-e", "-r", "-p", "-E", "--eval"}
_MOVES = {"cd", "pushd"}
_READS_TEXT = {"eval", "trap"}
_RESERVED = {
    *("if", "then", "else", "elif", "fi", "while", "until", "do", "done", "esac", "{", "}", "!"),
    *("time", "coproc"),
}
_STARTERS = {
    *("env", "exec", "command", "builtin", "nohup", "nice", "timeout", "gtimeout", "sudo", "doas"),
    *("xargs", "setsid", "stdbuf", "ionice", "chronic", "caffeinate", "unbuffer", "parallel"),
    *("uv", "poetry", "pipenv", "pdm", "rye", "hatch", "npx", "bunx", "uvx", "pipx", "bundle"),
    *("mise", "asdf", "direnv", "nix", "nix-shell", "docker", "podman", "xvfb-run", "dotenv"),
    *("flock", "script", "strace", "watch", "retry"),
}
"""Programs whose arguments are another command."""

_MANAGERS = {"npm", "pnpm", "yarn", "bun"}
_OWN_SCRIPTS = {"test", "t", "start", "stop", "restart"}
_OWN_VERBS = {
    *("add", "audit", "build", "ci", "config", "create", "dlx", "exec", "i", "info", "init"),
    *("install", "link", "list", "ls", "outdated", "publish", "remove", "run", "update", "version"),
    *("why", "x", "pm"),
}

RUNNERS = {
    "pytest": "conftest.py",
    "py.test": "conftest.py",
    "tox": "tox.ini",
    "nox": "noxfile.py",
    "make": "Makefile",
    "gmake": "Makefile",
    "just": "justfile",
    "task": "Taskfile.yml",
    "rake": "Rakefile",
    "cargo": "build.rs",
    "go": "go.mod",
    "mvn": "pom.xml",
    "gradle": "build.gradle",
    "gradlew": "build.gradle",
    "jest": "jest.config.js",
    "vitest": "vitest.config.ts",
    "eslint": "eslint.config.js",
    "tsc": "tsconfig.json",
    "pre-commit": ".pre-commit-config.yaml",
    "npm": "package.json",
    "pnpm": "package.json",
    "yarn": "package.json",
    "bun": "package.json",
    "composer": "composer.json",
    "bundle": "Gemfile",
    "mix": "mix.exs",
    "dotnet": "Directory.Build.props",
    "unittest": "the tests",
}
"""Programs that run a project's code, and the file that says most about what they run."""

_MAKES = {"make", "gmake", "just"}
_RUNS_SCRIPT = re.compile(r"[^/]*\.(?:sh|bash|py|js|mjs|cjs|ts|rb|pl)")


class _Reading:
    """The findings, and the values of variables known from the text."""

    def __init__(self) -> None:
        self.named = NamedFiles()
        self._values: dict[str, list[ShellWord]] = {}

    def read(self, text: str, depth: int, line: int = 1) -> None:
        """Variables first, since a function may use one that is set below it."""
        commands = list(shell_commands(text, line=line))
        for command in commands:
            self._assign(command.words)
        for command in commands:
            self._command(command, command.words, depth)

    def _assign(self, words: Sequence[ShellWord]) -> None:
        first = literal_text(words[0])
        if first == "for" and len(words) > 3 and literal_text(words[2]) == "in":
            name = literal_text(words[1])
            self._values.setdefault(name or "", []).extend(words[3:])
            return
        for word in words:
            name, sign, rest = word[0].text.partition("=") if word else ("", "", "")
            if sign and re.fullmatch(r"[A-Za-z_]\w*\+?", name):
                value = (ShellPart(rest), *word[1:])
                self._values.setdefault(name.rstrip("+"), []).append(value)

    def _command(
        self,
        command: ShellCommand,
        words: Sequence[ShellWord],
        depth: int,
        *,
        is_started: bool = False,
    ) -> None:
        words = list(_without_start(words))
        if not words:
            return
        head = literal_text(words[0])
        name = "" if head is None else posixpath.basename(head)
        rest = words[1:]
        is_known = self._builtin(command, head, rest, depth) or self._program(
            command, name, rest, depth
        )
        if not is_known and (
            head is None or "/" in head or (is_started and _RUNS_SCRIPT.fullmatch(head))
        ):
            self._refer(words[:1], FileUse.PROGRAM, command.line)
        if name in RUNNERS:
            self.named.runners[name] = RUNNERS[name]
        if not is_started:
            self._start_others(command, name, rest, depth)

    def _builtin(
        self, command: ShellCommand, head: str | None, rest: Sequence[ShellWord], depth: int
    ) -> bool:
        """Whether the shell itself does it: reads a script, moves, or reads a text as commands."""
        if head in _SOURCE:
            self._refer(rest[:1], FileUse.SHELL, command.line)
        elif head in _MOVES:
            self.named.folders += [path for one in rest[:1] for path in self._paths(one) or ()]
        elif head in _READS_TEXT:
            self._read_words(rest, depth, command.line)
        else:
            return False
        return True

    def _program(
        self, command: ShellCommand, name: str, rest: Sequence[ShellWord], depth: int
    ) -> bool:
        """Whether it is a program whose arguments name what it runs."""
        if _SHELLS.fullmatch(name):
            self._shell(command, rest, depth)
        elif _INTERPRETERS.fullmatch(name):
            self._interpreter(command, name, rest)
        elif name in _MAKES and (file := _value_of(rest, ("-f", "--file", "--makefile"))):
            self._refer([file], FileUse.PROGRAM, command.line)
        elif name in _MANAGERS and (script := _package_script(name, rest)) is not None:
            self.named.package_scripts.append(script)
        else:
            return False
        return True

    def _start_others(
        self, command: ShellCommand, name: str, words: Sequence[ShellWord], depth: int
    ) -> None:
        """Run the command within the arguments of another one.

        Which word is the command depends on the program, so every word is tried.
        """
        is_next = False
        for at, word in enumerate(words):
            known = literal_text(word) or ""
            if is_next or name in _STARTERS:
                is_program = "/" in known or _RUNS_SCRIPT.fullmatch(known)
                if is_program or _starts(posixpath.basename(known)):
                    self._command(command, words[at:], depth, is_started=True)
            is_next = known in {"-exec", "-execdir", "-ok"}

    def _shell(self, command: ShellCommand, words: Sequence[ShellWord], depth: int) -> None:
        at = 0
        while at < len(words) and (flag := literal_text(words[at]) or "")[:1] in {"-", "+"}:
            if re.fullmatch(r"-\w*c", flag):
                self._read_words(words[at + 1 : at + 2], depth, command.line)
                return
            at += 2 if _TAKES_VALUE.fullmatch(flag) else 1
        if at < len(words):
            self._refer(words[at : at + 1], FileUse.SHELL, command.line)
            return
        self._refer(command.inputs, FileUse.SHELL, command.line)
        if command.document is not None and depth < DEEPEST:
            self.read(command.document, depth + 1, command.line + 1)

    def _interpreter(self, command: ShellCommand, name: str, words: Sequence[ShellWord]) -> None:
        at = self._behind_flags(command, words)
        if at is None:
            return
        verb = literal_text(words[at]) if at < len(words) else None
        if name in {"deno", "bun"} and verb in {"run", "test", "x"}:
            at += 1
            if name == "bun" and not self._is_like_file(words[at : at + 1]):
                self.named.runners[name] = RUNNERS[name]
        if name not in {"awk", "gawk", "jq"}:
            self._refer(words[at : at + 1] or command.inputs, FileUse.PROGRAM, command.line)

    def _behind_flags(self, command: ShellCommand, words: Sequence[ShellWord]) -> int | None:
        """Where the file of an interpreter is; None where a flag names a module or has the code."""
        at = 0
        takes_value = {"-W", "-X", *_LOADS}
        while at < len(words) and (flag := literal_text(words[at]) or "").startswith("-"):
            if flag == "-m":
                self._module(words[at + 1 :], command)
                return None
            if flag in _CODE:
                return None
            if flag in _LOADS:
                self._refer(words[at + 1 : at + 2], FileUse.PROGRAM, command.line)
            at += 2 if flag in takes_value else 1
        return at

    def _module(self, words: Sequence[ShellWord], command: ShellCommand) -> None:
        """``python -m`` runs another program by module name."""
        module = literal_text(words[0]) if words else None
        if module is None:
            self.named.computed.append(command.line)
        else:
            # Found on the import path, which begins with the current folder.
            file = RUNNERS.get(module, f"{module.replace('.', '/')}.py")
            self.named.runners[f"python -m {module}"] = file

    def _is_like_file(self, words: Sequence[ShellWord]) -> bool:
        return any("." in (literal_text(word) or ".") for word in words)

    def _read_words(self, words: Iterable[ShellWord], depth: int, line: int) -> None:
        """Read a text that a shell evaluates again; unknown parts stay unknown."""
        if depth < DEEPEST:
            for word in words:
                text = "".join(_as_text(part) for part in word)
                self.read(text, depth + 1, line)

    def _refer(self, words: Iterable[ShellWord], kind: FileUse, line: int) -> None:
        for word in words:
            paths = self._paths(word)
            if paths is None:
                self.named.computed.append(line)
            elif paths and all(paths != one.paths for one in self.named.references):
                self.named.references.append(FileReference(paths, kind, line))

    def _paths(self, word: ShellWord) -> tuple[str, ...] | None:
        """The paths that a word may name; None where only a running shell can compute them."""
        found: dict[str, None] = {}
        for alternative in self._alternatives(word):
            path = _path_of(alternative)
            if path is None:
                return None
            found[path] = None
        return tuple(path for path in found if path not in {"", "-", "/dev/stdin"})

    def _alternatives(self, word: ShellWord, depth: int = 0) -> list[ShellWord]:
        """The word with the known values of its variables."""
        found: list[ShellWord] = [()]
        for part in word:
            ways = self._ways(part, depth)
            found = [(*before, *way) for before in found for way in ways][:MOST_ALTERNATIVES]
        return found

    def _ways(self, part: ShellPart, depth: int) -> list[ShellWord]:
        if not part.variable:
            return [(part,)]
        values = self._values.get(part.variable)
        if values is None or depth >= DEEPEST:
            return [(COMPUTED,)]
        return [one for value in values for one in self._alternatives(value, depth + 1)]


def _starts(name: str) -> bool:
    """Whether a command of this name runs files that its arguments name."""
    return bool(
        name in _SOURCE | _STARTERS | _MANAGERS | RUNNERS.keys()
        or _SHELLS.fullmatch(name)
        or _INTERPRETERS.fullmatch(name)
    )


def _without_start(words: Sequence[ShellWord]) -> Iterator[ShellWord]:
    """The words without leading reserved words and assignments."""
    at = 0
    while at < len(words):
        first = words[at][0].text if words[at] else ""
        is_assignment = re.match(r"[A-Za-z_]\w*\+?=", first) is not None
        if literal_text(words[at]) not in _RESERVED and not is_assignment:
            break
        at += 1
    yield from words[at:]


def _value_of(words: Sequence[ShellWord], flags: Sequence[str]) -> ShellWord | None:
    """The value of the first of these flags, separate or joined."""
    for at, word in enumerate(words):
        if literal_text(word) in flags:
            return next(iter(words[at + 1 :]), None)
        if joined := _joined_value(word, flags):
            return joined
    return None


def _joined_value(word: ShellWord, flags: Sequence[str]) -> ShellWord | None:
    """The value that a word joins to one of these flags, as in ``--file=x`` and ``-fx``."""
    first = word[0].text if word else ""
    for flag in flags:
        joined = f"{flag}=" if flag.startswith("--") else flag
        if first.startswith(joined):
            return (ShellPart(first.removeprefix(joined)), *word[1:])
    return None


def _package_script(name: str, words: Sequence[ShellWord]) -> str | None:
    """The script of ``package.json`` that a package manager runs; None where none is named."""
    known = [text for word in words if not (text := literal_text(word) or "-").startswith("-")]
    match known:
        case ["run" | "run-script", script, *_]:
            return script
        case [script, *_] if script in _OWN_SCRIPTS:
            return "test" if script == "t" else script
        case [script, *_] if name in {"yarn", "pnpm"} and script not in _OWN_VERBS:
            return script
        case _:
            return None


def _as_text(part: ShellPart) -> str:
    """A part as text that a shell would evaluate again."""
    if part.variable:
        return f"${{{part.variable}}}"
    return part.text if part.is_known else "$(:)"


def _path_of(word: ShellWord) -> str | None:
    """The path of a word; a computed part is accepted in front of it, as a folder."""
    at = 0
    while at < len(word) and (not word[at].is_known or word[at].text == ""):
        at += 1
    known = word[at:]
    text = "".join(part.text for part in known)
    if not all(part.is_known for part in known):
        return None
    if at == 0 or all(part.is_known for part in word[:at]):
        return text
    # "$HERE/lib.sh": the folder is most likely the script's or the work tree's.
    return text.lstrip("/") if text.startswith("/") else None
