"""What the editor finds in the end-to-end test: two repositories, an agent, a second extension.

The agent is a script that waits at a gate in each of its iterations, until the driver lets it
through: so what the screen shows in between does not hang on how fast the machine is.
"""

from __future__ import annotations

import json
import os
import shlex
from dataclasses import dataclass
from pathlib import Path

from tests.engine.loop import git, run_ralph, write_agent

PLAN = """\
# Plan

## High Priority

- [ ] Write the parser
- [ ] Choose the storage engine
- [ ] Cache what was parsed

## Standard

- [ ] Describe the cache in the manual
"""

QUESTION = "Which storage engine should the cache use? (a) SQLite file (b) Redis"

N_ITERATIONS = 6

AGENT = """\
kept={kept}
cat >"$kept/prompt-$RALPH_ITERATION"
say() {{ printf '%s\\n' "$@"; }}
report() {{ say '---RALPH_STATUS---' "$@" '---END_RALPH_STATUS---'; }}
tick() {{ sed "s/\\[ \\] $1/[x] $1/" @fix_plan.md >"$kept/plan"; cat "$kept/plan" >@fix_plan.md; }}
commit() {{ git add -A; git commit -q -m "$1"; }}
say "Reading the plan for iteration $RALPH_ITERATION."
: >"$kept/at-$RALPH_ITERATION"
read -r _ <"$kept/gate-$RALPH_ITERATION"
case $RALPH_ITERATION in
1)
    say 'The parser reads numbers, names and strings.'
    echo 'def parse(text): return text.split()' >parser.py
    echo 'def test_parse(): assert True' >test_parser.py
    tick 'Write the parser'
    commit 'Write the parser'
    report 'STATUS: IN_PROGRESS' 'TASKS_COMPLETED_THIS_LOOP: 1' 'FILES_MODIFIED: 3' \\
        'TESTS_STATUS: PASSING' 'WORK_TYPE: IMPLEMENTATION' 'EXIT_SIGNAL: false' \\
        'RECOMMENDATION: Wire the parser into the reader, then add the test of broken input.'
    ;;
2)
    say 'The specification names no storage engine.'
    echo 'Two engines would do.' >engines.txt
    commit 'Write down the engines'
    report 'STATUS: IN_PROGRESS' 'TASKS_COMPLETED_THIS_LOOP: 0' 'FILES_MODIFIED: 1' \\
        'TESTS_STATUS: PASSING' 'WORK_TYPE: DOCUMENTATION' 'EXIT_SIGNAL: false'
    say {question}
    ;;
3 | 4)
    say 'I looked at the cache once more.'
    report 'STATUS: IN_PROGRESS' 'TASKS_COMPLETED_THIS_LOOP: 1' 'FILES_MODIFIED: 4' \\
        'TESTS_STATUS: FAILING' 'WORK_TYPE: IMPLEMENTATION' 'EXIT_SIGNAL: false' \\
        'RECOMMENDATION: Look at the lock of the cache file.'
    ;;
5)
    say 'The cache keeps what was parsed.'
    echo 'import sqlite3' >cache.py
    tick 'Choose the storage engine'
    tick 'Cache what was parsed'
    commit 'Cache what was parsed'
    report 'STATUS: IN_PROGRESS' 'TASKS_COMPLETED_THIS_LOOP: 2' 'FILES_MODIFIED: 2' \\
        'TESTS_STATUS: PASSING' 'WORK_TYPE: IMPLEMENTATION' 'EXIT_SIGNAL: false'
    ;;
*)
    echo '# The cache' >manual.md
    tick 'Describe the cache in the manual'
    commit 'Describe the cache'
    say 'All tasks are complete.'
    report 'STATUS: COMPLETE' 'TASKS_COMPLETED_THIS_LOOP: 1' 'FILES_MODIFIED: 2' \\
        'TESTS_STATUS: PASSING' 'WORK_TYPE: DOCUMENTATION' 'EXIT_SIGNAL: true'
    ;;
esac
"""


CONFIG = """\
agent = "command"
max_iterations = 20

[agents.command]
argv = {argv}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Everything that the scenario needs to know of the world."""

    folder: Path
    repository: Path
    other_repository: Path
    workspace: Path
    """The file that opens both."""
    kept: Path
    """What the agent leaves for us, and its gates."""


def set_up(folder: Path) -> Stage:
    """Make the world in an empty folder; RALPH_STATE_DIR holds that the agent is allowed."""
    stage = Stage(
        folder=folder,
        repository=folder / "parser",
        other_repository=folder / "letters",
        workspace=folder / "both.code-workspace",
        kept=folder / "kept",
    )
    stage.kept.mkdir()
    for number in range(1, N_ITERATIONS + 1):
        os.mkfifo(stage.kept / f"gate-{number}")
    promise = shlex.quote(f"<promise>DECIDE:{QUESTION}</promise>")
    body = AGENT.format(kept=shlex.quote(str(stage.kept)), question=promise)
    agent = shlex.split(write_agent(stage.kept / "bin", body))
    config = (
        f'agent = "command"\nmax_iterations = 20\n\n[agents.command]\nargv = {json.dumps(agent)}\n'
    )
    _repository(stage.repository, PLAN, config)
    _repository(stage.other_repository, "# Plan\n\n- [ ] Write a letter\n", config)
    folders = [{"path": path.name} for path in (stage.repository, stage.other_repository)]
    stage.workspace.write_text(json.dumps({"folders": folders}), encoding="utf-8")
    return stage


def _repository(folder: Path, plan: str, config: str) -> None:
    (folder / ".ralph").mkdir(parents=True)
    (folder / "@fix_plan.md").write_text(plan, encoding="utf-8")
    (folder / ".ralph" / "config.toml").write_text(config, encoding="utf-8")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "The beginning")
    allowed = run_ralph(folder, "allow", "--yes")
    assert allowed.exit_code == 0, allowed.stderr
