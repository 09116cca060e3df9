"""The gates notice a figure that got worse, and one that improved without being written down."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def prose() -> ModuleType:
    return load("prose")


@pytest.fixture(scope="module")
def gates(prose: ModuleType) -> ModuleType:
    # The one script imports the other, as from its own folder.
    assert sys.modules["prose"] is prose
    return load("gates")


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / ".ci" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("gate", ["words", "prose", "complexity", "unused"])
def test_an_equal_figure_passes(gates: ModuleType, gate: str) -> None:
    assert gates.COMPARE[gate]({"a": 17}, {"a": 17}) == []


@pytest.mark.parametrize(
    ("gate", "known", "found"),
    [
        ("words", {"elsewhere": 1}, {"elsewhere": 2}),
        ("words", {}, {"elsewhere": 1}),
        ("modules", {"server": 460}, {"server": 461}),
        ("complexity", {"a.py:f": 17}, {"a.py:f": 18}),
        ("complexity", {}, {"a.py:f": 16}),
        ("unused", {}, {"a.py:f": 1}),
        ("coverage", {"cli": 76}, {"cli": 75}),
        ("coverage", {"cli": 76}, {}),
    ],
)
def test_a_worse_figure_fails(
    gates: ModuleType, gate: str, known: dict[str, int], found: dict[str, int]
) -> None:
    assert len(gates.COMPARE[gate](known, found)) == 1
    assert not gates._is_no_worse(gate, known, found)


@pytest.mark.parametrize("gate", ["words", "prose", "complexity", "unused"])
def test_an_improved_figure_has_to_be_written_down(gates: ModuleType, gate: str) -> None:
    [problem] = gates.COMPARE[gate]({"a": 17, "b": 20}, {"a": 17})
    assert "make gates" in problem
    assert gates._is_no_worse(gate, {"a": 17, "b": 20}, {"a": 17})


def test_a_renamed_function_takes_its_figure_along(gates: ModuleType) -> None:
    assert gates._is_no_worse("complexity", {"a.py:f": 17}, {"b.py:g": 17})
    assert not gates._is_no_worse("complexity", {"a.py:f": 17}, {"b.py:g": 18})


def test_words_are_found_in_comments_and_docstrings_alone(gates: ModuleType) -> None:
    source = '"""Whoever calls."""\n\nTEXT = "a person"  # It lies here; ``told`` is code.\n'
    prose = [text for _, text in gates._prose_of_python(source, with_docstrings=True)]
    found = [
        match[0]
        for text in prose
        for match in gates.WORDS.finditer(gates.CODE_IN_TEXT.sub("", text))
    ]
    assert found == ["Whoever", "lies"]


class TestTextsForUsers:
    def test_strings_of_the_server_are_texts_and_its_docstrings_are_not(
        self, prose: ModuleType
    ) -> None:
        source = (
            '"""A module."""\n'
            "x: int\n"
            '"""An attribute."""\n'
            'say("two words", f"and {len(name)} more",\n'
            '    "oneword", "")\n'
        )
        assert list(prose.strings_of_python(source)) == [(4, "two words"), (4, "and {} more")]

    def test_a_line_of_a_text_is_known_by_its_line_in_the_file(self, prose: ModuleType) -> None:
        text = prose.read_text("client-vscode/package.nls.json")
        file = (ROOT / text.file).read_text(encoding="utf-8").splitlines()
        assert len(text.lines) == len(text.text.splitlines()) > 50
        assert text.text.splitlines()[7].split()[0] in file[text.lines[7] - 1]

    @pytest.mark.parametrize(
        ("file", "is_read"),
        [
            ("README.md", True),
            ("docs/agents/acp.md", True),
            ("docs/adr/0001-the-core-decides.md", False),
            ("server/ralph_ls/core/agent/signals/phrases.py", False),
            ("server/ralph_ls/py.typed", False),
            ("tests/unit/project/test_gates.py", False),
        ],
    )
    def test_only_what_users_read_is_a_text(
        self, prose: ModuleType, file: str, *, is_read: bool
    ) -> None:
        known = (prose.PAGES, prose.BUNDLES, prose.SERVER)
        assert any(pattern.fullmatch(file) for pattern in known) is is_read

    def test_no_phrase_is_a_better_one_of_another(
        self, gates: ModuleType, prose: ModuleType
    ) -> None:
        phrases = json.loads(prose.PHRASES.read_text(encoding="utf-8"))
        better = [replacement for _, replacement in phrases["dialect"] + phrases["sentences"]]
        assert [text for text in better if gates.WORDS.search(text)] == []
