"""How a run on issues ends: every ending that the profile can have (docs/rules.md#exit-gate)."""

from __future__ import annotations

import signal

import pytest

from ralph_ls.core.loop.rules.gate import QUEUE_OVER
from tests.engine.beads.conftest import IT_RUNS, Issues, end_of, said, tasks_of
from tests.engine.project_builder import git
from tests.engine.ralph_runner import told
from tests.fakes.bd import install

pytestmark = pytest.mark.slow

TWO = (
    {"id": "bd-1", "title": "First", "priority": 1, "acceptance_criteria": IT_RUNS},
    {"id": "bd-2", "title": "Second", "needs": ["bd-1"], "acceptance_criteria": IT_RUNS},
)
WORKS = 'work; closes "$issue"; commit; report "STATUS: IN_PROGRESS"'


@pytest.mark.parametrize("shape", ["bare", "items", "data"])
def test_all_issues_are_closed(work: Issues, shape: str) -> None:
    work.around = {"FAKE_BD_SHAPE": shape}
    done = work.issues(*TWO).agent(WORKS).work_on()
    assert end_of(done) == (0, f"{QUEUE_OVER}: nothing in the plan is open")
    assert tasks_of(done) == ["bd-1", "bd-2"]
    assert work.status() == {"bd-1": "closed", "bd-2": "closed"}
    assert [one.evidence.tasks_done for one in told(done, "evidenceGathered")] == [
        ("bd-1",),
        ("bd-2",),
    ]


def test_an_old_release_does_as_well(work: Issues) -> None:
    work.around = {"FAKE_BD_OLD": "counts no-all no-claim no-limit no-deferred one-shown silent"}
    done = work.issues(*TWO).agent(WORKS).work_on()
    assert end_of(done) == (0, f"{QUEUE_OVER}: nothing in the plan is open")
    assert tasks_of(done) == ["bd-1", "bd-2"]


def test_an_issue_that_had_a_dependency_closes_as_any_other_in_0_34(work: Issues) -> None:
    work.around = {"FAKE_BD_VERSION": "0.34.0"}
    done = work.issues(*TWO).agent(WORKS).work_on()
    assert end_of(done) == (0, f"{QUEUE_OVER}: nothing in the plan is open")
    assert (said(done, "not-put-back"), told(done, "planReverted")) == ([], [])
    assert work.issue("bd-2")["dependencies"] == [["bd-1", "blocks"]]


def test_a_release_that_forgets_close_reasons_is_asked_for_the_notes(work: Issues) -> None:
    work.around = {"FAKE_BD_VERSION": "0.24.0"}
    agent = """work; commit
case $RALPH_ITERATION in
2) bd update "$issue" --notes "- [x] it runs (make test - exit 0)" >/dev/null; bd close "$issue";;
*) closes "$issue";;
esac; report "STATUS: IN_PROGRESS"
"""
    done = work.issues(TWO[0]).agent(agent).work_on()
    assert end_of(done) == (0, f"{QUEUE_OVER}: nothing in the plan is open")
    assert tasks_of(done) == ["bd-1", "bd-1"]
    prompt = (work.kept / "prompt-1").read_text(encoding="utf-8")
    assert "bd 0.24.0 loses the reason of `bd close`" in prompt
    (message,) = said(done, "close-without-evidence")
    assert "bd 0.24.0 loses the reason" in message
    checked = work.say("doctor").stdout
    assert "bd 0.24.0 loses close reasons" in checked


def test_a_bd_that_fails_now_and_then_ends_nothing(work: Issues) -> None:
    work.around = {"FAKE_BD_FAILS": "list:3 ready:1 !update:1"}
    done = work.issues(*TWO).agent(WORKS).work_on()
    assert end_of(done) == (0, f"{QUEUE_OVER}: nothing in the plan is open")
    assert tasks_of(done) == ["bd-1", "bd-2"]


def test_a_note_that_bd_refuses_ends_nothing(work: Issues) -> None:
    issues = ({**one, "needs": []} for one in TWO)
    work.issues(*issues, config="[attempts]\nlimit = 1\n")
    (work.bin / "bd").rename(work.bin / "real")
    (work.bin / "bd").write_text(
        f"""#!/bin/sh
case "$*" in *STUCK:*) echo '{{"error":"disk I/O error"}}' >&2; exit 1;; esac
exec {work.bin}/real "$@"
""",
        encoding="utf-8",
    )
    (work.bin / "bd").chmod(0o755)
    work.agent('work; commit; [ $issue = bd-1 ] || closes "$issue"; report "STATUS: X"')
    done = work.work_on("2")
    assert tasks_of(done) == ["bd-1", "bd-2"]
    assert end_of(done)[0] != 5
    (message,) = said(done, "not-written")
    assert "disk I/O error" in message


def test_nothing_is_open_at_the_start(work: Issues) -> None:
    done = work.issues({"id": "bd-1", "status": "closed"}).agent(WORKS).work_on()
    assert end_of(done) == (0, f"{QUEUE_OVER}: nothing in the plan is open")
    assert tasks_of(done) == []


def test_the_agent_s_word_completes_nothing(work: Issues) -> None:
    work.issues(*TWO).agent('work; commit; say "<promise>COMPLETE</promise>"; report "STATUS: X"')
    done = work.work_on("1")
    assert end_of(done) == (1, "reached the 1-iteration limit")


def test_the_limit_names_where_to_look(work: Issues) -> None:
    """What is in progress stays so, and a message says how to see it."""
    done = work.issues(*TWO).agent("work; commit; report 'STATUS: IN_PROGRESS'").work_on("1")
    assert done.exit_code == 1
    assert work.status()["bd-1"] == "in_progress"
    assert "bd list --status in_progress" in done.stdout
    assert "bd blocked" in done.stdout


def test_only_blocked_ones_are_left(work: Issues) -> None:
    """The beads loop ends with 0 here; ours with 2 (docs/rules.md#exit-gate)."""
    work.issues(
        {"id": "bd-1", "title": "A key", "status": "blocked", "notes": "Blocked by: the bank"},
        {"id": "bd-2", "title": "A door", "needs": ["bd-1"]},
    )
    done = work.agent(WORKS).work_on()
    assert tasks_of(done) == []
    assert end_of(done) == (
        2,
        (
            f"{QUEUE_OVER}: nothing is ready; blocked: bd-1 (blocked by the bank); "
            "waiting: bd-2 (waiting for A key (bd-1))"
        ),
    )


def test_a_ring_is_named(work: Issues) -> None:
    """A cycle needs the user."""
    work.issues(
        {"id": "bd-1", "needs": ["bd-3"]},
        {"id": "bd-2", "needs": ["bd-1"]},
        {"id": "bd-3", "needs": ["bd-2"]},
    )
    done = work.agent(WORKS).work_on()
    assert end_of(done) == (
        2,
        (
            f"{QUEUE_OVER}: nothing is ready; waiting for each other: bd-1 → bd-3 → bd-2 → bd-1; "
            "remove a dependency: bd dep remove"
        ),
    )


def test_the_agent_promises_that_it_is_blocked(work: Issues) -> None:
    work.issues(*TWO).agent('say "<promise>BLOCKED:no network</promise>"')
    assert end_of(work.work_on()) == (2, "no network")


def test_the_agent_asks(work: Issues) -> None:
    work.issues(*TWO).agent('say "<promise>DECIDE:red or blue?</promise>"')
    assert end_of(work.work_on()) == (3, "red or blue?")
    assert "red or blue?" in work.file(".ralph/decide.txt").read_text(encoding="utf-8")


def test_two_issues_that_come_to_nothing_open_the_breaker(work: Issues) -> None:
    work.issues(*({"id": f"bd-{n}"} for n in (1, 2)))
    done = work.agent("report 'STATUS: BLOCKED' 'RECOMMENDATION: no disk'").work_on()
    assert tasks_of(done) == ["bd-1", "bd-2"]
    assert done.exit_code == 4


def test_bd_is_not_there(work: Issues) -> None:
    work.issues(*TWO).agent(WORKS)
    (work.bin / "bd").unlink()
    done = work.work_on()
    assert done.exit_code == 5
    assert "bd, which was not found on PATH; install it" in done.stderr
    assert done.events == ()


def test_bd_has_no_database(work: Issues) -> None:
    work.issues(*TWO).agent(WORKS)
    work.file(".beads").rename(work.kept / "beads")
    done = work.work_on()
    assert done.exit_code == 5
    assert "create its database with bd init" in done.stderr


def test_bd_breaks_while_the_loop_runs(work: Issues) -> None:
    work.issues(*TWO).agent(f'work; commit; rm "{work.bin}/bd"; report "STATUS: IN_PROGRESS"')
    done = work.work_on()
    code, message = end_of(done)
    assert code == 5
    assert "bd cannot be run" in message
    install(work.bin)
    work.agent(WORKS)
    resumed = work.start_on("--resume").wait()
    assert end_of(resumed)[0] == 0


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_it_is_stopped(work: Issues, number: signal.Signals, code: int) -> None:
    """The issue that is in work stays in progress, and a message says how to see it."""
    work.issues(*TWO).agent("wait_here")
    work.make_gate()
    running = work.start_on()
    running.wait_for("agentStarted")
    if number is signal.SIGINT:
        running.press_ctrl_c_twice()
    else:
        running.signal(number)
    done = running.wait()
    assert done.exit_code == code
    assert work.status() == {"bd-1": "in_progress", "bd-2": "open"}
    for command in ("bd stats", "bd list --status in_progress", "bd blocked"):
        assert command in done.stdout


def test_someone_stops_it_from_elsewhere(work: Issues) -> None:
    work.issues(*TWO).agent("wait_here; work; commit")
    work.make_gate()
    running = work.start_on()
    running.wait_for("agentStarted")
    assert work.say("stop", "--now").exit_code == 0
    assert running.wait().exit_code == 130


def test_only_the_parts_of_one_issue_are_done(work: Issues) -> None:
    work.issues(
        {"id": "bd-1", "issue_type": "epic", "title": "The house"},
        {"id": "bd-1.1", "parent": "bd-1", "acceptance_criteria": IT_RUNS},
        {"id": "bd-2", "title": "Elsewhere", "priority": 0},
        config='[beads]\nparent = "bd-1"\n',
    )
    done = work.agent(WORKS).work_on()
    assert end_of(done)[0] == 0
    assert tasks_of(done) == ["bd-1.1"]
    assert work.status()["bd-2"] == "open"


def test_the_parent_has_to_be_there(work: Issues) -> None:
    done = work.issues(*TWO, config='[beads]\nparent = "bd-9"\n').agent(WORKS).work_on()
    assert done.exit_code == 5
    assert "bd has no issue bd-9" in done.stderr


def test_only_one_issue_is_done(work: Issues) -> None:
    done = work.issues(*TWO).agent(WORKS).work_on("--task", "bd-1")
    assert end_of(done) == (0, "the task bd-1 is done")
    assert work.status()["bd-2"] == "open"
    refused = work.work_on("--task", "bd-9")
    assert "the plan has no task 'bd-9'" in refused.stderr


def test_the_tree_stays_clean(work: Issues) -> None:
    """Nothing of the loop is in the tree."""
    done = work.issues(*TWO).agent(WORKS).work_on()
    assert end_of(done)[0] == 0
    assert git(work.repository, "status", "--porcelain") == ""
    assert said(done, "close-without-evidence") == []
