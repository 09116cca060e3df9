"""An engine dies, and the user continues with the issues in ``bd`` before the run is resumed."""

from __future__ import annotations

import subprocess

import pytest

from ralph_ls.engine.worktree.keeper import read_final_snapshot
from tests.engine.beads.conftest import IT_RUNS, Issues, said
from tests.engine.project_builder import KILL_ENGINE, newest_run
from tests.engine.ralph_runner import told

pytestmark = pytest.mark.slow

AGENT = """\
if [ ! -e "$kept/killed" ]; then
    : >"$kept/killed"
    KILL_ENGINE
    bd update bd-1 --priority 4 >/dev/null
fi
report 'STATUS: IN_PROGRESS'
"""


@pytest.mark.parametrize("is_touched", [True, False])
def test_what_the_user_did_in_bd_is_not_restored(work: Issues, *, is_touched: bool) -> None:
    walls = {"id": "bd-1", "title": "Walls", "priority": 1, "acceptance_criteria": IT_RUNS}
    body = AGENT.replace("KILL_ENGINE", KILL_ENGINE)
    work.issues(walls, {**walls, "id": "bd-2", "title": "Roof"}).agent(body)
    assert work.work_on("1").exit_code == -9
    found = newest_run(work.repository)
    assert found is not None
    assert read_final_snapshot(found.files.folder) is not None
    if is_touched:
        lower = ["bd", "update", "bd-2", "--priority", "4"]
        subprocess.run(lower, cwd=work.repository, env=work.environment, check=True)
    done = work.work_on("1", "--resume")
    restored = [one.iteration for one in told(done, "guardReverted")]
    assert restored == ([] if is_touched else [1])
    assert work.issue("bd-2")["priority"] == (4 if is_touched else 1)
    assert len(said(done, "issues-left-to-user")) == (1 if is_touched else 0)
