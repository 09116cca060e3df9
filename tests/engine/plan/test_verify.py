"""Evidence for closing: the commands that criteria name are run, and the plan says what came of it.

Agents here tick their task and may do what it asks for or not; ``check.sh`` is what decides.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.engine.crash_driver import KILLED, Driver
from tests.engine.project_builder import events_of, git, marked_processes
from tests.engine.ralph_runner import Project, told, warnings

pytestmark = pytest.mark.slow

ON = "verify = true\n"
PLAN = """\
# Plan

- [ ] First task
  - Acceptance criteria:
    - [ ] Work is there (`sh check.sh`)
    - [ ] It is fast
- [ ] Second task
"""
CHECK = 'echo "looks for done.txt"; test -f done.txt\n'
TICKS = "mark x 'First task'; work; commit; report 'STATUS: IN_PROGRESS'"


def planned(
    project: Project, agent: str, *, plan: str = PLAN, config: str = ON, allowed: bool = True
) -> Project:
    """A repository with criteria, whose owner has allowed what they name."""
    files = {"@fix_plan.md": plan, "check.sh": CHECK, ".ralph/config.toml": config}
    project.plan(files=files).agent(agent)
    if allowed:
        assert project.tell("allow", "--yes").exit_code == 0
    return project


def plan_of(project: Project) -> str:
    return project.file("@fix_plan.md").read_text(encoding="utf-8")


def test_what_is_allowed_while_the_agent_works_is_run(project: Project) -> None:
    planned(project, f"wait_here; touch done.txt; {TICKS}", allowed=False)
    project.make_gate()
    running = project.start("1")
    running.wait_for("agentStarted")
    allowed = project.tell("allow", "--yes")
    assert allowed.exit_code == 0
    assert "; the run may use what you have approved" in allowed.stdout
    project.open_gate()
    done = running.wait()
    (event,) = told(done, "criteriaVerified")
    assert event.ok
    assert [event.command_kind for event in told(done, "commandAccepted")] == ["allow"]
    assert "approvals-removed" not in warnings(done)


def test_a_verified_criterion_has_its_evidence(project: Project) -> None:
    planned(project, f"touch done.txt; {TICKS}")
    done = project.run("1")
    (event,) = told(done, "criteriaVerified")
    assert (event.ok, event.reopened, event.task.title) == (True, False, "First task")
    (check,) = event.checks
    assert (check.command, check.exit_code, check.tail) == (
        "sh check.sh",
        0,
        "looks for done.txt\n",
    )
    assert plan_of(project) == PLAN.replace("[ ] First", "[x] First").replace(
        "[ ] Work is there (`sh check.sh`)",
        "[x] Work is there (sh check.sh - exit 0)",
    )
    assert told(done, "evidenceGathered")[0].evidence.tasks_done == (event.task.id,)
    assert "▸ Verified: First task (1 command ended with 0)\n" in done.stdout
    (log,) = project.file(".ralph/logs").glob("*.log")
    assert "$ sh check.sh\nlooks for done.txt\n" in log.read_text(encoding="utf-8")


def test_a_task_that_does_not_hold_is_open_again_with_a_note(project: Project) -> None:
    planned(project, TICKS)
    done = project.run("1")
    (event,) = told(done, "criteriaVerified")
    assert (event.ok, event.reopened, event.checks[0].exit_code) == (False, True, 1)
    assert told(done, "evidenceGathered")[0].evidence.tasks_done == ()
    (ended,) = told(done, "iterationEnded")
    assert (ended.counts.done, ended.counts.open_required) == (0, 2)
    note = "  - Verification failed: Work is there (sh check.sh - exit 1)\n"
    lines = plan_of(project).splitlines(keepends=True)
    assert note in lines
    assert "".join(line for line in lines if line != note) == PLAN
    assert (
        "▸ First task: Verification failed: Work is there (sh check.sh - exit 1)\n"
        "  looks for done.txt\n"
    ) in done.stdout


def test_a_completion_is_refused_that_the_check_refutes(project: Project) -> None:
    plan = "# Plan\n\n- [ ] First task\n  - Done when: `sh check.sh` passes\n"
    says = "say 'All tasks are complete. Everything is done.'; report 'STATUS: COMPLETE' "
    says += "'EXIT_SIGNAL: true'"
    agent = f"[ $RALPH_START = 1 ] || touch done.txt; mark x 'First task'; work; commit; {says}"
    planned(project, agent, plan=plan)
    done = project.run("5")
    assert done.exit_code == 0
    assert [event.ok for event in told(done, "criteriaVerified")] == [False, True]
    assert len(told(done, "iterationEnded")) == 2
    assert "  - Done when: `sh check.sh` passes (sh check.sh - exit 0)\n" in plan_of(project)
    assert "Verification failed: `sh check.sh` passes (sh check.sh - exit 1)" in project.prompt(
        2
    ) + plan_of(project)


def test_a_refuted_task_has_failed_whatever_else_was_done(project: Project) -> None:
    """Criteria that are not all verified make a failed attempt; after three it makes room."""
    planned(project, TICKS, config=f"{ON}[attempts]\nlimit = 3\n")
    done = project.run("4")
    assert [event.attempt for event in told(done, "attemptCounted")] == [1, 2, 3, 1]
    (aside,) = told(done, "taskSetAside")
    assert (aside.task.title, aside.attempts) == ("First task", 3)
    assert [event.task.title for event in told(done, "iterationStarted")][-1] == "Second task"


def test_what_the_commands_leave_behind_is_no_work_of_the_next_agent(project: Project) -> None:
    agent = f"if [ $RALPH_START = 1 ]; then {TICKS}; else report 'STATUS: IN_PROGRESS'; fi"
    planned(project, agent).file("check.sh").write_text("echo ran >>left.txt\n", encoding="utf-8")
    git(project.repository, "commit", "-qam", "A check that writes")
    done = project.run("2")
    evidence = [event.evidence for event in told(done, "evidenceGathered")]
    assert [one.progress for one in evidence] == [True, False]
    assert project.file("left.txt").read_text(encoding="utf-8") == "ran\n"


def test_a_command_that_an_agent_brings_is_reported_and_never_run(project: Project) -> None:
    brings = "printf -- '- [x] Own task\\n  - Done when: `touch owned` works\\n' >>@fix_plan.md"
    planned(project, f"{brings}; work; commit; report 'STATUS: IN_PROGRESS'")
    done = project.run("1")
    assert "verify-not-allowed" in warnings(done)
    assert not project.file("owned").exists()
    (event,) = told(done, "criteriaVerified")
    assert (event.ok, event.reopened) == (False, False)
    assert event.checks[0].not_run == "it is not approved: ralph allow"
    assert "- [x] Own task\n  - Done when: `touch owned` works\n" in plan_of(project)
    assert "▸ Not verified: Own task: 1 command not run (touch owned): " in done.stdout


def test_nothing_is_run_that_a_shell_would_have_to_read(project: Project) -> None:
    plan = PLAN.replace("sh check.sh", "sh check.sh && touch owned")
    planned(project, TICKS, plan=plan)
    done = project.run("1")
    assert "verify-needs-shell" in warnings(done)
    assert not project.file("owned").exists()
    assert "[x] First task" in plan_of(project)


def test_what_was_never_allowed_is_reported_at_the_start_and_shown_by_allow(
    project: Project,
) -> None:
    planned(project, TICKS, allowed=False)
    shown = json.loads(project.tell("allow", "--json").stdout)
    assert [claim["key"] for claim in shown["claims"]] == ["verify: sh check.sh"]
    assert shown["allowed"] is False
    first = project.run("1")
    start = next(event for event in told(first, "warned") if event.code == "verify-not-allowed")
    assert start.iteration is None
    assert "sh check.sh" in start.message
    assert told(first, "criteriaVerified")[0].checks[0].not_run
    assert project.tell("allow", "--yes").exit_code == 0
    # Allowing something else later takes nothing back.
    assert "verify: sh check.sh (approved)" in project.tell("allow").stdout


def test_without_the_setting_nothing_is_run_nor_asked(project: Project) -> None:
    planned(project, TICKS, config="", allowed=False)
    assert json.loads(project.tell("allow", "--json").stdout)["claims"] == []
    done = project.run("1")
    assert told(done, "criteriaVerified") == []
    assert not [code for code in warnings(done) if code.startswith("verify")]
    assert "[x] First task" in plan_of(project)


def test_a_command_may_take_only_so_long_and_nothing_of_it_stays(project: Project) -> None:
    config = f'{ON}verify_timeout = "2s"\n'
    planned(project, TICKS, config=config)
    project.file("check.sh").write_text("echo begun; sleep 600 & sleep 600\n", encoding="utf-8")
    done = project.run("1")
    (check,) = told(done, "criteriaVerified")[0].checks
    assert (check.timed_out, check.exit_code, check.tail) == (True, None, "begun\n")
    assert "(sh check.sh - timed out)" in plan_of(project)
    assert marked_processes(done.events[0].run) == []


def test_a_program_that_is_not_there_has_failed(project: Project) -> None:
    criterion = "It runs (`no-such-program --all`)"
    planned(project, TICKS, plan=PLAN.replace("Work is there (`sh check.sh`)", criterion))
    done = project.run("1")
    assert told(done, "criteriaVerified")[0].checks[0].exit_code == 127
    assert "(no-such-program --all - exit 127, program not found)" in plan_of(project)


def test_stop_reaches_it(project: Project) -> None:
    planned(project, TICKS)
    os.mkfifo(project.kept / "never")
    check = ': >"$CHECK_BEGUN"; read -r _ <"$CHECK_NEVER"\n'
    project.file("check.sh").write_text(check, encoding="utf-8")
    begun = project.kept / "begun"
    os.mkfifo(begun)
    env = {"CHECK_BEGUN": str(begun), "CHECK_NEVER": str(project.kept / "never")}
    running = project.start("5", env=env)
    begun.read_text(encoding="utf-8")
    assert project.tell("stop", "--now").exit_code == 0
    done = running.wait()
    assert done.exit_code == 130
    assert marked_processes(done.events[0].run) == []
    (event,) = told(done, "criteriaVerified")
    assert (event.ok, event.reopened, event.checks[0].not_run) == (
        False,
        False,
        "the run was stopped",
    )
    assert "verify-stopped" in warnings(done)


def test_a_secret_that_a_command_prints_is_written_nowhere(project: Project) -> None:
    planned(project, TICKS)
    project.file("check.sh").write_text('echo "with $MY_API_TOKEN"; exit 1\n', encoding="utf-8")
    done = project.run("1", env={"MY_API_TOKEN": "hunter2-hunter2"})
    assert told(done, "criteriaVerified")[0].checks[0].tail == "with [redacted MY_API_TOKEN]\n"
    written = _files_below(project.run_folder(), project.file(".ralph"))
    assert not [path for path in written if b"hunter2" in path.read_bytes()]


def test_a_task_that_was_moved_to_the_finished_ones_comes_back(project: Project) -> None:
    plan = f"{PLAN}\n## Completed\n\n- Earlier task\n".replace("# Plan\n", "# Plan\n\n## Tasks\n")
    moved = plan.replace(
        "- [ ] First task\n  - Acceptance criteria:\n    - [ ] Work is there (`sh check.sh`)\n"
        "    - [ ] It is fast\n",
        "",
    )
    moved += "- First task\n  - Acceptance criteria:\n    - Work is there (`sh check.sh`)\n"
    moved += "    - It is fast\n"
    agent = 'cat "$kept/moved" >@fix_plan.md; work; commit; report "STATUS: IN_PROGRESS"'
    planned(project, agent, plan=plan)
    (project.kept / "moved").write_text(moved, encoding="utf-8")
    done = project.run("1")
    (event,) = told(done, "criteriaVerified")
    assert event.reopened, warnings(done)
    tasks, _, completed = plan_of(project).partition("## Completed")
    assert "- [ ] First task\n" in tasks
    assert "Verification failed: Work is there" in tasks
    assert completed.strip() == "- Earlier task"


def _files_below(*folders: Path) -> list[Path]:
    return [path for folder in folders for path in folder.rglob("*") if path.is_file()]


# Stories.


def stories(project: Project, agent: str, *, config: str = ON, **fields: object) -> Project:
    """A repository with one story and a command for the whole file."""
    story = {
        "id": "US-1",
        "title": "Write it",
        "acceptanceCriteria": ["Work is there (`sh check.sh`)", "It is fast"],
        "priority": 1,
        "passes": False,
        "reviewStatus": None,
        "reviewCount": 0,
        "reviewFeedback": None,
        "notes": "",
    } | fields
    whole = {"project": "It", "verifyCommands": ["git fsck"], "userStories": [story]}
    files = {
        "ralph/tasks.json": json.dumps(whole, indent=2) + "\n",
        "check.sh": CHECK,
        ".ralph/config.toml": f'profile = "stories"\n{config}',
    }
    project.plan(files=files)
    git(project.repository, "rm", "-q", "@fix_plan.md")
    git(project.repository, "commit", "-qm", "The plan is a file of stories")
    edit = r"""
put() { sed -e "s/\"$1\": [^,]*/\"$1\": $2/" ralph/tasks.json >"$kept/plan"
cat "$kept/plan" >ralph/tasks.json; }
"""
    project.agent(edit + agent)
    assert project.tell("allow", "--yes").exit_code == 0
    return project


def story_of(project: Project) -> dict[str, object]:
    text = project.file("ralph/tasks.json").read_text(encoding="utf-8")
    found: dict[str, object] = json.loads(text)["userStories"][0]
    return found


REVIEWS = """
case $(git log --format=%s | wc -l) in
    2) put reviewStatus '"needs_review"';;
    3) touch done.txt; put reviewStatus '"needs_review"'; put reviewFeedback null;;
    *) put passes true; put reviewCount 1; put reviewStatus '"approved"';;
esac
work; commit
"""


def test_a_story_goes_through_its_review_only_with_what_holds(project: Project) -> None:
    stories(project, REVIEWS)
    done = project.run("5")
    assert done.exit_code == 0, done.stdout
    assert [event.mode.value for event in told(done, "iterationStarted")] == [
        "build",
        "review-fix",
        "review",
    ]
    checks = [[one.command for one in event.checks] for event in told(done, "criteriaVerified")]
    assert checks == [["sh check.sh", "git fsck"]] * 3
    assert [event.ok for event in told(done, "criteriaVerified")] == [False, True, True]
    lines = "Acceptance criteria verified:\n"
    lines += "- [x] Work is there (sh check.sh - exit 0)\n"
    lines += "- [x] git fsck (git fsck - exit 0)"
    assert story_of(project)["notes"] == lines


def test_a_story_that_is_refuted_asks_for_changes(project: Project) -> None:
    stories(project, REVIEWS)
    done = project.run("1")
    assert story_of(project)["reviewStatus"] == "changes_requested"
    assert story_of(project)["reviewFeedback"] == (
        "Verification failed: Work is there (sh check.sh - exit 1)"
    )
    (gathered,) = told(done, "evidenceGathered")
    assert gathered.evidence.tasks_done == ()


def test_without_reviews_a_refuted_story_is_open_again(project: Project) -> None:
    agent = "put passes true; work; commit; say '<promise>COMPLETE</promise>'"
    stories(project, agent, config=f"{ON}skip_review = true\n")
    done = project.run("1")
    assert done.exit_code == 1
    assert (story_of(project)["passes"], story_of(project)["reviewStatus"]) == (False, None)
    assert "Verification failed" in str(story_of(project)["notes"])
    assert told(done, "completionRefused")


def test_allow_shows_the_commands_of_stories_and_of_their_file(project: Project) -> None:
    stories(project, "work")
    shown = json.loads(project.tell("allow", "--json").stdout)
    keys = [claim["key"] for claim in shown["claims"]]
    assert keys == ["verify: sh check.sh", "verify: git fsck"]


# Engines that die meanwhile.


@pytest.mark.parametrize("holds", [True, False], ids=["holds", "refuted"])
@pytest.mark.parametrize("later", range(3))
def test_a_killed_engine_leaves_nothing_half_verified(
    project: Project, tmp_path: Path, later: int, *, holds: bool
) -> None:
    """Killed right after the event that reports it, and after each of the next ones."""
    agent = TICKS.replace("work;", "touch done.txt; work;") if holds else TICKS
    planned(project, agent, config=f"{ON}[attempts]\nlimit = 3\n")
    finished = project.run("1")
    at = finished.kinds().index("criteriaVerified") + 1 + later
    expected = plan_of(project)
    git(project.repository, "reset", "-q", "--hard", "HEAD~1")
    git(project.repository, "clean", "-fdq", "-e", ".ralph")
    arguments = ("run", "1", "--agent-command", project.command)
    engines = Driver(tmp_path / "output")
    assert engines.ralph(project.repository, *arguments, kill_at=at) == KILLED
    assert engines.ralph(project.repository, "run", "--resume") == 1
    assert plan_of(project) == expected
    events = events_of(project.repository)
    ended = [event for event in events if getattr(event, "kind", "") == "iterationEnded"]
    assert [(getattr(event, "counts", 0), getattr(event, "attempts", 0)) for event in ended] == [
        (event.counts, event.attempts) for event in told(finished, "iterationEnded")
    ]
    reverted = [event for event in events if getattr(event, "kind", "") == "guardReverted"]
    assert reverted == []


def test_what_an_engine_was_killed_in_is_run_again(project: Project) -> None:
    planned(project, f"touch done.txt; {TICKS}")
    os.mkfifo(project.kept / "begun")
    os.mkfifo(project.kept / "never")
    check = 'if mkdir "$KEPT/once"; then : >"$KEPT/begun"; read -r _ <"$KEPT/never"; fi\n'
    project.file("check.sh").write_text(check, encoding="utf-8")
    env = {"KEPT": str(project.kept)}
    running = project.start("1", env=env)
    (project.kept / "begun").read_text(encoding="utf-8")
    running.kill()
    resumed = project.ralph(project.repository, "run", "--resume", env=env)
    assert resumed.exit_code == 1
    assert [event.ok for event in told(resumed, "criteriaVerified")] == [True]
    assert "(sh check.sh - exit 0)" in plan_of(project)
    assert marked_processes(resumed.events[0].run) == []
