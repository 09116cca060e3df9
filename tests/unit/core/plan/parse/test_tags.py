"""The tags of a task, in any kind of plan."""

from __future__ import annotations

import pytest

from ralph_ls.core.plan.formats.beads.issues import BeadsIssue
from ralph_ls.core.plan.parse.markdown import parse_markdown
from ralph_ls.core.plan.queries import TaskTraits, tags_in, traits_of
from ralph_ls.protocol.task_words import Priority


@pytest.mark.parametrize(
    ("line", "tags"),
    [
        ("- [ ] Fix it [simple]", ["simple"]),
        ("- [x] [BUG] [P0] Fix it #docs, #ui-2", ["BUG", "P0", "docs", "ui-2"]),
        ("- [~] **[needs  care]** Fix (#später)", ["needs care", "später"]),
        ("1. See [the page](https://x.test/#part) and [one][ref], #12, a#b, ##no", []),
        ("- [ ] Run `a[simple]` and `#docs`", []),
        ("- [] [ ] [-] nothing", []),
        (f"[{'x' * 61}]", []),
        ("", []),
    ],
)
def test_the_tags_of_a_line(line: str, tags: list[str]) -> None:
    assert tags_in(line) == tags


def test_a_task_has_the_tags_of_its_line_and_title_and_its_labels() -> None:
    text = "## High Priority\n\n- [ ] [BUG] Mend the door #Simple\n  and the [Docs]\n"
    task = parse_markdown(text).plan.tasks[0]
    assert traits_of(task, text=text, labels=["ui", "simple"]) == TaskTraits(
        task=task.id, priority=Priority.P0, tags=("ui", "simple", "bug")
    )
    assert traits_of(task._replace(title="Mend #a\nand #b")).tags == ("a", "b")


def test_an_issue_has_its_labels_and_its_type_for_tags() -> None:
    issue = BeadsIssue(id="bd-1", title="Log in", kind="bug", labels=("ui", "simple"))
    assert issue.tags == ("ui", "simple", "bug")
