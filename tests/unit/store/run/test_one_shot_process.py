"""An errand: its answer, its refusals, and being called back."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from ralph_ls.protocol.errors import PlanMissing, RalphError, UncommittedChanges, UsageError
from ralph_ls.store.run import one_shot_process as errands
from ralph_ls.store.run.one_shot_process import OneShotProcess

Make = Callable[[str], OneShotProcess]


@pytest.fixture
def errand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Makes errands that run a script instead of ``ralph``."""

    def make(body: str) -> OneShotProcess:
        command = [sys.executable, "-c", f"import os, sys\n{body}"]
        monkeypatch.setattr(errands, "command_line", lambda _arguments: command)
        return OneShotProcess([], cwd=tmp_path, environment=os.environ)

    return make


def call_back_at(here: Path, made: OneShotProcess) -> None:
    """Call it back as soon as it has opened the pipe ``here``."""

    def wait_for_it() -> None:
        here.read_bytes()
        made.cancel()

    threading.Thread(target=wait_for_it, name="caller", daemon=True).start()


def test_it_gets_one_line_and_its_output_comes_back(errand: Make) -> None:
    made = errand("print(sys.stdin.readline().strip() + '!')")
    assert made.run(b'{"a": 1}') == b'{"a": 1}!\n'


def test_one_that_reads_nothing_is_no_problem(errand: Make) -> None:
    made = errand("os.close(0)\nprint('x' * 200_000)")
    assert len(made.run(b"y" * 200_000)) == 200_001


@pytest.mark.parametrize(
    ("said", "kind", "words"),
    [
        ("more\nralph-refused: PlanMissing\nralph: no plan", PlanMissing, "no plan"),
        ("ralph-refused: UsageError\nralph: so\nnot", UsageError, "so\nnot"),
        (
            # What helps in a terminal is no part of what an editor shows.
            "ralph-refused: UncommittedChanges\nralph: commit it\nTry: ralph run --help\n",
            UncommittedChanges,
            "commit it",
        ),
        ("ralph: it broke", RalphError, "ended with 3: it broke; try again"),
        ("", RalphError, "ended with 3: no output"),
    ],
)
def test_a_bad_end_is_reported_as_what_it_was(
    errand: Make, said: str, kind: type[RalphError], words: str
) -> None:
    made = errand(f"sys.stderr.write({said!r})\nsys.exit(3)")
    with pytest.raises(kind) as raised:
        made.run()
    assert type(raised.value) is kind
    assert words in raised.value.message


def test_called_back_it_sees_the_end_of_its_input(errand: Make, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "here")
    made = errand(
        "open('here', 'w').close()\nsys.stdin.read()\n"
        "sys.stderr.write('ralph: stopped')\nsys.exit(130)"
    )
    call_back_at(tmp_path / "here", made)
    with pytest.raises(RalphError, match="ended with 130: stopped"):
        made.run()


def test_one_that_does_not_listen_is_ended(
    errand: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(errands, "PATIENCE", 0.01)
    os.mkfifo(tmp_path / "here")
    made = errand("import threading\nopen('here', 'w').close()\nthreading.Event().wait()")
    call_back_at(tmp_path / "here", made)
    with pytest.raises(RalphError, match="ended with -15"):
        made.run()
