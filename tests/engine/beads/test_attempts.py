"""Issues that fail, those that others have, and planning in between.

See docs/rules.md#attempts.
"""

from __future__ import annotations

import re

import pytest

from ralph_ls.core.loop.rules.gate import QUEUE_OVER
from tests.engine.beads.conftest import IT_RUNS, Issues, end_of, said, tasks_of
from tests.engine.ralph_runner import told

pytestmark = pytest.mark.slow

DONE = "report 'STATUS: IN_PROGRESS'"
NO_PLANNING = "plan_when_stuck = false\n"
PLANS = 'is_plan() { grep -q "put the issues of" "$kept/prompt-$RALPH_START"; }\n'
HARD = {"id": "bd-1", "title": "Hard", "priority": 0, "acceptance_criteria": IT_RUNS}
EASY = {"id": "bd-2", "title": "Easy", "acceptance_criteria": IT_RUNS}
EASY_ALONE = f"work; commit; case $issue in bd-2) closes bd-2;; esac; {DONE}"


class TestStuck:
    def test_after_three_attempts_b_s_note_is_left_and_the_loop_moves_on(
        self, work: Issues
    ) -> None:
        work.issues({**HARD, "notes": "mine"}, EASY, config=NO_PLANNING)
        done = work.agent(EASY_ALONE).work_on()
        assert tasks_of(done) == ["bd-1", "bd-1", "bd-1", "bd-2"]
        assert [one.attempt for one in told(done, "attemptCounted")] == [1, 2, 3, 1]
        mine, note = work.issue("bd-1")["notes"].splitlines()
        assert mine == "mine"
        assert re.fullmatch(
            r"STUCK: Failed after 3 attempts at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\. "
            r"Moving to next issue\.",
            note,
        )
        code, message = end_of(done)
        assert code == 2
        assert (
            message == f"{QUEUE_OVER}: nothing is ready; stuck: bd-1 (set aside after 3 attempts)"
        )
        (aside,) = told(done, "taskSetAside")
        assert (aside.task.id, aside.attempts, aside.marked) == ("bd-1", 3, False)

    def test_one_that_reports_blocked_is_passed_over_at_once(self, work: Issues) -> None:
        work.issues(HARD, EASY, config=NO_PLANNING)
        done = work.agent(
            "case $issue in bd-2) work; commit; closes bd-2;; "
            "*) report 'STATUS: BLOCKED' 'RECOMMENDATION: no key';; esac"
        ).work_on()
        assert tasks_of(done) == ["bd-1", "bd-2"]
        assert re.fullmatch(
            r"STUCK: Blocked at \S+: no key\. Moving to next issue\.", work.issue("bd-1")["notes"]
        )
        assert end_of(done) == (
            2,
            f"{QUEUE_OVER}: nothing is ready; stuck: bd-1 (given up: no key)",
        )

    def test_where_settings_want_it_the_issue_is_marked_as_blocked(self, work: Issues) -> None:
        work.issues(HARD, EASY, config="[attempts]\nmark = true\nlimit = 1\n")
        done = work.agent(EASY_ALONE).work_on()
        assert tasks_of(done) == ["bd-1", "bd-2"]
        assert work.issue("bd-1")["status"] == "blocked"
        assert "Blocked by: 1 attempt without success. Needs:" in work.issue("bd-1")["notes"]
        assert end_of(done)[0] == 2

    def test_one_that_was_closed_in_time_has_no_attempts(self, work: Issues) -> None:
        work.issues(HARD)
        done = work.agent(
            f"work; commit; case $RALPH_START in 3) closes bd-1;; esac; {DONE}"
        ).work_on()
        assert end_of(done)[0] == 0
        assert told(done, "iterationEnded")[-1].attempts == {}


class TestPlanningWhenStuck:
    def test_reviews_what_is_stuck_and_continues_with_it(self, work: Issues) -> None:
        work.issues(HARD, EASY, config="[attempts]\nlimit = 2\n")
        done = work.agent(
            PLANS
            + f"""\
if is_plan; then
  bd create "First half" --id bd-3 --parent bd-1 --acceptance "{IT_RUNS}" >/dev/null
elif [ "$issue" = bd-1 ] && [ "$RALPH_START" -lt 4 ]; then work; commit
else work; commit; closes "$issue"; fi
{DONE}
"""
        ).work_on()
        assert tasks_of(done) == ["bd-1", "bd-1", "bd-2", "plan", "bd-3", "bd-1"]
        assert end_of(done)[0] == 0
        assert "STUCK: Failed after 2 attempts" in work.issue("bd-1")["notes"]

    def test_that_helps_nothing_ends_the_run(self, work: Issues) -> None:
        work.issues(HARD, config="[attempts]\nlimit = 1\n")
        done = work.agent(PLANS + f"is_plan || {{ work; commit; }}; {DONE}").work_on()
        assert tasks_of(done) == ["bd-1", "plan"]
        assert end_of(done) == (
            2,
            f"{QUEUE_OVER}: nothing is ready; stuck: bd-1 (set aside after 1 attempt)",
        )

    def test_may_say_that_something_outside_is_missing(self, work: Issues) -> None:
        work.issues(HARD, config="[attempts]\nlimit = 1\n")
        blocks = 'bd update bd-1 --status blocked --notes "Blocked by: a licence" >/dev/null'
        done = work.agent(
            PLANS + f"if is_plan; then {blocks}; else work; commit; fi; {DONE}"
        ).work_on()
        assert tasks_of(done) == ["bd-1", "plan"]
        assert end_of(done) == (
            2,
            f"{QUEUE_OVER}: nothing is ready; blocked: bd-1 (blocked by a licence)",
        )


class TestReplanning:
    def test_opens_what_is_in_progress_and_plans(self, work: Issues) -> None:
        work.issues({**HARD, "status": "in_progress", "notes": "half done"}, EASY)
        work.agent(PLANS + f'is_plan || {{ work; commit; closes "$issue"; }}; {DONE}')
        replanned = work.ralph(
            work.repository, "replan", "--agent-command", work.command, env=work.environment
        )
        assert end_of(replanned)[0] == 0
        assert tasks_of(replanned) == ["plan", "bd-1", "bd-2"]
        assert said(replanned, "plan-reset") == ["reopened for planning: Hard (bd-1)"]
        assert work.issue("bd-1")["notes"] == "half done\nReset for replanning"

    def test_leaves_what_somebody_else_has(self, work: Issues) -> None:
        work.issues({**HARD, "status": "in_progress", "assignee": "Bob"}, EASY)
        work.agent(PLANS + f'is_plan || {{ work; commit; closes "$issue"; }}; {DONE}')
        done = work.work_on("--mode", "plan")
        assert tasks_of(done) == ["plan", "bd-2"]
        assert said(done, "plan-reset") == []
        assert work.issue("bd-1")["status"] == "in_progress"

    def test_goes_with_no_single_task(self, work: Issues) -> None:
        work.issues(HARD).agent(DONE)
        done = work.work_on("--mode", "plan", "--task", "bd-1")
        assert "use either --task or --mode plan" in done.stderr

    def test_writes_the_first_issues_from_specifications(self, work: Issues) -> None:
        work.issues(**{"specs/login.md": "# Login\n\nSomebody logs in.\n"})
        done = work.agent(
            PLANS
            + f"""\
if is_plan; then bd create Login --id bd-1 --acceptance "{IT_RUNS}" >/dev/null
else work; commit; closes "$issue"; fi; {DONE}
"""
        ).work_on()
        assert tasks_of(done) == ["plan", "bd-1"]
        assert end_of(done)[0] == 0

    def test_without_issue_or_specification_there_is_nothing_to_do(self, work: Issues) -> None:
        assert end_of(work.issues().agent(DONE).work_on()) == (
            0,
            f"{QUEUE_OVER}: nothing in the plan is open",
        )


class TestOthers:
    def test_what_somebody_else_has_is_not_taken(self, work: Issues) -> None:
        work.issues({**HARD, "status": "in_progress", "assignee": "Bob"}, EASY)
        done = work.agent(f'work; commit; closes "$issue"; {DONE}').work_on()
        assert tasks_of(done) == ["bd-2"]
        assert end_of(done) == (
            2,
            f"{QUEUE_OVER}: nothing is ready; taken by others: bd-1 (assigned to Bob)",
        )

    def test_what_this_loop_had_begun_is_gone_on_with(self, work: Issues) -> None:
        work.issues({**EASY, "status": "in_progress", "assignee": "Ada Example"}, HARD)
        done = work.agent(f'work; commit; closes "$issue"; {DONE}').work_on()
        assert tasks_of(done) == ["bd-2", "bd-1"]
        assert end_of(done)[0] == 0

    def test_an_issue_is_claimed_before_its_agent_begins(self, work: Issues) -> None:
        work.issues(EASY)
        work.around = {"BD_ACTOR": "the loop"}
        done = work.agent(
            f'bd show bd-2 --json >"$kept/seen"; work; commit; closes bd-2; {DONE}'
        ).work_on()
        assert end_of(done)[0] == 0
        seen = (work.kept / "seen").read_text(encoding="utf-8")
        assert '"status": "in_progress"' in seen
        assert '"assignee": "the loop"' in seen
        assert not told(done, "evidenceGathered")[0].evidence.why.startswith("nothing")

    def test_one_that_bd_refuses_makes_room_for_the_next(self, work: Issues) -> None:
        """Somebody was quicker between the look and the claim."""
        work.issues(HARD, EASY)
        (work.bin / "bd").rename(work.bin / "real")
        (work.bin / "bd").write_text(
            f"""\
#!/bin/sh
case "$*" in *"bd-1 --claim"*)
echo '{{"error":"issue already claimed by Bob"}}' >&2; exit 1;; esac
exec {work.bin}/real "$@"
""",
            encoding="utf-8",
        )
        (work.bin / "bd").chmod(0o755)
        done = work.agent(f'work; commit; closes "$issue"; {DONE}').work_on("1")
        assert tasks_of(done) == ["bd-2"]
        (message,) = said(done, "claim-refused")
        assert message.startswith("Hard (bd-1) was not claimed: bd update bd-1 --claim")
        assert "issue already claimed by Bob" in message


def test_hooks_of_bd_that_the_repository_brings_have_to_be_allowed(work: Issues) -> None:
    work.issues(EASY).agent(f"work; commit; closes bd-2; {DONE}")
    hook = work.file(".beads/hooks/on_update")
    hook.parent.mkdir()
    hook.write_text("#!/bin/sh\n", encoding="utf-8")
    done = work.work_on()
    assert ".beads/hooks/on_update" in done.stderr
    assert work.issue("bd-2")["status"] == "open"
    assert work.say("allow", "--yes").exit_code == 0
    assert end_of(work.work_on())[0] == 0
