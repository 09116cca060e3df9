"""The panel of every state of a loop, as recorded for viewers."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from ralph_ls.protocol.lsp.panel import PanelState
from tests.unit.core.views.documented_examples import to_json
from tests.unit.core.views.panel_states import STATES

FOLDER = Path(__file__).resolve().parents[4] / "golden" / "states"


def pretty(name: str) -> str:
    return json.dumps(to_json(STATES[name]), indent=2, ensure_ascii=False) + "\n"


@pytest.fixture(scope="session", autouse=True)
def written_again() -> None:
    """Write them all, where that is wished."""
    if os.environ.get("UPDATE_SNAPSHOTS") == "1":
        FOLDER.mkdir(exist_ok=True)
        for name in STATES:
            (FOLDER / f"{name}.json").write_text(pretty(name), encoding="utf-8")


@pytest.mark.parametrize("name", sorted(STATES))
def test_a_state_is_reported_as_its_file_shows(name: str) -> None:
    assert (FOLDER / f"{name}.json").read_text(encoding="utf-8") == pretty(name)


def test_every_file_is_of_a_state_and_every_state_is_shown() -> None:
    assert {path.stem for path in FOLDER.iterdir()} == set(STATES)
    assert {shown.state for shown in STATES.values()} == set(PanelState)
