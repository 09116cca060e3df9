"""What an agent may do to issues, mode by mode, and what a close needs.

See docs/rules.md#guard and docs/rules.md#verification.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.beads.conftest import IT_RUNS, Issues, end_of, said, tasks_of
from tests.engine.ralph_runner import told

pytestmark = pytest.mark.slow

HOUSE: tuple[dict[str, Any], ...] = (
    {"id": "bd-1", "title": "Walls", "priority": 1, "acceptance_criteria": IT_RUNS},
    {"id": "bd-2", "title": "Roof", "needs": ["bd-1"], "acceptance_criteria": IT_RUNS},
    {"id": "bd-3", "title": "Garden", "priority": 3, "acceptance_criteria": IT_RUNS},
)
DONE = "report 'STATUS: IN_PROGRESS'"


def reverted(done: Any) -> dict[str, list[str]]:
    return {one.what.value: [task.id for task in one.tasks] for one in told(done, "guardReverted")}


class TestBuilding:
    def test_may_create_link_note_describe_and_close(self, work: Issues) -> None:
        done = (
            work.issues(*HOUSE)
            .agent(
                f"""\
case $RALPH_START in
1) bd create "A door" --id bd-4 --acceptance "{IT_RUNS}" >/dev/null
bd dep add bd-3 bd-4 >/dev/null
bd update bd-3 --notes "after the door" --description "Grass" >/dev/null
bd update bd-1 --status in_progress >/dev/null
;; esac
work; closes "$issue"; commit; {DONE}
"""
            )
            .work_on()
        )
        assert end_of(done)[0] == 0
        assert reverted(done) == {}
        assert tasks_of(done) == ["bd-1", "bd-2", "bd-4", "bd-3"]
        garden = work.issue("bd-3")
        assert garden["dependencies"] == [["bd-4", "blocks"]]
        assert (garden["notes"], garden["description"]) == ("after the door", "Grass")

    def test_may_not_drop_lower_delete_soften_or_change_the_type(self, work: Issues) -> None:
        """All of it at once, and all of it is restored."""
        done = (
            work.issues(*HOUSE)
            .agent(
                f"""\
bd dep remove bd-2 bd-1 >/dev/null
bd update bd-1 --priority 4 --acceptance "it looks nice" --type chore >/dev/null
bd delete bd-3 --force >/dev/null
work; commit; {DONE}
"""
            )
            .work_on("1")
        )
        assert reverted(done) == {
            "dropped": ["bd-3"],
            "criteria": ["bd-1"],
            "priority": ["bd-1"],
            "dependency": ["bd-2"],
            "type": ["bd-1"],
        }
        walls, roof, garden = (work.issue(name) for name in ("bd-1", "bd-2", "bd-3"))
        assert (walls["priority"], walls["issue_type"]) == (1, "task")
        assert walls["acceptance_criteria"] == IT_RUNS
        assert roof["dependencies"] == [["bd-1", "blocks"]]
        assert (garden["title"], garden["priority"]) == ("Garden", 3)
        assert said(done, "not-put-back") == []

    def test_what_was_restored_is_no_progress(self, work: Issues) -> None:
        work.issues(*HOUSE).agent(f"bd update bd-1 --priority 4 >/dev/null; {DONE}")
        (seen,) = told(work.work_on("1"), "evidenceGathered")
        assert not seen.evidence.progress

    def test_may_not_put_an_issue_off(self, work: Issues) -> None:
        work.issues(*HOUSE).agent(f"bd update bd-3 --status deferred >/dev/null; {DONE}")
        done = work.work_on("1")
        assert reverted(done) == {"skipped": ["bd-3"]}
        assert work.issue("bd-3")["status"] == "open"

    def test_what_bd_refuses_to_restore_is_reported(self, work: Issues) -> None:
        work.issues(*HOUSE)
        real = work.bin / "bd"
        real.rename(work.bin / "real")
        work.agent(
            f"""\
bd update bd-1 --priority 4 >/dev/null
cat >{work.bin}/bd <<'END'
#!/bin/sh
case "$*" in *--priority*) echo '{{"error":"it is read-only"}}' >&2; exit 1;; esac
exec {work.bin}/real "$@"
END
chmod +x {work.bin}/bd; {DONE}
"""
        )
        (work.bin / "bd").write_text(f'#!/bin/sh\nexec {work.bin}/real "$@"\n', encoding="utf-8")
        (work.bin / "bd").chmod(0o755)
        done = work.work_on("1")
        assert reverted(done) == {}
        (message,) = said(done, "not-put-back")
        assert message.startswith("not restored: priority of Walls (bd-1): bd update bd-1")
        assert "it is read-only" in message

    def test_without_the_guard_it_may_do_anything(self, work: Issues) -> None:
        work.issues(*HOUSE, config="[guard]\nenabled = false\n")
        work.agent(f"bd update bd-1 --priority 4 >/dev/null; {DONE}")
        assert reverted(work.work_on("1")) == {}
        assert work.issue("bd-1")["priority"] == 4

    def test_an_engine_that_was_killed_is_no_way_out(self, work: Issues) -> None:
        work.issues(*HOUSE).agent(
            f"""\
case $RALPH_START in
1) bd update bd-1 --priority 4 >/dev/null; wait_here;;
*) work; closes "$issue"; commit; {DONE};;
esac
"""
        )
        work.make_gate()
        running = work.start_on()
        running.wait_for("agentStarted")
        work.wait_until_here()
        running.kill()
        done = work.work_on("--resume")
        assert end_of(done)[0] == 0
        assert reverted(done) == {"priority": ["bd-1"]}
        assert work.issue("bd-1")["priority"] == 1


class TestPlanning:
    def test_may_do_all_of_that(self, work: Issues) -> None:
        done = (
            work.issues(*HOUSE)
            .agent(
                f"""\
bd dep remove bd-2 bd-1 >/dev/null
bd update bd-1 --priority 4 --acceptance "- [ ] it stands (make walls)" --type chore >/dev/null
bd delete bd-3 --force >/dev/null
bd create House --id bd-5 --type epic >/dev/null
bd dep add bd-1 bd-5 --type parent-child >/dev/null
{DONE}
"""
            )
            .work_on("1", "--mode", "plan")
        )
        assert tasks_of(done) == ["plan"]
        assert reverted(done) == {}
        (seen,) = told(done, "evidenceGathered")
        assert (seen.evidence.progress, seen.evidence.why) == (True, "the plan changed")
        walls = work.issue("bd-1")
        assert (walls["priority"], walls["issue_type"]) == (4, "chore")
        assert walls["dependencies"] == [["bd-5", "parent-child"]]
        assert work.issue("bd-2")["dependencies"] == []
        assert "bd-3" not in work.status()

    def test_is_guarded_too_where_settings_say_so(self, work: Issues) -> None:
        config = "[guard]\nplanning_is_free = false\n[attempts]\nlimit = 1\n"
        work.issues({"id": "bd-1"}, config=config)
        done = work.agent(
            f"""\
case $(cat "$kept/prompt-$RALPH_START") in
*'put the issues of'*) bd update bd-1 --priority 4 >/dev/null;;
*) work; commit;;
esac; {DONE}
"""
        ).work_on()
        assert tasks_of(done) == ["bd-1", "plan"]
        assert reverted(done) == {"priority": ["bd-1"]}


class TestClosing:
    """A close needs a line for each criterion, or the attempt has failed."""

    @pytest.mark.parametrize(
        ("criteria", "reason", "why"),
        [
            (IT_RUNS, "Done", "was closed without saying how it was verified"),
            (IT_RUNS, "- [x] it looks good", "was closed with 1 criterion not verified"),
            (
                IT_RUNS,
                "- [x] it runs (make test - exit 2)",
                "was closed with 1 command failed",
            ),
            ("", "", "was closed without saying how it was verified"),
        ],
    )
    def test_one_without_evidence_is_no_close(
        self, work: Issues, criteria: str, reason: str, why: str
    ) -> None:
        done = (
            work.issues({"id": "bd-1", "title": "Walls", "acceptance_criteria": criteria})
            .agent(
                f"""\
work; commit
case $RALPH_START in
1) bd close bd-1 --reason "{reason}" >/dev/null;;
*) bd close bd-1 --reason "- [x] it runs (make test - exit 0)" >/dev/null;;
esac; {DONE}
"""
            )
            .work_on()
        )
        assert end_of(done)[0] == 0
        assert tasks_of(done) == ["bd-1", "bd-1"]
        assert [one.attempt for one in told(done, "attemptCounted")] == [1, 2]
        (message,) = said(done, "close-without-evidence")
        assert message.startswith(f"Walls (bd-1) {why}")
        assert ", and is open again; a reason has one line for each criterion" in message
        assert "Opened again: it was closed" in work.issue("bd-1")["notes"]
        done_then = [one.evidence.tasks_done for one in told(done, "evidenceGathered")]
        assert done_then == [(), ("bd-1",)]

    def test_three_of_them_set_the_issue_aside(self, work: Issues) -> None:
        work.issues({"id": "bd-1", "acceptance_criteria": IT_RUNS}, config=NO_PLANNING)
        done = work.agent(f"work; commit; bd close bd-1 --reason Done >/dev/null; {DONE}").work_on()
        assert tasks_of(done) == ["bd-1"] * 3
        assert end_of(done)[0] == 2
        assert work.issue("bd-1")["status"] == "in_progress"

    def test_another_issue_is_reported_alone(self, work: Issues) -> None:
        """The user may have closed it meanwhile, so it is left as it is."""
        done = (
            work.issues(*HOUSE)
            .agent(f'work; commit; bd close bd-3 --reason Done >/dev/null; closes "$issue"; {DONE}')
            .work_on("1")
        )
        (message,) = said(done, "close-without-evidence")
        assert message.startswith("Garden (bd-3) was closed without saying")
        assert work.issue("bd-3")["status"] == "closed"
        (seen,) = told(done, "evidenceGathered")
        assert seen.evidence.tasks_done == ("bd-1",)

    def test_an_epic_closes_with_its_parts(self, work: Issues) -> None:
        work.issues(
            {"id": "bd-1", "issue_type": "epic", "title": "House"},
            {"id": "bd-1.1", "parent": "bd-1", "acceptance_criteria": IT_RUNS},
        )
        done = work.agent(
            f"work; commit; closes bd-1.1; bd close bd-1 >/dev/null; {DONE}"
        ).work_on()
        assert end_of(done)[0] == 0
        assert said(done, "close-without-evidence") == []


NO_PLANNING = "plan_when_stuck = false\n"
