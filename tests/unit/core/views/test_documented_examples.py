"""The examples of the documents are what the views make of a run, and nothing else."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.settings import normalised
from tests.unit.core.views.documented_examples import EXAMPLES, to_json

GOLDEN = Path(__file__).resolve().parents[3] / "golden"


def pretty(name: str) -> str:
    return json.dumps(to_json(EXAMPLES[name]), indent=2, ensure_ascii=False) + "\n"


@pytest.fixture(scope="session", autouse=True)
def written_again() -> None:
    """Write them all, where that is wished."""
    if os.environ.get("UPDATE_SNAPSHOTS") == "1":
        for name in EXAMPLES:
            (GOLDEN / f"{name}.json").write_text(pretty(name), encoding="utf-8")


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_an_example_is_what_a_viewer_gets(name: str) -> None:
    recorded = (GOLDEN / f"{name}.json").read_text(encoding="utf-8")
    assert normalised(recorded) == normalised(pretty(name))


def test_every_panel_and_plan_among_the_golden_files_was_made() -> None:
    files = {
        f"{path.parent.name}/{path.stem}"
        for folder in ("panel", "planRows")
        for path in (GOLDEN / folder).iterdir()
    }
    assert files == {name for name in EXAMPLES if not name.startswith("methods/")}
