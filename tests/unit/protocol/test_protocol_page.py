"""What docs/protocol.md says by hand about the language server is what the server knows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ralph_ls.editor.lsp.errors import ERROR_CODES
from ralph_ls.editor.requests.commands import COMMANDS, PREFIX
from ralph_ls.protocol.lsp.options import EditorOptions
from ralph_ls.protocol.lsp.panel import Verb

PAGE = (Path(__file__).resolve().parents[3] / "docs" / "protocol.md").read_text(encoding="utf-8")
CHAPTER = PAGE[PAGE.index("\n## Between editor and language server\n") :]
"""It is the last one."""


def first_cells(heading: str) -> list[str]:
    """The names in the first column of the tables below a heading, without the head."""
    _, _, section = CHAPTER.partition(f"\n### {heading}\n")
    section = re.split(r"\n### ", section)[0]
    return re.findall(r"^\| `([^`]+)` \|", section, flags=re.MULTILINE)


def test_every_command_is_explained() -> None:
    assert first_cells("Commands") == [f"{PREFIX}{name}" for name in COMMANDS]


def test_every_verb_but_none_has_its_command() -> None:
    verbs = {verb.value for verb in Verb} - {Verb.NONE.value}
    assert verbs <= {name.removeprefix(PREFIX) for name in first_cells("Commands")}


def test_every_error_code_is_explained() -> None:
    codes = [cell for cell in first_cells("Errors") if not cell.startswith("error.")]
    assert codes == list(ERROR_CODES.values())


@pytest.mark.parametrize("name", sorted(EditorOptions.model_fields))
def test_every_option_is_listed(name: str) -> None:
    field = EditorOptions.model_fields[name]
    assert f"| `{field.alias}`? |" in CHAPTER
