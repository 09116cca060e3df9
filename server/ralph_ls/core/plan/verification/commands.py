"""Commands in a plan: recognised, split into words that run without a shell, and compared.

The text of a plan is untrusted, so it is never given to a shell. A command that needs one (a pipe,
a variable, a pattern of file names) is not split: running it in another way than its author
intended would be no evidence.

Unmarked words such as ``(npm test)`` behind a criterion are a command if they begin with a path, or
with the name of a program that builds or tests and is no English word; names that are words as well
need more. The user sees each command before it is run.

Two commands are compared by the rules of a shell. What only determines where or how a command is
started is dropped: ``cd X &&``, ``env A=b``, ``time``, ``./`` and runners such as ``uv run``. The
remaining words of the requested command must be the first words of the command that was run. More
may follow, unless it narrows the selection, runs nothing at all, or hides the exit code.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Container, Sequence

LONGEST = 400
"""Characters; a longer command would not be read before it is approved."""


def words_of_command(command: str) -> tuple[str, ...] | None:
    """The words of a command, quotes resolved; None where only a shell could run it. Total."""
    text = command.strip()
    if not text or len(text) > LONGEST or not text.isprintable():
        return None
    bare = _QUOTED.sub("", text)
    if _OF_SHELLS.search(bare) is not None or _ASSIGNMENT.match(text) is not None:
        return None
    try:
        words = shlex.split(text)
    except ValueError:
        return None
    return tuple(words) if words[0] else None


_QUOTED = re.compile(r"'[^']*'|\"[^\"$`\\]*\"")
"""The characters that a shell does not interpret."""
_OF_SHELLS = re.compile(r"[|&;<>()$`*?\[\]{}!\\]|(?:^|\s)[~#]|=~")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")


Words = tuple[str, ...]


def satisfies_command(asked: str, ran: str) -> bool:
    """Whether a command that was run is the requested one. Total.

    In ``a && b`` both have been run, so each part may be the requested one.
    """
    parts = commands_in(asked)
    left = list(commands_in(ran))
    for part in parts:
        found = next((nth for nth, one in enumerate(left) if _begins_with(one, part)), None)
        if found is None:
            return False
        del left[: found + 1]
    return bool(parts)


def commands_in(text: str) -> tuple[Words, ...]:
    """The commands that ``&&`` joins, each without the words that only start it. Total.

    Of ``a; b`` only ``b`` is kept, because the exit code does not depend on ``a``.
    """
    parts: list[list[str]] = [[]]
    for word in _split(text):
        if word == ";":
            parts = [[]]
        elif word == "&&":
            parts.append([])
        else:
            parts[-1].append(word)
    return tuple(_bare(part) for part in parts if part and part[0] not in _MOVES)


def program_in(text: str) -> str:
    """The program that a command starts, without its folder; empty where there is none. Total."""
    first = next(iter(commands_in(text)), ("",))
    return first[0].rpartition("/")[2]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_REDIRECTION = re.compile(r"(?:&|\b[0-9])?>{1,2}(?:&[0-9]|\s*[^\s|&;<>]+)")
_MOVES = frozenset({"cd", "pushd"})
_ENV_ASSIGNMENT = re.compile(r"(?!PYTEST_ADDOPTS=)[A-Za-z_][A-Za-z0-9_]*=")
_PYTHON = re.compile(r"python(?:[0-9]+(?:\.[0-9]+)*)?|py")
_OWN_FOLDERS = re.compile(
    r"(?:.*/)?(?:\.?v?env/(?:bin|Scripts)|node_modules/\.bin|vendor/bin)/|\./(?=.)"
)
"""The folders of a project's own programs, which a runner would find there."""
_OF_UV = _words("--directory --env-file --extra --group --package --project --python --with -p")
_RUNNERS = {
    "bundle exec": frozenset[str](),
    "bunx": frozenset[str](),
    "env": frozenset({"-u", "-C", "--unset", "--chdir"}),
    "hatch run": frozenset[str](),
    "npm exec": frozenset({"-p", "--package"}),
    "npx": frozenset({"-p", "--package"}),
    "pdm run": frozenset[str](),
    "pipenv run": frozenset[str](),
    "pnpm exec": frozenset[str](),
    "poetry run": frozenset({"-C", "--directory", "-P", "--project"}),
    "rye run": frozenset[str](),
    "time": frozenset({"-f", "--format", "-o", "--output"}),
    "timeout": frozenset({"-k", "--kill-after", "-s", "--signal"}),
    "uv run": _OF_UV,
    "uvx": _OF_UV,
    "yarn exec": frozenset[str](),
}
"""Programs that start another one, with their flags that have a value; and ``python -m``."""


def _split(text: str) -> list[str]:
    lexer = shlex.shlex(_REDIRECTION.sub(" ", text), posix=True, punctuation_chars="|&;")
    lexer.commenters = ""
    lexer.whitespace_split = True
    try:
        return list(lexer)
    except ValueError:
        return text.split()


def _bare(words: Sequence[str]) -> Words:
    """A command as it is compared: as much dropped as leaves something."""
    rest = list(words)
    while 0 < (n_dropped := _n_of_start(rest)) < len(rest):
        del rest[:n_dropped]
    return (_OWN_FOLDERS.sub("", rest[0], count=1), *(one.removeprefix("./") for one in rest[1:]))


def _n_of_start(words: Sequence[str]) -> int:
    """The number of first words that only start the rest."""
    name = words[0].rpartition("/")[2]
    if _ENV_ASSIGNMENT.match(words[0]):
        return 1
    if _PYTHON.fullmatch(name):
        at = _past_flags(words, 1, {"-W", "-X"}, end="-m")
        return at + 1 if list(words[at : at + 1]) == ["-m"] else 0
    for n_words in (1, 2):
        flags = _RUNNERS.get(" ".join((name, *words[1:n_words])))
        if flags is not None:
            at = _past_flags(words, n_words, flags, end="--")
            return at + (name == "timeout" or list(words[at : at + 1]) == ["--"])
    return 0


def _past_flags(words: Sequence[str], at: int, with_value: Collection[str], *, end: str) -> int:
    while at < len(words) and words[at].startswith("-") and words[at] != end:
        at += 2 if words[at] in with_value else 1
    return at


_OPERATOR = re.compile(r"[|&;]+")
_NARROWING = _words(
    """
    -k -t -m -g --grep --filter --only --affected --bin --changed --changedSince --deselect --doc
    --exclude --findRelatedTests --ignore --ignore-glob --last-failed --lf --lib --only-changed
    --only-failed --only-failures --onlyChanged --onlyFailures --shard --since --skip --spec --test
    --test-name-pattern --testNamePattern --testPathPattern --testPathPatterns --tests -Dtest -run
    """
)
_IDLE = _words(
    """
    -h --co --collect-only --dry-run --dryRun --exit-zero --fixtures --help --if-present
    --just-print --list --list-tests --listTests --markers --no-run --passWithNoTests --recon
    --setup-only --setup-plan --version
    """
)
"""Flags with which nothing is run, or nothing can fail."""
_WITH_FILE = _words(
    """
    -C -c -f -o -p --base-url --config --cov --cov-config --cov-report --cwd --file --junit-xml
    --junitxml --log-file --manifest-path --out --output --outputFile --prefix --project --reporter
    --rootdir --tsconfig
    """
)
"""Flags with a file that selects nothing."""
_WHOLE = frozenset({".", "./", "..."})
_ATTACHED = re.compile(r"-k\w")
_PATH = re.compile(r".*(?:(?<!:)/|::|\*|\.[A-Za-z]\w{0,4}\Z)")
_WITH_TARGETS = _words(
    "ant bazel gradle gradlew just make mage mvn mvnw ninja nox rake task tox turbo"
)
"""Programs whose further targets are done as well."""
_BY_NAME = _words("ava bats ctest jest mocha phpunit py.test pytest rspec tap vitest")
"""Programs whose arguments are selected directly, without a sub-command."""


def _begins_with(ran: Words, asked: Words) -> bool:
    return ran[: len(asked)] == asked and not _narrows(ran[len(asked) :], asked)


def _narrows(more: Sequence[str], asked: Words) -> bool:
    """Whether words behind a command have it do less, or hide how it ended."""
    flag = ""
    for nth, word in enumerate(more):
        name = word.partition("=")[0]
        if _OPERATOR.fullmatch(word) or name in _NARROWING | _IDLE or _ATTACHED.match(word):
            return True
        if word.startswith("-"):
            flag = "" if "=" in word or word == "--" else word
            continue
        is_path = _PATH.match(word) is not None and "://" not in word
        is_value = flag and (flag in _WITH_FILE or not is_path)
        flag = ""
        if not is_value and word not in _WHOLE and (is_path or not _may_follow(word, nth, asked)):
            return True
    return False


def _may_follow(word: str, nth: int, asked: Words) -> bool:
    """Whether a word that is neither flag nor path does not reduce what is done."""
    is_verb = nth == 0 and len(asked) == 1 and asked[0] not in _BY_NAME
    return is_verb or word == "run" or asked[0] in _WITH_TARGETS


def is_command(text: str) -> bool:
    """Whether a text without marks is surely meant to be run. Total."""
    words = text.split()
    if not words:
        return False
    name, arguments = words[0], words[1:]
    if _PROGRAM_PATH.match(name) is not None or name in _PROGRAMS:
        return True
    known = _WITH.get(name)
    if known is not None:
        return bool(arguments) and arguments[0] in known
    is_short = len(arguments) == 1 and arguments[0].casefold() not in _ENGLISH
    return name in _AMBIGUOUS and (is_short or any(map(_is_technical, arguments)))


def names_program(name: str, on_path: Container[str] = ()) -> bool:
    """Whether a word is a program: one of the tables, a path, or a name that is on PATH."""
    is_known = name in _PROGRAMS or name in _WITH or name in _AMBIGUOUS
    return is_known or name in on_path or _PROGRAM_PATH.match(name) is not None


class AnyProgram(Container[str]):
    """A substitute for the programs on PATH where these are unknown: contains every name."""

    def __contains__(self, name: object) -> bool:
        return True


def has_plain_words(text: str) -> bool:
    """Whether an unmarked command becomes a sentence: "pytest suite", "make and so"."""
    return any(word.casefold() in _ENGLISH or word in _NOUNS for word in text.split()[1:])


def is_complete_command(text: str) -> bool:
    """Whether every word of a command without marks belongs to it, as far as can be known."""
    name, *arguments = text.split()
    has_verb = bool(arguments) and arguments[0] in _WITH.get(name, _VERBS.get(name, ()))
    rest = arguments[1:] if has_verb else arguments
    return is_command(text) and all(one == "./..." or _is_technical(one) for one in rest)


_PROGRAM_PATH = re.compile(r"\.{0,2}/?(?:[\w.-]+/)+[\w.-]+\Z")
_NAMES = """
bats bazel bundle bunx cargo clippy cmake composer coverage cppcheck ctest cypress dotnet eslint
flake8 golangci-lint gradle gradlew grep helm hatch isort jasmine jest kubectl ktlint meson mocha
mvn mvnw mypy npm npx nox nosetests nx phpstan phpunit pip pipenv pnpm pre-commit prettier psql
pyright pytest python python3 rspec rubocop rubyfmt ruff rustc rustfmt sbt shellcheck stylelint
swiftlint terraform tflint tox tsc turbo uv vitest xcodebuild yarn zig
"""
_PROGRAMS = frozenset(_NAMES.split())
_WITH = {
    "go": frozenset({"build", "fmt", "generate", "run", "test", "tool", "vet"}),
    "git": frozenset({"diff", "fsck", "grep", "log", "ls-files", "rev-parse", "show", "status"}),
    "bun": frozenset({"run", "test", "x"}),
    "deno": frozenset({"check", "fmt", "lint", "run", "task", "test"}),
    "docker": frozenset({"build", "compose", "run"}),
    "poetry": frozenset({"check", "run"}),
    "swift": frozenset({"build", "run", "test"}),
    "mix": frozenset({"compile", "format", "test"}),
    "flutter": frozenset({"analyze", "build", "test"}),
    "dart": frozenset({"analyze", "format", "run", "test"}),
}
"""By the words behind them: these are English words, too."""
_VERBS = {
    "cargo": frozenset({"build", "check", "clippy", "test"}),
    "dotnet": frozenset({"build", "test"}),
    "npm": frozenset({"test"}),
    "pnpm": frozenset({"test"}),
    "ruff": frozenset({"check"}),
    "yarn": frozenset({"test"}),
}
_NOUNS = frozenset({"command", "job", "process", "program", "script", "step", "suite"})
_AMBIGUOUS = frozenset({"bash", "diff", "just", "make", "node", "php", "rake", "ruby", "sh"})
_WORDS = """
a an and any be better certain clear do good is it not of or ready sense sure that the them these
this those up use work works
"""
_ENGLISH = frozenset(_WORDS.split())


def _is_technical(argument: str) -> bool:
    """Whether an argument is none of English: an option, a file, an assignment."""
    return re.search(r"\A--?\w|\w[./=]\w", argument) is not None
