"""``summary.md`` of an archive (docs/rules.md#archive)."""

from __future__ import annotations

from ralph_ls.core.plan.formats.dispatch import parse_plan
from ralph_ls.core.plan.model import PlanKind
from ralph_ls.core.views.report.metrics import measure_run
from ralph_ls.core.views.report.metrics_tables import archive_summary
from ralph_ls.protocol.run.events import RunEnded
from ralph_ls.protocol.run.values import EndReason, TaskRef
from tests.unit.core.views.run_states import (
    RUN,
    event,
    iteration_ended,
    iteration_started,
    run_started,
)

PLAN = """\
# Plan
- [x] Round up
  - [ ] The half cent
- [ ] [BLOCKED] See <b>it</b> | `now` \x1b[1m
"""


def test_says_what_was_done_and_nothing_of_a_plan_becomes_markdown() -> None:
    task = TaskRef(id="1", title="Round | up")
    end = event(RunEnded, reason=EndReason.COMPLETE, exit_code=0, message="", seconds=160.0)
    run = measure_run(
        [run_started(), iteration_started(task=task), iteration_ended(), end], is_live=False
    )
    assert run is not None
    text = archive_summary(
        "login, archived on 2026-01-31",
        "feature/a_b",
        tasks=parse_plan(PLAN, PlanKind.MARKDOWN).plan.tasks,
        runs=[run],
        files=[("ralph/tasks.json", "tasks.json")],
    )
    lines = text.splitlines()
    assert lines[:10] == [
        "# login, archived on 2026-01-31",
        "",
        "The branch was feature/a_b.",
        "",
        "## Tasks",
        "",
        "1 of 3 done.",
        "",
        "- [x] Round up",
        "  - [ ] The half cent",
    ]
    assert lines[10].startswith("- [!] ")
    assert r"\<b\>it\</b\> \| \`now\`" in lines[10]
    assert "\x1b" not in text
    assert "- Runs: 1 (complete 1)" in lines
    assert f"### {RUN}: complete" in lines
    assert (
        "| 1 | build | progress | Round \\| up | 0 | 0 | - | - | - | 2m 32s | abc1234 |"
    ) in lines
    assert lines[-1] == "- tasks.json: was ralph/tasks.json"
    assert text.endswith("\n")


def test_says_so_where_nothing_is_known() -> None:
    text = archive_summary("x", None, tasks=(), runs=(), files=(("PROGRESS.md", "PROGRESS.md"),))
    assert text == ("# x\n\n## Runs\n\nNo runs.\n\n## Files\n\n- PROGRESS.md: was PROGRESS.md\n")
