"""The table of profiles in the documentation, made from the profiles themselves."""

from __future__ import annotations

import pytest

from schemas.profile_table import profile_table


class TestMatrix:
    def cells(self, row: str) -> dict[str, str]:
        header, *rows = profile_table()
        names = [cell.strip("`") for cell in header]
        found = {name: cells for name, *cells in rows}
        return dict(zip(names[1:], found[row], strict=True))

    def test_has_a_column_for_each_profile_and_no_empty_cell(self) -> None:
        header, *rows = profile_table()
        assert header == ("", "`spec`", "`fixplan`", "`stories`", "`beads`", "`issue`")
        assert {len(row) for row in rows} == {len(header)}
        assert all(all(row) for row in rows)
        assert len({row[0] for row in rows}) == len(rows)

    def test_has_no_mark_of_a_table_in_a_cell(self) -> None:
        assert not any("|" in cell or "\n" in cell for row in profile_table() for cell in row)

    @pytest.mark.parametrize(
        ("row", "cells"),
        [
            (
                "breaker",
                ["on", "on", "off", "only same error, permission denied, tasks set aside", "on"],
            ),
            ("max_stuck", ["off", "off", "3", "off", "off"]),
            (
                "STATUS BLOCKED",
                [
                    "sets the task aside",
                    "opens the breaker",
                    "only the promise counts",
                    "sets the task aside",
                    "opens the breaker",
                ],
            ),
            (
                "attempts per task",
                [
                    "3 no progress, then marked in the plan",
                    "off",
                    "off",
                    "3 not done, then not tried again",
                    "off",
                ],
            ),
            (
                "progress",
                [
                    "commits, worktree, tasks",
                    "commits, worktree, tasks",
                    "head",
                    "commits, worktree, tasks",
                    "commits, worktree, tasks, declared",
                ],
            ),
            ("commits by", ["loop", "agent", "agent", "agent", "agent"]),
            ("push", ["on", "off", "off", "off", "off"]),
            ("on timeout", ["stop", "continue", "continue", "continue", "continue"]),
            ("default iterations", ["unlimited", "20", "20", "unlimited", "20"]),
            ("agent log", ["`run`", "`run`", "`iteration`", "`jsonl`", "`run`"]),
            (
                "retention",
                [
                    "newer than 30 days, or the newest 30",
                    "newer than 30 days, or the newest 30",
                    "all",
                    "the newest 10",
                    "newer than 30 days, or the newest 30",
                ],
            ),
            ("default agent", ["cline", "claude", "claude", "claude", "claude"]),
        ],
    )
    def test_says_what_the_table_of_the_profiles_says(self, row: str, cells: list[str]) -> None:
        assert list(self.cells(row).values()) == cells

    def test_names_plans_and_gates(self) -> None:
        plans, gates = self.cells("plan"), self.cells("gate")
        assert plans["spec"] == "`IMPLEMENTATION_PLAN.md`"
        assert plans["beads"] == "the issues of bd"
        assert gates["spec"] == "`marker`: PROJECT_COMPLETE on its own line in the plan"
        assert gates["fixplan"] == "`dual`: EXIT_SIGNAL true and 2 completion indicators"
