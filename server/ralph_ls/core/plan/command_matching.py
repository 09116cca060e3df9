"""Compares commands: whether what was run is what a criterion asks for.

Both sides are split by the rules of a shell. What only says where or how a command is started is
dropped: ``cd X &&``, ``env A=b``, ``time``, ``./`` and runners such as ``uv run``. The words that
were asked for must then be the first words of the command that was run. More may follow, unless it
narrows what is selected, runs nothing at all, or hides the exit code. Nothing is run here.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Sequence

Words = tuple[str, ...]


def proves(asked: str, ran: str) -> bool:
    """Whether a command that was run is the one that is asked for. Total.

    In ``a && b`` both have been run, so each part may be what was asked for.
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
    """The commands that ``&&`` joins, each without what only says how it is started. Total.

    Of ``a; b`` only ``b`` is left, since the exit code says nothing of ``a``.
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
_ASSIGNMENT = re.compile(r"(?!PYTEST_ADDOPTS=)[A-Za-z_][A-Za-z0-9_]*=")
_PYTHON = re.compile(r"python(?:[0-9]+(?:\.[0-9]+)*)?|py")
_OWN_FOLDERS = re.compile(
    r"(?:.*/)?(?:\.?v?env/(?:bin|Scripts)|node_modules/\.bin|vendor/bin)/|\./(?=.)"
)
"""Where a project keeps its own programs, which a runner would find there."""
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
"""What starts another program, and its flags that have a value; ``python -m`` besides."""


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
    """How many first words only say how the rest is started."""
    name = words[0].rpartition("/")[2]
    if _ASSIGNMENT.match(words[0]):
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
"""With these nothing is run, or nothing can fail."""
_WITH_FILE = _words(
    """
    -C -c -f -o -p --base-url --config --cov --cov-config --cov-report --cwd --file --junit-xml
    --junitxml --log-file --manifest-path --out --output --outputFile --prefix --project --reporter
    --rootdir --tsconfig
    """
)
"""What follows is a file that selects nothing."""
_WHOLE = frozenset({".", "./", "..."})
_ATTACHED = re.compile(r"-k\w")
_PATH = re.compile(r".*(?:(?<!:)/|::|\*|\.[A-Za-z]\w{0,4}\Z)")
_WITH_TARGETS = _words(
    "ant bazel gradle gradlew just make mage mvn mvnw ninja nox rake task tox turbo"
)
"""What follows their targets is done as well."""
_BY_NAME = _words("ava bats ctest jest mocha phpunit py.test pytest rspec tap vitest")
"""What follows them is selected at once, without a word for what to do."""


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
    """Whether a word that is neither flag nor path has no less done than without it."""
    is_verb = nth == 0 and len(asked) == 1 and asked[0] not in _BY_NAME
    return is_verb or word == "run" or asked[0] in _WITH_TARGETS
