"""A whole loop, steered from the real VS Code as a user steers it.

One session of the editor serves every check, since its start takes longer than most of them. The
steps are in ``vscode/chapters/``; each one that is reported is a subtest here.
``RALPH_E2E_CHAPTERS=story,host`` plays these chapters alone, ``RALPH_E2E_LOOKS=all`` takes pictures
of the first steps in every theme and at more sizes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.e2e.conftest import CALLERS_ENVIRONMENT, need
from tests.e2e.vscode import install
from tests.e2e.vscode.stage import Stage, set_up
from tests.engine.project_builder import RALPH, ROOT, end_run

CLIENT = ROOT / "client-vscode"
VSCODE = Path(__file__).parent / "vscode"
WITH_NODE = CLIENT / "scripts" / "with_node.py"

NO_PACKAGES = (
    "run: .venv/bin/python client-vscode/scripts/with_node.py npm ci --prefix client-vscode"
)

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1800)]


@pytest.fixture(scope="session")
def archives(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The VSIX as it is shipped with its wheels, and the other extension's."""
    need(install.missing())
    if not (CLIENT / "node_modules" / "@vscode" / "vsce").is_dir():
        need(
            "run: .venv/bin/python client-vscode/scripts/with_node.py npm ci --prefix client-vscode"
        )
    folder = tmp_path_factory.mktemp("archives")
    ours, other = folder / "ralph-loop.vsix", folder / "other.vsix"
    _node(CLIENT, "node", "scripts/package.mjs", "--with-dependencies", "--out", str(ours))
    vsce = str(CLIENT / "node_modules" / "@vscode" / "vsce" / "vsce")
    options = ["--no-dependencies", "--allow-missing-repository", "--skip-license"]
    _node(VSCODE / "other-extension", "node", vsce, "package", *options, "--out", str(other))
    return {"ours": ours, "other": other}


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """Repositories and an agent; what is left of a run is ended."""
    made = set_up(tmp_path)
    yield made
    for repository in made.repositories:
        end_run(repository)


def test_loops_are_seen_and_steered_from_vs_code(
    archives: Mapping[str, Path], stage: Stage, output_folder: Path, subtests: pytest.Subtests
) -> None:
    told = list(_play(archives, stage, output_folder))
    for step in told:
        with subtests.test(step["check"]):
            assert step["ok"], step["error"]
    assert told, f"it did not begin; see {output_folder}"
    assert told[-1]["check"] == "the end", f"it broke off; see {output_folder}"
    assert all(step["ok"] for step in told), f"see {output_folder}"


def _play(
    archives: Mapping[str, Path], stage: Stage, output_folder: Path
) -> Iterator[dict[str, str]]:
    """Play the session; the steps that it reports, with what was measured on stderr."""
    named = CALLERS_ENVIRONMENT.get("RALPH_E2E_CHAPTERS", "")
    known = {
        "program": install.vscode_server(),
        "driverModules": install.driver_modules(),
        "chromium": install.chromium(),
        "archives": [str(path) for path in archives.values()],
        "python": getattr(sys, "_base_executable", sys.executable),
        "ralph": RALPH,
        "allLooks": CALLERS_ENVIRONMENT.get("RALPH_E2E_LOOKS") == "all",
        "chapters": [name for name in named.split(",") if name],
        "output": output_folder,
        "stateFolder": os.environ["RALPH_STATE_DIR"],
        "folder": stage.folder,
        "fresh": stage.fresh,
        "repository": stage.repository,
        "otherRepository": stage.other_repository,
        "stories": stage.stories,
        "ledger": stage.ledger,
        "workspace": stage.workspace,
        "host": stage.host,
        "kept": stage.kept,
        "agent": stage.agent,
    }
    process = subprocess.Popen(
        [sys.executable, str(WITH_NODE), "node", str(VSCODE / "session.mjs")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=_without_our_environment(),
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(known, default=str))
        process.stdin.close()
        for line in process.stdout:
            step = json.loads(line)
            if "measured" in step:
                sys.stderr.write(f"  measured  {step['measured']}: {step['value']:.1f}\n")
                continue
            mark = "ok  " if step["ok"] else "FAIL"
            sys.stderr.write(f"  {mark} {step['seconds']:6.1f} s  {step['check']}\n")
            yield step
    sys.stderr.write(f"  pictures and logs: {output_folder}\n")


def _without_our_environment() -> dict[str, str]:
    """The server has to be found as a user's editor finds it: not in what the tests run in."""
    ours = str(Path(sys.prefix) / "bin")
    path = os.environ["PATH"].split(os.pathsep)
    kept = {name: value for name, value in os.environ.items() if name != "VIRTUAL_ENV"}
    return {**kept, "PATH": os.pathsep.join(part for part in path if part != ours)}


def _node(directory: Path, *command: str) -> None:
    subprocess.run(
        [sys.executable, str(WITH_NODE), *command],
        cwd=directory,
        env=CALLERS_ENVIRONMENT,
        stdout=sys.stderr,
        check=True,
    )
