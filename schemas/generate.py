"""Writes the schemas and the generated parts of the pages in docs/ from ``ralph_ls``.

Everything here follows from the models, their docstrings and the golden files, from the loop's
table of transitions, from its breaker and its profiles, so it is never edited by hand: ``--write``
makes it, ``--check`` says what is stale. The product does not import it and knows its
vocabulary without reading any schema.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

# As a script this knows only its own folder.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from schemas import command_words, man_page
from schemas.breaker_states import breaker_parts
from schemas.commands_page import command_parts
from schemas.decisions import decision_parts
from schemas.docstrings import member_docstrings
from schemas.documents import fill_page, protocol_pages
from schemas.json_schemas import schema_files
from schemas.loop_states import phase_parts
from schemas.outputs import output_files, output_parts
from schemas.plan_formats import plan_format_parts
from schemas.profile_runs import run_parts
from schemas.profiles import profile_parts
from schemas.settings_reference import configuration_parts, reference_file
from schemas.typescript import typescript_files

ROOT = Path(__file__).resolve().parents[1]
REMEDY = "make generate"

SETTINGS = Path("server/ralph_ls/protocol/config")
"""Where the package keeps what it shows of the settings: their schema and their reference."""

__all__ = ["check", "main", "member_docstrings", "schema_files", "stale_files", "write"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Do as asked; 1 when something is stale."""
    parser = argparse.ArgumentParser(prog="schemas/generate.py", description=__doc__)
    verbs = parser.add_mutually_exclusive_group()
    verbs.add_argument("--write", action="store_true", help="write what is stale")
    verbs.add_argument("--check", action="store_true", help="only name what is stale")
    asked = parser.parse_args(arguments)
    if asked.write:
        return write(ROOT)
    if asked.check:
        return check(ROOT)
    parser.print_help()
    return 0


def write(root: Path) -> int:
    """Bring every generated file up to date."""
    for path, content in stale_files(root).items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8", newline="\n")
        print(f"wrote {path.relative_to(root)}")
    return 0


def check(root: Path) -> int:
    """Name every stale file and what fixes it; 1 if there is one."""
    stale = stale_files(root)
    for path in stale:
        print(f"{path.relative_to(root)} is stale; run: {REMEDY}", file=sys.stderr)
    return 1 if stale else 0


def stale_files(root: Path) -> dict[Path, str]:
    """The content of each file that does not hold it yet."""
    wanted = {root / "schemas" / name: text for name, text in schema_files().items()}
    wanted |= {
        root / "schemas" / name: json.dumps(schema, indent=2, ensure_ascii=False) + "\n"
        for name, schema in output_files().items()
    }
    wanted[root / SETTINGS / "settings.json"] = reference_file()
    wanted[root / SETTINGS / "config.schema.json"] = wanted.pop(
        root / "schemas" / "config.schema.json"
    )
    for name, parts in page_parts(root).items():
        page = root / "docs" / name
        wanted[page] = fill_page(name, page.read_text(encoding="utf-8"), parts)
    wanted |= typescript_files(root, member_docstrings)
    wanted[root / command_words.PATH] = command_words.words()
    wanted[root / man_page.PATH] = man_page.man_page()
    return {path: text for path, text in wanted.items() if not _holds(path, text)}


def page_parts(root: Path) -> dict[str, dict[str, str]]:
    """The generated parts of each page in docs/."""
    return {
        **protocol_pages(root),
        "loop-states.md": phase_parts() | breaker_parts(),
        "profiles.md": profile_parts(),
        "commands.md": command_parts(),
        "plans.md": plan_format_parts(),
        "json.md": output_parts(),
        "adr/index.md": decision_parts(root),
        "configuration.md": configuration_parts(),
        **run_parts(root),
    }


def _holds(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    raise SystemExit(main())
