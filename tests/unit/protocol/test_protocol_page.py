"""What the pages of the protocol say by hand about the language server is what the server knows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pygls import exceptions

from ralph_ls.editor import lsp
from ralph_ls.editor.lsp.errors import ERROR_CODES, INTERNAL_ERROR, REQUEST_FAILED
from ralph_ls.editor.requests.commands import COMMANDS, PREFIX
from ralph_ls.protocol.lsp.options import EditorOptions
from ralph_ls.protocol.lsp.panel import Verb
from schemas.documents import table

LSP = Path(lsp.__path__[0])
DOCS = Path(__file__).resolve().parents[3] / "docs"
RULES = (DOCS / "protocol.md").read_text(encoding="utf-8")
FEATURES = (DOCS / "protocol" / "features.md").read_text(encoding="utf-8")
METHODS_PAGE = (DOCS / "protocol" / "methods.md").read_text(encoding="utf-8")


def first_cells(page: str, heading: str) -> list[str]:
    """The names in the first column of the tables below a heading, without the head."""
    _, _, section = page.partition(f"\n## {heading}\n")
    section = re.split(r"\n## ", section)[0]
    return re.findall(r"^\| `([^`]+)` \|", section, flags=re.MULTILINE)


def test_every_command_is_explained() -> None:
    assert first_cells(FEATURES, "Commands") == [f"{PREFIX}{name}" for name in COMMANDS]


def test_every_verb_but_none_has_its_command() -> None:
    verbs = {verb.value for verb in Verb} - {Verb.NONE.value}
    assert verbs <= {name.removeprefix(PREFIX) for name in first_cells(FEATURES, "Commands")}


def test_every_error_code_is_explained() -> None:
    codes = [cell for cell in first_cells(RULES, "Errors") if not cell.startswith("error.")]
    assert codes == list(ERROR_CODES.values())


def test_every_error_number_is_explained() -> None:
    table = RULES.partition("\n## Errors\n")[2].partition("`error.data.code`")[0]
    explained = {int(number) for number in re.findall(r"-32\d{3}", table)}
    sources = "".join(path.read_text(encoding="utf-8") for path in LSP.glob("*.py"))
    raised = set(re.findall(r"\bJsonRpc\w+", sources)) & set(vars(exceptions))
    numbers = {vars(exceptions)[name].CODE for name in raised} - {None}
    assert explained == numbers | {REQUEST_FAILED, INTERNAL_ERROR}


@pytest.mark.parametrize("name", sorted(EditorOptions.model_fields))
def test_every_option_is_listed(name: str) -> None:
    field = EditorOptions.model_fields[name]
    assert f"| `{field.alias}`? |" in METHODS_PAGE


def test_what_is_deprecated_says_so_in_the_reference() -> None:
    old = {"type": "string", "deprecated": True, "description": "Use `new`."}
    rows = table({"properties": {"old": old}}, frozenset())
    assert rows[2] == "| `old`? | string | Deprecated. Use `new`. |"
