"""The gates notice a figure that got worse, and one that improved without being written down."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def gates() -> ModuleType:
    spec = importlib.util.spec_from_file_location("gates", ROOT / ".ci" / "gates.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["gates"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("gate", ["words", "complexity", "unused"])
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


@pytest.mark.parametrize("gate", ["words", "complexity", "unused"])
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
