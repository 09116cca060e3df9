"""Texts for users, and the phrases in them that ``phrases.json`` has better ones for.

Three kinds of texts: pages in Markdown, the bundles of the editor's extension, and the strings of
the server. textlint's terminology rule does the search (``client-vscode/scripts/prose.mjs``).
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PHRASES = Path(__file__).with_name("phrases.json")
SCRIPTS = ROOT / "client-vscode" / "scripts"

PAGES = re.compile(
    r"[A-Z_]+\.md|(?:docs|changes|client-vscode|\.github)/(?!adr/).*\.md"
    r"|server/ralph_ls/(?:core/prompt/wording|store/setup/templates)/.*\.md"
)
BUNDLES = re.compile(r"client-vscode/(?:package(?:\.nls)?|l10n/[\w.]+)\.json")
SERVER = re.compile(r"server/ralph_ls/(?!core/agent/signals/(?:phrases|question)).*\.py")
"""Without the phrases that are looked for in what agents write."""
JSON_STRING = re.compile(r'"((?:[^"\\]|\\.)*)",?$')


class Text(NamedTuple):
    """What one file says to users, with the line in the file of each line of it."""

    file: str
    text: str
    lines: tuple[int, ...] | None = None


class Finding(NamedTuple):
    """A phrase, with its place and what to write in its stead."""

    file: str
    line: int
    phrase: str
    better: str


def find_phrases(files: Iterable[str]) -> list[Finding]:
    """Phrases in the texts of these files, in the order of the files."""
    texts = {text.file: text for text in map(read_text, files) if text is not None and text.text}
    given = [{"file": text.file, "line": 1, "text": text.text} for text in texts.values()]
    run = subprocess.run(
        [sys.executable, SCRIPTS / "with_node.py", "node", SCRIPTS / "prose.mjs"],
        input=json.dumps(given),
        capture_output=True,
        text=True,
        check=False,
    )
    if run.returncode != 0:
        raise SystemExit(run.stderr)
    found = []
    for each in json.loads(run.stdout):
        lines = texts[each["file"]].lines
        line = each["line"] if lines is None else lines[each["line"] - 1]
        found.append(Finding(each["file"], line, each["phrase"], each["better"]))
    return found


def read_text(file: str) -> Text | None:
    """What users read of a file; None where they read nothing of it."""
    if PAGES.fullmatch(file):
        return Text(file, (ROOT / file).read_text(encoding="utf-8"))
    if BUNDLES.fullmatch(file):
        return _joined(file, _strings_of_json((ROOT / file).read_text(encoding="utf-8")))
    if SERVER.fullmatch(file):
        return _joined(file, strings_of_python((ROOT / file).read_text(encoding="utf-8")))
    return None


def _joined(file: str, strings: Iterable[tuple[int, str]]) -> Text:
    found = [(line, " ".join(text.split())) for line, text in strings]
    return Text(file, "\n".join(text for _, text in found), tuple(line for line, _ in found))


def _strings_of_json(source: str) -> Iterator[tuple[int, str]]:
    """The values, each on a line as all our JSON is written."""
    for number, line in enumerate(source.splitlines(), 1):
        if (found := JSON_STRING.search(line)) and " " in found[1]:
            yield number, json.loads(f'"{found[1]}"')


def strings_of_python(source: str) -> Iterator[tuple[int, str]]:
    """Strings of two words and more that are not docstrings; ``{}`` for what is filled in."""
    tree = ast.parse(source)
    # Docstrings, also those below attributes, and what is inside of f-strings.
    left_out = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            left_out.update(id(part) for part in node.values)
            parts = (part.value if isinstance(part, ast.Constant) else "{}" for part in node.values)
            text = "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if id(node) in left_out:
                continue
            text = node.value
        else:
            continue
        if " " in text.strip():
            yield node.lineno, text
