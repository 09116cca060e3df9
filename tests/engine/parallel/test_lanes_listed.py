"""Lanes in the verbs that list runs: ``status``, ``ps`` and ``inbox``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ralph_ls.protocol.json_output import LaneTable, OpenItems, RunsEverywhere
from tests.engine.parallel.lanes_project import WORK, LanesProject
from tests.engine.ralph_runner import Ralph

ASKS = """\
case $task in A|B) if ! printf '%s' "$prompt" | grep -q "SQLite file $task"; then
echo "<promise>DECIDE: Which store for $task?</promise>"; exit; fi;; esac
"""
MARKERS = 'grep -q "^<<<<<<<" shared.txt || sed -i "s/^base$/base $task/" shared.txt; done_now'


@pytest.fixture
def lanes(ralph: Ralph, tmp_path: Path) -> LanesProject:
    return LanesProject(ralph, tmp_path)


def everywhere(lanes: LanesProject) -> RunsEverywhere:
    return RunsEverywhere.model_validate_json(lanes.tell("ps", "--json").stdout)


def waiting(lanes: LanesProject) -> OpenItems:
    return OpenItems.model_validate_json(lanes.tell("inbox", "--json").stdout)


def test_each_question_is_listed_once_by_its_lane_and_answered_there(lanes: LanesProject) -> None:
    lanes.tasks("Task A", "Task B", "Task C").agent(ASKS + WORK)
    run = lanes.start("--parallel", "3", "--on-halt", "wait")
    run.wait_for("phaseChanged", phase="parked", reason="decide")
    root = str(lanes.repository)

    parent, *others = everywhere(lanes).runs
    assert (parent.workspace, parent.lane, parent.lane_of) == (root, None, None)
    assert sorted((one.lane, one.lane_of) for one in others) == [(1, root), (2, root)]
    assert (parent.needs is not None, [one.needs for one in others]) == (True, [None, None])
    listed = lanes.tell("ps").stdout
    assert "lane 1 of" in listed
    items = waiting(lanes).items
    assert sorted((item.lane, item.text) for item in items) == [
        (1, "Which store for A?"),
        (2, "Which store for B?"),
    ]
    assert {item.lane_of for item in items} == {root}
    status = lanes.tell("status").stdout
    assert "Lanes: 2 lanes: 2 asking you · 1 of 3 merged, into ralph/session-" in status
    assert "asks: Which store for A?" in status

    for item in items:
        text = f"SQLite file {item.text[-2]}"
        answered = lanes.tell("inbox", "answer", str(item.number), text)
        assert answered.exit_code == 0, answered.stderr
    done = run.wait()
    assert done.exit_code == 0, done.stdout + done.stderr
    assert sorted(lanes.subjects()) == ["Task A", "Task B", "Task C"]
    assert waiting(lanes).items == ()
    assert everywhere(lanes).runs == ()


def test_a_parked_lane_waits_in_the_inbox_and_status_names_its_files(lanes: LanesProject) -> None:
    lanes.tasks("Task A", "Task B", files={"shared.txt": "base\n"}).agent(MARKERS)
    done = lanes.run("--parallel", "2", "--on-halt", "exit")
    assert done.exit_code == 2

    (item,) = waiting(lanes).items
    assert (item.kind.value, item.lane_of) == ("parked", str(lanes.repository))
    assert "conflict markers are left in shared.txt" in item.text
    assert item.text.count(lanes.lanes_left()[0]) == 1
    assert item.command.endswith("ralph run --resume")
    status = lanes.tell("status").stdout
    (tree,) = lanes.lanes_left()
    assert f"is in {tree}: shared.txt" in status
    table = LaneTable.model_validate(json.loads(lanes.tell("status", "--json").stdout)["lanes"])
    parked, merged = table.rows
    assert (parked.state.value, parked.conflicts, parked.worktree) == (
        "parked",
        ("shared.txt",),
        tree,
    )
    for row in (parked, merged):
        assert row.journal is not None
        assert Path(row.journal).exists()
        assert row.start is not None


def test_a_question_that_ended_the_run_is_answered_from_the_inbox(lanes: LanesProject) -> None:
    lanes.tasks("Task A", "Task C").agent(ASKS + WORK)
    done = lanes.run("--parallel", "2", "--on-halt", "exit")
    assert done.exit_code == 3

    (item,) = waiting(lanes).items
    assert (item.kind.value, item.text) == ("question", "Which store for A?")
    table = LaneTable.model_validate(json.loads(lanes.tell("status", "--json").stdout)["lanes"])
    assert [row.question for row in table.rows] == ["Which store for A?", None]
    answered = lanes.tell("inbox", "answer", "1", "SQLite file A")
    assert answered.exit_code == 0, answered.stderr
    assert f"Continue: cd {lanes.repository} && ralph run --resume" in answered.stdout
    again = lanes.tell("run", "--resume")
    assert again.exit_code == 0, again.stderr
    assert sorted(lanes.subjects()) == ["Task A", "Task C"]
