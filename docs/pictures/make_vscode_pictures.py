"""Takes the README's pictures of VS Code and of the dashboard: real programs, at real work.

    .venv/bin/python docs/pictures/make_vscode_pictures.py

They are what the end-to-end tests saw, and some of their pictures are kept. Nothing is staged for
them, so they cannot show what the product does not do; the runs on the dashboard are made up.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]

KEPT = {
    "13-answer.png": "vscode-answer.png",
    "14-half-open.png": "vscode-half-open.png",
    "dashboard.png": "dashboard.png",
}
"""What a test calls a picture, and what the README does."""

TESTS = ("tests/e2e/test_vscode.py", "tests/e2e/test_dashboard.py")


def main() -> int:
    """Run the tests, then take their pictures; their exit code where one failed."""
    with tempfile.TemporaryDirectory() as output:
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-s", *TESTS],
            cwd=ROOT,
            env={**os.environ, "RALPH_E2E_OUTPUT": output, "RALPH_E2E_CHAPTERS": "loop", "CI": "1"},
            check=False,
        )
        if ran.returncode == 0:
            for seen, name in KEPT.items():
                shutil.copyfile(Path(output, seen), HERE / name)
                print(f"wrote docs/pictures/{name}")
        return ran.returncode


if __name__ == "__main__":
    raise SystemExit(main())
