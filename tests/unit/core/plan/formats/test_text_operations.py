"""Any structured plan is edited, merged and guarded by the few functions of its format."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.diff.guard import PlanPowers
from ralph_ls.core.plan.formats.plan_folder import FolderFile, join_files, split_files
from ralph_ls.core.plan.formats.text_operations import (
    guard_text,
    unfinished_needs,
    write_verification,
)
from ralph_ls.core.plan.verification.criterion_checks import (
    CheckOutcome,
    CriterionCheck,
    TaskVerification,
)
from ralph_ls.protocol.errors import RalphError
from ralph_ls.protocol.lsp.row_methods import TaskEdit
from ralph_ls.protocol.run.values import TaskRef
from tests.unit.core.plan.formats import line_operations
from tests.unit.core.plan.formats.line_format import load

ONE, TWO = "1|todo|Log in|it works|\n", "2|todo|Log out||1\n"
PLAN = ONE + TWO
OPERATIONS = load()
NOTHING = PlanPowers()


def guarded(after: str, powers: PlanPowers = NOTHING) -> tuple[str, list[tuple[str, str]]]:
    done = guard_text(line_operations, PLAN, after, powers)
    return done.text, [(one.what.value, one.task.id) for one in done.violations]


class TestGuard:
    @pytest.mark.parametrize(
        ("after", "text", "found"),
        [
            (PLAN, PLAN, []),
            ("1|done|Log in|it works|\n" + TWO, "1|done|Log in|it works|\n" + TWO, []),
            (PLAN + "3|todo|More||\n", PLAN + "3|todo|More||\n", []),
            (TWO, TWO + ONE, [("dropped", "1")]),
            ("1|done|Log in||\n" + TWO, "1|done|Log in|it works|\n" + TWO, [("criteria", "1")]),
            ("1|todo|Log in||\n" + TWO, PLAN, [("criteria", "1")]),
            ("1|skipped|Log in|it works|\n" + TWO, PLAN, [("skipped", "1")]),
            ("1|skipped|Other||\n" + TWO, PLAN, [("skipped", "1"), ("criteria", "1")]),
        ],
    )
    def test_forbidden_changes_are_reverted(
        self, after: str, text: str, found: list[tuple[str, str]]
    ) -> None:
        assert guarded(after) == (text, found)
        assert guarded(text)[1] == []

    def test_planning_may_drop_and_reword(self) -> None:
        free = PlanPowers(may_drop=True, may_change_criteria=True)
        assert guarded(TWO, free) == (TWO, [])
        assert guarded(TWO, PlanPowers(may_drop=True)) == (TWO, [])
        assert guarded(TWO, PlanPowers(decided=frozenset({("dropped", "1")}))) == (TWO, [])

    def test_a_finished_task_is_the_agents(self) -> None:
        done = guard_text(line_operations, "1|done|a|b|\n", "", NOTHING)
        assert (done.text, done.violations) == ("", ())

    def test_a_broken_text_is_restored_whole(self) -> None:
        done = guard_text(line_operations, PLAN, "BROKEN", NOTHING)
        assert (done.text, done.broken) == (PLAN, "line 1: it is broken")
        assert guard_text(line_operations, "BROKEN", "BROKEN 2", NOTHING).text == "BROKEN 2"

    def test_what_cannot_be_restored_task_by_task_is_restored_whole(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def lost(text: str, other: str, task_id: str) -> str:
            del other, task_id
            return text

        monkeypatch.setattr(line_operations, "with_task_of", lost)
        assert guard_text(line_operations, PLAN, TWO, NOTHING).text == PLAN

    def test_a_state_that_cannot_be_written_again_stays_as_it_was(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def refused(*given: object) -> str:
            raise RalphError("no")

        monkeypatch.setattr(line_operations, "with_state", refused)
        assert guard_text(line_operations, PLAN, "1|done|x||\n" + TWO, NOTHING).text == PLAN


class TestEdits:
    def test_block_unblock_and_retry(self) -> None:
        blocked = OPERATIONS.edit(TaskEdit.BLOCK, "1", "no key", None)(PLAN)
        assert blocked == "1|blocked|Log in|it works|\n+no key\n" + TWO
        assert OPERATIONS.edit(TaskEdit.BLOCK, "1", " ", None)(PLAN).splitlines()[1] == "+the user"
        assert OPERATIONS.edit(TaskEdit.UNBLOCK, "1", "", None)(blocked).startswith("1|todo|")
        assert "+Reset for retry" in OPERATIONS.retry("2")(PLAN)

    def test_what_cannot_be_done_says_why(self) -> None:
        with pytest.raises(RalphError, match="order"):
            OPERATIONS.edit(TaskEdit.MOVE, "1", "", None)
        with pytest.raises(RalphError, match="no task 'x'; see the ids"):
            OPERATIONS.retry("x")(PLAN)
        with pytest.raises(RalphError, match="is done, so it cannot be blocked"):
            OPERATIONS.edit(TaskEdit.BLOCK, "1", "", None)("1|done|a||\n")

    def test_the_effects_of_the_users_edit(self) -> None:
        assert OPERATIONS.effects(PLAN, "1|done|Log in|it works|\n") == (
            ("1",),
            (("dropped", "2"),),
        )
        parsed = line_operations.parse_text(PLAN)
        assert OPERATIONS.check(parsed, PLAN, "DONE") == ()
        opened = OPERATIONS.byte_exact(OPERATIONS.retry, "1")(PLAN.replace("in|", "\udcff|"))
        assert "Log \udcff" in opened

    def test_verification(self) -> None:
        def outcome(code: int | None, why: str = "") -> TaskVerification:
            check = CriterionCheck(criterion="it works", command="make", argv=("make",))
            return TaskVerification(
                task=TaskRef(id="1", title="Log in"),
                checked=(CheckOutcome(check=check, exit_code=code, not_run=why),),
            )

        done = "1|done|Log in|it works|\n"
        assert write_verification(line_operations, done, outcome(0)) == (
            done + "+Verified: it works (make - exit 0)\n"
        )
        assert write_verification(line_operations, done, outcome(1)).startswith(
            "1|todo|Log in|it works|\n+V"
        )
        assert write_verification(line_operations, done, outcome(None, "not approved")) == done

    def test_dependencies(self) -> None:
        plan = line_operations.parse_text(PLAN).plan
        assert {
            name: [one.id for one in found]
            for name, found in unfinished_needs(line_operations, plan, PLAN).items()
        } == {"2": ["1"]}
        odd = "1|done|a||2\n2|todo|b||1,2,9\n"
        assert unfinished_needs(line_operations, line_operations.parse_text(odd).plan, odd) == {}


class TestMerge:
    @pytest.mark.parametrize(
        ("mine", "theirs", "text", "n_conflicts"),
        [
            (PLAN, "other", "other", 0),
            ("mine", PLAN, "mine", 0),
            (
                "1|done|Log in|it works|\n" + TWO,
                ONE + "2|done|Log out||1\n",
                "1|done|Log in|it works|\n2|done|Log out||1\n",
                0,
            ),
            (PLAN + "3|todo|c||\n", TWO, TWO + "3|todo|c||\n", 0),
            (ONE, "1|done|Log in|it works|\n" + TWO, "1|done|Log in|it works|\n", 0),
            (
                "1|blocked|Log in|it works|\n" + TWO,
                "1|done|Log in|it works|\n" + TWO,
                "1|blocked|Log in|it works|\n" + TWO,
                1,
            ),
            (TWO, "1|done|Log in|it works|\n" + TWO, TWO, 1),
            ("BROKEN", ONE, "BROKEN", 1),
        ],
    )
    def test_tasks_are_merged_one_by_one(
        self, mine: str, theirs: str, text: str, n_conflicts: int
    ) -> None:
        done = OPERATIONS.merge(PLAN, mine, theirs)
        assert (done.text, len(done.conflicts)) == (text, n_conflicts)


class TestFolder:
    def test_files_are_joined_and_split(self) -> None:
        files = {"b.md": "=== a.md, 3 characters\n", "a.md": "é\r\n", "c.md": ""}
        text = join_files(files)
        assert {one.path: one.text for one in split_files(text)} == files
        assert [text[one.start :].startswith(one.text) for one in split_files(text)] == [True] * 3
        assert [text.split("\n")[one.line] for one in split_files(text)][1] == files["b.md"][:-1]

    @pytest.mark.parametrize(
        "text", ["plain", "=== a, 9 characters\nshort\n", join_files({"a": "b"}) + "x"]
    )
    def test_another_text_is_one_file(self, text: str) -> None:
        assert split_files(text) == (FolderFile("", 0, 0, text),)

    def test_an_empty_text_has_none(self) -> None:
        assert split_files("") == ()
