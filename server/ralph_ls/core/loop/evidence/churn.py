"""Churn: changes that repeat themselves, distinguished from work by names and by content.

An agent without progress still leaves changed files behind: a log of its test runs grows, a
database is written, a timestamp is renewed. Three things are known of such a change, and the rules
of evidence decide by them:

- A file looks like output if its name is in the table of ``OUTPUT_PATTERNS``, if it is binary, or
  if its only change is appended lines in a shape that the file already had. The shape of a line is
  the line without its numbers, times and hashes. Rows of numbers alone are data.
- A change of times alone is output too. Neither holds for source files, data sets and fixtures.
- A change may be one of white space alone.

All rules here are about bytes and names; nothing depends on git or on the run.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import translate

from ralph_ls.protocol.run.values import Again

OUTPUT_PATTERNS = (
    "*.log",
    "*.log.[0-9]*",
    "*.out",
    "*.err",
    "*.tmp",
    "*.temp",
    "*.bak",
    "*.swp",
    "*.pid",
    "*.lock.tmp",
    "*.trace",
    "*.prof",
    "*.db",
    "*.db-journal",
    "*.db-shm",
    "*.db-wal",
    "*.sqlite",
    "*.sqlite3",
    "*.sqlite-*",
    "*.sqlite3-*",
    "*.pyc",
    "*.tsbuildinfo",
    "*.lcov",
    "*.cover",
    "nohup.out",
    ".coverage",
    ".coverage.*",
    "coverage.xml",
    "coverage.json",
    "coverage-final.json",
    "lcov.info",
    "junit.xml",
    ".eslintcache",
    ".stylelintcache",
    ".ds_store",
)
"""Names of files that programs write as they run; compared in lower case."""

OUTPUT_FOLDERS = (
    "coverage",
    "htmlcov",
    ".nyc_output",
    "log",
    "logs",
    "tmp",
    "temp",
    ".tmp",
    "__pycache__",
    "*cache",
    "*_cache",
    "*.cache",
    "test-results",
    "playwright-report",
)
"""Names of folders in which everything is output; compared in lower case."""

SOURCE_FOLDERS = frozenset(
    {
        "__fixtures__",
        "__snapshots__",
        "examples",
        "fixtures",
        "samples",
        "snapshots",
        "test-data",
        "test_data",
        "testdata",
    }
)
"""Names of folders whose logs and databases are source material; compared in lower case."""

SOURCE_SUFFIXES = (
    *(".csv", ".jsonl", ".ndjson", ".tsv"),
    *(".adoc", ".bash", ".c", ".cc", ".clj", ".cljs", ".cpp", ".cs", ".css", ".cu", ".cxx"),
    *(".dart", ".el", ".elm", ".erl", ".ex", ".exs", ".f90", ".fs", ".go", ".gradle", ".groovy"),
    *(".h", ".hcl", ".hh", ".hpp", ".hrl", ".hs", ".htm", ".html", ".ipynb", ".java", ".jl"),
    *(".js", ".jsx", ".kt", ".kts", ".less", ".lean", ".lisp", ".lua", ".m", ".mjs", ".ml"),
    *(".mli", ".mm", ".nim", ".nix", ".php", ".pl", ".pm", ".proto", ".ps1", ".py", ".pyi"),
    *(".pyx", ".r", ".rb", ".rkt", ".rs", ".sass", ".scala", ".scm", ".scss", ".sh", ".sol"),
    *(".sql", ".svelte", ".swift", ".tcl", ".tex", ".tf", ".ts", ".tsx", ".v", ".vb", ".vhd"),
    *(".vim", ".vue", ".wat", ".zig", ".zsh"),
)
"""Ends of the names of programs and data sets, whose lines repeat their shapes by nature."""

SHAPES_LIMIT = 5000
"""Lines of a file whose shapes are known: the newest ones."""

_TIME = re.compile(
    r"\d{4}-\d{2}-\d{2}(?:[T_ ]\d{2}[:.]?\d{2}(?:[:.]?\d{2}(?:[.,]\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?"
    r"|\b\d{4}/\d{2}/\d{2}\b"
    r"|\b\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?\b"
    r"|\b(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? )?(?:\d{1,2} )?"
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]* \d{1,2},?(?: \d{4})?\b"
    r"|\b(?:mon|tue|wed|thu|fri|sat|sun)\b"
    r"|\b1[5-9]\d{8}(?:\d{3}){0,3}\b",
    re.IGNORECASE,
)
"""Dates, times of day, and seconds (also thousandths and less) since the epoch."""

_HEX = re.compile(r"\b(?=[0-9a-f-]*\d)[0-9a-f]{7,}(?:-[0-9a-f]{4,})*\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_SPACE = re.compile(rb"\s+")
_TIME_MARK, _NUMBER_MARK = "\x01", "\x02"


def looks_like_output(path: str) -> bool:
    """Whether the name of a file, ``/``-separated, is in the table of what programs write."""
    *folders, name = path.lower().split("/")
    if not SOURCE_FOLDERS.isdisjoint(folders):
        return False
    if _any_of(OUTPUT_PATTERNS).match(name):
        return True
    return any(map(_any_of(OUTPUT_FOLDERS).match, folders))


@functools.cache
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """One expression for them all: to compile each by itself takes longer than an iteration."""
    return re.compile("|".join(map(translate, patterns)))


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    """One file that an iteration changed."""

    path: str
    was: bytes | None = None
    """Its bytes before; None: there was none, or they are not known."""
    now: bytes | None = None
    """None: it is gone, or not known."""
    is_edited: bool = False
    """The agent says that it wrote the file, or the file has grown."""


def are_repeated(
    paths: Iterable[str], earlier: Sequence[Collection[str]], *, is_committed: bool
) -> bool:
    """Whether all files had changed in the iteration before, the last one of ``earlier``.

    Those whose names are in the table of output are also held against the iterations before that,
    and where nothing ``is_committed``, a number in such a name makes no other file of it.
    """
    before = earlier[-1]
    lately = set().union(*earlier)
    alike = set() if is_committed else {_without_numbers(path) for path in lately}
    return all(
        path in before
        or (looks_like_output(path) and (path in lately or _without_numbers(path) in alike))
        for path in paths
    )


def kind_of_repetition(files: Collection[ChangedFile]) -> Again:
    """The kind of repetition, for a change of files that had just changed before."""
    if all(_is_output(file) for file in files):
        return Again.OUTPUT
    return Again.EDITED if any(file.is_edited for file in files) else Again.SAME


def is_cosmetic(files: Iterable[ChangedFile]) -> bool:
    """Whether files differ in white space or modes alone."""
    return all(
        file.was is not None and file.now is not None and is_only_space(file.was, file.now)
        for file in files
    )


def _is_output(file: ChangedFile) -> bool:
    if looks_like_output(file.path):
        return True
    # Without its earlier bytes, only binaries can be recognised.
    return file.now is not None and is_output_change(file.path, file.was or b"", file.now)


def _without_numbers(path: str) -> str:
    return _NUMBER.sub(_NUMBER_MARK, path)


def is_binary(data: bytes) -> bool:
    """Whether a file is binary, by git's own rule."""
    return b"\0" in data[:8000]


def is_only_space(old: bytes, new: bytes) -> bool:
    """Whether two versions of a text differ in white space alone, or not at all."""
    if is_binary(old) or is_binary(new):
        return old == new
    return _lines_without_space(old) == _lines_without_space(new)


def is_output_change(path: str, old: bytes, new: bytes) -> bool:
    """Whether a file changed as output does: binary, appended to, or with new times."""
    if not SOURCE_FOLDERS.isdisjoint(path.lower().split("/")):
        return False
    if is_binary(new):
        return True
    if path.lower().endswith(SOURCE_SUFFIXES):
        return False
    before, after = _text(old), _text(new)
    if before == after:
        return False
    if not after.startswith(before):
        return _TIME.sub(_TIME_MARK, before) == _TIME.sub(_TIME_MARK, after)
    known = {shape_of(line) for line in before.splitlines()[-SHAPES_LIMIT:]}
    added = [line for line in after[len(before) :].splitlines() if line.strip()]
    ends_whole = before.endswith("\n") or not before
    shapes = {shape_of(line) for line in added}
    return ends_whole and shapes <= known and all(map(_is_of_a_log, shapes)) and bool(added)


def shape_of(line: str) -> str:
    """A line without the parts that vary between runs: times, hashes, numbers, space."""
    plain = _TIME.sub(_TIME_MARK, line)
    plain = _NUMBER.sub(_NUMBER_MARK, _HEX.sub(_NUMBER_MARK, plain))
    return " ".join(plain.split())


def _is_of_a_log(shape: str) -> bool:
    """Rows of numbers are data; a log has words, or times."""
    return _TIME_MARK in shape or any(sign.isalpha() for sign in shape)


def _lines_without_space(data: bytes) -> list[bytes]:
    """As ``git diff -w --ignore-blank-lines`` compares them."""
    lines = (_SPACE.sub(b"", line) for line in data.splitlines())
    return [line for line in lines if line]


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace").replace("\r\n", "\n")
