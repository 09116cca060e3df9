"""Gates: figures of the code that may only improve, compared with ``.ci/gates.toml``.

usage: gates.py [--update] [--prose | --coverage DATA]

Without options it counts words, modules, complex functions and unused names, and fails with one
line for each figure that got worse. ``--prose`` does the same for phrases in texts for users, and
``--coverage`` for branch coverage from a data file of coverage.py. ``--update`` writes figures that
improved; it never writes one that got worse, but it follows a function that was renamed or moved.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import re
import subprocess
import sys
import tempfile
import tokenize
import tomllib
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from complexipy import file_complexity
from prose import PHRASES, Finding, find_phrases

ROOT = Path(__file__).resolve().parents[1]
FIGURES = Path(__file__).with_name("gates.toml")
PACKAGE = "server/ralph_ls/"
NOT_OURS = ("server/ralph_ls/engine/demo/files/", "client-vscode/src/generated/")
"""The broken sample project, and what generators write."""

Figures = dict[str, dict[str, int]]

MAX_COMPLEXITY = 15
MAX_LINES = 400

DIALECT = json.loads(PHRASES.read_text(encoding="utf-8"))["dialect"]
WORDS = re.compile(rf"\b(?:{'|'.join(pattern for pattern, _ in DIALECT)})\b", re.IGNORECASE)
"""Words of a private dialect; ``docs/contributing.md`` names the usual ones."""

MAINTAINERS_PAGES = re.compile(
    r"docs/(ARCHITECTURE|contributing|glossary|internals|rules)\.md|docs/adr/.*\.md"
    r"|SECURITY\.md|changes/README\.md"
)
CODE_IN_TEXT = re.compile(r"``.*?``|`[^`\n]*`", re.DOTALL)
TYPESCRIPT_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def main() -> int:
    """Compare or update the figures; 1 if one of them got worse."""
    options = _options()
    known: Figures = tomllib.loads(FIGURES.read_text(encoding="utf-8"))
    gates: dict[str, Callable[[], dict[str, int]]]
    if options.coverage:
        gates = {"coverage": lambda: measure_coverage(options.coverage)}
    elif options.prose:
        gates = {"prose": count_phrases}
    else:
        gates = {
            "words": count_words,
            "modules": count_modules,
            "complexity": measure_complexity,
            "unused": find_unused,
        }
    problems: list[str] = []
    for name, measure in gates.items():
        found = measure()
        if options.update and name not in FIXED and _is_no_worse(name, known[name], found):
            known[name] = found
        problems += COMPARE[name](known[name], found)
    if options.update:
        FIGURES.write_text(_as_toml(known), encoding="utf-8")
    for problem in problems:
        print(f"gates: {problem}", file=sys.stderr)
    return 1 if problems else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="gates.py", description="Figures that may only improve.")
    parser.add_argument("--update", action="store_true", help="write figures that improved")
    parser.add_argument("--prose", action="store_true", help="phrases in texts for users")
    parser.add_argument("--coverage", type=Path, help="a data file of coverage.py")
    return parser.parse_args()


# ---------------------------------------------------------------------------------------- words


class BannedWord(NamedTuple):
    """A banned word, with its place."""

    file: str
    line: int
    text: str


def banned_words(folders: Container[str] | None = None) -> Iterator[BannedWord]:
    """Banned words in docstrings and comments, and in the pages for maintainers.

    ``folders``: the top folders to read; all by default.

    Docstrings of ``protocol`` and string literals are texts for users, which have their own review.
    """
    for file in _tracked():
        if folders is not None and _top_folder(file) not in folders:
            continue
        if MAINTAINERS_PAGES.fullmatch(file):
            texts = [(1, _read(file))]
        elif file.endswith(".py"):
            texts = list(_prose_of_python(_read(file), with_docstrings="/protocol/" not in file))
        elif file.startswith("client-vscode/") and file.endswith(".ts"):
            source = _read(file)
            texts = [
                (source.count("\n", 0, match.start()) + 1, match[0])
                for match in TYPESCRIPT_COMMENT.finditer(source)
            ]
        else:
            continue
        for start, text in texts:
            prose = CODE_IN_TEXT.sub(lambda code: "\n" * code[0].count("\n"), text)
            for match in WORDS.finditer(prose):
                line = start + prose.count("\n", 0, match.start())
                yield BannedWord(file, line, match[0])


def count_words() -> dict[str, int]:
    """How many banned words each top folder has."""
    return dict(Counter(_top_folder(word.file) for word in banned_words()))


def _prose_of_python(source: str, *, with_docstrings: bool) -> Iterator[tuple[int, str]]:
    docstrings = set()
    for node in ast.walk(ast.parse(source)):
        # Also the strings below attributes, which are their docstrings.
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            docstrings.add((node.value.lineno, node.value.col_offset))
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        is_docstring = token.type == tokenize.STRING and token.start in docstrings
        if token.type == tokenize.COMMENT or (is_docstring and with_docstrings):
            yield token.start[0], token.string


def _top_folder(file: str) -> str:
    parts = file.split("/")
    return "/".join(parts[:3]) if file.startswith(PACKAGE) and len(parts) > 3 else parts[0]


def _fewer_words(known: Mapping[str, int], found: Mapping[str, int]) -> list[str]:
    worse = {folder for folder, count in found.items() if count > known.get(folder, 0)}
    problems = [
        f"{found[folder]} words of a private dialect in {folder}, at most {known.get(folder, 0)}"
        " are allowed; docs/contributing.md has better ones"
        for folder in sorted(worse)
    ]
    if worse:
        words = islice(banned_words(worse), 20)
        problems += [f"{word.file}:{word.line}: {word.text}" for word in words]
    return problems + _improved(known, found)


@cache
def _phrases() -> list[Finding]:
    return find_phrases(_tracked())


def count_phrases() -> dict[str, int]:
    """How many phrases with better ones each top folder has in its texts for users."""
    return dict(Counter(_top_folder(finding.file) for finding in _phrases()))


def _fewer_phrases(known: Mapping[str, int], found: Mapping[str, int]) -> list[str]:
    worse = {folder for folder, count in found.items() if count > known.get(folder, 0)}
    problems = [
        f"{found[folder]} phrases of .ci/phrases.json in {folder}, at most {known.get(folder, 0)}"
        " are allowed"
        for folder in sorted(worse)
    ]
    # To search all texts takes seconds.
    findings = _phrases() if worse else []
    problems += [
        f"{finding.file}:{finding.line}: “{finding.phrase}”, better “{finding.better}”"
        for finding in findings
        if _top_folder(finding.file) in worse
    ]
    return problems + _improved(known, found)


# ------------------------------------------------------------------------------- size and shape


def count_modules() -> dict[str, int]:
    """How many modules the server has, how many its largest folder, and how many are long."""
    modules = [
        Path(file) for file in _tracked() if file.startswith(PACKAGE) and file.endswith(".py")
    ]
    folders = Counter(module.parent for module in modules if module.name != "__init__.py")
    long = sum(len(_read(str(module)).splitlines()) > MAX_LINES for module in modules)
    return {"server": len(modules), "folder": max(folders.values()), "long": long}


def _few_modules(known: Mapping[str, int], found: Mapping[str, int]) -> list[str]:
    what = {
        "server": ("modules in server/", "merge what changes together"),
        "folder": ("modules in one folder", "merge what changes together"),
        "long": (f"modules of more than {MAX_LINES} lines", "divide one by its subjects"),
    }
    return [
        f"{count} {what[name][0]}, at most {known[name]} are allowed: {what[name][1]}"
        for name, count in found.items()
        if count > known[name]
    ]


def measure_complexity() -> dict[str, int]:
    """Cognitive complexity of each function that has more than 15."""
    found = {}
    for file in _tracked():
        if file.startswith(PACKAGE) and file.endswith(".py"):
            for function in file_complexity(str(ROOT / file)).functions:
                if function.complexity > MAX_COMPLEXITY:
                    name = f"{file.removeprefix(PACKAGE)}:{function.name.replace('::', '.')}"
                    found[name] = function.complexity
    return found


def _simpler(known: Mapping[str, int], found: Mapping[str, int]) -> list[str]:
    return [
        f"{name} has a cognitive complexity of {figure}, at most {known.get(name, MAX_COMPLEXITY)}"
        " is allowed: divide it"
        for name, figure in found.items()
        if figure > known.get(name, MAX_COMPLEXITY)
    ] + _improved(known, found)


def find_unused() -> dict[str, int]:
    """Names that nothing in the server uses, by vulture; ``pyproject.toml`` has the exceptions."""
    run = subprocess.run(
        [sys.executable, "-m", "vulture"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if run.returncode not in (0, 3):
        raise SystemExit(run.stderr or run.stdout)
    lines = re.findall(r"^(.+?):\d+: unused (?:\w+ )?\w+ '(\w+)'", run.stdout, re.MULTILINE)
    return {f"{file}:{name}": 1 for file, name in lines}


def _less_unused(known: Mapping[str, int], found: Mapping[str, int]) -> list[str]:
    return [
        f"{name} is used nowhere in the server: remove it" for name in found if name not in known
    ] + _improved(known, found)


def _improved(known: Mapping[str, int], found: Mapping[str, int]) -> list[str]:
    """An improved figure is the new limit, so it has to be written down."""
    return [
        f"{name} improved: write the new figure with `make gates`"
        for name, figure in known.items()
        if found.get(name, 0) < figure
    ]


# ------------------------------------------------------------------------------------- coverage


def measure_coverage(data: Path) -> dict[str, int]:
    """Percent of lines and branches that tests reach, rounded down, for each package."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        subprocess.run(
            [
                *(sys.executable, "-m", "coverage", "json", "-q", "--data-file", data),
                # Its own tests measure the core, all of it.
                *("-o", report, "--omit", "*/ralph_ls/core/*"),
            ],
            cwd=ROOT,
            check=True,
        )
        files = json.loads(report.read_text(encoding="utf-8"))["files"]
    covered, counted = Counter[str](), Counter[str]()
    for file, figures in files.items():
        package = Path(file).parts[2]
        if package.endswith(".py"):
            continue
        summary = figures["summary"]
        covered[package] += summary["covered_lines"] + summary["covered_branches"]
        counted[package] += summary["num_statements"] + summary["num_branches"]
    return {package: 100 * covered[package] // n for package, n in counted.items() if n}


def _more_coverage(known: Mapping[str, int], found: Mapping[str, int]) -> list[str]:
    return [
        f"{found.get(package, 0)} % of the branches in {package} are covered,"
        f" {percent} % are needed"
        for package, percent in known.items()
        if found.get(package, 0) < percent
    ]


# -------------------------------------------------------------------------------------- figures

COMPARE: Mapping[str, Callable[[Mapping[str, int], Mapping[str, int]], list[str]]] = {
    "words": _fewer_words,
    "prose": _fewer_phrases,
    "modules": _few_modules,
    "complexity": _simpler,
    "unused": _less_unused,
    "coverage": _more_coverage,
}
FIXED = ("modules",)
"""Limits rather than figures of a day; only hand edits change them."""


def _is_no_worse(gate: str, known: Mapping[str, int], found: Mapping[str, int]) -> bool:
    """True if each figure is as good as before, or what is new replaces as much that is gone."""
    if gate == "coverage":
        return all(found.get(name, 0) >= known[name] for name in known)
    return (
        len(found) <= len(known)
        and sum(found.values()) <= sum(known.values())
        and all(found[name] <= known[name] for name in found.keys() & known.keys())
    )


def _as_toml(figures: Figures) -> str:
    text = FIGURES.read_text(encoding="utf-8").partition("\n[")[0].rstrip() + "\n"
    for gate, values in figures.items():
        lines = (f'"{name}" = {values[name]}\n' for name in sorted(values))
        text += f"\n[{gate}]\n" + "".join(lines)
    return text


def _tracked() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    files = listed.stdout.splitlines()
    return [file for file in files if not file.startswith(NOT_OURS) and (ROOT / file).is_file()]


def _read(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8")


if __name__ == "__main__":
    raise SystemExit(main())
