"""Hostile agents: each description in ``agents/`` is an agent that a real engine starts.

Afterwards the invariants hold, nothing runs any more, the user's files are as they were, and a
well-behaved agent can finish the work. Where an attack keeps the engine waiting, a
``ralph stop --now`` has to end it.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

from ralph_ls.protocol.config.config import ProfileName
from tests.engine.project_builder import write_agent, write_python_agent
from tests.sweep import invariants
from tests.sweep.engines import Engine, ralph
from tests.sweep.processes import wait_until
from tests.sweep.projects import Project, make_project
from tests.sweep.runner import Case, Scenario, read_descriptions
from tests.sweep.users import User
from tests.sweep.violations import Kind, Violation, require

FOLDER = Path(__file__).with_name("agents")
UNTIL_STOP = 6.0
"""Seconds that a run may take before the user orders its end."""
STOP_SECONDS = 30.0
"""In which an engine has ended that had to end at once; it takes 4 on a quiet machine."""

SH_PRELUDE = """\
cat >/dev/null
plan=@fix_plan.md
state=$(cd "$RALPH_SCRATCH/../../../../.." && pwd)
run=$(cd "$RALPH_SCRATCH/.." && pwd)
kept={kept}
report() {{
    printf '%s\\n' ---RALPH_STATUS--- 'STATUS: IN_PROGRESS' "EXIT_SIGNAL: ${{1:-false}}" \\
        ---END_RALPH_STATUS---
}}
work() {{
    echo "$RALPH_START" >>work/x.txt; git add work/x.txt
    git commit -qm "Work $RALPH_START" -- work
}}
"""


ALL = read_descriptions(FOLDER)


def run(case: Case) -> None:
    name, description = ALL[case.number % len(ALL)]
    case.note(f"{name}: {description['does']}")
    try:
        _attack(case, description)
    except Violation as violation:
        text = f"{name} ({description['does']}): {violation}"
        raise Violation(violation.kind, text) from violation
    case.count("attacks")


def _attack(case: Case, description: dict[str, Any]) -> None:
    project = make_project(
        case, ProfileName.FIXPLAN, commits=description.get("commits", "agent"), n_tasks=2
    )
    exempt = set(description.get("exempt", ()))
    user = User(case, project)
    if "user" not in exempt:
        for _ in range(6):
            user.act()
    ralph(case, project.repository, "allow", "--yes", env=project.environment)
    agent = _write_agent(project, description)
    small = _small_state(case) if "small_state" in description else None
    words = ["run", str(description.get("iterations", 2)), "--agent-command", agent]
    engine = Engine(case, project.repository, *words, env=project.environment)
    try:
        is_stopped = not wait_until(
            lambda: not engine.is_alive, seconds=description.get("seconds", UNTIL_STOP)
        )
        if is_stopped:
            # Its own answer does not count here: the engine's end does.
            Engine(case, project.repository, "stop", "--now", env=project.environment)
            case.count("stops")
        ended = engine.wait(STOP_SECONDS)
        require(ended.code >= 0 or "engine" in exempt, Kind.WRONG, f"the engine died: {ended.code}")
        case.watcher.expect_nothing_left()
        _check(project, user, ended.code, exempt)
        if "again" not in exempt:
            _finish(case, project, user, exempt)
    finally:
        if small is not None:
            subprocess.run(["umount", "-l", str(small)], check=False)


def _write_agent(project: Project, description: dict[str, Any]) -> str:
    folder = project.kept / "attack"
    if "python" in description:
        return write_python_agent(folder, description["python"])
    return write_agent(folder, SH_PRELUDE.format(kept=project.kept) + description["sh"])


def _small_state(case: Case) -> Path | None:
    """A state folder on a disk of 2 MB; without the rights for that, files of 1 MB at most."""
    state = case.folder / "state"
    shutil.rmtree(state, ignore_errors=True)
    state.mkdir(mode=0o700)
    command = ["mount", "-t", "tmpfs", "-o", "size=2m,mode=0700", "tmpfs", str(state)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        case.count("without a small disk")
        return None
    return state


def _check(project: Project, user: User, code: int, exempt: set[str]) -> None:
    """The invariants, except for what the attack itself has destroyed."""
    repository = project.repository
    if "state" not in exempt:
        for journal in invariants.journals():
            invariants.journal_is_contiguous(journal, is_torn="engine" in exempt)
        if "engine" not in exempt:
            invariants.exit_code_is_true(invariants.newest_events(), code)
        invariants.starts_happened_once(project)
        invariants.state_is_private()
        invariants.secret_is_in_no_file(project)
    if "git" not in exempt:
        invariants.repository_is_sound(repository)
        invariants.nothing_is_locked(repository)
        invariants.secret_is_in_no_commit(project)
    if "user" not in exempt:
        invariants.users_work_is_untouched(project, user)
    if "plan" not in exempt:
        invariants.plan_lost_nothing(project)


def _finish(case: Case, project: Project, user: User, exempt: set[str]) -> None:
    """A good agent ends the work in a run that begins again."""
    ended = ralph(case, project.repository, "status", env=project.environment)
    require(ended.code in {0, 1, 2, 3, 4, 5}, Kind.WRONG, f"status ended with {ended.code}")
    # The approvals may be gone with the state, or the agent's version is what is to be allowed.
    ralph(case, project.repository, "allow", "--yes", env=project.environment)
    ended = ralph(case, project.repository, *project.start_words, env=project.environment)
    require(
        ended.code == 0, Kind.WRONG, f"the next run ended with {ended.code}: {ended.text[-800:]}"
    )
    if "user" not in exempt:
        invariants.users_work_is_untouched(project, user)
    left = invariants.open_tasks(project)
    require(not left, Kind.WRONG, f"complete with open tasks: {left}")


SCENARIO = Scenario(
    name="agents",
    run=run,
    quick=[number for number, (_, one) in enumerate(ALL) if one.get("quick")],
    share=1.5,
)
