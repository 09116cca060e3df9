"""A work tree in a scratch home, whose run's files a benchmark writes itself."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from tests.editor.scripted_run import ScriptedRun, made_run

PLAN = "# Plan\n\n- [ ] The task\n"


@contextmanager
def run_in_a_scratch_home(
    plan: str = "# Plan\n\n- [ ] The task\n",
) -> Iterator[tuple[Path, ScriptedRun]]:
    """The work tree's root, and an active run of it, with this plan."""
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder).resolve()
        root = home / "project"
        root.mkdir()
        (root / "@fix_plan.md").write_text(plan, encoding="utf-8")
        subprocess.run(["git", "init", "-q", root], check=True)
        own_places = {"HOME": str(home), "RALPH_STATE_DIR": str(home / "state")}
        with patch.dict(os.environ, own_places), made_run(root) as run:
            yield root, run
